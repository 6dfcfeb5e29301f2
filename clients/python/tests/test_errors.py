"""Errors: classes by status, what they say, and what they never hold."""

import pickle
import traceback

import httpx
import pytest

import mercato
from mercato.errors import Refusal, refused
from tests.fake import KEY, URL, Fake, answers, breaks, refusal


@pytest.mark.parametrize(("status", "kind"), [
    (400, mercato.BadRequest), (401, mercato.Unauthorized), (402, mercato.PaymentRequired), (404, mercato.NotFound),
    (405, mercato.BadRequest), (406, mercato.BadRequest), (408, mercato.ServerError), (409, mercato.Conflict),
    (412, mercato.Conflict), (413, mercato.BadRequest), (416, mercato.BadRequest), (422, mercato.BadRequest),
    (429, mercato.RateLimited), (500, mercato.ServerError), (503, mercato.ServerError), (302, mercato.StatusError),
])
def test_class_by_status(status: int, kind: type[mercato.StatusError]) -> None:
    error = refused(status, b"", None, None)
    assert type(error) is kind
    assert isinstance(error, mercato.MercatoError)


def test_says_what_to_do() -> None:
    fake = Fake(faults=[answers(400, reason="UNKNOWN_COLUMN", hint="did you mean `id`?", suggestion="id",
                                pointer="/filters/di", errors=[])])
    with pytest.raises(mercato.BadRequest) as caught:
        fake.client().dataset("numbers").query({"di": 1}).to_list()
    error = caught.value
    assert (error.status, error.code, error.reason, error.suggestion, error.pointer, error.request_id) == (
        400, "CODE", "UNKNOWN_COLUMN", "id", "/filters/di", "request-1")
    assert str(error) == "refused; did you mean `id`? [400, CODE, UNKNOWN_COLUMN] (request request-1)"


def test_payment_tells_amounts() -> None:
    fake = Fake(faults=[answers(402, reason="INSUFFICIENT_CREDITS", required=9, available=4, shortfall=5)])
    with pytest.raises(mercato.PaymentRequired) as caught:
        fake.client().dataset("numbers").query().to_list()
    assert (caught.value.required, caught.value.available, caught.value.shortfall) == (9, 4, 5)
    assert len(fake.requests) == 1


@pytest.mark.parametrize("error", [
    mercato.BadRequest(Refusal(400, "m", "C", "r", 1.0, {"reason": "R", "errors": [{"a": 1}]})),
    mercato.RateLimited(Refusal(429, "m", retry_after=3.0)),
    mercato.MaxCreditsExceeded(7, 5),
    mercato.Timeout("late"),
    mercato.IntegrityError("length"),
    mercato.MissingExtra("pyarrow"),
], ids=lambda error: type(error).__name__)
def test_survives_pickling(error: mercato.MercatoError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_pages_of_a_proxy_are_no_details() -> None:
    error = refused(502, b"<html>bad gateway</html>", None, None)
    assert (error.status, error.code, error.reason, str(error)) == (502, None, None, "the server answered 502 [502]")


@pytest.mark.parametrize("content", [b"[]", b"null", b'{"error":[]}', b'{"error":{"details":[],"message":1}}', b"\xff"])
def test_odd_bodies_of_refusals(content: bytes) -> None:
    assert refused(400, content, None, None).details == {}


def test_no_error_holds_the_key() -> None:
    echo = refusal(400, "BAD", f"you sent {KEY}", reason="R", hint=KEY, errors=[KEY])
    fake = Fake(faults=[lambda request: echo])
    client = fake.client(retry=mercato.RetryPolicy(tries=1))
    with pytest.raises(mercato.BadRequest) as refused_:
        client.dataset("numbers").query().to_list()
    fake.faults = [breaks]
    with pytest.raises(mercato.ConnectionError) as cut:
        client.dataset("numbers").query().to_list()
    for error in (refused_.value, cut.value):
        told = "".join(traceback.format_exception(error)) + repr(vars(error)) + str(pickle.dumps(error))
        assert KEY not in told
        assert error.__cause__ is None
    for thing in (client, client.dataset("numbers"), client.dataset("numbers").query(), client._core):
        assert KEY not in repr(thing)


@pytest.mark.parametrize("key", ["mk_\na", "mk_ü", "", "  ", "mk_a b"])
def test_refuses_a_key_that_no_header_holds_without_repeating_it(key: str) -> None:
    with pytest.raises(ValueError, match="API key") as caught:
        mercato.Client(URL, key)
    assert not key.strip() or key not in str(caught.value)


@pytest.mark.parametrize("url", ["mercato.test", "ftp://mercato.test", "http://", "http://a:b@mercato.test",
                                 "http://mercato.test/?a=1"])
def test_refuses_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        mercato.Client(url)


def test_follows_no_redirect_with_the_key() -> None:
    fake = Fake(faults=[lambda request: httpx.Response(302, headers={"Location": "http://elsewhere.test/"})])
    with pytest.raises(mercato.StatusError) as caught:
        fake.client().account()
    assert caught.value.status == 302
    assert len(fake.requests) == 1


@pytest.mark.parametrize("slug", ["", "A", "a/b", "..", "a" * 65, "-a", "a%2fb", "a\n"])
def test_refuses_what_is_no_slug(slug: str) -> None:
    with pytest.raises(ValueError, match="no slug"):
        Fake().client().dataset(slug)


def test_another_server_is_told() -> None:
    fake = Fake(faults=[lambda request: httpx.Response(200, text="<html>hello</html>")])
    with pytest.raises(mercato.UnexpectedAnswer):
        fake.client().account()
