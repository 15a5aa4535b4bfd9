"""Signing in and out, with whatever can be wrong about it; and whom a proxy signs in."""

from dataclasses import replace
from http.cookies import SimpleCookie
from typing import Any

import pytest

from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.web.rate_limits import Limiter, RateLimits
from tests.support.pages import PASSWORD, STEWARD, Pages, Visitor, hidden, holder

OTHERS = "other horses stack staples"
TOO_LONG = "x" * 300
"""Cannot be a password, so that no time is spent on its hash; it counts as a wrong one."""


def cookies(answer: Any) -> SimpleCookie:
    found = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        found.load(line)
    return found


def test_every_page_asks_to_sign_in_and_leads_back(pages: Pages) -> None:
    visitor = pages.visitor()
    for place, back in (
        ("/", None),
        ("/releases", "%2Freleases"),
        ("/ledger?person=Ana", "%2Fledger%3Fperson%3DAna"),
        ("/audit", "%2Faudit"),
    ):
        answer = visitor.get(place)
        assert answer.status_code == 303
        assert answer.headers["location"] == (f"/sign-in?next={back}" if back else "/releases")
    data = visitor.fields("/sign-in?next=%2Fledger%3Fperson%3DAna") | {"login": "okafor", "password": PASSWORD}
    assert visitor.post("/sign-in", data).headers["location"] == "/ledger?person=Ana"
    assert visitor.get("/sign-in").headers["location"] == "/releases"


@pytest.mark.parametrize(
    "place", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/sign-out", "/api/x"]
)
def test_nobody_is_led_elsewhere(pages: Pages, place: str) -> None:
    visitor = pages.visitor()
    data = visitor.fields("/sign-in") | {"login": "okafor", "password": PASSWORD, "next": place}
    assert visitor.post("/sign-in", data).headers["location"] == "/releases"


def test_the_session_is_new_hidden_from_scripts_and_strict(pages: Pages) -> None:
    visitor = pages.visitor()
    visitor.client.cookies.set("releasegate", "planted")
    (cookie,) = (one for name, one in cookies(visitor.sign_in("okafor")).items() if name == "releasegate")
    assert cookie.value != "planted"
    assert len(cookie.value) >= 43
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
    visitor.client.cookies.clear()
    assert cookies(visitor.sign_in("okafor"))["releasegate"].value != cookie.value


def test_behind_tls_the_cookie_goes_by_tls_only(pages: Pages) -> None:
    visitor = pages.visitor(https=True, hosts=("localhost", "gate.example.org"))
    cookie = cookies(visitor.sign_in("okafor"))["__Host-releasegate"]
    assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
    assert visitor.get("/releases").headers["strict-transport-security"].startswith("max-age=")


def test_a_wrong_password_tells_nothing_of_the_account(pages: Pages) -> None:
    visitor = pages.visitor()
    answers = [visitor.sign_in(login, OTHERS) for login in ("okafor", "nobody-of-this-name", "ruiz")]
    assert {answer.status_code for answer in answers} == {401}
    texts = {
        answer.text.replace(login, "").replace(hidden(answer.text)["csrf"], "")
        for answer, login in zip(answers, ("okafor", "nobody-of-this-name", "ruiz"), strict=True)
    }
    assert len(texts) == 1
    assert OTHERS not in answers[0].text
    assert "releasegate" not in cookies(answers[0])


def test_a_form_without_its_cookie_or_token_is_refused(pages: Pages) -> None:
    visitor = pages.visitor()
    data = visitor.fields("/sign-in") | {"login": "okafor", "password": PASSWORD}
    assert visitor.post("/sign-in", data | {"csrf": "0" * 64}).status_code == 403
    for origin in ("https://evil.example", "http://[::1", "null"):
        assert visitor.post("/sign-in", data, headers={"origin": origin}).status_code == 403
    assert visitor.post("/sign-in", data, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    visitor.client.cookies.clear()
    assert visitor.post("/sign-in", data).status_code == 403


def test_a_form_that_is_longer_than_it_says_is_broken_off(pages: Pages) -> None:
    """As a body in chunks may be, whatever length stands beside it; it could fill a disk before anybody signs in."""
    visitor = pages.visitor()
    read = 0

    def parts() -> Any:
        nonlocal read
        yield b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
        for _ in range(100):
            read += 1
            yield b"a" * 1024

    short = {"content-type": "multipart/form-data; boundary=x", "content-length": "10"}
    assert visitor.client.post("/sign-in", content=parts(), headers=short).status_code == 413
    plain = {"content-type": "application/x-www-form-urlencoded", "content-length": "10"}
    assert visitor.client.post("/sign-in", content=iter([b"a=" + b"a" * 40_000]), headers=plain).status_code == 413


def test_one_account_is_guessed_at_ten_times_from_wherever(pages: Pages) -> None:
    app = pages.app()
    told = [Visitor(app, address=f"192.0.2.{number}").sign_in("okafor", TOO_LONG).status_code for number in range(12)]
    assert told == [401] * 10 + [429] * 2
    late = Visitor(app, address="198.51.100.1")
    refused = late.sign_in("okafor")
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 900
    assert late.sign_in("brandt").status_code == 303
    pages.time.passes(minutes=15)
    assert late.sign_in("okafor").status_code in {303, 200}


def test_one_address_guesses_thirty_times_at_whichever_account(pages: Pages) -> None:
    app = pages.app()
    visitor = Visitor(app, address="192.0.2.1")
    told = [visitor.sign_in(f"guess{number}", TOO_LONG).status_code for number in range(31)]
    assert told == [401] * 30 + [429]
    assert Visitor(app, address="192.0.2.2").sign_in("okafor").status_code == 303


def test_all_together_have_a_limit_that_nobody_uses_up_who_is_refused(pages: Pages) -> None:
    app = pages.app()
    limits = RateLimits(address=Limiter(2, 900), everybody=Limiter(4, 60))
    app.state.site = replace(app.state.site, limits=limits)
    one = Visitor(app, address="192.0.2.1")
    assert [one.sign_in("okafor", TOO_LONG).status_code for _ in range(8)] == [401] * 2 + [429] * 6
    others = [Visitor(app, address=f"198.51.100.{number}") for number in range(3)]
    assert [other.sign_in("brandt").status_code for other in others] == [303, 303, 429]
    assert limits.login.take("brandt", pages.time()) == 0
    pages.time.passes(minutes=1)
    assert others[2].sign_in("brandt").status_code == 303
    fresh = Visitor(app, address="198.51.100.9")
    assert fresh.sign_in("okafor").status_code == 303, "of eight wrong ones six were not tried"


def test_right_passwords_do_not_count(pages: Pages) -> None:
    app = pages.app()
    assert {Visitor(app).sign_in("okafor").status_code for _ in range(12)} == {303}


def test_signing_out_ends_the_session(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    token = visitor.client.cookies["releasegate"]
    assert visitor.post("/sign-out", {"csrf": "wrong"}).status_code == 403
    assert visitor.get("/releases").status_code == 200
    assert visitor.post("/sign-out", visitor.fields("/releases", 0)).headers["location"] == "/sign-in"
    visitor.client.cookies.set("releasegate", token)
    assert visitor.get("/releases").status_code == 303


def test_sessions_end_when_they_are_not_used_and_in_any_case(pages: Pages) -> None:
    visitor = pages.visitor("okafor", idle_minutes=15, longest_hours=1)
    pages.time.passes(minutes=14)
    assert visitor.get("/releases").status_code == 200
    pages.time.passes(minutes=16)
    assert visitor.get("/releases").status_code == 303
    expired = visitor.get("/ledger", headers={"hx-request": "true"})
    assert (expired.status_code, expired.headers["hx-redirect"]) == (401, "/sign-in?next=%2Fledger")


def test_a_session_ends_with_its_account(pages: Pages) -> None:
    app, accounts = pages.app(), Accounts(pages.workspace)
    removed, changed = Visitor(app), Visitor(app)
    removed.sign_in("okafor")
    changed.sign_in("brandt")
    accounts.remove("okafor")
    accounts.set_password("brandt", OTHERS)
    assert removed.get("/releases").status_code == 303
    assert changed.get("/releases").status_code == 303


def test_accounts_that_cannot_be_read_sign_nobody_in(pages: Pages) -> None:
    visitor = pages.visitor()
    data = visitor.fields("/sign-in") | {"login": "okafor", "password": PASSWORD}
    (pages.workspace.private / "accounts.json").chmod(0o644)
    answer = visitor.post("/sign-in", data)
    assert answer.status_code == 503
    assert "cannot be trusted. Try again later; if it remains so, tell the operator of the gate." in answer.text
    assert str(pages.workspace.root) not in answer.text


PROXY = {"proxy_header": "Remote-User", "proxies": ("10.0.0.0/24",)}


def test_a_proxy_is_believed_from_its_own_addresses_only(pages: Pages) -> None:
    app = pages.app(**PROXY)
    named = {"Remote-User": "Okafor"}
    through = Visitor(app, address="10.0.0.7")
    assert through.get("/releases", headers=named).status_code == 200
    assert Visitor(app, address="::ffff:10.0.0.7").get("/releases", headers=named).status_code == 200
    for elsewhere in ("192.0.2.1", "::ffff:192.0.2.1", "::10.0.0.7", "testclient"):
        assert Visitor(app, address=elsewhere).get("/releases", headers=named).status_code == 303
    assert Visitor(app, address="10.0.0.7").get("/releases").status_code == 303
    assert Visitor(app, address="10.0.0.7").get("/releases", headers={"Remote-User": "stranger"}).status_code == 403
    twice = [("Remote-User", "okafor"), ("Remote-User", "ruiz")]
    assert Visitor(app, address="10.0.0.7").client.get("/releases", headers=twice).status_code == 400
    assert Visitor(pages.app(), address="10.0.0.7").get("/releases", headers=named).status_code == 303


def test_whom_a_proxy_signed_in_is_who_it_names_now(pages: Pages) -> None:
    Accounts(pages.workspace).add("sand", holder("Lise Sand", Duty.REVIEWER), [Duty.REVIEWER], None)
    visitor = Visitor(pages.app(**PROXY), address="10.0.0.7")
    assert "Lise Sand" in visitor.get("/releases", headers={"Remote-User": "sand"}).text
    assert visitor.get("/releases").status_code == 303, "the proxy names nobody any more"
    visitor.get("/releases", headers={"Remote-User": "sand"})
    other = visitor.get("/releases", headers={"Remote-User": "ruiz"}).text
    assert STEWARD in other
    assert "Lise Sand" not in other


def test_forms_of_somebody_whom_a_proxy_signs_in_are_checked_too(pages: Pages) -> None:
    visitor = Visitor(pages.app(**PROXY), address="10.0.0.7")
    named = {"Remote-User": "okafor"}
    visitor.get("/releases", headers=named)
    assert visitor.post("/sign-out", {"csrf": "wrong"}, headers=named).status_code == 403


def test_a_proxy_tells_the_address_that_is_counted(pages: Pages) -> None:
    app = pages.app(**PROXY)
    visitor = Visitor(app, address="10.0.0.7")
    for number in range(30):
        spoofed = f"198.51.100.{number}, 192.0.2.1"
        assert visitor.sign_in(f"guess{number}", TOO_LONG, **{"x-forwarded-for": spoofed}).status_code == 401
    assert visitor.sign_in("okafor", **{"x-forwarded-for": "198.51.100.99, 192.0.2.1"}).status_code == 429
    assert visitor.sign_in("okafor", **{"x-forwarded-for": "192.0.2.2"}).status_code == 303
