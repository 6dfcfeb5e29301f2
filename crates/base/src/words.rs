//! Numbers in sentences: 1 credit, 2 credits, 10,000 rows.
//!
//! English only. Does not depend on the things counted.

/// A number with a comma before every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len().saturating_mul(4) / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && digits.len().saturating_sub(place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of a thing: the plural of `noun` ends in `s`, unless there is one.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// The message for a field or parameter that does not exist.
pub const NAME_UNKNOWN: &str = "the name is not known here";
/// Bytes of client text repeated in a message, at most.
pub const QUOTED_BYTES_MAX: usize = 100;

/// A range of whole numbers in words.
pub fn whole_number(least: u64, most: u64) -> String {
    format!("a whole number from {} to {}", grouped(least), grouped(most))
}

/// One of these words, in words.
pub fn any_of<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let quoted: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => quoted.concat(),
    }
}

/// A client's value in the place of a number, for a message: a number as it is, anything else as a string.
pub fn found_text(text: &str) -> String {
    if is_number(text) { shortened_text(text) } else { format!("the string {}", quoted(text)) }
}

/// Whether a text is a JSON number.
pub fn is_number(text: &str) -> bool {
    let digit_first = text.trim_start_matches('-').starts_with(|letter: char| letter.is_ascii_digit());
    let digit_last = text.ends_with(|letter: char| letter.is_ascii_digit());
    digit_first && digit_last && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// Client text for a message: shortened, without control characters.
pub fn quoted(text: &str) -> String {
    format!("`{}`", shortened_text(text))
}

/// The place of a fault in front of its message: the field or parameter, or the path inside the body without its first
/// slash.
pub fn placed(pointer: &str, message: &str) -> String {
    match pointer.trim_start_matches('/') {
        "" => message.to_owned(),
        place => format!("{}: {message}", shortened_text(place)),
    }
}

/// The beginning of a text, in whole characters, and what stands for the rest.
pub fn shortened(text: &str, bytes_max: usize) -> (&str, &'static str) {
    let end = text.floor_char_boundary(bytes_max);
    text.get(..end).filter(|start| start.len() < text.len()).map_or((text, ""), |start| (start, "…"))
}

fn shortened_text(text: &str) -> String {
    let (text, rest) = shortened(text, QUOTED_BYTES_MAX);
    let printable = text.chars().map(|letter| if letter.is_control() { '\u{FFFD}' } else { letter });
    printable.chain(rest.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_digits_by_three() {
        let numbers = [0, 7, 999, 1_000, 10_000, 123_456, 1_000_000, u64::MAX].map(grouped);
        let expected =
            ["0", "7", "999", "1,000", "10,000", "123,456", "1,000,000", "18,446,744,073,709,551,615"];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn inflects_nouns_by_number() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "credit")), ["0 credits", "1 credit", "2 credits"]);
    }

    #[test]
    fn prefixes_message_with_place() {
        assert_eq!(placed("/limit", "it is wrong"), "limit: it is wrong");
        assert_eq!(placed("limit", "it is wrong"), "limit: it is wrong");
        assert_eq!(placed("/filters/id/in/1", "it is wrong"), "filters/id/in/1: it is wrong");
        assert_eq!(placed("", "it is wrong"), "it is wrong");
        assert!(placed(&"/x".repeat(1_000), "it is wrong").len() < 140);
    }

    #[test]
    fn distinguishes_number_from_text() {
        assert_eq!(found_text("0"), "0");
        assert_eq!(found_text("-1.5e3"), "-1.5e3");
        for text in ["abc", "+5", " 5", "5 ", "--5", "5-", "0x10", "1_000", "", "05", "NaN"] {
            assert_eq!(found_text(text), format!("the string `{text}`"));
        }
        assert!(found_text(&"9".repeat(4_000)).len() < 110);
    }

    #[test]
    fn shortens_and_sanitizes_quoted_text() {
        assert_eq!(quoted("a\nb"), "`a\u{FFFD}b`");
        assert!(quoted(&"é".repeat(400)).len() < 120);
    }

    #[test]
    fn lists_words_as_phrase() {
        let listed = |words: &[&str]| any_of(words.iter().copied());
        assert_eq!(listed(&["exact"]), "`exact`");
        assert_eq!(listed(&["asc", "desc"]), "`asc` or `desc`");
        assert_eq!(listed(&["page", "stream", "download"]), "`page`, `stream` or `download`");
    }
}
