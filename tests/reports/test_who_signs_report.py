"""Who signs what, what a determination rests on before anybody has signed, and what it takes an agreement to say."""

import pytest

from tasks.decision.earlier_facts import EarlierCopy, EarlierFact
from tests.support import records, texts
from tests.support.rendered import determination_html

EXPERT = records.approved().expert or ""


def test_nobody_approves_or_determines_a_release_that_is_blocked() -> None:
    """The broker's record names no expert."""
    without = texts.sections(determination_html(records.blocked()))["decision"]
    assert "Seen by the requester Office of Research Data, data steward Date, signature" in without
    named = texts.sections(determination_html(records.changed(records.blocked(), expert=EXPERT)))["decision"]
    assert f"Seen by the expert {EXPERT} Date, signature" in named
    assert (without.count("Date, signature"), named.count("Date, signature")) == (1, 2)
    for page in (without, named):
        assert "No reviewer required" not in page
        assert "For the organisation" not in page


def test_three_sign_where_a_file_may_leave() -> None:
    page = texts.sections(determination_html(records.approved()))["decision"]
    assert page.count("Date, signature") == 3
    assert f"Expert {EXPERT} Date, signature" in page


@pytest.mark.parametrize(
    ("blocked", "expert", "told"),
    [
        (
            False,
            EXPERT,
            "is to rest on expert determination instead, so that some kinds may be kept in a coarser form.",
        ),
        (False, None, "coarser form, though the request names no expert."),
        (
            True,
            None,
            "was to rest on expert determination instead, so that some kinds may be kept in a coarser form; it",
        ),
    ],
)
def test_no_expert_has_determined_anything_yet(blocked: bool, expert: str | None, told: str) -> None:
    record = records.changed(records.blocked() if blocked else records.approved(), expert=expert)
    shown = texts.sections(determination_html(record))["safeharbor"]
    assert told in shown
    assert "rests on expert determination" not in shown
    assert "by expert determination" not in shown


@pytest.mark.parametrize(
    ("ends", "told"), [(True, "; it is assumed to end with the first breach."), (False, "; no breach ends it.")]
)
def test_an_agreement_is_taken_to_end_with_a_breach_unless_the_request_says_otherwise(ends: bool, told: str) -> None:
    """The request's default is that it ends; a request that says nothing has stated nothing."""
    record = records.approved()
    agreement = record.recipient.agreement.model_copy(update={"ends_on_breach": ends})
    recipient = record.recipient.model_copy(update={"agreement": agreement})
    assert told in texts.sections(determination_html(records.changed(record, recipient=recipient)))["context"]


@pytest.mark.parametrize(
    ("earlier", "compared"),
    [
        (EarlierFact(), True),
        ((True, ""), True),
        ((False, ""), True),
        ((True, "its quasi-identifiers are others"), False),
        ((None, ""), False),
        (None, False),
    ],
)
def test_differencing_with_earlier_copies_is_left_out_of_what_was_not_tested_where_they_were_compared(
    earlier: EarlierFact | tuple[bool | None, str] | None, compared: bool
) -> None:
    if isinstance(earlier, tuple):
        shares, cannot = earlier
        copy = EarlierCopy(
            release_id=records.sha("before"), recipient="university", shares_people=shares, cannot=cannot
        )
        earlier = EarlierFact(copies=(copy,), hand=("university",))
    shown = texts.sections(determination_html(records.changed(records.approved(), earlier=earlier)))["assumed"]
    assert ("Comparison (differencing) of releases" in shown) is not compared
    assert ("Comparison (differencing) with copies of other parties" in shown) is compared
    assert ("of recipients who are not assumed to share with this one were not compared" in shown) is compared
