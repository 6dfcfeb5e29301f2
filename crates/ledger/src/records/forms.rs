//! The bytes of every record, pinned: a field that moves or changes its type takes a new version of its record.

use super::account::Payment;
use super::claim::{Remembered, WHOLE};
use super::codec::Record;
use super::counter::{CounterNote, CounterSubject};
use super::entry::{Entry, EntryKind};
use super::id::{AccountId, KeyId, ReservationId};
use super::paid_view::PaidView;
use super::relation::{Relation, RelationKey};
use super::reservation_record::{ReservationRecord, ReservedClaim, ReservedFile};
use crate::api_key::KeyHash;
use crate::checkout::{Checkout, CheckoutId, Paid};
use crate::closing::Closing;
use crate::email::Email;
use crate::key_limits::KeyLimits;
use crate::key_record::KeyRecord;
use crate::login::Login;
use crate::one_time_token::{OneTimeToken, TokenPurpose};
use crate::password_hash::PasswordHash;
use crate::price::Price;
use crate::request::ViewRows;
use crate::reversal::{Dispute, DisputeOutcome, Reversal};
use crate::session_record::SessionRecord;
use crate::token::TokenHash;
use crate::usage::Usage;
use mercato_base::clock::{Moment, UtcDay, UtcMonth};

const AT: Moment = Moment::from_unix_millis(1_795_228_297_123);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn limits() -> KeyLimits {
    KeyLimits {
        credits_per_day: Some(10),
        credits_per_month: None,
        expires_at: Some(AT),
        datasets: ["orders".to_owned()].into(),
    }
}

/// Checks that a record has these bytes, and reads back from them as it was.
macro_rules! check {
    ($kind:ty, $record:expr, $bytes:literal) => {
        let record: $kind = $record;
        let bytes = record.encode();
        assert_eq!(hex(&bytes), $bytes, "{}", <$kind>::NAME);
        let read = <$kind>::decode(&bytes).map(|read| read.encode());
        assert_eq!(read.as_deref(), Ok(bytes.as_slice()), "{}", <$kind>::NAME);
    };
}

#[test]
fn keeps_bytes_of_every_record() {
    let (account, key) = (AccountId::from_number(4), KeyId::from_number(6));
    let entry = Entry::<String> {
        sequence: 9,
        key: Some(key),
        balance: 975,
        rows: 25,
        related: 3,
        request_id: "2f1c".to_owned(),
        dataset: "orders".to_owned(),
        ..Entry::new(account, EntryKind::Charge, -25, AT)
    };
    check!(Entry<String>, entry, "010401060131cf07c69e8fbfbf681900030432663163066f726465727300");
    let reservation = ReservationRecord {
        id: ReservationId::from_number(7),
        account,
        key: None,
        payment: Payment::FreeQuery(UtcMonth::from_number(24_322)),
        sequence: 0,
        delivered: 300,
        at: AT,
        request_id: "a".to_owned(),
        dataset: "b".to_owned(),
        file: Some(ReservedFile { hash: [1; 16], is_promised: true }),
        claim: Some(ReservedClaim { key: [2; 16], body: [3; 16], paid_before: WHOLE }),
        view: Some([10; 16]),
    };
    check!(
        ReservationRecord,
        reservation,
        "010704000184fc0200ac02c69e8fbfbf6801610162010101010101010101010101010101010101010202020202020202020202020202020203030303030303030303030303030303ffffffffffffffffff01010a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
    );
    check!(Usage, Usage { requests: 1, rows: 128, credits: 0 }, "0101800100");
    let address = CounterSubject::Address([9; 16]);
    check!(
        CounterNote,
        CounterNote { subject: address, day: UtcDay::from_unix_days(20_000), count: 5 },
        "010109090909090909090909090909090909c0b80205"
    );
    check!(
        Remembered,
        Remembered { until: AT, hash: [4; 16], paid_rows: Some(WHOLE) },
        "01c69e8fbfbf680404040404040404040404040404040401ffffffffffffffffff01"
    );
    let names = RelationKey { from: "a".to_owned(), to: "b".to_owned(), relation_type: "c".to_owned() };
    check!(
        Relation,
        Relation { key: names, description: "d".to_owned(), weight: 0.5, at: AT },
        "010161016201630164000000000000e03fc69e8fbfbf68"
    );
    let key = KeyRecord {
        id: key,
        account,
        hash: KeyHash::from_bytes([5; 32]),
        prefix: "mk_".to_owned(),
        label: String::new(),
        created_at: AT,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
        limits: limits(),
    };
    check!(
        KeyRecord,
        key,
        "0106040505050505050505050505050505050505050505050505050505050505050505036d6b5f00c69e8fbfbf68000000010a0001c69e8fbfbf6801066f7264657273"
    );
}

#[test]
fn keeps_bytes_of_paid_view() {
    let mut view = PaidView::default();
    view.pay(&ViewRows::These([300, 1, 7].into()), "a", AT, AT);
    view.pay(&ViewRows::All, "b", Moment::from_unix_millis(0), AT);
    check!(
        PaidView,
        view,
        "0102c69e8fbfbf683b196fd4907bedf51c3090e9835f2f7c01030106a502c69e8fbfbf685c53585edd9ec296f5537f01ff9e47e200"
    );
}

#[test]
fn keeps_bytes_of_every_login_record() {
    let account = AccountId::from_number(4);
    let login = Login {
        account,
        email: Email::parse("a@b.it").unwrap(),
        password: PasswordHash::try_from("$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA".to_owned()).unwrap(),
        created_at: AT,
        confirmed_at: Some(AT),
    };
    check!(
        Login,
        login,
        "0104066140622e697428246172676f6e32696424763d3139246d3d312c743d312c703d3124633246736441246147467a6141c69e8fbfbf6801c69e8fbfbf68"
    );
    let token = TokenHash::from_bytes([6; 32]);
    check!(
        SessionRecord,
        SessionRecord { token, account, created_at: AT, last_seen_at: AT, expires_at: AT },
        "01060606060606060606060606060606060606060606060606060606060606060604c69e8fbfbf68c69e8fbfbf68c69e8fbfbf68"
    );
    let token = TokenHash::from_bytes([7; 32]);
    let purpose = TokenPurpose::ResetPassword;
    check!(
        OneTimeToken,
        OneTimeToken { token, account, purpose, created_at: AT, expires_at: AT },
        "0107070707070707070707070707070707070707070707070707070707070707070401c69e8fbfbf68c69e8fbfbf68"
    );
    check!(Closing, Closing { account, at: AT }, "0104c69e8fbfbf68");
}

#[test]
fn keeps_bytes_of_every_payment_record() {
    let paid = Paid { payment: "pi_1".to_owned(), sequence: 9, at: AT };
    let checkout = Checkout {
        id: CheckoutId { number: 17, random: [8; 16] },
        account: AccountId::from_number(4),
        provider: "stripe".to_owned(),
        credits: 10_000,
        price: Price::with_vat(5_000, 2_200).unwrap(),
        created_at: AT,
        cancelled_at: Some(AT),
        paid: Some(paid),
        refunded: 305,
        disputed: 0,
        taken: 500,
        forgone: 1,
    };
    check!(
        Checkout,
        checkout,
        "0111080808080808080808080808080808080406737472697065904e88279811cc08d42f03455552c69e8fbfbf6801c69e8fbfbf68010470695f3109c69e8fbfbf68b10200f40301"
    );
    let lost = Dispute { id: "dp_1".to_owned(), amount: 6_100, outcome: Some(DisputeOutcome::Lost) };
    let open = Dispute { id: "dp_2".to_owned(), amount: 5, outcome: None };
    check!(
        Reversal,
        Reversal { checkout: Some(17), refunded: 305, disputes: vec![lost, open] },
        "010111b102020464705f31d42f01000464705f320500"
    );
}
