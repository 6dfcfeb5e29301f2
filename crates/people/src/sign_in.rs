//! Limits attempts to sign in, to sign up and to send mail, and compares the password of a sign-in.
//!
//! An answer does not reveal whether an account exists: attempts are counted by the address as typed, and every admitted one
//! computes one hash. Does not depend on pages, sessions or mail.

use std::net::IpAddr;
use std::sync::Arc;

use crate::client_address::client_key;
use crate::devices::{self, DEVICE_RANDOM_BYTES};
use crate::passwords::{PasswordError, Passwords};
use crate::throttle::{Throttle, Throttled};
use mercato_base::clock::Moment;
use mercato_ledger::limits::TRACKED_ADDRESSES_MAX;
use mercato_ledger::{Email, Ledger, Login};

/// E-mail addresses whose sign-ins are counted at one time; the longest silent one makes room.
const TRACKED_EMAILS_MAX: usize = 65_536;
/// The time over which failed sign-ins count.
const SIGN_IN_WINDOW_SECONDS: i64 = 15 * 60;
/// Failed sign-ins of one client address in `SIGN_IN_WINDOW_SECONDS`.
const SIGN_INS_PER_ADDRESS_MAX: usize = 50;
/// Failed sign-ins with one e-mail address from one client address in `SIGN_IN_WINDOW_SECONDS`.
const SIGN_INS_PER_EMAIL_AND_ADDRESS_MAX: usize = 10;
/// Failed sign-ins with one e-mail address in `SIGN_IN_WINDOW_SECONDS`, from all client addresses together. Devices that signed
/// in before are not held up by it.
const SIGN_INS_PER_EMAIL_MAX: usize = 100;
/// Failed sign-ins of one device that signed in before, in `SIGN_IN_WINDOW_SECONDS`.
const SIGN_INS_PER_DEVICE_MAX: usize = 10;
/// Warnings to one e-mail address in any 24 hours.
const WARNINGS_PER_EMAIL_MAX: usize = 1;
/// Sign-ups of one client address in any 24 hours.
const SIGN_UPS_PER_ADDRESS_MAX: usize = 5;
/// Mails that one client address may have sent in any 24 hours.
const MAILS_PER_ADDRESS_MAX: usize = 20;
/// Mails to one e-mail address in any 24 hours.
const MAILS_PER_EMAIL_MAX: usize = 5;
const DAY_SECONDS: i64 = 86_400;

/// Why a sign-in is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignInRefusal {
    /// The address or the password is wrong; the answer does not say which.
    #[error("the e-mail address or the password is wrong")]
    Wrong,
    /// There were too many attempts from the client's address or device.
    #[error(transparent)]
    Throttled(#[from] Throttled),
    /// There were too many attempts with the e-mail address.
    #[error(transparent)]
    Guessing(Throttled),
    /// The password could not be compared now.
    #[error(transparent)]
    Password(#[from] PasswordError),
}

/// Checks and counts sign-ins, shared by all threads.
pub struct SignInControl {
    ledger: Arc<Ledger>,
    passwords: Passwords,
    sign_ins: Attempts,
    warnings: Throttle<[u8; 16]>,
    mails: Counted,
    sign_ups: Throttle<[u8; 16]>,
}

/// Failed sign-ins.
struct Attempts {
    by_address: Throttle<[u8; 16]>,
    by_email_and_address: Throttle<([u8; 16], [u8; 16])>,
    by_email: Throttle<[u8; 16]>,
    by_device: Throttle<[u8; DEVICE_RANDOM_BYTES]>,
}

/// Who tries to sign in.
enum Visitor {
    /// A device on which the owner of the account signed in before.
    Known([u8; DEVICE_RANDOM_BYTES]),
    /// Any other: the digest of the e-mail address, if one was typed, and the key of the client's address.
    Unknown(Option<[u8; 16]>, [u8; 16]),
}

/// Mails, counted by the address of the client and by the e-mail address.
struct Counted {
    by_address: Throttle<[u8; 16]>,
    by_email: Throttle<[u8; 16]>,
}

impl SignInControl {
    /// A desk without attempts.
    pub fn new(ledger: Arc<Ledger>) -> SignInControl {
        let addresses = |limit, seconds| Throttle::new(TRACKED_ADDRESSES_MAX, limit, seconds);
        let emails = |limit, seconds| Throttle::new(TRACKED_EMAILS_MAX, limit, seconds);
        SignInControl {
            ledger,
            passwords: Passwords::default(),
            sign_ins: Attempts {
                by_address: addresses(SIGN_INS_PER_ADDRESS_MAX, SIGN_IN_WINDOW_SECONDS),
                by_email_and_address: Throttle::new(
                    TRACKED_EMAILS_MAX,
                    SIGN_INS_PER_EMAIL_AND_ADDRESS_MAX,
                    SIGN_IN_WINDOW_SECONDS,
                ),
                by_email: emails(SIGN_INS_PER_EMAIL_MAX, SIGN_IN_WINDOW_SECONDS),
                by_device: Throttle::new(TRACKED_EMAILS_MAX, SIGN_INS_PER_DEVICE_MAX, SIGN_IN_WINDOW_SECONDS),
            },
            warnings: emails(WARNINGS_PER_EMAIL_MAX, DAY_SECONDS),
            mails: Counted {
                by_address: addresses(MAILS_PER_ADDRESS_MAX, DAY_SECONDS),
                by_email: emails(MAILS_PER_EMAIL_MAX, DAY_SECONDS),
            },
            sign_ups: addresses(SIGN_UPS_PER_ADDRESS_MAX, DAY_SECONDS),
        }
    }

    /// Computes and compares passwords.
    pub const fn passwords(&self) -> &Passwords {
        &self.passwords
    }

    /// The login that was typed, if its password is right. A successful attempt does not count towards the limits. `device` is
    /// the mark that the client's device has, if it has one.
    pub fn check(
        &self,
        email: &str,
        password: &str,
        address: IpAddr,
        device: Option<&str>,
        now: Moment,
    ) -> Result<Arc<Login>, SignInRefusal> {
        let email = Email::parse(email).ok();
        let login = email.as_ref().and_then(|email| self.ledger.credentials(email));
        let known = login.as_deref().zip(device).and_then(|(login, mark)| devices::recognised(login, mark));
        let visitor = match known {
            Some(device) => Visitor::Known(device),
            None => Visitor::Unknown(email.as_ref().map(Email::digest), client_key(address)),
        };
        self.sign_ins.admit(&visitor, now)?;
        let verified = self.passwords.verify(password, login.as_ref().map(|login| &login.password));
        if verified != Ok(false) {
            self.sign_ins.forgive(&visitor, now);
        }
        login.filter(|_| verified == Ok(true)).ok_or_else(|| match verified {
            Err(error) => error.into(),
            Ok(_) => SignInRefusal::Wrong,
        })
    }

    /// Counts an attempt with the right password that is to look like one with a wrong password.
    pub fn count_failure(&self, email: &Email, address: IpAddr, now: Moment) {
        // Whether further attempts are refused is decided when they come.
        let _admitted =
            self.sign_ins.admit(&Visitor::Unknown(Some(email.digest()), client_key(address)), now);
    }

    /// Counts a warning to the owner of an e-mail address that somebody guesses passwords, or refuses it.
    pub fn admit_warning(&self, email: &Email, now: Moment) -> Result<(), Throttled> {
        self.warnings.admit(email.digest(), now)
    }

    /// Counts a sign-up of a client, or refuses it.
    pub fn admit_sign_up(&self, address: IpAddr, now: Moment) -> Result<(), Throttled> {
        self.sign_ups.admit(client_key(address), now)
    }

    /// Counts an attempt of a client to set a password with a token from the operator, like a sign-in, or refuses it. One
    /// that succeeds is taken back with [`SignInControl::forgive_reset`].
    pub fn admit_reset(&self, address: IpAddr, now: Moment) -> Result<(), Throttled> {
        self.sign_ins.by_address.admit(client_key(address), now)
    }

    /// Takes an attempt back that was admitted at this moment.
    pub fn forgive_reset(&self, address: IpAddr, at: Moment) {
        self.sign_ins.by_address.forgive(client_key(address), at);
    }

    /// Counts a mail to an address that a client requests, or refuses it.
    pub fn admit_mail(&self, email: &Email, address: IpAddr, now: Moment) -> Result<(), Throttled> {
        self.mails.admit(Some(email), address, now)
    }
}

impl Counted {
    fn admit(&self, email: Option<&Email>, address: IpAddr, now: Moment) -> Result<(), Throttled> {
        self.by_address.admit(client_key(address), now)?;
        email.map_or(Ok(()), |email| self.by_email.admit(email.digest(), now))
    }
}

impl Attempts {
    fn admit(&self, visitor: &Visitor, now: Moment) -> Result<(), SignInRefusal> {
        let (email, address) = match *visitor {
            Visitor::Known(device) => return Ok(self.by_device.admit(device, now)?),
            Visitor::Unknown(email, address) => (email, address),
        };
        self.by_address.admit(address, now)?;
        let Some(email) = email else { return Ok(()) };
        self.by_email_and_address.admit((email, address), now).map_err(SignInRefusal::Guessing)?;
        self.by_email.admit(email, now).map_err(SignInRefusal::Guessing)
    }

    fn forgive(&self, visitor: &Visitor, at: Moment) {
        match *visitor {
            Visitor::Known(device) => self.by_device.forgive(device, at),
            Visitor::Unknown(email, address) => {
                self.by_address.forgive(address, at);
                if let Some(email) = email {
                    self.by_email_and_address.forgive((email, address), at);
                    self.by_email.forgive(email, at);
                }
            }
        }
    }
}
