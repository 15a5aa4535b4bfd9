"""What a copy keeps, what costs the rest, and what keeps more, on the table of ``tests.support.explaining``.

The values a, b, c, d stand for 10, 20, 30 and 40 people with as many records each. As ab a record keeps half of its
information, as * none.
"""

import pytest

from tasks.decision.explain.explain import explain
from tasks.decision.explain.information import finer_levels, kept_by_column
from tasks.decision.explain.levers import apply
from tasks.decision.explain.result import ColumnKept, Explanation
from tasks.decision.record import Verdict
from tasks.request.model import HierarchySource, Measure, ReleaseRequest
from tests.support.explaining import MAXIMUM, PEOPLE, ROWS, TODAY, asked, candidates, decided, demanding, table
from tests.support.worlds import Rows

DEMANDS = "policy.generalization.k_anonymity"
KEPT = Measure.INFORMATION_KEPT


def explained(request: ReleaseRequest) -> Explanation:
    plays = candidates(demanding(table(records=PEOPLE), request))
    return explain(request, request.recipients[1], plays, decided(request, plays))


def keeping(found: Explanation) -> dict[tuple[tuple[str, float | str], ...], float]:
    """Share of the information kept by the changes, as they are typed."""
    return {
        tuple((one.where, one.needed) for one in each.changes): round(each.kept, 4)
        for each in found.keeping
        if not each.of
    }


def check_every_change(request: ReleaseRequest, found: Explanation) -> None:
    """Apply each change and decide afresh, sharing nothing with the explanation."""
    for one in found.keeping:
        changed = apply(request, one.changes)
        plays = candidates(demanding(table(records=PEOPLE), changed))
        judgement = plays.judge(changed, "institute", TODAY)
        assert judgement.passes, one
        assert dict(judgement.figures) == dict(one.after.figures)
        assert not one.of
        assert judgement.figures[KEPT] == pytest.approx(one.kept)
        assert one.kept > one.now


def test_a_partition_loses_by_the_payoff_alone() -> None:
    """a and b leave as ab: 30 records keep half, and 70 all. Nobody attacks what does not pay."""
    found = explained(asked())
    assert found.columns == (ColumnKept("q0", pytest.approx(0.85), "as collected"),)
    (stakes,) = found.costs
    assert (stakes.term, stakes.kept) == ("stakes: gain 100, cost 4, loss 100", 1.0)
    assert found.keeping == (), "alone, a has a risk of 0.1"


def test_levels_for_all_records_cost_what_k_and_global_recoding_do() -> None:
    """With k = 13, a is too small, and all leave as ab and cd.

    No smaller k helps: once a leaves alone its risk is 0.1, above 0.09. Local recoding releases ab, c and d (0.85);
    with a tenth left out, a is, and the others leave as collected (0.9).
    """
    request = asked("k-anonymity", (MAXIMUM,), k_anonymity={"k": 13})
    found = explained(request)
    assert found.columns[0].kept == pytest.approx(0.5)
    assert ("k: 13", 1.0) in [(one.term, one.kept) for one in found.costs]
    tried = keeping(found)
    assert tried[(f"{DEMANDS}.local_recoding", True),] == 0.85
    assert tried[(f"{DEMANDS}.suppression_limit", 0.1),] == 0.9
    assert not any(where == f"{DEMANDS}.k" for changes in tried for where, _ in changes)
    check_every_change(request, found)


def test_a_smaller_k_keeps_more() -> None:
    """k = 21 leaves ab and cd; with any k up to 10 each value leaves alone, with a risk of 0.1 that is allowed."""
    loose = {"measure": "transparent.maximum_risk", "at_most": 0.2, "because": "a test"}
    request = asked("k-anonymity", (loose,), k_anonymity={"k": 21, "suppression_limit": 0})
    found = explained(request)
    assert keeping(found)[(f"{DEMANDS}.k", 2),] == 1.0
    assert found.keeping[0].kept == 1.0
    check_every_change(request, found)


def test_the_gate_on_presence_bounds_k() -> None:
    """A risk of at most 1/20 for whoever knows who is in the file takes classes of 20: k is not tried below."""
    known = {"measure": "prosecutor.maximum_risk", "at_most": 0.05, "because": "a test"}
    terms = {"k": 35, "suppression_limit": 0, "local_recoding": True}
    request = asked("k-anonymity", (MAXIMUM, known), k_anonymity=terms)
    found = explained(request)
    smaller = [float(one.needed) for each in found.keeping for one in each.changes if one.where == f"{DEMANDS}.k"]
    assert smaller
    assert min(smaller) == 20
    check_every_change(request, found)


def test_a_column_that_is_free_to_lose_is_weighed() -> None:
    """Of a to d, 30 people are x and 10 are y; groups of 25 are safe.

    Where losing x and y is free, all leave without it. At a weight of 1 that costs 160 ln 2; to lose a to d of y alone
    costs 40 ln 4, half as much, and both x and y are told.
    """
    rows: Rows = [["x", "*"], ["y", "*"]]
    people = {(one, other): count for one in "abcd" for other, count in (("x", 30), ("y", 10))}
    request = asked(weights=(1.0, 0.0))
    plays = candidates(table((ROWS, rows), people, people))
    found = explain(request, request.recipients[1], plays, decided(request, plays))
    assert [(one.name, one.kept, one.released) for one in found.columns] == [
        ("q1", 0.0, "withheld"),
        ("q0", 1.0, "as collected"),
    ]
    assert [([(each.where, each.needed) for each in one.changes], one.of) for one in found.keeping] == [
        ([("attributes.q1.weight", 1.0)], ("q1",))
    ]
    assert (found.keeping[0].now, found.keeping[0].kept) == (0.0, pytest.approx(1.0))
    changed = apply(request, found.keeping[0].changes)
    plays = candidates(table((ROWS, rows), people, people))
    assert plays.judge(changed, "institute", TODAY).passes
    assert kept_by_column(plays.of(changed, changed.recipients[1])) == pytest.approx({"q0": 0.75, "q1": 1.0})


def test_a_blocked_release_is_not_asked_to_keep_more() -> None:
    found = explained(asked("basic", loss=1.0, gain=100.0))
    assert found.verdict is Verdict.BLOCKED
    assert (found.columns, found.costs, found.keeping) == ((), (), ())


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ({"intervals": {"minimum": 0, "maximum": 99, "widths": [20]}}, (5, 20, 40)),
        ({"intervals": {"minimum": 0, "maximum": 119, "widths": [5, 10, 20, 40]}}, None),
        ({"intervals": {"minimum": 0, "maximum": 99, "widths": [7, 49]}}, None),
        ({"prefixes": {"keep": [4, 1]}}, (4, 3, 2, 1)),
        ({"prefixes": {"keep": [2, 1]}}, None),
        (
            {"dates": {"minimum": "2020-01-01", "maximum": "2024-12-31", "levels": ["year"]}},
            ("month", "quarter", "year", "five-years", "decade"),
        ),
        ({"dates": {"minimum": "2020-01-01", "maximum": "2024-12-31", "levels": ["iso-week"]}}, None),
        ({"file": "age.csv"}, None),
    ],
)
def test_levels_that_a_declared_hierarchy_lacks(source: dict[str, object], after: tuple[str | int, ...] | None) -> None:
    found = finer_levels(HierarchySource.model_validate(source))
    assert (found and found[2]) == after


def test_without_the_data_no_column_and_no_level_is_tried() -> None:
    """Ages of a table have no level between the values and the top; what would have to be counted anew is left out."""
    request = asked("k-anonymity", (MAXIMUM,), k_anonymity={"k": 13})
    document = request.model_dump(exclude_unset=True)
    document["attributes"]["q0"]["hierarchy"] = {"prefixes": {"keep": (3, 1)}}
    found = explained(ReleaseRequest.model_validate(document))
    assert keeping(found) == keeping(explained(request))
    assert not any(one.term.startswith("levels") for one in found.costs)
