//! Sockets that listen, with the options that accepted connections inherit.
//!
//! No read timeout is set here: it would end `accept` itself.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

/// Connections that may wait to be accepted.
pub(crate) const LISTEN_BACKLOG: u16 = 4_096;
/// How long a peer may leave sent bytes unacknowledged.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);
/// Idle time before the kernel probes a connection.
const TCP_KEEPALIVE_IDLE: Duration = Duration::from_secs(60);

/// The address of a listener: TCP or a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// An address and port; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A socket file. An abandoned one is replaced.
    Unix(PathBuf),
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "{address}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

/// Begins to listen and returns the bound address.
pub fn listen(address: &ListenAddress) -> io::Result<(Socket, ListenAddress)> {
    match address {
        ListenAddress::Tcp(address) => {
            let socket = listen_tcp(*address)?;
            let taken = socket.local_addr()?.as_socket().unwrap_or(*address);
            Ok((socket, ListenAddress::Tcp(taken)))
        }
        ListenAddress::Unix(path) => Ok((listen_unix(path)?.into(), address.clone())),
    }
}

fn listen_tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(TCP_KEEPALIVE_IDLE))?;
    socket.set_tcp_user_timeout(Some(TCP_USER_TIMEOUT))?;
    socket.bind(&address.into())?;
    socket.listen(LISTEN_BACKLOG.into())?;
    Ok(socket)
}

fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    let stale = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
        && UnixStream::connect(path).is_err();
    if stale {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path).map_err(|error| with_remedy(error, path))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// The folder of a socket is mostly one in /run, where only root makes folders, and which is empty after a restart.
fn with_remedy(error: io::Error, path: &Path) -> io::Error {
    let Some(folder) = path.parent().filter(|folder| !folder.exists()) else { return error };
    let folder = folder.display();
    let message = format!(
        "the folder {folder} does not exist; make it with `install -d -o USER {folder}`, for the user that runs the server, \
         or with `RuntimeDirectory=` in its systemd unit"
    );
    io::Error::new(error.kind(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_to_make_missing_folder_of_socket() {
        let folder = tempfile::tempdir().unwrap();
        let refused = listen_unix(&folder.path().join("mercato/admin.sock")).unwrap_err();
        let (text, missing) = (refused.to_string(), folder.path().join("mercato"));
        assert!(text.contains(&format!("install -d -o USER {}", missing.display())), "{text}");
        let taken = listen_unix(folder.path()).unwrap_err();
        assert!(!taken.to_string().contains("install"), "{taken}");
    }

    #[test]
    fn disables_nagle_on_accepted_connections() {
        let listener = listen_tcp(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert!(accepted.tcp_nodelay().unwrap());
    }

    #[test]
    fn replaces_abandoned_socket_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.sock");
        let first = listen_unix(&path).unwrap();
        assert!(listen_unix(&path).is_err());
        drop(first);
        listen_unix(&path).unwrap();
    }
}
