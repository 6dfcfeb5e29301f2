//! The account area: sign-up and sign-in, keys, usage, credits and settings of the signed-in customer.
//!
//! - A form is answered by a redirect, or comes back filled in with its faults (422). The exception shows a new key: it stands
//!   in the answer to its form and nowhere else, neither in the books nor in a cookie. Sending that form again makes a further
//!   key, which the list shows.
//! - A word of a fixed list in the query (`done`) names the outcome of a form, so no link can put a text into a page.
//! - A sign-up answers the same whether the address has an account, after the same work. Without mail, the sign-in that
//!   follows still reveals whether the address was free, and nothing prevents that, because an opened account can be used.
//!   It takes two forms, opens an account for each free address, and a client address has few sign-ups a day; a different
//!   answer to the sign-up itself would reveal it at once. The only difference left is the time of one write to the books,
//!   which reveals no more than the sign-in does.
//! - Browsers and caches keep nothing of the area.
//!
//! - With mail, an address is confirmed by a link. An account without purchases makes no key before that, so each confirmed
//!   address has one free plan. Mails are written and sent by another thread, so no answer takes longer for an address that
//!   has an account.
//!
//! Takes no money: a payment provider does, and its page leads back here.

pub mod api_keys;
mod area;
pub mod buying;
mod credits;
mod csv;
pub mod dataset_field;
mod done;
pub mod entries;
pub mod form;
pub mod form_view;
mod overview;
mod settings;
pub mod signing;
mod usage;
pub mod words;

use crate::api::route::{Guard, Route};
use api_keys::{key, keys};
use buying::{checkout, purchase, receipt};
pub(super) use form::Form;
use mercato_web::Method;
pub(super) use signing::customer::Customer;
pub(super) use signing::same_origin::check as check_origin;
use signing::{
    ask, confirm, customer, device, forgot, mails, password, reset, same_origin, session, sign_in, sign_up,
};

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
    Route::new(Method::Get, "/account/forgot", Guard::Public, forgot::show),
    Route::new(Method::Post, "/account/forgot", Guard::Public, forgot::send),
    Route::new(Method::Get, "/account/confirm", Guard::Public, confirm::show),
    Route::new(Method::Post, "/account/confirm", Guard::Public, confirm::confirm),
    Route::new(Method::Post, "/account/confirm/send", Guard::Public, confirm::send),
    Route::new(Method::Get, "/account/keys", Guard::Public, keys::show),
    Route::new(Method::Post, "/account/keys", Guard::Public, keys::create),
    Route::new(Method::Get, "/account/keys/{key}", Guard::Public, key::show),
    Route::new(Method::Post, "/account/keys/{key}", Guard::Public, key::change),
    Route::new(Method::Get, "/account/usage", Guard::Public, usage::show),
    Route::new(Method::Get, "/account/usage.csv", Guard::Public, csv::download),
    Route::new(Method::Get, "/account/credits", Guard::Public, credits::show),
    Route::new(Method::Post, "/account/credits", Guard::Public, checkout::buy),
    Route::new(Method::Get, "/account/purchases/{purchase}", Guard::Public, purchase::show),
    Route::new(Method::Post, "/account/purchases/{purchase}", Guard::Public, purchase::change),
    Route::new(Method::Get, "/account/purchases/{purchase}/receipt", Guard::Public, receipt::show),
    Route::new(Method::Get, "/account/settings", Guard::Public, settings::show),
    Route::new(Method::Post, "/account/settings", Guard::Public, settings::change),
];
