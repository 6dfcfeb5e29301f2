//! The queue of mails and the thread behind it: attempts, pauses, and counts by outcome.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender as JobSender, bounded};
use lettre::transport::smtp::Error;
use lettre::{Message, SmtpTransport, Transport};

use super::letter::{Letter, Sender};
use super::server::SmtpServer;
use mercato_base::sample::Sample;

/// Mails that may wait to be written and sent; one more is dropped and counted.
const MAILS_QUEUED_MAX: usize = 256;
/// Mails that wait for another attempt; one more is given up.
const MAILS_RETRIED_MAX: usize = 256;
/// Pauses before a mail is tried again. After the last attempt it is given up.
const RETRY_PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(15), Duration::from_secs(120), Duration::from_secs(600)];
/// Longest wait for unsent mails when the server stops.
const END_WAIT: Duration = Duration::from_secs(5);

/// Writes a letter, or finds that there is none to send.
type LetterWriter = Box<dyn FnOnce() -> Option<Letter> + Send>;

/// Takes mails in. Shared by all threads.
pub struct Mailer {
    jobs: JobSender<Job>,
    counts: Arc<Counts>,
}

/// The thread that sends; dropping this ends it, after a bounded time for what waits.
pub struct MailThread {
    jobs: JobSender<Job>,
    is_ending: Arc<AtomicBool>,
    ended: Receiver<()>,
}

enum Job {
    Write(LetterWriter),
    End,
}

#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    waiting: AtomicU64,
}

impl Mailer {
    /// Starts the thread.
    ///
    /// # Errors
    /// The TLS settings of the server cannot be used, or the thread cannot be started.
    pub fn start(server: &SmtpServer, sender: Sender) -> io::Result<(Mailer, MailThread)> {
        let transport = server.transport(sender.domain()).map_err(io::Error::other)?;
        let (jobs, waiting) = bounded(MAILS_QUEUED_MAX);
        let (alive, ended) = bounded(0);
        let (counts, is_ending) = (Arc::<Counts>::default(), Arc::<AtomicBool>::default());
        let mut worker = Worker {
            transport,
            sender,
            counts: Arc::clone(&counts),
            is_ending: Arc::clone(&is_ending),
            later: Vec::new(),
        };
        thread::Builder::new().name("mail".to_owned()).spawn(move || {
            worker.work(&waiting);
            drop(alive);
        })?;
        Ok((Mailer { jobs: jobs.clone(), counts }, MailThread { jobs, is_ending, ended }))
    }

    /// Has a letter written and sent, soon and by another thread. Where too many wait, it is dropped, counted and logged.
    pub fn submit(&self, write: impl FnOnce() -> Option<Letter> + Send + 'static) {
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        if self.jobs.try_send(Job::Write(Box::new(write))).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::error!("a mail is dropped: too many wait to be sent");
        }
    }

    /// Counts of mails by outcome, as metrics.
    pub fn sampler(&self) -> impl Fn() -> Vec<Sample> + Send + Sync + use<> {
        let counts = Arc::clone(&self.counts);
        move || {
            let outcome = |word, count: &AtomicU64| {
                let count = count.load(Ordering::Relaxed);
                Sample::counter("mercato_mails_total", "Mails by outcome.", count).labelled("outcome", word)
            };
            vec![
                outcome("sent", &counts.sent),
                outcome("failed", &counts.failed),
                outcome("dropped", &counts.dropped),
                Sample::gauge(
                    "mercato_mails_waiting",
                    "Mails that wait to be sent or tried again.",
                    counts.waiting.load(Ordering::Relaxed),
                ),
            ]
        }
    }
}

impl Drop for MailThread {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        // A full queue wakes the thread too.
        drop(self.jobs.try_send(Job::End));
        // The channel carries nothing: it closes when the thread has ended.
        let _ended_or_late = self.ended.recv_timeout(END_WAIT);
    }
}

/// The state of the thread.
struct Worker {
    transport: SmtpTransport,
    sender: Sender,
    counts: Arc<Counts>,
    is_ending: Arc<AtomicBool>,
    later: Vec<Later>,
}

/// A mail that is tried again.
struct Later {
    message: Message,
    attempts: usize,
    due: Instant,
}

impl Worker {
    fn work(&mut self, jobs: &Receiver<Job>) {
        while !self.is_ending.load(Ordering::Relaxed) {
            match jobs.recv_timeout(self.pause(Instant::now())) {
                Ok(Job::Write(write)) => self.write(write),
                Ok(Job::End) => break,
                Err(error) if error.is_timeout() => {}
                Err(_) => break,
            }
            self.try_due(Instant::now());
        }
        self.end(jobs, Instant::now() + END_WAIT);
    }

    /// Until the next attempt; long where there is none.
    fn pause(&self, now: Instant) -> Duration {
        let next = self.later.iter().map(|later| later.due.saturating_duration_since(now)).min();
        next.unwrap_or(Duration::from_secs(3_600))
    }

    fn write(&mut self, write: LetterWriter) {
        let Some(letter) = write() else { return self.done(None) };
        match letter.message(&self.sender) {
            Some(message) => self.attempt(message, 0),
            None => {
                tracing::error!("a mail cannot be written to its receiver");
                self.done(Some(false));
            }
        }
    }

    fn try_due(&mut self, now: Instant) {
        while let Some(place) = self.later.iter().position(|later| later.due <= now) {
            let Later { message, attempts, .. } = self.later.swap_remove(place);
            self.attempt(message, attempts);
            if self.is_ending.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    fn attempt(&mut self, message: Message, before: usize) {
        let Err(error) = self.transport.send(&message) else { return self.done(Some(true)) };
        let attempts = before.saturating_add(1);
        let pause = RETRY_PAUSES.get(before).filter(|_| !error.is_permanent());
        let has_room = self.later.len() < MAILS_RETRIED_MAX;
        match pause.filter(|_| has_room) {
            Some(pause) => {
                tracing::warn!(attempts, reason = reason(&error), "a mail is not sent yet");
                self.later.push(Later { message, attempts, due: Instant::now() + *pause });
            }
            None => {
                tracing::error!(attempts, reason = reason(&error), "a mail is given up");
                self.done(Some(false));
            }
        }
    }

    /// The last attempt for each mail, as far as there is time.
    fn end(&mut self, jobs: &Receiver<Job>, deadline: Instant) {
        let mut lost = 0_usize;
        for later in std::mem::take(&mut self.later) {
            let is_sent = Instant::now() < deadline && self.transport.send(&later.message).is_ok();
            lost = lost.saturating_add(usize::from(!is_sent));
        }
        for job in jobs.try_iter() {
            let Job::Write(write) = job else { continue };
            if Instant::now() >= deadline {
                lost = lost.saturating_add(1);
                continue;
            }
            let Some(letter) = write() else { continue };
            let message = letter.message(&self.sender);
            let is_sent = message.is_some_and(|message| self.transport.send(&message).is_ok());
            lost = lost.saturating_add(usize::from(!is_sent));
        }
        if lost > 0 {
            tracing::error!(lost, "mails were not sent before the end");
        }
    }

    /// Counts a mail that waits no longer: whether it was sent, if there was one.
    fn done(&self, sent: Option<bool>) {
        self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
        let counter = match sent {
            Some(true) => &self.counts.sent,
            Some(false) => &self.counts.failed,
            None => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The kind of an error, without the server's text, which often repeats the address of the receiver.
fn reason(error: &Error) -> String {
    let kind = if error.is_timeout() {
        "the server did not answer in time"
    } else if error.is_tls() {
        "TLS failed"
    } else if error.is_permanent() {
        "the server refused the mail"
    } else if error.is_transient() {
        "the server put the mail off"
    } else if error.is_client() {
        "the server does not offer what the settings ask for"
    } else {
        "the server cannot be reached, or broke off"
    };
    error.status().map_or_else(|| kind.to_owned(), |code| format!("{kind} ({code})"))
}
