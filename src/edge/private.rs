//! The private socket: a way into this process that has no name anywhere, and connections over it.
//!
//! The socket file is made in a folder of our own and removed at once. What stays is a descriptor of it, through which
//! only this process can connect. Knows the one request that proves a connection, and nothing else of HTTP.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::limits::edge::{PROBE_HEADER, PROOF_WAIT};

/// Longest answer to the request that proves a connection.
const PROOF_BYTES_MAX: usize = 1024;

/// The way to a private listener.
#[derive(Debug)]
pub struct PrivateDoor {
    // Holds the file in being that `path` leads to.
    _file: File,
    path: PathBuf,
}

impl PrivateDoor {
    /// Makes a listener that nobody else can reach, and the way to it. `random` tells it from those of others.
    pub fn open(random: u64) -> io::Result<(UnixListener, Self)> {
        let folder = std::env::temp_dir().join(format!("mercato-{}-{random:016x}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let opened = Self::open_in(&folder.join("socket"));
        let removed = fs::remove_dir(&folder);
        let (listener, door) = opened?;
        removed?;
        Ok((listener, door))
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

    /// Opens a connection, and gives it once a request over it was answered. `wait` is the longest silence on it.
    pub fn connect(&self, wait: Duration) -> io::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.path)?;
        prove(&mut stream, PROOF_WAIT)?;
        stream.set_read_timeout(Some(wait))?;
        stream.set_write_timeout(Some(wait))?;
        Ok(stream)
    }

    /// Connects and leaves, so that whoever waits for a connection wakes up.
    pub fn knock(&self) {
        drop(UnixStream::connect(&self.path));
    }
}

fn prove(stream: &mut UnixStream, wait: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(wait))?;
    stream.write_all(format!("GET / HTTP/1.1\r\n{PROBE_HEADER}: 1\r\n\r\n").as_bytes())?;
    let mut answer = [0; PROOF_BYTES_MAX];
    let mut length = 0;
    loop {
        let read = stream.read(answer.get_mut(length..).unwrap_or_default())?;
        length = length.saturating_add(read);
        let text = answer.get(..length).unwrap_or_default();
        if text.starts_with(b"HTTP/1.1 204 ") && text.ends_with(b"\r\n\r\n") {
            return Ok(());
        }
        if read == 0 {
            return Err(io::Error::other("a private connection was not proven"));
        }
    }
}
