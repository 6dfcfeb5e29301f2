//! What the worker sends to its supervisor. In every other process nothing is sent.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use indicatif::ProgressBar;

use super::messages::Event;

static CHANNEL: OnceLock<Channel> = OnceLock::new();

struct Channel {
    socket: Mutex<UnixStream>,
    /// The bar whose position is sent now and then.
    bar: Mutex<Option<ProgressBar>>,
}

/// Makes this process the worker at the other end of `socket`.
pub fn open(socket: UnixStream) {
    let _ = CHANNEL.set(Channel { socket: Mutex::new(socket), bar: Mutex::new(None) });
}

pub fn send(event: &Event) {
    let (Some(channel), Ok(mut line)) = (CHANNEL.get(), serde_json::to_vec(event)) else { return };
    line.push(b'\n');
    // A supervisor that is gone has ended this process by a signal.
    let _ = lock(&channel.socket).write_all(&line);
}

/// Sends an event and waits for an empty line. Returns whether it came.
pub fn ask(event: &Event) -> bool {
    send(event);
    let socket = CHANNEL.get().and_then(|channel| lock(&channel.socket).try_clone().ok());
    let mut line = String::new();
    socket.is_some_and(|socket| BufReader::new(socket).read_line(&mut line).is_ok_and(|bytes| bytes == 1))
}

pub fn unfinished(path: &Path) {
    if CHANNEL.get().is_some() {
        send(&Event::Unfinished(path.into()));
    }
}

/// Sends what the current thread reads while it reads it, so that a death has a place.
pub fn reading<T>(file: &str, section: &str, read: impl FnOnce() -> T) -> T {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    thread_local!(static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed));
    if CHANNEL.get().is_none() {
        return read();
    }
    let thread = THREAD.with(|thread| *thread);
    send(&Event::Reading { thread, file: file.to_owned(), section: section.to_owned() });
    let outcome = read();
    send(&Event::Read { thread });
    outcome
}

/// Sends a new progress bar.
pub fn show_bar(label: &str, total: u64, unit: &str, bar: &ProgressBar) {
    let Some(channel) = CHANNEL.get() else { return };
    *lock(&channel.bar) = Some(bar.clone());
    send(&Event::Bar { label: label.to_owned(), total, unit: unit.to_owned() });
}

/// Sends the position of the bar if it is another than `last`. Returns it.
pub fn send_position(last: u64) -> u64 {
    let bar = CHANNEL.get().and_then(|channel| lock(&channel.bar).clone());
    let position = bar.map_or(0, |bar| bar.position());
    if position != last {
        send(&Event::Position(position));
    }
    position
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
