//! A field of a form that names datasets: boxes to tick where they are few, lines with suggestions where they are many.
//!
//! Either is sent as one value for each dataset. Does not depend on the purpose of the form.

use crate::site::visit::Visit;
use mercato_catalog::{Dataset, Snapshot};

pub const DATASETS: &str = "datasets";
/// Datasets that stand as boxes to tick.
const BOXES_MAX: usize = 30;
/// Suggestions for the lines of a larger catalogue, so that a page stays small.
const SUGGESTIONS_MAX: usize = 500;
/// Empty lines behind those that are filled in.
const EMPTY_LINES: usize = 3;

pub struct DatasetField {
    /// The boxes; none where there are lines.
    pub boxes: Vec<Offered>,
    /// The lines, each with a name or empty.
    pub lines: Vec<String>,
    /// What is suggested for a line.
    pub suggestions: Vec<Offered>,
}

/// A dataset that can be chosen.
pub struct Offered {
    /// Its name in addresses, which is sent.
    pub slug: String,
    pub title: String,
    pub is_chosen: bool,
}

impl DatasetField {
    /// The published datasets, and those that are chosen already.
    pub fn new(visit: &Visit, snapshot: &Snapshot, chosen: &[String]) -> Self {
        let offered = |dataset: &Dataset| {
            let slug = dataset.slug().to_owned();
            let title = dataset.manifest.title.choose(Some(visit.language)).unwrap_or(dataset.slug());
            Offered { title: title.to_owned(), is_chosen: chosen.contains(&slug), slug }
        };
        let published = snapshot.datasets().iter().map(|dataset| offered(dataset));
        if snapshot.datasets().len() > BOXES_MAX {
            let empty = std::iter::repeat_n(String::new(), EMPTY_LINES);
            return Self {
                boxes: Vec::new(),
                lines: chosen.iter().cloned().chain(empty).collect(),
                suggestions: published.take(SUGGESTIONS_MAX).collect(),
            };
        }
        let mut boxes: Vec<Offered> = published.collect();
        // A dataset that is no longer published stays chosen until its box is cleared.
        let gone = chosen.iter().filter(|slug| !snapshot.datasets().iter().any(|one| one.slug() == *slug));
        boxes.extend(gone.map(|slug| Offered { slug: slug.clone(), title: slug.clone(), is_chosen: true }));
        Self { boxes, lines: Vec::new(), suggestions: Vec::new() }
    }
}

/// The datasets that a field names: one a value, or parted by lines, spaces or commas.
pub fn names(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| letter == ',' || letter.is_whitespace());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_names_by_lines_spaces_and_commas() {
        assert_eq!(names(" a,b\r\nc  d,,"), ["a", "b", "c", "d"]);
        assert!(names(" \n,").is_empty());
    }
}
