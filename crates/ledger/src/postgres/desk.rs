//! Rare operations: on keys, credits, checkouts, logins and relations, one at a time.
//!
//! Each runs in the thread of its caller. The part of the books that it works on is read and locked, the state decides, and
//! what changed is written and told to other servers in the same transaction.

use std::time::Duration;

use super::loading::{Wanted, below, load};
use super::rows::{Rows, Shared};
use super::tables::unsigned;
use super::{Core, writing};
use crate::books::Outcome;
use crate::error::{ChargeError, Unavailable};
use crate::pending::Pending;
use crate::state::{Next, Part, State};
use mercato_database::{Connection, Trouble};

/// The longest wait for other rare operations.
const DESK_WAIT: Duration = Duration::from_secs(10);

const NUMBERS: &str = "SELECT nextval('entry_number'), CASE WHEN $1 THEN nextval('account_id') ELSE 0 END, \
    CASE WHEN $2 THEN nextval('key_id') ELSE 0 END, CASE WHEN $3 THEN nextval('checkout_number') ELSE 0 END";

/// Constraints on which two transactions meet that both saw a record absent.
const MEETING_POINTS: [&str; 2] = ["record_pkey", "record_email"];
const KEY_HASH: &str = "api_key_hash";

/// The record that an operation may make.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    Nothing,
    Account,
    Key,
    Checkout,
}

impl Core {
    /// Carries out a rare operation.
    pub fn change<T>(
        &self,
        mut wanted: Wanted,
        makes: Makes,
        operation: impl Fn(&mut State) -> Result<T, ChargeError>,
    ) -> Outcome<T> {
        self.serving()?;
        let mut desk = self.desk.try_lock_for(DESK_WAIT).ok_or(Unavailable::Stalled)?;
        let server = self.batches.server();
        loop {
            let done = desk.transact(|connection, _| attempt(connection, &wanted, makes, server, &operation));
            let (outcome, changed) = match done {
                Ok(done) => done,
                Err(Trouble::Taken(constraint)) if constraint == KEY_HASH => {
                    let rule = "the random bytes were used before; try again".to_owned();
                    return Err(ChargeError::Invalid { field: "key", rule });
                }
                Err(trouble) => return Err(self.failed(&trouble)),
            };
            // An operation may find out by itself which account it is about.
            if let Err(ChargeError::UnknownAccount { account }) = &outcome
                && wanted.accounts.insert(*account)
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

    /// Asks a state that nothing is locked for and that changes nothing.
    pub fn ask<T>(
        &self,
        wanted: &Wanted,
        question: impl Fn(&mut State) -> Result<T, ChargeError>,
    ) -> Result<T, ChargeError> {
        self.look(|connection| {
            let rows = Rows::new(connection, false);
            let mut state = State::of_part(below(&rows), load(&rows, wanted, false)?);
            let answer = question(&mut state);
            rows.take_trouble().map_or(Ok(answer), Err)
        })?
    }

    /// Reads with the connection of questions.
    pub fn look<T>(&self, mut look: impl FnMut(&Shared) -> Result<T, Trouble>) -> Result<T, ChargeError> {
        let mut link = self.questions.try_lock_for(DESK_WAIT).ok_or(Unavailable::Stalled)?;
        let found = link.again(|link| look(&link.connection()?));
        found.map_err(|trouble| self.failed(&trouble))
    }
}

/// What came of an operation, and, where it changed something, the state and the number of its entries.
type Attempted<T> = (Result<T, ChargeError>, Option<(State, u64)>);

fn attempt<T>(
    connection: &Shared,
    wanted: &Wanted,
    makes: Makes,
    server: i64,
    operation: &impl Fn(&mut State) -> Result<T, ChargeError>,
) -> Result<Attempted<T>, Trouble> {
    let rows = Rows::new(connection, true);
    let part = load(&rows, wanted, true)?;
    let (sequence, next) = numbers(&mut connection.lock(), makes)?;
    let mut state = State::of_part(below(&rows), Part { next, ..part });
    state.number(sequence, 0);
    let outcome = operation(&mut state);
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

fn numbers(connection: &mut Connection, makes: Makes) -> Result<(u64, Next), Trouble> {
    let is = |made| makes == made;
    let wants: [bool; 3] = [is(Makes::Account), is(Makes::Key), is(Makes::Checkout)];
    let row = connection.first(NUMBERS, &[&wants[0], &wants[1], &wants[2]])?;
    let Some(row) = row else { return Err(Trouble::Refused("the database gives no numbers".to_owned())) };
    let [sequence, account, key, checkout] = [0, 1, 2, 3].map(|column: usize| unsigned(row.get(column)));
    Ok((sequence, Next { account, key, checkout }))
}

/// What an operation on one account needs, with its keys and logins.
pub fn of_account(account: crate::id::AccountId) -> Wanted {
    Wanted { accounts: [account].into(), ..Wanted::default() }
}

impl Wanted {
    /// And all keys of the accounts.
    pub fn with_keys(self) -> Wanted {
        Wanted { all_keys: true, ..self }
    }

    /// And their logins, sessions and tokens.
    pub fn with_logins(self) -> Wanted {
        Wanted { logins: true, ..self }
    }
}
