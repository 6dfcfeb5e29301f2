//! Logins, sessions and one-time tokens in histories that a loss of power ends: every step is acknowledged.

use super::losing_power::Step;
use super::*;
use crate::{
    AccountId, CloseAccount, Email, EndSession, PasswordHash, RedeemToken, Redeemed, Redemption, SignUp,
    SignedUp, TokenHash, TokenPurpose,
};

/// The acknowledged operations.
#[derive(Default)]
pub struct People {
    open: Vec<(Email, AccountId)>,
    closed: Vec<(Email, AccountId)>,
    /// Sessions with their accounts, and whether they are open.
    sessions: Vec<(AccountId, TokenHash, bool)>,
    /// Tokens with their accounts, and whether they can be redeemed.
    tokens: Vec<(AccountId, TokenHash, bool)>,
}

fn password() -> PasswordHash {
    PasswordHash::try_from("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".to_owned()).unwrap()
}

impl People {
    /// `number` is another one in each step.
    pub fn take(&mut self, ledger: &Ledger, step: &Step, number: u8) {
        let random = [number; crate::TOKEN_RANDOM_BYTES];
        match step {
            Step::SignUp => {
                let email = Email::parse(&format!("p{number}@example.com")).unwrap();
                let outcome = ledger
                    .commit(&SignUp { email: email.clone(), password: password(), at: noon() })
                    .unwrap();
                let SignedUp::Created(account) = outcome else { panic!("the address is new") };
                self.open.push((email, account));
            }
            Step::EndSession { which } => {
                let Some(place) = which.checked_rem(self.sessions.len()) else { return };
                let (_, token, is_open) = &mut self.sessions[place];
                assert_eq!(ledger.commit(&EndSession { token: *token, at: noon() }), Ok(*is_open));
                *is_open = false;
            }
            Step::RedeemToken { which } => {
                let Some(place) = which.checked_rem(self.tokens.len()) else { return };
                let (account, token, is_valid) = self.tokens[place];
                let expected = if is_valid { Redeemed::By(account) } else { Redeemed::Refused };
                assert_eq!(
                    ledger.commit(&RedeemToken { token, redemption: Redemption::ConfirmEmail, at: noon() }),
                    Ok(expected)
                );
                self.spend(account, is_valid);
            }
            Step::OpenSession { login } | Step::IssueToken { login } | Step::CloseAccount { login } => {
                let Some(place) = login.checked_rem(self.open.len()) else { return };
                let account = self.open[place].1;
                match step {
                    Step::OpenSession { .. } => {
                        let login = ledger.login(account).unwrap();
                        let token = ledger.open_session(&login, random, noon()).unwrap().hash();
                        self.sessions.push((account, token, true));
                    }
                    Step::IssueToken { .. } => self.issue(ledger, account, random),
                    _ => {
                        ledger.commit(&CloseAccount { account, at: noon() }).unwrap();
                        self.closed.push(self.open.remove(place));
                        self.spend(account, true);
                        let of_account = self.sessions.iter_mut().filter(|(owner, ..)| *owner == account);
                        of_account.for_each(|(.., is_open)| *is_open = false);
                    }
                }
            }
            other => panic!("{other:?} is no step of people"),
        }
    }

    /// One account has as many as it may: the least hash goes, because all have the same age.
    fn issue(&mut self, ledger: &Ledger, account: AccountId, random: [u8; crate::TOKEN_RANDOM_BYTES]) {
        let valid = |(owner, _, is_valid): &&mut (AccountId, TokenHash, bool)| *owner == account && *is_valid;
        let mut waiting: Vec<_> = self.tokens.iter_mut().filter(valid).collect();
        if waiting.len() == crate::limits::TOKENS_PER_ACCOUNT_MAX {
            waiting.sort_by_key(|(_, token, _)| *token);
            waiting[0].2 = false;
        }
        let issued = ledger.issue_token(account, TokenPurpose::ConfirmEmail, random, noon()).unwrap();
        self.tokens.push((account, issued.plain.hash(), true));
    }

    fn spend(&mut self, account: AccountId, is_spent: bool) {
        for (owner, _, is_valid) in &mut self.tokens {
            *is_valid &= !(is_spent && *owner == account);
        }
    }

    /// Every acknowledged record is there; every ended, used or closed one is gone.
    pub fn check(&self, ledger: &Ledger) {
        for (email, account) in &self.open {
            assert_eq!(ledger.credentials(email).map(|login| login.account), Some(*account), "{email:?}");
        }
        for (email, account) in &self.closed {
            assert!(ledger.credentials(email).is_none(), "{email:?}");
            assert!(ledger.account(*account).unwrap().closed_at().is_some());
        }
        for (account, token, is_open) in &self.sessions {
            let found = ledger.session(*token, noon()).map(|session| session.account());
            assert_eq!(found, is_open.then_some(*account));
        }
        let redeem =
            |token| ledger.commit(&RedeemToken { token, redemption: Redemption::ConfirmEmail, at: noon() });
        for (_, token, is_valid) in self.tokens.iter().filter(|(.., is_valid)| !is_valid) {
            assert_eq!(redeem(*token), Ok(Redeemed::Refused), "{is_valid}");
        }
        // The first token of an account that is used takes the others with it.
        let mut used = Vec::new();
        for (account, token, _) in self.tokens.iter().filter(|(.., is_valid)| *is_valid) {
            if !used.contains(account) {
                assert_eq!(redeem(*token), Ok(Redeemed::By(*account)));
                used.push(*account);
            }
        }
    }
}

/// Each operation of the disk fails once in turn, in each way, and the process opens its books again.
#[test]
fn keeps_exactly_acknowledged_logins_after_any_disk_fault() {
    let email = |number| Email::parse(&format!("p{number}@example.com")).unwrap();
    for (durability, fault) in [
        (ChargeDurability::Process, Fault::Half),
        (ChargeDurability::Power, Fault::Nothing),
        (ChargeDurability::Power, Fault::All),
    ] {
        for after in 0.. {
            let bench = Bench::new(SimulatedDisk::default());
            let (ledger, books) = bench.open(durability);
            ledger.commit(&SignUp { email: email(0), password: password(), at: noon() }).unwrap();
            let login = ledger.credentials(&email(0)).unwrap();
            bench.disk.fail(after, fault);
            let opened = (1..=3).map(|random| ledger.open_session(&login, [random; 32], noon()));
            let opened: Vec<_> = opened.map_while(Result::ok).map(|token| token.hash()).collect();
            let signed_up = ledger.commit(&SignUp { email: email(1), password: password(), at: noon() });
            if bench.disk.take_fault() {
                assert!(after > 3, "{after}");
                break;
            }
            if let Core::Down(down) = &mut *books.shared.core.lock() {
                down.next_try = Instant::now();
            }
            books.shared.try_to_recover();
            assert_eq!(ledger.health(), Health::Serving, "{after} {fault:?} {durability:?}");
            let found = ledger.sessions(login.account, noon());
            assert_eq!(found.len(), opened.len(), "{after} {fault:?} {durability:?}");
            assert!(opened.iter().all(|token| ledger.session(*token, noon()).is_some()));
            assert_eq!(ledger.credentials(&email(1)).is_some(), signed_up.is_ok());
            assert_eq!(ledger.accounts().len(), 1 + usize::from(signed_up.is_ok()));
        }
    }
}
