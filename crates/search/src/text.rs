//! Splits text into words, with case and accents folded.
//!
//! Does not depend on languages or datasets.

/// Characters of a word that are compared.
const WORD_CHARS_MAX: usize = 48;

/// A folded word and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Without case and accents.
    pub folded: String,
    /// First byte in the text.
    pub start: usize,
    /// Byte behind the last one.
    pub end: usize,
}

/// Letters with accents or of other shapes, and what they are compared as.
const FOLDED: &[(&str, &str)] = &[
    ("àáâãäåāăą", "a"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŉ", "n"),
    ("òóôõöøōŏő", "o"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ţťŧț", "t"),
    ("ùúûüũūŭůűų", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
    ("ß", "ss"),
    ("æ", "ae"),
    ("œ", "oe"),
    ("þ", "th"),
    ("₀⁰", "0"),
    ("₁¹", "1"),
    ("₂²", "2"),
    ("₃³", "3"),
    ("₄⁴", "4"),
    ("₅⁵", "5"),
    ("₆⁶", "6"),
    ("₇⁷", "7"),
    ("₈⁸", "8"),
    ("₉⁹", "9"),
];

/// The words of a text in their order. `.` and `,` between digits vanish (`PM2.5` is `pm25`), and so does what joins
/// single letters (`e-commerce`, `B&B`, `U.S.A.`). A word is cut behind `WORD_CHARS_MAX` characters.
pub fn words(text: &str) -> Vec<Word> {
    let mut splitter = Splitter { words: Vec::new(), word: None, length: 0, piece: 0 };
    let mut letters = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, letter)) = letters.next() {
        let after = letters.peek().map_or(' ', |(_, next)| *next);
        if is_letter(letter) {
            splitter.add(at, letter);
        } else if !splitter.joins(before, letter, after) {
            splitter.end();
        }
        before = letter;
    }
    splitter.end();
    splitter.words
}

/// The folded words of a text, one space between them: what exact names are compared by.
pub fn key(text: &str) -> String {
    let words: Vec<String> = words(text).into_iter().map(|word| word.folded).collect();
    words.join(" ")
}

/// A name out of a table, readable: `stationId` and `station_id` become `station Id` and `station id`.
pub fn spell_out(identifier: &str) -> String {
    let mut spelled = String::with_capacity(identifier.len().saturating_add(8));
    let mut before = ' ';
    for letter in identifier.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            spelled.push(' ');
        }
        spelled.push(if letter == '_' { ' ' } else { letter });
        before = letter;
    }
    spelled
}

struct Splitter {
    words: Vec<Word>,
    word: Option<Word>,
    /// Characters of the present word.
    length: usize,
    /// Characters since the word began or was last joined.
    piece: usize,
}

impl Splitter {
    fn add(&mut self, at: usize, letter: char) {
        let word = self.word.get_or_insert_with(|| Word { folded: String::new(), start: at, end: at });
        word.end = at.saturating_add(letter.len_utf8());
        if self.length < WORD_CHARS_MAX {
            fold_into(letter, &mut word.folded);
        }
        self.length = self.length.saturating_add(1);
        self.piece = self.piece.saturating_add(1);
    }

    /// Whether the word goes on behind `sign`.
    fn joins(&mut self, before: char, sign: char, after: char) -> bool {
        if self.word.is_none() {
            return false;
        }
        let inside_number = matches!(sign, '.' | ',') && before.is_ascii_digit() && after.is_ascii_digit();
        let single_letter = matches!(sign, '-' | '&' | '.')
            && self.piece == 1
            && before.is_alphabetic()
            && after.is_alphabetic();
        if single_letter {
            self.piece = 0;
        }
        inside_number || single_letter
    }

    fn end(&mut self) {
        self.length = 0;
        self.piece = 0;
        self.words.extend(self.word.take().filter(|word| !word.folded.is_empty()));
    }
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || is_mark(letter)
}

/// Combining accents, which stand behind the letter they belong to.
fn is_mark(letter: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&letter)
}

fn fold_into(letter: char, out: &mut String) {
    if letter.is_ascii() {
        out.push(letter.to_ascii_lowercase());
        return;
    }
    if is_mark(letter) {
        return;
    }
    for lower in letter.to_lowercase().filter(|lower| !is_mark(*lower)) {
        match FOLDED.iter().find(|(accented, _)| accented.contains(lower)) {
            Some((_, plain)) => out.push_str(plain),
            None => out.push(lower),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(key(text), expected, "{text}");
    }

    #[test]
    fn folds_and_splits_words() {
        check("Qualità dell'aria: PM2.5 e PM10", "qualita dell aria pm25 e pm10");
        check("NO₂, CO₂ and m²", "no2 co2 and m2");
        check("1,234.5 euro; 2024/25", "12345 euro 2024 25");
        check("e-commerce, B&B, U.S.A., R&D", "ecommerce bb usa rd");
        check("wi-fi well-being", "wi fi well being");
        check("E\u{300} perche\u{301}", "e perche");
        check("Straße Łódź İzmir ÀÉÎ", "strasse lodz izmir aei");
        check("snake_case kebab-case", "snake case kebab case");
        check(" \t\n!?…", "");
    }

    #[test]
    fn words_keep_their_position() {
        let text = "Qualità, dell'aria";
        let spans: Vec<&str> = words(text).iter().map(|word| &text[word.start..word.end]).collect();
        assert_eq!(spans, ["Qualità", "dell", "aria"]);
    }

    #[test]
    fn spells_out_identifiers() {
        assert_eq!(spell_out("stationId"), "station Id");
        assert_eq!(spell_out("NO2_annual_mean"), "NO2 annual mean");
    }

    #[test]
    fn truncates_long_words() {
        let long = "a".repeat(WORD_CHARS_MAX * 3);
        assert_eq!(key(&long).chars().count(), WORD_CHARS_MAX);
    }
}
