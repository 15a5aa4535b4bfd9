"""Votes and revocations on the page: blind, once, signed, by those who may; and everything that is refused."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from flows.actions.reviewing import cast_vote, overview
from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.people.signing import PASSPHRASE as VARIABLE
from flows.releases.cases import ReleaseAction
from flows.workspace.actor import acting_as
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.states import State
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tests.support import records
from tests.support.pages import (
    DESK,
    FIRST,
    NOW,
    OFFICER,
    PASSPHRASE,
    PASSWORD,
    SECOND,
    STEWARD,
    THIRD,
    WAITING,
    Pages,
    Visitor,
    hidden,
    holder,
    publish_release,
)
from tests.support.search import files_holding

RELEASE = f"/releases/{WAITING}/university"
REASON = "Zwölfreason: risks are below our bound"
VOTE = {"vote": "approve", "reason": REASON}


def test_votes_wait_for_the_signature_of_the_expert(pages: Pages) -> None:
    name = "5" * 64
    publish_release(pages.workspace, name, records.changed(records.awaiting_review(), expert_signs=True), NOW)
    visitor, place = pages.visitor("okafor"), f"/releases/{name}/university"
    shown, queue = visitor.get(place).text, visitor.get("/releases").text
    for page in (shown, queue):
        assert "technically passed, awaiting the expert&#39;s signature" in page.casefold()
    assert "You have no vote here: votes wait for the expert&#39;s signature on the determination." in shown
    assert visitor.get(f"{place}/vote").status_code == 403
    with open_ledger(pages.workspace) as ledger:
        digest = ledger.entries(release_id=name, event=Event.DECIDED)[-1].body["record_sha256"]
        hashes = dict.fromkeys(("report_sha256", "signed_sha256", "certificate_sha256"), "0" * 64)
        body = bodies.signed(by=None, record_sha256=str(digest), subject="CN=Expert", **hashes)
        ledger.append(Event.SIGNED, release_id=name, recipient="university", actor="x", body=body, at=NOW)
    shown = visitor.get(place).text
    assert "The release is now awaiting review." in shown
    assert visitor.get(f"{place}/vote").status_code == 200


def cast(visitor: Visitor, *, key: Path | None = None, **fields: str) -> Any:
    data = visitor.fields(f"{RELEASE}/vote") | VOTE | fields
    files = {"key": ("key.pem", key.read_bytes(), "application/x-pem-file")} if key else None
    return visitor.post(f"{RELEASE}/vote", data, files=files)


def revoke(visitor: Visitor, **fields: str) -> Any:
    data = visitor.fields(f"{RELEASE}/revoke") | {"reason": "Agreement broken", "sure": "yes"} | fields
    return visitor.post(f"{RELEASE}/revoke", data)


def state(pages: Pages) -> State:
    (one,) = overview(WAITING, pages.workspace, clock=pages.time)
    return one.case.standing.state


def events(pages: Pages) -> list[str]:
    return [entry.event.value for entry in pages.entries(release_id=WAITING)]


def test_two_votes_release_and_none_is_seen_before(pages: Pages) -> None:
    app = pages.app()
    first, second = Visitor(app), Visitor(app)
    first.sign_in("okafor")
    second.sign_in("brandt")
    answer = cast(first)
    assert (answer.status_code, answer.headers["location"]) == (303, RELEASE)
    told = first.get(RELEASE).text
    assert "Your vote was counted: 1 of 2." in told
    assert "This was the verdict of the gate" not in told
    assert "Your vote was counted" not in first.get(RELEASE).text, "it is told once"
    for visitor, place in ((first, RELEASE), (second, RELEASE), (second, "/ledger"), (second, f"{RELEASE}/vote")):
        page = visitor.get(place).text
        assert "Zwölfreason" not in page
        assert f"{FIRST}</strong> voted" not in page
    assert FIRST in second.get(RELEASE).text
    assert files_holding(pages.workspace.root, "Zwölfreason") == []
    assert "Nothing awaits review." not in first.get("/releases").text
    assert "none of them needs your vote" in first.get("/releases").text
    assert cast(second).status_code == 303
    last = second.get(RELEASE).text
    assert "The release is now approved and delivered." in last
    assert "This was the verdict of the gate on 15 March 2026. The release is now approved and delivered." in last
    assert "Zwölfreason" in last
    assert state(pages) is State.RELEASED
    assert events(pages)[-6:] == ["voted", "voted", "reviewed", "reviewed", "approved", "released"]
    with open_ledger(pages.workspace) as ledger:
        assert verify_bundle(pages.workspace.bundle(WAITING), ledger).delivered == ("university",)
    certificate = second.get(f"{RELEASE}/documents/certificate.pdf")
    assert certificate.content.startswith(b"%PDF")
    assert second.get(f"{RELEASE}/documents/approval.json").status_code == 200
    assert second.get(f"{RELEASE}/documents/after-review.pdf").content.startswith(b"%PDF")
    assert f"{RELEASE}/documents/after-review.pdf" in last
    (pages.workspace.bundle(WAITING) / "certificate/university.pdf").write_bytes(b"%PDF another")
    assert second.get(f"{RELEASE}/documents/certificate.pdf").status_code == 500


def test_votes_at_the_same_moment_release_once(pages: Pages) -> None:
    app = pages.app()
    voters = []
    for login in ("okafor", "brandt"):
        visitor = Visitor(app)
        visitor.sign_in(login)
        voters.append((visitor, visitor.fields(f"{RELEASE}/vote") | VOTE))
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(visitor.post, f"{RELEASE}/vote", data) for visitor, data in voters * 2]
    assert sorted(one.result().status_code for one in sent) == [303, 303, 409, 409], "each form counts once"
    assert events(pages)[-6:] == ["voted", "voted", "reviewed", "reviewed", "approved", "released"]
    assert len(events(pages)) == 9
    assert state(pages) is State.RELEASED


def test_one_vote_to_reject_rejects(pages: Pages) -> None:
    assert cast(pages.visitor("okafor"), vote="reject").status_code == 303
    assert cast(pages.visitor("brandt")).status_code == 303
    assert state(pages) is State.BLOCKED


def test_the_ledger_names_the_account_beside_the_person(pages: Pages) -> None:
    cast(pages.visitor("okafor"))
    (entry,) = pages.entries(event=Event.VOTED)
    assert (entry.body["reviewer"], entry.actor, entry.signer) == (FIRST, "okafor (reviewer's page)", None)
    assert entry.at == pages.time()


def test_a_vote_may_be_replaced_until_all_are_in(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    cast(visitor, vote="reject")
    assert "A new vote replaces it." in visitor.get(f"{RELEASE}/vote").text
    cast(visitor)
    assert "Your new vote was counted: 1 of 2." in visitor.get(RELEASE).text
    cast(pages.visitor("brandt"))
    assert state(pages) is State.RELEASED


def test_a_form_that_is_sent_twice_counts_once(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    data = visitor.fields(f"{RELEASE}/vote") | VOTE
    assert visitor.post(f"{RELEASE}/vote", data).status_code == 303
    again = visitor.post(f"{RELEASE}/vote", data | {"vote": "reject"})
    assert again.status_code == 409
    assert "sent already" in again.text
    assert len(pages.entries(event=Event.VOTED)) == 1


def test_a_form_of_another_session_is_refused(pages: Pages) -> None:
    app = pages.app()
    first, second = Visitor(app), Visitor(app)
    first.sign_in("okafor")
    second.sign_in("brandt")
    data = first.fields(f"{RELEASE}/vote") | VOTE
    assert second.post(f"{RELEASE}/vote", data).status_code == 403
    own = second.fields(f"{RELEASE}/vote")
    assert second.post(f"{RELEASE}/vote", data | {"csrf": own["csrf"]}).status_code == 409
    for spoiled in ({"csrf": ""}, {"csrf": "ümlaut"}):
        assert first.post(f"{RELEASE}/vote", data | spoiled).status_code == 403
    evil = {"origin": "https://evil.example"}
    assert first.post(f"{RELEASE}/vote", data, headers=evil).status_code == 403
    assert first.post(f"{RELEASE}/vote", data, headers={"sec-fetch-site": "same-site"}).status_code == 403
    assert first.post(f"{RELEASE}/vote", data, headers={"origin": "null"}).status_code == 403
    assert events(pages) == ["requested", "decided", "published"]
    assert first.post(f"{RELEASE}/vote", data, headers={"origin": "http://localhost"}).status_code == 303


def test_a_vote_is_about_the_record_that_was_shown(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    answer = cast(visitor, record="0" * 64)
    assert answer.status_code == 409
    assert "differs from the one that the form showed" in answer.text
    assert pages.entries(event=Event.VOTED) == ()


@pytest.mark.parametrize("action", ["vote", "revoke"])
def test_a_form_is_about_the_release_as_it_was_shown(pages: Pages, action: str) -> None:
    visitor = pages.visitor("okafor" if action == "vote" else "officer")
    place, words = f"{RELEASE}/{action}", VOTE | {"sure": "yes"}
    before, aside = visitor.fields(place), visitor.fields(place)
    assert cast(pages.visitor("brandt")).status_code == 303
    with open_ledger(pages.workspace) as ledger:
        ledger.append(Event.TRACED, release_id=WAITING, recipient=None, actor="tests", body={}, at=pages.time())
    told = visitor.post(place, before | words)
    assert told.status_code == 409
    assert "differs from the one that the form showed" in told.text
    assert visitor.post(place, aside | words | {"last": before["last"][::-1]}).status_code == 409
    assert visitor.post(place, visitor.fields(place) | words).status_code == 303


def test_a_vote_of_somebody_else_spoils_no_form(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    data = visitor.fields(f"{RELEASE}/vote") | VOTE
    assert cast(pages.visitor("brandt")).status_code == 303
    assert visitor.post(f"{RELEASE}/vote", data).status_code == 303
    assert state(pages) is State.RELEASED


def test_who_may_not_vote_is_refused_whatever_is_sent(pages: Pages) -> None:
    accounts = Accounts(pages.workspace)
    accounts.add("stranger", holder("Somebody Else", Duty.REVIEWER), [Duty.REVIEWER], PASSWORD)
    accounts.remove("ruiz")
    accounts.add("ruiz", holder("ana  RUIZ", Duty.REQUESTER, Duty.REVIEWER), [Duty.REQUESTER, Duty.REVIEWER], PASSWORD)
    app = pages.app()
    template = Visitor(app)
    template.sign_in("okafor")
    seen = {name: value for name, value in template.fields(f"{RELEASE}/vote").items() if name in {"record", "last"}}
    for login, status in (("inspector", 403), ("officer", 403), ("stranger", 422), ("ruiz", 422)):
        visitor = Visitor(app)
        visitor.sign_in(login)
        assert visitor.get(f"{RELEASE}/vote").status_code == 403
        csrf = visitor.fields("/releases", 0)["csrf"]
        session = next(iter(s for s in app.state.site.sessions._sessions.values() if s.csrf == csrf))
        data = VOTE | {"csrf": csrf, "once": session.issue()} | seen
        answer = visitor.post(f"{RELEASE}/vote", data)
        assert answer.status_code == status, login
        if login == "ruiz":
            assert "The requester of a release may not review it." in answer.text
    assert pages.entries(event=Event.VOTED) == ()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"vote": ""}, "No vote was chosen."),
        ({"vote": "abstain"}, "No vote was chosen."),
        ({"reason": "  "}, "The reason cannot be recorded."),
        ({"reason": "x" * 2001}, "The reason cannot be recorded."),
        ({"reason": "a\x00b"}, "The reason cannot be recorded."),
    ],
)
def test_what_cannot_be_a_vote_is_told_and_may_be_corrected(pages: Pages, fields: dict[str, str], told: str) -> None:
    visitor = pages.visitor("okafor")
    answer = cast(visitor, **fields)
    assert answer.status_code == 422
    assert told in answer.text
    assert 'role="alert"' in answer.text
    form = answer.text[answer.text.index('<form method="post" enctype') :]
    assert visitor.post(f"{RELEASE}/vote", hidden(form) | VOTE).status_code == 303


def test_whoever_has_a_key_signs_with_it(pages: Pages) -> None:
    key = pages.key(FIRST)
    visitor = pages.visitor("okafor")
    assert "recorded only with your signature" in visitor.get(f"{RELEASE}/vote").text
    assert cast(visitor, key=key, passphrase=PASSPHRASE).status_code == 303
    (entry,) = pages.entries(event=Event.VOTED)
    assert entry.signer == FIRST
    assert files_holding(pages.workspace.root, PASSPHRASE) == []
    content = key.read_text().splitlines()[2]
    assert files_holding(pages.workspace.root, content) == []


def test_a_key_that_does_not_fit_signs_nothing(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    key, other = pages.key(FIRST), pages.key(SECOND)
    monkeypatch.setenv(VARIABLE, PASSPHRASE)
    visitor = pages.visitor("okafor")
    for sent, passphrase, told in (
        (None, PASSPHRASE, "The private key is missing."),
        (key, "qualm passphrase", "The private key cannot be opened."),
        (other, PASSPHRASE, "The private key is not the registered one."),
    ):
        answer = cast(visitor, key=sent, passphrase=passphrase)
        assert answer.status_code == 422
        assert told in answer.text
        assert passphrase not in answer.text
    assert pages.entries(event=Event.VOTED) == ()


def test_a_key_on_the_gates_own_disk_is_not_used(pages: Pages, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A key that lies where the command would look for it signs nobody's vote on the page."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, PASSPHRASE)
    key = pages.key(FIRST)
    (tmp_path / ".releasegate").mkdir(exist_ok=True)
    key.rename(tmp_path / ".releasegate" / "mary-okafor.pem")
    assert cast(pages.visitor("okafor")).status_code == 422


def test_a_key_of_another_role_does_not_vote(pages: Pages) -> None:
    key = pages.key(FIRST, WorkflowRole.OFFICER)
    answer = cast(pages.visitor("okafor"), key=key, passphrase=PASSPHRASE)
    assert answer.status_code == 422
    assert pages.entries(event=Event.VOTED) == ()


def test_only_signed_votes_where_the_page_is_set_so(pages: Pages) -> None:
    visitor = pages.visitor("okafor", signed_only=True)
    assert "nly signed votes" in visitor.get(f"{RELEASE}/vote").text
    assert cast(visitor).status_code == 422
    assert pages.entries(event=Event.VOTED) == ()


def test_too_large_or_odd_forms_are_refused(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    data = visitor.fields(f"{RELEASE}/vote") | VOTE
    big = {"key": ("key.pem", b"x" * 40_000, "application/x-pem-file")}
    assert visitor.post(f"{RELEASE}/vote", data, files=big).status_code == 413
    two = [("key", ("a.pem", b"a")), ("other", ("b.pem", b"b"))]
    assert visitor.post(f"{RELEASE}/vote", data, files=two).status_code == 400
    assert visitor.client.post(f"{RELEASE}/vote", json=data).status_code == 415
    twice = [*data.items(), ("vote", "reject")]
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert visitor.client.post(f"{RELEASE}/vote", content=urlencode(twice), headers=form).status_code == 400
    streamed = visitor.client.post(f"{RELEASE}/vote", content=iter([urlencode(data).encode()]), headers=form)
    assert streamed.status_code == 411
    many = urlencode({f"field{number}": "x" for number in range(50)} | data)
    assert visitor.client.post(f"{RELEASE}/vote", content=many, headers=form).status_code == 400
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert visitor.client.post(f"{RELEASE}/vote", content=b"--y nothing", headers=broken).status_code in {400, 403}
    assert pages.entries(event=Event.VOTED) == ()


@pytest.mark.slow
def test_votes_are_limited(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    told = [cast(visitor, vote="").status_code for _ in range(21)]
    assert told == [422] * 20 + [429]
    pages.time.passes(minutes=10)
    assert cast(visitor).status_code == 303


def test_an_expired_session_votes_on_nothing(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    data = visitor.fields(f"{RELEASE}/vote") | VOTE
    pages.time.passes(minutes=16)
    answer = visitor.post(f"{RELEASE}/vote", data)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/sign-in")
    assert pages.entries(event=Event.VOTED) == ()


def test_a_session_that_ends_keeps_the_vote_that_was_written(pages: Pages) -> None:
    key = pages.key(FIRST)
    app = pages.app()
    visitor, other = Visitor(app), Visitor(app)
    visitor.sign_in("okafor")
    data = visitor.fields(f"{RELEASE}/vote") | VOTE | {"passphrase": PASSPHRASE}
    pages.time.passes(minutes=16)
    files = {"key": ("key.pem", key.read_bytes(), "application/x-pem-file")}
    place = visitor.post(f"{RELEASE}/vote", data, files=files).headers["location"]
    assert place == f"/sign-in?next={quote(f'{RELEASE}/vote', safe='')}"
    other.sign_in("brandt")
    assert REASON not in other.get(f"{RELEASE}/vote").text, "it is for the person who wrote it"
    form = visitor.fields(place) | {"login": "okafor", "password": PASSWORD}
    assert visitor.post("/sign-in", form).headers["location"] == f"{RELEASE}/vote"
    shown = visitor.get(f"{RELEASE}/vote").text
    assert "Your session had ended when you sent this form." in shown
    assert REASON in shown
    assert 'value="approve" required checked' in shown
    assert PASSPHRASE not in shown
    assert REASON not in visitor.get(f"{RELEASE}/vote").text, "it is given out once"
    assert pages.entries(event=Event.VOTED) == ()
    assert files_holding(pages.workspace.root, "Zwölfreason") == []


def test_a_form_of_nobodys_session_is_not_kept(pages: Pages) -> None:
    app = pages.app()
    stranger, visitor = Visitor(app), Visitor(app)
    stranger.post(f"{RELEASE}/vote", {"csrf": "x" * 43} | VOTE)
    visitor.sign_in("okafor")
    assert REASON not in visitor.get(f"{RELEASE}/vote").text


def test_a_vote_that_is_sent_after_a_sign_out_elsewhere_is_kept_for_its_writer(pages: Pages) -> None:
    app = pages.app()
    visitor, other = Visitor(app), Visitor(app)
    visitor.sign_in("okafor")
    data = visitor.fields(f"{RELEASE}/vote") | VOTE
    visitor.post("/sign-out", visitor.fields("/releases", 0))
    visitor.post(f"{RELEASE}/vote", data)
    other.sign_in("brandt")
    assert REASON not in other.get(f"{RELEASE}/vote").text
    visitor.sign_in("okafor")
    assert REASON in visitor.get(f"{RELEASE}/vote").text
    assert pages.entries(event=Event.VOTED) == ()


def test_a_release_that_has_expired_takes_no_votes(pages: Pages) -> None:
    pages.time.passes(days=400)
    visitor = pages.visitor("okafor")
    assert visitor.get(f"{RELEASE}/vote").status_code == 403
    assert "expired" in visitor.get(RELEASE).text


@pytest.mark.parametrize(("login", "who", "role"), [("officer", OFFICER, "officer"), ("ruiz", STEWARD, "requester")])
def test_those_who_may_revoke_do_so_with_a_reason(pages: Pages, login: str, who: str, role: str) -> None:
    visitor = pages.visitor(login)
    assert revoke(visitor).status_code == 303
    assert "is revoked. Nothing more is delivered under it." in visitor.get(RELEASE).text
    (entry,) = pages.entries(event=Event.REVOKED)
    assert entry.body == {"by": who, "role": role, "reason": "Agreement broken"}
    assert state(pages) is State.REVOKED
    assert visitor.get(f"{RELEASE}/revoke").status_code == 403


def test_others_do_not_revoke(pages: Pages) -> None:
    app = pages.app()
    officer = Visitor(app)
    officer.sign_in("officer")
    record = officer.fields(f"{RELEASE}/revoke")["record"]
    for login in ("okafor", "inspector"):
        visitor = Visitor(app)
        visitor.sign_in(login)
        assert visitor.get(f"{RELEASE}/revoke").status_code == 403
        data = {"csrf": visitor.fields("/releases", 0)["csrf"], "once": "x", "record": record, "sure": "yes"}
        assert visitor.post(f"{RELEASE}/revoke", data | {"reason": "No"}).status_code == 403
    assert revoke(officer, sure="").status_code == 422
    assert pages.entries(event=Event.REVOKED) == ()


def test_the_login_that_a_request_came_from_has_no_vote_but_with_a_key(pages: Pages) -> None:
    Accounts(pages.workspace).add(DESK, holder(THIRD, Duty.REVIEWER), {Duty.REVIEWER}, PASSWORD)
    visitor, colleague = pages.visitor(DESK), pages.visitor("okafor")
    shown = visitor.get(f"{RELEASE}/vote")
    assert shown.status_code == 403
    assert "login that a request came from" in shown.text
    sent = colleague.fields(f"{RELEASE}/vote") | visitor.fields("/releases", 0) | VOTE
    assert visitor.post(f"{RELEASE}/vote", sent).status_code != 303
    assert Event.VOTED.value not in events(pages)
    key = pages.key(THIRD)
    assert cast(visitor, key=key, passphrase=PASSPHRASE).status_code == 303
    assert events(pages)[-1] == "voted"


def test_any_enrolled_officer_revokes_whomever_the_policy_names(pages: Pages) -> None:
    name, place = "6" * 64, f"/releases/{'6' * 64}/university"
    publish_release(pages.workspace, name, records.awaiting_review(), NOW, officers=("Somebody Else",))
    assert pages.visitor("okafor").get(f"{place}/revoke").status_code == 403, "the account has another role"
    visitor = pages.visitor("officer")
    data = visitor.fields(f"{place}/revoke") | {"reason": "The agreement was broken.", "sure": "yes"}
    assert visitor.post(f"{place}/revoke", data).status_code == 303
    (entry,) = pages.entries(release_id=name, event=Event.REVOKED)
    assert (entry.body["by"], entry.body["role"], entry.body["officer_of"]) == (OFFICER, "officer", "gate")
    assert "Revoked by Paul Officer (officer): “The agreement was broken.”" in visitor.get(place).text
    publish_release(pages.workspace, "7" * 64, records.awaiting_review(), NOW + timedelta(minutes=4))
    pages.time.passes(minutes=4)
    data = visitor.fields(f"/releases/{'7' * 64}/university/revoke") | {"reason": "A second.", "sure": "yes"}
    assert visitor.post(f"/releases/{'7' * 64}/university/revoke", data).status_code == 303
    assert "officer_of" not in pages.entries(release_id="7" * 64, event=Event.REVOKED)[0].body


def test_where_the_policy_says_so_a_vote_without_a_signature_is_refused(pages: Pages) -> None:
    name, place = "8" * 64, f"/releases/{'8' * 64}/university"
    publish_release(pages.workspace, name, records.changed(records.awaiting_review(), signed_votes=True), NOW)
    visitor = pages.visitor("okafor")
    assert "Only signed" in visitor.get(f"{place}/vote").text
    assert "each vote signed" in visitor.get(place).text
    refused = visitor.post(f"{place}/vote", visitor.fields(f"{place}/vote") | VOTE)
    assert refused.status_code == 422
    action = ReleaseAction(name, pages.workspace, "Mary Okafor", REASON, clock=pages.time)
    with acting_as("okafor"), pytest.raises(BadInput, match="the policy requires signed votes"):
        cast_vote(action, "approve")
    key = pages.key(FIRST)
    data = visitor.fields(f"{place}/vote") | VOTE | {"passphrase": PASSPHRASE}
    assert visitor.post(f"{place}/vote", data, files={"key": ("k.pem", key.read_bytes())}).status_code == 303


def test_no_reason_can_pass_for_somebody_elses_vote(pages: Pages) -> None:
    """The last vote opens all; each shows the login that it was cast from, and reasons are quoted."""
    forged = "fine\nJan Brandt: approve by brandt <b>Vote opened</b>"
    for login, reason in (("okafor", forged), ("brandt", "no objection")):
        visitor = pages.visitor(login)
        data = visitor.fields(f"{RELEASE}/vote") | VOTE | {"reason": reason}
        assert visitor.post(f"{RELEASE}/vote", data).status_code == 303
    shown = visitor.get(RELEASE).text
    assert "Mary Okafor voted to approve</p>" in shown
    assert (
        "cast by Mary Okafor from login okafor (reviewer&#39;s page); opened with the last vote, from login brandt"
        in shown
    )
    quoted = shown.count("<blockquote>")
    assert quoted >= 4
    outside = re.sub(r"<blockquote[^>]*>.*?</blockquote>", "", shown, flags=re.DOTALL)
    assert "approve by brandt" in shown
    assert "approve by brandt" not in outside
    assert "<b>" not in shown
    ledger = visitor.get("/ledger?event=reviewed").text
    assert "cast from login okafor (reviewer&#39;s page); opened with the last vote, from login brandt" in ledger
    assert "approve by brandt" not in re.sub(r"<blockquote[^>]*>.*?</blockquote>", "", ledger, flags=re.DOTALL)
