//! The head of a request as a worker gets it: owned, without the lines that concern this connection only.

use crate::parse::fields::is_for_handlers;
use crate::parse::head::Head;

/// Method, target and header lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The canonical form: request line, header lines, an empty line.
    text: String,
    method_end: usize,
    target_end: usize,
    lines: Vec<Line>,
}

/// Where a header line lies in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    start: usize,
    name_end: usize,
    end: usize,
}

impl RequestHead {
    /// Copies a head of so many bytes.
    pub fn new(head: &Head<'_, '_>, bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes.saturating_add(16));
        text.push_str(head.method);
        let method_end = text.len();
        text.push(' ');
        text.push_str(head.target);
        let target_end = text.len();
        text.push_str(" HTTP/1.1\r\n");
        let mut lines = Vec::with_capacity(head.headers.len());
        for header in head.headers.iter().filter(|header| is_for_handlers(header.name)) {
            let start = text.len();
            text.push_str(header.name);
            let name_end = text.len();
            text.push_str(": ");
            // The parser has refused values that are not ASCII.
            text.push_str(std::str::from_utf8(header.value).unwrap_or_default());
            lines.push(Line { start, name_end, end: text.len() });
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        Self { text, method_end, target_end, lines }
    }

    /// The whole head in canonical form.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn method(&self) -> &str {
        self.text.get(..self.method_end).unwrap_or_default()
    }

    /// The target as sent.
    pub fn target(&self) -> &str {
        self.text.get(self.method_end.saturating_add(1)..self.target_end).unwrap_or_default()
    }

    /// Names and values of the header lines, in order.
    pub fn headers(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.lines.iter().map(|line| {
            let name = self.text.get(line.start..line.name_end).unwrap_or_default();
            (name, self.text.get(line.name_end.saturating_add(2)..line.end).unwrap_or_default())
        })
    }
}
