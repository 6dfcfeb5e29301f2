//! The operations of the books, each carried out by the state under the lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::opening::log_path;
use super::{LocalBooks, backup};
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
use crate::log::{Segment, archive};
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
use crate::state::State;
use crate::token::TokenHash;
use crate::usage::UsageLine;
use mercato_base::clock::{Moment, UtcDay};

impl Books for LocalBooks {
    fn charge(&self, request: &ChargeRequest) -> Outcome<Receipt> {
        self.shared.change(|state| state.charge(request))
    }

    fn sell_part(&self, request: &DownloadRequest) -> Outcome<Receipt> {
        self.shared.change(|state| state.sell_part(request))
    }

    fn refund(&self, receipt: &Receipt, at: Moment) -> Outcome<()> {
        self.shared.change(|state| state.refund(receipt, at, "answer failed"))
    }

    fn reserve(&self, request: &ChargeRequest) -> Outcome<Reserved> {
        self.shared.change(|state| state.reserve(request))
    }

    fn reserve_download(&self, request: &DownloadRequest) -> Outcome<Reserved> {
        self.shared.change(|state| state.reserve_download(request))
    }

    fn settle(&self, id: ReservationId, progress: &Arc<Progress>) -> Outcome<Receipt> {
        let settled = |receipt: Option<Receipt>| receipt.ok_or_else(|| ChargeError::from(Unavailable::Down));
        self.shared.change(|state| state.settle(id, progress.outcome(), "").and_then(settled))
    }

    fn paid_among(
        &self,
        account: AccountId,
        kind: ClaimKind,
        claims: &[IdempotencyClaim],
        now: Moment,
    ) -> Result<Option<usize>, ChargeError> {
        self.shared.with_state(|state| state.paid_among(account, kind, claims, now))
    }

    fn paid_before(
        &self,
        account: AccountId,
        viewed: &Viewed,
        rows: u64,
        now: Moment,
    ) -> Result<u64, ChargeError> {
        self.shared.with_state(|state| state.paid_before(account, viewed, rows, now))
    }

    fn caps(&self, account: AccountId, key: KeyId, now: Moment) -> Result<Vec<CapStanding>, ChargeError> {
        self.shared.with_state(|state| state.caps(account, Some(key), now))
    }

    fn create_account(&self, name: &str, now: Moment) -> Outcome<AccountId> {
        self.shared.change(|state| state.create_account(name, now))
    }

    fn purchase(&self, credit: &CreditRequest) -> Outcome<Purchase> {
        self.shared.change(|state| state.purchase(credit))
    }

    fn begin_checkout(&self, new: &NewCheckout) -> Outcome<Checkout> {
        self.shared.change(|state| state.begin_checkout(new))
    }

    fn cancel_checkout(&self, account: AccountId, id: CheckoutId, at: Moment) -> Outcome<Option<Checkout>> {
        self.shared.change(|state| state.cancel_checkout(account, id, at))
    }

    fn pay_checkout(&self, payment: &CheckoutPayment) -> Outcome<PaidCheckout> {
        self.shared.change(|state| state.pay_checkout(payment))
    }

    fn reverse_payment(&self, reversal: &ReportedReversal) -> Outcome<Reversed> {
        self.shared.change(|state| state.reverse_payment(reversal))
    }

    fn checkout(&self, id: CheckoutId) -> Result<Option<Checkout>, ChargeError> {
        self.shared.with_state(|state| state.checkout(id))
    }

    fn checkouts(&self, query: &PurchasesQuery) -> Result<Vec<Checkout>, ChargeError> {
        self.shared.with_state(|state| state.checkouts(query))
    }

    fn grant(&self, credit: &CreditRequest) -> Outcome<u64> {
        self.shared.change(|state| state.grant(credit))
    }

    fn create_key(&self, account: AccountId, new: &NewKey, now: Moment) -> Outcome<KeyId> {
        self.shared.change(|state| state.create_key(account, new, now))
    }

    fn revoke_key(&self, id: KeyId, now: Moment) -> Outcome<()> {
        self.shared.change(|state| state.revoke_key(id, now))
    }

    fn rotate_key(&self, id: KeyId, new: &NewKey, grace_seconds: u64, now: Moment) -> Outcome<KeyId> {
        self.shared.change(|state| state.rotate_key(id, new, grace_seconds, now))
    }

    fn limit_key(&self, id: KeyId, change: &LimitsChange, now: Moment) -> Outcome<()> {
        self.shared.change(|state| state.limit_key(id, change, now))
    }

    fn rename_key(&self, id: KeyId, label: &str) -> Outcome<()> {
        self.shared.change(|state| state.rename_key(id, label))
    }

    fn sign_up(&self, email: &Email, password: &PasswordHash, now: Moment) -> Outcome<SignUp> {
        self.shared.change(|state| state.sign_up(email, password, now))
    }

    fn set_password(
        &self,
        account: AccountId,
        password: &PasswordHash,
        kept: Option<TokenHash>,
        now: Moment,
    ) -> Outcome<()> {
        self.shared.change(|state| state.set_password(account, password, kept, now))
    }

    fn confirm_email(&self, account: AccountId, now: Moment) -> Outcome<()> {
        self.shared.change(|state| state.confirm_email(account, now))
    }

    fn open_session(&self, login: &Login, token: TokenHash, now: Moment) -> Outcome<()> {
        self.shared.change(|state| state.open_session(login, token, now))
    }

    fn end_session(&self, token: TokenHash, now: Moment) -> Outcome<bool> {
        self.shared.change(|state| Ok(state.end_session(token, now)))
    }

    fn end_all_sessions(&self, account: AccountId, kept: Option<TokenHash>, now: Moment) -> Outcome<usize> {
        self.shared.change(|state| Ok(state.end_all_sessions(account, kept, now)))
    }

    fn issue_token(
        &self,
        account: AccountId,
        purpose: TokenPurpose,
        token: TokenHash,
        now: Moment,
    ) -> Outcome<Moment> {
        self.shared.change(|state| state.issue_token(account, purpose, token, now))
    }

    fn redeem_token(&self, token: TokenHash, redemption: &Redemption, now: Moment) -> Outcome<Redeemed> {
        self.shared.change(|state| state.redeem_token(token, redemption, now))
    }

    fn close_account(&self, account: AccountId, now: Moment) -> Outcome<()> {
        self.shared.change(|state| state.close_account(account, now))
    }

    fn add_relation(&self, relation: Relation) -> Outcome<bool> {
        self.shared.change(|state| state.add_relation(relation))
    }

    fn remove_relations(&self, removal: &Removal, now: Moment) -> Outcome<Vec<Relation>> {
        self.shared.change(|state| state.remove_relations(removal, now))
    }

    fn note_counters(&self, notes: &[CounterNote]) -> Result<(), ChargeError> {
        self.shared.with_state(|state| {
            state.note_counters(notes);
            Ok(())
        })
    }

    fn shares_counts(&self) -> bool {
        false
    }

    fn servers(&self) -> u64 {
        1
    }

    fn exchange_counts(
        &self,
        _: &[SharedCount],
        _: &[CounterSubject],
        _: Moment,
    ) -> Result<Vec<SharedCount>, ChargeError> {
        Ok(Vec::new())
    }

    fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), ChargeError> {
        self.shared.with_state(|state| {
            state.note_uses(uses);
            Ok(())
        })
    }

    fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), ChargeError> {
        self.shared.with_state(|state| {
            state.note_session_use(token, at);
            Ok(())
        })
    }

    fn counters(&self) -> Result<Vec<CounterNote>, ChargeError> {
        self.shared.with_state(State::counters)
    }

    fn usage(
        &self,
        account: AccountId,
        first: UtcDay,
        after: Option<&UsageLine>,
        limit: usize,
    ) -> Result<Vec<UsageLine>, ChargeError> {
        self.shared.with_state(|state| state.usage_lines(account, first, after, limit))
    }

    fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), ChargeError> {
        self.shared.entries(first, limit)
    }

    fn history(&self, query: &HistoryQuery) -> Result<History, ChargeError> {
        self.shared.history(query)
    }

    fn verify(&self) -> Result<AuditReport, ChargeError> {
        self.shared.verify()
    }

    fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError> {
        let _segments = self.shared.segments.read();
        backup::write(folder, now, || {
            let guard = self.shared.checkpointing.lock();
            self.shared.write_checkpoint_alone();
            let (checkpoint, log) = self.shared.look(|open| Arc::clone(&open.checkpoint))?;
            Ok((guard, checkpoint, log))
        })
    }

    fn archive(&self, to: &Path) -> Result<Vec<MovedSegment>, ChargeError> {
        let _segments = self.shared.segments.write();
        let (mark, _) = self.shared.look(|open| open.checkpoint.mark())?;
        let below = mark.map_err(|_| Unavailable::Down)?.sequence;
        let moved = archive(&log_path(&self.shared.path), to, below);
        let moved =
            moved.map_err(|error| ChargeError::Invalid { field: "archive", rule: error.to_string() })?;
        let shown = |(segment, last, path): (Segment, u64, PathBuf)| MovedSegment {
            number: segment.number,
            first: segment.first,
            last,
            bytes: segment.bytes,
            path,
        };
        Ok(moved.into_iter().map(shown).collect())
    }

    fn health(&self) -> Health {
        self.shared.status.health()
    }

    fn stats(&self) -> LedgerStats {
        self.shared.stats()
    }

    fn shutdown(&self) {
        self.end();
    }
}

impl Drop for LocalBooks {
    fn drop(&mut self) {
        self.end();
    }
}
