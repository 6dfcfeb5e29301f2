//! The operations of the books on a database, each on the path that fits it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::PostgresBooks;
use super::batcher::ANSWER_FAILED;
use super::desk::{Makes, of_account};
use super::jobs::{Job, Reply, Slot, Work};
use super::loading::Wanted;
use super::tables::{signed, unsigned};
use crate::LedgerStats;
use crate::audit::AuditReport;
use crate::backup::{BackupError, BackupSummary, MovedSegment};
use crate::books::{Books, Outcome};
use crate::checkout::{Checkout, CheckoutId};
use crate::counter::{CounterNote, CounterSubject, SharedCount};
use crate::email::Email;
use crate::entry::Entry;
use crate::error::{ChargeError, Unavailable};
use crate::health::Health;
use crate::history::{History, HistoryQuery};
use crate::id::{AccountId, KeyId, ReservationId};
use crate::key_limits::{CapStanding, LimitsChange};
use crate::key_space;
use crate::limits::{ACCOUNTS_MAX, KEYS_MAX, OPEN_RESERVATIONS_MAX, SESSIONS_MAX};
use crate::login::Login;
use crate::one_time_token::TokenPurpose;
use crate::password_hash::PasswordHash;
use crate::payments::{
    CheckoutPayment, NewCheckout, PaidCheckout, PurchasesQuery, ReportedReversal, Reversed,
};
use crate::progress::Progress;
use crate::relation::Relation;
use crate::request::{
    ChargeRequest, ClaimKind, CreditRequest, DownloadRequest, IdempotencyClaim, NewKey, Purchase, Receipt,
    Redeemed, Redemption, Removal, Reserved, SignUp, Viewed,
};
use crate::token::TokenHash;
use crate::usage::UsageLine;
use mercato_base::clock::{Moment, UtcDay};

const ACCOUNT_OF_KEY: &str = "SELECT account FROM api_key WHERE id = $1";
const ACCOUNT_OF_RECORD: &str = "SELECT account FROM record WHERE key = $1";
const DUMPS: &str =
    "the database has tools of its own: `pg_dump` writes a backup, `pg_restore` takes it back";

impl PostgresBooks {
    fn receipt(&self, work: Work) -> Outcome<Receipt> {
        self.core.serving()?;
        let slot = Slot::new();
        let pending = slot.pending();
        self.core.queue.put(Job::new(work, Reply::Receipt(slot)))?;
        Ok(pending)
    }

    fn reserved(&self, work: Work) -> Outcome<Reserved> {
        self.core.serving()?;
        if self.core.live.len() >= OPEN_RESERVATIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        let slot = Slot::new();
        let pending = slot.pending();
        self.core.queue.put(Job::new(work, Reply::Reserved(slot)))?;
        Ok(pending)
    }

    /// The account of a key; nothing where there is no such key.
    fn of_key(&self, id: KeyId) -> Result<Wanted, ChargeError> {
        let account = match self.core.directory.key(id) {
            Some(key) => Some(key.account().id()),
            // Another server may have made it just now.
            None => self.core.look(|connection| {
                let row = connection.lock().first(ACCOUNT_OF_KEY, &[&signed(id.number())])?;
                Ok(row.map(|row| AccountId::from_number(unsigned(row.get(0)))))
            })?,
        };
        Ok(account.map_or_else(Wanted::default, of_account).with_keys())
    }

    /// The account of a session or a token; nothing where there is none.
    fn of_token(&self, key: &[u8]) -> Result<Wanted, ChargeError> {
        let account = self.core.look(|connection| {
            let row = connection.lock().first(ACCOUNT_OF_RECORD, &[&key])?;
            Ok(row.and_then(|row| row.get::<_, Option<i64>>(0)))
        })?;
        let account = account.map(|account| AccountId::from_number(unsigned(account)));
        Ok(account.map_or_else(Wanted::default, of_account).with_logins())
    }

    fn room_for_account(&self) -> Result<(), ChargeError> {
        if self.core.directory.counts().0 >= ACCOUNTS_MAX {
            return Err(invalid("account", format!("a ledger holds at most {ACCOUNTS_MAX} accounts")));
        }
        Ok(())
    }

    fn room_for_key(&self) -> Result<(), ChargeError> {
        if self.core.directory.counts().1 >= KEYS_MAX {
            return Err(invalid("key", format!("a ledger holds at most {KEYS_MAX} keys")));
        }
        Ok(())
    }
}

const fn invalid(field: &'static str, rule: String) -> ChargeError {
    ChargeError::Invalid { field, rule }
}

fn relations() -> Wanted {
    Wanted { relations: true, ..Wanted::default() }
}

impl Books for PostgresBooks {
    fn charge(&self, request: &ChargeRequest) -> Outcome<Receipt> {
        self.receipt(Work::Charge(request.clone()))
    }

    fn sell_part(&self, request: &DownloadRequest) -> Outcome<Receipt> {
        self.receipt(Work::Part(request.clone()))
    }

    fn refund(&self, receipt: &Receipt, at: Moment) -> Outcome<()> {
        let slot = Slot::new();
        let pending = slot.pending();
        let work = Work::Refund { receipt: receipt.copy(), at, note: ANSWER_FAILED, doubt: None };
        self.core.queue.put(Job::new(work, Reply::Nothing(slot)))?;
        Ok(pending)
    }

    fn reserve(&self, request: &ChargeRequest) -> Outcome<Reserved> {
        self.reserved(Work::Reserve(request.clone()))
    }

    fn reserve_download(&self, request: &DownloadRequest) -> Outcome<Reserved> {
        self.reserved(Work::ReserveFile(request.clone()))
    }

    fn settle(&self, id: ReservationId, progress: &Arc<Progress>) -> Outcome<Receipt> {
        let work = self.core.live.begin_settling(id, progress.outcome()).ok_or(Unavailable::Down)?;
        let slot = Slot::new();
        let pending = slot.pending();
        self.core
            .queue
            .put(Job::new(work, Reply::Receipt(slot)))
            .inspect_err(|_| self.core.live.settle_later(id))?;
        Ok(pending)
    }

    fn paid_among(
        &self,
        account: AccountId,
        kind: ClaimKind,
        claims: &[IdempotencyClaim],
        now: Moment,
    ) -> Result<Option<usize>, ChargeError> {
        let claims_of = claims.iter().map(|claim| claim.key).take(1).collect();
        let wanted = Wanted { claims: claims_of, ..of_account(account) };
        self.core.ask(&wanted, |state| state.paid_among(account, kind, claims, now))
    }

    fn paid_before(
        &self,
        account: AccountId,
        viewed: &Viewed,
        rows: u64,
        now: Moment,
    ) -> Result<u64, ChargeError> {
        self.core.ask(&Wanted::default(), |state| state.paid_before(account, viewed, rows, now))
    }

    fn caps(&self, account: AccountId, key: KeyId, now: Moment) -> Result<Vec<CapStanding>, ChargeError> {
        let wanted = Wanted { capped: vec![(key, now)], ..of_account(account) };
        self.core.ask(&wanted, |state| state.caps(account, Some(key), now))
    }

    fn create_account(&self, name: &str, now: Moment) -> Outcome<AccountId> {
        self.room_for_account()?;
        self.core.change(Wanted::default(), Makes::Account, |state| state.create_account(name, now))
    }

    fn purchase(&self, credit: &CreditRequest) -> Outcome<Purchase> {
        self.core.change(of_account(credit.account), Makes::Nothing, |state| state.purchase(credit))
    }

    fn begin_checkout(&self, new: &NewCheckout) -> Outcome<Checkout> {
        self.core.change(of_account(new.account), Makes::Checkout, |state| state.begin_checkout(new))
    }

    fn cancel_checkout(&self, account: AccountId, id: CheckoutId, at: Moment) -> Outcome<Option<Checkout>> {
        self.core.change(of_account(account), Makes::Nothing, |state| state.cancel_checkout(account, id, at))
    }

    fn pay_checkout(&self, payment: &CheckoutPayment) -> Outcome<PaidCheckout> {
        self.core.change(of_account(payment.account), Makes::Nothing, |state| state.pay_checkout(payment))
    }

    fn reverse_payment(&self, told: &ReportedReversal) -> Outcome<Reversed> {
        self.core.change(Wanted::default(), Makes::Nothing, |state| state.reverse_payment(told))
    }

    fn checkout(&self, id: CheckoutId) -> Result<Option<Checkout>, ChargeError> {
        self.core.checkout(id)
    }

    fn checkouts(&self, asked: &PurchasesQuery) -> Result<Vec<Checkout>, ChargeError> {
        self.core.checkouts(asked)
    }

    fn grant(&self, credit: &CreditRequest) -> Outcome<u64> {
        self.core.change(of_account(credit.account), Makes::Nothing, |state| state.grant(credit))
    }

    fn create_key(&self, account: AccountId, new: &NewKey, now: Moment) -> Outcome<KeyId> {
        self.room_for_key()?;
        let wanted = of_account(account).with_keys();
        self.core.change(wanted, Makes::Key, |state| state.create_key(account, new, now))
    }

    fn revoke_key(&self, id: KeyId, now: Moment) -> Outcome<()> {
        self.core.change(self.of_key(id)?, Makes::Nothing, |state| state.revoke_key(id, now))
    }

    fn rotate_key(&self, id: KeyId, new: &NewKey, grace_seconds: u64, now: Moment) -> Outcome<KeyId> {
        self.room_for_key()?;
        let wanted = self.of_key(id)?;
        self.core.change(wanted, Makes::Key, |state| state.rotate_key(id, new, grace_seconds, now))
    }

    fn limit_key(&self, id: KeyId, change: &LimitsChange, now: Moment) -> Outcome<()> {
        self.core.change(self.of_key(id)?, Makes::Nothing, |state| state.limit_key(id, change, now))
    }

    fn rename_key(&self, id: KeyId, label: &str) -> Outcome<()> {
        self.core.change(self.of_key(id)?, Makes::Nothing, |state| state.rename_key(id, label))
    }

    fn sign_up(&self, email: &Email, password: &PasswordHash, now: Moment) -> Outcome<SignUp> {
        self.room_for_account()?;
        let wanted = Wanted { email: Some(email.clone()), ..Wanted::default() };
        self.core.change(wanted, Makes::Account, |state| state.sign_up(email, password, now))
    }

    fn set_password(
        &self,
        account: AccountId,
        password: &PasswordHash,
        kept: Option<TokenHash>,
        now: Moment,
    ) -> Outcome<()> {
        let wanted = of_account(account).with_logins();
        self.core.change(wanted, Makes::Nothing, |state| state.set_password(account, password, kept, now))
    }

    fn confirm_email(&self, account: AccountId, now: Moment) -> Outcome<()> {
        let wanted = of_account(account).with_logins();
        self.core.change(wanted, Makes::Nothing, |state| state.confirm_email(account, now))
    }

    fn open_session(&self, login: &Login, token: TokenHash, now: Moment) -> Outcome<()> {
        if self.core.directory.logins().open_sessions() >= SESSIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        let wanted = of_account(login.account).with_logins();
        self.core.change(wanted, Makes::Nothing, |state| state.open_session(login, token, now))
    }

    fn end_session(&self, token: TokenHash, now: Moment) -> Outcome<bool> {
        let wanted = self.of_token(&key_space::session(&token))?;
        self.core.change(wanted, Makes::Nothing, |state| Ok(state.end_session(token, now)))
    }

    fn end_all_sessions(&self, account: AccountId, kept: Option<TokenHash>, now: Moment) -> Outcome<usize> {
        let wanted = of_account(account).with_logins();
        self.core.change(wanted, Makes::Nothing, |state| Ok(state.end_all_sessions(account, kept, now)))
    }

    fn issue_token(
        &self,
        account: AccountId,
        purpose: TokenPurpose,
        token: TokenHash,
        now: Moment,
    ) -> Outcome<Moment> {
        let wanted = of_account(account).with_logins();
        self.core.change(wanted, Makes::Nothing, |state| state.issue_token(account, purpose, token, now))
    }

    fn redeem_token(&self, token: TokenHash, redemption: &Redemption, now: Moment) -> Outcome<Redeemed> {
        let wanted = self.of_token(&key_space::one_time_token(&token))?;
        self.core.change(wanted, Makes::Nothing, |state| state.redeem_token(token, redemption, now))
    }

    fn close_account(&self, account: AccountId, now: Moment) -> Outcome<()> {
        let wanted = of_account(account).with_keys().with_logins();
        self.core.change(wanted, Makes::Nothing, |state| state.close_account(account, now))
    }

    fn add_relation(&self, relation: Relation) -> Outcome<bool> {
        self.core.change(relations(), Makes::Nothing, |state| state.add_relation(relation.clone()))
    }

    fn remove_relations(&self, removal: &Removal, now: Moment) -> Outcome<Vec<Relation>> {
        self.core.change(relations(), Makes::Nothing, |state| state.remove_relations(removal, now))
    }

    fn note_counters(&self, notes: &[CounterNote]) -> Result<(), ChargeError> {
        self.core.note_counters(notes)
    }

    fn shares_counts(&self) -> bool {
        true
    }

    fn servers(&self) -> u64 {
        self.core.servers.load(Ordering::Relaxed)
    }

    fn exchange_counts(
        &self,
        own: &[SharedCount],
        asked: &[CounterSubject],
        now: Moment,
    ) -> Result<Vec<SharedCount>, ChargeError> {
        self.core.exchange_counts(own, asked, now)
    }

    fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), ChargeError> {
        self.core.note_key_uses(uses)
    }

    fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), ChargeError> {
        self.core.note_session_use(token, at)
    }

    fn counters(&self) -> Result<Vec<CounterNote>, ChargeError> {
        self.core.counters()
    }

    fn usage(
        &self,
        account: AccountId,
        first: UtcDay,
        after: Option<&UsageLine>,
        limit: usize,
    ) -> Result<Vec<UsageLine>, ChargeError> {
        self.core.ask(&Wanted::default(), |state| state.usage_lines(account, first, after, limit))
    }

    fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), ChargeError> {
        self.core.entries(first, limit)
    }

    fn history(&self, asked: &HistoryQuery) -> Result<History, ChargeError> {
        self.core.history(asked)
    }

    fn verify(&self) -> Result<AuditReport, ChargeError> {
        self.core.verify()
    }

    fn backup(&self, _: &Path, _: Moment) -> Result<BackupSummary, BackupError> {
        Err(invalid("backup", DUMPS.to_owned()).into())
    }

    fn archive(&self, _: &Path) -> Result<Vec<MovedSegment>, ChargeError> {
        Err(invalid("archive", format!("these books have no log; {DUMPS}")))
    }

    fn health(&self) -> Health {
        self.core.status.health()
    }

    fn server(&self) -> Option<i64> {
        Some(self.core.batches.server())
    }

    fn stats(&self) -> LedgerStats {
        self.numbers()
    }

    fn shutdown(&self) {
        self.end();
    }
}
