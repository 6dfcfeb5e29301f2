//! A sentence that names the contact of the site, with a link where it has one.

use crate::site::frame::Link;
use crate::site::visit::Visit;

/// The sentence.
pub struct Ask {
    /// Before the link.
    pub before: String,
    /// The contact.
    pub link: Option<Link>,
    /// Behind it.
    pub behind: String,
}

impl Ask {
    /// The first text names the contact of the place in its gap; the second is for a place without one.
    pub fn new(visit: &Visit, named: &str, unnamed: impl Into<String>) -> Self {
        let Some(contact) = visit.branding.contact.as_ref() else {
            return Self { before: unnamed.into(), link: None, behind: String::new() };
        };
        let (before, behind) = named.split_once("{}").unwrap_or((named, ""));
        let link = Link { text: contact.text.clone(), url: contact.address.clone() };
        Self { before: before.to_owned(), link: Some(link), behind: behind.to_owned() }
    }
}
