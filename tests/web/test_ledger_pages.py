"""The ledger's search and the audit's download."""

import csv
import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pikepdf
import pytest

from flows.actions.audit import JSON, as_data, audit_of
from flows.web import ledger_pages
from flows.web.ledger_pages import entry_view
from flows.workspace.ledger import open_ledger
from tasks.ledger.entry import Event
from tests.support.pages import BLOCKED, DECOY_WORDS, EARLIER, NOW, OFFICER, STEWARD, WAITING, Pages

ROWS = '<tr role="row">\n<th scope="row"'


def rows(pages: Pages, query: str = "", login: str = "inspector") -> int:
    answer = pages.visitor(login).get(f"/ledger{query}")
    assert answer.status_code == 200
    count: int = answer.text.count(ROWS)
    return count


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 12),
        (f"?release={WAITING[:6]}", 3),
        (f"?release={WAITING.upper()}", 3),
        ("?event=decided", 3),
        ("?event=traced", 1),
        ("?person=ruiz", 3),
        ("?person=RESPONDER", 1),
        ("?person=nobody", 0),
        ("?from=2026-03-15", 4),
        ("?to=2026-02-04", 5),
        ("?from=2026-03-13&to=2026-03-13", 3),
        (f"?release={EARLIER}&event=released&from=2026-02-04&to=2026-02-04", 1),
        (f"?release={BLOCKED[:8]}&event=released", 0),
    ],
)
def test_entries_are_found_by_release_event_person_and_day(pages: Pages, query: str, count: int) -> None:
    assert rows(pages, query) == count


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?release=xyz", "first six or more digits"),
        ("?release=abc", "first six or more digits"),
        ("?release=%25%25%25%25%25%25", "first six or more digits"),
        ("?event=nonsense", "Choose one of the events."),
        ("?from=31.3.2026", "Give a day"),
        ("?from=2026-03-31&to=2026-03-01", "before the first"),
    ],
)
def test_what_cannot_be_searched_for_is_told_beside_its_field(pages: Pages, query: str, message: str) -> None:
    text = pages.visitor("okafor").get(f"/ledger{query}").text
    assert message in text
    assert 'aria-invalid="true" aria-describedby="' in text
    assert ROWS not in text


def filled(pages: Pages, number: int) -> None:
    with open_ledger(pages.workspace) as ledger, ledger.transaction():
        for place in range(number):
            person = STEWARD if place % 3 else OFFICER
            ledger.append(
                Event.REFUSED,
                release_id=None,
                recipient=None,
                actor=person,
                body={"what": f"refusal {place}"},
                at=NOW + timedelta(seconds=place),
            )


def walked(pages: Pages, query: str) -> list[int]:
    """Numbers of the entries on every page, one page after another."""
    import re

    visitor, found, place = pages.visitor("okafor"), list[int](), f"/ledger{query}"
    while place:
        text = visitor.get(place).text
        found += [int(number) for number in re.findall(r'role="rowheader">([\d,]+)', text)]
        older = re.search(r'<a href="(/ledger[^"]*)" rel="next">', text)
        place = older[1].replace("&amp;", "&") if older else ""
    return found


@pytest.mark.parametrize(("query", "expected"), [("", 112), ("?event=refused", 100), ("?person=officer", 34)])
def test_pages_hold_every_entry_once(pages: Pages, query: str, expected: int) -> None:
    filled(pages, 100)
    found = walked(pages, query)
    assert len(found) == expected
    assert found == sorted(set(found), reverse=True)


def test_a_search_for_a_person_stops_and_can_go_on(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_pages, "_READ_AT_ONCE", 10)
    monkeypatch.setattr(ledger_pages, "_READ_AT_MOST", 30)
    filled(pages, 100)
    assert len(walked(pages, "?person=officer")) == 34
    assert walked(pages, "?person=responder") == [12]


def test_an_entry_that_was_edited_is_not_shown(pages: Pages) -> None:
    import sqlite3

    with sqlite3.connect(pages.workspace.ledger) as raw:
        guards = raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in guards:
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("UPDATE entry SET actor = 'canary' WHERE sequence = 5")
    raw.close()
    for place in ("/ledger", "/releases"):
        answer = pages.visitor("okafor").get(place)
        assert answer.status_code == 500
        assert "canary" not in answer.text


def test_every_event_has_words_and_none_quotes_what_is_not_listed(pages: Pages) -> None:
    for entry in pages.entries():
        shown = entry_view(entry)
        assert shown.title
        assert "/srv/" not in shown.text
        assert not any(word in shown.text for word in DECOY_WORDS)


def audit(pages: Pages, kind: str, login: str = "inspector", **days: str) -> Any:
    visitor = pages.visitor(login)
    data = visitor.fields("/audit") | {"from": "2026-02-01", "to": "2026-03-15", "format": kind} | days
    return visitor.post("/audit", data)


def test_the_audit_as_json_and_csv(pages: Pages) -> None:
    as_json = audit(pages, "json")
    assert as_json.headers["content-disposition"] == 'attachment; filename="audit-2026-02-01-2026-03-15.json"'
    assert as_json.json()["chain"]["intact"] is True
    as_csv = audit(pages, "csv", login="officer")
    assert as_csv.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(as_csv.content)) as archive:
        names = archive.namelist()
        assert len(names) > 5
        assert all(name.endswith(".csv") for name in names)
        assert list(csv.reader(io.TextIOWrapper(archive.open(names[0]), "utf-8")))
    for content in (as_json.content, as_csv.content):
        assert not any(word.encode() in content for word in DECOY_WORDS)


@pytest.mark.slow
def test_the_audit_as_pdf(pages: Pages) -> None:
    answer = audit(pages, "pdf")
    assert answer.headers["content-type"] == "application/pdf"
    with pikepdf.open(io.BytesIO(answer.content)) as pdf:
        assert len(pdf.pages) > 3


def test_audits_are_officers_and_regulators(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    data = {"csrf": visitor.fields("/releases", 0)["csrf"], "from": "2026-02-01", "to": "2026-03-15", "format": "json"}
    assert visitor.get("/audit").status_code == 403
    assert visitor.post("/audit", data).status_code == 403
    assert "/audit" not in visitor.get("/releases").text
    assert pages.visitor("inspector").post("/audit", data).status_code == 403, "another session's form"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"from": "nonsense"}, "This is not a day"),
        ({"from": "", "to": ""}, "This is not a day"),
        ({"from": "2026-03-20", "to": "2026-03-10"}, "expected"),
        ({"kind": "xml"}, "There is no such format"),
    ],
)
def test_an_audit_of_no_period_is_told(pages: Pages, changes: dict[str, str], message: str) -> None:
    answer = audit(pages, **{"kind": "json", **changes})
    assert answer.status_code == 422
    assert message in answer.text


def test_audits_are_limited(pages: Pages) -> None:
    visitor = pages.visitor("inspector")
    told = []
    for _ in range(11):
        data = visitor.fields("/audit") | {"from": "2026-02-01", "to": "2026-02-02", "format": "json"}
        told.append(visitor.post("/audit", data).status_code)
    assert told == [200] * 10 + [429]


def test_the_audit_is_json_as_the_command_writes_it(pages: Pages) -> None:
    report = audit_of(pages.workspace, "2026-02-01", "2026-03-15", clock=pages.time)
    assert json.loads(as_data(report)[JSON]) == audit(pages, "json").json()
