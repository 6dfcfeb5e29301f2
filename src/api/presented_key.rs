//! The API key that a request presents: in `X-Api-Key`, else as a bearer token.
//!
//! Looks at texts only. Does not depend on accounts.

/// The only value of `X-Api-Key`; without one, the token of the only `Authorization: Bearer`. Of two keys none is the
/// caller's.
pub fn presented_key<'h>(
    mut keys: impl Iterator<Item = &'h str>,
    mut authorizations: impl Iterator<Item = &'h str>,
) -> Option<&'h str> {
    if let Some(key) = keys.next() {
        return keys.next().is_none().then_some(key);
    }
    let only = authorizations.next()?;
    let (scheme, token) = only.split_once(' ').filter(|_| authorizations.next().is_none())?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::presented_key;

    #[test]
    fn takes_own_header_before_bearer_token_and_none_of_two() {
        for (keys, authorizations, expected) in [
            (&["k"][..], &[][..], Some("k")),
            (&["k"], &["Bearer t"], Some("k")),
            (&[], &["Bearer t"], Some("t")),
            (&[], &["bearer  t "], Some("t")),
            (&["k", "k"], &["Bearer t"], None),
            (&[], &["Bearer t", "Bearer t"], None),
            (&[], &["Basic dTpw"], None),
            (&[], &["Bearer"], None),
            (&[], &[], None),
        ] {
            let found = presented_key(keys.iter().copied(), authorizations.iter().copied());
            assert_eq!(found, expected, "{keys:?} {authorizations:?}");
        }
    }
}
