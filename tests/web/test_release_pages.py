"""The queue and the evidence: who sees what, what is shown, and what never is."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from pydantic import BaseModel

import flows.web.evidence
from flows.people.account import Duty
from flows.people.accounts import Accounts
from flows.workspace.ledger import open_ledger
from reports.determination import charts as figures
from reports.model.record_view import RecordView
from tasks.decision.record import DecisionRecord
from tasks.ledger.entry import Event
from tests.support.pages import (
    BLOCKED,
    DATA,
    DECOY_WORDS,
    EARLIER,
    FIRST,
    NOW,
    PASSWORD,
    STEWARD,
    WAITING,
    Pages,
    Visitor,
    holder,
)

RELEASE = f"/releases/{WAITING}/university"
REFUSED = f"/releases/{BLOCKED}/broker"
BEFORE = f"/releases/{EARLIER}/university"


def record_of(pages: Pages, release: str, recipient: str) -> DecisionRecord:
    path = pages.workspace.bundle(release) / "decision" / f"{recipient}.json"
    return DecisionRecord.model_validate_json(path.read_bytes())


def words(html: str) -> str:
    """The text of a page, as it is read."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            found.append(data)

    Reader().feed(html)
    return " ".join(" ".join(found).split())


def test_the_queue_shows_what_awaits_the_visitors_vote(pages: Pages) -> None:
    shown = pages.visitor("okafor").get("/releases").text
    assert "1 release awaits your vote." in shown
    assert RELEASE in shown
    assert REFUSED not in shown
    assert "0 of 2 votes cast" in words(shown)
    assert "yours is missing" in shown
    everything = pages.visitor("okafor").get("/releases?show=all").text
    assert [place in everything for place in (RELEASE, REFUSED, BEFORE)] == [True] * 3


def test_the_queue_is_searched_by_words(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    assert REFUSED in visitor.get("/releases?show=all&q=DATA+brokers").text
    assert RELEASE not in visitor.get("/releases?show=all&q=brokers").text
    assert WAITING[:12] in visitor.get(f"/releases?show=all&q={WAITING[:9]}").text
    odd = visitor.get("/releases?show=all&q=%3Cscript%3Ealert(1)%3C/script%3E").text
    assert "<script>alert" not in odd
    assert "No release matches." in odd


def test_officers_and_regulators_see_the_queue_without_a_vote_of_theirs(pages: Pages) -> None:
    for login in ("officer", "inspector"):
        shown = pages.visitor(login).get("/releases").text
        assert RELEASE in shown
        assert "1 release awaits review.</p>" in shown
        assert "my vote" not in shown
        assert "yours is missing" not in shown


def test_a_requester_sees_what_he_asked_for_and_nothing_else(pages: Pages) -> None:
    Accounts(pages.workspace).add("other", holder("Bela Other", Duty.REQUESTER), [Duty.REQUESTER], PASSWORD)
    own, other = pages.visitor("ruiz"), pages.visitor("other")
    assert RELEASE in own.get("/releases").text
    assert own.get(RELEASE).status_code == 200
    assert RELEASE not in other.get("/releases?show=all").text
    for place in ("", "/vote", "/revoke", "/documents/report.pdf", "/figures/risk.svg"):
        assert other.get(RELEASE + place).status_code == 404
    assert own.get("/ledger").status_code == 403
    assert own.get("/audit").status_code == 403


def test_every_gate_is_shown_with_figure_interval_and_threshold(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    for place, name, recipient in ((RELEASE, WAITING, "university"), (REFUSED, BLOCKED, "broker")):
        record = record_of(pages, name, recipient)
        told = words(visitor.get(place).text)
        for row in RecordView(record).gates:
            for part in (row.gate.title, row.gate.id, row.measured, row.asked, row.interval, row.gate.because):
                assert part in told, (row.gate.id, part)
        for reason in record.reasons:
            assert reason in told
    assert "95% interval" in told + words(visitor.get(RELEASE).text)


def test_figures_are_those_of_the_report_with_their_words(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    page = visitor.get(RELEASE).text
    drawn = figures(record_of(pages, WAITING, "university"))
    images = dict(re.findall(r'<img src="[^"]*/figures/([a-z_-]+)\.svg" alt="([^"]+)"', page))
    assert not re.search(r"<a [^>]*>\s*<img [^>]*alt=\"[^\"]", page), (
        "a link's own words would stand for what an image says"
    )
    assert images.keys() == drawn.keys()
    assert all(len(alt) > 40 for alt in images.values())
    answer = visitor.get(f"{RELEASE}/figures/risk.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert b"sans-serif" in answer.content, "readers may lack the report's font"
    assert b"<script" not in answer.content
    assert visitor.get(f"{RELEASE}/figures/nothing.svg").status_code == 404


def test_the_small_cell_rule_holds(pages: Pages) -> None:
    """Six records were suppressed, under the smallest cell of eleven; no page tells how many, or lets it be told."""
    record = record_of(pages, WAITING, "university")
    assert record.dataset.rows_in - (record.dataset.rows_out or 0) == 6
    visitor = pages.visitor("okafor")
    for place in (RELEASE, BEFORE, REFUSED, "/releases?show=all", "/ledger"):
        told = words(visitor.get(place).text)
        assert "32,555" not in told
        assert "32,561" not in told
    assert "under 0.034%" in words(visitor.get(RELEASE).text)


def test_no_value_of_the_data_and_no_place_of_a_file_is_on_any_page(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    for place in (RELEASE, BEFORE, REFUSED, "/releases?show=all", "/ledger", f"{RELEASE}/vote"):
        text = visitor.get(place).text
        for cell in ("372**", *DECOY_WORDS, "/srv/requests", str(pages.workspace.root)):
            assert cell not in text, (place, cell)
    assert DATA not in visitor.get(f"{RELEASE}/documents/decision.json").content


def test_earlier_releases_to_the_recipient_are_set_beside_it(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    told = words(visitor.get(RELEASE).text)
    assert "Income of adults, first half of the year" in told
    assert "the same" in told[told.index("Other releases to this recipient") :]
    assert "Cumberland Data Brokers has received no other release of this gate" in words(visitor.get(REFUSED).text)


def also_released(pages: Pages, number: int, requester: str = STEWARD) -> list[str]:
    """Further releases to the university, in the ledger alone."""
    names = [sha256(f"{requester} {place}".encode()).hexdigest() for place in range(number)]
    decided, released = (pages.entries(release_id=EARLIER, event=event)[0] for event in (Event.DECIDED, Event.RELEASED))
    body = {**decided.body, "determined": {**decided.body["determined"], "requested_by": requester}}
    with open_ledger(pages.workspace) as ledger, ledger.transaction():
        for name in names:
            for event, told in ((Event.DECIDED, body), (Event.RELEASED, dict(released.body))):
                ledger.append(event, release_id=name, recipient="university", actor="gate", body=told, at=NOW)
    return names


def test_a_requester_is_not_shown_what_others_have_asked_for_beside_his_own(pages: Pages) -> None:
    (theirs,) = also_released(pages, 1, "Bela Other")
    assert theirs in pages.visitor("okafor").get(RELEASE).text
    own = pages.visitor("ruiz")
    assert theirs not in own.get(RELEASE).text
    assert theirs[:12] not in own.get(RELEASE).text
    assert EARLIER in own.get(RELEASE).text
    for place in (RELEASE, REFUSED):
        assert "Releases requested by others are not shown to you." in own.get(place).text
    assert "has received no other release that you requested" in words(own.get(REFUSED).text)


def test_a_long_list_of_other_releases_is_cut_and_says_where_they_all_are(pages: Pages) -> None:
    names = also_released(pages, 30)
    visitor = pages.visitor("okafor")
    page = visitor.get(RELEASE).text
    assert sum(f'href="/releases/{name}/university"' in page for name in (*names, EARLIER)) == 25
    assert "6 older ones are not shown here" in words(page)
    assert 'href="/releases?show=all&amp;q=university"' in page
    assert "32 releases" in words(visitor.get("/releases?show=all&q=university").text)


def test_documents_are_the_recorded_bytes(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    report = visitor.get(f"{RELEASE}/documents/report.pdf")
    assert report.content == (pages.workspace.bundle(WAITING) / "report/university.pdf").read_bytes()
    assert report.headers["content-type"] == "application/pdf"
    assert report.headers["content-disposition"].startswith("inline")
    assert report.headers["cache-control"] == "no-store"
    record = visitor.get(f"{RELEASE}/documents/decision.json")
    assert json.loads(record.content)["release_id"] == WAITING
    assert record.headers["content-disposition"].startswith("attachment")
    assert visitor.get(f"{RELEASE}/documents/certificate.pdf").status_code == 404, "there is none before approval"


def touched(path: str, content: bytes) -> Callable[[Pages], None]:
    def change(pages: Pages) -> None:
        place = pages.workspace.bundle(WAITING) / path
        place.chmod(0o644)
        place.write_bytes(content)

    return change


def removed(pages: Pages) -> None:
    (pages.workspace.bundle(WAITING) / "manifest.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (touched("report/university.pdf", b"%PDF-1.7 canary"), "/documents/report.pdf"),
        (touched("decision/university.json", b'{"canary": 1}\n'), ""),
        (touched("manifest.json", b'{"canary": 1}\n'), ""),
        (removed, ""),
    ],
    ids=["report", "record", "manifest", "no manifest"],
)
def test_what_is_not_as_it_was_recorded_is_not_shown(pages: Pages, spoil: Callable[[Pages], None], place: str) -> None:
    spoil(pages)
    answer = pages.visitor("okafor").get(RELEASE + place)
    assert answer.status_code == 500
    assert "differs from the record" in answer.text
    assert "canary" not in answer.text
    assert str(pages.workspace.root) not in answer.text


def test_a_record_of_another_version_is_no_tampering(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    class Later(BaseModel):
        what_this_version_needs: int

    monkeypatch.setattr(flows.web.evidence, "DecisionRecord", Later)
    answer = pages.visitor("okafor").get(RELEASE)
    assert answer.status_code == 503
    assert "this version of the program cannot read it" in answer.text
    assert "differs from the record" not in answer.text


def test_a_release_that_is_recorded_and_not_yet_in_its_place_says_so(pages: Pages) -> None:
    bundle = pages.workspace.bundle(WAITING)
    bundle.rename(pages.workspace.staging / WAITING)
    answer = pages.visitor("okafor").get(RELEASE)
    assert answer.status_code == 503
    assert "not published yet" in answer.text


ODD = (
    f"/releases/{WAITING}/..%2f..%2f..%2f.releasegate%2fkey",
    f"/releases/{WAITING}/%2e%2e",
    f"/releases/{WAITING[:12]}/university",
    f"/releases/..%2f{WAITING}/university",
    f"{RELEASE}/documents/..%2f..%2f..%2f..%2fledger.sqlite",
    f"{RELEASE}/documents/data.csv",
    f"{RELEASE}/documents/..%2fevidence%2fvalidation.json",
    f"{RELEASE}/figures/..%2f..%2fkey.svg",
    "/static/..%2fprint.css",
    "/static/base.html",
    "/static/../../.releasegate/key",
    f"/releases/{'0' * 64}/university",
    f"/releases/{WAITING}/nobody",
    f"/releases/{WAITING}/%00",
)


@pytest.mark.parametrize("place", ODD)
def test_no_address_leads_out_of_what_is_shown(pages: Pages, place: str) -> None:
    answer = pages.visitor("okafor").get(place)
    assert answer.status_code == 404
    assert "PRIVATE" not in answer.text


def test_the_history_is_the_ledgers_without_what_a_trace_found(pages: Pages) -> None:
    told = words(pages.visitor("okafor").get(BEFORE).text)
    history = told[told.rindex("Timeline") :]
    for title in ("Requested", "Decided by the gate", "Released", "Bundle published", "Trace made"):
        assert title in history
    assert not any(word in told for word in DECOY_WORDS)


def test_the_last_reassessment_stands_at_the_top(pages: Pages) -> None:
    with open_ledger(pages.workspace) as ledger:
        for verdict in ("holds", "blocked"):
            body = {"verdict": verdict, "because": [f"The reason of {verdict}."]}
            ledger.append(Event.REASSESSED, release_id=EARLIER, recipient="university", actor="gate", body=body, at=NOW)
    told = words(pages.visitor("okafor").get(BEFORE).text)
    top = told[: told.index("Verdict of the gate")]
    assert "Assessed again, 16 March 2026: Blocked. The reason of blocked." in top
    assert "The reason of holds." not in top
    assert "The reason of holds." in told


def test_a_ledger_that_could_not_be_read_is_read_anew(pages: Pages) -> None:
    """It is spoilt, then restored: its end is where it was, and nothing of it may be taken for read."""
    visitor = pages.visitor("okafor")
    assert "3 releases" in visitor.get("/releases?show=all").text
    whole = pages.workspace.ledger.read_bytes()
    with closing(sqlite3.connect(pages.workspace.ledger)) as raw, raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("DELETE FROM entry WHERE sequence = 12")
        raw.execute("UPDATE entry SET actor = 'canary' WHERE sequence = 5")
    assert visitor.get("/releases?show=all").status_code == 500
    pages.workspace.ledger.write_bytes(whole)
    assert "3 releases" in visitor.get("/releases?show=all").text


def test_the_register_follows_the_ledger_and_its_days(pages: Pages) -> None:
    app = pages.app()
    visitor = Visitor(app)
    visitor.sign_in("okafor")
    assert "3 releases" in visitor.get("/releases?show=all").text
    with open_ledger(pages.workspace) as ledger:
        (entry,) = ledger.entries(release_id=WAITING, event=Event.DECIDED)
        ledger.append(
            Event.DECIDED, release_id="f" * 64, recipient="clinic", actor="gate", body=dict(entry.body), at=NOW
        )
    assert "4 releases" in visitor.get("/releases?show=all").text
    pages.time.passes(days=400)
    visitor.sign_in("okafor")
    assert "expired" in visitor.get("/releases?show=all").text
    assert "Nothing awaits review." in visitor.get("/releases").text


def test_a_workspace_without_a_ledger_has_an_empty_queue(pages: Pages) -> None:
    pages.workspace.ledger.unlink()
    visitor = pages.visitor("okafor")
    assert "No release has been decided yet." in visitor.get("/releases?show=all").text
    assert "The ledger has no entries yet." in visitor.get("/ledger").text


def test_who_is_barred_is_told_why(pages: Pages) -> None:
    Accounts(pages.workspace).add("sand", holder("Somebody Else", Duty.REVIEWER), [Duty.REVIEWER], PASSWORD)
    for login, why in (
        ("ruiz", "your account has no reviewer role"),
        ("sand", "the policy does not name you as a reviewer"),
        ("officer", "your account has no reviewer role"),
    ):
        shown = pages.visitor(login).get(RELEASE).text
        assert why in words(shown)
        assert f"{RELEASE}/vote" not in shown
    shown: Any = pages.visitor("okafor").get(RELEASE).text
    assert f'href="{RELEASE}/vote"' in shown
    assert f'href="{RELEASE}/revoke"' not in shown
    assert f'href="{RELEASE}/revoke"' in pages.visitor("officer").get(RELEASE).text
    assert FIRST in shown
    assert STEWARD in shown
