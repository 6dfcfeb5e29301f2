//! Steps of a history, applied to the books and to the plain model side by side: after every step both agree. Does not
//! depend on the source of the histories.

use mercato_base::clock::Moment;
use mercato_ledger::{
    AccountId, BooksError, ChargeError, CloseAccount, ConfirmEmail, Email, EndAllSessions, EndSession,
    Ledger, PasswordHash, PlainToken, RedeemToken, Redeemed, Redemption, SetPassword, SignUp, SignedUp,
    TokenHash, TokenPurpose,
};

use crate::desk::{Desk, charge, handle, noon};
use crate::logins::model::{Model, ModelLogin};
use crate::schema::are_in_files;

/// E-mail addresses of every history, numbered from 0.
pub const EMAILS: u8 = 3;

/// A step. `which` is an index modulo the number of items.
#[derive(Clone, Debug)]
pub enum Step {
    SignUp { email: u8 },
    SetPassword { email: u8, keeps_one: bool },
    Confirm { email: u8 },
    Open { email: u8, count: u8 },
    End { which: usize },
    EndAll { email: u8, keeps_one: bool },
    Touch { which: usize },
    Issue { email: u8, resets: bool },
    Redeem { which: usize, resets: bool },
    CreateKey { email: u8 },
    FreeQuery { email: u8 },
    Close { email: u8 },
    Wait { seconds: i64 },
    Restart { keeps_checkpoint: bool },
}

/// The books and the model, side by side.
pub struct World {
    desk: Desk,
    ledger: Option<Ledger>,
    model: Model,
    now: Moment,
    /// Counts random numbers and passwords.
    drawn: u32,
    /// Every session and token ever opened or issued: one that is gone stays gone.
    sessions: Vec<TokenHash>,
    tokens: Vec<TokenHash>,
}

pub fn email(number: u8) -> Email {
    Email::parse(&format!("person{number}@example.com")).unwrap()
}

/// Stands for the hash of a password.
pub fn password(number: u32) -> PasswordHash {
    PasswordHash::try_from(format!("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA${number}")).unwrap()
}

impl World {
    pub fn new() -> World {
        let desk = Desk::new();
        let ledger = Some(desk.open());
        let (model, now, sessions, tokens) = (Model::default(), noon(), Vec::new(), Vec::new());
        World { desk, ledger, model, now, drawn: 0, sessions, tokens }
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        let mut random = [0; 32];
        random[..4].copy_from_slice(&self.drawn.to_be_bytes());
        random
    }

    /// Does a step to both.
    pub fn take(&mut self, step: &Step) {
        match *step {
            Step::SignUp { email } => self.sign_up(email),
            Step::Wait { seconds } => self.now = self.now.plus_seconds(seconds),
            Step::Restart { keeps_checkpoint } => self.restart(keeps_checkpoint),
            Step::End { which } => self.end(which),
            Step::Touch { which } => self.touch(which),
            Step::Redeem { which, resets } => self.redeem(which, resets),
            Step::SetPassword { email, .. }
            | Step::Confirm { email }
            | Step::Open { email, .. }
            | Step::EndAll { email, .. }
            | Step::Issue { email, .. }
            | Step::CreateKey { email }
            | Step::FreeQuery { email }
            | Step::Close { email } => {
                if let Some(account) = self.model.logins.get(&email).map(|login| login.account) {
                    self.take_signed_up(step, email, account);
                }
            }
        }
    }

    fn take_signed_up(&mut self, step: &Step, email: u8, account: AccountId) {
        match *step {
            Step::SetPassword { keeps_one, .. } => {
                let (kept, number) = (self.newest(account, keeps_one), self.next());
                self.ledger()
                    .commit(&SetPassword { account, password: password(number), kept, at: self.now })
                    .unwrap();
                self.model.end_all(account, kept, self.now);
                self.model.use_up(account, TokenPurpose::ResetPassword);
                self.login(email).password = number;
            }
            Step::Confirm { .. } => {
                self.ledger().commit(&ConfirmEmail { account, at: self.now }).unwrap();
                let now = self.now;
                self.login(email).confirmed_at.get_or_insert(now);
                self.model.use_up(account, TokenPurpose::ConfirmEmail);
            }
            Step::Open { count, .. } => (0..count).for_each(|_| self.open(account)),
            Step::EndAll { keeps_one, .. } => {
                let kept = self.newest(account, keeps_one);
                let ended = self.ledger().commit(&EndAllSessions { account, kept, at: self.now }).unwrap();
                assert_eq!(ended, self.model.end_all(account, kept, self.now));
            }
            Step::Issue { resets, .. } => {
                let (purpose, random) = (purpose(resets), self.draw());
                let issued = self.ledger().issue_token(account, purpose, random, self.now).unwrap();
                self.tokens.push(issued.plain.hash());
                self.model.issue(account, purpose, issued.plain.hash(), self.now);
            }
            Step::CreateKey { .. } => {
                let random = self.draw();
                let created = self.ledger().create_key(account, "", random, self.now).unwrap();
                self.login(email).keys.push(created.plain.hash());
            }
            Step::FreeQuery { .. } => {
                charge(self.ledger(), &handle(self.ledger(), account), 1, self.now).unwrap();
                *self.model.free_used.entry((email, self.now.month().number())).or_default() += 1;
            }
            _ => {
                self.ledger().commit(&CloseAccount { account, at: self.now }).unwrap();
                self.model.close(email, self.now);
            }
        }
    }

    fn login(&mut self, email: u8) -> &mut ModelLogin {
        self.model.logins.get_mut(&email).unwrap()
    }

    fn next(&mut self) -> u32 {
        self.drawn += 1;
        self.drawn
    }

    fn newest(&self, account: AccountId, is_wanted: bool) -> Option<TokenHash> {
        let open = self.model.sessions_of(account, self.now);
        open.last().filter(|_| is_wanted).map(|session| session.token)
    }

    fn sign_up(&mut self, number: u8) {
        let chosen = self.next();
        let outcome = self
            .ledger()
            .commit(&SignUp { email: email(number), password: password(chosen), at: self.now })
            .unwrap();
        match outcome {
            SignedUp::EmailTaken => assert!(self.model.logins.contains_key(&number)),
            SignedUp::Created(account) => {
                let login = ModelLogin { account, password: chosen, confirmed_at: None, keys: Vec::new() };
                assert!(self.model.logins.insert(number, login).is_none());
            }
        }
    }

    fn open(&mut self, account: AccountId) {
        let (random, login) = (self.draw(), self.ledger().login(account).unwrap());
        let plain: PlainToken = self.ledger().open_session(&login, random, self.now).unwrap();
        self.sessions.push(plain.hash());
        self.model.open_session(account, plain.hash(), self.now);
    }

    fn end(&mut self, which: usize) {
        let Some(place) = which.checked_rem(self.sessions.len()) else { return };
        let token = self.sessions[place];
        let was_open = self.model.sessions.iter().any(|one| one.token == token && one.is_open(self.now));
        assert_eq!(self.ledger().commit(&EndSession { token, at: self.now }).unwrap(), was_open);
        self.model.sessions.retain(|session| session.token != token);
    }

    fn touch(&mut self, which: usize) {
        let Some(place) = which.checked_rem(self.model.sessions.len()) else { return };
        let session = &mut self.model.sessions[place];
        let found = self.ledger.as_ref().unwrap().session(session.token, self.now);
        assert_eq!(found.is_some(), session.is_open(self.now));
        if let Some(found) = found {
            self.ledger.as_ref().unwrap().touch(&found, self.now).unwrap();
            if self.now.millis_since(session.seen_at) >= 600_000 {
                session.seen_at = self.now;
            }
        }
    }

    fn redeem(&mut self, which: usize, resets: bool) {
        let Some(place) = which.checked_rem(self.tokens.len()) else { return };
        let (token, number, now) = (self.tokens[place], self.next(), self.now);
        let redemption = match purpose(resets) {
            TokenPurpose::ConfirmEmail => Redemption::ConfirmEmail,
            TokenPurpose::ResetPassword => Redemption::ResetPassword(password(number)),
        };
        let redeemed =
            self.ledger().commit(&RedeemToken { token, redemption: redemption.clone(), at: now }).unwrap();
        let mut valid = self.model.tokens.iter().filter(|one| one.is_valid(now));
        let found = valid.find(|one| one.token == token && one.purpose == purpose(resets));
        let Some(account) = found.map(|found| found.account) else {
            return assert_eq!(redeemed, Redeemed::Refused);
        };
        assert_eq!(redeemed, Redeemed::By(account));
        self.model.use_up(account, purpose(resets));
        let email = self.model.email_of(account).unwrap();
        if resets {
            self.model.end_all(account, None, now);
            self.login(email).password = number;
        } else {
            self.login(email).confirmed_at.get_or_insert(now);
        }
    }

    /// Without a checkpoint only the log is left, which does not record when a session was last used.
    fn restart(&mut self, keeps_checkpoint: bool) {
        self.ledger = None;
        if !keeps_checkpoint && are_in_files() {
            self.desk.forget_checkpoint();
            self.model.sessions.iter_mut().for_each(|session| session.seen_at = session.created_at);
        }
        self.ledger = Some(self.desk.open());
    }

    /// Everything that can be asked.
    pub fn compare(&self) {
        for number in 0..EMAILS {
            let found = self.ledger().credentials(&email(number));
            let expected = self.model.logins.get(&number);
            assert_eq!(found.is_some(), expected.is_some(), "{number}");
            let (Some(found), Some(expected)) = (found, expected) else { continue };
            assert_eq!((found.account, found.confirmed_at), (expected.account, expected.confirmed_at));
            assert!(found.password == password(expected.password), "{number}");
            self.compare_account(number, expected);
        }
        for token in &self.sessions {
            let expected = self.model.sessions.iter().find(|session| session.token == *token);
            let expected = expected.filter(|session| session.is_open(self.now));
            let found = self.ledger().session(*token, self.now);
            let account = found.as_ref().map(mercato_ledger::SessionHandle::account);
            assert_eq!(account, expected.map(|session| session.account));
        }
        for closed in &self.model.closed {
            let account = handle(self.ledger(), closed.account);
            assert_eq!(account.closed_at(), Some(closed.at));
            let refused = Err(ChargeError::from(BooksError::AccountClosed { account: closed.account }));
            assert_eq!(charge(self.ledger(), &account, 0, self.now).map(drop), refused);
            let is_revoked = |key| self.ledger().find_key(key).unwrap().revoked_at() == Some(closed.at);
            assert!(closed.keys.iter().all(is_revoked));
        }
    }

    fn compare_account(&self, email: u8, expected: &ModelLogin) {
        let ledger = self.ledger();
        let found = ledger.sessions(expected.account, self.now);
        let mut found: Vec<_> =
            found.iter().map(|session| (session.created_at, session.token, session.last_seen_at)).collect();
        found.sort_by_key(|(created_at, token, _)| (*created_at, *token));
        let sessions = self.model.sessions_of(expected.account, self.now);
        let sessions: Vec<_> =
            sessions.iter().map(|session| (session.created_at, session.token, session.seen_at)).collect();
        assert_eq!(found, sessions);
        let used = self.model.free_used.get(&(email, self.now.month().number())).copied().unwrap_or(0);
        let view = ledger.account_view(&handle(ledger, expected.account), self.now);
        assert_eq!(view.free_queries_remaining, 100 - used, "a month has one free plan");
        assert!(expected.keys.iter().all(|key| ledger.find_key(key).unwrap().revoked_at().is_none()));
    }

    /// The sums, at the end.
    pub fn finish(self) {
        assert!(self.ledger().verify().unwrap().is_balanced());
    }
}

fn purpose(resets: bool) -> TokenPurpose {
    if resets { TokenPurpose::ResetPassword } else { TokenPurpose::ConfirmEmail }
}
