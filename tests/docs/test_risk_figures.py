"""Figures that the documents of methods state of the planning adversary and of the combined score come out."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logit

from tasks.adversary.derived_profile import derive_profile
from tasks.adversary.fmdp import (
    baseline_payoff,
    exploits_made,
    known_threshold,
    reidentification_probability,
    solve,
)
from tasks.adversary.profile import AdversaryProfile
from tasks.assessments.combined.disclosure import contributions
from tasks.assessments.sequential.assessment import beliefs, is_attacked
from tasks.candidate.groups import Groups, released_groups
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import payoffs_of, weights_of
from tasks.microdata.missing_values import lacking_values, people_beside_missing, with_missing_leaves
from tasks.microdata.tuples import distinct_tuples
from tasks.request.load import load_request
from tasks.request.model import MissingReading
from tests.support import adult
from tests.support.adversary_profiles import CASE_STUDY, REPEATED, RISING
from tests.support.literal_risk import PAPER

DOCS = Path(__file__).parents[2] / "docs"
METHODS = "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "methods").glob("*.md")))
SAID = " ".join(METHODS.split())
TUTORIAL = (DOCS / "tutorial.md").read_text(encoding="utf-8")
REGISTER = 6_018_999
SECTION = replace(CASE_STUDY, gain=1000, prior=1 - 1e-12)
"""Section 7.3 with the detection of the case study."""


def table(*headings: str) -> list[list[str]]:
    """Cells of the table with a header row, below it."""
    header = re.escape("| " + " | ".join(headings) + " |")
    match = re.search(rf"^{header}\n\|[-| ]+\|\n((?:\|.*\n)+)", METHODS, re.MULTILINE)
    assert match, headings
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in match[1].splitlines()]


def written(figures: Iterable[float], decimals: int) -> str:
    return ", ".join(f"{figure:.{decimals}f}".replace("-", "−") for figure in figures)


def rising() -> tuple[int, int]:
    risk = reidentification_probability(RISING, np.arange(1, 60))
    return int(np.argmax(risk < RISING.prior)) + 1, int(np.argmax(risk == 0)) + 1


def attempts() -> str:
    sizes = np.arange(12, 30)
    made = np.where(reidentification_probability(RISING, sizes) > 0, exploits_made(RISING, sizes), 0)
    return " ".join(f"{number:.0f}" for number in made)


def test_the_figures_of_the_planning_adversary() -> None:
    once, repeated = (solve(profile, 99).sink_threshold for profile in (CASE_STUDY, REPEATED))
    ours = {
        "smallest safe group, one penalty": known_threshold(CASE_STUDY),
        "once access is paid": f"{once} (repeated penalties: {repeated})",
        "rising detection (h1 = 0.18): all are tried below, nobody from": written(rising(), 0),
        "section 7.3, penalty 10,000": known_threshold(SECTION),
        "section 7.3, penalty 50,000": known_threshold(replace(SECTION, penalty=50_000)),
    }
    told = {name: figure for name, _, figure in table("figure", "printed", "ours")}
    assert {name: told[name] for name in ours} == {name: str(figure) for name, figure in ours.items()}
    assert attempts() == "12 13 12 10 9 8 8 7 7 6 6 5 5 5 4 4 4 0"
    assert written(baseline_payoff(CASE_STUDY, [1, 10, 23, 24]), 2) == "4829.49, 293.49, 8.62, −0.51"


def test_another_detection_would_give_the_printed_figures_of_section_7_3() -> None:
    assert "With 0.014 both" in SAID
    tuned = replace(SECTION, detection_intercept=float(logit(0.014)))
    assert [known_threshold(replace(tuned, penalty=penalty)) for penalty in (10_000, 50_000)] == [9, 2]


def test_thresholds_of_like_records() -> None:
    divided = (replace(CASE_STUDY, access_cost=CASE_STUDY.access_cost / number) for number in (1, 2, 5, 10))
    assert [known_threshold(profile) for profile in divided] == [48, 51, 53, 54]


def test_risk_that_rises_with_the_group() -> None:
    steep = AdversaryProfile(
        gain=1000,
        penalty=853,
        access_cost=0,
        link_cost=0,
        exploit_cost=2,
        prior=0.88,
        detection_intercept=-6.15,
        detection_slope=4.37,
        max_penalties=1,
        discount=1.0,
    )
    few, many = (f"{risk:.3f}" for risk in reidentification_probability(steep, [11, 12]))
    assert f"11 and 12 candidates have a risk of {few} and {many}" in SAID


def test_the_profile_is_derived_as_listed(tmp_path: Path) -> None:
    """Of the tutorial's request, without the penalty of its agreement."""
    listed = {name: value for names, value in table("term", "default") for name in re.findall(r"`(\w+)`", names)}
    assert listed.keys() == AdversaryProfile.__dataclass_fields__.keys()
    shown = re.search(r"^```yaml\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
    assert shown
    path = tmp_path / "request.yaml"
    path.write_text(shown[1].replace(", penalty: 2000, detection_rate: 0.01", ""), encoding="utf-8")
    request = load_request(path).request
    profile = derive_profile(request.recipients[0]).profile
    for name in ("access_cost", "link_cost", "detection_slope", "confirmation", "discount"):
        assert float(listed[name]) == getattr(profile, name)
    assert listed["prior"].endswith(f"; {profile.prior} without a register")
    assert listed["max_penalties"].startswith(f"{profile.max_penalties} where the first breach ends the agreement")
    assert (profile.gain, profile.exploit_cost, profile.penalty) == (200, 10, 0)


def test_the_printed_part_of_the_worked_example() -> None:
    (fourth,) = contributions(*PAPER, rows=[3])
    assert dict(fourth.known_sets)[0, 1, 2] == pytest.approx(0.084 * 1.63, rel=1e-12)


def test_what_can_be_learned_of_the_second_record() -> None:
    codes, _, weights = PAPER
    assert sum(weight[code] for code, weight in zip(codes[1], weights, strict=True) if np.ndim(weight)) == 1.1
    assert "all that can be learned of r2 weighs 1.1, and it scores 3.06" in SAID


def _attacked(recipient_id: str) -> tuple[AdversaryProfile, Groups]:
    """A recipient of the Adult-TN example as an adversary, and the groups of its released records."""
    request = load_request(adult.EXAMPLE / "request.yaml").request
    recipient, people = request.recipient(recipient_id), adult.table()
    profile = derive_profile(recipient).profile
    generalization = generalize(people, request.method_for(recipient), payoffs_of(recipient), weights_of(request))
    return profile, released_groups(people, generalization, np.ones(len(people.data), dtype=np.bool_), profile.prior)


@pytest.mark.slow
def test_what_keeps_the_university_of_the_example_from_an_attack() -> None:
    said = " ".join((adult.EXAMPLE / "README.md").read_text(encoding="utf-8").split())
    profile, groups = _attacked("state-university")
    free = replace(profile, penalty=0)
    attacked = beliefs(free, groups)[2]
    assert groups.candidates.min() == 75
    assert f"75 people deter one attempt, not repeated ones, which pay below {known_threshold(free)}" in said
    assert attacked.maximum_risk == profile.prior
    assert f"without the penalty {attacked.attacked_records:,} records would be tried to the last candidate" in said
    assert "A penalty of 492 is enough" in said
    assert [is_attacked(replace(profile, penalty=penalty), groups) for penalty in (491, 492)] == [True, False]


@pytest.mark.slow
def test_what_keeps_the_insurer_of_the_example_from_an_attack() -> None:
    """The same file, with patience and without: the figures that the gate's reading of γ rests on."""
    said = " ".join((adult.EXAMPLE / "README.md").read_text(encoding="utf-8").split())
    profile, groups = _attacked("insurer")
    assert not is_attacked(profile, groups)
    assert [is_attacked(replace(profile, penalty=penalty), groups) for penalty in (1693, 1694)] == [True, False]
    free = replace(profile, penalty=0)
    expected = round(beliefs(free, groups)[2].expected_reidentifications)
    assert "for the insurer, 1,694" in said
    hasty = replace(free, discount=0.9)
    assert (known_threshold(free), known_threshold(hasty), expected) == (1470, 678, 32_129)
    assert not is_attacked(hasty, groups)


@pytest.mark.slow
def test_people_counted_beside_missing_values() -> None:
    """Values of Adult-TN removed at random, each with a probability."""
    plain = adult.table()
    trees = list(with_missing_leaves({tree.name: tree for tree in plain.hierarchies}, adult.NAMES).values())
    people, _ = distinct_tuples(plain.population.codes, trees, plain.population.counts)
    figures = []
    for removed in (0.02, 0.1):
        generator, rows = np.random.default_rng(1), np.repeat(plain.data.codes, plain.data.counts, axis=0)
        for axis, tree in enumerate(trees):
            rows[generator.random(len(rows)) < removed, axis] = tree.missing_leaf
        data, _ = distinct_tuples(rows, trees)
        own, either = (people_beside_missing(people, data, trees, one) for one in MissingReading)
        assert either.total == people.total
        lacking = lacking_values(either.codes, trees).any(axis=1)
        figures += [1 - own.total / people.total, either.counts[lacking].sum() / people.total]
    out, _, more_out, _ = (f"{figure:.0%}".replace("%", " %") for figure in figures)
    assert figures[1::2] == [pytest.approx(0.07, abs=0.005), pytest.approx(0.04, abs=0.005)]
    assert f"{out} of the people are counted nowhere; with 10 %, {more_out}" in SAID
    assert "Under `any value` everybody is counted" in SAID
