//! The language of a page: of the address, else of an earlier choice, else of the browser.
//!
//! Depends on headers, not on pages.

use super::cookies;
use crate::api::Incoming;
use mercato_catalog::Language;

/// Ranges of one `Accept-Language` that are read.
const LANGUAGE_RANGE_COUNT_MAX: usize = 32;

/// Name of the parameter and of the cookie.
pub const LANGUAGE_NAME: &str = "lang";

/// The languages of the site, with their names in themselves.
pub const LANGUAGES: [(Language, &str, &str); 2] =
    [(Language::English, "en", "English"), (Language::Italian, "it", "Italiano")];

/// The code of a language.
pub const fn code(language: Language) -> &'static str {
    match language {
        Language::English => "en",
        Language::Italian => "it",
    }
}

/// The languages that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanguageChoice {
    /// By the address.
    pub requested: Option<Language>,
    /// By the cookie of an earlier choice.
    pub remembered: Option<Language>,
    /// By the browser.
    pub preferred: Language,
}

impl LanguageChoice {
    /// Reads address, cookie and header.
    pub fn of(request: &Incoming) -> Self {
        let requested = request.pairs().iter().filter(|(name, _)| name == LANGUAGE_NAME);
        Self {
            requested: requested.filter_map(|(_, value)| named(value)).next(),
            remembered: request.header("Cookie").and_then(of_cookies),
            preferred: request
                .list("Accept-Language")
                .map_or(Language::English, |list| of_preferences(&list)),
        }
    }

    /// The language of the answer.
    pub fn language(self) -> Language {
        self.requested.or(self.remembered).unwrap_or(self.preferred)
    }

    /// Whether links have to carry the choice on: it was made by the address and is not remembered yet.
    pub fn is_carried(self) -> bool {
        self.requested.is_some() && self.requested != self.remembered
    }
}

/// The language with that code.
pub fn named(text: &str) -> Option<Language> {
    LANGUAGES.iter().find(|(_, code, _)| *code == text).map(|(language, ..)| *language)
}

fn of_cookies(header: &str) -> Option<Language> {
    cookies::values(header, LANGUAGE_NAME).find_map(named)
}

/// The language with the highest quality; of equal ones the first. English where none of ours is named.
fn of_preferences(header: &str) -> Language {
    let mut best: Option<(f32, Language)> = None;
    for range in header.split(',').take(LANGUAGE_RANGE_COUNT_MAX) {
        let (tag, quality) = range.split_once(';').map_or((range, None), |(tag, rest)| (tag, Some(rest)));
        let primary = tag.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
        let quality = quality.map_or(Some(1.0), |text| text.trim().strip_prefix("q=")?.trim().parse().ok());
        let (Some(language), Some(quality)) = (named(&primary), quality) else { continue };
        if quality > 0.0 && best.is_none_or(|(present, _)| quality > present) {
            best = Some((quality, language));
        }
    }
    best.map_or(Language::English, |(_, language)| language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_weights_of_accept_language() {
        for (header, italian) in [
            ("", false),
            ("it", true),
            ("it-IT,it;q=0.9,en;q=0.8", true),
            ("en-GB, it;q=0.9", false),
            ("en;q=0.5, it;q=0.7", true),
            ("de, fr;q=0.9, it;q=0.1", true),
            ("it;q=0, en;q=0.1", false),
            ("de-CH, *", false),
            ("IT", true),
            ("it;q=x, en", false),
            ("it;q=NaN, en", false),
        ] {
            assert_eq!(of_preferences(header) == Language::Italian, italian, "{header}");
        }
    }

    #[test]
    fn finds_language_cookie_among_others() {
        assert_eq!(of_cookies("a=1; lang=it; b=2"), Some(Language::Italian));
        assert_eq!(of_cookies("lang=de; lang=en"), Some(Language::English));
        for none in ["", "lang", "language=it", "lang=", "lang=IT", "xlang=it"] {
            assert_eq!(of_cookies(none), None, "{none}");
        }
    }

    #[test]
    fn prefers_address_to_cookie_and_cookie_to_browser() {
        let (english, italian) = (Language::English, Language::Italian);
        let check = |requested, remembered, preferred, language, carried| {
            let choice = LanguageChoice { requested, remembered, preferred };
            assert_eq!((choice.language(), choice.is_carried()), (language, carried));
        };
        check(Some(italian), Some(english), english, italian, true);
        check(Some(italian), Some(italian), english, italian, false);
        check(Some(english), None, italian, english, true);
        check(None, Some(italian), english, italian, false);
        check(None, None, italian, italian, false);
    }
}
