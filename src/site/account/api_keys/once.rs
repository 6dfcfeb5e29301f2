//! The random text of a form that makes a key. The key comes out of it, so the form that is sent twice, by a reload or a double
//! click, makes one key, and shows it again for a few minutes. Does not depend on the kind of form.

use sha2::{Digest, Sha256};

use super::created;
use crate::api::{App, Incoming, from_books};
use crate::site::account::area::Area;
use mercato_ledger::{CreatedKey, KEY_RANDOM_BYTES, PlainKey};
use mercato_web::{ApiError, Response, random_bytes};

pub const ONCE: &str = "once";
/// Hexadecimal digits of the text.
const DIGITS: usize = 64;
/// How long the same form shows the key that it has made.
const SHOWN_SECONDS_MAX: i64 = 600;

/// The text of a new form.
pub fn text() -> Result<String, ApiError> {
    let random: [u8; DIGITS / 2] = random_bytes()?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The random bytes of the key that a form makes for an account. A form without the text makes another key each time.
pub fn random(area: &Area, text: &str) -> Result<[u8; KEY_RANDOM_BYTES], ApiError> {
    if text.len() != DIGITS {
        return random_bytes();
    }
    let account = area.account.id().number().to_be_bytes();
    Ok(Sha256::new().chain_update(account).chain_update(text).finalize().into())
}

/// The answer to a form that was sent before: its key, or, after a while, the page of that key.
pub fn made_before(
    app: &App,
    request: &Incoming,
    area: &Area,
    random: [u8; KEY_RANDOM_BYTES],
) -> Result<Option<Response>, ApiError> {
    let plain = PlainKey::from_random(random);
    let Some(key) = app.ledger.find_key(&plain.hash()) else { return Ok(None) };
    let view = app.ledger.key_view(key.id()).map_err(from_books)?;
    if view.created_at.plus_seconds(SHOWN_SECONDS_MAX) > request.now() {
        return created::page(request, area, &CreatedKey { plain, view }).map(Some);
    }
    let url = area.visit.link(&format!("/account/keys/{}", view.id));
    Ok(Some(area.visit.redirect(request, &url)))
}
