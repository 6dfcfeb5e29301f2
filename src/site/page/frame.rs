//! The content of the layout of a page: head, header, navigation, footer.
//!
//! Does not depend on the store or on datasets.

use serde_json::Value;

use super::url::Url;
use super::words::Words;

/// The parts of the site, as the navigation names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// `/`
    Home,
    /// `/datasets` and every dataset.
    Datasets,
    /// `/graph`
    Graph,
    /// `/pricing`
    Pricing,
    /// `/status`
    Status,
    /// `/account` and the paths below it.
    Account,
    /// A page that the navigation does not name.
    Other,
}

/// A text that leads somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The text of the link.
    pub text: String,
    /// The target of the link.
    pub url: String,
}

/// A link of the navigation.
#[derive(Debug, Clone)]
pub struct NavLink {
    /// The text of the link.
    pub text: &'static str,
    /// The target of the link.
    pub url: String,
    /// Whether the page belongs to it.
    pub is_current: bool,
}

/// A link to the same page in a language.
#[derive(Debug, Clone)]
pub struct LanguageLink {
    /// `en`
    pub code: &'static str,
    pub name: &'static str,
    /// The target of the link, for visitors.
    pub url: String,
    /// The whole address, for robots.
    pub address: String,
    /// Whether the page is in it.
    pub is_current: bool,
}

/// The content of the layout.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The words of its language.
    pub words: &'static Words,
    /// Code of the language.
    pub lang: &'static str,
    /// Name of the place.
    pub name: String,
    /// One line about the place.
    pub tagline: Option<String>,
    /// Title of the page.
    pub title: String,
    /// A description of the page, in a sentence or two.
    pub description: String,
    /// Whether the page is the home page.
    pub is_home: bool,
    /// Address of the page, whole; empty where there is none that lasts.
    pub canonical: String,
    /// The address of the page without a language.
    pub default_address: String,
    /// Kind of the page in the Open Graph.
    pub og_type: &'static str,
    /// Whole address of the picture that previews of links show.
    pub og_image: String,
    /// JSON-LD that can stand in a script element.
    pub json_ld: Option<String>,
    /// Atom feeds: name and address.
    pub feeds: Vec<Link>,
    /// Whether robots should leave the page out of their index.
    pub is_hidden: bool,
    /// The main navigation.
    pub navigation: Vec<NavLink>,
    /// The same page in every language.
    pub languages: Vec<LanguageLink>,
    /// The home page.
    pub home: String,
    /// The target of the search form.
    pub search: String,
    /// Code of the language, where forms have to carry it.
    pub carried: Option<&'static str>,
    /// The question of the search box.
    pub question: String,
    /// Style sheets.
    pub styles: Vec<String>,
    pub scripts: Vec<String>,
    /// Picture of the place.
    pub logo: Option<String>,
    /// Icon of the place.
    pub icon: String,
    /// Links of the operator.
    pub legal: Vec<Link>,
    pub contact: Option<Link>,
    /// The interactive description of the API.
    pub console: String,
    /// The OpenAPI document.
    pub document: String,
    pub base: String,
}

impl Frame {
    /// Gives the page another address than its path: that with the part of the query that matters.
    #[must_use]
    pub fn canonical(mut self, url: &Url) -> Self {
        self.canonical = url.absolute(&self.base);
        self.default_address = url.without(super::language::LANGUAGE_NAME).absolute(&self.base);
        for language in &mut self.languages {
            let there = url.with(super::language::LANGUAGE_NAME, language.code);
            language.address = there.absolute(&self.base);
        }
        self
    }

    /// Marks a page without an address of its own, for a target that does not exist.
    #[must_use]
    pub fn nowhere(mut self) -> Self {
        self.canonical.clear();
        self.no_index()
    }

    /// Describes the page for machines.
    #[must_use]
    pub fn json_ld(mut self, value: &Value) -> Self {
        self.json_ld = Some(script_safe(&value.to_string()));
        self
    }

    /// Names a feed of the page.
    #[must_use]
    pub fn feed(mut self, text: impl Into<String>, url: &Url) -> Self {
        self.feeds.insert(0, Link { text: text.into(), url: url.to_string() });
        self
    }

    /// Sets the kind of the page in the Open Graph.
    #[must_use]
    pub fn og_type(mut self, og_type: &'static str) -> Self {
        self.og_type = og_type;
        self
    }

    /// Asks robots to leave the page out of their index.
    #[must_use]
    pub fn no_index(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// Shows the question in the search box.
    #[must_use]
    pub fn question(mut self, question: &str) -> Self {
        question.clone_into(&mut self.question);
        self
    }

    /// Loads one more script, by the name of its file.
    #[must_use]
    pub fn script(mut self, path: String) -> Self {
        self.scripts.push(path);
        self
    }

    /// The title of the window.
    pub fn window_title(&self) -> String {
        if self.is_home {
            format!("{} · {}", self.name, self.title)
        } else {
            format!("{} · {}", self.title, self.name)
        }
    }
}

/// JSON that cannot end the element in which it stands, nor begin a comment there.
fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn escapes_json_inside_script_element() {
        let value = json!({ "name": "</script><script>alert(1)</script><!-- & \u{2028}" });
        let safe = script_safe(&value.to_string());
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
    }
}
