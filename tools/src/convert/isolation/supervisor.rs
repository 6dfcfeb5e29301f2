//! Starts the worker, shows its progress, answers its question, and turns its end into a report or a failure.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use mercato_format::ColumnSpec;
use rustix::process::{Pid, Signal, kill_process};

use super::death::{self, Reading};
use super::messages::{Event, Job};
use super::{Isolation, Limits, WORKER_COMMAND};
use crate::convert::inputs::STANDARD_INPUT;
use crate::convert::{Accept, Conversion, Preview, Report};
use crate::failure::Failure;
use crate::progress;

/// How often an interruption is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long an interrupted worker may take to clean up.
const CLEANUP_TIME_MAX: Duration = Duration::from_secs(2);
/// Bytes that are kept of what the worker wrote before its death.
const LAST_WORDS_BYTES_MAX: u64 = 4 * 1024;

pub fn convert(
    conversion: &Conversion,
    isolation: &Isolation,
    accept: &Accept<'_>,
) -> Result<Report, Failure> {
    match run(conversion, isolation, accept, false)? {
        Event::Converted(report, absent) => Ok(Report { absent, ..*report }),
        other => Err(Failure::Start(format!("unexpected outcome of a conversion: {other:?}"))),
    }
}

pub fn preview(conversion: &Conversion, isolation: &Isolation) -> Result<Preview, Failure> {
    match run(conversion, isolation, &|_| Ok(()), true)? {
        Event::Previewed(preview) => Ok(preview),
        other => Err(Failure::Start(format!("unexpected outcome of a preview: {other:?}"))),
    }
}

fn run(
    conversion: &Conversion,
    isolation: &Isolation,
    accept: &Accept<'_>,
    is_preview: bool,
) -> Result<Event, Failure> {
    let limits = Limits::of(conversion, isolation);
    let mut job = conversion.clone();
    job.progress &= std::io::stderr().is_terminal();
    conversion.interruption.supervise();
    let mut worker = Worker::start(conversion, isolation, limits)?;
    let outcome = worker.send(&Job::of(&job, limits, is_preview)).and_then(|()| worker.listen(accept));
    worker.end(outcome)
}

struct Worker<'a> {
    conversion: &'a Conversion,
    limits: Limits,
    child: Child,
    socket: BufReader<UnixStream>,
    bar: ProgressBar,
    unfinished: Option<OsString>,
    reading: BTreeMap<u64, Reading>,
    /// When an interrupted worker is killed.
    deadline: Option<Instant>,
}

impl<'a> Worker<'a> {
    fn start(
        conversion: &'a Conversion,
        isolation: &Isolation,
        limits: Limits,
    ) -> Result<Worker<'a>, Failure> {
        let failed = |error| Failure::Start(format!("cannot start {}: {error}", isolation.program.display()));
        let (socket, other) = UnixStream::pair().map_err(failed)?;
        socket.set_read_timeout(Some(TICK)).map_err(failed)?;
        let reads_stdin = conversion.inputs.iter().any(|input| input.as_os_str() == STANDARD_INPUT);
        let child = Command::new(&isolation.program)
            .arg0("mercato-tools")
            .arg(WORKER_COMMAND)
            .stdin(if reads_stdin { Stdio::inherit() } else { Stdio::null() })
            .stdout(OwnedFd::from(other))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        Ok(Worker {
            conversion,
            limits,
            child,
            socket: BufReader::new(socket),
            bar: ProgressBar::hidden(),
            unfinished: None,
            reading: BTreeMap::new(),
            deadline: None,
        })
    }

    fn send(&mut self, job: &Job) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::Start(format!("cannot reach the worker: {error}"));
        let mut line = serde_json::to_vec(job).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        // A worker that died before is found by listening.
        self.write(&line).or_else(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Ok(()),
            _ => Err(failed(error)),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.socket.get_mut().write_all(bytes)
    }

    /// Takes events up to the last; `None` if the worker died before it.
    fn listen(&mut self, accept: &Accept<'_>) -> Result<Option<Event>, Failure> {
        let mut line = Vec::new();
        loop {
            match self.socket.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => {
                    let event = serde_json::from_slice(&line)
                        .map_err(|error| Failure::Start(format!("a message of the worker: {error}")))?;
                    line.clear();
                    match event {
                        Event::Converted(..) | Event::Previewed(_) => return Ok(Some(event)),
                        Event::Failed { message, exit_code } => {
                            return Err(Failure::Worker { message, exit_code });
                        }
                        event => self.take(event, accept)?,
                    }
                }
                Ok(_) => return Ok(None),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => return Ok(None),
            }
            self.pass_interruption_on();
        }
    }

    fn take(&mut self, event: Event, accept: &Accept<'_>) -> Result<(), Failure> {
        match event {
            Event::Bar { label, total, unit } => {
                self.bar.finish_and_clear();
                self.bar = progress::bar(&label, total, &unit);
            }
            Event::Position(position) => self.bar.set_position(position),
            Event::Unfinished(path) => self.unfinished = Some(path),
            Event::Reading { thread, file, section } => {
                self.reading.insert(thread, Reading { file, section });
            }
            Event::Read { thread } => drop(self.reading.remove(&thread)),
            Event::Columns(columns) => {
                let columns: Vec<ColumnSpec> = columns.into_iter().map(Into::into).collect();
                accept(&columns.iter().collect::<Vec<_>>())?;
                // A worker that died meanwhile is found by listening.
                let _ = self.write(b"\n");
            }
            Event::Converted(..) | Event::Previewed(_) | Event::Failed { .. } => {}
        }
        Ok(())
    }

    /// Interrupts the worker, and kills it when it takes too long.
    fn pass_interruption_on(&mut self) {
        match self.deadline {
            None if self.conversion.interruption.is_requested() => {
                self.deadline = Some(Instant::now() + CLEANUP_TIME_MAX);
                // It may have ended by itself, or by the same signal.
                let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            }
            Some(deadline) if deadline < Instant::now() => drop(self.child.kill()),
            _ => {}
        }
    }

    /// Waits for the end of the worker. A worker without an outcome leaves nothing behind.
    fn end(mut self, outcome: Result<Option<Event>, Failure>) -> Result<Event, Failure> {
        self.bar.finish_and_clear();
        let is_refused = matches!(&outcome, Err(failure) if !matches!(failure, Failure::Worker { .. }));
        if is_refused {
            let _ = self.child.kill();
        }
        let mut words = String::new();
        if let Some(stderr) = self.child.stderr.take() {
            let _ = stderr.take(LAST_WORDS_BYTES_MAX).read_to_string(&mut words);
        }
        let status = self.child.wait().map_err(Failure::io(Path::new("worker"), "wait for the"))?;
        if let (false, Some(path)) = (matches!(outcome, Ok(Some(_))), &self.unfinished) {
            // The worker has removed it itself, unless it was killed.
            let _ = fs::remove_file(path);
        }
        match outcome {
            Ok(Some(event)) => Ok(event),
            // A worker that a signal reached alone exits without a word.
            Ok(None) if status.code() == Some(1) => Err(self.cancelled()),
            _ if self.conversion.interruption.is_requested() => Err(self.cancelled()),
            Ok(None) => Err(death::failure(status, &words, self.conversion, self.limits, &self.reading)),
            Err(failure) => Err(failure),
        }
    }

    fn cancelled(&self) -> Failure {
        Failure::Cancelled { file: self.conversion.output.display().to_string() }
    }
}
