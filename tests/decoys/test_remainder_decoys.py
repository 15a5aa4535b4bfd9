"""Decoys among remainder classes: classes of the rule whose people are nobody in the data, by brute force."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError
from tasks.decoys.classes import ClassTable, canonical_cells, lineages
from tasks.decoys.collusion import collusion
from tasks.decoys.decoy_cells import RiskBand, find_decoy_cells, offered, ranked
from tasks.decoys.detectability import View, detectability
from tasks.decoys.linked_release import LinkedRelease
from tasks.decoys.manifest import DecoyManifest, canonical_bytes, manifest_from_bytes
from tasks.decoys.origins import Origins, Placed, rosters_of
from tasks.decoys.planning import CopyToMark, DecoyPlan, continued, manifest_of, plan
from tasks.decoys.records import ClassRecords
from tasks.decoys.stage import marked_copy
from tasks.decoys.tracing import Trace, incident_of_cells, trace
from tasks.generalization.game.payoffs import Payoffs
from tasks.microdata.tuples import distinct_tuples
from tests.support import slow
from tests.support.decoy_grid import TREES
from tests.support.examples import every, examples
from tests.support.planted import policy
from tests.support.remainder_releases import of_adult, of_grid, of_world
from tests.support.worlds import World, stakes, worlds

AXES = lineages(TREES)
BAND = RiskBand(0.1, 1)
QUICK = settings(deadline=None, max_examples=examples(20))


class ByPeople:
    """A release of a small world as plain sets: the class of each combination of leaves that the rule knows."""

    def __init__(self, world: World, payoffs: Payoffs) -> None:
        self.world, self.release = world, of_world(world, payoffs)
        release, trees = self.release, world.hierarchies
        self.own = {}
        for codes, cells in ((release.population.codes, release.own), (release.data.codes, release.cells)):
            for leaves, cell in zip(codes, cells, strict=True):
                value = tuple(tree.labels[0][leaf] for tree, leaf in zip(trees, leaves, strict=True))
                self.own.setdefault(value, self.named(cell))

    def named(self, cell: np.ndarray) -> slow.Cell:
        groups = []
        for tree, place in zip(self.world.hierarchies, cell, strict=True):
            members = tree.positions[:, tree.axis_levels[place]] == place
            groups.append(frozenset(np.array(tree.labels[0])[members].tolist()))
        return tuple(groups)

    def people_of(self, cell: slow.Cell) -> int:
        return sum(count for value, count in self.world.people.items() if self.own[value] == cell)

    def empty(self) -> dict[slow.Cell, tuple[int, int]]:
        """Classes with people of whom none is in the data: their people, and all whose values the cell holds."""
        taken = {self.own[value] for value in self.world.records}
        cells = {self.own[value] for value in self.world.people} - taken
        return {cell: (self.people_of(cell), slow.count(self.world.people, cell)) for cell in cells}


def made(world: World, payoffs: Payoffs) -> ByPeople | None:
    """None where not even everybody is safe."""
    return ByPeople(world, payoffs) if sum(world.people.values()) >= max(payoffs.safe_group, 1) else None


@pytest.mark.slow
@QUICK
@given(world=worlds(max_attributes=2))
def test_decoys_are_the_classes_whose_people_are_nobody_in_the_data(world: World) -> None:
    here = made(world, world.payoffs)
    if here is None:
        return
    release = here.release
    classes = release.classes
    for cell, people, inside in zip(classes.cells, classes.people.tolist(), classes.inside.tolist(), strict=True):
        named = here.named(cell)
        assert (people, inside) == (here.people_of(named), slow.count(world.people, named))
    if not classes.people.any():
        with pytest.raises(ParameterError):
            find_decoy_cells(release, 1)
        return
    found = find_decoy_cells(release, 1)
    columns = zip(found.cells, found.people.tolist(), found.inside.tolist(), found.pool.tolist(), strict=True)
    assert {here.named(cell): tuple(counts) for cell, *counts in columns} == {
        cell: (people, inside, people) for cell, (people, inside) in here.empty().items()
    }


@pytest.mark.slow
@QUICK
@given(world=worlds(max_attributes=2), other=stakes())
def test_classes_of_two_rules_are_related_by_people_or_label(world: World, other: Payoffs) -> None:
    one, two = made(world, world.payoffs), made(world, other)
    if one is None or two is None:
        return
    origins = Origins(lineages(world.hierarchies), rosters_of([one.release, two.release]))
    left, right = (Placed.of([part.release.classes], [file]) for file, part in enumerate((one, two)))
    found = {
        (one.named(left.cells[a]), two.named(right.cells[b]))
        for a, b in zip(*origins.classes(left, right), strict=True)
    }
    mine, theirs = ({part.own[value] for value in world.records} for part in (one, two))
    shared = {(one.own[value], two.own[value]) for value in one.own}
    assert found == {pair for a in mine for b in theirs if (pair := (a, b)) in shared or a == b}
    same = origins.classes(left, left)
    assert same[0].tolist() == same[1].tolist() == list(range(len(left.cells)))


@pytest.mark.slow
@QUICK
@given(world=worlds(max_attributes=2), data=st.data())
def test_a_tuple_comes_from_the_classes_of_the_people_whom_it_holds(world: World, data: st.DataObject) -> None:
    """A file as it was released is read by its labels, unless a label is one person's values."""
    here = made(world, world.payoffs)
    if here is None:
        return
    trees, axes = world.hierarchies, lineages(world.hierarchies)
    places = st.tuples(*(st.integers(0, len(tree.finest) - 1) for tree in trees))
    drawn = np.array(data.draw(st.lists(places, min_size=1, max_size=6)), dtype=np.int32)
    every = Placed.of([here.release.classes], [0])
    for some in (drawn, here.release.classes.cells):
        cells = np.unique(canonical_cells(some, axes), axis=0)
        origins = Origins(axes, rosters_of([here.release])).reading(cells)
        labels = {tuple(cell) for cell in canonical_cells(here.release.own, axes).tolist()}
        labels |= {tuple(cell) for cell in canonical_cells(here.release.cells, axes).tolist()}
        assert origins.unchanged == (np.mean([tuple(cell) in labels for cell in cells.tolist()]) >= 0.95)
        pairs = zip(*(part.tolist() for part in origins.incident(cells, every)), strict=True)
        found = {(row, here.named(every.cells[place])) for row, place in pairs}
        wanted = set()
        for row, cell in enumerate(cells):
            held = here.named(cell)
            if origins.unchanged and tuple(cell.tolist()) in labels and max(map(len, held)) > 1:
                wanted |= {(row, held)}
            else:
                inside = {value for value in here.own if all(v in group for v, group in zip(value, held, strict=True))}
                wanted |= {(row, here.own[value]) for value in inside}
        real = {here.own[value] for value in world.records}
        assert found == {pair for pair in wanted if pair[1] in real}


def planned(*releases: LinkedRelease, recipients: int = 4, classes: int = 3) -> tuple[DecoyPlan, list[CopyToMark]]:
    """Recipients in turn of each release, by the same generator."""
    asked = [
        CopyToMark(f"r{number}", str(number % len(releases)), releases[number % len(releases)], classes, BAND)
        for number in range(recipients)
    ]
    axes = lineages(releases[0].hierarchies)
    return plan(asked, axes, policy(kept_per_decoy=2), 1, np.random.default_rng(1)), asked


RULES = {"one rule": (50,), "two rules": (50, 80)}


@pytest.fixture(scope="module", params=RULES.values(), ids=RULES.keys())
def placed(request: Any) -> tuple[DecoyPlan, list[CopyToMark]]:
    return planned(*map(of_grid, request.param))


def rows_of(made: DecoyPlan, asked: list[CopyToMark], number: int) -> np.ndarray:
    """The rows of a copy with its decoys, one a record."""
    real = asked[number].release.classes.take(~made.missing(asked[number]))
    return np.concatenate([np.repeat(one.cells, one.records, axis=0) for one in (real, made.decoys(number))])


def traced(made: DecoyPlan, cells: np.ndarray, kind: Any = "rows") -> Trace:
    return traced_by(manifest_of(made, 2, "r", TREES, [()] * len(made.demands)), cells, kind)


def traced_by(manifest: DecoyManifest, cells: np.ndarray, kind: Any = "rows") -> Trace:
    """Sealed and opened; without the population, which the manifest has."""
    read = manifest_from_bytes(canonical_bytes(manifest))
    return trace(read, AXES, incident_of_cells(cells, AXES, kind), None)


def people_of(release: LinkedRelease, classes: ClassTable) -> np.ndarray:
    return release.population.codes[np.isin(release.own_numbers, release.number(classes.cells))]


def test_nobody_has_two_decoys_and_no_decoys_people_are_in_any_copys_data(placed: Any) -> None:
    made, asked = placed
    seen: set[tuple[int, ...]] = set()
    for number, one in enumerate(asked):
        people = {tuple(person) for person in people_of(one.release, made.decoys(number)).tolist()}
        assert people
        assert not people & seen
        assert not people & {tuple(codes) for codes in one.release.data.codes.tolist()}
        seen |= people
    labels = [tuple(cell) for number in range(len(asked)) for cell in made.decoys(number).cells.tolist()]
    assert len(set(labels)) == len(labels)
    real = {tuple(cell) for one in asked for cell in one.release.classes.cells.tolist()}
    assert not real & set(labels)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
def test_a_copy_and_the_people_of_its_decoys_name_their_recipient(placed: Any, number: int) -> None:
    made, asked = placed
    found = traced(made, rows_of(made, asked, number))
    assert found.named == (f"r{number}",)
    assert [hit.recipient for hit in found.hits] == [f"r{number}"]
    people = traced(made, people_of(asked[number].release, made.decoys(number)), "people")
    assert [(hit.recipient, hit.decoy_classes) for hit in people.hits] == [(f"r{number}", 3)]


@pytest.mark.slow
def test_what_is_from_no_copy_names_nobody(placed: Any) -> None:
    """The file as collected, and as it was before decoys; then the people of each value, and of each run of them."""
    made, (one, *_) = placed
    everybody = one.release.population.codes
    lists = [everybody[everybody[:, axis] // 3 == place] for axis in (0, 1) for place in range(0, 12, every(1))]
    for cells in (one.release.data.codes, one.release.classes.cells, everybody, *lists):
        assert traced(made, cells).named == ()


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("number", range(4))
def test_a_copy_generalized_further_points_to_nobody_else(placed: Any, number: int, axis: int) -> None:
    """Its rows are labels of classes that they do not come from."""
    made, asked = placed
    rows = canonical_cells(rows_of(made, asked, number), AXES)
    line = AXES[axis]
    rows[:, axis] = line.at_level[rows[:, axis], np.minimum(line.levels[rows[:, axis]] + 1, 2)]
    found = traced(made, rows)
    assert set(found.named) | set(found.suspected) <= {f"r{number}"}


def test_whoever_compares_copies_and_has_the_population_learns_no_more_than_planned(placed: Any) -> None:
    made, asked = placed
    manifest = manifest_of(made, 2, "r", TREES, [()] * len(made.demands))
    held = [marked_copy(manifest, manifest.holders[number], made.missing(one)) for number, one in enumerate(asked)]
    for one in collusion(held, AXES, np.random.default_rng(1), rosters=made.problem.rosters)[1:]:
        assert one.suspects_decoys == 3 * one.colluders
        assert one.worst_informed <= 1 / 3 + 1e-9


def later(
    made: DecoyPlan, asked: list[CopyToMark], *added: np.ndarray
) -> tuple[DecoyManifest, dict[str, tuple[ClassTable, np.ndarray]]]:
    """A second version, whose data have some people more, and the classes that each copy of it misses."""
    copies = []
    for one in asked:
        release = one.release
        codes = np.concatenate([release.data.codes, *added])
        counts = np.append(release.data.counts, np.ones(len(codes) - len(release.data), dtype=np.int64))
        data, _ = distinct_tuples(codes, TREES, counts)
        cells, kept = release.own[release.population.find(data.keys)], np.ones(len(data), dtype=bool)
        copies.append(replace(one, release=replace(release, data=data, cells=cells, released=kept)))
    first = manifest_of(made, 2, "first", TREES, [()] * len(made.demands))
    grown, missing = continued(first, copies, "second", TREES, AXES, budget=10**6)
    return grown, {one.recipient: (one.release.classes, missing[one.recipient]) for one in copies}


def test_real_people_of_a_decoys_class_are_withheld_from_every_copy_of_a_later_version(placed: Any) -> None:
    made, asked = placed
    person = people_of(asked[0].release, made.decoys(0))[:1]
    grown, copies = later(made, asked, person)
    for number, one in enumerate(asked):
        classes, missing = copies[one.recipient]
        own = one.release.own[one.release.population.find(distinct_tuples(person, TREES)[0].keys)]
        where = np.flatnonzero(one.release.number(classes.cells) == one.release.number(own))
        assert missing[where].tolist() == [True]
        kept = grown.holders[number].kept.cells.tolist()
        mine = [cell in kept for cell in canonical_cells(classes.cells, AXES).tolist()]
        assert sum(mine) == len(kept)
        assert not missing[mine].any()
    again = traced_by(grown, rows_of(made, asked, 0))
    assert [hit.recipient for hit in again.hits] == ["r0"]


def test_a_later_version_in_other_classes_is_refused(placed: Any) -> None:
    """Other stakes or people give other classes, of which a decoy's is none; whole cells are no remainder classes."""
    made, asked = placed
    other = [replace(one, release=of_grid(120), form="other") for one in asked]
    with pytest.raises(ParameterError, match="does not match the earlier ones"):
        later(made, other)
    plain = replace(made, problem=replace(made.problem, rosters=()))
    whole = manifest_of(plain, 2, "r", TREES, [()] * len(made.demands))
    with pytest.raises(ParameterError, match="remainder classes cannot follow"):
        continued(whole, asked, "second", TREES, AXES, budget=10**6)


@pytest.mark.slow
def test_the_holder_of_the_population_and_the_rule_cannot_tell_decoys_from_classes() -> None:
    """Adult-TN at 75 people; cells drawn at random, as if likeness did not matter, would be told."""
    release, generator = of_adult(), np.random.default_rng(3)
    found = find_decoy_cells(release, 1)
    order = ranked(found, BAND, generator, ratio=2)
    areas = []
    for ordered in (order, generator.permutation(order)):
        decoys = offered(found, ordered, generator, most=300, ratio=1)
        bare = [ClassRecords(part, {}, np.arange(len(part))) for part in (decoys, release.classes)]
        judged = detectability(release, *bare, {}, generator)
        areas.append(max(one.area for one in judged.tried if one.view == View.POPULATION))
    assert areas[0] < 0.57
    assert areas[1] > areas[0] + 0.05
