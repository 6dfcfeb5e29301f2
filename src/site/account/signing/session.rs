//! The session cookie: a token whose hash the books hold.
//!
//! Does not depend on passwords. Where the site is reached by TLS, its name has the prefix `__Host-`, so that no other host
//! can set it.

use crate::api::{App, Incoming};
use crate::site::cookies;
use crate::site::visit::Visit;
use mercato_ledger::limits::SESSION_SECONDS_MAX;
use mercato_ledger::{PlainToken, SessionHandle, TokenHash};

const fn name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-session" } else { "session" }
}

/// The open session of a request.
pub fn of(app: &App, request: &Incoming, visit: &Visit) -> Option<SessionHandle> {
    let token = presented(request.header("Cookie")?, name(visit.is_secure()))?;
    app.ledger.session(TokenHash::of_presented(token)?, request.now())
}

/// The value of `Set-Cookie` that opens a session in a browser.
pub fn opened(visit: &Visit, token: &PlainToken) -> String {
    cookie(visit.is_secure(), token.reveal(), SESSION_SECONDS_MAX)
}

/// The value of `Set-Cookie` that ends it.
pub fn ended(visit: &Visit) -> String {
    cookie(visit.is_secure(), "", 0)
}

fn cookie(is_secure: bool, value: &str, seconds: i64) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}", name(is_secure))
}

fn presented<'h>(header: &'h str, name: &'h str) -> Option<&'h str> {
    cookies::values(header, name).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restricts_cookie_to_host_and_hides_it_from_scripts() {
        assert_eq!(
            cookie(true, "x", 9),
            "__Host-session=x; Path=/; Max-Age=9; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(cookie(false, "", 0), "session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    }

    #[test]
    fn finds_session_cookie_among_others() {
        assert_eq!(presented("lang=it; session=abc; x=1", "session"), Some("abc"));
        assert_eq!(presented("__Host-session=abc; session=d", "session"), Some("d"));
        for none in ["", "session", "sessions=x", "Session=x", "x=session=y"] {
            assert_eq!(presented(none, "session"), None, "{none}");
        }
    }
}
