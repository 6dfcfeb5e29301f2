//! Selects one of the offered media types by `Accept`.
//!
//! Implements media types and q-values (RFC 9110, section 12.5.1).

/// Items examined in one `Accept` or `Accept-Encoding`.
pub(super) const ACCEPT_RANGE_COUNT_MAX: usize = 32;

/// Selects the preferred offer; `None` when none is acceptable.
///
/// Each offer is a list of equivalent names; the first one is sent. Among offers of the same quality the more
/// specific match wins, then the order of the header, then the order of the offers.
pub fn choose(accept: &str, offers: &[&[&str]]) -> Option<usize> {
    let ranges: Vec<MediaRange<'_>> =
        accept.split(',').take(ACCEPT_RANGE_COUNT_MAX).filter_map(MediaRange::parse).collect();
    if ranges.is_empty() {
        return accept.trim().is_empty().then_some(0).filter(|_| !offers.is_empty());
    }
    let mut best: Option<(Preference, usize)> = None;
    for (index, names) in offers.iter().enumerate() {
        let Some(preference) = preference(&ranges, names) else { continue };
        if best.is_none_or(|(present, _)| preference > present) {
            best = Some((preference, index));
        }
    }
    best.map(|(_, index)| index)
}

/// Quality in thousandths, then how specific the matching range was, then how early it stood.
type Preference = (u16, u8, std::cmp::Reverse<usize>);

/// The most specific range that names the offer decides its quality; zero refuses it.
fn preference(ranges: &[MediaRange<'_>], names: &[&str]) -> Option<Preference> {
    names
        .iter()
        .flat_map(|name| ranges.iter().enumerate().map(move |(position, range)| (name, position, range)))
        .filter(|(name, _, range)| range.covers(name))
        .map(|(_, position, range)| (range.specificity(), std::cmp::Reverse(position), range.quality))
        .max()
        .filter(|(_, _, quality)| *quality > 0)
        .map(|(specificity, position, quality)| (quality, specificity, position))
}

struct MediaRange<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: u16,
}

impl<'a> MediaRange<'a> {
    /// Ranges that cannot be read are passed over, as unknown types are.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';');
        let (kind, subtype) = parts.next()?.trim().split_once('/')?;
        let quality = parts
            .filter_map(|parameter| parameter.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
            .map_or(Some(1000), |(_, value)| parse_quality(value.trim()))?;
        (!kind.is_empty() && !subtype.is_empty()).then_some(Self { kind, subtype, quality })
    }

    fn covers(&self, name: &str) -> bool {
        let Some((kind, subtype)) = name.split_once('/') else { return false };
        match (self.kind, self.subtype) {
            ("*", "*") => true,
            (range_kind, "*") => range_kind.eq_ignore_ascii_case(kind),
            (range_kind, range_subtype) => {
                range_kind.eq_ignore_ascii_case(kind) && range_subtype.eq_ignore_ascii_case(subtype)
            }
        }
    }

    fn specificity(&self) -> u8 {
        u8::from(self.kind != "*").saturating_add(u8::from(self.subtype != "*"))
    }
}

/// `0`, `1`, `0.5`, `0.333`: at most three decimals, never above one.
pub fn parse_quality(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{fraction:0<3}").parse::<u16>().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERS: &[&[&str]] = &[
        &["application/json"],
        &["text/csv", "application/csv"],
        &["application/x-ndjson", "application/ndjson", "application/jsonl"],
    ];

    #[track_caller]
    fn check(accept: &str, expected: Option<usize>) {
        assert_eq!(choose(accept, OFFERS), expected, "{accept}");
    }

    #[test]
    fn picks_preferred_format() {
        check("", Some(0));
        check("*/*", Some(0));
        check("application/*", Some(0));
        check("text/csv", Some(1));
        check("TEXT/CSV; charset=utf-8", Some(1));
        check("application/csv", Some(1));
        check("text/*", Some(1));
        check("application/jsonl", Some(2));
        check("application/json;q=0.5, application/x-ndjson;q=0.9", Some(2));
        check("text/csv;q=0.2, */*;q=0.1", Some(1));
        check("application/json;q=0, */*", Some(1));
        check("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Some(0));
        check("text/csv, application/json", Some(1));
        check("application/json, text/csv", Some(0));
        check("*/*, text/csv", Some(1));
    }

    #[test]
    fn rejects_types_not_offered() {
        check("text/html", None);
        check("application/json;q=0", None);
        check("image/*;q=0.9, text/html", None);
        check("nonsense", None);
        check("text/csv;q=2", None);
        check("text/csv;q=0.0001", None);
    }
}
