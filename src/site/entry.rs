//! A dataset as an entry of a list.
//!
//! Does not depend on the kind of list.

use super::frame::Link;
use super::visit::Visit;
use super::words::fill;
use mercato_catalog::Dataset;

/// Characters of a description in a list.
const SUMMARY_CHARS_MAX: usize = 240;
/// Tags of one entry.
const TAGS_MAX: usize = 6;

#[derive(Debug)]
pub struct Entry {
    /// The address of the dataset's page.
    pub url: String,
    pub title: String,
    /// The beginning of its description, or the piece of it that answers a question.
    pub summary: String,
    /// The fields in which a question was found.
    pub found_in: Option<String>,
    /// Rows, price of the whole, licence, version, day.
    pub facts: Vec<String>,
    /// Its first tags.
    pub tags: Vec<Link>,
    /// Whether it stands out.
    pub is_featured: bool,
}

impl Entry {
    /// The entry of a dataset.
    pub fn of(visit: &Visit, dataset: &Dataset) -> Self {
        let (words, numbers, manifest) = (visit.words, visit.numbers, &dataset.manifest);
        let language = Some(visit.language);
        let rows = dataset.current.table.row_count();
        let facts = [
            Some(rows_in_words(visit, rows.into())),
            Some(fill(words.whole_for, numbers.price_to_the_cent(rows.into()))),
            manifest.license.clone(),
            Some(fill(words.version, &dataset.current.version)),
            Some(fill(words.updated_on, numbers.day(dataset.updated_at))),
        ];
        Self {
            url: visit.link(&format!("/datasets/{}", dataset.slug())).to_string(),
            title: manifest.title.choose(language).unwrap_or(dataset.slug()).to_owned(),
            summary: summary(manifest.description.choose(language).unwrap_or_default()),
            found_in: None,
            facts: facts.into_iter().flatten().collect(),
            tags: manifest.tags.iter().take(TAGS_MAX).map(|tag| tag_link(visit, tag)).collect(),
            is_featured: manifest.featured,
        }
    }
}

/// A tag and the datasets that carry it.
pub fn tag_link(visit: &Visit, tag: &str) -> Link {
    Link { text: tag.to_owned(), url: visit.link("/datasets").and("tag", tag).to_string() }
}

/// `1 row`, `1,234 rows`.
pub fn rows_in_words(visit: &Visit, rows: u64) -> String {
    counted(visit, rows, visit.words.one_row, visit.words.many_rows)
}

/// `1 dataset`, `12 datasets`.
pub fn datasets_in_words(visit: &Visit, datasets: usize) -> String {
    counted(visit, whole(datasets), visit.words.one_dataset, visit.words.many_datasets)
}

/// A number with its noun.
pub fn counted(visit: &Visit, number: u64, one: &str, many: &str) -> String {
    if number == 1 { one.to_owned() } else { fill(many, visit.numbers.integer(number)) }
}

/// A count as a number that can be written.
pub fn whole(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The beginning of a text, on one line.
pub fn summary(text: &str) -> String {
    shortened(text, SUMMARY_CHARS_MAX)
}

/// A text cut between words to a number of characters, on one line.
pub fn shortened(text: &str, chars_max: usize) -> String {
    let mut short = String::new();
    let mut chars = 0_usize;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let with_space = length.saturating_add(usize::from(chars > 0));
        if chars.saturating_add(with_space) > chars_max {
            if chars == 0 {
                short.extend(word.chars().take(chars_max));
            }
            short.push('…');
            return short;
        }
        if chars > 0 {
            short.push(' ');
        }
        short.push_str(word);
        chars = chars.saturating_add(with_space);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_long_text_between_words() {
        assert_eq!(shortened(" one\n\ntwo  three ", 20), "one two three");
        assert_eq!(shortened("one two three", 13), "one two three");
        assert_eq!(shortened("one two three", 12), "one two…");
        assert_eq!(shortened("abcdefgh", 3), "abc…");
        assert_eq!(shortened("è è è", 3), "è è…");
        assert_eq!(shortened("", 3), "");
    }
}
