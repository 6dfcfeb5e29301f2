//! Asks for the usage of an account, by day, key and dataset.

use crate::codec::Record;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::state::State;
use crate::usage::{Usage, UsageLine};
use mercato_base::clock::UtcDay;

/// At most `limit` lines from a day on, or behind a line of an earlier page.
pub struct UsageLines<'a> {
    pub account: AccountId,
    pub first: UtcDay,
    pub after: Option<&'a UsageLine>,
    pub limit: usize,
}

impl Operation for UsageLines<'_> {
    type Outcome = Vec<UsageLine>;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::nothing()
    }

    fn decide(&self, books: &mut State) -> Result<Vec<UsageLine>, BooksError> {
        let UsageLines { account, first, after, limit } = *self;
        let from = after.map_or_else(
            || key_space::usage_day(account, first),
            |line| {
                let line = key_space::usage(account, line.day, line.key, &line.dataset);
                [line.as_slice(), &[0]].concat()
            },
        );
        let page = books.scan(&key_space::usage_of(account), &from, limit)?;
        let line = |(record, value): &(Vec<u8>, Vec<u8>)| {
            let (day, key, dataset) = key_space::split_usage(record)?;
            let Usage { requests, rows, credits } = Usage::decode(value).ok()?;
            Some(UsageLine { day, key, dataset: dataset.to_owned(), requests, rows, credits })
        };
        let lines = page.iter().map(line).collect::<Option<Vec<_>>>();
        lines.ok_or_else(|| books.fail_damaged("a usage record that cannot be read".to_owned()))
    }
}
