"""Signing in at an identity provider, one that runs: OpenID Connect with everything that can be wrong about it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import ECKey
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from flows.library.enrolment import enrol
from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.web.provider import SECRET, Provider
from flows.web.rate_limits import Limiter, RateLimits
from flows.workspace.actor import acting_as
from tasks.core.errors import RequestError
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import EnrolledPerson
from tasks.service.settings import ProviderSettings
from tests.support.browser import served
from tests.support.pages import NOW, OFFICER, THIRD, Pages, Visitor
from tests.support.provider import CLIENT, CLIENT_SECRET, TestProvider

ROLES = {"reviewers": ("reviewer",), "leads": ("officer", "regulator"), "auditors": ("regulator",)}
CLAIMS = {"sub": "u-17", "preferred_username": "Sand", "groups": ["staff", "reviewers"], "name": "Mary Okafor"}


@pytest.fixture(scope="module")
def serving() -> Iterator[tuple[str, list[Starlette]]]:
    """The address of a provider, whose application is the last of the list: a server costs more than a test."""
    apps: list[Starlette] = []

    async def current(scope: Scope, receive: Receive, send: Send) -> None:
        await apps[-1](scope, receive, send)

    with served(current) as address:
        yield address, apps


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, serving: tuple[str, list[Starlette]]) -> TestProvider:
    monkeypatch.setenv(SECRET, CLIENT_SECRET)
    found, (address, apps) = TestProvider(dict(CLAIMS), int(NOW.timestamp())), serving
    apps.append(found.app())
    found.issuer = address
    return found


def enrolled(pages: Pages, *roles: WorkflowRole, logins: tuple[str, ...] = ("sand",)) -> None:
    person = EnrolledPerson(id="lise.sand", name=THIRD, roles=roles or (WorkflowRole.REVIEWER,), logins=logins)
    with acting_as("officer"):
        enrol(pages.workspace, [person], OFFICER, clock=pages.time)


def app_of(pages: Pages, provider: TestProvider, **terms: Any) -> Any:
    settings = {"issuer": provider.issuer, "client_id": CLIENT, "title": "Example Health", "roles": ROLES}
    return pages.app(provider=settings, **terms)


def at_provider(visitor: Visitor, place: str = "/ledger") -> str:
    """Path and query that the provider sends the browser back to."""
    left = visitor.get("/sign-in/provider", params={"next": place})
    assert left.status_code == 303
    back = httpx.get(left.headers["location"], follow_redirects=False)
    assert back.status_code == 303
    parts = urlsplit(back.headers["location"])
    assert f"{parts.scheme}://{parts.netloc}" == "http://localhost"
    return f"{parts.path}?{parts.query}"


def test_the_first_sign_in_makes_the_account_of_an_enrolled_person(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    visitor = Visitor(app_of(pages, provider))
    assert "Sign in with Example Health" in visitor.get("/sign-in").text
    back = visitor.get(at_provider(visitor))
    assert back.status_code == 200
    assert 'content="0; url=/ledger"' in back.text
    cookie = SimpleCookie()
    for line in back.headers.get_list("set-cookie"):
        cookie.load(line)
    assert (cookie["releasegate"]["samesite"], cookie["releasegate"]["httponly"]) == ("Strict", True)
    shown = visitor.get("/account").text
    assert "identity provider" in shown
    made = Accounts(pages.workspace).find("sand")
    assert made is not None
    assert (made.person, made.name, made.duties, made.password) == ("lise.sand", THIRD, {Duty.REVIEWER}, None)
    assert Accounts(pages.workspace).check("sand", "") is None
    again = Visitor(app_of(pages, provider))
    assert again.get(at_provider(again)).status_code == 200
    assert len([one for one in Accounts(pages.workspace).all() if one.login == "sand"]) == 1
    assert provider.refusals == []


def test_groups_say_at_each_sign_in_what_somebody_may_do(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages, WorkflowRole.REVIEWER, WorkflowRole.OFFICER)
    app = app_of(pages, provider)
    first = Visitor(app)
    first.get(at_provider(first))
    assert first.get("/people").status_code == 403
    provider.claims["groups"] = ["leads"]
    second = Visitor(app)
    second.get(at_provider(second))
    assert second.get("/people").status_code == 200
    assert first.get("/account").status_code == 303, "the account has changed"
    provider.claims["groups"] = ["staff"]
    third = Visitor(app)
    refused = third.get(at_provider(third))
    assert refused.status_code == 403
    assert "Your groups give you no role here." in refused.text
    kept = Accounts(pages.workspace).find("sand")
    assert kept is not None
    assert not kept.is_open
    assert second.get("/people").status_code == 303


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ({"preferred_username": "nobody"}, "You have no account here."),
        ({"preferred_username": None}, "You have no account here."),
        ({"preferred_username": ["sand"]}, "You have no account here."),
        ({"groups": None}, "Your groups give you no role here."),
        ({"groups": ["leads-of-others"]}, "Your groups give you no role here."),
        ({"groups": "reviewers-not"}, "Your groups give you no role here."),
    ],
)
def test_whom_nobody_has_enrolled_gets_no_account(
    pages: Pages, provider: TestProvider, claims: dict[str, Any], says: str
) -> None:
    enrolled(pages)
    provider.claims |= claims
    visitor = Visitor(app_of(pages, provider))
    refused = visitor.get(at_provider(visitor))
    assert refused.status_code == 403
    assert says in refused.text
    assert visitor.get("/releases").status_code == 303
    assert Accounts(pages.workspace).find("sand") is None


def test_a_group_gives_no_role_that_the_person_is_not_enrolled_in(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    provider.claims["groups"] = ["leads"]
    visitor = Visitor(app_of(pages, provider))
    assert visitor.get(at_provider(visitor)).status_code == 200
    made = Accounts(pages.workspace).find("sand")
    assert made is not None
    assert made.duties == {Duty.REGULATOR}


def rename(provider: TestProvider, login: str, subject: str = "u-17") -> None:
    provider.claims |= {"preferred_username": login, "sub": subject}


def refused(app: Any) -> str:
    """Why the provider's visitor is not signed in."""
    visitor = Visitor(app)
    answer = visitor.get(at_provider(visitor))
    assert answer.status_code == 403
    assert visitor.get("/releases").status_code == 303
    return str(answer.text)


def signed_in(app: Any) -> Visitor:
    visitor = Visitor(app)
    assert visitor.get(at_provider(visitor)).status_code == 200
    return visitor


def enrolled_too(pages: Pages) -> None:
    other = EnrolledPerson(id="rolf.berg", name="Rolf Berg", roles=(WorkflowRole.REVIEWER,), logins=("berg",))
    with acting_as("officer"):
        enrol(pages.workspace, [other], OFFICER, clock=pages.time)


def test_an_identity_stays_that_of_one_person(pages: Pages, provider: TestProvider) -> None:
    """Renaming the login at the provider makes nobody another person, and neither does an operator."""
    enrolled(pages)
    app = app_of(pages, provider)
    signed_in(app)
    enrolled_too(pages)
    rename(provider, "berg")
    assert "The identity provider names another person than before." in refused(app)
    Accounts(pages.workspace).remove("sand")
    assert "The identity provider names another person than before." in refused(app)
    assert Accounts(pages.workspace).find("berg") is None
    rename(provider, "sand")
    signed_in(app)


def test_a_rename_in_two_steps_passes_no_account_on(pages: Pages, provider: TestProvider) -> None:
    """First to a login that is nobody's, then to another person's; and somebody else gets the first login."""
    enrolled(pages)
    enrolled_too(pages)
    app = app_of(pages, provider)
    first = signed_in(app)
    rename(provider, "nobody")
    assert "You have no account here." in refused(app)
    assert first.get("/account").status_code == 303, "the session has ended"
    assert not Accounts(pages.workspace).all()[-1].duties
    rename(provider, "berg")
    assert "The identity provider names another person than before." in refused(app)
    rename(provider, "sand", "u-99")
    assert "Another account has this login or person." in refused(app)
    rename(provider, "berg", "u-99")
    signed_in(app)
    rename(provider, "sand")
    signed_in(app)
    found = {one.login: one for one in Accounts(pages.workspace).all() if one.identity}
    assert {login: (one.person, one.identity.subject) for login, one in found.items() if one.identity} == {
        "sand": ("lise.sand", "u-17"),
        "berg": ("rolf.berg", "u-99"),
    }


def test_a_person_gets_another_identity_once_an_operator_has_removed_the_account(
    pages: Pages, provider: TestProvider
) -> None:
    enrolled(pages)
    app = app_of(pages, provider)
    signed_in(app)
    rename(provider, "sand", "u-99")
    assert "Another account has this login or person." in refused(app)
    Accounts(pages.workspace).remove("sand")
    signed_in(app)
    rename(provider, "sand")
    assert "Another account has this login or person." in refused(app), "one account a person"


def test_an_account_without_roles_is_not_signed_in_by_a_proxy_either(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    app = app_of(pages, provider, proxy_header="x-login", proxies=["127.0.0.1"])
    signed_in(app)
    provider.claims["groups"] = []
    refused(app)
    named = Visitor(app, address="127.0.0.1", **{"x-login": "sand"})
    assert "You have no account" in named.get("/releases").text


def test_a_disabled_account_is_not_signed_in_by_the_provider(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    app = app_of(pages, provider)
    first = signed_in(app)
    Accounts(pages.workspace).disable("sand")
    assert "The account is disabled." in refused(app)
    Accounts(pages.workspace).enable("sand")
    signed_in(app)
    assert first.get("/account").status_code == 303, "a session from before stays ended"


def test_answers_of_one_address_do_not_lock_out_others(pages: Pages, provider: TestProvider) -> None:
    app = app_of(pages, provider)
    app.state.site = replace(app.state.site, limits=RateLimits(address=Limiter(3, 900), everybody=Limiter(5, 60)))
    one = Visitor(app, address="192.0.2.1")
    assert [one.get("/sign-in/provider/answer").status_code for _ in range(8)] == [403] * 3 + [429] * 5
    assert Visitor(app, address="192.0.2.2").get("/sign-in/provider/answer").status_code == 403


def test_a_sign_in_that_succeeds_does_not_count(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    app = app_of(pages, provider)
    app.state.site = replace(app.state.site, limits=RateLimits(address=Limiter(2, 900)))
    for _ in range(3):
        visitor = Visitor(app)
        assert visitor.get(at_provider(visitor)).status_code == 200


def test_the_provider_takes_no_account_over(pages: Pages, provider: TestProvider) -> None:
    with acting_as("officer"):
        okafor = EnrolledPerson(
            id="mary.okafor", name="Mary Okafor", roles=(WorkflowRole.REVIEWER,), logins=("okafor",)
        )
        enrol(pages.workspace, [okafor], OFFICER, clock=pages.time)
    provider.claims["preferred_username"] = "okafor"
    app = app_of(pages, provider)
    visitor = Visitor(app)
    assert visitor.get(at_provider(visitor)).status_code == 403
    assert Visitor(app).sign_in("okafor").status_code == 303, "its password is as before"
    enrolled(pages)
    provider.claims["preferred_username"] = "sand"
    assert visitor.get(at_provider(visitor)).status_code == 200
    provider.claims["sub"] = "another person with the login"
    assert visitor.get(at_provider(visitor)).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another client"},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"iss": "http://127.0.0.1:1"},
        {"exp": int(NOW.timestamp()) - 61},
        {"exp": None},
        {"iat": int(NOW.timestamp()) + 3600},
        {"sub": ""},
        {"sub": None},
    ],
)
def test_an_id_token_of_anything_else_signs_nobody_in(
    pages: Pages, provider: TestProvider, wrong: dict[str, Any]
) -> None:
    enrolled(pages)
    provider.wrong = wrong
    visitor = Visitor(app_of(pages, provider))
    assert visitor.get(at_provider(visitor)).status_code == 503
    assert visitor.get("/releases").status_code == 303
    assert Accounts(pages.workspace).find("sand") is None


@pytest.mark.filterwarnings("ignore:JWS algorithm")
@pytest.mark.parametrize("by", ["nothing", "shared secret", "another key"])
def test_an_id_token_that_the_provider_has_not_signed_signs_nobody_in(
    pages: Pages, provider: TestProvider, by: str
) -> None:
    enrolled(pages)
    provider.by = by
    visitor = Visitor(app_of(pages, provider))
    assert visitor.get(at_provider(visitor)).status_code == 503
    assert visitor.get("/releases").status_code == 303


def test_new_keys_of_the_provider_are_read(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    visitor = Visitor(app_of(pages, provider))
    assert visitor.get(at_provider(visitor)).status_code == 200
    provider.key = ECKey.generate_key("P-256", {"kid": "two"})
    assert visitor.get(at_provider(visitor)).status_code == 200


def test_an_answer_counts_in_the_browser_that_began_and_once(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    app = app_of(pages, provider)
    visitor, victim = Visitor(app), Visitor(app)
    answer = at_provider(visitor)
    assert victim.get(answer).status_code == 403, "it has begun nothing"
    at_provider(victim)
    assert victim.get(answer).status_code == 403, "another one's answer"
    cookie = visitor.client.cookies["releasegate-provider"]
    assert visitor.get(answer).status_code == 200
    assert visitor.get(answer).status_code == 403, "the cookie is gone"
    again = Visitor(app)
    again.client.cookies.set("releasegate-provider", cookie)
    assert again.get(answer).status_code == 503, "the provider takes a code once"
    assert provider.refusals == ["code"]
    late = Visitor(app)
    answer = at_provider(late)
    pages.time.passes(seconds=601)
    assert late.get(answer).status_code == 403


@pytest.mark.parametrize("change", ["error=access_denied", "iss=http%3A%2F%2F127.0.0.1%3A1", "code="])
def test_a_refusal_signs_nobody_in(pages: Pages, provider: TestProvider, change: str) -> None:
    enrolled(pages)
    visitor = Visitor(app_of(pages, provider))
    state = parse_qs(urlsplit(at_provider(visitor)).query)["state"][0]
    query = f"state={state}&{change}" + ("&code=x" if change.startswith("iss") else "")
    assert visitor.get(f"/sign-in/provider/answer?{query}").status_code == 403
    assert visitor.get("/releases").status_code == 303


def test_nothing_of_the_provider_is_in_pages_or_logs(
    pages: Pages, provider: TestProvider, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    enrolled(pages)
    monkeypatch.setenv(SECRET, "wrongcanary")
    visitor = Visitor(app_of(pages, provider))
    answer = visitor.get(at_provider(visitor))
    assert answer.status_code == 503
    assert provider.refusals == ["client"]
    assert "canary" not in answer.text + caplog.text
    assert "canary" not in repr(Provider(ProviderSettings(issuer="https://a", client_id="b", roles=ROLES), pages.time))


def test_a_description_of_another_issuer_is_not_believed(pages: Pages, provider: TestProvider) -> None:
    provider.named = "https://id.example.org"
    assert Visitor(app_of(pages, provider)).get("/sign-in/provider").status_code == 503


def test_where_to_go_next_is_a_page_of_this_site(pages: Pages, provider: TestProvider) -> None:
    enrolled(pages)
    visitor = Visitor(app_of(pages, provider))
    back = visitor.get(at_provider(visitor, "https://evil.example"))
    assert re.search(r'url=([^"]+)"', back.text) is not None
    assert "evil" not in back.text


def test_without_a_provider_there_is_no_way_to_one(pages: Pages) -> None:
    visitor = pages.visitor()
    assert visitor.get("/sign-in/provider").status_code == 404
    assert "Sign in with" not in visitor.get("/sign-in").text


def test_an_issuer_elsewhere_is_reached_by_https_only() -> None:
    with pytest.raises((RequestError, ValueError), match="https"):
        ProviderSettings(issuer="http://id.example.org", client_id="b", roles=ROLES)
    with pytest.raises((RequestError, ValueError), match="openid"):
        ProviderSettings(issuer="https://id.example.org", client_id="b", roles=ROLES, scopes=("profile",))
