//! Waits for readable or writable connections, and for a timer with nanosecond precision.
//!
//! Handles tokens and sockets. Does not depend on requests.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// Events that are taken at one time.
const EVENT_COUNT_MAX: usize = 256;
const TIMER_TOKEN: u64 = u64::MAX;
const ZERO: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The readiness that a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    Read,
    /// Also that it can be written, or is connected.
    Write,
}

/// Waits for the connections of one thread.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// Waiting itself counts milliseconds; this counts finer.
    timer: OwnedFd,
}

pub type Events = Vec<epoll::Event>;

impl Poller {
    pub fn new() -> io::Result<Poller> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        // Edge-triggered: setting it anew is all that it takes after it went off.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER_TOKEN), flags)?;
        Ok(Poller { epoll, timer })
    }

    pub fn events() -> Events {
        Vec::with_capacity(EVENT_COUNT_MAX)
    }

    /// Begins to watch. What is closed is forgotten by itself.
    pub fn watch(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), flags(interest))?)
    }

    pub fn change(&self, socket: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(token), flags(interest))?)
    }

    /// Sets the timer: the next wait ends after `wait` at the latest.
    pub fn wake_after(&self, wait: Duration) -> io::Result<()> {
        // Zero would disable the timer.
        let wait = wait.max(Duration::from_nanos(1));
        let it_value = Timespec::try_from(wait).map_err(io::Error::other)?;
        timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: ZERO, it_value },
        )?;
        Ok(())
    }

    /// Waits at most `most`, counted in milliseconds.
    pub fn wait(&self, events: &mut Events, most: Duration) -> io::Result<()> {
        events.clear();
        let most = Timespec::try_from(most).map_err(io::Error::other)?;
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&most)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The token of an event; `None` for the timer.
pub fn token(event: &epoll::Event) -> Option<usize> {
    let token = event.data.u64();
    usize::try_from(token).ok().filter(|_| token != TIMER_TOKEN)
}

fn flags(interest: Interest) -> epoll::EventFlags {
    match interest {
        Interest::Read => epoll::EventFlags::IN,
        Interest::Write => epoll::EventFlags::IN | epoll::EventFlags::OUT,
    }
}
