"""The informed intruder on a whole release, against plain loops over all pairs of tiny files."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.linkage import informed
from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.within import MaskedPart, simulated_displacement, truth_inside
from tasks.core.errors import ParameterError
from tasks.core.wilson import wilson
from tasks.masking.registry import METHODS
from tasks.request.model import PARAMETER_OF, Masking, MaskingName
from tests.reference.knowing_attacks import noise_linkage
from tests.support.casc_tables import casc_table
from tests.support.examples import examples, quick_and_slow

STRENGTH = {"p": 20.0, "buckets": 3, "k": 3, "noise": 0.2}
N = 16
Table = np.ndarray


def terms(method: MaskingName | str, n_attributes: int, **given_terms: Any) -> Masking:
    parameter = PARAMETER_OF[MaskingName(method)]
    names = tuple(f"x{place}" for place in range(n_attributes))
    return Masking(attributes=names, method=MaskingName(method), **({parameter: STRENGTH[parameter]} | given_terms))


def numbers(generator: np.random.Generator, n_attributes: int, *, ties: bool) -> Table:
    if ties:
        values = generator.integers(0, 5, (N, n_attributes)).astype(float)
        values[0], values[1] = 0, 4
        return values
    return generator.lognormal(0, 1, (N, n_attributes))


def part(masking: Masking, original: Table, generator: np.random.Generator, *, whole: bool = False) -> MaskedPart:
    masked = METHODS[masking.method].of(masking).mask(original, generator).values
    return MaskedPart(masking, original, np.rint(masked) if whole else masked, complete=True)


# The slow solver: what one masking allows and how well a pair fits, one pair at a time.


def ranks(value: float, ordered: Sequence[float]) -> list[int]:
    return [place for place, other in enumerate(ordered) if other == value]


def allowed(one: MaskedPart, before: int, after: int) -> bool:
    """Whether the record ``after`` may be that of the person ``before``, by what the method cannot do."""
    method, n_records = one.masking.method, len(one.original)
    if method is MaskingName.MDAV and one.complete:
        again = METHODS[one.masking.method].of(one.masking).mask(one.original, np.random.default_rng(0)).values
        slack = 0.5 if (one.masked == np.rint(one.masked)).all() else 0.0
        return all(abs(again[before] - one.masked[after]) <= slack + 1e-9)
    for original, masked in zip(one.original.T, one.masked.T, strict=True):
        ordered = sorted(masked.tolist())
        own, other = ranks(original[before], sorted(original.tolist())), ranks(masked[after], ordered)
        if method is MaskingName.RANK_SWAPPING:
            window = math.floor(one.masking.strength * n_records / 100 + 1e-9)
            if min(abs(r - s) for r in own for s in other) > window:
                return False
        if method is MaskingName.INDIVIDUAL_RANKING and not set(own) & set(other):
            return False
    return True


def misfit(one: MaskedPart, before: int, after: int, moves: Table | None) -> float:
    """Half the squared distance, or minus the log-likelihood where nothing bounds the masked value."""
    method, masking = one.masking.method, one.masking
    if moves is not None:
        total = 0.0
        for original, masked in zip(one.original.T, one.masked.T, strict=True):
            own, other = (
                ranks(original[before], sorted(original.tolist())),
                ranks(masked[after], sorted(masked.tolist())),
            )
            likely = [moves[s - r + len(original) - 1] for r in own for s in other]
            total -= math.log(max(sum(likely) / len(likely), 1e-300))
        return total
    if method is MaskingName.ADDITIVE_NOISE or (method is MaskingName.CORRELATED_NOISE and not one.complete):
        apart = (one.original[before] - one.masked[after]) / (one.original.std(axis=0) * math.sqrt(masking.strength))
        return float(apart @ apart) / 2
    if method is MaskingName.CORRELATED_NOISE:
        apart = one.original[before] - one.masked[after]
        covariance = np.atleast_2d(np.cov(one.original.T, ddof=0)) * masking.strength
        return float(apart @ np.linalg.inv(covariance) @ apart) / 2
    apart = (one.original[before] - one.original.mean(axis=0)) / one.original.std(axis=0)
    apart = apart - (one.masked[after] - one.masked.mean(axis=0)) / one.masked.std(axis=0)
    return float(apart @ apart) / 2


def moves_of(one: MaskedPart) -> Table | None:
    """How likely each move is, for the methods that may move a value anywhere."""
    if one.masking.method not in (MaskingName.BUCKET_SWAPPING, MaskingName.DISTRIBUTION_SWAPPING):
        return None
    method = METHODS[one.masking.method].of(one.masking)
    return simulated_displacement(method, len(one.original))


@dataclass(frozen=True)
class Slow:
    """Links found by loops."""

    correct: float
    certain: int
    outside: int
    """People whose own record is ruled out."""


def slow(release: InformedView, people: Sequence[int]) -> Slow:
    moves = [moves_of(one) for one in release.parts]
    correct, certain, outside = 0.0, 0, 0
    for person in people:
        me = int(release.released[person])
        candidates = [
            int(other)
            for other in release.released
            if (release.equal[other] == release.equal[me]).all()
            and all(allowed(one, me, int(other)) for one in release.parts)
        ]
        outside += me not in candidates
        fit = {
            other: sum(misfit(one, me, other, likely) for one, likely in zip(release.parts, moves, strict=True))
            for other in candidates
        }
        least = min(fit.values())
        tied = [other for other, value in fit.items() if value <= least + 1e-9 * max(least, 1)]
        correct += (me in tied) / len(tied)
        certain += candidates == [me]
    return Slow(correct, certain, outside)


def compared(release: InformedView, people: Sequence[int] | None = None) -> Slow:
    who = range(len(release.released)) if people is None else people
    expected = slow(release, who)
    found = release.candidate_linkage(np.array(who))
    assert found.expected_correct == pytest.approx(expected.correct, abs=1e-6)
    assert (found.n, found.certain_matches) == (len(who), expected.certain)
    assert found.baseline == 1 / len(release.released)
    assert (found.no_candidates, expected.outside) == (0, 0)
    return expected


def classes(generator: np.random.Generator) -> Table:
    """A cell and a column that leaves as it is, with few values each."""
    return generator.integers(0, 2, (N, 2))


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("method", list(MaskingName))
def test_each_masking_by_itself(method: MaskingName, ties: bool) -> None:
    for seed in range(3):
        generator = np.random.default_rng(seed)
        one = part(terms(method, 2), numbers(generator, 2, ties=ties), generator)
        nothing = np.empty((N, 0), dtype=np.int64)
        alone = compared(InformedView(np.arange(N), nothing, (one,)))
        within = compared(InformedView(np.arange(N), classes(generator), (one,)))
        assert within.correct >= alone.correct - 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "methods",
    [
        ("rank-swapping", "mdav"),
        ("individual-ranking", "additive-noise"),
        ("rank-swapping-p-buckets", "correlated-noise"),
        ("rank-swapping", "rank-swapping-p-distribution", "individual-ranking"),
        ("mdav", "additive-noise", "rank-swapping-p-buckets"),
    ],
)
def test_several_maskings_and_what_leaves_as_it_is(methods: tuple[str, ...]) -> None:
    for seed in range(3):
        generator = np.random.default_rng(seed)
        parts = tuple(
            part(terms(name, 1 + place % 2), numbers(generator, 1 + place % 2, ties=seed == 1), generator)
            for place, name in enumerate(methods)
        )
        compared(InformedView(np.arange(N), np.empty((N, 0), dtype=np.int64), parts))
        compared(InformedView(np.arange(N), classes(generator), parts))


@pytest.mark.parametrize("method", list(MaskingName))
def test_a_file_with_suppressed_records_and_some_people_only(method: MaskingName) -> None:
    """The masking was of the whole file; candidates are the released records alone."""
    generator = np.random.default_rng(4)
    released = np.array([0, 2, 3, 4, 7, 8, 9, 11, 12, 15])
    one = part(terms(method, 2), numbers(generator, 2, ties=False), generator)
    release = InformedView(released, classes(generator), (one,))
    compared(release)
    compared(release, [1, 4, 9])


def test_without_numbers_a_class_is_guessed_in() -> None:
    equal = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 0], [1, 0]])
    found = InformedView(np.arange(6), equal).candidate_linkage(np.arange(6))
    assert found.expected_correct == pytest.approx(2 / 2 + 1 + 3 / 3)
    assert (found.certain_matches, found.single_candidates) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mdav", "individual-ranking", "additive-noise"])
def test_rounded_values_keep_their_own_record_among_the_candidates(method: str) -> None:
    for seed in range(5):
        generator = np.random.default_rng(seed)
        original = np.rint(generator.lognormal(1.5, 1, (N, 2)))
        one = part(terms(method, 2), original, generator, whole=True)
        compared(InformedView(np.arange(N), np.empty((N, 0), dtype=np.int64), (one,)))


def test_mdav_is_run_again_only_by_who_knows_all_that_was_masked_together() -> None:
    generator = np.random.default_rng(2)
    whole = part(terms("mdav", 2), numbers(generator, 2, ties=False), generator)
    half = MaskedPart(whole.masking, whole.original[:, :1], whole.masked[:, :1], complete=False)
    assert np.isinf(half.bounds.low).all()
    assert np.isfinite(whole.bounds.low).all()
    nothing = np.empty((N, 0), dtype=np.int64)
    compared(InformedView(np.arange(N), nothing, (half,)))
    assert compared(InformedView(np.arange(N), nothing, (whole,))).correct == pytest.approx(
        len(np.unique(whole.masked, axis=0))
    )


@pytest.mark.parametrize("method", ["rank-swapping", "mdav", "individual-ranking"])
def test_values_that_the_method_does_not_make_are_noticed(method: str) -> None:
    """By MDAV at once; the others leave the person without the own record."""
    generator = np.random.default_rng(3)
    one = part(terms(method, 2), numbers(generator, 2, ties=False), generator)
    lowest, highest = one.original[:, 0].argmin(), one.original[:, 0].argmax()
    exchanged = one.masked.copy()
    exchanged[[lowest, highest]] = one.masked[[highest, lowest]]
    other = replace(one, masked=exchanged)
    release = InformedView(np.arange(N), np.empty((N, 0), dtype=np.int64), (other,))
    if method == "mdav":
        with pytest.raises(ParameterError, match="not made by MDAV"):
            release.candidate_linkage(np.arange(N))
        return
    people = np.arange(N)
    inside = truth_inside(release._files(people, people, people), release._bounds(people))
    assert not inside[lowest]
    assert not inside[highest]


@given(
    values=st.lists(st.integers(-3, 12), min_size=6, max_size=24).filter(lambda given: len(set(given)) > 1),
    percent=st.sampled_from([5.0, 17.5, 34, 50, 100]),
    reading=st.sampled_from(["pair", "skip", "literal"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=examples(60), deadline=None)
def test_the_own_record_is_always_within_the_window(values: list[int], percent: float, reading: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    column = np.array(values, dtype=float)
    original = np.column_stack([column, generator.permutation(column)])
    if math.floor(percent * len(column) / 100) < 1:
        return
    masking = terms("rank-swapping", 2, p=percent, reading=reading)
    masked = METHODS[masking.method].of(masking).mask(original, generator).values
    one = MaskedPart(masking, original, masked, complete=True)
    for person in range(len(column)):
        assert allowed(one, person, person)
    people = np.arange(len(column))
    release = InformedView(people, np.empty((len(column), 0), dtype=np.int64), (one,))
    assert truth_inside(release._files(people, people, people), release._bounds(people)).all()


# Everybody at once.


@dataclass(frozen=True)
class Joint:
    """An attack on everybody at once, and whether it was on everybody."""

    linkage: Linkage
    complete: bool


def joint_of(view: InformedView, generator: np.random.Generator) -> Joint:
    found = view.joint_linkage(generator)
    return Joint(found, found.n == len(view.released))


def grouped(seed: int, sizes: Sequence[int]) -> InformedView:
    generator = np.random.default_rng(seed)
    total = sum(sizes)
    original = generator.lognormal(0, 1, (total, 2))
    masking = terms("rank-swapping", 2, p=30)
    masked = METHODS[masking.method].of(masking).mask(original, generator).values
    cells = np.repeat(np.arange(len(sizes)), sizes)[:, None]
    return InformedView(np.arange(total), cells, (MaskedPart(masking, original, masked, complete=True),))


def class_by_class(release: InformedView, chosen: Sequence[int]) -> float:
    """Links where each class is attacked as if there were no other."""
    total = 0.0
    for number in chosen:
        members = release.released[release.class_of == number]
        alone = joint_of(replace(release, released=members), np.random.default_rng(0))
        total += alone.linkage.expected_correct
    return total


def test_classes_are_attacked_as_hard_together_as_alone() -> None:
    for seed in range(4):
        release = grouped(seed, [1, 4, 9, 16, 12, 5])
        whole = joint_of(release, np.random.default_rng(seed))
        assert whole.complete
        assert whole.linkage.n == 47
        assert whole.linkage.expected_correct == pytest.approx(class_by_class(release, range(6)), abs=0.01)
        assert whole.linkage.expected_correct >= release.candidate_linkage(np.arange(47)).expected_correct - 2


@pytest.fixture
def small_tables(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Fewer pairs at once, and in all blocks together, and smaller blocks."""

    def set_to(pairs: int, in_blocks: int | None = None, fewest: int = 1) -> None:
        monkeypatch.setattr(informed, "_MOST_PAIRS", pairs)
        monkeypatch.setattr(informed, "_MOST_IN_BLOCKS", in_blocks or pairs)
        monkeypatch.setattr(informed, "_FEWEST_IN_BLOCK", fewest)

    return set_to


def test_where_not_all_classes_fit_whole_ones_are_drawn(small_tables: Callable[..., None]) -> None:
    sizes = [10] * 8
    release = grouped(1, sizes)
    alone = [class_by_class(release, [number]) for number in range(8)]
    small_tables(100, 450, 10)
    outcomes = [joint_of(release, np.random.default_rng(seed)) for seed in range(6)]
    assert {(outcome.complete, outcome.linkage.n) for outcome in outcomes} == {(False, 40)}
    possible = {round(sum(alone[number] for number in range(8) if chosen >> number & 1), 2) for chosen in range(256)}
    for outcome in outcomes:
        assert min(abs(outcome.linkage.expected_correct - total) for total in possible) < 0.02
        assert not outcome.linkage.bound
    assert len({outcome.linkage.expected_correct for outcome in outcomes}) > 1
    assert all(outcome.linkage.baseline == 1 / 80 for outcome in outcomes)


def test_a_class_that_is_too_large_is_attacked_in_blocks(small_tables: Callable[..., None]) -> None:
    """All others as before; nobody is left out, and the figure is no less than with the class whole."""
    release = grouped(2, [60, *[6] * 10])
    whole = joint_of(release, np.random.default_rng(0)).linkage.expected_correct
    small_tables(400, 10_000, 20)
    found = joint_of(release, np.random.default_rng(0))
    assert (found.complete, found.linkage.n, found.linkage.bound) == (True, 120, True)
    assert np.bincount(release._blocks(20)).max() <= 20
    assert all(np.ptp(release.class_of[release._blocks(20) == block]) == 0 for block in release._blocks(20))
    assert found.linkage.expected_correct >= whole


@pytest.mark.parametrize("method", quick_and_slow({"rank-swapping", "mdav"}, MaskingName))
def test_blocks_bound_what_everybody_at_once_links(method: MaskingName, small_tables: Callable[..., None]) -> None:
    """Whatever the masking: on 900 skewed records of one class, in blocks of ever fewer."""
    generator = np.random.default_rng(6)
    common = generator.normal(size=(900, 1))
    original = np.exp((common + generator.normal(size=(900, 3))) / 2)
    one = replace(part(terms(method, 3), original, generator), complete=False)
    release = InformedView(np.arange(900), np.empty((900, 0), dtype=np.int64), (one,))
    figures = [release.joint_linkage(np.random.default_rng(0)).expected_correct]
    for most in (450, 225):
        small_tables(1, 900 * most, most)
        found = release.joint_linkage(np.random.default_rng(0))
        assert (found.n, found.bound, found.independent) == (900, True, None)
        figures.append(found.expected_correct)
    assert figures[1] >= 0.99 * figures[0]
    assert figures[2] >= 0.99 * figures[1]


def test_drawn_blocks_are_fewer_people_than_they_hold(small_tables: Callable[..., None]) -> None:
    """People of one block are alike, so that the interval is wider than that of as many drawn one by one."""
    release = grouped(5, [1000])
    small_tables(100, 3000, 20)
    found = release.joint_linkage(np.random.default_rng(0))
    assert found.n < 200
    assert found.independent is not None
    assert 1 < found.independent <= found.n
    low, high = found.interval
    assert low <= found.share_correct <= high
    assert high >= wilson(found.expected_correct, found.n)[1]
    small_tables(100, 10**6, 20)
    everybody = release.joint_linkage(np.random.default_rng(0)).share_correct
    inside = 0
    for seed in range(20):
        small_tables(100, 3000, 20)
        low, high = release.joint_linkage(np.random.default_rng(seed)).interval
        inside += low <= everybody <= high
    assert inside >= 17


def test_one_class_is_not_cut(small_tables: Callable[..., None]) -> None:
    """Its candidates are counted, not its square: bounds may leave few."""
    release = grouped(4, [40])
    assert joint_of(release, np.random.default_rng(0)).complete
    small_tables(100)
    assert release.joint_linkage(np.random.default_rng(0)).n == 40


UNBOUNDED = ("additive-noise", "correlated-noise", "rank-swapping-p-buckets", "rank-swapping-p-distribution")


@pytest.mark.slow
@pytest.mark.parametrize("method", quick_and_slow({"additive-noise"}, UNBOUNDED))
def test_who_weighs_others_that_explain_a_record_links_more(method: str) -> None:
    """Without bounds on the masked values, one by one, and everybody at once."""
    original = casc_table("census")[:, :5]
    stated = {"buckets": 10} if "buckets" in method else {}
    one = part(terms(method, 5, **stated), original, np.random.default_rng(1))
    release = InformedView(np.arange(1080), np.empty((1080, 0), dtype=np.int64), (one,))
    everybody = np.arange(1080)
    assert release.crowded
    plain = release.candidate_linkage(everybody).share_correct
    likeliest = release.likeliest_linkage(everybody).share_correct
    whole = release.joint_linkage(np.random.default_rng(0)).share_correct
    assert plain < likeliest < 1.05 * whole
    if method == "additive-noise":
        reference = noise_linkage(one.files, STRENGTH["noise"])
        assert likeliest == pytest.approx(reference.share_correct, rel=0.05)


def test_classes_hold_what_is_equal_in_all_columns() -> None:
    equal = np.array([[0, 5], [1, 5], [0, 5], [0, 6]])
    release = InformedView(np.array([0, 2, 3]), equal)
    first, second, third = release.class_of.tolist()
    assert first == second != third
    none = InformedView(np.array([0, 2, 3]), np.empty((4, 0), dtype=np.int64))
    assert none.class_of.tolist() == [0, 0, 0]
    assert all(one == other for one, other in pairwise(none.class_of))
