//! A part of the cluster: the process of a program with a log, which ends with this process whatever happens.
//!
//! Does not depend on particular programs.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::Bench;
use super::programs::Owner;
use crate::failure::Failure;

/// How long a part may take to become ready.
const START_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a part may take to end before it is killed.
const END_TIME_MAX: Duration = Duration::from_secs(20);
/// Pause between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// How long an answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// Bytes of the end of a log that are read for a message.
const LOG_BYTES_READ: usize = 4_096;
/// Bytes of an answer that are read for its status.
const STATUS_BYTES: usize = 12;

pub(super) struct Launch<'a> {
    /// What people call the part.
    pub(super) name: &'a str,
    pub(super) program: &'a Path,
    pub(super) arguments: Vec<OsString>,
    /// Where its log stands.
    pub(super) folder: PathBuf,
    /// The whole environment beside `PATH` and `HOME`.
    pub(super) variables: Vec<(&'static str, String)>,
    /// The signal at which it ends in order.
    pub(super) ending: Ending,
    /// Whose process it is, where it may not be that of root.
    pub(super) owner: Option<Owner>,
}

/// How a program is asked to end.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    Terminate,
    Interrupt,
}

impl Ending {
    const fn name(self) -> &'static str {
        match self {
            Ending::Terminate => "TERM",
            Ending::Interrupt => "INT",
        }
    }

    const fn signal(self) -> Signal {
        match self {
            Ending::Terminate => Signal::TERM,
            Ending::Interrupt => Signal::INT,
        }
    }
}

impl Launch<'_> {
    /// The command. `setpriv` has the system end the program when the thread ends that started it, and then becomes the program.
    /// A process group of its own keeps Ctrl-C of a terminal away: parts end in their order.
    fn command(&self, bench: &Bench<'_>) -> Command {
        let mut command = Command::new(&bench.programs.setpriv);
        command.arg("--pdeathsig").arg(self.ending.name());
        if let Some(Owner { user, group }) = self.owner {
            command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
        }
        command.arg("--").arg(self.program).args(&self.arguments);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", &self.folder);
        command.process_group(0).stdin(Stdio::null()).current_dir("/");
        command
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    pub(super) fn run(&self, bench: &Bench<'_>) -> Result<(), Failure> {
        bench.stop.check()?;
        let ended = self.command(bench).output().map_err(Failure::io(self.program, "run"))?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let last = said.trim().lines().last().unwrap_or_default();
        Err(Failure::Cluster(format!("{} ended with {}: {last}", self.name, ended.status)))
    }

    /// Starts the program, which will listen on a port.
    pub(super) fn start(self, bench: &Bench<'_>, port: u16) -> Result<Part, Failure> {
        bench.stop.check()?;
        fs::create_dir_all(&self.folder).map_err(Failure::io(&self.folder, "create"))?;
        let path = self.log();
        let log = OpenOptions::new().create(true).append(true).open(&path);
        let log = log.map_err(Failure::io(&path, "write"))?;
        let twin = log.try_clone().map_err(Failure::io(&path, "write"))?;
        let child = self.command(bench).stdout(log).stderr(twin).spawn();
        let child = child.map_err(Failure::io(self.program, "run"))?;
        let name = self.name.to_owned();
        Ok(Part { name, port, child, ended: None, ending: self.ending, log: path })
    }
}

/// A running program. Dropped, it ends.
pub(super) struct Part {
    pub(super) name: String,
    /// Where it listens.
    pub(super) port: u16,
    child: Child,
    ended: Option<ExitStatus>,
    ending: Ending,
    log: PathBuf,
}

impl Part {
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn wait_until(
        &mut self,
        bench: &Bench<'_>,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + START_TIME_MAX;
        while !is_ready() {
            bench.stop.check()?;
            if let Some(status) = self.look() {
                let (name, said, log) = (&self.name, last_line(&self.log), self.log.display());
                return Err(Failure::Cluster(format!("{name} ended with {status}: {said} ({log})")));
            }
            if Instant::now() >= deadline {
                let (name, log) = (&self.name, self.log.display());
                let seconds = START_TIME_MAX.as_secs();
                return Err(Failure::Cluster(format!("{name} is not ready after {seconds} s ({log})")));
            }
            thread::sleep(LOOK_PAUSE);
        }
        Ok(())
    }

    /// How it ended, if it has.
    fn look(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap_or_default();
        }
        self.ended
    }

    fn ask_to_end(&mut self) {
        if self.look().is_none()
            && let Some(process) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            // It may have ended by itself meanwhile; its number is not given away before it is waited for.
            let _ = kill_process(process, self.ending.signal());
        }
    }

    fn wait(&mut self, deadline: Instant) {
        while self.look().is_none() {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                self.ended = self.child.wait().ok();
                return;
            }
            thread::sleep(LOOK_PAUSE);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.ask_to_end();
        self.wait(Instant::now() + END_TIME_MAX);
    }
}

#[derive(Default)]
pub(super) struct Group(Vec<Part>);

impl Group {
    pub(super) const fn new(parts: Vec<Part>) -> Group {
        Group(parts)
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }

    pub(super) fn push(&mut self, part: Part) {
        self.0.push(part);
    }

    /// Sentences on the parts that have ended since the last look.
    pub(super) fn newly_ended(&mut self) -> Vec<String> {
        let running = self.0.iter_mut().filter(|part| part.ended.is_none());
        running
            .filter_map(|part| part.look().map(|status| format!("{} has ended: {status}", part.name)))
            .collect()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.0.iter().all(|part| part.ended.is_some())
    }

    /// The parts, to wait for them.
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Part> {
        self.0.iter_mut()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Part::ask_to_end);
    }
}

/// Arguments of a program.
pub(super) fn words<const N: usize>(words: [&dyn AsRef<OsStr>; N]) -> Vec<OsString> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}

/// A free port of the loopback interface. While the listener lives, nobody else gets it.
pub(super) fn hold_port() -> Result<(TcpListener, u16), Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = bound.and_then(|listener| {
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    });
    held.map_err(Failure::io(Path::new("127.0.0.1:0"), "listen on"))
}

/// A port that is free at this moment.
pub(super) fn free_port() -> Result<u16, Failure> {
    hold_port().map(|(_, port)| port)
}

/// Ports that are free at this moment, all different.
pub(super) fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    let held: Result<Vec<_>, Failure> = (0..count).map(|_| hold_port()).collect();
    Ok(held?.iter().map(|(_, port)| *port).collect())
}

pub(super) fn accepts(port: u16) -> bool {
    connect(port).is_some()
}

/// Whether `GET /readyz` is answered 200.
pub(super) fn is_ready(port: u16) -> bool {
    let ask = || -> Option<bool> {
        let mut stream = connect(port)?;
        stream.set_read_timeout(Some(ANSWER_TIME_MAX)).ok()?;
        let request = format!("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut status = [0; STATUS_BYTES];
        stream.read_exact(&mut status).ok()?;
        Some(status.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}

fn connect(port: u16) -> Option<TcpStream> {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ANSWER_TIME_MAX).ok()
}

/// The last line of a log, for a message.
fn last_line(log: &Path) -> String {
    use std::io::{Seek, SeekFrom};
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let from = file.metadata()?.len().saturating_sub(LOG_BYTES_READ as u64);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(LOG_BYTES_READ as u64).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().lines().last().unwrap_or_default().to_owned())
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ() {
        let mut ports = free_ports(8).unwrap();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 8);
        assert!(ports.iter().all(|port| *port != 0 && !accepts(*port)));
    }

    #[test]
    fn asks_for_readiness() {
        let answered = |answer: &'static str| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 64];
                let count = stream.read(&mut request).unwrap();
                assert!(request[..count].starts_with(b"GET /readyz HTTP/1.1\r\n"));
                stream.write_all(answer.as_bytes()).unwrap();
            });
            let is_ready = is_ready(port);
            server.join().unwrap();
            is_ready
        };
        assert!(answered("HTTP/1.1 200 OK\r\n\r\n"));
        assert!(!answered("HTTP/1.1 503 Service Unavailable\r\n\r\n"));
        assert!(!answered("HTTP"));
    }

    #[test]
    fn finds_last_line_of_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(last_line(&log), "");
        fs::write(&log, format!("{}\nfirst\nlast: é\n\n", "x".repeat(LOG_BYTES_READ))).unwrap();
        assert_eq!(last_line(&log), "last: é");
    }
}
