"""Masked numbers that some records lack: the intruder knows whose they are, and looks for each among its like."""

from pathlib import Path

import numpy as np
import pytest

from tasks.assessments.linkage.assessment import attack
from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.within import MaskedPart
from tasks.masking.registry import METHODS
from tasks.request.model import PARAMETER_OF, Masking, MaskingName
from tests.support.gaps import candidate_of
from tests.support.numeric import STRENGTH
from tests.support.world import drawn_rows, make_world

N_RECORDS, GONE = 120, np.array([5, 40, 41, 99])


def part_with_gaps(method: MaskingName, *, gaps: bool = True) -> MaskedPart:
    """A masking of two attributes; of all records, or of those that have values alone."""
    parameter = PARAMETER_OF[method]
    masking = Masking.model_validate({"attributes": ["a", "b"], "method": method.value, parameter: STRENGTH[parameter]})
    generator = np.random.default_rng(11)
    original = generator.normal(size=(N_RECORDS, 2)).cumsum(axis=1)
    held = np.delete(np.arange(N_RECORDS), GONE)
    masked = np.full_like(original, np.nan)
    masked[held] = METHODS[method].of(masking).mask(original[held], generator).values
    original[GONE] = np.nan
    if not gaps:
        original, masked = original[held], masked[held]
    return MaskedPart.of(masking, original, masked, complete=True)


def view(part: MaskedPart) -> InformedView:
    everybody = np.arange(len(part.original))
    return InformedView(everybody, np.empty((len(everybody), 0), dtype=np.int64), (part,))


@pytest.mark.parametrize("method", list(MaskingName))
def test_who_has_a_value_is_looked_for_among_those_who_have_one_and_the_others_among_theirs(
    method: MaskingName,
) -> None:
    """The file is two: 116 records as if they were alone, and four that cannot be told from one another."""
    gaps, alone = view(part_with_gaps(method)), view(part_with_gaps(method, gaps=False))
    people, others = np.arange(N_RECORDS), np.arange(N_RECORDS - len(GONE))
    found, expected = gaps.candidate_linkage(people), alone.candidate_linkage(others)
    assert found.expected_correct == pytest.approx(expected.expected_correct + 1)
    likeliest, reference = gaps.likeliest_linkage(people), alone.likeliest_linkage(others)
    assert likeliest.expected_correct == pytest.approx(reference.expected_correct + 1)
    joint = gaps.joint_linkage(np.random.default_rng(0))
    assert joint.expected_correct == pytest.approx(alone.joint_linkage(np.random.default_rng(0)).expected_correct + 1)


def test_a_missing_value_lies_within_no_bounds_of_another_and_the_reverse() -> None:
    part = part_with_gaps(MaskingName.RANK_SWAPPING)
    low, high = part.bounds.low, part.bounds.high
    held = np.delete(np.arange(N_RECORDS), GONE)
    for person in range(N_RECORDS):
        inside = np.all((part.masked >= low[person]) & (part.masked <= high[person]), axis=1)
        assert inside[person]
        assert not inside[held if person in GONE else GONE].any()


@pytest.mark.parametrize("method", ["rank-swapping", "mdav", "additive-noise"])
def test_a_release_with_a_lone_missing_number_gives_its_record_away(tmp_path: Path, method: str) -> None:
    """One record of 240 lacks the masked number: whoever knows so finds it, with certainty where bounds are known."""
    world = make_world(tmp_path / "world")
    rows = [dict(row) for row in drawn_rows()]
    rows[7]["visits"] = ""
    world.write_rows(rows)
    parameter = PARAMETER_OF[MaskingName(method)]
    world.ask(
        attributes={"visits": {"known_probability": None}},
        masking=[{"attributes": ["visits"], "method": method, parameter: STRENGTH[parameter]}],
        policy={"linkage": {"known": ["visits"], "learned": False}},
    )
    candidate = candidate_of(world)
    fact = attack(candidate, np.random.default_rng(0), quick=True)
    made = {one.id: one.figure for one in fact.attacks}
    assert made["numbers-nearest"].share >= 1 / 240
    assert made["numbers-candidates"].share >= 1 / 240
    assert not fact.untried
    assert candidate.masked.text("visits").isna().tolist() == [place == 7 for place in range(240)]
