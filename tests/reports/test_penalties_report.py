"""What a determination says of fines and detection."""

import numpy as np

from reports.model.document import Table
from reports.model.record_view import RecordView
from reports.sections.stakes import fines, other_stakes
from tasks.assessments.identity.facts import PenaltiesFact, PenaltyPoint
from tasks.assessments.identity.other_terms import penalties_fact
from tasks.assessments.identity.score import score
from tasks.decision.disclosure_rounding import disclosure_rounded, upward
from tasks.decision.record import DecisionRecord
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import follower_of, weights_of
from tasks.request.model import Method, PenaltyGrid
from tests.support import decoy_records, records, texts
from tests.support.explaining import asked, table
from tests.support.other_terms import with_other_terms
from tests.support.rendered import determination_html

GRID = PenaltyGrid(penalties=(0, 1000, 100_000), detections=(0.001, 0.1))
FINED = {"penalty": 1000, "detection_rate": 0.1}


def fact(method: str = "basic", agreement: dict[str, float] | None = None) -> PenaltiesFact:
    request = asked(method=method, agreement=agreement)
    return penalties_fact(table(), request, request.recipient("institute"), GRID)


def told(found: PenaltiesFact, record: DecisionRecord | None = None) -> DecisionRecord:
    record = record or records.approved()
    assert record.risk is not None
    game = record.risk.game.model_copy(update={"penalties": found})
    return records.changed(record, risk=record.risk.model_copy(update={"game": game}))


def penalties(record: DecisionRecord, found: PenaltiesFact) -> Table:
    blocks = other_stakes(RecordView(told(found, record)))
    return next(one for one in blocks if isinstance(one, Table) and one.head.startswith("Penalty"))


def drawn(record: DecisionRecord, found: PenaltiesFact) -> list[str]:
    """Lines of the cells."""
    cells = [texts.seen(cell.replace("<br>", "|")) for row in penalties(record, found).rows for cell in row]
    return [line.strip() for cell in cells for line in cell.split("|")]


def test_points_are_those_of_the_map() -> None:
    request, people = asked(agreement=FINED), table()
    recipient = request.recipient("institute")
    found = penalties_fact(people, request, recipient, GRID)
    assert [point.penalty for point in found.points] == [0, 0, 1000, 1000, 100_000, 100_000]
    assert [point.value for point in found.points] == [0.001, 0.1] * 3
    assert (found.own.penalty, found.own.value) == (1000, 0.1)
    assert found.own == found.points[3]
    assert found.belief == "access shared"


def test_a_file_that_cannot_be_made_has_no_figures() -> None:
    request = asked(gain=500.0)
    found = penalties_fact(table(), request, request.recipient("institute"), GRID)
    assert found.points[0].publisher_payoff is None
    assert found.points[0].attacked_share is None
    assert "no file can be released" in fines(RecordView(records.approved()), found)
    assert "no file" in drawn(records.approved(), found)


def test_the_score_has_them_where_the_policy_asks() -> None:
    people, request = table(), asked(method="basic")
    sensitivity = request.policy.sensitivity.model_copy(update={"penalties": GRID})
    request = request.model_copy(update={"policy": request.policy.model_copy(update={"sensitivity": sensitivity})})
    recipient = request.recipient("institute")
    game = follower_of(request, recipient, people.population.total)
    generalization = generalize(people, Method.BASIC, game, weights_of(request))
    plain = score(people, generalization, request, recipient, dict.fromkeys(request.attributes, 4))
    scored = with_other_terms(plain, people, request, recipient, generalization, np.random.default_rng(3))
    assert scored.risk.game.penalties == penalties_fact(people, request, recipient, GRID)
    assert scored.risk.game.stakes is None
    assert plain.risk.game.penalties is None


def test_payoffs_and_groups_are_written_in_the_cells() -> None:
    found, record = fact("no-attack-partition", FINED), records.approved()
    table, shown = penalties(record, found), drawn(record, found)
    assert not any("attacked" in line for line in shown), "nobody is attacked by this rule"
    assert [row[0] for row in table.rows] == ["0", "1,000", "100,000"]
    for point in found.points:
        assert f"{point.publisher_payoff:,.2f}" in shown
        assert f"from {point.safe_group:,.0f} people" in shown
    assert "bold at the recipient's own terms" in table.caption
    assert [cell.startswith("<b>") for row in table.rows for cell in row[1:]] == [False] * 3 + [True] + [False] * 2


def test_where_some_are_attacked_their_share_is_shown_as_far_as_it_may_be() -> None:
    found, record = fact(), records.approved()
    few = found.points[0].model_copy(update={"attacked_share": 3 / record.dataset.rows_in})
    shown = drawn(record, found.model_copy(update={"points": (few, *found.points[1:])}))
    assert "<0.03% attacked" in shown
    assert "0.01% attacked" not in shown


def test_terms_outside_the_grid_are_not_marked() -> None:
    own = fact("no-attack-partition", {"penalty": 77, "detection_rate": 0.1})
    assert "bold" not in penalties(records.approved(), own).caption
    without = fact("no-attack-partition")
    assert without.own.penalty == 0
    first = penalties(records.approved(), without).rows[0]
    assert all(cell.startswith("<b>") for cell in first[1:]), "the row without a penalty"


def test_what_fines_buy_in_words() -> None:
    found, record = fact("no-attack-partition", FINED), records.approved()
    words = fines(RecordView(record), found)
    least, most = found.points[0], found.points[-1]
    assert "own terms, with a penalty of 1,000 that is due with probability 0.1, no record" in words
    assert f"Without a penalty, groups of {least.safe_group:.0f} people and more are not attacked" in words
    assert f"pays {least.publisher_payoff:,.2f} units per record" in words
    assert most.safe_group == 1
    assert "With a penalty of 100,000 that is due with probability 0.1, no record is attacked" in words
    assert f"{most.publisher_payoff:,.2f} units per record." in words
    unsafe = found.own.model_copy(update={"safe_group": None, "penalty": 0.0})
    assert "which name no penalty, a group of any size is attacked" in fines(
        RecordView(record), found.model_copy(update={"own": unsafe})
    )


def test_other_terms_than_detection_are_named() -> None:
    agreement, record = {**FINED, "ends_on_breach": False}, records.approved()
    request = asked(method="no-attack-partition", agreement=agreement)
    for columns, heading, words in (
        ({"discounts": (0.5, 1)}, "patience", "with a penalty of 1,000 and a discount γ of 1"),
        ({"confirmations": (0.5, 1)}, "recognition", "with a penalty of 1,000 and a κ of 1"),
        ({"priors": (0.5, 0.99)}, "prior", "with a penalty of 1,000 and a prior π of 0.99"),
        ({"max_penalties": (1, 2)}, "their number", "with a penalty of 1,000 and an n_f of no limit"),
    ):
        asked_for = PenaltyGrid.model_validate({"penalties": (0, 1000), **columns})
        found = penalties_fact(table(), request, request.recipient("institute"), asked_for)
        assert words in fines(RecordView(record), found)
        shown = penalties(record, found)
        bold = [cell.startswith("<b>") for row in shown.rows for cell in row[1:]]
        assert bold == [False, False, False, found.own.value is not None]
        assert f"Effect of fines and {heading}" in determination_html(told(found))
    assert "Without a penalty, " in fines(RecordView(record), found), "n_f is of no effect"


def test_the_determination_prints_them() -> None:
    html = determination_html(told(fact("basic", FINED)))
    assert "Effect of fines and detection" in texts.sections(html)["transparency"]
    assert "made for a recipient who makes one attempt" in html
    assert "Effect of fines and detection" not in determination_html(records.approved())


def test_with_few_suppressed_payoffs_are_rounded() -> None:
    record, found = records.approved(), fact("no-attack-partition", FINED)
    assert record.risk is not None
    residual = record.risk.residual
    fewer = residual.prosecutor.model_copy(update={"records": record.dataset.rows_in - 3})
    risk = record.risk.model_copy(update={"residual": residual.model_copy(update={"prosecutor": fewer})})
    point = found.points[1].model_copy(update={"publisher_payoff": 1195.5923})
    found = found.model_copy(update={"points": (*found.points[:1], point, *found.points[2:])})
    assert "1,195.59" in drawn(record, found)
    assert "1,195.20" in drawn(records.changed(record, risk=risk), found), "to a thousandth of V"


def test_a_copy_with_decoys_gives_no_exact_figure() -> None:
    before = fact("basic", FINED)
    exact = before.own.model_copy(update={"publisher_payoff": 98.7654, "safe_group": 1234.0})
    record = disclosure_rounded(told(before.model_copy(update={"own": exact}), decoy_records.approved()))
    assert record.risk is not None
    after = record.risk.game.penalties
    assert after is not None
    assert after.penalties == before.penalties
    assert (after.own.publisher_payoff, after.own.safe_group) == (98.8, 1234)
    names = PenaltyPoint.model_fields.keys() - {"penalty", "value", "safe_group"}
    for old, new in zip(before.points, after.points, strict=True):
        assert (old.penalty, old.value, old.safe_group) == (new.penalty, new.value, new.safe_group)
        assert all(getattr(new, name) == upward(getattr(old, name)) for name in names)
