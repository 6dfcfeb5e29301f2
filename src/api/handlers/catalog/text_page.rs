//! Renders a publisher's Markdown as an HTML document without scripts, external content or forms.
//!
//! HTML in the text is escaped; only links with harmless schemes are kept. Does not depend on datasets.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// The content security policy of the document, as a second line of defence.
pub(super) const POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Schemes of addresses that a link may have; addresses without a scheme are relative and may stand too.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

pub(super) fn document(title: &str, markdown: &str) -> String {
    let mut page = String::with_capacity(markdown.len().saturating_mul(2));
    page.push_str(
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>",
    );
    html::push_html(&mut page, std::iter::once(Event::Text(title.into())));
    page.push_str("</title>\n</head>\n<body>\n");
    html::push_html(&mut page, harmless(markdown));
    page.push_str("</body>\n</html>\n");
    page
}

/// The events of a text, from which HTML can be made that runs nothing and loads nothing.
pub fn harmless(markdown: &str) -> impl Iterator<Item = Event<'_>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    Harmless { events: Parser::new_ext(markdown, options), links: Vec::new() }
}

/// Events of a text without HTML of its own, without images, and without links that could run something.
struct Harmless<I> {
    events: I,
    /// For each link and image that is open: whether it became a link.
    links: Vec<bool>,
}

impl<'a, I: Iterator<Item = Event<'a>>> Iterator for Harmless<I> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            let event = match self.events.next()? {
                Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
                Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
                Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
                // An image becomes a link to it, so that nothing is loaded unasked.
                Event::Start(Tag::Image { dest_url, title, id, .. }) => {
                    let link = Tag::Link { link_type: LinkType::Inline, dest_url, title, id };
                    match self.opened(link) {
                        Some(event) => event,
                        None => continue,
                    }
                }
                Event::Start(link @ Tag::Link { .. }) => match self.opened(link) {
                    Some(event) => event,
                    None => continue,
                },
                Event::End(TagEnd::Link | TagEnd::Image) => match self.links.pop() {
                    Some(true) => Event::End(TagEnd::Link),
                    _ => continue,
                },
                other => other,
            };
            return Some(event);
        }
    }
}

impl<'a, I> Harmless<I> {
    /// The beginning of a link, unless it stands inside another one or leads to where it must not.
    fn opened(&mut self, link: Tag<'a>) -> Option<Event<'a>> {
        let stands = match &link {
            Tag::Link { dest_url, .. } => !self.links.contains(&true) && is_harmless(dest_url),
            _ => false,
        };
        self.links.push(stands);
        stands.then_some(Event::Start(link))
    }
}

/// Whether an address has one of [`SCHEMES`], or is relative to this site. Browsers take the text before the first colon
/// for a scheme unless one of `/`, `?` and `#` precedes it.
fn is_harmless(address: &str) -> bool {
    if names_another_host(address) {
        return false;
    }
    let first = address.split(['/', '?', '#']).next().unwrap_or_default();
    let scheme = first.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_none_or(|scheme| SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
}

/// Whether an address without a scheme leads to another host, as `//host` does. Browsers skip spaces and control characters
/// in front, tabs and line ends anywhere, and read `\\` as `/`.
fn names_another_host(address: &str) -> bool {
    let in_front = |letter: char| letter <= ' ';
    let mut letters = address.trim_start_matches(in_front).chars().filter(|letter| !letter.is_control());
    let mut is_slash = || matches!(letters.next(), Some('/' | '\\'));
    is_slash() && is_slash()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body(markdown: &str) -> String {
        let page = document("t", markdown);
        let (_, rest) = page.split_once("<body>\n").unwrap();
        rest.strip_suffix("</body>\n</html>\n").unwrap().to_owned()
    }

    #[test]
    fn renders_markdown_as_whole_document() {
        let page = document("A < B & C", "# How\n\nBy *hand*, see [there](https://a.test/?x=1&y=2).\n");
        assert!(page.starts_with("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"), "{page}");
        assert!(page.contains("<title>A &lt; B &amp; C</title>"), "{page}");
        assert!(page.contains(
            "<h1>How</h1>\n<p>By <em>hand</em>, see <a href=\"https://a.test/?x=1&amp;y=2\">there</a>.</p>"
        ));
        assert!(page.ends_with("</body>\n</html>\n"));
        assert!(body("|a|b|\n|-|-|\n|1|2|\n").contains("<td>1</td><td>2</td>"));
    }

    #[test]
    fn keeps_harmless_links_only() {
        for kept in
            ["https://a.test", "HTTP://a.test", "mailto:a@b.test", "other#x", "/x?y=a:b", "#note", "a/b:c"]
        {
            assert_eq!(body(&format!("[x]({kept})")), format!("<p><a href=\"{kept}\">x</a></p>\n"));
        }
        for dropped in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "javascript&#58;alert(1)",
            "javascript&colon;alert(1)",
            "<java&#x09;script:alert(1)>",
            "<  javascript:alert(1)>",
            "data:text/html;base64,PHNjcmlwdD4=",
            "vbscript:x",
            "file:///etc/passwd",
            "ftp://a.test",
            "x:y",
        ] {
            assert_eq!(body(&format!("[x]({dropped})")), "<p>x</p>\n", "{dropped}");
            assert_eq!(body(&format!("![x]({dropped})")), "<p>x</p>\n", "{dropped}");
        }
        assert_eq!(body("<javascript:alert(1)>"), "<p>javascript:alert(1)</p>\n");
        assert_eq!(body("[x][1]\n\n[1]: javascript:alert(1)\n"), "<p>x</p>\n");
    }

    #[test]
    fn drops_links_to_a_host_without_a_scheme() {
        for dropped in [
            "//evil.test",
            "///evil.test",
            "/\\\\evil.test",
            "\\\\\\\\evil.test",
            "&#9;//evil.test",
            "/&#9;/evil.test",
            "/&#10;/evil.test",
            "&#32;//evil.test",
        ] {
            assert_eq!(body(&format!("[x]({dropped})")), "<p>x</p>\n", "{dropped}");
            assert_eq!(body(&format!("![x]({dropped})")), "<p>x</p>\n", "{dropped}");
        }
        for kept in ["/a//b", "a//b", "?x=//b", "#//b", "/"] {
            assert_eq!(body(&format!("[x]({kept})")), format!("<p><a href=\"{kept}\">x</a></p>\n"));
        }
        assert_eq!(body("[x][1]\n\n[1]: //evil.test\n"), "<p>x</p>\n");
    }

    #[test]
    fn links_images_and_escapes_html() {
        assert_eq!(body("![a map](map.png)"), "<p><a href=\"map.png\">a map</a></p>\n");
        assert_eq!(body("[![a](b.png)](c.html)"), "<p><a href=\"c.html\">a</a></p>\n");
        assert_eq!(body("a <b>c</b>"), "<p>a &lt;b&gt;c&lt;/b&gt;</p>\n");
        assert_eq!(body("<script>alert(1)</script>\n"), "<p>&lt;script&gt;alert(1)&lt;/script&gt;\n</p>\n");
    }

    /// Every tag of a text, with its attributes.
    fn tags(html: &str) -> Vec<String> {
        html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn assert_harmless(markdown: &str) {
        let html = body(markdown);
        for tag in tags(&html) {
            let (name, attributes) = tag.split_once(' ').unwrap_or((&tag, ""));
            let name = name.trim_start_matches('/').trim_end_matches('/');
            let known = "a p br hr h1 h2 h3 h4 h5 h6 em strong del code pre blockquote ul ol li table thead tbody tr th td sup div";
            assert!(known.split(' ').any(|one| one == name), "{markdown:?}: <{tag}>");
            // Values stand between quotation marks, which are escaped inside of them: every other piece is outside.
            let outside =
                attributes.split('"').step_by(2).map(str::trim).filter(|piece| !matches!(*piece, "" | "/"));
            for piece in outside {
                let known = ["href=", "title=", "class=", "id=", "start=", "style="];
                assert!(known.contains(&piece), "{markdown:?}: <{tag}>");
            }
            if let Some((_, address)) = attributes.split_once("href=\"") {
                assert!(is_harmless(address.split('"').next().unwrap()), "{markdown:?}: <{tag}>");
            }
        }
    }

    #[test]
    fn disarms_scripts_and_embedded_content() {
        for markdown in [
            "<script>alert(1)</script>",
            "<svg onload=alert(1)>",
            "<svg><script>alert(1)</script></svg>",
            "<img src=x onerror=alert(1)>",
            "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
            "<!-- --><script>alert(1)</script>",
            "<style>body{background:url(//a.test)}</style>",
            "```<script>\nx\n```",
            "[a](https://a.test \"\\\" onmouseover=\\\"alert(1)\")",
            "[a](https://a.test/\"onmouseover=alert(1))",
            "![a\" onerror=\"alert(1)](x)",
            "[^1]\n\n[^1]: <script>alert(1)</script>\n",
            "<?php x ?> <![CDATA[<script>]]> <!DOCTYPE x>",
            "| <script> | a |\n|-|-|\n| <svg/onload=x> | [x](javascript:y) |\n",
        ] {
            assert_harmless(markdown);
        }
    }

    proptest! {
        #[test]
        fn disarms_any_mixture_of_marks(
            parts in proptest::collection::vec(proptest::sample::select(vec![
                "<", ">", "[", "]", "(", ")", "!", "\"", "'", "`", "```", "\n", "\n\n", "&lt;", "&#58;", "javascript:", "data:",
                "https://a.test", "script", "svg", " onload=", "x", " ", "|", "|-|\n", "*", "_", "~~", "[^1]", "[^1]: ", "\\", "<!--", "-->",
            ]), 0..40),
        ) {
            assert_harmless(&parts.concat());
        }
    }

    #[test]
    fn bounds_time_and_size_of_hostile_text() {
        let wide = format!("|{}\n|{}\n{}", "a|".repeat(10_000), "-|".repeat(10_000), "|\n".repeat(20_000));
        let texts =
            ["[".repeat(200_000), ">".repeat(100_000), "*a_".repeat(70_000), "![[".repeat(70_000), wide];
        for text in texts {
            let began = std::time::Instant::now();
            let page = document("t", &text);
            let shown: String = text.chars().take(12).collect();
            assert!(began.elapsed() < std::time::Duration::from_secs(10), "{shown}: {:?}", began.elapsed());
            assert!(page.len() < text.len() * 100, "{shown}: {} bytes", page.len());
        }
    }
}
