//! The operator's pages, on the admin listener only: state of the server, datasets, accounts, payments, publications.
//!
//! - A browser signs in with the operator's token and gets a token of its own in a cookie, so both give the same rights:
//!   a client of the admin listener can do the same things here, and nobody else.
//! - Changes go through the commands of `operator`, as those of the command line do, or through the functions of the catalog
//!   that the tools call. Irreversible changes require a tick.
//! - Every form carries a number and is done once, however often it is sent. It is answered by a redirect, by the page with
//!   its faults (422), or by a page with a secret that is shown there and nowhere else.
//! - Browsers and caches keep nothing of these pages.
//!
//! Reads the stores below. Does not depend on sockets. No page of the public listener links here.

mod account;
mod accounts;
mod dataset;
mod datasets;
mod done;
mod execute;
mod forms;
mod key;
mod limits;
mod operator_visit;
mod overview;
mod payments;
mod publications;
mod secret;
mod sign_in;
mod state;
mod words;

use super::assets;
use crate::api::Pages;
use crate::api::route::{Guard, Route};
use mercato_web::Method;

/// The routes that `http` serves on the admin listener. Each page looks for the sign-in itself.
pub const OPERATOR_PAGES: Pages = Pages { routes: &[ROUTES, assets::ROUTES], refusal: sign_in::refusal };

const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/", Guard::Uncounted, sign_in::root),
    Route::new(Method::Get, "/operator", Guard::Uncounted, overview::show),
    Route::new(Method::Get, "/operator/sign-in", Guard::Uncounted, sign_in::show),
    Route::new(Method::Post, "/operator/sign-in", Guard::Uncounted, sign_in::sign_in),
    Route::new(Method::Post, "/operator/sign-out", Guard::Uncounted, sign_in::sign_out),
    Route::new(Method::Get, "/operator/datasets", Guard::Uncounted, datasets::show),
    Route::new(Method::Get, "/operator/datasets/{slug}", Guard::Uncounted, dataset::show),
    Route::new(Method::Post, "/operator/datasets/{slug}", Guard::Uncounted, dataset::change),
    Route::new(Method::Get, "/operator/accounts", Guard::Uncounted, accounts::show),
    Route::new(Method::Post, "/operator/accounts", Guard::Uncounted, accounts::create),
    Route::new(Method::Get, "/operator/accounts/{account}", Guard::Uncounted, account::show),
    Route::new(Method::Post, "/operator/accounts/{account}", Guard::Uncounted, account::changes::change),
    Route::new(Method::Get, "/operator/keys/{key}", Guard::Uncounted, key::show),
    Route::new(Method::Post, "/operator/keys/{key}", Guard::Uncounted, key::change),
    Route::new(Method::Get, "/operator/payments", Guard::Uncounted, payments::show),
    Route::new(Method::Get, "/operator/publications", Guard::Uncounted, publications::show),
    Route::new(Method::Post, "/operator/publications", Guard::Uncounted, publications::change),
];
