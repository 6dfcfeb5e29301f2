//! The output of a command. A rename puts a complete file at a new name or replaces a regular file. A device or pipe is
//! written to. A symbolic link is followed. Does not depend on formats.

use std::fs::{self, File, FileType, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Most symbolic links to follow, as in Linux.
const LINKS_MAX: usize = 40;
/// The mode of new files, before the umask.
const NEW_FILE_MODE: u32 = 0o666;

/// An output path that was checked before the work starts.
#[derive(Debug)]
pub struct Destination {
    typed: PathBuf,
    place: DestinationKind,
}

#[derive(Debug)]
enum DestinationKind {
    /// The target of all symbolic links: the path of the file, and the mode of the file that it replaces.
    File { path: PathBuf, replaced: Option<Metadata> },
    /// A device, a pipe, or a file descriptor, by description.
    Stream(&'static str),
}

impl Destination {
    /// Resolves `typed`. `force` allows replacing an existing regular file.
    pub fn check(typed: &Path, force: bool) -> Result<Destination, Failure> {
        let place = follow(typed)?;
        let refuse = |expected: &str, found: &str, remedy: &str| {
            Err(refusal(typed, expected.to_owned(), found.to_owned(), remedy))
        };
        match &place {
            DestinationKind::File { replaced: Some(facts), .. } if facts.is_dir() => {
                refuse("the name of a file", "a folder", "name a file in it")
            }
            DestinationKind::File { replaced: Some(_), .. } if !force => refuse(
                "a new name",
                "a file that exists",
                "name another file, or replace this one with --force",
            ),
            _ => Ok(Destination { typed: typed.to_owned(), place }),
        }
    }

    /// Refuses to replace one of the files that are read, also behind links.
    pub fn refuse_inputs(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let DestinationKind::File { replaced: Some(output), .. } = &self.place else { return Ok(()) };
        let is_output = |input: &Path| {
            fs::metadata(input).is_ok_and(|facts| (facts.dev(), facts.ino()) == (output.dev(), output.ino()))
        };
        if inputs.iter().any(|input| is_output(input)) {
            let expected = "another file than the input".to_owned();
            return Err(refusal(&self.typed, expected, "the input".to_owned(), "name another file"));
        }
        Ok(())
    }

    #[must_use]
    pub fn typed(&self) -> &Path {
        &self.typed
    }

    /// The resolved path, for a file that is verified before its rename.
    pub fn into_file(self) -> Result<PathBuf, Failure> {
        match self.place {
            DestinationKind::File { path, .. } => Ok(path),
            DestinationKind::Stream(what) => Err(refusal(
                &self.typed,
                "a regular file or a new name".to_owned(),
                what.to_owned(),
                "a store file is read back before it gets its name, so name a file",
            )),
        }
    }

    pub fn create(self) -> Result<OutputFile, Failure> {
        let sink = match &self.place {
            DestinationKind::Stream(_) => {
                // Append mode, because a descriptor may refer to a file with contents.
                let opened = OpenOptions::new().append(true).open(&self.typed);
                Sink::Stream(opened.map_err(Failure::io(&self.typed, "open"))?)
            }
            DestinationKind::File { path, .. } => {
                let folder = folder_of(path);
                let made = tempfile::Builder::new()
                    .permissions(Permissions::from_mode(NEW_FILE_MODE))
                    .tempfile_in(folder)
                    .map_err(Failure::io(folder, "create a file in"))?;
                Sink::Beside(made)
            }
        };
        Ok(OutputFile { destination: self, out: BufWriter::new(sink) })
    }
}

/// An open output. Dropping it before [`OutputFile::finish`] keeps the old file.
#[derive(Debug)]
pub struct OutputFile {
    destination: Destination,
    out: BufWriter<Sink>,
}

#[derive(Debug)]
enum Sink {
    Beside(NamedTempFile),
    Stream(File),
}

impl OutputFile {
    /// Flushes the buffer and renames the file into place.
    pub fn finish(self) -> Result<(), Failure> {
        let Destination { typed, place } = self.destination;
        let sink = self.out.into_inner().map_err(|error| Failure::io(&typed, "write")(error.into_error()))?;
        let (DestinationKind::File { path, replaced }, Sink::Beside(file)) = (place, sink) else {
            return Ok(());
        };
        file.as_file().sync_all().map_err(Failure::io(&typed, "sync"))?;
        let persisted = match replaced {
            None => file.persist_noclobber(&path),
            Some(old) => {
                // The mode of the replaced file is kept, so private contents stay private.
                let kept = file.as_file().set_permissions(old.permissions());
                kept.map_err(Failure::io(&typed, "set the mode of"))?;
                file.persist(&path)
            }
        };
        persisted.map_err(|error| Failure::io(&typed, "put into place")(error.error)).map(drop)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Beside(file) => file.write(bytes),
            Sink::Stream(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Beside(file) => file.flush(),
            Sink::Stream(file) => file.flush(),
        }
    }
}

/// Follows symbolic links one by one, so that a dangling link leads to a new file.
fn follow(typed: &Path) -> Result<DestinationKind, Failure> {
    let mut path = typed.to_owned();
    for _ in 0..=LINKS_MAX {
        let facts = match fs::symlink_metadata(&path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(DestinationKind::File { path, replaced: None });
            }
            Err(error) => return Err(Failure::io(typed, "look at")(error)),
        };
        if !facts.is_symlink() {
            return Ok(match stream_name(facts.file_type()) {
                Some(what) => DestinationKind::Stream(what),
                None => DestinationKind::File { path, replaced: Some(facts) },
            });
        }
        let folder = folder_of(&path).canonicalize().map_err(Failure::io(typed, "follow"))?;
        // Links in /proc/PID/fd refer to open files, not to their path: `/dev/stdout` is one.
        if folder.starts_with("/proc") {
            return Ok(DestinationKind::Stream("a descriptor of a process"));
        }
        path = folder.join(fs::read_link(&path).map_err(Failure::io(typed, "follow"))?);
    }
    let expected = format!("at most {LINKS_MAX} symbolic links");
    Err(refusal(typed, expected, "more".to_owned(), "name the file that they lead to"))
}

/// The description of a file type that is written to but not replaced; `None` for regular files and folders.
fn stream_name(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() || kind.is_dir() => None,
        kind if kind.is_fifo() => Some("a pipe"),
        kind if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        _ => Some("a socket"),
    }
}

#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refusal(typed: &Path, expected: String, found: String, remedy: &str) -> Failure {
    let (file, section) = (typed.display().to_string(), "output".to_owned());
    Failure::refused(file, section, expected, found, remedy)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn writes_to_devices_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        for path in [Path::new("/dev/null"), &link, Path::new("/dev/stdout"), Path::new("/proc/self/fd/1")] {
            let destination = Destination::check(path, true).unwrap();
            assert!(matches!(destination.place, DestinationKind::Stream(_)), "{}", path.display());
            let reason = destination.into_file().unwrap_err().one_line();
            assert!(reason.contains("name a file"), "{reason}");
        }
    }

    #[test]
    fn follows_dangling_links() {
        let folder = tempfile::tempdir().unwrap();
        let (deep, first) = (folder.path().join("deep"), folder.path().join("first"));
        fs::create_dir(&deep).unwrap();
        symlink("deep/second", &first).unwrap();
        symlink("third", deep.join("second")).unwrap();
        let place = |path: &Path| Destination::check(path, false).unwrap().into_file().unwrap();
        assert_eq!(place(&first), deep.canonicalize().unwrap().join("third"));
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert!(Destination::check(&folder.path().join("a"), true).unwrap_err().one_line().contains("links"));
        assert!(Destination::check(&deep, true).unwrap_err().one_line().contains("a folder"));
    }

    #[test]
    fn keeps_concurrent_file_and_mode_of_replaced_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut output = Destination::check(&path, false).unwrap().create().unwrap();
        output.write_all(b"late").unwrap();
        fs::write(&path, "early").unwrap();
        assert!(output.finish().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "early");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert!(Destination::check(&path, false).unwrap_err().one_line().contains("--force"));
        let mut output = Destination::check(&path, true).unwrap().create().unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
