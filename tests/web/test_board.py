"""The board: states, alarms, filters, the present state as the banner, timeline, comparison and risk over time."""

import re
from hashlib import sha256

import pytest

from flows.workspace.ledger import open_ledger
from tasks.core.canonical import canonical_json
from tasks.ledger.entry import Event
from tasks.reassessment.record import TodaysVerdict
from tests.support import records
from tests.support.pages import BLOCKED, EARLIER, NOW, WAITING, Pages, publish_release
from tests.support.reassessments import reassessment
from tests.web.test_release_pages import words

RELEASE = f"/releases/{WAITING}/university"
REFUSED = f"/releases/{BLOCKED}/broker"
BEFORE = f"/releases/{EARLIER}/university"


def reassessed(pages: Pages, verdict: str, **body: object) -> None:
    told = {"verdict": verdict, "before": "holds", "because": ["Fewer people live there today."], **body}
    with open_ledger(pages.workspace) as ledger:
        ledger.append(Event.REASSESSED, release_id=EARLIER, recipient="university", actor="gate", body=told, at=NOW)


def banner(page: str) -> str:
    (found,) = re.findall(r'<div class="verdict (\w+)" id="now">', page)
    return str(found)


def test_a_copy_that_would_be_blocked_today_is_red_on_the_board_and_on_its_page(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    assert "would be blocked today" not in visitor.get("/releases").text
    assert banner(visitor.get(BEFORE).text) == "approved"
    reassessed(pages, "would be blocked")
    shown = visitor.get("/releases").text
    assert re.search(r'<li class="bad"><a href="[^"]*"><strong>1</strong> would be blocked today</a></li>', shown)
    assert BEFORE in shown, "it asks for action"
    only = visitor.get("/releases?show=would+be+blocked+today").text
    assert BEFORE in only
    assert RELEASE not in only
    page = visitor.get(BEFORE).text
    assert banner(page) == "blocked"
    told = words(page)
    assert "Would be blocked today" in told[: told.index("Verdict of the gate")]
    assert "Fewer people live there today." in told[: told.index("Verdict of the gate")]
    assert "Approved by the gates , 4 February 2026." in told, "the gate's verdict is history beneath"


@pytest.mark.parametrize(
    ("place", "css", "word"),
    [(RELEASE, "awaiting", "Awaiting review"), (REFUSED, "blocked", "Blocked"), (BEFORE, "approved", "Released")],
)
def test_the_banner_is_the_present_state(pages: Pages, place: str, css: str, word: str) -> None:
    page = pages.visitor("okafor").get(place).text
    assert banner(page) == css
    assert re.search(
        rf'<div class="verdict {css}" id="now"><p class="word"><span aria-hidden="true">.</span> {word}<', page
    )


def test_an_expired_and_a_revoked_release_say_so_in_the_banner(pages: Pages) -> None:
    pages.time.passes(days=400)
    page = pages.visitor("okafor").get(BEFORE).text
    assert banner(page) == "over"
    assert "Its last day was 1 February 2027." in words(page)


def test_what_lapses_and_what_is_overdue_is_on_the_board(pages: Pages) -> None:
    reassessed(pages, "holds", next_due="2027-01-10")
    pages.time.now = NOW.replace(year=2027, month=1, day=12)
    visitor = pages.visitor("okafor")
    shown = words(visitor.get("/releases?show=overdue").text)
    assert "re-assessment 2 days late; 20 days left" in shown
    assert "Income of adults, first half of the year" in words(visitor.get("/releases?show=lapsing").text)
    told = words(visitor.get(BEFORE).text)
    assert "Its re-assessment is 2 days late." in told
    assert "20 days are left of its validity." in told


def test_filters_by_purpose_agreement_and_recipient(pages: Pages) -> None:
    other = records.blocked()
    agreement = other.recipient.agreement.model_copy(update={"id": "DUA-OTHER"})
    clinic = other.recipient.model_copy(update={"id": "clinic", "purpose": "Quality of care.", "agreement": agreement})
    publish_release(pages.workspace, "c" * 64, records.changed(other, recipient=clinic), NOW)
    visitor, place = pages.visitor("okafor"), f"/releases/{'c' * 64}/clinic"
    for terms in (
        "purpose=Quality+of+care.",
        "agreement=DUA-OTHER",
        "recipient=clinic",
        "show=blocked&recipient=clinic",
    ):
        shown = visitor.get(f"/releases?{terms if 'show' in terms else f'show=all&{terms}'}").text
        assert f'href="{place}"' in shown, terms
        assert f'href="{RELEASE}"' not in shown, terms
    assert "No release matches." in visitor.get("/releases?show=all&purpose=Quality+of+care.&recipient=broker").text


def test_a_requester_filters_by_their_own_releases_alone(pages: Pages) -> None:
    shown = pages.visitor("ruiz").get("/releases?show=all").text
    assert RELEASE in shown
    assert "in the queue" not in shown


def test_a_reviewer_sees_what_no_gate_judges_and_which_columns_leave(pages: Pages) -> None:
    told = words(pages.visitor("okafor").get(RELEASE).text)
    unjudged = told[told.index("These were measured") :]
    assert "Records whose prosecutor risk is above the policy's threshold" in unjudged
    assert "Records that a marketer links rightly" in unjudged
    columns = told[told.index("Columns of the source file") :]
    record = records.awaiting_review()
    for field in record.fields:
        assert field.name in columns


def test_the_timeline_names_people_and_logins(pages: Pages) -> None:
    told = words(pages.visitor("okafor").get(RELEASE).text)
    assert "by Ana Ruiz, login desk" in told[told.index("Timeline: who did what") :]


def test_a_release_is_compared_with_its_predecessor(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    page = visitor.get(f"{RELEASE}/compare").text
    told = words(page)
    assert "On the left Income of adults, first half of the year" in told
    rows = re.findall(r'<th scope="row" role="rowheader">(.*?)</th>(.*?)</tr>', page, re.DOTALL)
    differs = {name for name, cells in rows if "<b>yes</b>" in cells}
    assert {"Title", "Verdict of the gate"} <= differs
    assert "Purpose" in dict(rows)
    assert "Purpose" not in differs
    assert visitor.get(f"{RELEASE}/compare?with={BLOCKED}").status_code == 404, "it is to another recipient"
    assert "There is no other release" in words(visitor.get(f"{REFUSED}/compare").text)


def test_risk_over_time_is_drawn_for_each_recipient(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    page = visitor.get("/releases/risk").text
    assert page.count("<figure>") == 2
    told = words(page)
    assert told.count("Highest risk by day of the decision") == 2
    drawn = visitor.get("/releases/risk/university.svg")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert b"delivered" in drawn.content
    assert visitor.get("/releases/risk/nobody.svg").status_code == 404


def test_the_record_of_a_reassessment_opens_from_its_release(pages: Pages) -> None:
    made = reassessment(release_id=EARLIER, verdict=TodaysVerdict.BLOCKED, because=("A gate has closed.",))
    path = pages.workspace.reassessments / EARLIER / "university" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(canonical_json(made))
    reassessed(pages, "would be blocked", reassessment_sha256=sha256(path.read_bytes()).hexdigest())
    visitor = pages.visitor("officer")
    (place,) = set(re.findall(rf'href="({BEFORE}/reassessments/\d+)"', visitor.get(BEFORE).text))
    assert f'href="{place}"' in visitor.get("/releases").text, "the alarm opens its record"
    told = words(visitor.get(place).text)
    assert "It would be blocked today" in told
    assert "A gate has closed." in told
    assert visitor.get(f"{place}/report.pdf").content.startswith(b"%PDF")
    path.write_bytes(path.read_bytes() + b" ")
    assert visitor.get(place).status_code == 500
