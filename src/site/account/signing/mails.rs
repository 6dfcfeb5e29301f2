//! The mails of the account area: to confirm an address, to set a password, and to inform the owner of an account of a sign-up, of a
//! changed password, and of guessed ones.
//!
//! The thread of the mailer looks the address up, makes the token and writes the text. So the request that causes it does the same
//! work whether there is an account. Links begin with the configured public address, never with the `Host` of a request.

use mercato_web::random_bytes;
use std::sync::Arc;

use crate::api::App;
use crate::site::url::Url;
use crate::site::visit::Visit;
use crate::site::words::{fill, words};
use mercato_base::clock::Clock;
use mercato_ledger::{Email, Ledger, Login, TokenPurpose};
use mercato_people::mail::Letter;

words! {
    struct MailWords {
        confirm_subject: "Confirm your address at {}", "Conferma il tuo indirizzo su {}";
        confirm: "Someone signed up at {} with this address. If it was you, confirm the address here:\n\n{}\n\nThe link works once, within two days. If it was not you, ignore this e-mail.",
            "Qualcuno si è registrato su {} con questo indirizzo. Se sei tu, confermalo qui:\n\n{}\n\nIl link vale una volta sola, entro due giorni. Se non sei tu, ignora questa e-mail.";
        taken_subject: "You already have an account at {}", "Hai già un account su {}";
        taken: "Someone tried to sign up at {} with this address, which already has an account. If it was you, sign in with your password or set a new one here:\n\n{}\n\nNothing has changed. If it was not you, ignore this e-mail.",
            "Qualcuno ha provato a registrarsi su {} con questo indirizzo, che ha già un account. Se sei tu, accedi con la tua password o impostane una nuova qui:\n\n{}\n\nNon è cambiato nulla. Se non sei tu, ignora questa e-mail.";
        reset_subject: "Set a new password at {}", "Imposta una nuova password su {}";
        reset: "Someone asked for a new password for your account at {}. If it was you, set it here:\n\n{}\n\nThe link works once, within an hour. If it was not you, ignore this e-mail: your password stays the same.",
            "Qualcuno ha chiesto una nuova password per il tuo account su {}. Se sei tu, impostala qui:\n\n{}\n\nIl link vale una volta sola, entro un’ora. Se non sei tu, ignora questa e-mail: la password resta la stessa.";
        changed_subject: "Your password at {} was changed", "La tua password su {} è cambiata";
        changed: "The password of your account at {} was just changed. If it was you, there is nothing to do. If it was not, set a new one at once:\n\n{}",
            "La password del tuo account su {} è stata appena cambiata. Se sei stato tu, non devi fare nulla. In caso contrario, impostane subito una nuova:\n\n{}";
        guessed_subject: "Wrong passwords for your account at {}", "Password errate per il tuo account su {}";
        guessed: "Someone has entered too many wrong passwords for your account at {} and has to wait a quarter of an hour. You can still sign in on devices you have used before. If it was you and you have forgotten your password, set a new one here:\n\n{}\n\nIf it was not you, you can ignore this e-mail, as long as your password is hard to guess.",
            "Qualcuno ha inserito troppe password errate per il tuo account su {} e deve attendere un quarto d’ora. Tu puoi comunque accedere dai dispositivi che hai già usato. Se sei stato tu e hai dimenticato la password, impostane una nuova qui:\n\n{}\n\nSe non sei stato tu, puoi ignorare questa e-mail, purché la tua password sia difficile da indovinare.";
    }
}

/// The purpose of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To confirm the address of a new account.
    Confirm,
    /// To inform the owner of an account that somebody signed up with the address.
    Taken,
    /// To set a new password.
    Reset,
    /// To inform the owner of an account that its password is another one.
    Changed,
    /// To inform the owner of an account that somebody guesses its password.
    Guessed,
}

/// Has a mail written and sent to an address, in the language of the visit. Nothing is sent where the address has no account,
/// or is confirmed already.
pub fn send(app: &App, visit: &Visit, purpose: Purpose, email: &Email) {
    let Some(mailer) = &app.mailer else { return };
    let page = visit.link(match purpose {
        Purpose::Confirm => "/account/confirm",
        Purpose::Taken | Purpose::Changed | Purpose::Guessed => "/account/forgot",
        Purpose::Reset => "/account/reset",
    });
    let draft = Draft {
        ledger: Arc::clone(&app.ledger),
        clock: Arc::clone(&app.clock),
        purpose,
        email: email.clone(),
        words: MailWords::of(visit.language),
        place: visit.branding.name.clone(),
        page,
        base: visit.base().to_owned(),
    };
    mailer.submit(move || draft.letter());
}

/// A mail before anybody has looked whether there is an account.
struct Draft {
    ledger: Arc<Ledger>,
    clock: Arc<dyn Clock>,
    purpose: Purpose,
    email: Email,
    words: &'static MailWords,
    place: String,
    page: Url,
    base: String,
}

impl Draft {
    fn letter(&self) -> Option<Letter> {
        let login = self.ledger.credentials(&self.email)?;
        let (words, page) = (self.words, &self.page);
        let (subject, text, page) = match self.purpose {
            Purpose::Taken => (words.taken_subject, words.taken, page.clone()),
            Purpose::Changed => (words.changed_subject, words.changed, page.clone()),
            Purpose::Guessed => (words.guessed_subject, words.guessed, page.clone()),
            Purpose::Confirm if login.confirmed_at.is_some() => return None,
            Purpose::Confirm => {
                let page = page.with("token", self.token(&login, TokenPurpose::ConfirmEmail)?);
                (words.confirm_subject, words.confirm, page)
            }
            Purpose::Reset => {
                let page = page.with("token", self.token(&login, TokenPurpose::ResetPassword)?);
                (words.reset_subject, words.reset, page)
            }
        };
        let text = fill(&fill(text, &self.place), page.absolute(&self.base));
        Some(Letter {
            to: self.email.as_str().to_owned(),
            subject: fill(subject, &self.place),
            text: format!("{text}\n\n{}\n{}\n", self.place, self.base),
        })
    }

    fn token(&self, login: &Login, purpose: TokenPurpose) -> Option<String> {
        let random = random_bytes().ok()?;
        match self.ledger.issue_token(login.account, purpose, random, self.clock.now()) {
            Ok(issued) => Some(issued.plain.reveal().to_owned()),
            Err(error) => {
                tracing::error!(%error, "no token for a mail");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::words::check;

    #[test]
    fn translates_every_word_with_its_gaps() {
        check(&MailWords::list(), &[]);
    }
}
