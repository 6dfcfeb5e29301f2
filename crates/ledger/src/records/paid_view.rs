//! The record of a view whose rows an account has paid for on the site: which rows, each payment for a day.
//!
//! ```text
//! view        rows of one version of a dataset that match the same filters
//! payment     some rows, by their numbers, or all of them; ends by itself
//! ```
//!
//! Does not depend on the store, on prices or on filters.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::codec::Record;
use crate::limits::PAID_VIEW_ROWS_MAX;
use crate::request::{ViewRows, short_hash};
use mercato_base::clock::Moment;

/// The payments for one view.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PaidView {
    /// Oldest first.
    payments: Vec<ViewPayment>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct ViewPayment {
    until: Moment,
    /// The request that paid, so that a refund finds it.
    request: [u8; 16],
    /// The paid rows: the first number, then the distances. Nothing stands for all rows of the view.
    rows: Option<Vec<u32>>,
}

impl PaidView {
    /// Adds what a request paid. Beyond `PAID_VIEW_ROWS_MAX` rows the oldest payments go.
    pub fn pay(&mut self, rows: &ViewRows, request: &str, now: Moment, until: Moment) {
        let rows = match rows {
            ViewRows::All => None,
            ViewRows::These(rows) => Some(distances(rows)),
            ViewRows::Some => return,
        };
        self.payments.retain(|payment| now < payment.until);
        self.payments.push(ViewPayment { until, request: of_request(request), rows });
        let count = |payments: &[ViewPayment]| payments.iter().map(ViewPayment::count).sum::<usize>();
        while count(&self.payments) > PAID_VIEW_ROWS_MAX && self.payments.len() > 1 {
            self.payments.remove(0);
        }
    }

    /// Takes back what a request paid.
    pub fn forget(&mut self, request: &str) {
        let request = of_request(request);
        self.payments.retain(|payment| payment.request != request);
    }

    /// How many of so many rows are paid.
    pub fn paid_of(&self, rows: &ViewRows, count: u64, now: Moment) -> u64 {
        let valid = || self.payments.iter().filter(move |payment| now < payment.until);
        if valid().any(|payment| payment.rows.is_none()) {
            return count;
        }
        let paid: BTreeSet<u32> = valid().flat_map(ViewPayment::rows).collect();
        let found = match rows {
            ViewRows::All => paid.len(),
            ViewRows::These(rows) => rows.iter().filter(|row| paid.contains(*row)).count(),
            ViewRows::Some => 0,
        };
        count.min(found as u64)
    }

    /// When the last payment ends; nothing where there is none.
    pub fn until(&self) -> Option<Moment> {
        self.payments.iter().map(|payment| payment.until).max()
    }
}

impl ViewPayment {
    fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.iter().flatten().scan(0_u32, |row, distance| {
            *row = row.wrapping_add(*distance);
            Some(*row)
        })
    }

    fn count(&self) -> usize {
        self.rows.as_ref().map_or(0, Vec::len)
    }
}

impl Record for PaidView {
    const NAME: &'static str = "paid view";
}

fn of_request(request: &str) -> [u8; 16] {
    short_hash(&[request.as_bytes()])
}

fn distances(rows: &[u32]) -> Vec<u32> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows.dedup();
    let mut before = 0;
    rows.into_iter()
        .map(|row| {
            let distance = row.wrapping_sub(before);
            before = row;
            distance
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_unix_millis(1_795_228_297_123);

    fn these(rows: &[u32]) -> ViewRows {
        ViewRows::These(rows.into())
    }

    #[test]
    fn counts_paid_rows_of_any_order_until_they_end() {
        let (mut view, later) = (PaidView::default(), NOW.plus_seconds(100));
        view.pay(&these(&[9, 0, 4_000_000_000]), "a", NOW, NOW.plus_seconds(200));
        view.pay(&these(&[9, 7]), "b", later, later.plus_seconds(200));
        let paid = |rows: &ViewRows, count, at| view.paid_of(rows, count, at);
        assert_eq!(paid(&these(&[7, 8, 9, 4_000_000_000]), 4, later), 3);
        assert_eq!((paid(&ViewRows::All, 50, later), paid(&ViewRows::Some, 50, later)), (4, 0));
        assert_eq!(paid(&ViewRows::All, 50, NOW.plus_seconds(200)), 2, "the first payment has ended");
        assert_eq!(PaidView::decode(&view.encode()), Ok(view.clone()));
        view.forget("b");
        assert_eq!(view.paid_of(&these(&[7, 9]), 2, later), 1);
    }

    #[test]
    fn knows_view_that_was_paid_whole() {
        let mut view = PaidView::default();
        view.pay(&ViewRows::All, "a", NOW, NOW.plus_seconds(10));
        for rows in [ViewRows::All, ViewRows::Some, these(&[1, 2, 3])] {
            assert_eq!(view.paid_of(&rows, 3, NOW), 3);
            assert_eq!(view.paid_of(&rows, 3, NOW.plus_seconds(10)), 0);
        }
    }

    #[test]
    fn keeps_newest_payments_within_bound() {
        let mut view = PaidView::default();
        for page in 0..300_u32 {
            let rows: Vec<u32> = (page * 50..(page + 1) * 50).collect();
            view.pay(&these(&rows), &page.to_string(), NOW, NOW.plus_seconds(10));
        }
        assert_eq!(view.paid_of(&ViewRows::All, u64::MAX, NOW), PAID_VIEW_ROWS_MAX as u64);
        assert_eq!(view.paid_of(&these(&[14_999]), 1, NOW), 1);
        assert!(view.encode().len() < 2 * PAID_VIEW_ROWS_MAX, "{}", view.encode().len());
    }
}
