//! A batcher: takes jobs out of the queue and has them carried out, many at a time.
//!
//! Plain charges share one statement; all others, and those that it leaves undone, share one transaction. While a batch is
//! under way the next one gathers. Does not depend on the decisions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::super::transaction::Link;
use super::super::{Core, refusal};
use super::charging::{charge, plain};
use super::jobs::{Job, Reply, Sold, Work};
use super::working::work;
use crate::error::{BooksError, ChargeError, Unavailable};
use crate::operations::charges::ANSWER_FAILED;
use crate::request::Receipt;
use mercato_database::Trouble;

pub const BATCH_JOBS_MAX: usize = 512;

/// Carries out jobs until the queue is closed and empty.
pub fn run(core: &Arc<Core>, batcher: usize) {
    let mut link = core.link();
    let Some(queue) = core.queue.of(batcher) else { return };
    while let Some(jobs) = queue.take(BATCH_JOBS_MAX) {
        let tickets: Vec<u64> = jobs.iter().map(|job| job.ticket).collect();
        // Nobody waits for these, so they do not happen.
        let jobs: Vec<Job> =
            jobs.into_iter().filter(|job| job.work.ends() || !job.reply.is_given_up()).collect();
        let mut rest = jobs;
        let done = catch_unwind(AssertUnwindSafe(|| carry_out(core, &mut link, &mut rest)));
        if done.is_err() {
            link.lose();
            // What was sent may have been committed.
            rest.iter().filter_map(|job| job.reply.batch()).for_each(|batch| core.batches.doubt(batch));
            rest.into_iter().for_each(|job| refuse(core, job, &Unavailable::Down.into()));
        }
        queue.answered(&tickets);
    }
}

/// Answers every job. Those that are still unanswered stand in `jobs`.
fn carry_out(core: &Arc<Core>, link: &mut Link, jobs: &mut Vec<Job>) {
    sell_plain(core, link, jobs);
    if jobs.is_empty() {
        return;
    }
    let began = Instant::now();
    match work(link, jobs, &core.directory) {
        Ok(worked) => {
            core.count(jobs.len(), worked.entries, began.elapsed());
            for (job, outcome) in jobs.drain(..).zip(worked.outcomes) {
                core.hear(job.work.at());
                finish(core, &job, outcome);
            }
        }
        Err(trouble) => {
            let error = ChargeError::from(core.failed(&trouble));
            jobs.drain(..).for_each(|job| refuse(core, job, &error));
        }
    }
}

/// Charges what is plain, and leaves the other jobs, and those that could not be charged like that.
fn sell_plain(core: &Arc<Core>, link: &mut Link, jobs: &mut Vec<Job>) {
    let (mut chosen, mut plain_jobs, mut requests) = (Vec::new(), Vec::new(), Vec::new());
    for (place, job) in jobs.iter().enumerate() {
        if let Some(request) = plain(job, &core.directory) {
            chosen.push(place);
            plain_jobs.push(job);
            requests.push(request);
        }
    }
    if requests.is_empty() {
        return;
    }
    let began = Instant::now();
    let charged = charge(link, &plain_jobs, &requests, &core.directory);
    let receipts: Vec<Result<Option<Receipt>, ChargeError>> = match charged {
        Ok(receipts) => {
            let sold = receipts.iter().flatten();
            let entries = sold.clone().filter(|receipt| receipt.charged > 0).count() as u64;
            core.count(sold.count(), entries, began.elapsed());
            receipts.into_iter().map(Ok).collect()
        }
        Err(trouble) => {
            let error = ChargeError::from(core.failed(&trouble));
            chosen.iter().map(|_| Err(error.clone())).collect()
        }
    };
    let mut outcomes: Vec<Option<Result<Receipt, ChargeError>>> = jobs.iter().map(|_| None).collect();
    for (place, receipt) in chosen.into_iter().zip(receipts) {
        if let Some(outcome) = outcomes.get_mut(place) {
            *outcome = receipt.transpose();
        }
    }
    let mut rest = Vec::new();
    for (job, outcome) in jobs.drain(..).zip(outcomes) {
        match outcome {
            None => {
                core.known(&job.reply);
                rest.push(job);
            }
            Some(Ok(receipt)) => {
                core.hear(job.work.at());
                finish(core, &job, Ok(Sold::Receipt(receipt)));
            }
            Some(Err(error)) => refuse(core, job, &error),
        }
    }
    *jobs = rest;
}

/// Answers a job that was decided.
fn finish(core: &Arc<Core>, job: &Job, outcome: Result<Sold, ChargeError>) {
    match (&job.work, &outcome) {
        (Work::Reserve(request), Ok(Sold::Reserved(reserved))) => {
            core.live.insert(reserved.id, request.account.id(), request.key, &reserved.progress);
        }
        (Work::ReserveFile(request), Ok(Sold::Reserved(reserved))) => {
            let request = &request.charge;
            core.live.insert(reserved.id, request.account.id(), request.key, &reserved.progress);
        }
        (Work::Settle(settle), _) => core.live.remove(settle.id),
        _ => {}
    }
    core.status.open_reservations.store(core.live.len() as u64, Ordering::Relaxed);
    // A reservation that nobody waits for has no stream, and is settled as such.
    if let (Work::Refund { doubt: Some(charge), .. }, Ok(_), Some(journal)) =
        (&job.work, &outcome, &core.batches.journal)
    {
        journal.settle(charge);
    }
    if let Some(Sold::Receipt(receipt)) = job.reply.answer(outcome)
        && matches!(job.work, Work::Charge(_) | Work::Part(_))
    {
        tracing::warn!("a charge came through after its request was answered 503; it is taken back");
        let (at, doubt) = (job.work.at(), job.reply.known());
        let work = Work::Refund { receipt, at, note: ANSWER_FAILED, doubt };
        if let Err(error) = core.queue.put(Job::new(work, Reply::Nobody)) {
            tracing::error!(%error, noted = doubt.is_some(), "a charge that nobody waits for is not taken back now");
        }
    } else {
        core.known(&job.reply);
    }
}

/// Answers a job that was not carried out.
fn refuse(core: &Core, job: Job, error: &ChargeError) {
    let is_doubtful = job.reply.batch().is_some_and(|batch| core.batches.is_doubtful(batch));
    if is_doubtful {
        job.reply.note();
    }
    job.reply.answer(Err(error.clone()));
    if !is_doubtful {
        core.known(&job.reply);
    }
    match (&job.work, &job.reply) {
        (Work::Settle(settle), _) => core.live.settle_later(settle.id),
        // Nobody else would try it again. It is noted, for a server that stops.
        (Work::Refund { .. }, Reply::Nobody) => core.owed.lock().push(job),
        _ => {}
    }
}

impl Core {
    /// The outcome of what a job sent is known, and nothing of it has to be taken back.
    fn known(&self, reply: &Reply) {
        if let (Some(charge), Some(journal)) = (reply.known(), &self.batches.journal) {
            journal.settle(&charge);
        }
    }

    /// Notes a failure of the database. Returns what callers are told.
    pub fn failed(&self, trouble: &Trouble) -> BooksError {
        self.note_failure(trouble);
        refusal(trouble)
    }
}
