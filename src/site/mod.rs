//! The web pages: catalogue, datasets, prices, status and account, rendered here and readable without a script.
//!
//! A page is a struct beside its handler, with the whole content of its template. Pages call the same functions as the API
//! and never ask it over HTTP. Does not depend on sockets.

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

/// The routes that `http` serves beside the API.
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
