//! The worker: takes a job, limits itself, converts, and sends the outcome.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::thread;
use std::time::Duration;

use mercato_format::ColumnSpec;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::messages::{ColumnMessage, Event, Job};
use super::{Limits, channel};
use crate::convert::{Conversion, convert_if, preview};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::panic_guard;

/// How often progress is sent, and decoders are looked at.
const TICK: Duration = Duration::from_millis(100);

pub fn run() -> Result<(), Failure> {
    let job = receive()
        .ok_or_else(|| Failure::Usage(format!("{}: only for other commands", super::WORKER_COMMAND)))?;
    // Whatever panics here is reported by the supervisor.
    panic::set_hook(Box::new(|_| ()));
    let event = match prepare(job.limits) {
        Ok(interruption) => outcome(job, interruption),
        Err(failure) => Event::failed(&failure),
    };
    channel::send(&event);
    Ok(())
}

fn receive() -> Option<Job> {
    let socket = UnixStream::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?);
    socket.peer_addr().ok()?;
    let mut line = Vec::new();
    BufReader::new(socket.try_clone().ok()?).read_until(b'\n', &mut line).ok()?;
    channel::open(socket);
    serde_json::from_slice(&line).ok()
}

fn prepare(limits: Limits) -> Result<Interruption, Failure> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .map_err(|error| Failure::Start(format!("cannot follow the supervisor: {error}")))?;
    for (resource, most) in
        [(Resource::Data, Some(limits.memory_bytes)), (Resource::Fsize, limits.file_bytes)]
    {
        let limit = Rlimit { current: most, maximum: most };
        if most.is_some() {
            setrlimit(resource, limit)
                .map_err(|error| Failure::Start(format!("cannot limit the worker: {error}")))?;
        }
    }
    let interruption = Interruption::default();
    interruption.on_signals().map_err(|error| Failure::Start(format!("cannot wait for signals: {error}")))?;
    let watched = interruption.clone();
    thread::spawn(move || watch(limits.decoder_time_max, &watched));
    Ok(interruption)
}

/// Sends progress, and ends the process when a decoder is stuck.
fn watch(decoder_time_max: Duration, interruption: &Interruption) {
    let mut position = 0;
    loop {
        thread::sleep(TICK);
        position = channel::send_position(position);
        if panic_guard::longest_call() > decoder_time_max {
            interruption.abandon(super::death::STUCK_EXIT_CODE);
        }
    }
}

fn outcome(job: Job, interruption: Interruption) -> Event {
    let is_preview = job.is_preview;
    let conversion = match job.conversion(interruption) {
        Ok(conversion) => conversion,
        Err(error) => return Event::failed(&Failure::Usage(format!("[source]: {error}"))),
    };
    let converted = panic::catch_unwind(AssertUnwindSafe(|| run_job(&conversion, is_preview)));
    match converted {
        Ok(Ok(event)) => event,
        Ok(Err(failure)) => Event::failed(&failure),
        Err(_) => Event::failed(&Failure::refused(
            super::death::name_of(&conversion),
            "conversion",
            "a file that can be converted",
            "one that ends the converter",
            "get it again from its source, or report it",
        )),
    }
}

fn run_job(conversion: &Conversion, is_preview: bool) -> Result<Event, Failure> {
    if is_preview {
        return preview(conversion).map(Event::Previewed);
    }
    let ask = |columns: &[&ColumnSpec]| {
        let columns = columns.iter().map(|column| ColumnMessage::from(*column));
        if channel::ask(&Event::Columns(columns.collect())) {
            return Ok(());
        }
        Err(Failure::Cancelled { file: conversion.output.display().to_string() })
    };
    let report = convert_if(conversion, &ask)?;
    let absent = report.absent.clone();
    Ok(Event::Converted(Box::new(report), absent))
}
