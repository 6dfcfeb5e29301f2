//! Proves that Stripe signed a notification: HMAC-SHA256 over the moment and the raw body.
//!
//! ```text
//! Stripe-Signature: t=1795392000,v1=5257a8…,v1=…,v0=…
//! signed            "1795392000" "." body
//! ```
//!
//! While a secret is replaced there are several signatures, and one that fits suffices. Parses nothing of the body.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::secret::Secret;
use crate::provider::NotificationError;
use mercato_base::clock::Moment;

/// How far from now a notification may have been signed.
const SIGNATURE_TOLERANCE_SECONDS: u64 = 300;
/// Signatures of one notification that are compared.
const SIGNATURES_MAX: usize = 8;
const SIGNATURE_BYTES: usize = 32;

/// Refuses a body that was not signed with the secret, or not about now.
pub(super) fn check(
    secret: &Secret,
    header: &str,
    body: &[u8],
    now: Moment,
) -> Result<(), NotificationError> {
    let (timestamp, signatures) = parse(header).ok_or(NotificationError::Malformed)?;
    let signed_at: i64 = timestamp.parse().map_err(|_| NotificationError::Malformed)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes())
        .map_err(|_| NotificationError::Malformed)?;
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    // `verify_slice` compares in constant time.
    let fits = |signature: &[u8; SIGNATURE_BYTES]| mac.clone().verify_slice(signature).is_ok();
    if !signatures.iter().any(fits) {
        return Err(NotificationError::Forged);
    }
    let (seconds, tolerance) = (now.unix_seconds().abs_diff(signed_at), SIGNATURE_TOLERANCE_SECONDS);
    if seconds > tolerance {
        return Err(NotificationError::Untimely { seconds, tolerance });
    }
    Ok(())
}

/// The moment as it was signed, and the signatures of the known kind.
fn parse(header: &str) -> Option<(&str, Vec<[u8; SIGNATURE_BYTES]>)> {
    let (mut timestamp, mut signatures) = (None, Vec::new());
    for part in header.split(',') {
        let (name, value) = part.trim().split_once('=')?;
        match name {
            "t" if timestamp.is_none() && is_plain_number(value) => timestamp = Some(value),
            "t" => return None,
            "v1" if signatures.len() < SIGNATURES_MAX => signatures.push(from_hex(value)?),
            _ => {}
        }
    }
    Some((timestamp?, signatures)).filter(|(_, signatures)| !signatures.is_empty())
}

fn is_plain_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn from_hex(text: &str) -> Option<[u8; SIGNATURE_BYTES]> {
    if text.len() != 2 * SIGNATURE_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; SIGNATURE_BYTES];
    for (place, byte) in bytes.iter_mut().enumerate() {
        let digits = text.get(2 * place..2 * place + 2)?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::secret::tests::secret;
    use super::*;

    const NOW: Moment = Moment::from_unix_millis(1_795_392_000_500);
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;

    fn signature(key: &str, timestamp: &str, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
        mac.update([timestamp.as_bytes(), b".", body].concat().as_slice());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[track_caller]
    fn check(header: &str, body: &[u8], expected: &Result<(), NotificationError>) {
        assert_eq!(&super::check(&secret("whsec_a"), header, body, NOW), expected, "{header}");
    }

    #[test]
    fn agrees_with_known_signature() {
        // Computed with `stripe.WebhookSignature._compute_signature` of stripe-python.
        let known = "0d5015b5a33014263e604a771304719a0c833a569c071a7b5596218858c1a5b9";
        assert_eq!(signature("whsec_a", "1795392000", BODY), known);
    }

    #[test]
    fn accepts_any_fitting_signature_within_tolerance() {
        for seconds in [0, 300, -300] {
            let t = (1_795_392_000_i64 + seconds).to_string();
            let right = signature("whsec_a", &t, BODY);
            check(&format!("t={t},v1={right}"), BODY, &Ok(()));
            let wrong = signature("whsec_b", &t, BODY);
            check(&format!("v0=x,v1={wrong}, v1={right},t={t}"), BODY, &Ok(()));
        }
        for seconds in [301_i64, -301] {
            let t = (1_795_392_000 + seconds).to_string();
            let right = signature("whsec_a", &t, BODY);
            let untimely = NotificationError::Untimely { seconds: 301, tolerance: 300 };
            check(&format!("t={t},v1={right}"), BODY, &Err(untimely));
        }
    }

    #[test]
    fn refuses_forged_and_malformed_signatures() {
        let t = "1795392000";
        let right = signature("whsec_a", t, BODY);
        let altered = br#"{"id":"evt_2"}"#;
        check(&format!("t={t},v1={right}"), altered, &Err(NotificationError::Forged));
        check(&format!("t=1795392001,v1={right}"), BODY, &Err(NotificationError::Forged));
        let other = signature("whsec_b", t, BODY);
        check(&format!("t={t},v1={other}"), BODY, &Err(NotificationError::Forged));
        for header in [
            String::new(),
            format!("v1={right}"),
            format!("t={t}"),
            format!("t={t},v0={right}"),
            format!("t={t},t={t},v1={right}"),
            format!("t=+{t},v1={right}"),
            format!("t=99999999999999999999,v1={right}"),
            format!("t={t},v1={}", &right[2..]),
            format!("t={t},v1={}zz", &right[2..]),
            format!("t={t},v1"),
            format!("t={t};v1={right}"),
        ] {
            check(&header, BODY, &Err(NotificationError::Malformed));
        }
    }
}
