//! The web pages: catalogue, datasets, prices, status and account, rendered here and readable without a script.
//!
//! A page is a struct beside its handler, with the whole content of its template. Pages call the same functions as the API
//! and never ask it over HTTP. Does not depend on sockets.

mod account;
mod assets;
mod dataset;
mod entry;
mod feeds;
mod graph;
mod home;
mod list;
mod markdown;
mod operator;
mod page;
mod plots;
mod pricing;
mod refusal;
mod snippets;
mod status;

use crate::api::Pages;
pub use operator::OPERATOR_PAGES;
use page::{cache, cookies, frame, numbers, security, url, visit, words};

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
