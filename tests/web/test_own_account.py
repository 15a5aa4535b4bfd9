"""The page of one's own account: password, second factor, public key; and officers' page of accounts and tokens."""

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from flows.library.enrolment import enrol
from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.people.second_factor import address_of, step_of, text_of
from flows.people.signing import make_key
from flows.people.tokens import RequestTokens
from flows.workspace.actor import acting_as
from tasks.core.errors import BadInput
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import EnrolledPerson
from tasks.ledger.entry import Event
from tests.support.pages import FIRST, NOW, OFFICER, PASSPHRASE, PASSWORD, WAITING, Pages, Visitor, holder
from tests.support.search import files_holding

NEW = "other horses stack staples"
RFC = b"12345678901234567890"
"""Secret of RFC 6238's test vectors."""


def code(secret: bytes, pages: Pages, steps: int = 0) -> str:
    totp = TOTP(secret, 6, SHA1(), 30)  # noqa: S303 - what authenticator apps do
    return totp.generate(int(pages.time().timestamp()) + 30 * steps).decode()


def secret_on(visitor: Visitor) -> bytes:
    shown = re.search(r'<p class="secret"><code>([A-Z2-7 ]+)</code>', visitor.get("/account/second-factor").text)
    assert shown is not None
    return base64.b32decode(shown[1].replace(" ", ""))


def sent(visitor: Visitor, place: str, data: dict[str, str], **options: Any) -> Any:
    own = {"csrf": visitor.fields("/account", 0)["csrf"]}
    return visitor.post(place, own | data, **options)


def set_up(pages: Pages, visitor: Visitor) -> bytes:
    secret = secret_on(visitor)
    answer = sent(visitor, "/account/second-factor", {"code": code(secret, pages), "password": PASSWORD})
    assert answer.status_code == 303
    return secret


def sign_in(visitor: Visitor, login: str, given: str, password: str = PASSWORD) -> int:
    data = visitor.fields("/sign-in") | {"login": login, "password": password, "code": given}
    return int(visitor.post("/sign-in", data).status_code)


def test_one_account_does_not_use_up_the_limit_of_all(pages: Pages) -> None:
    """A right password is given back to the account, and each takes as long as a sign-in."""
    visitor = pages.visitor("okafor")
    change = {"password": PASSWORD, "new": NEW, "again": PASSWORD}
    assert [sent(visitor, "/account/password", change).status_code for _ in range(21)] == [422] * 20 + [429]


@pytest.mark.parametrize(
    ("seconds", "digits"), [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")]
)
def test_codes_are_those_of_rfc_6238(seconds: int, digits: str) -> None:
    """Appendix B, SHA-1, the last six of its eight digits."""
    moment = NOW.fromtimestamp(seconds, NOW.tzinfo)
    assert step_of(RFC, digits, moment, -1) == seconds // 30
    assert step_of(RFC, f"{digits[:3]} {digits[3:]}", moment, -1) == seconds // 30
    assert step_of(RFC, digits, moment, seconds // 30) is None, "it was used"
    for wrong in ("", digits[:5], digits + "0", "٢٨٧٠٨٢"):
        assert step_of(RFC, wrong, moment, -1) is None
    assert step_of(RFC, digits, moment.fromtimestamp(seconds + 61, NOW.tzinfo), -1) is None
    assert text_of(RFC) == "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ"
    assert address_of(RFC, "okafor").startswith("otpauth://totp/releasegate:okafor?")


def test_with_a_second_factor_the_password_alone_signs_nobody_in(pages: Pages) -> None:
    app = pages.app()
    visitor, other = Visitor(app), Visitor(app)
    assert visitor.sign_in("okafor").status_code == 303
    assert other.sign_in("okafor").status_code == 303
    before = visitor.client.cookies["releasegate"]
    secret = set_up(pages, visitor)
    assert visitor.client.cookies["releasegate"] != before, "the session is a new one"
    assert visitor.get("/account").status_code == 200
    assert other.get("/account").status_code == 303, "all others have ended"
    used = code(secret, pages)
    for given in ("", "000000", used, code(secret, pages, -2), code(secret, pages, 2)):
        assert sign_in(other, "okafor", given) == 401, given
    pages.time.passes(seconds=30)
    assert sign_in(other, "okafor", code(secret, pages), "not the password at all") == 401
    assert sign_in(other, "okafor", code(secret, pages)) == 303
    assert sign_in(Visitor(app), "okafor", code(secret, pages)) == 401, "a code counts once"
    pages.time.passes(seconds=30)
    assert sign_in(Visitor(app), "okafor", code(secret, pages)) == 303
    kept = Accounts(pages.workspace).find("okafor")
    assert kept is not None
    assert kept.second_factor is not None
    for told in (text_of(secret).replace(" ", ""), secret.hex()):
        assert files_holding(pages.workspace.root, told) == []
        assert told not in repr(kept)


def test_codes_are_guessed_at_ten_times(pages: Pages) -> None:
    app = pages.app()
    visitor = Visitor(app)
    visitor.sign_in("okafor")
    secret = set_up(pages, visitor)
    pages.time.passes(seconds=60)
    guesses = [Visitor(app, address=f"192.0.2.{number}") for number in range(11)]
    assert [sign_in(one, "okafor", "12345x") for one in guesses] == [401] * 10 + [429]
    assert sign_in(Visitor(app, address="198.51.100.1"), "okafor", code(secret, pages)) == 429
    for _ in range(2):
        answer = sent(visitor, "/account/second-factor/remove", {"code": "12345x", "password": PASSWORD})
    assert answer.status_code == 429


def test_a_second_factor_needs_password_and_code_and_is_removed_with_both(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    secret = secret_on(visitor)
    assert secret_on(visitor) == secret
    for data in ({"code": code(secret, pages), "password": NEW}, {"code": "12345x", "password": PASSWORD}):
        answer = sent(visitor, "/account/second-factor", data)
        assert answer.status_code == 422
        assert NEW not in answer.text
    set_up(pages, visitor)
    assert visitor.get("/account/second-factor").status_code == 303, "no secret is shown again"
    assert (
        sent(visitor, "/account/second-factor", {"code": code(secret, pages), "password": PASSWORD}).status_code == 422
    )
    pages.time.passes(seconds=30)
    assert sent(visitor, "/account/second-factor/remove", {"code": "", "password": PASSWORD}).status_code == 422
    wrong = {"code": code(secret, pages), "password": NEW}
    assert sent(visitor, "/account/second-factor/remove", wrong).status_code == 422
    right = {"code": code(secret, pages), "password": PASSWORD}
    assert sent(visitor, "/account/second-factor/remove", right).status_code == 303
    assert sign_in(pages.visitor(), "okafor", "") == 303


def test_a_secret_of_another_workspace_signs_nobody_in(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    secret = set_up(pages, visitor)
    pages.workspace.key_file.write_bytes(bytes(32))
    pages.time.passes(seconds=60)
    assert sign_in(pages.visitor(), "okafor", code(secret, pages)) == 503


def test_where_the_settings_ask_for_it_nothing_else_is_done_before(pages: Pages) -> None:
    visitor = Visitor(pages.app(second_factor=True))
    assert visitor.sign_in("okafor").status_code == 303
    for place in ("/releases", "/ledger", f"/releases/{WAITING}/university", "/library", "/"):
        answer = visitor.get(place)
        assert (answer.status_code, answer.headers["location"]) in {(303, "/account/second-factor"), (303, "/releases")}
    assert "asks everybody with a password" in visitor.get("/account/second-factor").text
    set_up(pages, visitor)
    assert visitor.get("/releases").status_code == 200


def test_people_change_their_own_password(pages: Pages) -> None:
    app = pages.app()
    visitor, other = Visitor(app), Visitor(app)
    visitor.sign_in("okafor")
    other.sign_in("okafor")
    right = {"password": PASSWORD, "new": NEW, "again": NEW}
    for wrong, says in (
        ({"password": NEW}, "The password is wrong."),
        ({"again": PASSWORD}, "The new passwords differ."),
        ({"new": "short", "again": "short"}, "15 to 256 characters"),
        ({"new": PASSWORD, "again": PASSWORD}, "The password is the same."),
    ):
        answer = sent(visitor, "/account/password", right | wrong)
        assert answer.status_code == 422
        assert says in answer.text
        assert NEW not in answer.text
    assert visitor.post("/account/password", right | {"csrf": "x" * 43}).status_code == 403
    before = visitor.client.cookies["releasegate"]
    assert sent(visitor, "/account/password", right).status_code == 303
    assert visitor.client.cookies["releasegate"] != before
    assert "The password is changed." in visitor.get("/account").text
    assert other.get("/account").status_code == 303, "all other sessions have ended"
    assert Accounts(pages.workspace).check("okafor", PASSWORD) is None
    assert Accounts(pages.workspace).check("okafor", NEW) is not None


def test_the_present_password_is_guessed_at_ten_times(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    data = {"password": NEW, "new": NEW, "again": NEW}
    assert [sent(visitor, "/account/password", data).status_code for _ in range(11)] == [422] * 10 + [429]


def test_an_account_without_a_password_changes_none(pages: Pages) -> None:
    Accounts(pages.workspace).add("sand", EnrolledPerson(id="lise.sand", name="Lise Sand"), ["regulator"], None)  # type: ignore[list-item]
    visitor = Visitor(
        pages.app(proxy_header="x-user", proxies=("127.0.0.1",)), address="127.0.0.1", **{"x-user": "sand"}
    )
    shown = visitor.get("/account").text
    assert "Change the password" not in shown
    assert visitor.get("/account/second-factor").status_code == 303
    assert sent(visitor, "/account/password", {"new": NEW, "again": NEW}).status_code == 403


@contextmanager
def key_of(tmp_path: Path, name: str, *roles: WorkflowRole) -> Iterator[tuple[Path, bytes]]:
    private, public = make_key(name, roles or (WorkflowRole.REVIEWER,), tmp_path / "own.pem", lambda: PASSPHRASE)
    yield private, public.read_bytes()
    for one in (private, public):
        one.unlink()


def test_a_public_key_is_registered_by_upload_and_then_signs_votes(pages: Pages, tmp_path: Path) -> None:
    visitor, place = pages.visitor("okafor"), f"/releases/{WAITING}/university/vote"
    with key_of(tmp_path, FIRST) as (private, public):
        upload = {"key": ("okafor.public.json", public)}
        assert sent(visitor, "/account/key", {"password": NEW}, files=upload).status_code == 422
        assert (
            sent(
                visitor, "/account/key", {"password": PASSWORD}, files={"key": ("k", private.read_bytes())}
            ).status_code
            == 422
        )
        changed = public.replace(b'"reviewer"', b'"officer"')
        assert sent(visitor, "/account/key", {"password": PASSWORD}, files={"key": ("k", changed)}).status_code == 422
        assert sent(visitor, "/account/key", {"password": PASSWORD}, files=upload).status_code == 303
        (entry,) = pages.entries(event=Event.KEY_REGISTERED)
        assert (entry.body["name"], entry.body["roles"], entry.signer) == (FIRST, ["reviewer"], None)
        assert entry.actor == "okafor (reviewer's page)"
        assert "Your key is registered for reviewer" in visitor.get("/account").text
        assert sent(visitor, "/account/key", {"password": PASSWORD}, files=upload).status_code == 422, "one in force"
        vote = visitor.fields(place) | {"vote": "approve", "reason": "as I see it", "passphrase": PASSPHRASE}
        assert visitor.post(place, vote).status_code == 422
        vote |= visitor.fields(place)
        assert visitor.post(place, vote, files={"key": ("own.pem", private.read_bytes())}).status_code == 303
    (voted,) = pages.entries(event=Event.VOTED)
    assert voted.signer == FIRST


def test_nobody_registers_a_key_for_somebody_else(pages: Pages, tmp_path: Path) -> None:
    visitor = pages.visitor("brandt")
    for name, roles in ((FIRST, (WorkflowRole.REVIEWER,)), ("Jan Brandt", (WorkflowRole.OFFICER,))):
        with key_of(tmp_path, name, *roles) as (_, public):
            upload = {"key": ("k.public.json", public)}
            assert sent(visitor, "/account/key", {"password": PASSWORD}, files=upload).status_code == 422
    assert pages.entries(event=Event.KEY_REGISTERED) == ()


def test_an_officer_makes_and_revokes_tokens(pages: Pages) -> None:
    visitor = pages.visitor("officer")
    data = {"person": "ana.ruiz", "login": "ruiz", "purpose": "nightly <export>", "days": "30", "password": PASSWORD}
    once = visitor.fields("/people")
    assert visitor.post("/people/tokens", once | data | {"password": NEW}).status_code == 422
    assert (
        visitor.post("/people/tokens", visitor.fields("/people") | data | {"person": "mary.okafor"}).status_code == 422
    )
    once = visitor.fields("/people")
    answer = visitor.post("/people/tokens", once | data)
    assert answer.status_code == 200
    text = re.search(r"rg_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", answer.text)
    assert text is not None
    assert visitor.post("/people/tokens", once | data).status_code == 409
    (made,) = RequestTokens(pages.workspace).all()
    assert (made.login, made.person, made.by) == ("ruiz", "ana.ruiz", "officer")
    listed = visitor.get("/people").text
    assert text[0] not in listed
    assert "nightly &lt;export&gt;" in listed
    assert files_holding(pages.workspace.root, text[0]) == []
    assert "nightly &lt;export&gt;" in pages.visitor("ruiz").get("/account").text
    assert RequestTokens(pages.workspace).of(text[0], NOW) == made
    assert RequestTokens(pages.workspace).of(text[0], NOW.replace(month=6)) is None, "it has ended"
    revoking = visitor.fields("/people", 1) | {"id": made.id}
    assert visitor.post("/people/tokens/revoke", revoking).status_code == 303
    assert RequestTokens(pages.workspace).of(text[0], NOW) is None


def test_a_token_ends_with_the_enrolment_of_its_person(pages: Pages) -> None:
    tokens = RequestTokens(pages.workspace)
    _, text = tokens.create("ana.ruiz", "ruiz", "export", "operator", clock=pages.time)
    assert tokens.of(text, NOW) is not None
    with acting_as("officer"):
        changed = EnrolledPerson(id="ana.ruiz", name="Ana Ruiz", roles=(), logins=("ruiz",))
        enrol(pages.workspace, [changed], OFFICER, clock=pages.time)
    assert tokens.of(text, NOW) is None


def test_an_officer_removes_the_second_factor_of_somebody_else_only(pages: Pages) -> None:
    visitor, officer = pages.visitor("okafor"), pages.visitor("officer")
    set_up(pages, visitor)
    set_up(pages, officer)
    for login, status in (("officer", 422), ("brandt", 422), ("okafor", 303)):
        data = officer.fields("/people") | {"login": login, "password": PASSWORD}
        assert officer.post("/people/reset", data).status_code == status
    assert visitor.get("/account").status_code == 303
    assert sign_in(pages.visitor(), "okafor", "") == 303


def acted(officer: Visitor, place: str, **data: str) -> Any:
    return officer.post(f"/people/{place}", officer.fields("/people") | {"password": PASSWORD} | data)


def shown_password(answer: Any) -> str:
    assert answer.status_code == 200, answer.text
    found = re.search(r'<p class="secret"><code>([a-z2-7]{5}(?:-[a-z2-7]{5}){3})</code>', answer.text)
    assert found is not None
    return found[1]


def test_an_officer_makes_an_account_whose_holder_chooses_a_password(
    pages: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="releasegate.web")
    officer = pages.visitor("officer")
    data = {"person": "lise.sand", "login": "Sand", "role.reviewer": "yes"}
    assert acted(officer, "accounts", **data | {"role.officer": "yes"}).status_code == 422, "not enrolled as officer"
    assert acted(officer, "accounts", **data | {"password": NEW}).status_code == 422
    assert acted(officer, "accounts", person="lise.sand", login="sand").status_code == 422, "a role is needed"
    password = shown_password(acted(officer, "accounts", **data))
    assert acted(officer, "accounts", **data).status_code == 422, "one account a person"
    assert files_holding(pages.workspace.root, password) == []
    assert password not in caplog.text + officer.get("/people").text
    assert [one.fields["login"] for one in caplog.records if one.message == "account 'Sand' made"] == ["officer"]  # type: ignore[attr-defined]
    visitor = pages.visitor()
    assert sign_in(visitor, "sand", "", password) == 303
    for place in ("/releases", f"/releases/{WAITING}/university", "/ledger", "/account/second-factor"):
        assert visitor.get(place).headers["location"] == "/account#password", place
    assert sent(visitor, "/account/key", {"password": password}).headers["location"] == "/account#password"
    assert "Choose your own below" in visitor.get("/account").text
    chosen = {"password": password, "new": password, "again": password}
    assert sent(visitor, "/account/password", chosen).status_code == 422, "it is the same"
    assert sent(visitor, "/account/password", chosen | {"new": NEW, "again": NEW}).status_code == 303
    assert visitor.get("/releases").status_code == 200
    assert sign_in(pages.visitor(), "sand", "", password) == 401
    made = Accounts(pages.workspace).find("sand")
    assert made is not None
    assert (made.person, made.duties, made.must_change) == ("lise.sand", {Duty.REVIEWER}, False)


def test_an_officer_gives_somebody_else_a_one_time_password(pages: Pages) -> None:
    officer, visitor = pages.visitor("officer"), pages.visitor("okafor")
    assert acted(officer, "password", login="officer").status_code == 422, "the own one takes the present one"
    assert acted(officer, "password", login="nobody").status_code == 422
    password = shown_password(acted(officer, "password", login="okafor"))
    assert visitor.get("/account").status_code == 303, "the session has ended"
    assert sign_in(pages.visitor(), "okafor", "") == 401
    assert sign_in(visitor, "okafor", "", password) == 303
    assert visitor.get("/releases").headers["location"] == "/account#password"


def test_a_one_time_password_ends_after_three_days(pages: Pages) -> None:
    officer, accounts = pages.visitor("officer"), Accounts(pages.workspace)
    answer = acted(officer, "password", login="okafor")
    password, begun = shown_password(answer), pages.time()
    assert f"until {begun + timedelta(days=3):%Y-%m-%d %H:%M} UTC" in answer.text
    assert "one-time password until" in officer.get("/people").text
    late, last = begun + timedelta(days=3), begun + timedelta(days=3, seconds=-1)
    assert accounts.sign_in("okafor", password, "", last) is not None
    assert accounts.sign_in("okafor", password, "", late) is None
    pages.time.now = late
    refused = pages.visitor()
    assert sign_in(refused, "okafor", "", password) == 401
    accounts.set_password("okafor", NEW)
    assert sign_in(refused, "okafor", "", NEW) == 303, "a password of one's own does not end"


def test_an_officer_disables_and_enables_an_account(pages: Pages) -> None:
    officer, visitor = pages.visitor("officer"), pages.visitor("okafor")
    assert acted(officer, "disable", login="okafor").status_code == 303
    assert "The account okafor is disabled." in officer.get("/people").text
    assert sign_in(pages.visitor(), "okafor", "") == 401
    assert acted(officer, "enable", login="okafor").status_code == 303
    assert visitor.get("/account").status_code == 303, "a session from before stays ended"
    assert sign_in(visitor, "okafor", "") == 303


def test_the_last_officer_is_not_disabled(pages: Pages) -> None:
    officer, accounts = pages.visitor("officer"), Accounts(pages.workspace)
    assert acted(officer, "disable", login="OFFICER").status_code == 422, "nobody disables their own"
    with pytest.raises(BadInput, match="no officer could sign in any more"):
        accounts.disable("officer")
    accounts.add("second", holder("Mary Second", Duty.OFFICER), [Duty.OFFICER], PASSWORD)
    accounts.disable("officer")
    with pytest.raises(BadInput, match="no officer could sign in any more"):
        accounts.disable("second")
    assert officer.get("/people").status_code == 303


def test_an_officer_whose_enrolment_has_ended_sees_to_nobody(pages: Pages) -> None:
    visitor = pages.visitor("officer")
    assert visitor.get("/people").status_code == 200
    with acting_as("okafor"):
        gone = EnrolledPerson(id="paul.officer", name=OFFICER, roles=())
        enrol(pages.workspace, [gone.model_copy(update={"id": person_of(pages, OFFICER)})], FIRST, clock=pages.time)
    for place in ("/people", "/library/enrol/policy"):
        assert visitor.get(place).status_code == 403


def person_of(pages: Pages, name: str) -> str:
    found = Accounts(pages.workspace).find("officer")
    assert found is not None
    assert found.name == name
    return found.person
