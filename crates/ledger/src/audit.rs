//! The audit: adds up entries again and compares them with the accounts.
//!
//! Over all entries it proves every balance. Over the newest ones it proves that they continue each other and end at
//! the balances of the accounts.

use std::collections::HashMap;

use super::account::AccountRecord;
use super::entry::{Entry, EntryKind};
use super::id::AccountId;
use super::reservation_record::ReservationRecord;

/// Differences that a report names; the others are counted.
const DIFFERENCES_NAMED_MAX: usize = 100;

/// The result of an audit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditReport {
    /// Entries that were added up.
    pub entries: u64,
    /// Accounts that were compared.
    pub accounts: u64,
    pub open_reservations: u64,
    /// The sum of all balances.
    pub credits: u64,
    /// The first differences, as sentences.
    pub differences: Vec<String>,
    /// How many differences there are.
    pub difference_count: u64,
    /// The newest entry, or zero.
    pub last_sequence: u64,
}

impl AuditReport {
    /// Whether the books balance.
    pub const fn is_balanced(&self) -> bool {
        self.difference_count == 0
    }

    /// Names a difference.
    pub fn differ(&mut self, difference: String) {
        self.difference_count += 1;
        if self.differences.len() < DIFFERENCES_NAMED_MAX {
            self.differences.push(difference);
        }
    }
}

/// Entries that are being added up.
pub struct Audit {
    first: u64,
    next: u64,
    sums: HashMap<AccountId, Sum>,
    /// Open reservations: the entry, its account and its amount.
    open: HashMap<u64, (AccountId, i64)>,
    report: AuditReport,
}

struct Sum {
    balance: u64,
    last_sequence: u64,
}

impl Audit {
    /// An audit that begins at this entry; 1 is the beginning of the books.
    pub fn new(first: u64) -> Audit {
        Audit {
            first,
            next: first,
            sums: HashMap::new(),
            open: HashMap::new(),
            report: AuditReport::default(),
        }
    }

    /// Adds the next entry.
    pub fn add<Text>(&mut self, entry: &Entry<Text>) {
        self.report.entries += 1;
        if entry.sequence < self.next {
            self.differ(format!("expected an entry from {} on, found entry {}", self.next, entry.sequence));
        }
        self.next = entry.sequence.saturating_add(1);
        self.report.last_sequence = entry.sequence;
        let before = match self.sums.get(&entry.account) {
            Some(sum) => Some(sum.balance),
            // Earlier entries of the account may precede the first examined one.
            None if self.first > 1 => None,
            None => Some(0),
        };
        let after = before.map(|before| before.checked_add_signed(entry.amount));
        if let Some(after) = after
            && after != Some(entry.balance)
        {
            self.differ(format!(
                "entry {} of {}: balance after it is {}, the entries before it and its amount {} give {}",
                entry.sequence,
                entry.account,
                entry.balance,
                entry.amount,
                after.map_or_else(|| "less than nothing".to_owned(), |after| after.to_string()),
            ));
        }
        self.sums.insert(entry.account, Sum { balance: entry.balance, last_sequence: entry.sequence });
        self.follow_reservation(entry);
    }

    fn follow_reservation<Text>(&mut self, entry: &Entry<Text>) {
        match entry.kind {
            EntryKind::Reserve => {
                self.open.insert(entry.sequence, (entry.account, entry.amount));
            }
            EntryKind::Settle
                if self.open.remove(&entry.related).is_none_or(|(account, _)| account != entry.account)
                    && entry.related >= self.first =>
            {
                self.differ(format!(
                    "entry {} of {} settles entry {}, which is no open reservation",
                    entry.sequence, entry.account, entry.related
                ));
            }
            _ => {}
        }
    }

    /// Compares the sums with the accounts and the open reservations.
    pub fn finish<'r>(
        mut self,
        accounts: impl Iterator<Item = &'r AccountRecord>,
        reservations: impl Iterator<Item = &'r ReservationRecord>,
    ) -> AuditReport {
        for account in accounts {
            self.report.accounts += 1;
            self.report.credits = self.report.credits.saturating_add(account.balance.credits);
            self.compare(account);
        }
        let strangers: Vec<_> = self.sums.keys().copied().collect();
        for account in strangers {
            self.differ(format!("there are entries of {account}, but no such account"));
        }
        for open in reservations {
            self.report.open_reservations += 1;
            if open.sequence < self.first {
                continue;
            }
            match self.open.remove(&open.sequence) {
                Some((account, amount))
                    if account == open.account && amount.unsigned_abs() == open.credits() => {}
                Some((account, amount)) => self.differ(format!(
                    "{} reservations {} of {}, its entry {} took {} from {account}",
                    open.id,
                    open.credits(),
                    open.account,
                    open.sequence,
                    amount.unsigned_abs()
                )),
                None => self.differ(format!("{} is open, but entry {} is not", open.id, open.sequence)),
            }
        }
        for sequence in std::mem::take(&mut self.open).into_keys() {
            self.differ(format!(
                "entry {sequence} reserves, but its reservation is neither open nor settled"
            ));
        }
        self.report
    }

    fn compare(&mut self, account: &AccountRecord) {
        let (balance, last) = (account.balance.credits, account.last_sequence);
        match self.sums.remove(&account.id) {
            Some(sum) if sum.balance == balance && sum.last_sequence == last => {}
            Some(sum) => self.differ(format!(
                "{}: balance is {balance} after entry {last}, its entries give {} after entry {}",
                account.id, sum.balance, sum.last_sequence
            )),
            None if last >= self.first || self.first == 1 && balance != 0 => {
                self.differ(format!(
                    "{}: balance is {balance} after entry {last}, which is missing",
                    account.id
                ));
            }
            None => {}
        }
    }

    fn differ(&mut self, difference: String) {
        self.report.differ(difference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_base::clock::Moment;

    /// One line an entry: account, kind, amount, balance after it, entry that it settles.
    fn check(lines: &str, balances: &[(u64, u64, u64)], expected: &[&str]) {
        let mut audit = Audit::new(1);
        for (index, line) in lines.split('|').enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let kind = match words[1] {
                "settle" => EntryKind::Settle,
                "reserve" => EntryKind::Reserve,
                _ => EntryKind::Charge,
            };
            let account = AccountId::from_number(words[0].parse().unwrap());
            audit.add(&Entry::<&str> {
                sequence: index as u64 + 1,
                balance: words[3].parse().unwrap(),
                related: words.get(4).map_or(0, |word| word.parse().unwrap()),
                ..Entry::new(account, kind, words[2].parse().unwrap(), Moment::from_unix_millis(0))
            });
        }
        let accounts: Vec<_> = balances
            .iter()
            .map(|(id, balance, last)| {
                let id = AccountId::from_number(*id);
                let mut account = AccountRecord::new(id, "n".to_owned(), Moment::from_unix_millis(0));
                account.balance.credits = *balance;
                account.last_sequence = *last;
                account
            })
            .collect();
        let report = audit.finish(accounts.iter(), std::iter::empty());
        assert_eq!(report.differences.len(), expected.len(), "{:?}", report.differences);
        for (found, expected) in report.differences.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn reports_reservation_above_its_entry() {
        let at = Moment::from_unix_millis(0);
        let account = AccountId::from_number(1);
        for (held, expected) in [(4, 0), (5, 1)] {
            let mut audit = Audit::new(1);
            let entry = |sequence, kind, amount, balance| Entry::<&str> {
                sequence,
                balance,
                ..Entry::new(account, kind, amount, at)
            };
            audit.add(&entry(1, EntryKind::Grant, 9, 9));
            audit.add(&entry(2, EntryKind::Reserve, -4, 5));
            let mut record = AccountRecord::new(account, "n".to_owned(), at);
            (record.balance.credits, record.last_sequence) = (5, 2);
            let open = ReservationRecord {
                id: crate::id::ReservationId::from_number(1),
                account,
                key: None,
                payment: crate::account::Payment::Credits(held),
                sequence: 2,
                delivered: 0,
                at,
                request_id: String::new(),
                dataset: String::new(),
                file: None,
                claim: None,
                view: None,
            };
            let report = audit.finish(std::iter::once(&record), std::iter::once(&open));
            assert_eq!(report.difference_count, expected, "{report:?}");
        }
    }

    #[test]
    fn reports_each_difference_of_books() {
        check("1 buy 100 100 | 2 buy 7 7 | 1 charge -30 70", &[(1, 70, 3), (2, 7, 2)], &[]);
        check("1 buy 100 100 | 1 charge -30 60", &[(1, 60, 2)], &["entry 2 of acc_1"]);
        check("1 buy 100 100", &[(1, 99, 1)], &["acc_1: balance is 99"]);
        check("1 buy 100 100", &[], &["no such account"]);
        check("1 buy 100 100", &[(1, 100, 1), (2, 5, 0)], &["acc_2: balance is 5"]);
        check("1 buy 9 9 | 1 reserve -4 5 | 1 settle 1 6 2", &[(1, 6, 3)], &[]);
        check("1 buy 9 9 | 1 reserve -4 5", &[(1, 5, 2)], &["entry 2 reserves"]);
        check("1 buy 9 9 | 1 settle 1 10 1", &[(1, 10, 2)], &["no open reservation"]);
    }
}
