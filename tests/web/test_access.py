"""Every way into the page, for everybody: who is let in where. A way that is not in the table fails the test."""

from typing import Any, get_args

import pytest

from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.web.release_pages import FormName
from tests.support.pages import PASSWORD, WAITING, Pages, Visitor, holder

RELEASE = "/releases/{release_id}/{recipient}"
WHO = ("", "other", "ruiz", "okafor", "officer", "inspector")
"""Nobody; a requester of other releases; the requester; a reviewer, an officer and a regulator."""
SEES = {
    "/": (303, 303, 303, 303, 303, 303),
    "/static/{name}": (200, 200, 200, 200, 200, 200),
    "/sign-in": (200, 303, 303, 303, 303, 303),
    "/releases": (303, 200, 200, 200, 200, 200),
    "/releases/risk": (303, 200, 200, 200, 200, 200),
    "/releases/risk/{recipient}.svg": (303, 404, 200, 200, 200, 200),
    "/releases/queue/{name}": (303, 404, 303, 303, 303, 303),
    RELEASE: (303, 404, 200, 200, 200, 200),
    f"{RELEASE}/documents/{{name}}": (303, 404, 200, 200, 200, 200),
    f"{RELEASE}/figures/{{name}}.svg": (303, 404, 200, 200, 200, 200),
    f"{RELEASE}/vote": (303, 404, 403, 200, 403, 403),
    f"{RELEASE}/revoke": (303, 404, 200, 403, 200, 403),
    f"{RELEASE}/override": (303, 404, 403, 403, 403, 403),
    f"{RELEASE}/reopen": (303, 404, 403, 403, 403, 403),
    f"{RELEASE}/comment": (303, 404, 200, 200, 200, 403),
    f"{RELEASE}/compare": (303, 404, 200, 200, 200, 200),
    f"{RELEASE}/reassessments/{{entry}}": (303, 404, 404, 404, 404, 404),
    f"{RELEASE}/reassessments/{{entry}}/report.pdf": (303, 404, 404, 404, 404, 404),
    "/account": (303, 200, 200, 200, 200, 200),
    "/account/second-factor": (303, 200, 200, 200, 200, 200),
    "/people": (303, 403, 403, 403, 200, 403),
    "/library": (303, 200, 200, 200, 200, 200),
    "/library/enrol/{kind}": (303, 403, 403, 403, 200, 403),
    "/library/{kind}/{name}": (303, 404, 404, 404, 404, 404),
    "/library/{kind}/{name}/text": (303, 404, 404, 404, 404, 404),
    "/ledger": (303, 403, 403, 200, 200, 200),
    "/audit": (303, 403, 403, 403, 200, 200),
}
DOES = {
    f"{RELEASE}/vote": (303, 404, 403, 409, 403, 403),
    f"{RELEASE}/revoke": (303, 404, 409, 403, 409, 403),
    f"{RELEASE}/override": (303, 404, 403, 403, 403, 403),
    f"{RELEASE}/reopen": (303, 404, 403, 403, 403, 403),
    f"{RELEASE}/comment": (303, 404, 409, 409, 409, 403),
    f"{RELEASE}/expire": (303, 404, 403, 403, 403, 403),
    f"{RELEASE}/reassess": (303, 404, 403, 403, 403, 403),
    f"{RELEASE}/explain": (303, 404, 409, 409, 409, 403),
    "/releases/queue/{name}/cancel": (303, 404, 404, 404, 404, 404),
    "/releases/queue/{name}/retry": (303, 404, 404, 404, 404, 404),
    "/releases/queue/{name}/dry-run": (303, 404, 404, 404, 404, 404),
    "/audit": (303, 403, 403, 403, 422, 422),
    "/account/password": (303, 422, 422, 422, 422, 422),
    "/account/second-factor": (303, 422, 422, 422, 422, 422),
    "/account/second-factor/remove": (303, 422, 422, 422, 422, 422),
    "/account/key": (303, 422, 422, 422, 422, 422),
    "/people/accounts": (303, 403, 403, 403, 409, 403),
    "/people/password": (303, 403, 403, 403, 409, 403),
    "/people/disable": (303, 403, 403, 403, 409, 403),
    "/people/enable": (303, 403, 403, 403, 409, 403),
    "/people/reset": (303, 403, 403, 403, 409, 403),
    "/people/tokens": (303, 403, 403, 403, 409, 403),
    "/people/tokens/revoke": (303, 403, 403, 403, 409, 403),
    "/library/enrol/{kind}": (303, 403, 403, 403, 409, 403),
    "/library/{kind}/{name}/end": (303, 403, 403, 403, 404, 403),
    "/sign-out": (303, 303, 303, 303, 303, 303),
}
"""What a form comes to that is of its session and says nothing: 409 and 422 are for those who may."""
OPEN = {"/sign-in"}
"""Forms of those who have no session; ``test_login`` is about them."""


@pytest.fixture
def app(pages: Pages) -> Any:
    Accounts(pages.workspace).add("other", holder("Bela Other", Duty.REQUESTER), [Duty.REQUESTER], PASSWORD)
    return pages.app()


def visitors(app: Any) -> list[Visitor]:
    found = [Visitor(app) for _ in WHO]
    for visitor, login in zip(found, WHO, strict=True):
        if login:
            assert visitor.sign_in(login).status_code == 303
    return found


def ways(app: Any, method: str) -> set[str]:
    return {path for path, methods in app.openapi()["paths"].items() if method in methods}


def place(way: str) -> str:
    name = {"/static/{name}": "style.css", f"{RELEASE}/figures/{{name}}.svg": "risk"}.get(way, "report.pdf")
    name = WAITING if way.startswith("/releases/queue") else name
    return way.format(release_id=WAITING, recipient="university", name=name, entry=1, kind="policy")


@pytest.mark.slow
def test_everybody_sees_what_is_for_them(app: Any) -> None:
    assert {method for methods in app.openapi()["paths"].values() for method in methods} == {"get", "post"}
    one_way = {f"{RELEASE}/{action}" for action in get_args(FormName)}
    assert ways(app, "get") == {f"{RELEASE}/{{action}}" if way in one_way else way for way in SEES}
    everybody = visitors(app)
    unknown = [one.get(place(f"{RELEASE}/expire")).status_code for one in everybody]
    assert unknown == [303, 404, 404, 404, 404, 404]
    assert {way: tuple(one.get(place(way)).status_code for one in everybody) for way in SEES} == SEES


@pytest.mark.slow
def test_everybody_does_what_is_for_him_and_only_with_a_form_of_his_own(app: Any, pages: Pages) -> None:
    assert ways(app, "post") == set(DOES) | OPEN
    everybody = visitors(app)
    before = pages.entries()
    tokens = [one.fields("/releases", 0) if login else {} for one, login in zip(everybody, WHO, strict=True)]
    for way, expected in DOES.items():
        forged = tuple(one.post(place(way), {"csrf": "x" * 43}).status_code for one in everybody)
        assert forged == (303, 403, 403, 403, 403, 403), way
        found = tuple(one.post(place(way), own).status_code for one, own in zip(everybody, tokens, strict=True))
        assert found == expected, way
    assert pages.entries() == before
