//! Buying credits: through a Stripe of the tests, by a click, and not at all.

mod attacks;
mod clicks;
mod journeys;
mod provider;
#[expect(dead_code, reason = "each test program uses a part of it")]
#[path = "../../stripe/simulator.rs"]
mod simulator;

use std::path::Path;

use mercato_ledger::AccountHandle;
use simulator::{Stripe, WEBHOOK_SECRET, signature, unix_now};

use crate::harness::{Answer, Ask, Site, wait_until};
use crate::site::browser::Browser;

/// The place sells at 22 % of tax.
const PLACE: &str = "name = \"Valdoro\"\ncontact = \"data@town.test\"\n[credits]\nvat_percent = 22\n\
     [credits.seller]\nname = \"Town & Sons\"\naddress = \"Piazza 1\\n12345 Valdoro\"\nvat_number = \"IT01234567890\"\n\
     [[credits.packs]]\ncredits = 10_000\n[[credits.packs]]\ncredits = 3_000\ncents = 1_001\n";

/// A server that takes payments at the simulator.
fn selling(stripe: &Stripe, folder: &Path) -> Site {
    let before = stripe.requests().len();
    let site = selling_with(&stripe.flags(folder), folder);
    // The comparison at the start asks for three lists.
    wait_until("the first comparison", || stripe.requests().len() >= before + 3);
    site
}

fn selling_with(flags: &[String], folder: &Path) -> Site {
    std::fs::write(folder.join("site.toml"), PLACE).unwrap();
    let unlimited = ["--requests-per-minute", "0", "--requests-per-day", "0"];
    let flags: Vec<&str> = unlimited.into_iter().chain(flags.iter().map(String::as_str)).collect();
    Site::at(folder, &flags)
}

/// Sends an event with its signature.
fn webhook(site: &Site, event: &str) -> Answer {
    webhook_with(site, event, &signature(WEBHOOK_SECRET, unix_now(), event))
}

fn webhook_with(site: &Site, event: &str, signature: &str) -> Answer {
    site.send(&Ask::post("/payments/stripe/webhook", event).header("Stripe-Signature", signature))
}

/// Begins a purchase; the answer leads to the provider.
fn buy(browser: &Browser<'_>, credits: &str) -> Answer {
    browser.post("/account/credits", &[("credits", credits)])
}

/// The only balance, or that of the newest account.
fn credits(site: &Site) -> u64 {
    let ledger = &site.running().app().ledger;
    assert!(ledger.verify().unwrap().is_balanced());
    ledger.accounts().last().map_or(0, AccountHandle::credits)
}

/// Sends a command of the operator.
fn command(site: &Site, command: &str) -> Answer {
    let token = format!("Bearer {}", site.admin_token());
    let ask = Ask::post("/admin/v1/commands", command).header("Authorization", &token);
    crate::harness::exchange(site.admin_address(), &ask)
}
