"""Attacks on generalized files: by hand, and as plain loops over records carry them out."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.linkage import generalized
from tasks.assessments.linkage.generalized import (
    OwnCells,
    closest_linkage,
    likely_linkage,
    matching_linkage,
    own_cell_linkage,
)
from tasks.assessments.linkage.problem import generalized_files
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import TIE_ABSOLUTE, TIE_RELATIVE
from tasks.assessments.linkage.problem.generalized_files import LinkableRelease, axis_groups, people_matching
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.reference.sampled_persons import sampled_persons
from tests.support.examples import examples
from tests.support.generalized import GeneralizedFile
from tests.support.generalized import generalized_files as random_files

QUICK = settings(deadline=None, max_examples=examples(40))
LETTERS = hierarchy_from_rows(
    "letter", [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]], "a test"
)
SEXES = hierarchy_from_rows("sex", [["F", "*"], ["M", "*"]], "a test")
A, B, C, AB, CD, ANY = 0, 1, 2, 4, 5, 6
F, M, BOTH = 0, 1, 2
knowledge = st.sets(st.integers(0, 2), min_size=1).map(sorted)


def hand_worked(kept: Sequence[bool] = (True, True, True, True)) -> LinkableRelease:
    """Released: a as ab F (2 records), b as b F (1), c as * M (1), a man with b as ab and any sex (3)."""
    return LinkableRelease(
        (axis_groups(LETTERS), axis_groups(SEXES)),
        np.array([[A, F], [B, F], [C, M], [B, M]], dtype=np.int32),
        np.array([[AB, F], [B, F], [ANY, M], [AB, BOTH]], dtype=np.int32),
        np.array([2, 1, 1, 3]),
        np.array(kept),
    )


def counts(figure: Linkage) -> tuple[float, int, int, int]:
    return figure.expected_correct, figure.n, figure.certain_matches, figure.single_candidates


def test_matching_by_hand() -> None:
    """The women fit 2 + 3 and 2 + 1 + 3 records, c fits 1, the men with b fit 1 + 3."""
    figure = matching_linkage(generalized_files.generalized_files(hand_worked()))
    assert counts(figure) == (pytest.approx(2 / 5 + 1 / 6 + 1 + 3 / 4), 7, 1, 1)
    assert figure.baseline == 1 / 7


def test_likely_by_hand() -> None:
    """Of the containing cells that of fewest people: ab F by 9, b F by 4, * M by 30, ab of both sexes by 9."""
    files = generalized_files.generalized_files(hand_worked())
    figure = likely_linkage(files, np.array([9, 4, 30, 9]))
    assert counts(figure) == (pytest.approx(2 / 5 + 1 + 1 + 3 / 3), 7, 1, 1)


def test_own_cell_by_hand() -> None:
    figure = own_cell_linkage(generalized_files.generalized_files(hand_worked()))
    assert counts(figure) == (4, 7, 2, 2)
    assert figure.no_candidates == 0


def test_own_cell_of_who_knows_the_letter_only() -> None:
    """b may be b F or ab of both sexes, 4 records; a may be ab F, and in the population ab of both sexes too."""
    files = generalized_files.generalized_files(hand_worked(), [0])
    assert counts(own_cell_linkage(files)) == (pytest.approx(2 / 2 + 1 / 4 + 1 + 3 / 4), 7, 1, 1)
    population = OwnCells(
        np.array([[A, M], [B, F], [B, M]], dtype=np.int32),
        np.array([[AB, BOTH], [B, F], [AB, BOTH]], dtype=np.int32),
        np.array([1, 4, 3]),
    )
    figure = own_cell_linkage(files, population)
    assert counts(figure) == (pytest.approx(2 / 5 + 1 / 4 + 1 + 3 / 4), 7, 1, 1)
    # Of b F all 4 people have b, of ab of both sexes 3 of 4; of that, 1 of 4 has a, of ab F 1 of 1.
    likeliest = own_cell_linkage(files, population, likeliest=True)
    assert counts(likeliest) == (pytest.approx(2 / 2 + 1 + 1 + 0), 7, 1, 1)


def test_closest_by_hand() -> None:
    """Distance 1/3 for ab, 1 for *, 1 for any sex; a woman with b is nearest to b F, a man with b to b F as well."""
    figure = closest_linkage(generalized_files.generalized_files(hand_worked()))
    assert counts(figure)[:2] == (pytest.approx(2 / 3 + 1 + 1 + 0), 7)


def test_what_is_left_out_is_no_candidate_and_looked_for_by_nobody() -> None:
    files = generalized_files.generalized_files(hand_worked((True, True, True, False)))
    assert counts(matching_linkage(files)) == (pytest.approx(2 / 2 + 1 / 3 + 1), 4, 1, 1)
    assert counts(own_cell_linkage(files)) == (3, 4, 2, 2)
    assert files.release.released_records == 4


def slow_figure(
    file: GeneralizedFile,
    people: Sequence[int],
    inside: Callable[[int, int], bool],
    cost: Callable[[int, int], float],
) -> tuple[float, int, int, int]:
    """Links of each person, record by record, to the cheapest of what the intruder takes for possible."""
    released, correct, certain, single, none = file.released(), 0.0, 0, 0, 0
    for person in people:
        candidates = {t: cost(person, t) for t in set(released) if inside(person, t)}
        limit = min(candidates.values(), default=0.0)
        limit += TIE_RELATIVE * abs(limit) + TIE_ABSOLUTE
        tied = [t for t in released if candidates.get(t, np.inf) <= limit]
        size = sum(1 for t in released if t in candidates)
        correct += person in tied and 1 / len(tied)
        single += size == 1
        certain += size == 1 and person in candidates
        none += size == 0
    return correct, certain, single, none


def same(figure: Linkage, slow: tuple[float, int, int, int], n: int) -> bool:
    assert (figure.certain_matches, figure.single_candidates, figure.no_candidates) == slow[1:]
    return figure.n == n and figure.expected_correct == pytest.approx(slow[0], abs=1e-9)


def release_of(file: GeneralizedFile) -> LinkableRelease:
    data = file.data
    kept = file.kept[data] & (file.records[data] > 0)
    return LinkableRelease(file.groups, file.leaves[data], file.cells[data], file.records[data], kept)


def drawn(
    file: GeneralizedFile, known: Sequence[int], seed: int
) -> tuple[list[int], generalized_files.GeneralizedFiles]:
    """Attributes of the file that the intruder knows, and the tuples of some individuals, once for each."""
    axes = sorted({axis % len(file.hierarchies) for axis in known})
    release, released = release_of(file), file.released()
    rng = np.random.default_rng(seed)
    persons = sampled_persons(release, int(rng.integers(1, len(released) + 1)), rng)
    assert (persons <= np.bincount(released, minlength=len(persons))).all()
    return axes, generalized_files.generalized_files(release, axes, persons)


def people_of(files: generalized_files.GeneralizedFiles) -> list[int]:
    return np.repeat(files.attacked, files.persons).tolist()


@QUICK
@given(file=random_files(), known=knowledge, seed=st.integers(0, 99))
def test_matching_and_likely_as_plain_loops(file: GeneralizedFile, known: list[int], seed: int) -> None:
    axes, files = drawn(file, known, seed)
    people, count = people_of(files), np.random.default_rng(seed).integers(0, 4, len(file.leaves))
    slow = slow_figure(file, people, lambda x, t: file.holds(axes, x, t), lambda *_: 0.0)
    assert same(matching_linkage(files), slow, len(people))
    matching = people_matching(file.groups, file.cells[file.data], file.leaves, count, axes)
    n_p = [sum(int(count[x]) for x in range(len(count)) if file.holds(axes, x, t)) for t in range(file.in_data)]
    assert matching.tolist() == n_p
    slow = slow_figure(file, people, lambda x, t: file.holds(axes, x, t), lambda _, t: float(max(n_p[t], 1)))
    assert same(likely_linkage(files, matching), slow, len(people))


@QUICK
@given(file=random_files(), known=knowledge, seed=st.integers(0, 99))
def test_closest_as_plain_loops(file: GeneralizedFile, known: list[int], seed: int) -> None:
    axes, files = drawn(file, known, seed)
    flat = slow_figure(file, people_of(files), lambda *_: True, lambda x, t: file.distance(axes, [1] * len(axes), x, t))
    assert closest_linkage(files).expected_correct == pytest.approx(flat[0], abs=1e-9)


@QUICK
@given(file=random_files(), known=knowledge, seed=st.integers(0, 99), held=st.booleans())
def test_own_cell_as_plain_loops(file: GeneralizedFile, known: list[int], seed: int, *, held: bool) -> None:
    axes, files = drawn(file, known, seed)
    n = len(file.leaves) if held else file.in_data
    count = np.random.default_rng(seed).integers(1, 5, n) if held else file.records[:n]
    population = OwnCells(file.leaves, file.cells, count) if held else None
    agree = [[all(file.leaves[x, a] == file.leaves[y, a] for a in axes) for y in range(n)] for x in range(n)]
    cell = [tuple(row) for row in file.cells[:n].tolist()]

    def possible(x: int, t: int) -> bool:
        return any(agree[x][y] and cell[y] == cell[t] for y in range(n))

    def people_per_match(x: int, t: int) -> float:
        same_cell = [y for y in range(n) if cell[y] == cell[t]]
        return sum(count[y] for y in same_cell) / sum(count[y] for y in same_cell if agree[x][y])

    people = people_of(files)
    assert same(own_cell_linkage(files, population), slow_figure(file, people, possible, lambda *_: 0.0), len(people))
    slow = slow_figure(file, people, possible, people_per_match)
    assert same(own_cell_linkage(files, population, likeliest=True), slow, len(people))


@QUICK
@given(file=random_files())
def test_who_knows_the_rule_and_all_values_links_best(file: GeneralizedFile) -> None:
    """A class is in every tie that its records are in, so that no attack does better than one record a class."""
    files = generalized_files.generalized_files(release_of(file))
    own = own_cell_linkage(files).expected_correct
    classes = {tuple(file.cells[t].tolist()) for t in file.released()}
    assert own == pytest.approx(len(classes))
    people = people_matching(file.groups, file.cells[file.data], file.leaves, np.ones(len(file.leaves), dtype=int))
    others = (matching_linkage(files), likely_linkage(files, people), closest_linkage(files))
    assert all(other.expected_correct <= own + 1e-9 for other in others)


@settings(deadline=None, max_examples=examples(15))
@given(file=random_files(), known=knowledge)
def test_small_blocks_change_nothing(file: GeneralizedFile, known: list[int]) -> None:
    _, files = drawn(file, known, 1)
    whole = matching_linkage(files), closest_linkage(files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generalized_files, "_BLOCK_PAIRS", 1)
        patch.setattr(generalized, "_BLOCK_PAIRS", 1)
        assert (matching_linkage(files), closest_linkage(files)) == whole


def test_a_cell_that_does_not_hold_its_record_is_never_found_by_matching() -> None:
    release = LinkableRelease(
        (axis_groups(LETTERS),),
        np.array([[A], [C]], dtype=np.int32),
        np.array([[CD], [CD]], dtype=np.int32),
        np.array([1, 1]),
        np.array([True, True]),
    )
    figure = matching_linkage(generalized_files.generalized_files(release))
    assert (figure.expected_correct, figure.no_candidates, figure.certain_matches) == (0.5, 1, 0)


def test_the_attacked_need_not_be_everybody() -> None:
    files = generalized_files.generalized_files(hand_worked(), persons=np.array([1, 0, 0, 2]))
    assert counts(own_cell_linkage(files))[:2] == (pytest.approx(1 / 2 + 2 / 3), 3)
    drawn_all = sampled_persons(hand_worked((True, True, False, True)), 6, np.random.default_rng(1))
    assert drawn_all.tolist() == [2, 1, 0, 3]
