//! The private listener: a nameless local socket that only this process can connect to.
//!
//! The socket file is created in a private folder and removed at once. A descriptor remains, through which only this
//! process can connect. Does not depend on HTTP.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The address of a private listener.
#[derive(Debug)]
pub struct PrivateAddress {
    // Holds the file in being that `path` leads to.
    _file: File,
    path: PathBuf,
}

impl PrivateAddress {
    /// Creates the listener and its address. `random` makes its file name unique.
    pub fn open(random: u64) -> io::Result<(UnixListener, Self)> {
        let folder = std::env::temp_dir().join(format!("mercato-{}-{random:016x}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let opened = Self::open_in(&folder.join("socket"));
        let removed = fs::remove_dir(&folder);
        let opened = opened?;
        removed.map(|()| opened)
    }

    fn open_in(path: &Path) -> io::Result<(UnixListener, Self)> {
        let listener = UnixListener::bind(path)?;
        let flags = i32::try_from(OFlags::PATH.bits()).map_err(io::Error::other)?;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        fs::remove_file(path)?;
        let file = opened?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok((listener, Self { _file: file, path }))
    }

    /// Opens a connection that does not block.
    ///
    /// # Errors
    /// When the address has no listener.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(&self.path)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    /// Connects and leaves, so that a thread that waits for a connection wakes up.
    pub fn wake_listener(&self) {
        drop(UnixStream::connect(&self.path));
    }
}
