//! A parsed page: elements that selectors find, and errors of the parser.

use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// A parsed page.
#[derive(Debug)]
pub struct Document {
    elements: Vec<Element>,
    /// Errors of the parser.
    pub errors: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    /// The text inside, also that of elements inside.
    pub text: String,
    /// Places of the elements around it, the outermost first.
    ancestors: Vec<usize>,
}

impl Document {
    pub fn parse(html: &str) -> Document {
        let dom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
        let mut document = Document { elements: Vec::new(), errors: Vec::new() };
        document.errors = dom.errors.borrow().iter().map(ToString::to_string).collect();
        document.walk(&dom.document, &mut Vec::new());
        document
    }

    fn walk(&mut self, node: &Handle, ancestors: &mut Vec<usize>) {
        match &node.data {
            NodeData::Element { name, attrs, .. } => {
                let attributes = attrs.borrow();
                let attributes =
                    attributes.iter().map(|one| (one.name.local.to_string(), one.value.to_string()));
                self.elements.push(Element {
                    name: name.local.to_string(),
                    attributes: attributes.collect(),
                    text: String::new(),
                    ancestors: ancestors.clone(),
                });
                ancestors.push(self.elements.len() - 1);
                node.children.borrow().iter().for_each(|child| self.walk(child, ancestors));
                ancestors.pop();
            }
            NodeData::Text { contents } => {
                for place in ancestors.iter() {
                    self.elements[*place].text.push_str(&contents.borrow());
                }
            }
            _ => node.children.borrow().iter().for_each(|child| self.walk(child, ancestors)),
        }
    }

    /// The elements that a selector means: `main table.data th[scope=col]`, descendants only.
    pub fn select(&self, selector: &str) -> Vec<&Element> {
        let parts: Vec<&str> = selector.split(' ').collect();
        self.elements.iter().filter(|element| self.fits(element, &parts)).collect()
    }

    /// The only element that a selector means.
    #[track_caller]
    pub fn one(&self, selector: &str) -> &Element {
        let found = self.select(selector);
        assert_eq!(found.len(), 1, "{selector}: {found:?}");
        found[0]
    }

    /// The rows that a selector means, each as the texts of its cells.
    pub fn rows(&self, selector: &str) -> Vec<String> {
        let parts: Vec<&str> = selector.split(' ').collect();
        let places = (0..self.elements.len()).filter(|place| self.fits(&self.elements[*place], &parts));
        let cells = |row: usize| {
            let cells = self.elements.iter().filter(|element| ["th", "td"].contains(&element.name.as_str()));
            let texts = cells.filter(|cell| cell.ancestors.contains(&row)).map(Element::line);
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
        };
        places.map(cells).collect()
    }

    /// Whether an element stands inside another one.
    pub fn is_inside(&self, element: &Element, around: &Element) -> bool {
        element.ancestors.iter().any(|place| std::ptr::eq(&self.elements[*place], around))
    }

    pub fn all(&self) -> &[Element] {
        &self.elements
    }

    fn fits(&self, element: &Element, parts: &[&str]) -> bool {
        let Some((last, around)) = parts.split_last() else { return true };
        if !element.is(last) {
            return false;
        }
        let mut wanted = around.iter().rev().peekable();
        for place in element.ancestors.iter().rev() {
            if wanted.peek().is_some_and(|part| self.elements[*place].is(part)) {
                wanted.next();
            }
        }
        wanted.peek().is_none()
    }
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The text on one line.
    pub fn line(&self) -> String {
        self.text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether the element matches one part of a selector: a name, `.class`, `#id`, `[attribute]` or `[attribute=value]`.
    fn is(&self, part: &str) -> bool {
        let end = part.find(['.', '#', '[']).unwrap_or(part.len());
        let (name, mut rest) = part.split_at(end);
        if !name.is_empty() && name != self.name {
            return false;
        }
        while !rest.is_empty() {
            let end = match rest.as_bytes()[0] {
                b'[' => rest.find(']').map_or(rest.len(), |end| end + 1),
                _ => rest[1..].find(['.', '#', '[']).map_or(rest.len(), |end| end + 1),
            };
            let (one, behind) = rest.split_at(end);
            let holds = match one.as_bytes()[0] {
                b'.' => self.attribute("class").is_some_and(|all| all.split(' ').any(|own| own == &one[1..])),
                b'#' => self.attribute("id") == Some(&one[1..]),
                _ => match one.trim_matches(['[', ']']).split_once('=') {
                    Some((name, value)) => self.attribute(name) == Some(value),
                    None => self.attribute(one.trim_matches(['[', ']'])).is_some(),
                },
            };
            if !holds {
                return false;
            }
            rest = behind;
        }
        true
    }
}

#[test]
fn selects_elements_like_css() {
    let page = Document::parse(
        "<!DOCTYPE html><title>x</title><main><ul class=\"a b\"><li><a href=\"/x\">One <b>two</b></a></li></ul></main><a id=z>",
    );
    assert_eq!(page.one("main ul.b a[href=/x]").line(), "One two");
    assert_eq!(page.select("a").len(), 2);
    assert_eq!(page.one("a#z").attribute("href"), None);
    assert!(page.select("ul.a.b li").len() == 1 && page.select("ul.c li").is_empty());
    assert!(!page.errors.is_empty(), "an element that is not closed is found");
}
