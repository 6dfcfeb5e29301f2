//! A folder of model files, plain or in the layout of the Hub's cache.
//!
//! Reads files within limits. Does not depend on their fields.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fields::Fields;
use crate::models::ModelFingerprint;
use crate::models::error::ModelError;

/// Largest settings file.
const SETTINGS_SIZE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Largest `tokenizer.json`.
pub const TOKENIZER_SIZE_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// Largest file that is hashed or read for weights.
pub const WEIGHTS_SIZE_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// Longest name of a commit in the Hub's cache.
const COMMIT_LENGTH_BYTES_MAX: u64 = 128;
/// Bytes that are hashed at a time.
const HASH_CHUNK_BYTES: usize = 1024 * 1024;

/// Settings of the text encoder.
pub const CONFIG_FILE: &str = "config.json";
/// The list of modules of a sentence encoder.
pub const MODULES_FILE: &str = "modules.json";
pub const WEIGHTS_FILE: &str = "model.safetensors";
/// Index of the weights, if they are in several files.
pub const WEIGHTS_INDEX_FILE: &str = "model.safetensors.index.json";

#[derive(Debug, Clone)]
pub struct ModelFolder {
    path: PathBuf,
    name: String,
}

impl ModelFolder {
    /// Opens a plain folder, a snapshot of the Hub's cache, or a `models--ORGANISATION--NAME` folder of it.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let metadata = fs::metadata(path).map_err(io(path, "open the model's folder"))?;
        let folder = Self { path: path.to_owned(), name: display_name(path) };
        if !metadata.is_dir() {
            return Err(folder.error("", "path", "a folder", "a file"));
        }
        if folder.has(MODULES_FILE) || folder.has(CONFIG_FILE) {
            return Ok(folder);
        }
        folder.newest_snapshot()
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether it has that file.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).is_file()
    }

    /// A folder inside it, named by one of its files; the name must not lead out of it.
    pub fn inner(&self, name: &str) -> Option<Self> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\\');
        if name.is_empty() || name == "." {
            return Some(self.clone());
        }
        let inside = name.trim_end_matches('/').split('/').all(plain);
        inside.then(|| Self { path: self.path.join(name), name: self.name.clone() })
    }

    /// A JSON file that must be there.
    pub fn json(&self, name: &str) -> Result<Fields, ModelError> {
        let path = self.file(name);
        let bytes = self.bytes(name, SETTINGS_SIZE_BYTES_MAX)?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| ModelError::Field {
            path: path.clone(),
            field: format!("line {} column {}", error.line(), error.column()),
            expected: "JSON".to_owned(),
            found: error.to_string(),
        })?;
        Ok(Fields::new(path, value))
    }

    /// A JSON file that may be absent.
    pub fn optional_json(&self, name: &str) -> Result<Option<Fields>, ModelError> {
        if self.has(name) { self.json(name).map(Some) } else { Ok(None) }
    }

    /// The bytes of a file of at most `limit` bytes.
    pub fn bytes(&self, name: &str, limit: u64) -> Result<Vec<u8>, ModelError> {
        let (file, length) = self.open_file(name, limit)?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        // A file that grows while it is read is cut here, and then is no valid JSON.
        file.take(limit).read_to_end(&mut bytes).map_err(io(&self.file(name), "read it"))?;
        Ok(bytes)
    }

    /// A regular file of at most `limit` bytes, and its length. A pipe or a device is refused before it can block.
    pub fn open_file(&self, name: &str, limit: u64) -> Result<(File, u64), ModelError> {
        let path = self.file(name);
        let metadata = fs::metadata(&path).map_err(io(&path, "open it"))?;
        if !metadata.is_file() {
            return Err(self.error(name, "file", "a regular file", "something else"));
        }
        if metadata.len() > limit {
            let found = format!("{} bytes", metadata.len());
            return Err(self.error(name, "size", &format!("at most {limit} bytes"), &found));
        }
        Ok((File::open(&path).map_err(io(&path, "open it"))?, metadata.len()))
    }

    /// SHA-256 over names and contents of those of `names` that exist.
    pub fn fingerprint(&self, names: &[String]) -> Result<ModelFingerprint, ModelError> {
        let mut hash = Sha256::new();
        let mut chunk = vec![0_u8; HASH_CHUNK_BYTES];
        for name in names.iter().filter(|name| self.has(name)) {
            let (mut file, length) = self.open_file(name, WEIGHTS_SIZE_BYTES_MAX)?;
            hash.update(format!("{name}\0{length}\0"));
            loop {
                let read = file.read(&mut chunk).map_err(io(&self.file(name), "read it"))?;
                hash.update(chunk.get(..read).unwrap_or_default());
                if read == 0 {
                    break;
                }
            }
        }
        Ok(ModelFingerprint(hash.finalize().into()))
    }

    /// A error of one of its files, or of the folder itself when `name` is empty.
    pub fn error(&self, name: &str, field: &str, expected: &str, found: &str) -> ModelError {
        ModelError::Field {
            path: if name.is_empty() { self.path.clone() } else { self.file(name) },
            field: field.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }

    /// `refs/main` names the commit whose files lie under `snapshots/`.
    fn newest_snapshot(self) -> Result<Self, ModelError> {
        let expected = "modules.json or config.json in it, or refs/main of the Hub's cache";
        if !self.has("refs/main") {
            return Err(self.error("", "contents", expected, "neither"));
        }
        let commit = self.bytes("refs/main", COMMIT_LENGTH_BYTES_MAX)?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(self.error("refs/main", "content", "a commit", &commit));
        }
        let path = self.path.join("snapshots").join(commit);
        let snapshot = Self { path, name: self.name };
        if snapshot.has(MODULES_FILE) || snapshot.has(CONFIG_FILE) {
            return Ok(snapshot);
        }
        Err(snapshot.error("", "contents", "modules.json or config.json", "neither"))
    }
}

/// The last part of the path, or what a folder of the Hub's cache is named after.
fn display_name(path: &Path) -> String {
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let in_snapshots = full.parent().filter(|parent| parent.ends_with("snapshots")).and_then(Path::parent);
    let name = last(in_snapshots.unwrap_or(&full)).unwrap_or_default();
    name.strip_prefix("models--").map_or(name.clone(), |rest| rest.replace("--", "/"))
}

/// An error of the operating system with the file and what was attempted.
pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> ModelError {
    let path = path.to_owned();
    move |source| ModelError::Io { path, action, source }
}
