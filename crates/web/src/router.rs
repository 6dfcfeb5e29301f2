//! Finds the row of a method and a path in a table of the caller's.
//!
//! The first pattern that fits the path decides, so fixed words stand before parameters. What else stands in a row is the
//! caller's.

use crate::errors::{ApiError, ErrorKind};
use crate::method::Method;

/// What a path and a method lead to.
pub enum Match<R> {
    Row(R),
    /// No row with that method. The methods of the path, as `Allow` lists them.
    OtherMethods(String),
    /// No row with that path.
    Nothing,
}

/// A compiled table with rows `R`.
pub struct Router<R> {
    rows: Vec<Compiled<R>>,
}

struct Compiled<R> {
    segments: Vec<Segment>,
    method: Method,
    pattern: &'static str,
    row: R,
}

#[derive(PartialEq, Eq)]
enum Segment {
    Word(&'static str),
    Parameter,
}

impl<R: Copy> Router<R> {
    /// Compiles rows, in order: each with its method (`GET` includes `HEAD`) and its pattern, whose `{name}` takes one
    /// segment as a parameter.
    pub fn new(rows: impl IntoIterator<Item = (Method, &'static str, R)>) -> Self {
        let compiled = |(method, pattern, row)| Compiled { segments: compile(pattern), method, pattern, row };
        Self { rows: rows.into_iter().map(compiled).collect() }
    }

    /// Finds the row of a method and a path.
    pub fn find(&self, method: Method, path: &[String]) -> Match<R> {
        let Some(first) = self.rows.iter().find(|row| fits(&row.segments, path)) else {
            return Match::Nothing;
        };
        let rows = || self.rows.iter().filter(|row| row.pattern == first.pattern);
        let wanted = if method == Method::Head { Method::Get } else { method };
        match rows().find(|row| row.method == wanted) {
            Some(found) => Match::Row(found.row),
            None => Match::OtherMethods(allow_list(rows().map(|row| row.method))),
        }
    }
}

fn compile(pattern: &'static str) -> Vec<Segment> {
    let path = pattern.strip_prefix('/').unwrap_or(pattern);
    // The path `/` has no segments.
    let parts = (!path.is_empty()).then(|| path.split('/'));
    parts
        .into_iter()
        .flatten()
        .map(|part| if part.starts_with('{') { Segment::Parameter } else { Segment::Word(part) })
        .collect()
}

fn fits(segments: &[Segment], path: &[String]) -> bool {
    segments.len() == path.len()
        && segments.iter().zip(path).all(|(segment, part)| match segment {
            Segment::Word(word) => word == part,
            Segment::Parameter => !part.is_empty(),
        })
}

/// The segments of a path that stand for the parameters of the pattern that it fits.
pub fn parameters<'p>(pattern: &'p str, path: &'p [String]) -> impl Iterator<Item = &'p str> {
    let parts = pattern.split('/').skip(1).zip(path);
    parts.filter(|(part, _)| part.starts_with('{')).map(|(_, segment)| segment.as_str())
}

fn allow_list(methods: impl Iterator<Item = Method>) -> String {
    let mut names: Vec<&'static str> = Vec::new();
    for method in methods {
        names.push(method.as_str());
        if method == Method::Get {
            names.push(Method::Head.as_str());
        }
    }
    names.push(Method::Options.as_str());
    names.join(", ")
}

/// The refusal of a method that a path does not have; `allow` lists those that it has.
pub fn method_not_allowed(allow: String) -> ApiError {
    let allowed = allow.split(", ").map(ToOwned::to_owned).collect();
    ApiError::new(ErrorKind::MethodNotAllowed, "this path does not answer that method")
        .with_reason("METHOD_NOT_ALLOWED", format!("use one of {allow}"))
        .with_allowed(allowed)
        .with_header("Allow", allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router() -> Router<&'static str> {
        let rows = [
            (Method::Get, "/"),
            (Method::Get, "/d/search"),
            (Method::Get, "/d/{slug}"),
            (Method::Get, "/d/{slug}/query"),
            (Method::Post, "/d/{slug}/query"),
        ];
        Router::new(rows.map(|(method, pattern)| (method, pattern, pattern)))
    }

    fn path(text: &str) -> Vec<String> {
        crate::target::Target::parse(text).unwrap().segments
    }

    #[track_caller]
    fn check(method: Method, text: &str, expected: Result<(&str, &[&str]), u16>) {
        let path = path(text);
        match (router().find(method, &path), expected) {
            (Match::Row(found), Ok((pattern, expected))) => {
                assert_eq!(found, pattern);
                assert_eq!(parameters(pattern, &path).collect::<Vec<_>>(), expected);
            }
            (Match::OtherMethods(allow), Err(405)) => {
                assert_eq!(method_not_allowed(allow).kind().status(), 405, "{text}");
            }
            (Match::Nothing, Err(404)) => {}
            _ => panic!("{text}: unexpected outcome"),
        }
    }

    #[test]
    fn finds_route_of_path_and_treats_head_as_get() {
        check(Method::Get, "/", Ok(("/", &[])));
        check(Method::Get, "//", Err(404));
        check(Method::Get, "/d/search", Ok(("/d/search", &[])));
        check(Method::Get, "/d/orders", Ok(("/d/{slug}", &["orders"])));
        check(Method::Head, "/d/orders", Ok(("/d/{slug}", &["orders"])));
        check(Method::Post, "/d/orders/query", Ok(("/d/{slug}/query", &["orders"])));
        check(Method::Post, "/d/search", Err(405));
        check(Method::Delete, "/d/orders", Err(405));
        check(Method::Get, "/d", Err(404));
        check(Method::Get, "/d/", Err(404));
        check(Method::Get, "/d/orders/", Err(404));
    }

    #[test]
    fn lists_methods_of_path() {
        let Match::OtherMethods(allow) = router().find(Method::Options, &path("/d/x/query")) else {
            panic!("no row has OPTIONS")
        };
        assert_eq!(allow, "GET, HEAD, POST, OPTIONS");
    }
}
