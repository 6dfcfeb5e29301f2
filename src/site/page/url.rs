//! Addresses of pages: the only place that makes them.
//!
//! Depends on paths, queries and percent-encoding, not on pages.

use mercato_web::percent_encode;
use std::fmt;

/// A path of the site with a query, whose pairs keep their order. Displays percent-encoded, behind the path at which the
/// outside sees the site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Url {
    prefix: String,
    /// Percent-encoded.
    path: String,
    /// As they were typed.
    pairs: Vec<(String, String)>,
}

impl Url {
    /// The page at these segments of a path, which are encoded here.
    pub fn of_segments<S: AsRef<str>>(prefix: &str, segments: &[S]) -> Self {
        let mut path = String::new();
        for segment in segments {
            path.push('/');
            percent_encode(segment.as_ref(), &mut path);
        }
        if path.is_empty() {
            path.push('/');
        }
        Self { prefix: prefix.to_owned(), path, pairs: Vec::new() }
    }

    /// The page at a path that needs no encoding.
    pub fn of_path(prefix: &str, path: &str) -> Self {
        Self { prefix: prefix.to_owned(), path: path.to_owned(), pairs: Vec::new() }
    }

    /// The same with this value of a name, in the place of the values that it had.
    #[must_use]
    pub fn with(&self, name: &str, value: impl fmt::Display) -> Self {
        let mut url = self.clone();
        let place = url.pairs.iter().position(|(present, _)| present == name).unwrap_or(url.pairs.len());
        url.pairs.retain(|(present, _)| present != name);
        url.pairs.insert(place.min(url.pairs.len()), (name.to_owned(), value.to_string()));
        url
    }

    /// The same with one more value of a name.
    #[must_use]
    pub fn and(&self, name: &str, value: impl fmt::Display) -> Self {
        let mut url = self.clone();
        url.pairs.push((name.to_owned(), value.to_string()));
        url
    }

    /// The same without a name.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut url = self.clone();
        url.pairs.retain(|(present, _)| present != name);
        url
    }

    /// The same without one value of a name.
    #[must_use]
    pub fn without_value(&self, name: &str, value: &str) -> Self {
        let mut url = self.clone();
        url.pairs.retain(|(present, own)| present != name || own != value);
        url
    }

    /// The same without any query.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { pairs: Vec::new(), ..self.clone() }
    }

    /// The values of a name, in their order.
    pub fn values<'u>(&'u self, name: &'u str) -> impl Iterator<Item = &'u str> {
        self.pairs.iter().filter(move |(present, _)| present == name).map(|(_, value)| value.as_str())
    }

    /// Names and values, in their order.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// The whole address behind `base`, which ends in the path at which the outside sees the site.
    pub fn absolute(&self, base: &str) -> String {
        let mut text = base.to_owned();
        self.append(&mut text);
        text
    }

    fn append(&self, text: &mut String) {
        text.push_str(&self.path);
        let mut mark = '?';
        for (name, value) in &self.pairs {
            text.push(mark);
            percent_encode(name, text);
            text.push('=');
            percent_encode(value, text);
            mark = '&';
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.prefix.clone();
        self.append(&mut text);
        formatter.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use mercato_web::Target;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_one_parameter_and_keeps_order_of_others() {
        let here = Url::of_path("/m", "/datasets")
            .and("tag", "a b")
            .and("sort", "rows")
            .and("tag", "c")
            .and("page", 2);
        assert_eq!(here.to_string(), "/m/datasets?tag=a%20b&sort=rows&tag=c&page=2");
        assert_eq!(
            here.with("sort", "title").without("page").to_string(),
            "/m/datasets?tag=a%20b&sort=title&tag=c"
        );
        assert_eq!(
            here.with("lang", "it").to_string(),
            "/m/datasets?tag=a%20b&sort=rows&tag=c&page=2&lang=it"
        );
        assert_eq!(here.with("tag", "d").to_string(), "/m/datasets?tag=d&sort=rows&page=2");
        assert_eq!(
            here.without_value("tag", "c").without("sort").to_string(),
            "/m/datasets?tag=a%20b&page=2"
        );
        assert_eq!(here.bare().absolute("https://a.test/m"), "https://a.test/m/datasets");
        assert_eq!(here.values("tag").collect::<Vec<_>>(), ["a b", "c"]);
        assert_eq!(Url::of_segments::<&str>("", &[]).to_string(), "/");
        assert_eq!(Url::of_segments("", &["datasets", "a/b\"<"]).to_string(), "/datasets/a%2Fb%22%3C");
    }

    proptest! {
        #[test]
        fn round_trips_segments_and_pairs(
            segments in proptest::collection::vec("\\PC{1,8}", 1..4),
            pairs in proptest::collection::vec(("\\PC{1,8}", "\\PC{0,12}"), 0..5),
        ) {
            let url = pairs.iter().fold(Url::of_segments("", &segments), |url, (name, value)| url.and(name, value));
            let read = Target::parse(&url.to_string()).unwrap();
            prop_assert_eq!(read.segments, segments);
            prop_assert_eq!(read.pairs, pairs);
            let text = url.to_string();
            prop_assert!(!text.contains(['"', '<', '>', '\'', ' ']));
        }
    }
}
