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

    /// The method of that name, which is case-sensitive.
    pub fn named(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            _ => Self::Other,
        }
    }
}
