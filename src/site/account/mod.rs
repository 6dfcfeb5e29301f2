//! The account area: signing up and in, keys, usage, credits and settings of the person who is signed in.
//!
//! - A form is answered by a redirect, or comes back filled in with its faults (422). The exception shows a new key: it stands
//!   in the answer to its form and nowhere else, neither in the books nor in a cookie. Sending that form again makes a further
//!   key, which the list shows.
//! - What was done is told by a word of a fixed list in the query (`done`), so no link can put a text into a page.
//! - A sign-up answers the same whether the address has an account, after the same work. Without mail somebody must sign in
//!   afterwards, and that tells whoever chose the password whether the address was free: there is no way around it, because an
//!   account that was opened can be used. It takes two forms, opens an account for each address that was free, and a client
//!   address has few sign-ups a day. An answer at the sign-up would tell it at once. What still
//!   differs is the time of one write to the books, which tells no more than the sign-in does.
//! - Nothing here is kept by a browser or a cache.
//!
//! Knows no way to pay and sends no mail.

mod api_keys;
mod area;
mod credits;
mod csv;
mod done;
mod entries;
mod form;
mod form_view;
mod overview;
mod settings;
mod signing;
mod usage;
mod words;

use crate::http::incoming::Method;
use crate::http::routing::router::{Guard, Route};
use api_keys::{key, keys};
use signing::{ask, password, reset, same_origin, session, sign_in, sign_up};

/// Paths of the account area.
pub(super) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/account", Guard::Public, overview::show),
    Route::new(Method::Get, "/account/sign-in", Guard::Public, sign_in::show),
    Route::new(Method::Post, "/account/sign-in", Guard::Public, sign_in::sign_in),
    Route::new(Method::Post, "/account/sign-out", Guard::Public, sign_in::sign_out),
    Route::new(Method::Get, "/account/sign-up", Guard::Public, sign_up::show),
    Route::new(Method::Post, "/account/sign-up", Guard::Public, sign_up::sign_up),
    Route::new(Method::Get, "/account/reset", Guard::Public, reset::show),
    Route::new(Method::Post, "/account/reset", Guard::Public, reset::reset),
    Route::new(Method::Get, "/account/keys", Guard::Public, keys::show),
    Route::new(Method::Post, "/account/keys", Guard::Public, keys::create),
    Route::new(Method::Get, "/account/keys/{key}", Guard::Public, key::show),
    Route::new(Method::Post, "/account/keys/{key}", Guard::Public, key::change),
    Route::new(Method::Get, "/account/usage", Guard::Public, usage::show),
    Route::new(Method::Get, "/account/usage.csv", Guard::Public, csv::download),
    Route::new(Method::Get, "/account/credits", Guard::Public, credits::show),
    Route::new(Method::Get, "/account/settings", Guard::Public, settings::show),
    Route::new(Method::Post, "/account/settings", Guard::Public, settings::change),
];
