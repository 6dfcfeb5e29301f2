//! A Markdown text of a publisher as a part of a page, which runs nothing and loads nothing.
//!
//! `api/handlers/catalog/text_page.rs` decides which markup a text may contain. Here its headings go below those of the
//! page, and its tables lose their styles, which the policy of the pages would not let through, and get a box that scrolls
//! where the screen is too narrow. Does not depend on datasets.

use pulldown_cmark::{Alignment, Event, HeadingLevel, Tag, TagEnd, html};

use crate::api::harmless_markdown;

/// Bytes of a text that are shown in a page. The rest is at the API.
pub const SHOWN_BYTES_MAX: usize = 96 * 1024;

/// A text as HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// HTML that may stand in a page as it is.
    pub html: String,
    /// Whether it is only the beginning of the text.
    pub is_cut: bool,
}

/// The text, or its beginning where it is longer than [`SHOWN_BYTES_MAX`], with headings from `<h2>` on.
pub fn shown(markdown: &str) -> Shown {
    let beginning = beginning_of(markdown, SHOWN_BYTES_MAX);
    let mut text = String::with_capacity(beginning.len().saturating_mul(2));
    html::push_html(&mut text, harmless_markdown(beginning).map(below_the_page).flat_map(boxed));
    Shown { html: text, is_cut: beginning.len() < markdown.len() }
}

/// The first bytes up to the end of a paragraph, else of a line, else of a letter.
fn beginning_of(markdown: &str, bytes_max: usize) -> &str {
    if markdown.len() <= bytes_max {
        return markdown;
    }
    let end = markdown.floor_char_boundary(bytes_max);
    let head = markdown.get(..end).unwrap_or_default();
    let cut = head.rfind("\n\n").or_else(|| head.rfind('\n')).filter(|at| *at > 0);
    cut.and_then(|at| head.get(..at)).unwrap_or(head)
}

fn below_the_page(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Event::Start(Tag::Heading { level: one_below(level), id, classes, attrs })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(one_below(level))),
        Event::Start(Tag::Table(columns)) => {
            Event::Start(Tag::Table(columns.iter().map(|_| Alignment::None).collect()))
        }
        other => other,
    }
}

/// The event, with the box around a table.
fn boxed(event: Event<'_>) -> impl Iterator<Item = Event<'_>> {
    let html = |text: &'static str| Event::Html(text.into());
    let before = matches!(event, Event::Start(Tag::Table(_)))
        .then(|| html("<div class=\"table-scroll\" tabindex=\"0\">\n"));
    let behind = matches!(event, Event::End(TagEnd::Table)).then(|| html("</div>\n"));
    before.into_iter().chain(std::iter::once(event)).chain(behind)
}

fn one_below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H2,
        HeadingLevel::H2 => HeadingLevel::H3,
        HeadingLevel::H3 => HeadingLevel::H4,
        HeadingLevel::H4 => HeadingLevel::H5,
        HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> String {
        shown(markdown).html
    }

    #[test]
    fn lowers_headings_and_omits_table_styles() {
        assert_eq!(html("# A\n\n###### B\n"), "<h2>A</h2>\n<h6>B</h6>\n");
        let table = html("|a|b|\n|:-:|-:|\n|1|2|\n");
        assert!(table.contains("<th>a</th><th>b</th>") && !table.contains("style"), "{table}");
    }

    #[test]
    fn shows_table_behind_sentence_in_box() {
        for markdown in
            ["|a|b|\n|-|-|\n|1|2|\n", "Counts:\n|a|b|\n|-|-|\n|1|2|\n", "- x\n\n  |a|b|\n  |-|-|\n  |1|2|\n"]
        {
            let html = html(markdown);
            assert!(html.contains("<div class=\"table-scroll\" tabindex=\"0\">\n<table>"), "{html}");
            assert!(html.contains("</table>\n</div>") && !html.contains('|'), "{html}");
        }
    }

    #[test]
    fn disarms_scripts_of_publisher() {
        for (markdown, expected) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("[x](javascript:alert(1))", "<p>x</p>"),
            ("[x](//evil.test)", "<p>x</p>"),
            ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
            ("![x](data:image/svg+xml,<svg onload=alert(1)>)", "![x]"),
            ("<svg onload=alert(1)>", "&lt;svg onload=alert(1)&gt;"),
        ] {
            let html = html(markdown);
            assert!(html.contains(expected), "{markdown}: {html}");
            for bad in ["<script", "<img", "<svg", "href=\"javascript:", "href=\"data:"] {
                assert!(!html.contains(bad), "{markdown}: {html}");
            }
        }
    }

    #[test]
    fn cuts_long_text_between_paragraphs() {
        let paragraph = format!("{}\n\n", "à".repeat(400));
        let text = paragraph.repeat(SHOWN_BYTES_MAX / paragraph.len() + 2);
        let shown = shown(&text);
        assert!(shown.is_cut && shown.html.ends_with("à</p>\n"));
        assert!(shown.html.len() < SHOWN_BYTES_MAX * 2);
        assert_eq!(beginning_of("àà", 3), "à");
        assert_eq!(beginning_of("\n\nààà", 5), "\n\nà");
        assert!(!super::shown("short").is_cut);
    }
}
