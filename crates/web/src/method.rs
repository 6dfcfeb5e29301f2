//! Methods of HTTP.

/// The methods of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Read without the body.
    Head,
    /// Ask or change.
    Post,
    /// Replace.
    Put,
    /// Change in part.
    Patch,
    /// Remove.
    Delete,
    /// `OPTIONS`.
    Options,
    /// Another method.
    Other,
}

impl Method {
    /// The name on the request line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Other => "OTHER",
        }
    }

    pub(crate) fn of(method: &tiny_http::Method) -> Self {
        match method {
            tiny_http::Method::Get => Self::Get,
            tiny_http::Method::Head => Self::Head,
            tiny_http::Method::Post => Self::Post,
            tiny_http::Method::Put => Self::Put,
            tiny_http::Method::Patch => Self::Patch,
            tiny_http::Method::Delete => Self::Delete,
            tiny_http::Method::Options => Self::Options,
            _ => Self::Other,
        }
    }
}
