//! The cookie by which a device on which somebody signed in before is recognised, so that wrong passwords of others do not lock
//! its owner out. It opens nothing by itself.

use crate::api::Incoming;
use crate::site::cookies;
use crate::site::visit::Visit;
use mercato_ledger::Login;
use mercato_people::device_mark;
use mercato_web::{ApiError, random_bytes};

/// How long a browser keeps the cookie.
const DEVICE_SECONDS_MAX: i64 = 365 * 86_400;

const fn name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-device" } else { "device" }
}

/// The mark that a request carries.
pub fn of<'r>(request: &'r Incoming, visit: &Visit) -> Option<&'r str> {
    cookies::values(request.header("Cookie")?, name(visit.is_secure())).next()
}

/// The value of `Set-Cookie` that marks a device for a login.
pub fn remembered(visit: &Visit, login: &Login) -> Result<Option<String>, ApiError> {
    let Some(mark) = device_mark(login, random_bytes()?) else { return Ok(None) };
    let secure = if visit.is_secure() { "; Secure" } else { "" };
    let name = name(visit.is_secure());
    Ok(Some(format!("{name}={mark}; Path=/; Max-Age={DEVICE_SECONDS_MAX}; HttpOnly; SameSite=Lax{secure}")))
}
