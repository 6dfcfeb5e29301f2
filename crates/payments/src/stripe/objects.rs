//! The objects of Stripe, as far as they concern credits, and the news in them.
//!
//! The fields of a Checkout Session are compared with the books, so they are read strictly. Objects of other programs that use the
//! same account of Stripe are passed over.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::news::News;
use crate::provider::{Listing, NewsPage};
use mercato_base::clock::Moment;
use mercato_ledger::{CheckoutId, PayCheckout, PaymentId, ReversalEvent, ReversePayment};

/// A page that was opened.
#[derive(Deserialize)]
pub(super) struct Opened {
    pub(super) url: String,
}

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct Page {
    data: Vec<Box<RawValue>>,
    has_more: bool,
}

#[derive(Deserialize)]
struct Event<'e> {
    #[serde(rename = "type")]
    kind: &'e str,
    #[serde(borrow)]
    data: EventData<'e>,
}

#[derive(Deserialize)]
struct EventData<'e> {
    #[serde(borrow)]
    object: &'e RawValue,
}

#[derive(Deserialize)]
struct Session {
    client_reference_id: Option<String>,
    metadata: Option<HashMap<String, String>>,
    amount_total: Option<u64>,
    currency: Option<String>,
    payment_status: Option<String>,
    payment_intent: Option<Reference>,
}

#[derive(Deserialize)]
struct Charge {
    amount_refunded: u64,
    payment_intent: Option<Reference>,
}

#[derive(Deserialize)]
struct Refund {
    charge: Option<Charge>,
}

#[derive(Deserialize)]
struct Dispute {
    id: String,
    amount: u64,
    status: String,
    payment_intent: Option<Reference>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// Another object: its id, or the object itself.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reference {
    Id(String),
    Object { id: String },
}

impl Reference {
    fn into_payment(self) -> PaymentId {
        let (Reference::Id(id) | Reference::Object { id }) = self;
        PaymentId { provider: super::NAME.to_owned(), id }
    }
}

/// The news of an event. `None` for events that do not concern credits.
pub(super) fn event(body: &[u8], now: Moment) -> Result<Option<News>, String> {
    let event: Event<'_> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let object = event.data.object;
    match event.kind {
        "checkout.session.completed" => {
            let session: Session = read(object)?;
            if session.payment_status.as_deref() == Some("paid") { session.news(now) } else { Ok(None) }
        }
        "checkout.session.async_payment_succeeded" => read::<Session>(object)?.news(now),
        "charge.refunded" => Ok(read::<Charge>(object)?.news(now)),
        "charge.dispute.created" => Ok(read::<Dispute>(object)?.news(false, now)),
        "charge.dispute.closed" => Ok(read::<Dispute>(object)?.news(true, now)),
        _ => Ok(None),
    }
}

/// The id of the session of a checkout among those of a page, if it is one that an address can hold.
pub(super) fn session_of(page: &Page, checkout: &str) -> Option<String> {
    let of_checkout = |object: &RawValue| {
        read::<Session>(object).ok()?.client_reference_id.filter(|reference| reference == checkout)?;
        read::<Named>(object).ok()
    };
    let id = page.data.iter().find_map(|object| of_checkout(object))?.id;
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_plain && !id.is_empty()).then_some(id)
}

/// The news of a page of a list.
pub(super) fn news_page(listing: Listing, page: &Page, now: Moment) -> NewsPage {
    let mut found = NewsPage::default();
    let mut last = None;
    for object in &page.data {
        let id = read::<Named>(object).map(|named| named.id).unwrap_or_default();
        match listed(listing, object, now) {
            Ok(news) => found.news.extend(news),
            Err(reason) => found.unreadable.push((id.clone(), reason)),
        }
        last = Some(id).filter(|id| !id.is_empty());
    }
    found.next = last.filter(|_| page.has_more);
    found
}

fn listed(listing: Listing, object: &RawValue, now: Moment) -> Result<Option<News>, String> {
    match listing {
        Listing::Payments => {
            let session: Session = read(object)?;
            if session.payment_status.as_deref() == Some("paid") { session.news(now) } else { Ok(None) }
        }
        Listing::Refunds => Ok(read::<Refund>(object)?.charge.and_then(|charge| charge.news(now))),
        Listing::Disputes => {
            let dispute: Dispute = read(object)?;
            let is_closed = dispute.outcome().is_some();
            Ok(dispute.news(is_closed, now))
        }
    }
}

impl Session {
    /// The payment of a session of this marketplace.
    fn news(self, now: Moment) -> Result<Option<News>, String> {
        let reference = self.client_reference_id.unwrap_or_default();
        let Ok(checkout) = reference.parse::<CheckoutId>() else { return Ok(None) };
        let metadata = self.metadata.unwrap_or_default();
        let field = |name: &'static str| metadata.get(name).ok_or(format!("metadata.{name} is missing"));
        let account =
            field("mercato_account")?.parse().map_err(|_| "metadata.mercato_account is no account")?;
        let credits =
            field("mercato_credits")?.parse().map_err(|_| "metadata.mercato_credits is no number")?;
        if field("mercato_checkout")? != &reference {
            return Err("metadata.mercato_checkout is not client_reference_id".to_owned());
        }
        Ok(Some(News::Paid(PayCheckout {
            checkout,
            payment: self.payment_intent.ok_or("payment_intent is missing")?.into_payment(),
            account,
            credits,
            gross: self.amount_total.ok_or("amount_total is missing")?,
            currency: self.currency.ok_or("currency is missing")?.to_ascii_uppercase(),
            at: now,
        })))
    }
}

impl Charge {
    fn news(self, at: Moment) -> Option<News> {
        let payment = self.payment_intent?.into_payment();
        let event = ReversalEvent::Refunded { total: self.amount_refunded };
        Some(News::Reversed(ReversePayment { payment, event, at }))
    }
}

impl Dispute {
    /// Whether the money stays here; nothing while the dispute is open.
    fn outcome(&self) -> Option<bool> {
        match self.status.as_str() {
            "won" | "warning_closed" | "prevented" => Some(true),
            "lost" => Some(false),
            _ => None,
        }
    }

    fn news(self, is_closed: bool, at: Moment) -> Option<News> {
        let is_won = self.outcome();
        let (dispute, amount) = (self.id, self.amount);
        let event = match is_won.filter(|_| is_closed) {
            Some(is_won) => ReversalEvent::DisputeClosed { dispute, amount, is_won },
            None => ReversalEvent::Disputed { dispute, amount },
        };
        Some(News::Reversed(ReversePayment { payment: self.payment_intent?.into_payment(), event, at }))
    }
}

fn read<'o, T: Deserialize<'o>>(object: &'o RawValue) -> Result<T, String> {
    serde_json::from_str(object.get()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_unix_millis(1_795_392_000_000);
    const ID: &str = "chk_3_000102030405060708090a0b0c0d0e0f";

    fn session(status: &str, more: &str) -> String {
        format!(
            r#"{{"id":"cs_1","object":"checkout.session","client_reference_id":"{ID}","amount_total":6100,"currency":"eur",
            "payment_status":"{status}","payment_intent":"pi_1","metadata":{{"mercato_checkout":"{ID}",
            "mercato_account":"acc_7","mercato_credits":"10000"}}{more}}}"#
        )
    }

    fn parsed(kind: &str, object: &str) -> Result<Option<News>, String> {
        event(format!(r#"{{"id":"evt_1","type":"{kind}","data":{{"object":{object}}}}}"#).as_bytes(), NOW)
    }

    fn reversed(event: ReversalEvent) -> Result<Option<News>, String> {
        let payment = PaymentId { provider: "stripe".to_owned(), id: "pi_1".to_owned() };
        Ok(Some(News::Reversed(ReversePayment { payment, event, at: NOW })))
    }

    #[test]
    fn reads_payment_from_paid_session_only() {
        let expected = News::Paid(PayCheckout {
            checkout: ID.parse().unwrap(),
            payment: PaymentId { provider: "stripe".to_owned(), id: "pi_1".to_owned() },
            account: "acc_7".parse().unwrap(),
            credits: 10_000,
            gross: 6_100,
            currency: "EUR".to_owned(),
            at: NOW,
        });
        let completed = "checkout.session.completed";
        assert_eq!(parsed(completed, &session("paid", "")), Ok(Some(expected.clone())));
        assert_eq!(parsed(completed, &session("unpaid", "")), Ok(None));
        let succeeded = "checkout.session.async_payment_succeeded";
        assert_eq!(parsed(succeeded, &session("paid", "")), Ok(Some(expected)));
        for other in ["checkout.session.expired", "checkout.session.async_payment_failed", "invoice.paid"] {
            assert_eq!(parsed(other, &session("paid", "")), Ok(None), "{other}");
        }
        let foreign = session("paid", "").replace(&format!("\"{ID}\",\"amount"), "\"order 5\",\"amount");
        assert_eq!(parsed(completed, &foreign), Ok(None));
    }

    #[test]
    fn refuses_session_that_lacks_or_contradicts_itself() {
        for (from, to, words) in [
            ("\"amount_total\":6100", "\"amount_total\":-1", "invalid value"),
            ("\"amount_total\":6100,", "", "amount_total is missing"),
            ("\"currency\":\"eur\",", "", "currency is missing"),
            ("\"pi_1\"", "null", "payment_intent is missing"),
            ("\"10000\"", "\"1e4\"", "mercato_credits is no number"),
            ("acc_7", "key_7", "mercato_account is no account"),
            ("\"mercato_credits\"", "\"credits\"", "metadata.mercato_credits is missing"),
            ("{\"mercato_checkout\":\"chk_3", "{\"mercato_checkout\":\"chk_4", "not client_reference_id"),
        ] {
            let object = session("paid", "").replace(from, to);
            let error = parsed("checkout.session.completed", &object).unwrap_err();
            assert!(error.contains(words), "{from}: {error}");
        }
        assert!(event(b"{", NOW).is_err() && event(b"[]", NOW).is_err() && event(b"\xff", NOW).is_err());
    }

    #[test]
    fn reads_refunds_and_disputes() {
        let charge = r#"{"id":"ch_1","amount":6100,"amount_refunded":3050,"payment_intent":{"id":"pi_1","object":"payment_intent"}}"#;
        assert_eq!(parsed("charge.refunded", charge), reversed(ReversalEvent::Refunded { total: 3_050 }));
        assert_eq!(parsed("charge.refunded", r#"{"amount_refunded":1,"payment_intent":null}"#), Ok(None));
        let dispute = |status: &str| {
            format!(
                r#"{{"id":"dp_1","amount":6100,"status":"{status}","charge":"ch_1","payment_intent":"pi_1"}}"#
            )
        };
        let opened = ReversalEvent::Disputed { dispute: "dp_1".to_owned(), amount: 6_100 };
        assert_eq!(parsed("charge.dispute.created", &dispute("needs_response")), reversed(opened.clone()));
        for (status, is_won) in [("won", true), ("lost", false), ("warning_closed", true)] {
            let closed = ReversalEvent::DisputeClosed { dispute: "dp_1".to_owned(), amount: 6_100, is_won };
            assert_eq!(parsed("charge.dispute.closed", &dispute(status)), reversed(closed));
        }
        assert_eq!(parsed("charge.dispute.closed", &dispute("under_review")), reversed(opened));
    }

    #[test]
    fn reads_lists_and_goes_on_behind_last_object() {
        let page = |data: &str, has_more: bool| -> Page {
            serde_json::from_str(&format!(r#"{{"object":"list","data":[{data}],"has_more":{has_more}}}"#))
                .unwrap()
        };
        let broken = session("paid", "").replace("\"cs_1\"", "\"cs_2\"").replace("\"pi_1\"", "null");
        let data = format!("{},{},{broken}", session("paid", ""), session("unpaid", ""));
        let found = news_page(Listing::Payments, &page(&data, true), NOW);
        assert_eq!((found.news.len(), found.next.as_deref()), (1, Some("cs_2")));
        assert_eq!(found.unreadable, [("cs_2".to_owned(), "payment_intent is missing".to_owned())]);
        let refund = r#"{"id":"re_1","charge":{"id":"ch_1","amount_refunded":5,"payment_intent":"pi_1"}}"#;
        let found = news_page(Listing::Refunds, &page(refund, false), NOW);
        assert_eq!((found.news.len(), found.next), (1, None));
        let dispute = r#"{"id":"dp_1","amount":5,"status":"lost","payment_intent":"pi_1"}"#;
        assert_eq!(news_page(Listing::Disputes, &page(dispute, false), NOW).news.len(), 1);
    }
}
