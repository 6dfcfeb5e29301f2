//! Where a command writes a file. A new name or a regular file gets whole contents by a rename; a device or pipe is
//! written to and never replaced. A symbolic link is followed. Knows no format.

use std::fs::{self, File, FileType, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Symbolic links that are followed, as many as Linux follows.
const LINKS_MAX: usize = 40;
/// What a file is created with; the process's umask takes away from it.
const NEW_FILE_MODE: u32 = 0o666;

/// A place that was found fit to be written before any work is done.
#[derive(Debug)]
pub struct Destination {
    typed: PathBuf,
    place: DestinationKind,
}

#[derive(Debug)]
enum DestinationKind {
    /// Where every symbolic link leads: the name of the file, and the file that it replaces.
    File { path: PathBuf, replaced: Option<Metadata> },
    /// A device, a pipe, or a descriptor of a process: what it is.
    Stream(&'static str),
}

impl Destination {
    /// Finds out what `typed` leads to. `force` allows a regular file that exists to be replaced.
    ///
    /// # Errors
    /// A refusal of a folder, of a file that exists when `force` is not given, or of too many links.
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

    /// The place as it was typed.
    #[must_use]
    pub fn typed(&self) -> &Path {
        &self.typed
    }

    /// The name of the file, behind every link, for a file that has to be read back before it gets its name.
    ///
    /// # Errors
    /// A refusal of a device or pipe.
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

    /// Begins to write.
    ///
    /// # Errors
    /// The operating system's.
    pub fn create(self) -> Result<OutputFile, Failure> {
        let sink = match &self.place {
            DestinationKind::Stream(_) => {
                // Appending, because a descriptor may lead to a file that holds something already.
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

/// A file that is being written. Dropped before [`OutputFile::finish`], it leaves what was there.
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
    /// Writes out what is buffered and gives the file its name.
    ///
    /// # Errors
    /// The operating system's; also when the name is taken by now and was free before.
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
                // Contents that were hidden from others stay hidden.
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

/// Walks along symbolic links, one after the other, so that a link to a name that is free leads to a new file there.
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
        // Links in /proc/PID/fd lead to what is open, whatever their text says: `/dev/stdout` is one.
        if folder.starts_with("/proc") {
            return Ok(DestinationKind::Stream("a descriptor of a process"));
        }
        path = folder.join(fs::read_link(&path).map_err(Failure::io(typed, "follow"))?);
    }
    let expected = format!("at most {LINKS_MAX} symbolic links");
    Err(refusal(typed, expected, "more".to_owned(), "name the file that they lead to"))
}

/// What a thing is called that is written to and not replaced; nothing for regular files and folders.
fn stream_name(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() || kind.is_dir() => None,
        kind if kind.is_fifo() => Some("a pipe"),
        kind if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        _ => Some("a socket"),
    }
}

/// The folder in which a name stands.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refusal(typed: &Path, expected: String, found: String, remedy: &str) -> Failure {
    let (file, section) = (typed.display().to_string(), "output".to_owned());
    Failure::Refused { file, section, expected, found, remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn devices_and_descriptors_are_written_to_whatever_links_lead_there() {
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
    fn a_link_leads_to_the_name_at_its_end_also_where_nothing_is() {
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
    fn a_name_that_was_taken_meanwhile_is_kept_and_a_replaced_file_keeps_its_mode() {
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
