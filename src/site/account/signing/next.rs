//! The page behind a sign-in, whose address is carried on from page to page.

use crate::limits::site::NEXT_BYTES_MAX;
use crate::site::account::form_view::FormView;
use crate::site::url::Url;
use crate::site::visit::Visit;

/// Name of the parameter that says where a sign-in leads.
pub const NEXT: &str = "next";

/// The page behind a sign-in: always one of this site.
pub fn target(visit: &Visit, next: &str) -> Url {
    let short = (next.len() <= NEXT_BYTES_MAX).then_some(next);
    short.and_then(|next| visit.own_page(next)).unwrap_or_else(|| visit.link("/account"))
}

/// Whether a page may be asked for by an address that is carried on.
fn is_carried(next: &str) -> bool {
    (1..=NEXT_BYTES_MAX).contains(&next.len())
}

/// A form that carries on the address behind the sign-in.
pub fn leading_on(form: FormView, next: &str) -> FormView {
    if is_carried(next) { form.hidden(NEXT, next) } else { form }
}

/// A link that carries it on.
pub fn linking_on(page: &Url, next: &str) -> Url {
    if is_carried(next) { page.with(NEXT, next) } else { page.clone() }
}
