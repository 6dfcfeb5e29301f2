//! Connections begin at the priority of strangers. Where it has become known who asks, they go on at that of customers.
//!
//! A thread can step back but not come forward again, so the connection moves to another thread: this one starts it,
//! because a thread begins with the priority of the one that starts it. Knows nothing of what is asked.

use std::io;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::connection::Connection;
use super::guard::Open;
use crate::limits::edge::{CONNECTION_STACK_BYTES, RISING_MAX};

/// A connection between two requests, and what says that it is open.
pub(super) struct Known {
    pub(super) connection: Connection,
    pub(super) open: Open,
}

/// Where connections are handed over.
pub(super) struct Riser {
    entrance: Sender<Option<Box<Known>>>,
}

impl Riser {
    /// Starts the thread that starts others, at the priority of the calling one.
    pub(super) fn start() -> io::Result<(Riser, JoinHandle<()>)> {
        let (entrance, waiting) = bounded(RISING_MAX);
        let thread = thread::Builder::new().name("riser".to_owned()).spawn(move || start_all(&waiting))?;
        Ok((Riser { entrance }, thread))
    }

    /// Lets the connection go on elsewhere, unless too many wait for that.
    pub(super) fn take(&self, known: Box<Known>) -> Result<(), Box<Known>> {
        match self.entrance.try_send(Some(known)).map_err(crossbeam_channel::TrySendError::into_inner) {
            Err(Some(known)) => Err(known),
            _ => Ok(()),
        }
    }

    /// Ends the thread when it has started those that wait.
    pub(super) fn end(&self) {
        // It may be gone already.
        drop(self.entrance.send(None));
    }
}

fn start_all(waiting: &Receiver<Option<Box<Known>>>) {
    while let Ok(Some(known)) = waiting.recv() {
        let Known { connection, open } = *known;
        let builder = thread::Builder::new().name("customer".to_owned()).stack_size(CONNECTION_STACK_BYTES);
        if let Err(error) = builder.spawn(move || connection.run(open)) {
            tracing::warn!(%error, "a connection is closed between two requests for want of a thread");
        }
    }
}
