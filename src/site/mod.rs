//! The pages for people: catalogue, datasets, prices and status, rendered here and readable without a script.
//!
//! A page is a struct beside its handler, with everything that its template may say. Pages use the same functions as the
//! API and never ask it over HTTP. Knows no socket.

mod account;
mod assets;
mod cache;
mod dataset;
mod entry;
mod feeds;
mod frame;
mod graph;
mod home;
mod language;
mod list;
mod markdown;
mod numbers;
mod plots;
mod pricing;
mod refusal;
mod security;
mod snippets;
mod status;
mod url;
mod visit;
mod words;

use crate::http::Pages;

/// What `http` serves beside the API.
pub const PAGES: Pages = Pages {
    routes: &[
        home::ROUTES,
        feeds::ROUTES,
        list::ROUTES,
        dataset::ROUTES,
        graph::ROUTES,
        pricing::ROUTES,
        status::ROUTES,
        account::ROUTES,
        assets::ROUTES,
    ],
    refusal: refusal::page,
};
