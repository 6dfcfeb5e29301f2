//! Finds the handler of a method and a path.
//!
//! Routes are rows of a table; the first pattern that fits the path decides, so fixed words stand before parameters.

use crate::api::app::App;
use crate::api::errors::{ApiError, ErrorKind};
use crate::api::incoming::{Incoming, Method};
use crate::api::response::Response;

/// The handler of a route.
pub type Handler = fn(&App, &mut Incoming) -> Result<Response, ApiError>;

/// The access check of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Anyone, and the request counts against no limit.
    Uncounted,
    /// Anyone within the request limits.
    Public,
    /// Anyone within the request limits. The running requests of a key are bounded as where a key is required.
    KeyOptional,
    /// Holders of a valid API key within their request limits.
    Key,
    /// Holders of the operator's token. Only the admin listener has such routes.
    Operator,
}

/// One row of the table.
#[derive(Clone, Copy)]
pub struct Route {
    /// `GET`, which includes `HEAD`.
    pub method: Method,
    /// Segments; `{name}` takes one segment as a parameter.
    pub pattern: &'static str,
    /// The access check of a route.
    pub guard: Guard,
    /// The handler.
    pub handler: Handler,
}

impl Route {
    /// A row of the table.
    pub const fn new(method: Method, pattern: &'static str, guard: Guard, handler: Handler) -> Self {
        Self { method, pattern, guard, handler }
    }
}

/// The compiled table.
pub struct Router {
    routes: Vec<(Vec<Segment>, Route)>,
}

#[derive(PartialEq, Eq)]
enum Segment {
    Word(&'static str),
    Parameter,
}

impl Router {
    /// Compiles the tables, in order.
    pub fn new(tables: &[&[Route]]) -> Self {
        let routes = tables
            .iter()
            .flat_map(|table| table.iter())
            .map(|route| (compile(route.pattern), *route))
            .collect();
        Self { routes }
    }

    /// Finds the row for a method and path: nothing without a pattern, 405 without a method.
    pub fn find(&self, method: Method, path: &[String]) -> Option<Result<Route, ApiError>> {
        let (_, first) = self.routes.iter().find(|(segments, _)| fits(segments, path))?;
        let rows =
            || self.routes.iter().map(|(_, route)| route).filter(|route| route.pattern == first.pattern);
        let wanted = if method == Method::Head { Method::Get } else { method };
        Some(match rows().find(|route| route.method == wanted) {
            Some(route) => Ok(*route),
            None => Err(method_not_allowed(rows().map(|route| route.method))),
        })
    }

    /// The methods of a path, for preflights.
    pub fn methods(&self, path: &[String]) -> Option<String> {
        let (_, first) = self.routes.iter().find(|(segments, _)| fits(segments, path))?;
        let rows = self.routes.iter().map(|(_, route)| route).filter(|route| route.pattern == first.pattern);
        Some(allow_list(rows.map(|route| route.method)))
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

fn method_not_allowed(methods: impl Iterator<Item = Method>) -> ApiError {
    let allow = allow_list(methods);
    let allowed = allow.split(", ").map(ToOwned::to_owned).collect();
    ApiError::new(ErrorKind::MethodNotAllowed, "this path does not answer that method")
        .with_reason("METHOD_NOT_ALLOWED", format!("use one of {allow}"))
        .with_allowed(allowed)
        .with_header("Allow", allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(_: &App, _: &mut Incoming) -> Result<Response, ApiError> {
        Ok(Response::empty(204))
    }

    fn router() -> Router {
        Router::new(&[&[
            Route::new(Method::Get, "/", Guard::Public, handler),
            Route::new(Method::Get, "/d/search", Guard::Public, handler),
            Route::new(Method::Get, "/d/{slug}", Guard::Public, handler),
            Route::new(Method::Get, "/d/{slug}/query", Guard::Key, handler),
            Route::new(Method::Post, "/d/{slug}/query", Guard::Key, handler),
        ]])
    }

    fn path(text: &str) -> Vec<String> {
        crate::api::routing::target::Target::parse(text).unwrap().segments
    }

    #[track_caller]
    fn check(method: Method, text: &str, expected: Result<(&str, &[&str]), u16>) {
        let path = path(text);
        match (router().find(method, &path), expected) {
            (Some(Ok(route)), Ok((pattern, expected))) => {
                assert_eq!(route.pattern, pattern);
                assert_eq!(parameters(pattern, &path).collect::<Vec<_>>(), expected);
            }
            (Some(Err(error)), Err(status)) => assert_eq!(error.kind().status(), status, "{text}"),
            (None, Err(404)) => {}
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
        assert_eq!(router().methods(&path("/d/x/query")).as_deref(), Some("GET, HEAD, POST, OPTIONS"));
        assert_eq!(router().methods(&path("/nowhere")), None);
    }
}
