#!/usr/bin/env python3
"""Buys credits at a Stripe of this test, which signs and checks with Stripe's own Python library.

    python payments.py --binaries target/debug

A real server leads a customer from the form to the page of the provider. The provider checks every field that the server
sends against the types of the library, tells the payment by events that the library signs, and lists what it did not tell.
Credits, the receipt and the operator's list are compared with what was paid. Exit code 0 only without a fault.
"""

import argparse
import html
import http.client
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path
from typing import Any

import stripe
import stripe.params
import stripe.params.checkout

sys.path.insert(0, str(Path(__file__).parent.parent / "differential"))

from server_log import listening_address  # noqa: E402

KEY = "sk_test_official"
WEBHOOK_SECRET = "whsec_official"
EMAIL, PASSWORD = "anna@example.org", "eleven blue horses"
START_SECONDS_MAX = STOP_SECONDS_MAX = 60
WAIT_SECONDS_MAX = 20
PLACE = """name = "Valdoro"
[credits]
vat_percent = 22
[credits.seller]
name = "Town of Valdoro"
vat_number = "IT01234567890"
[[credits.packs]]
credits = 10000
"""


class Fault(Exception):
    """Something is not as it should be."""


def expect(what: str, found: object, expected: object) -> None:
    """Compares."""
    if found != expected:
        raise Fault(f"{what}: expected {expected!r}, found {found!r}")


def check_fields(fields: dict[str, str], module: Any, name: str) -> None:
    """Every field is one that the types of the library know: `a[0][b]` is `b` of the type of `a`."""
    for field in fields:
        parts = [part for part in re.split(r"[\[\]]+", field) if part]
        kind, place = getattr(module, name), name
        for step, part in enumerate(parts):
            if part.isdigit() or part == "":
                continue
            if part not in kind.__annotations__:
                raise Fault(f"{field}: {place} of the library has no {part}")
            if part == "metadata":
                break
            is_list = step + 1 < len(parts) and parts[step + 1].isdigit()
            stem = part.removesuffix("s") if is_list else part
            place += "".join(word.capitalize() for word in stem.split("_"))
            kind = getattr(module, place, None)
            if kind is None:
                break


class Provider(http.server.ThreadingHTTPServer):
    """Stripe, as far as the server speaks to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Calls)
        self.sessions: list[dict[str, Any]] = []
        self.by_key: dict[str, dict[str, Any]] = {}
        self.refunds: list[dict[str, Any]] = []
        self.disputes: list[dict[str, Any]] = []
        self.faults: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def create(self, fields: dict[str, str], key: str) -> dict[str, Any]:
        """A Checkout Session; the same for the same key."""
        check_fields(fields, stripe.params.checkout, "SessionCreateParams")
        if key not in self.by_key:
            number = len(self.sessions)
            self.by_key[key] = {
                "id": f"cs_test_{number}", "object": "checkout.session", "url": f"{self.url}/pay/cs_test_{number}",
                "client_reference_id": fields["client_reference_id"],
                "metadata": {name[9:-1]: value for name, value in fields.items() if name.startswith("metadata[")},
                "amount_total": int(fields["line_items[0][price_data][unit_amount]"]),
                "currency": fields["line_items[0][price_data][currency]"],
                "payment_status": "unpaid", "status": "open", "payment_intent": None, "created": int(time.time()),
                "success_url": fields["success_url"],
            }
            self.sessions.append(self.by_key[key])
        return self.by_key[key]

    def pay(self, number: int) -> str:
        """The customer pays; the event that tells it."""
        self.sessions[number] |= {"payment_status": "paid", "status": "complete", "payment_intent": f"pi_{number}"}
        return self.event("checkout.session.completed", self.sessions[number])

    def refund(self, number: int, amount: int) -> str:
        """A part of a payment goes back; the event that tells it."""
        before = sum(refund["amount"] for refund in self.refunds if refund["payment_intent"] == f"pi_{number}")
        charge = {"id": f"ch_{number}", "object": "charge", "amount": self.sessions[number]["amount_total"],
                  "amount_refunded": before + amount, "payment_intent": f"pi_{number}"}
        self.refunds.append({"id": f"re_{len(self.refunds)}", "object": "refund", "amount": amount,
                             "payment_intent": f"pi_{number}", "charge": charge})
        return self.event("charge.refunded", charge)

    @staticmethod
    def event(kind: str, content: dict[str, Any]) -> str:
        """An event as JSON, which the library can read."""
        body = json.dumps({"id": f"evt_{time.time_ns()}", "object": "event", "api_version": "2024-06-20", "type": kind,
                           "data": {"object": content}})
        stripe.Event.construct_from(json.loads(body), KEY)
        return body

    @staticmethod
    def signed(body: str, at: int | None = None) -> str:
        """The header of a webhook, signed and verified by the library."""
        header = stripe.WebhookSignature.generate_signature_header(body, WEBHOOK_SECRET, at)
        stripe.Webhook.construct_event(body, header, WEBHOOK_SECRET, tolerance=10**9)
        return header


class Calls(http.server.BaseHTTPRequestHandler):
    """Answers calls."""

    server: Provider
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:  # noqa: N802
        """Opens a Checkout Session."""
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = dict(urllib.parse.parse_qsl(form, strict_parsing=True))
        self.reply(lambda: self.server.create(fields, self.headers["Idempotency-Key"]))

    def do_GET(self) -> None:  # noqa: N802
        """Lists objects, newest first."""
        path, _, query = self.path.partition("?")
        fields = dict(urllib.parse.parse_qsl(query, strict_parsing=True))
        lists = {
            "/v1/checkout/sessions": (stripe.params.checkout, "SessionListParams", self.server.sessions),
            "/v1/refunds": (stripe.params, "RefundListParams", self.server.refunds),
            "/v1/disputes": (stripe.params, "DisputeListParams", self.server.disputes),
        }

        def page() -> dict[str, Any]:
            module, name, found = lists[path]
            check_fields({name: value for name, value in fields.items() if name != "expand[]"}, module, name)
            meant = [one for one in reversed(found) if fields.get("status") in (None, one.get("status"))]
            return {"object": "list", "data": meant, "has_more": False}

        self.reply(page)

    def reply(self, answer: Any) -> None:
        """Sends what a call gives; its faults fail the test."""
        try:
            expect("Authorization", self.headers["Authorization"], f"Bearer {KEY}")
            expect("Stripe-Version", bool(self.headers["Stripe-Version"]), True)
            status, document = 200, answer()
        except (Fault, KeyError, ValueError) as error:
            self.server.faults.append(f"{self.command} {self.path}: {error!r}")
            status, document = 400, {"error": {"message": str(error)}}
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Shop:
    """A real server that takes payments at the provider, and a customer's browser."""

    def __init__(self, binaries: Path, folder: Path, provider: Provider) -> None:
        self.binaries, self.folder, self.provider = binaries, folder, provider
        self.cookie = ""
        (folder / "site.toml").write_text(PLACE)
        for name, secret in (("key", KEY), ("webhook", WEBHOOK_SECRET)):
            (folder / name).write_text(secret + "\n")
        self.server: subprocess.Popen[bytes] | None = None
        self.address = ""

    def start(self) -> None:
        """Starts the server."""
        log = self.folder / "server.log"
        command: list[str | Path] = [
            self.binaries / "mercato", "serve", "--data", self.folder, "--listen", "127.0.0.1:0",
            "--admin", f"unix:{self.folder / 'admin.sock'}", "--payments", "stripe",
            "--stripe-secret-key-file", self.folder / "key", "--stripe-webhook-secret-file", self.folder / "webhook",
            "--stripe-api", self.provider.url]
        with log.open("wb") as sink:
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
        address = listening_address(self.server, log, START_SECONDS_MAX)
        if address is None:
            raise Fault(f"the server does not listen:\n{log.read_text()}")
        self.address = address

    def stop(self) -> None:
        """Stops it."""
        if self.server is not None:
            self.server.terminate()
            expect("exit code of the server", self.server.wait(STOP_SECONDS_MAX), 0)
            self.server = None

    def ask(self, method: str, target: str, body: str | None = None, **headers: str) -> tuple[int, Any, str]:
        """One request of the customer's browser."""
        connection = http.client.HTTPConnection(self.address, timeout=30)
        sent = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"} | {
            name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent["Cookie"] = self.cookie
        connection.request(method, target, None if body is None else body.encode(), sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        for value in answer.headers.get_all("Set-Cookie") or []:
            if value.startswith("session="):
                self.cookie = value.split(";")[0]
        return answer.status, answer.headers, text

    def form(self, target: str, **fields: str) -> tuple[int, Any, str]:
        """Sends a form."""
        encoded = urllib.parse.urlencode(fields)
        return self.ask("POST", target, encoded, Content_Type="application/x-www-form-urlencoded")

    def webhook(self, body: str, header: str) -> int:
        """The status with which an event is taken in."""
        connection = http.client.HTTPConnection(self.address, timeout=30)
        connection.request("POST", "/payments/stripe/webhook", body.encode(),
                           {"Content-Type": "application/json; charset=utf-8", "Stripe-Signature": header})
        return connection.getresponse().status

    def balance(self) -> str:
        """The balance as the customer reads it."""
        found = re.search(r'<p class="balance">([^<]*)</p>', self.ask("GET", "/account")[2])
        return html.unescape(found[1]) if found else "none"

    def tools(self, *arguments: str) -> dict[str, Any]:
        """A command of the operator."""
        command = [self.binaries / "mercato-tools", *arguments, "--data", self.folder, "--json"]
        outcome = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if outcome.returncode != 0:
            raise Fault(f"{arguments}: exit {outcome.returncode}: {outcome.stderr.decode()}")
        document: dict[str, Any] = json.loads(outcome.stdout)
        return document


def buy(shop: Shop) -> int:
    """Buys the pack. Returns the number of the session."""
    status, headers, text = shop.form("/account/credits", credits="10000")
    number = len(shop.provider.sessions) - 1
    expect(f"the form leads to the provider ({text[:200]})", status, 303)
    expect("where it leads", headers["Location"], shop.provider.sessions[number]["url"])
    return number


def journey(shop: Shop, provider: Provider) -> None:
    """From the sign-up to a refund, and what no webhook told."""
    expect("sign-up", shop.form("/account/sign-up", email=EMAIL, password=PASSWORD)[0], 303)
    expect("sign-in", shop.form("/account/sign-in", email=EMAIL, password=PASSWORD)[0], 303)
    first = buy(shop)
    expect("price with VAT", provider.sessions[first]["amount_total"], 6_100)
    paid = provider.pay(first)
    header = provider.signed(paid)
    for status, body, signature in (
        (400, paid, provider.signed(paid, int(time.time()) - 400)),
        (400, paid.replace("10000", "99999"), header),
        (400, paid, stripe.WebhookSignature.generate_signature_header(paid, "whsec_another")),
        (200, paid, header), (200, paid, header), (200, paid, provider.signed(paid)),
    ):
        expect("status of a webhook", shop.webhook(body, signature), status)
    expect("balance after the payment", shop.balance(), "10,000 credits")
    own = urllib.parse.urlsplit(provider.sessions[first]["success_url"]).path
    for language, words in (("en", ("€50.00", "VAT 22%", "€11.00", "€61.00")), ("it", ("50,00", "IVA 22%", "61,00"))):
        receipt = html.unescape(shop.ask("GET", f"{own}/receipt?lang={language}")[2])
        for word in (*words, "Town of Valdoro", "IT01234567890", EMAIL, f"pi_{first}"):
            expect(f"the receipt names {word}", word in receipt, True)
    refund = provider.refund(first, 3_050)
    for _ in range(2):
        expect("status of a refund", shop.webhook(refund, provider.signed(refund)), 200)
    expect("balance after the refund", shop.balance(), "5,000 credits")

    second, third = buy(shop), buy(shop)
    provider.pay(second)
    report = shop.tools("payments", "reconcile")
    expect("found by the operator", report["found"], [{"payment": f"pi_{second}", "outcome": "granted"}])
    shop.stop()
    provider.pay(third)
    shop.start()
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while shop.balance() != "25,000 credits" and time.monotonic() < deadline:
        time.sleep(0.1)
    expect("balance after what no webhook told", shop.balance(), "25,000 credits")
    states = [payment["state"] for payment in shop.tools("payments", "list")["payments"]]
    expect("the operator's list", states, ["paid", "paid", "partlyRefunded"])
    expect("the books", shop.tools("ledger", "verify")["balanced"], True)


def main() -> int:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        provider = Provider()
        shop = Shop(arguments.binaries.resolve(), Path(name), provider)
        shop.start()
        try:
            journey(shop, provider)
        finally:
            log = (Path(name) / "server.log").read_text()
            shop.stop()
        for secret in (KEY, WEBHOOK_SECRET):
            expect("a secret in the log", secret in log, False)
    for fault in provider.faults:
        print(f"FAULT {fault}")
    if provider.faults:
        return 1
    print(f"{len(provider.sessions)} purchases at a Stripe that signs with stripe {stripe.VERSION}: every credit is right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
