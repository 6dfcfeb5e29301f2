//! The new password of a form, and the outcome of comparing and hashing passwords.

use crate::api::App;
use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use crate::site::account::form_view::Input;
use crate::site::account::words::AccountWords;
use crate::site::words::fill;
use mercato_ledger::{Email, PasswordHash};
use mercato_people::limits::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN};
use mercato_people::{NewPassword, PasswordError, PasswordRefusal, SignInRefusal, Throttled};
use mercato_web::{ApiError, random_bytes};

/// Why a form with a password comes back.
pub struct Refused {
    pub status: u16,
    /// The message.
    pub text: String,
    /// When to try again.
    pub retry_after_seconds: Option<u64>,
}

impl Refused {
    /// Something that was typed is not right.
    pub fn unprocessable(text: impl Into<String>) -> Self {
        Self { status: 422, text: text.into(), retry_after_seconds: None }
    }

    /// There were too many attempts.
    pub fn throttled(words: &'static AccountWords, throttled: Throttled) -> Self {
        let seconds = throttled.retry_after_seconds;
        let text = fill(words.too_often, seconds.div_ceil(60));
        Self { status: 429, text, retry_after_seconds: Some(seconds) }
    }

    fn busy(words: &'static AccountWords) -> Self {
        let retry_after_seconds = Some(RETRY_AFTER_BUSY_SECONDS.into());
        Self { status: 503, text: words.busy.to_owned(), retry_after_seconds }
    }

    /// The message of a refused sign-in; `wrong` where the password is not right.
    pub fn of_sign_in(
        words: &'static AccountWords,
        refusal: SignInRefusal,
        wrong: &str,
    ) -> Result<Self, ApiError> {
        match refusal {
            SignInRefusal::Wrong => Ok(Self::unprocessable(wrong)),
            SignInRefusal::Throttled(throttled) | SignInRefusal::Guessing(throttled) => {
                Ok(Self::throttled(words, throttled))
            }
            SignInRefusal::Password(error) => Self::of_password(words, error),
        }
    }

    fn of_password(words: &'static AccountWords, error: PasswordError) -> Result<Self, ApiError> {
        match error {
            PasswordError::Busy => Ok(Self::busy(words)),
            PasswordError::Failed => Err(ApiError::internal(error.to_string())),
        }
    }
}

/// The field for a new password.
pub fn new_input(
    form: &'static str,
    label: &'static str,
    words: &'static AccountWords,
    fault: Option<String>,
) -> Input {
    Input::new(form, "password", "password", label)
        .autocomplete("new-password")
        .hint(fill(words.password_hint, PASSWORD_CHARS_MIN))
        .fault(fault)
        .required()
}

/// Why a password is not accepted. `email` is the address of the account, where it is known.
pub fn fault(words: &'static AccountWords, typed: &str, email: Option<&Email>) -> Option<String> {
    NewPassword::parse(typed, email).err().map(|refusal| match refusal {
        PasswordRefusal::TooShort => fill(words.password_short, PASSWORD_CHARS_MIN),
        PasswordRefusal::TooLong => fill(words.password_long, PASSWORD_CHARS_MAX),
        PasswordRefusal::Address => words.password_address.to_owned(),
        PasswordRefusal::Common => words.password_common.to_owned(),
    })
}

/// The hash of a password that is accepted.
pub fn hash(
    app: &App,
    words: &'static AccountWords,
    typed: &str,
    email: Option<&Email>,
) -> Result<Result<PasswordHash, Refused>, ApiError> {
    let Ok(password) = NewPassword::parse(typed, email) else {
        return Ok(Err(Refused::unprocessable(fault(words, typed, email).unwrap_or_default())));
    };
    match app.sign_ins.passwords().hash(password, random_bytes()?) {
        Ok(hash) => Ok(Ok(hash)),
        Err(error) => Refused::of_password(words, error).map(Err),
    }
}
