//! One visit to a page: its language, its address, and the response.
//!
//! Depends on requests and responses, not on datasets.

use std::sync::Arc;

use askama::Template;

use super::cache::Cache;
use super::frame::{Frame, LanguageLink, Link, NavLink, Section};
use super::language::{LANGUAGE_NAME, LANGUAGES, LanguageChoice, code};
use super::numbers::Numbers;
use super::security;
use super::url::Url;
use super::words::{Words, fill};
use crate::api::{App, Incoming, PublicUrl};
use crate::branding::Branding;
use crate::site::assets;
use mercato_base::clock::Moment;
use mercato_catalog::Language;
use mercato_web::{ApiError, ErrorKind, Response, Target};

/// Bytes of the query of a page that its links repeat.
const QUERY_BYTES_MAX: usize = 4 * 1024;

/// Media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";
/// How long a browser remembers the language that a visitor chose.
const LANGUAGE_SECONDS: u32 = 31_536_000;

/// A request for a page.
pub struct Visit {
    /// The language of the page.
    pub language: Language,
    /// The words of the layout in that language.
    pub words: &'static Words,
    /// Figures in that language.
    pub numbers: Numbers,
    /// How the place presents itself.
    pub branding: Arc<Branding>,
    /// The moment that counts as "now".
    pub now: Moment,
    choice: LanguageChoice,
    here: Url,
    prefix: String,
    /// Address of the site, or its path where the address is not known.
    base: String,
    started_at: Moment,
}

/// The typed text without control characters.
fn typed(value: &str) -> String {
    value.chars().filter(|letter| !letter.is_control() || letter.is_ascii_whitespace()).collect()
}

impl Visit {
    /// A visit to a page with these names of a query. Others are ignored, and its links do not repeat them.
    pub fn of(app: &App, request: &Incoming, known: &[&str]) -> Result<Self, ApiError> {
        Self::plain(app, request).knowing(request, known)
    }

    /// The same on the operator's side.
    pub fn private(app: &App, request: &Incoming, known: &[&str]) -> Result<Self, ApiError> {
        Self::private_plain(app, request).knowing(request, known)
    }

    fn knowing(self, request: &Incoming, known: &[&str]) -> Result<Self, ApiError> {
        let mut visit = self;
        let pairs = request.pairs().iter().filter(|(name, _)| known.contains(&name.as_str()));
        let bytes: usize = pairs.clone().map(|(name, value)| name.len().saturating_add(value.len())).sum();
        if bytes > QUERY_BYTES_MAX {
            let message = format!("the query of a page has at most {QUERY_BYTES_MAX} bytes, found {bytes}");
            return Err(ApiError::new(ErrorKind::BadRequest, message)
                .with_reason("QUERY_TOO_LONG", "shorten it, or ask the API"));
        }
        let here = visit.here.bare();
        visit.here = visit.carrying(pairs.fold(here, |url, (name, value)| url.and(name, typed(value))));
        Ok(visit)
    }

    /// A visit to a page without a query.
    pub fn plain(app: &App, request: &Incoming) -> Self {
        let prefix = app.documents.path_prefix().to_owned();
        let base = app.documents.base_url(request).map_or(prefix.clone(), |url| url.as_str().to_owned());
        Self::at(app, request, prefix, base)
    }

    /// A visit to a page of the operator's side without a query. That side has no public address: the request says how it is
    /// reached.
    pub fn private_plain(app: &App, request: &Incoming) -> Self {
        let host = request.header("Host").and_then(PublicUrl::of_host);
        let base = host.map_or_else(String::new, |url| url.as_str().to_owned());
        Self::at(app, request, String::new(), base)
    }

    fn at(app: &App, request: &Incoming, prefix: String, base: String) -> Self {
        let choice = LanguageChoice::of(request);
        let language = choice.language();
        let here = Url::of_segments(&prefix, request.segments());
        let mut visit = Self {
            language,
            words: Words::of(language),
            numbers: Numbers::of(language),
            branding: Arc::clone(&app.branding),
            now: request.now(),
            choice,
            here: Url::default(),
            prefix,
            base,
            started_at: app.documents.started_at(),
        };
        visit.here = visit.carrying(here);
        visit
    }

    /// The same visit as one to another address: a form may lead to an address of its own.
    #[must_use]
    pub fn at_address(mut self, address: Url) -> Self {
        self.here = address;
        self
    }

    /// This page, with the part of its query that it knows.
    pub fn here(&self) -> &Url {
        &self.here
    }

    /// Another page, by a path that needs no encoding.
    pub fn link(&self, path: &str) -> Url {
        self.carrying(Url::of_path(&self.prefix, path))
    }

    /// The first value of a name in the query that is not empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.here
            .pairs()
            .iter()
            .find(|(own, value)| own == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// All values of a name in the query that are not empty.
    pub fn values<'v>(&'v self, name: &'v str) -> impl Iterator<Item = &'v str> {
        self.here.values(name).filter(|value| !value.is_empty())
    }

    /// The whole address of a page. Only a path, where the request does not say how the server is called.
    pub fn absolute(&self, url: &Url) -> String {
        url.absolute(&self.base)
    }

    /// The page of this site at a typed target, rebuilt from its parts, so it is never one of another site.
    pub fn own_page(&self, target: &str) -> Option<Url> {
        let is_plain = target.starts_with('/') && !target.starts_with("//") && !target.contains('\\');
        let target = Target::parse(target).ok().filter(|_| is_plain)?;
        let is_step = |segment: &String| segment.is_empty() || segment == "." || segment == "..";
        if target.segments.is_empty() || target.segments.iter().any(is_step) {
            return None;
        }
        let page = Url::of_segments(&self.prefix, &target.segments);
        Some(self.carrying(target.pairs.iter().fold(page, |url, (name, value)| url.and(name, typed(value)))))
    }

    /// Address of the site; only its path, where the request does not say how the server is called.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the outside reaches the site by TLS, as far as the operator has said so.
    pub fn is_secure(&self) -> bool {
        self.base.starts_with("https://")
    }

    /// What so many credits cost to the cent, without the tax of the place and, where it has a rate, with it.
    pub fn price(&self, credits: u64) -> String {
        let net = self.numbers.price_to_the_cent(credits);
        match self.gross(credits) {
            None => fill(self.words.net, net),
            Some(gross) => fill(&fill(self.words.net_and_gross, net), gross),
        }
    }

    /// What so many credits cost with the tax of the place, to the cent; nothing where it has no rate.
    pub fn gross(&self, credits: u64) -> Option<String> {
        let rate = self.branding.sale.vat_basis_points;
        (rate > 0).then(|| self.numbers.gross_to_the_cent(credits, rate))
    }

    /// Leads on to another page after a form.
    pub fn redirect(&self, request: &Incoming, to: &Url) -> Response {
        self.sent(Response::see_other(to.to_string()), request, Cache::NoStore)
    }

    /// Code of the language.
    pub fn code(&self) -> &'static str {
        code(self.language)
    }

    /// The content of the layout around a page.
    pub fn frame(&self, section: Section, title: impl Into<String>, description: impl Into<String>) -> Frame {
        let (words, branding) = (self.words, &self.branding);
        let own = |path: String| format!("{}{path}", self.prefix);
        let accent = branding.accent.as_ref().map(assets::accent_path);
        let logo = branding.logo.as_ref().map(assets::picture_path);
        let card = branding.card.as_ref().map_or_else(|| assets::path("card.png"), assets::picture_path);
        let localized =
            |text: &mercato_catalog::LocalizedText| text.choose(Some(self.language)).map(str::to_owned);
        let legal = branding
            .links
            .iter()
            .filter_map(|link| Some(Link { text: localized(&link.title)?, url: link.url.clone() }));
        let contact = branding.contact.as_ref();
        let frame = Frame {
            words,
            lang: self.code(),
            name: branding.name.clone(),
            tagline: localized(&branding.tagline),
            title: title.into(),
            description: description.into(),
            is_home: section == Section::Home,
            canonical: String::new(),
            default_address: String::new(),
            og_type: "website",
            og_image: format!("{}{card}", self.base),
            json_ld: None,
            feeds: vec![Link {
                text: words.feed_of_all.to_owned(),
                url: self.link("/feed.atom").to_string(),
            }],
            is_hidden: false,
            navigation: self.navigation(section),
            languages: self.languages(),
            home: self.link("/").to_string(),
            search: own("/datasets".to_owned()),
            carried: self.choice.is_carried().then_some(self.code()),
            question: String::new(),
            styles: std::iter::once(assets::path("style.css")).chain(accent).map(own).collect(),
            scripts: vec![own(assets::path("copy.js"))],
            icon: own(assets::path("icon.svg")),
            logo: logo.map(own),
            legal: legal.collect(),
            contact: contact.map(|contact| Link { text: contact.text.clone(), url: contact.address.clone() }),
            console: own("/docs".to_owned()),
            document: own("/api/v1/openapi.json".to_owned()),
            base: self.base.clone(),
        };
        frame.canonical(&self.as_requested(&self.here.bare()))
    }

    /// Sends a page.
    pub fn answer(
        &self,
        request: &Incoming,
        page: &impl Template,
        cache: Cache,
    ) -> Result<Response, ApiError> {
        Ok(self.sent(Response::bytes(HTML, html_of(page)?.as_bytes()), request, cache))
    }

    /// Sends a page whose forms may lead on to another origin.
    pub fn answer_leading_to(
        &self,
        request: &Incoming,
        page: &impl Template,
        cache: Cache,
        origin: Option<&str>,
    ) -> Result<Response, ApiError> {
        Ok(self.headed(Response::bytes(HTML, html_of(page)?.as_bytes()), request, cache, origin))
    }

    /// Leads a browser on to the page of a payment provider, whose address is percent-encoded.
    pub fn redirect_to(&self, request: &Incoming, address: String) -> Response {
        self.sent(Response::see_other(address), request, Cache::NoStore)
    }

    /// Sends the body of this visit, with the headers of a page.
    pub fn sent(&self, response: Response, request: &Incoming, cache: Cache) -> Response {
        self.headed(response, request, cache, None)
    }

    fn headed(
        &self,
        response: Response,
        request: &Incoming,
        cache: Cache,
        forms_to: Option<&str>,
    ) -> Response {
        // Texts of the program and of the place change with a start.
        let cache = match cache {
            Cache::Revalidate(changed_at) => Cache::Revalidate(changed_at.max(self.started_at)),
            other => other,
        };
        let response = security::of_page(cache.apply(response, request), forms_to)
            .with_header("Vary", "Accept-Language, Cookie");
        match self.choice.requested.filter(|requested| self.choice.remembered != Some(*requested)) {
            Some(requested) => response.with_header("Set-Cookie", self.cookie(requested)),
            None => response,
        }
    }

    /// Keeps the language that a visitor chose.
    fn cookie(&self, language: Language) -> String {
        let path = if self.prefix.is_empty() { "/" } else { &self.prefix };
        let secure = if self.is_secure() { "; Secure" } else { "" };
        format!(
            "{LANGUAGE_NAME}={}; Path={path}; Max-Age={LANGUAGE_SECONDS}; SameSite=Lax; HttpOnly{secure}",
            code(language)
        )
    }

    fn carrying(&self, url: Url) -> Url {
        if self.choice.is_carried() { url.with(LANGUAGE_NAME, self.code()) } else { url }
    }

    /// The address with the language that its query names.
    fn as_requested(&self, url: &Url) -> Url {
        self.choice.requested.map_or(url.clone(), |requested| url.with(LANGUAGE_NAME, code(requested)))
    }

    fn languages(&self) -> Vec<LanguageLink> {
        let link = |(language, code, name)| LanguageLink {
            code,
            name,
            url: self.here.with(LANGUAGE_NAME, code).to_string(),
            address: String::new(),
            is_current: language == self.language,
        };
        LANGUAGES.into_iter().map(link).collect()
    }

    fn navigation(&self, section: Section) -> Vec<NavLink> {
        let words = self.words;
        let named = [
            (Section::Datasets, words.datasets, "/datasets"),
            (Section::Graph, words.graph, "/graph"),
            (Section::Pricing, words.pricing, "/pricing"),
            (Section::Status, words.status, "/status"),
            (Section::Account, words.account, "/account"),
        ];
        self.nav_links(named, section)
    }

    /// Links to pages, of which one is the current.
    pub fn nav_links<P: Copy + PartialEq, const N: usize>(
        &self,
        named: [(P, &'static str, &str); N],
        current: P,
    ) -> Vec<NavLink> {
        let link = |(page, text, path)| NavLink {
            text,
            url: self.link(path).to_string(),
            is_current: page == current,
        };
        named.into_iter().map(link).collect()
    }
}

/// The HTML of a page. Control characters have no place in HTML, so a mark stands for each of them.
pub fn html_of(page: &impl Template) -> Result<String, ApiError> {
    let html = page.render().map_err(|error| ApiError::internal(format!("a page: {error}")))?;
    let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
    Ok(if html.contains(is_control) { html.replace(is_control, "\u{fffd}") } else { html })
}
