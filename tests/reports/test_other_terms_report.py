"""What a determination says of other stakes and of uncertain terms."""

from typing import Any

import numpy as np
import pytest

from reports.determination import charts as figures
from reports.model.record_view import RecordView
from reports.sections.gates import chance_text
from reports.sections.reference import cited
from reports.sections.stakes import robustness
from tasks.assessments.identity.facts import ReachFact, StakesFact
from tasks.assessments.identity.score import Score, score
from tasks.assessments.identity.uncertain.facts import UncertaintyFact
from tasks.assessments.identity.uncertain.verdict import gate_figures, gate_intervals
from tasks.core.errors import StageFailed
from tasks.decision.disclosure_rounding import disclosure_rounded, nearest
from tasks.decision.gates import judge_gates
from tasks.decision.record import DecisionRecord
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import follower_of, weights_of
from tasks.request.model import Gate, Measure, UncertainTerms
from tests.support import decoy_records, records, texts
from tests.support.explaining import ATTACKED, MAXIMUM, SEQUENTIAL, asked, table
from tests.support.other_terms import with_other_terms
from tests.support.rendered import determination_html

UNCERTAIN = {
    "loss": {"kind": "log-uniform", "low": 80, "high": 180},
    "cost": {"kind": "points", "values": [3, 4, 5], "weights": [1, 2, 1]},
    "prior": {"low": 0.5, "high": 0.9},
}


def scored(method: str = "basic", uncertain: dict[str, Any] | None = None, points: int | None = 9) -> Score:
    """The score of a table of 100 people, with a map and 64 draws."""
    request, people = asked(method=method, gates=(MAXIMUM, ATTACKED, SEQUENTIAL)), table()
    sensitivity = request.policy.sensitivity.model_copy(update={"points": points, "draws": 64})
    request = request.model_copy(update={"policy": request.policy.model_copy(update={"sensitivity": sensitivity})})
    terms = None if uncertain is None else UncertainTerms.model_validate(uncertain)
    recipient = request.recipient("institute").model_copy(update={"uncertain": terms})
    game = follower_of(request, recipient, people.population.total)
    generalization = generalize(people, request.method_for(recipient), game, weights_of(request))
    plain = score(people, generalization, request, recipient, dict.fromkeys(request.attributes, 4))
    return with_other_terms(plain, people, request, recipient, generalization, np.random.default_rng(3))


def facts(method: str = "basic", uncertain: dict[str, Any] | None = None) -> tuple[StakesFact, UncertaintyFact]:
    found = scored(method, UNCERTAIN if uncertain is None else uncertain).risk
    assert found.game.stakes is not None
    assert found.uncertainty is not None
    return found.game.stakes, found.uncertainty


def told(
    stakes: StakesFact | None, uncertainty: UncertaintyFact | None, record: DecisionRecord | None = None
) -> DecisionRecord:
    record = record or records.approved()
    assert record.risk is not None
    game = record.risk.game.model_copy(update={"stakes": stakes})
    return records.changed(record, risk=record.risk.model_copy(update={"game": game, "uncertainty": uncertainty}))


def drawn(svg: bytes) -> str:
    return " | ".join(texts.drawn_texts(svg))


@pytest.mark.parametrize(
    ("uncertain", "words"),
    [
        (UNCERTAIN, "that one judges the lower end of the interval below"),
        ({"loss": {"low": 80, "high": 180}}, "where these are worst: 1 if they do, 0 if not"),
    ],
)
def test_a_gate_on_the_probability_is_told_apart(uncertain: dict[str, Any], words: str) -> None:
    _, fact = facts(uncertain=uncertain)
    record = told(None, fact)
    gate = Gate(measure=Measure.PASSING_PROBABILITY, at_least=0.5, because="a test")
    judged = judge_gates([gate], gate_figures(fact), intervals=gate_intervals(fact))
    html = determination_html(records.changed(record, gates=(*record.gates, *judged)))
    assert words in html
    assert ("its lower end is judged" in html) is (fact.approved.draws > 1)
    assert "The gates above are judged" not in html


def test_the_score_has_the_lower_end_of_the_probability_and_a_gate_may_close_by_it() -> None:
    one = scored("no-attack-partition", {"loss": UNCERTAIN["loss"] | {"low": 20}}, points=None)
    assert one.risk.uncertainty is not None
    approved = one.risk.uncertainty.approved
    assert one.figures[Measure.PASSING_PROBABILITY] == approved.low < approved.value
    assert Measure.PASSING_PROBABILITY not in scored(points=None).figures
    lenient, strict = (
        Gate(measure=Measure.PASSING_PROBABILITY, at_least=limit, because="a test")
        for limit in (approved.low, approved.value)
    )
    assert [gate.passed for gate in judge_gates([lenient, strict], one.figures)] == [True, False]


def test_nothing_is_told_where_nothing_is_asked() -> None:
    risk = scored(points=None).risk
    assert risk.game.stakes is None
    assert risk.uncertainty is None
    html = determination_html(records.approved())
    assert "stakes_map" not in html
    assert "not known for certain" not in html


def test_the_map_of_a_game_that_made_the_file() -> None:
    stakes, _ = facts()
    assert stakes.map.figures.method == "basic"
    assert len(stakes.map.figures.publisher_payoff) == 81
    assert (stakes.map.benefits[0], stakes.map.benefits[-1]) == (10, 1000)
    assert {curve.stake for curve in stakes.curves} == {"benefit", "loss", "cost"}
    for curve in stakes.curves:
        assert curve.own in curve.values
        assert [game.method for game in curve.games] == ["basic", "no-attack", "sh-friendly", "safe-harbor"]
    partition, _ = facts("no-attack-partition")
    assert partition.map.figures.method == "basic"
    assert {reach.figure for reach in partition.reaches} == {reach.figure for reach in stakes.reaches}


def test_a_file_that_depends_on_no_stakes_is_looked_at_for_attacks_alone() -> None:
    stakes, _ = facts("safe-harbor")
    assert {reach.figure for reach in stakes.reaches} == {"attacked_share"}


def test_the_map_says_what_it_is_of_and_where_the_request_stands() -> None:
    stakes, _ = facts()
    figure = figures(told(stakes, None))["stakes_map"]
    assert "Basic game over these records" in figure.caption
    assert "At the corners, at V 10 and L 10: GI" in figure.alt
    shown = drawn(figure.svg)
    for title in (
        "Mean generalization GI",
        "Publisher's payoff, % of V",
        "benefit V, units",
        "loss L (and gain G), units",
    ):
        assert title in shown


def test_curves_are_told_apart_without_colour() -> None:
    stakes, _ = facts()
    figure = figures(told(stakes, None))["stakes_curves"]
    svg = figure.svg
    shown = drawn(svg)
    for name in ("Basic game", "No-Attack game", "SH-Friendly game", "Safe Harbor", "cost of an attempt c, units"):
        assert name in shown
    assert b"stroke-dasharray" in svg
    assert "for Basic game, No-Attack game, SH-Friendly game, Safe Harbor" in figure.alt


def test_a_game_without_a_strategy_leaves_a_gap() -> None:
    stakes, _ = facts()
    nothing = tuple(None for _ in stakes.map.figures.publisher_payoff)
    names = ("publisher_payoff", "adversary_payoff", "attacked_share", "mean_generalization")
    empty = stakes.map.figures.model_copy(update=dict.fromkeys(names, nothing))
    figure = figures(told(stakes.model_copy(update={"map": stakes.map.model_copy(update={"figures": empty})}), None))[
        "stakes_map"
    ]
    assert drawn(figure.svg).count("no strategy") == 4
    assert "GI no strategy, no strategy worth attacking" in figure.alt


def test_how_probable_approval_is() -> None:
    _, uncertainty = facts()
    assert uncertainty.certain is False
    assert "Influence of the terms" not in determination_html(told(None, uncertainty)), "none has any"
    open_one = uncertainty.model_copy(update={"certain": None})
    shown = texts.sections(determination_html(told(None, open_one)))["gates"]
    drawn_terms = shown.partition("Influence of the terms that are drawn")[2]
    assert "Loss L" in drawn_terms
    assert "Cost c of an attempt" in drawn_terms
    assert "Prior" not in drawn_terms, "of a range nothing is drawn"
    assert f"probability {100 * uncertainty.approved.value:.2f}".rstrip("0").rstrip(".") in shown


def test_ranges_alone_have_no_probability() -> None:
    _, uncertainty = facts(uncertain={"prior": {"low": 0.5, "high": 0.9}})
    assert "Influence of the terms" not in determination_html(told(None, uncertainty))
    words = chance_text(uncertainty)
    assert words.startswith("Of these terms only ranges are known")


def test_the_determination_prints_both() -> None:
    stakes, uncertainty = facts()
    record = told(stakes, uncertainty)
    html = determination_html(record)
    assert "The gates above are judged under the terms of the request." in html
    sections = texts.sections(html)
    assert "How far each stake may move" in html
    assert (
        "robust over an order of magnitude in a stake if that stake may be anything from a tenth to ten times" in html
    )
    assert "Terms that are not known for certain" in sections["gates"]
    assert "log-uniform, 80 to 180" in sections["gates"]
    assert "3 (25%), 4 (50%), 5 (25%)" in sections["gates"]
    assert "a range, 0.5 to 0.9" in sections["gates"]
    assert sum("Sobol'" in paper or "Clopper" in paper for paper in cited(RecordView(record))) == 2
    assert {"stakes_map", "stakes_curves"} <= figures(record).keys()


@pytest.mark.parametrize(
    ("certain", "words"),
    [(True, "They pass whatever"), (False, "They do not pass, whatever"), (None, "Neither that they pass")],
)
def test_what_is_certain(certain: bool | None, words: str) -> None:
    _, uncertainty = facts()
    assert words in chance_text(uncertainty.model_copy(update={"certain": certain, "unsolved": 0}))
    assert "In 3 draws" in chance_text(uncertainty.model_copy(update={"unsolved": 3}))


MEANING = (
    "The file is called robust over an order of magnitude in a stake if that stake may be anything from a tenth to ten "
    "times what the request declares, the others as declared, and the share of records worth attacking changes by no "
    "more than 1 percentage point"
)
EARNS = ", and the file pays no more than 1% of V less than the best file would."


def reach(
    stake: str, figure: str, holds: tuple[float, float], breaks: tuple[float | None, float | None], **changes: Any
) -> ReachFact:
    """How far one stake may move, with a range of 1/31.6 to 31.6 looked at."""
    wide = holds[0] <= 0.1 and holds[1] >= 10
    given = {"tolerance": 0.01, "declared": 0.0, "order_of_magnitude": wide} | changes
    names = ("low", "high", "breaks_low", "breaks_high")
    return ReachFact.model_validate(
        {"stake": stake, "figure": figure} | dict(zip(names, (*holds, *breaks), strict=True)) | given
    )


def throughout(stake: str, figure: str) -> ReachFact:
    return reach(stake, figure, (10**-1.5, 10**1.5), (None, None))


def robust(*reaches: ReachFact, regret: bool = True) -> str:
    """The sentences for these reaches, every other one wide enough."""
    given = {(one.stake, one.figure): one for one in reaches}
    figures = ("attacked_share", "regret") if regret else ("attacked_share",)
    every = [(stake, figure) for figure in figures for stake in ("benefit", "loss", "cost")]
    return robustness(tuple(given.get(key) or throughout(*key) for key in every))


def test_robust_in_every_stake() -> None:
    every = "It is so in the benefit V, the loss L (and the gain G with it) and the cost c of an attempt."
    assert robust() == f"{MEANING}{EARNS} {every}"
    assert robust(regret=False) == f"{MEANING}. {every}"


def test_robust_in_one_stake_alone() -> None:
    words = robust(
        reach("loss", "attacked_share", (10**-0.025, 1.0), (10**-0.05, 10**0.025)),
        reach("cost", "attacked_share", (0.5012, 1.9953), (0.4732, 2.1135)),
        regret=False,
    )
    assert words == (
        f"{MEANING}. It is so in the benefit V. "
        "In the loss L (and the gain G with it) it is not: the share worth attacking holds from 0.944 times the "
        "declared value to the declared value itself. "
        "In the cost c of an attempt it is not: the share worth attacking holds from 0.501 to 2 times the declared "
        "value."
    )


def test_robust_in_no_stake() -> None:
    words = robust(
        *(reach(stake, "attacked_share", (1.0, 1.0), (10**-0.025, 10**0.025)) for stake in ("benefit", "loss", "cost"))
    )
    alone = (
        "the share worth attacking holds at the declared value alone, no longer at 0.944 or 1.06 times it, and the "
        "payoff holds over the whole order of magnitude."
    )
    assert words == (
        f"{MEANING}{EARNS} It is so in none of the stakes. In the benefit V it is not: {alone} In the loss L (and the "
        f"gain G with it) it is not: {alone} In the cost c of an attempt it is not: {alone}"
    )


@pytest.mark.parametrize(
    ("holds", "breaks", "words"),
    [
        ((0.5, 10**1.5), (0.4, None), "holds down to 0.5 times the declared value, and up to 31.6 times it at least"),
        ((1.0, 10**1.5), (0.944, None), "holds down to the declared value itself, and up to 31.6 times it at least"),
        ((10**-1.5, 6.683), (None, 7.1), "holds up to 6.68 times the declared value, and down to 0.0316 times it at"),
        ((0.1, 1.0), (None, 1.25), "holds up to the declared value itself, and down to 0.1 times it at least"),
        ((1.0, 1.0), (1.0, 1.0), "the payoff does not hold even as declared"),
    ],
)
def test_how_far_the_payoff_holds(
    holds: tuple[float, float], breaks: tuple[float | None, float | None], words: str
) -> None:
    text = robust(reach("cost", "regret", holds, breaks))
    assert "It is so in the benefit V and the loss L (and the gain G with it). In the cost c" in text
    assert f"holds over the whole order of magnitude, and the payoff {words.removeprefix('the payoff ')}" in text


def test_tolerances_are_told_with_their_unit() -> None:
    strict = [reach(stake, "attacked_share", (0.1, 10.0), (None, None), tolerance=0.005) for stake in ("loss", "cost")]
    words = robustness((*strict, reach("loss", "regret", (0.1, 10.0), (None, None), tolerance=0.025)))
    assert "changes by no more than 0.5 percentage points, and the file pays no more than 2.50% of V less" in words


def test_reaches_in_the_table_have_three_digits() -> None:
    reaches = tuple(
        reach(stake, "regret", (10**-0.225, 10**1.5), (10**-0.25, None)) for stake in ("benefit", "loss", "cost")
    )
    stakes, _ = facts()
    reaches = (*(throughout(stake, "attacked_share") for stake in ("benefit", "loss", "cost")), *reaches)
    html = determination_html(told(stakes.model_copy(update={"reaches": reaches}), None))
    cells = " ".join(["0.596 to ≥ 31.6"] * 3)
    assert f"This file: loss against the best file, over V 0 0.01 {cells}" in texts.seen(html)


def test_a_copy_with_decoys_gives_no_exact_figure() -> None:
    stakes, uncertainty = facts()
    record = disclosure_rounded(told(stakes, uncertainty, decoy_records.approved()))
    assert record.risk is not None
    told_stakes, told_terms = record.risk.game.stakes, record.risk.uncertainty
    assert told_stakes is not None
    assert told_terms is not None
    assert told_stakes.map.benefits == stakes.map.benefits
    for before, after in zip(stakes.curves, told_stakes.curves, strict=True):
        assert after.values == before.values
        for game in after.games:
            assert all(value is None or nearest(value) == value for value in game.publisher_payoff)
    assert told_terms.approved == uncertainty.approved
    for figure in told_terms.figures:
        assert all(value is None or nearest(value) == value for value in (figure.declared, *figure.quantiles))


def test_same_generator_same_fact() -> None:
    one, other = (scored(uncertain=UNCERTAIN, points=None).risk.uncertainty for _ in range(2))
    assert one == other


def test_terms_that_cannot_be_solved_with_stop_the_stage() -> None:
    people, request = table(), asked(gates=(MAXIMUM, ATTACKED))
    sensitivity = request.policy.sensitivity.model_copy(update={"points": 5})
    request = request.model_copy(update={"policy": request.policy.model_copy(update={"sensitivity": sensitivity})})
    recipient = request.recipient("institute")
    game = follower_of(request, recipient, people.population.total)
    generalization = generalize(people, request.method_for(recipient), game, weights_of(request))
    plain = score(people, generalization, request, recipient, dict.fromkeys(request.attributes, 4))
    stakes = recipient.stakes.model_copy(update={"gain": 1e12, "cost": 1e-12})
    eager = recipient.model_copy(update={"stakes": stakes})
    with pytest.raises(StageFailed, match="stakes of a point"):
        with_other_terms(plain, people, request, eager, generalization, np.random.default_rng(3))
