//! The log: one JSON line an event, written by a thread of its own.
//!
//! A reader that stalls never holds up a request: lines that find no room are counted and dropped.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Lines that may wait to be written; further ones are counted and dropped.
const LINES_QUEUED_MAX: usize = 16 * 1024;
/// How long lines are gathered before they are written together.
const GATHER_PAUSE: Duration = Duration::from_millis(5);
/// How long the end of the program waits for the last lines.
const FLUSH_WAIT: Duration = Duration::from_secs(1);

/// The writing thread; dropping this writes what waits, for a bounded time.
pub struct LogGuard {
    lines: Option<Sender<Line>>,
    ended: Receiver<()>,
    _thread: JoinHandle<()>,
}

enum Line {
    Text(Vec<u8>),
    End,
}

/// Sends every event of the program to `output`. `MERCATO_LOG` filters (default `info`).
pub fn start(output: impl Write + Send + 'static) -> io::Result<LogGuard> {
    let (lines, waiting) = bounded(LINES_QUEUED_MAX);
    let (alive, ended) = bounded(0);
    let dropped = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&dropped);
    let thread = thread::Builder::new().name("log".to_owned()).spawn(move || {
        write_lines(&waiting, &counter, output);
        drop(alive);
    })?;
    let filter = EnvFilter::try_from_env("MERCATO_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_target(false)
        .with_env_filter(filter)
        .with_writer(LineMaker { lines: lines.clone(), dropped })
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
    Ok(LogGuard { lines: Some(lines), ended, _thread: thread })
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        if let Some(lines) = self.lines.take() {
            // A full queue means that the reader stalls; then there is nothing to wait for.
            if lines.send_timeout(Line::End, FLUSH_WAIT).is_ok() {
                let _closed = self.ended.recv_timeout(FLUSH_WAIT);
            }
        }
    }
}

/// Writes the lines that wait, then rests a moment: a busy server wakes this thread seldom, not once a line.
fn write_lines(waiting: &Receiver<Line>, dropped: &AtomicU64, output: impl Write) {
    let mut output = io::BufWriter::with_capacity(64 * 1024, output);
    while let Ok(first) = waiting.recv() {
        thread::sleep(GATHER_PAUSE);
        let mut ended = false;
        for line in std::iter::once(first).chain(waiting.try_iter()) {
            match line {
                Line::Text(line) => keep_going(&output.write_all(&line)),
                Line::End => ended = true,
            }
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            keep_going(&writeln!(output, r#"{{"level":"WARN","message":"{lost} log lines were dropped"}}"#));
        }
        keep_going(&output.flush());
        if ended {
            return;
        }
    }
}

/// Nobody reads the log any more: there is nobody to tell, and requests go on.
fn keep_going(outcome: &io::Result<()>) {
    if outcome.is_err() {
        thread::sleep(GATHER_PAUSE);
    }
}

#[derive(Clone)]
struct LineMaker {
    lines: Sender<Line>,
    dropped: Arc<AtomicU64>,
}

impl<'a> MakeWriter<'a> for LineMaker {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

/// Each call brings one whole line.
impl Write for &LineMaker {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Line::Text(bytes.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
