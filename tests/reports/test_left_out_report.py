"""What a determination and a certificate say of suppressed records, and of the rule that left them out."""

from typing import Any

import pytest

from tasks.decision.record import DecisionRecord
from tasks.generalization.game.facts import LimitFact
from tests.reports.test_budget_report import BUDGET
from tests.reports.test_kanonymity_report import FACT
from tests.support import decoy_records, records, texts
from tests.support.rendered import certificate_html, determination_html

CERTIFIED = "Records in groups too small for the releasing organisation's policy are left out."
TOO_SMALL = "they are in groups too small for the policy's limits."
MAY = "The policy lets at most 2% be left out."


def left_out(number: int, base: DecisionRecord | None = None, **game: Any) -> DecisionRecord:
    """A record of which so many of its 32,561 records are suppressed."""
    record = base or records.approved()
    assert record.risk is not None
    prosecutor = record.risk.residual.prosecutor.model_copy(update={"records": records.ROWS - number})
    residual = record.risk.residual.model_copy(update={"prosecutor": prosecutor})
    changed = record.risk.game.model_copy(update={"suppressed_records": number, **game})
    return records.changed(record, risk=record.risk.model_copy(update={"residual": residual, "game": changed}))


def allowed(share: float, **changes: Any) -> dict[str, Any]:
    """A budget by which a share of the records may be suppressed."""
    limit = LimitFact(name="suppressed records", limit=share * records.ROWS, used=18.0, price=0.0)
    return {"budget": BUDGET.model_copy(update={"limits": (limit,), **changes})}


@pytest.mark.parametrize(
    ("number", "game", "told"),
    [
        (18, allowed(0.02), f"18 records are left out: {TOO_SMALL} {MAY}"),
        (7, allowed(0.02), f"Fewer than 11 records are left out: {TOO_SMALL} {MAY}"),
        (18, allowed(0.02, least_people=None), f"left out: they are in groups beyond the policy's limits. {MAY}"),
        (18, {"minimum_class_size": 5}, "18 records are left out: they are in classes of fewer than 5 records."),
        (
            18,
            {"k_anonymity": FACT},
            f"left out: they are in classes that do not meet the policy's demands. {MAY}",
        ),
        (
            18,
            {**allowed(0.03), "k_anonymity": FACT},
            "policy's limits or classes that do not meet the policy's demands. Excused",
        ),
        (18, {}, "18 records are left out."),
    ],
)
def test_the_first_page_says_how_many_are_left_out_and_by_which_rule(
    number: int, game: dict[str, Any], told: str
) -> None:
    assert told in texts.sections(determination_html(left_out(number, **game)))["decision"]


def test_the_lineage_names_the_rule_and_no_minimum_that_nobody_set() -> None:
    """A minimum of 1 is none."""
    data = texts.sections(determination_html(left_out(18, **allowed(0.02))))["data"]
    assert "and 18 records in groups too small for the policy's limits were suppressed" in data
    assert "smaller than 1" not in data


def test_nothing_is_said_where_nothing_is_left_out_or_where_the_number_would_tell_what_other_copies_keep() -> None:
    """Of 100 suppressed and 7 missing for another's copy, neither is shown."""
    hidden = decoy_records.with_decoys(decoy_records.decoys(missing=7), suppressed=100)
    missing = decoy_records.with_decoys(decoy_records.decoys(missing=186), suppressed=0)
    for record in (records.approved(), hidden, missing):
        assert "left out" not in texts.sections(determination_html(record))["decision"]


@pytest.mark.parametrize(("number", "said"), [(0, False), (10, False), (11, True), (18, True)])
def test_the_certificate_says_that_records_are_left_out_without_a_number_and_few_as_none(
    number: int, said: bool
) -> None:
    text = texts.seen(certificate_html(left_out(number, **allowed(0.02))))
    assert (CERTIFIED in text) is said
    assert "2%" not in text
    assert f"{number} records in" not in text
