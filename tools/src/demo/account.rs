//! The demo account: created once, with credits, a key and a login. Key and password are stored beside the data, so that a
//! second run prints the same. Does not depend on datasets.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use mercato_base::clock::Moment;
use mercato_catalog::DataDirectory;
use mercato_ledger::{
    AccountId, ConfirmEmail, Email, KEY_RANDOM_BYTES, KeyHash, Ledger, PasswordHash, SetPassword, SignUp,
    SignedUp,
};
use mercato_people::{NewPassword, SALT_BYTES, compute_password_hash};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Credits of the demo account.
const CREDITS: u64 = 100_000_000;
const EMAIL: &str = "demo@example.org";
const FILE: &str = "demo/account.json";
/// Random bytes of the password.
const PASSWORD_RANDOM_BYTES: usize = 6;

/// The account, its key and its login.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct DemoAccount {
    pub account: String,
    /// The plain key, which only opens demo data.
    pub key: String,
    /// The e-mail address with which to sign in.
    pub email: String,
    /// The plain password, which only opens the demo account.
    pub password: String,
}

/// Returns the account of an earlier run if its key is still valid, or else a new one.
pub fn find_or_create(data: &DataDirectory, ledger: &Ledger, now: Moment) -> Result<DemoAccount, Failure> {
    let path = data.root().join(FILE);
    let known = read(&path).filter(|customer| is_known(ledger, customer));
    let customer = match known {
        Some(customer) => customer,
        None => {
            let customer = create(ledger, now).map_err(|reason| Failure::Books {
                directory: data.ledger().display().to_string(),
                action: "create an account in them",
                reason,
            })?;
            keep(&path, &customer)?;
            customer
        }
    };
    Ok(customer)
}

fn read(path: &Path) -> Option<DemoAccount> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn is_known(ledger: &Ledger, customer: &DemoAccount) -> bool {
    let login = customer.account.parse().ok().and_then(|account: AccountId| ledger.login(account));
    KeyHash::of_presented(&customer.key).is_ok()
        && login.is_some_and(|login| login.email.as_str() == customer.email)
}

fn create(ledger: &Ledger, now: Moment) -> Result<DemoAccount, String> {
    let mut random = [0; KEY_RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|error| error.to_string())?;
    let (password, hash) = new_password()?;
    let account = sign_up(ledger, &hash, now)?;
    ledger
        .buy(account, CREDITS, Some(0), "demo", "credits to try with", now)
        .map_err(|error| error.to_string())?;
    let key = ledger.create_key(account, "demo", random, now).map_err(|error| error.to_string())?;
    let (account, key) = (account.to_string(), key.plain.reveal().to_owned());
    Ok(DemoAccount { account, key, email: EMAIL.to_owned(), password })
}

/// An account with the login of the demo. One whose file was lost gets the new password.
fn sign_up(ledger: &Ledger, password: &PasswordHash, now: Moment) -> Result<AccountId, String> {
    let email = Email::parse(EMAIL).map_err(|error| error.to_string())?;
    let account = match ledger
        .commit(&SignUp { email: email.clone(), password: password.clone(), at: now })
        .map_err(|error| error.to_string())?
    {
        SignedUp::Created(account) => account,
        SignedUp::EmailTaken => {
            let login = ledger.credentials(&email).ok_or("the demo account has no login")?;
            ledger
                .commit(&SetPassword {
                    account: login.account,
                    password: password.clone(),
                    kept: None,
                    at: now,
                })
                .map_err(|error| error.to_string())?;
            login.account
        }
    };
    ledger.commit(&ConfirmEmail { account, at: now }).map_err(|error| error.to_string())?;
    Ok(account)
}

/// A password that is easy to type, and its hash.
fn new_password() -> Result<(String, PasswordHash), String> {
    let mut random = [0; PASSWORD_RANDOM_BYTES];
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut random)
        .and_then(|()| getrandom::fill(&mut salt))
        .map_err(|error| error.to_string())?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let password = format!("demo-{digits}");
    let accepted = NewPassword::parse(&password, None).map_err(|refusal| refusal.to_string())?;
    let hash = compute_password_hash(accepted, salt).map_err(|error| error.to_string())?;
    Ok((password, hash))
}

/// Stores the key in a file that only its owner can read.
fn keep(path: &Path, customer: &DemoAccount) -> Result<(), Failure> {
    let text =
        serde_json::to_vec_pretty(customer).map_err(|error| Failure::io(path, "write")(error.into()))?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(&text)).map_err(Failure::io(path, "write"))
}
