//! An entry of the books: a change of a balance with its reason, time and request, and the balance after it.
//!
//! Entries are written once and never changed. The balance of an account is the sum of its entries.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use super::id::{AccountId, KeyId};
use mercato_base::clock::Moment;

/// Why a balance changed. New kinds go to the end: an entry holds the place of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum EntryKind {
    /// Credits were bought for `cents`.
    Purchase,
    /// Rows were sold.
    Charge,
    /// Credits were reserved for a response of unknown size.
    Reserve,
    /// A reservation ended: the part that was not used came back. `related` names the entry that reserved.
    Settle,
    /// A charge was taken back. `related` names the entry that charged.
    Refund,
    /// The operator gave credits.
    Grant,
    /// Bought credits were taken back, because their payment was refunded or disputed. `related` names the entry of the purchase.
    TakeBack,
    /// Credits given again because a dispute was won. `related` names the entry of the purchase.
    GiveBack,
}

impl EntryKind {
    /// The name in exports.
    pub const fn as_str(self) -> &'static str {
        match self {
            EntryKind::Purchase => "purchase",
            EntryKind::Charge => "charge",
            EntryKind::Reserve => "reserve",
            EntryKind::Settle => "settle",
            EntryKind::Refund => "refund",
            EntryKind::Grant => "grant",
            EntryKind::TakeBack => "takeBack",
            EntryKind::GiveBack => "giveBack",
        }
    }
}

/// One line of the books. Its texts are borrowed where it is written and added up: ten million entries are read at a start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry<Text = String> {
    /// Its number in the log. Numbers rise; those between two entries belong to records that change no balance.
    #[serde(skip)]
    pub sequence: u64,
    pub account: AccountId,
    /// With which key, if with one.
    pub key: Option<KeyId>,
    /// Why.
    pub kind: EntryKind,
    /// By how much: positive is credited, negative is taken.
    pub amount: i64,
    /// The balance after it.
    pub balance: u64,
    pub at: Moment,
    /// Rows that were sold (charge, settle), or zero.
    pub rows: u64,
    /// The price of a purchase in cents of a euro, VAT excluded; else zero.
    pub cents: u64,
    /// The entry that this one settles or takes back, or zero.
    pub related: u64,
    /// The request that caused it, or empty.
    pub request_id: Text,
    /// The dataset that was sold, or empty.
    pub dataset: Text,
    /// A remark of the operator or the reason of a refund, or empty.
    pub note: Text,
}

impl<Text: Default> Entry<Text> {
    /// An entry without rows, cents and texts, before it has a number and a balance.
    pub fn new(account: AccountId, kind: EntryKind, amount: i64, at: Moment) -> Entry<Text> {
        Entry {
            sequence: 0,
            account,
            key: None,
            kind,
            amount,
            balance: 0,
            at,
            rows: 0,
            cents: 0,
            related: 0,
            request_id: Text::default(),
            dataset: Text::default(),
            note: Text::default(),
        }
    }
}

impl Entry<&str> {
    /// The same with texts of its own.
    pub fn owned(&self) -> Entry {
        Entry {
            sequence: self.sequence,
            account: self.account,
            key: self.key,
            kind: self.kind,
            amount: self.amount,
            balance: self.balance,
            at: self.at,
            rows: self.rows,
            cents: self.cents,
            related: self.related,
            request_id: self.request_id.to_owned(),
            dataset: self.dataset.to_owned(),
            note: self.note.to_owned(),
        }
    }
}

impl<Text: Serialize> Record for Entry<Text> {
    const NAME: &'static str = "entry";
}
