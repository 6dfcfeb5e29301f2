//! The appearance of the site: `site.toml` in the data directory, checked once, at the start.
//!
//! Holds names, texts, addresses, a colour and pictures. Does not depend on pages.

mod accent;
mod picture;
mod sale;

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

pub use accent::Accent;
pub use picture::Picture;
pub use sale::{Pack, Sale, Seller};

use crate::limits::branding::{ABOUT_CHARS_MAX, NAME_CHARS_MAX, TAGLINE_CHARS_MAX};
use mercato_catalog::LocalizedText;
use sale::TypedSale;

/// Size of `site.toml`.
const SITE_FILE_BYTES_MAX: u64 = 64 * 1024;
/// Length of an address.
const ADDRESS_CHARS_MAX: usize = 2_000;
/// Links at the foot of every page.
const LINKS_MAX: usize = 12;
/// The name of a place that has not been given one.
const NAME_DEFAULT: &str = "mercato";

/// Name, texts, contact, links, logo and colour of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branding {
    pub name: String,
    /// One line about it.
    pub tagline: LocalizedText,
    /// Some sentences about it, for the home page. Paragraphs are separated by empty lines.
    pub about: LocalizedText,
    /// The contact for questions.
    pub contact: Option<Contact>,
    /// Legal notice, privacy and the like.
    pub links: Vec<FooterLink>,
    pub logo: Option<Picture>,
    /// The picture that previews of links show.
    pub card: Option<Picture>,
    /// Its colour.
    pub accent: Option<Accent>,
    /// The credits that it sells.
    pub sale: Sale,
}

/// An e-mail address or a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// The text of the link.
    pub text: String,
    /// The target of a click.
    pub address: String,
}

/// A link at the foot of every page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FooterLink {
    /// The text of the link.
    pub title: LocalizedText,
    /// The target of the link.
    pub url: String,
}

/// Why `site.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BrandingError {
    /// The file is there and cannot be read.
    #[error("{}: cannot read it: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is larger than it may be.
    #[error("{}: expected at most {SITE_FILE_BYTES_MAX} bytes, found more; shorten the texts", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A field is missing, unknown or invalid.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Line, from one.
        line: usize,
        /// Column, from one.
        column: usize,
        /// Field, expected value, found value, and remedy.
        message: String,
    },
}

impl Default for Branding {
    fn default() -> Self {
        Self {
            name: NAME_DEFAULT.to_owned(),
            tagline: LocalizedText::default(),
            about: LocalizedText::default(),
            contact: None,
            links: Vec::new(),
            logo: None,
            card: None,
            accent: None,
            sale: Sale::default(),
        }
    }
}

impl Branding {
    /// Reads the file at `path`; without one everything has its default. Files that it names lie under `folder`.
    pub fn load(path: &Path, folder: &Path) -> Result<Self, BrandingError> {
        let unreadable = |source| BrandingError::Unreadable { path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error)),
        };
        let mut bytes = Vec::new();
        file.take(SITE_FILE_BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > SITE_FILE_BYTES_MAX) {
            return Err(BrandingError::TooLarge { path: path.to_owned() });
        }
        let text = String::from_utf8(bytes)
            .map_err(|error| unreadable(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))?;
        Self::parse(&text, path, folder)
    }

    /// The same from the text of the file.
    fn parse(text: &str, path: &Path, folder: &Path) -> Result<Self, BrandingError> {
        let fault = |span: Range<usize>, message: String| {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count().saturating_add(1);
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
            BrandingError::Content { path: path.to_owned(), line, column, message }
        };
        let typed: TypedBranding = toml::from_str(text)
            .map_err(|error| fault(error.span().unwrap_or(0..0), error.message().replace('\n', "; ")))?;
        typed.check(folder).map_err(|(span, message)| fault(span, message))
    }
}

/// The file as typed, with positions for errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedBranding {
    name: Option<Spanned<String>>,
    tagline: Option<Spanned<LocalizedText>>,
    about: Option<Spanned<LocalizedText>>,
    contact: Option<Spanned<String>>,
    logo: Option<Spanned<String>>,
    card: Option<Spanned<String>>,
    accent: Option<Spanned<String>>,
    #[serde(default)]
    links: Vec<TypedLink>,
    credits: Option<TypedSale>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedLink {
    title: Spanned<LocalizedText>,
    url: Spanned<String>,
}

/// A fault and where it stands.
type SpannedError = (Range<usize>, String);

impl TypedBranding {
    fn check(self, folder: &Path) -> Result<Branding, SpannedError> {
        let name = self.name.map(|name| line("name", &name, NAME_CHARS_MAX)).transpose()?;
        if let Some(extra) = self.links.get(LINKS_MAX) {
            let message =
                format!("links: expected at most {LINKS_MAX}, found {}; leave some out", self.links.len());
            return Err((extra.url.span(), message));
        }
        let logo = |name: Spanned<String>| {
            Picture::logo(name.get_ref(), folder).map_err(|message| (name.span(), format!("logo: {message}")))
        };
        let card = |name: Spanned<String>| {
            Picture::card(name.get_ref(), folder).map_err(|message| (name.span(), format!("card: {message}")))
        };
        let accent = |colour: Spanned<String>| {
            Accent::parse(colour.get_ref()).map_err(|message| (colour.span(), format!("accent: {message}")))
        };
        Ok(Branding {
            name: name.unwrap_or_else(|| NAME_DEFAULT.to_owned()),
            tagline: localized("tagline", self.tagline, TAGLINE_CHARS_MAX)?,
            about: localized("about", self.about, ABOUT_CHARS_MAX)?,
            contact: self.contact.map(|contact| check_contact(&contact)).transpose()?,
            links: self.links.into_iter().map(TypedLink::check).collect::<Result<_, _>>()?,
            logo: self.logo.map(logo).transpose()?,
            card: self.card.map(card).transpose()?,
            accent: self.accent.map(accent).transpose()?,
            sale: self.credits.map(TypedSale::check).transpose()?.unwrap_or_default(),
        })
    }
}

impl TypedLink {
    fn check(self) -> Result<FooterLink, SpannedError> {
        let url = self.url.get_ref();
        if !is_web_address(url) {
            let found: String = url.chars().take(100).collect();
            let message = format!(
                "links.url: expected an address that begins with https:// or http://, found `{found}`; write the whole address"
            );
            return Err((self.url.span(), message));
        }
        let span = self.title.span();
        let title = localized("links.title", Some(self.title), NAME_CHARS_MAX)?;
        if title.choose(None).is_none() {
            return Err((
                span,
                "links.title: expected `en`, `it` or both, found neither; name the link".to_owned(),
            ));
        }
        Ok(FooterLink { title, url: self.url.into_inner() })
    }
}

/// One line of text, trimmed.
fn line(field: &str, typed: &Spanned<String>, length_max: usize) -> Result<String, SpannedError> {
    let text = typed.get_ref().trim();
    let length = text.chars().count();
    if (1..=length_max).contains(&length) && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    let found =
        if length == 0 { "nothing".to_owned() } else { format!("{length} characters or a line break") };
    let message =
        format!("{field}: expected one line of 1 to {length_max} characters, found {found}; change the text");
    Err((typed.span(), message))
}

fn localized(
    field: &str,
    typed: Option<Spanned<LocalizedText>>,
    length_max: usize,
) -> Result<LocalizedText, SpannedError> {
    let Some(typed) = typed else { return Ok(LocalizedText::default()) };
    for text in [&typed.get_ref().en, &typed.get_ref().it].into_iter().flatten() {
        let length = text.trim().chars().count();
        if !(1..=length_max).contains(&length) {
            let message = format!(
                "{field}: expected 1 to {length_max} characters in each language, found {length}; change the text"
            );
            return Err((typed.span(), message));
        }
    }
    Ok(typed.into_inner())
}

fn check_contact(typed: &Spanned<String>) -> Result<Contact, SpannedError> {
    let text = typed.get_ref().trim();
    let is_mail = |text: &str| {
        let parts = text.split_once('@');
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_+@".contains(letter);
        text.len() <= ADDRESS_CHARS_MAX
            && text.chars().all(plain)
            && parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('@'))
    };
    if is_web_address(text) {
        return Ok(Contact { text: text.to_owned(), address: text.to_owned() });
    }
    if is_mail(text) {
        return Ok(Contact { text: text.to_owned(), address: format!("mailto:{text}") });
    }
    let found: String = text.chars().take(100).collect();
    let message = format!(
        "contact: expected an e-mail address or an address that begins with https://, found `{found}`; write one of them"
    );
    Err((typed.span(), message))
}

fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte));
    plain
        && text.len() <= ADDRESS_CHARS_MAX
        && rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
