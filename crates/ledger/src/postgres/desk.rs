//! Rare operations: on keys, credits, checkouts, logins and relations, one at a time.
//!
//! Each runs in the thread of its caller. The part of the books that it works on is read and locked, the state decides, and
//! what changed is written and told to other servers in the same transaction.

use std::time::Duration;

use super::loading::{below, load};
use super::rows::{Rows, Shared};
use super::tables::{signed, unsigned};
use super::{Core, writing};
use crate::directory::Directory;
use crate::error::{BooksError, Refusal, Unavailable};
use crate::id::AccountId;
use crate::operation::{Makes, Operation, Owner, Reads};
use crate::pending::Pending;
use crate::state::{Next, Part, State, Totals};
use mercato_database::{Connection, Trouble};

/// The longest wait for other rare operations.
const DESK_WAIT: Duration = Duration::from_secs(10);

const ACCOUNT_OF_KEY: &str = "SELECT account FROM api_key WHERE id = $1";
const ACCOUNT_OF_RECORD: &str = "SELECT account FROM record WHERE key = $1";
const NUMBERS: &str = "SELECT nextval('entry_number'), CASE WHEN $1 THEN nextval('account_id') ELSE 0 END, \
    CASE WHEN $2 THEN nextval('key_id') ELSE 0 END, CASE WHEN $3 THEN nextval('checkout_number') ELSE 0 END";

/// Constraints on which two transactions meet that both saw a record absent.
const MEETING_POINTS: [&str; 3] = ["record_pkey", "record_email", "api_key_hash"];

impl Core {
    /// Carries out a rare operation.
    pub fn run<O: Operation>(&self, operation: &O) -> Result<Pending<O::Outcome, O::Refusal>, O::Refusal> {
        self.serving()?;
        let mut reads = self.owned(operation.reads())?;
        let stalled = || BooksError::from(Unavailable::Stalled);
        let mut desk = self.desk.try_lock_for(DESK_WAIT).ok_or_else(stalled)?;
        let server = self.batches.server();
        loop {
            let done = desk
                .transact(|connection, _| attempt(connection, &reads, &self.directory, server, operation));
            let (outcome, changed) = done.map_err(|trouble| self.failed(&trouble))?;
            // An operation may find out by itself which account it is about.
            if let Err(refusal) = &outcome
                && let Some(BooksError::UnknownAccount { account }) = refusal.of_books()
                && reads.accounts.insert(*account)
            {
                continue;
            }
            if let Some((mut state, entries)) = changed {
                self.hear(state.latest());
                state.publish_to(&self.directory);
                self.count(1, entries, Duration::ZERO);
            }
            return outcome.map(Pending::done);
        }
    }

    /// Answers a question from a state that nothing is locked for.
    pub fn ask<Q: Operation>(&self, question: &Q) -> Result<Q::Outcome, Q::Refusal> {
        let reads = question.reads();
        self.look(|connection| {
            let rows = Rows::new(connection, false);
            let mut state = State::of_part(below(&rows), load(&rows, &reads, false)?);
            let answer = question.decide(&mut state);
            rows.take_trouble().map_or(Ok(answer), Err)
        })?
    }

    /// Looks for the account that is known by something else.
    fn owned(&self, mut reads: Reads) -> Result<Reads, BooksError> {
        let account = match reads.owner.take() {
            None => None,
            Some(Owner::Key(id)) => match self.directory.key(id) {
                Some(key) => Some(key.account().id()),
                // Another server may have made it just now.
                None => self.account_of(ACCOUNT_OF_KEY, &[&signed(id.number())])?,
            },
            Some(Owner::Record(key)) => self.account_of(ACCOUNT_OF_RECORD, &[&key])?,
        };
        reads.accounts.extend(account);
        Ok(reads)
    }

    fn account_of(
        &self,
        text: &'static str,
        arguments: mercato_database::Arguments<'_>,
    ) -> Result<Option<AccountId>, BooksError> {
        let account = self.look(|connection| {
            let row = connection.lock().first(text, arguments)?;
            Ok(row.and_then(|row| row.get::<_, Option<i64>>(0)))
        })?;
        Ok(account.map(|account| AccountId::from_number(unsigned(account))))
    }

    /// Reads with the connection of questions.
    pub fn look<T>(&self, mut look: impl FnMut(&Shared) -> Result<T, Trouble>) -> Result<T, BooksError> {
        let mut link = self.questions.try_lock_for(DESK_WAIT).ok_or(Unavailable::Stalled)?;
        let found = link.again(|link| look(&link.connection()?));
        found.map_err(|trouble| self.failed(&trouble))
    }
}

/// What came of an operation, and, where it changed something, the state and the number of its entries.
type Attempted<O> = (Result<<O as Operation>::Outcome, <O as Operation>::Refusal>, Option<(State, u64)>);

fn attempt<O: Operation>(
    connection: &Shared,
    reads: &Reads,
    directory: &Directory,
    server: i64,
    operation: &O,
) -> Result<Attempted<O>, Trouble> {
    let rows = Rows::new(connection, true);
    let part = load(&rows, reads, true)?;
    let (sequence, next) = numbers(&mut connection.lock(), reads.makes)?;
    let totals = totals(directory);
    let mut state = State::of_part(below(&rows), Part { next, totals, ..part });
    state.number(sequence, 0);
    let outcome = operation.decide(&mut state);
    if let Some(trouble) = rows.take_trouble() {
        return Err(trouble);
    }
    let written = state.take_outcome().map_err(|error| Trouble::Refused(error.to_string()))?;
    if outcome.is_err() {
        return Ok((outcome, None));
    }
    let entries = written.entries.len() as u64;
    let work = writing::Work { entries: written.entries, changes: written.changes };
    writing::write(&rows, server, &work, &state.changed(), true).map_err(met)?;
    Ok((outcome, Some((state, entries))))
}

/// Where two transactions meet, the later one begins again and sees what the earlier one wrote.
fn met(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Taken(constraint) if MEETING_POINTS.contains(&constraint.as_str()) => {
            Trouble::Conflict(constraint)
        }
        other => other,
    }
}

/// What the books of all servers have, as far as this one knows.
fn totals(directory: &Directory) -> Totals {
    let (accounts, keys) = directory.counts();
    Totals { accounts, keys, sessions: directory.logins().open_sessions() }
}

fn numbers(connection: &mut Connection, makes: Option<Makes>) -> Result<(u64, Next), Trouble> {
    let is = |made| makes == Some(made);
    let wants: [bool; 3] = [is(Makes::Account), is(Makes::Key), is(Makes::Checkout)];
    let row = connection.first(NUMBERS, &[&wants[0], &wants[1], &wants[2]])?;
    let Some(row) = row else { return Err(Trouble::Refused("the database gives no numbers".to_owned())) };
    let [sequence, account, key, checkout] = [0, 1, 2, 3].map(|column: usize| unsigned(row.get(column)));
    Ok((sequence, Next { account, key, checkout }))
}
