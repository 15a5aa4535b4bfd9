from itertools import combinations
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tasks.core.errors import DataError, ParameterError
from tasks.decoys.classes import lineages
from tasks.decoys.manifest import DecoyManifest, Holder, Version
from tasks.decoys.tracing import incident_of_cells, incident_of_labels, trace
from tasks.microdata.hierarchy import hierarchy_from_rows
from tasks.microdata.tuples import distinct_tuples
from tests.reference.cells_within import encloses
from tests.support.decoy_tables import of_same_origin, table, tree
from tests.support.decoy_world import RECIPIENTS, LaterWorld, rows_of, world
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent

TREE = tree("value", 2, 5)
"""25 leaves at positions 0 to 24, five groups at 25 to 29, the top at 30."""
AXES = lineages([TREE])


def column(positions, records=None, people=None):
    n = len(positions)
    return table(np.array(positions).reshape(n, 1), records or [4] * n, people or [10] * n)


def hand_made():
    """Leaves 0 to 9 and 15 are real; b alone has 8 and 9, a alone 6 and 7; a's decoys are 10 and 11, b's 12 and 20."""
    holders = (
        Holder("a", 0, column([10, 11]), column([6, 7])),
        Holder("b", 0, column([12, 20]), column([8, 9])),
        Holder(None, 0, column([21]), column([15])),
    )
    return DecoyManifest("digest", 1, (Version("r", (column([*range(10), 15]),)),), holders)


PEOPLE, _ = distinct_tuples(np.arange(25, dtype=np.int32).reshape(-1, 1), [TREE], np.full(25, 10))
"""Ten people in each leaf. Fourteen leaves are outside the real classes, three of them decoys of b or of the seat; of
the eleven that are left two are a's decoys, so that N is 10 for each of these. The same holds for b's."""


def traced(positions, kind="people", **options):
    incident = incident_of_cells(np.array(positions, dtype=np.int32).reshape(-1, 1), AXES, kind)
    return trace(hand_made(), AXES, incident, PEOPLE, **options)


def a_few(number):
    """Positions, of which all but two are for the full suite."""
    return [0, 1, *(pytest.param(place, marks=pytest.mark.slow) for place in range(2, number))]


class TestHandWorked:
    def test_one_person_in_a_decoy(self):
        """One of ten cells is hit, for either decoy of a; times two recipients. One class names nobody."""
        found = traced([10], level=0.4)
        assert (found.verdict, found.named, found.suspected) == ("one decoy class", (), ("a",))
        (hit,) = found.hits
        assert (hit.decoy_hits, hit.decoy_classes, hit.of_decoys, hit.kept_hits) == (1, 1, 2, 0)
        assert hit.chance == pytest.approx(2 * (1 - 0.9**2))
        assert traced([10], level=0.3).verdict == "nothing"

    def test_subjects_without_any_kept_class(self):
        """Kept classes could have been hit, and none was: a chance of 1, by Fisher's method."""
        found = traced([10, 11, 0, 1])
        assert (found.total, found.ordinary, found.ambiguous, found.outside) == (4, 2, 0, 0)
        assert found.hits[0].chance == pytest.approx(2 * 0.04 * (1 - log(0.04)))

    def test_subjects_of_whom_no_class_can_be_told(self):
        """Group 25 is leaves 0 to 4, real ones all of them: kept classes have no say."""
        assert traced([10, 11, 25]).hits[0].chance == pytest.approx(2 * 0.04)

    def test_both_decoys_name(self):
        """Two of ten cells are hit, for either."""
        found = traced([10, 11], level=0.1)
        assert (found.verdict, found.named) == ("decoys", ("a",))
        assert found.hits[0].chance == pytest.approx(2 * 0.2**2)

    def test_people_elsewhere_make_chance_likelier(self):
        """Four of ten cells."""
        found = traced([10, 22, 23, 24], level=0.9)
        assert found.outside == 3
        assert found.hits[0].chance == 1.0
        assert traced([10, 11, 22]).hits[0].chance == pytest.approx(2 * 0.3**2)

    @pytest.mark.parametrize("kind", ["people", "rows"])
    def test_a_class_counts_once(self, kind):
        """However many of one place there are."""
        assert traced([10] * 700, kind).hits[0].chance == traced([10], kind).hits[0].chance
        assert traced([10] * 700, kind, level=0.4).named == ()

    def test_one_decoy_class_names_where_kept_classes_would_do(self):
        """Of eleven classes two are hit, kept ones and a's, of two recipients; then one is, the one kept by a."""
        product = 0.19 * 2 * (10 / 55) * (1 / 10)
        found = traced([10, 6, 7], level=0.09)
        assert (found.verdict, found.named) == ("decoys", ("a",))
        assert found.hits[0].chance == pytest.approx(2 * product * (1 - log(product)))
        assert 2 * 2 * (10 / 55) * (1 / 10) < 0.09
        product = 0.19 * 2 * (5 / 11) * (2 / 5)
        found = traced([10, 6], level=0.6)
        assert (found.verdict, found.named, found.suspected) == ("one decoy class", (), ("a",))
        assert found.hits[0].chance == pytest.approx(2 * product * (1 - log(product)))
        assert 2 * 2 * (5 / 11) * (2 / 5) > 0.6

    def test_kept_classes_are_weaker(self):
        """a's two of five kept classes and one of six others are hit: three of eleven, two of them kept, both a's."""
        found = traced([6, 7, 0], level=0.2)
        assert (found.verdict, found.named, found.suspected) == ("kept classes", (), ("a",))
        assert found.hits[0].chance == pytest.approx(2 * 2 * (60 / 165) * (1 / 10))
        assert (found.hits[0].kept_hits, found.hits[0].kept_classes, found.hits[0].of_kept) == (2, 2, 2)

    def test_the_more_else_is_hit_the_less_likely_is_it_chance(self):
        """All six others and one of a's: seven of eleven, of which just one is kept, and a's."""
        found = traced([6, 0, 1, 2, 3, 4, 5], level=0.2)
        assert found.suspected == ("a",)
        few = sum(stats.hypergeom.pmf(number, 11, 5, 7) * weight for number, weight in ((1, 2 / 5), (2, 1 / 10)))
        assert found.hits[0].chance == pytest.approx(2 * 2 * few)

    def test_kept_classes_of_two(self):
        """Two of a's and one of b's, of four: the half of the draws of three, doubled, times two recipients."""
        found = traced([6, 7, 8, 0, 1, 2, 3, 4, 5], level=0.9)
        assert found.verdict == "nothing"
        assert [hit.chance for hit in found.hits] == [1.0, 1.0]

    def test_kept_class_of_a_seat_makes_chance_likelier(self):
        assert traced([6, 15, 0, 1, 2, 3, 4, 5], level=0.2).verdict == "nothing"

    def test_file_from_before_the_decoys_names_nobody(self):
        found = traced([*range(10), 15], "rows", level=0.9)
        assert (found.verdict, found.named, found.suspected) == ("nothing", (), ())
        assert [hit.chance for hit in found.hits] == [1.0, 1.0]

    def test_decoys_and_kept_classes_together(self):
        """Kept classes alone are hit, of eleven classes two: 10 of 55 draws are of two kept ones, one of them a's."""
        chances = [0.2**2, 2 * (10 / 55) * (1 / 10)]
        product = chances[0] * chances[1]
        found = traced([10, 11, 6, 7])
        assert found.hits[0].chance == pytest.approx(2 * product * (1 - log(product)))

    def test_group_that_holds_decoys_of_two(self):
        """Group 27 is leaves 10 to 14: decoys of a and of b."""
        found = traced([27], "rows")
        assert (found.ambiguous, found.hits, found.verdict) == (1, (), "nothing")

    def test_group_that_holds_a_decoy_and_people_of_nobody(self):
        """Group 29 is leaves 20 to 24, b's decoy among them and the seat's: four of ten cells are hit."""
        found = traced([29], "rows")
        (hit,) = found.hits
        assert (hit.recipient, hit.decoy_hits) == ("b", 1)
        assert hit.chance == 1.0
        assert traced([29, 12], "rows").hits[0].chance == pytest.approx(2 * 0.5**2)

    def test_group_that_holds_real_classes_says_nothing(self):
        found = traced([25, 30], "rows")
        assert (found.ordinary, found.hits) == (2, ())

    def test_seat_that_nobody_has_names_nobody(self):
        found = traced([21, 15], "rows")
        assert (found.outside, found.ordinary, found.hits) == (1, 1, ())

    def test_nothing_to_say(self):
        found = traced([22, 0])
        assert (found.verdict, found.hits, found.outside, found.ordinary) == ("nothing", (), 1, 1)
        assert traced(np.empty((0, 1))).verdict == "nothing"

    def test_finer_and_coarser_classes_of_two_copies(self):
        """c's copy has groups; keeping leaf 6 took group 26 from it, which therefore speaks for nobody else."""
        holders = (
            Holder("a", 0, column([10]), column([6])),
            Holder("c", 1, column([29], [4], [50]), column([28], [4], [50])),
        )
        files = (column([0, 1, 6]), column([25, 26, 28], [8, 8, 4], [50] * 3))
        manifest = DecoyManifest("digest", 1, (Version("r", files),), holders)
        incident = incident_of_cells(np.array([[6], [5], [0], [17]], np.int32), AXES, "people")
        found = trace(manifest, AXES, incident, PEOPLE)
        assert {hit.recipient: hit.kept_hits for hit in found.hits} == {"a": 1, "c": 1}
        assert found.ordinary == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("hit", [[10, 11], pytest.param([10, 11, 12, 13, 14, 16], marks=pytest.mark.slow)])
    def test_a_false_alarm_is_no_likelier_than_it_says(self, hit):
        """Whatever is hit, clustered or not, over all draws of which of seven cells, or six, are whose decoys."""
        cells = [10, 11, 12, 13, 14, 16, 17, 18]
        free, rest = cells[: examples(7, 6)], cells[examples(7, 6) :]
        real = [*range(10), *range(19, 25), 15, *rest]
        incident = incident_of_cells(np.array(hit, dtype=np.int32).reshape(-1, 1), AXES, "people")
        chances = []
        for own in combinations(free, 2):
            for other in combinations([cell for cell in free if cell not in own], 2):
                holders = (Holder("a", 0, column(own), column([6])), Holder("b", 0, column(other), column([8])))
                manifest = DecoyManifest("digest", 1, (Version("r", (column(real),)),), holders)
                chances.append([one.chance for one in trace(manifest, AXES, incident, PEOPLE).hits])
        least = np.array([min(one, default=1.0) for one in chances])
        for level in np.unique(least):
            assert np.mean(least <= level + 1e-12) <= level + 1e-12


class TestWithoutPopulation:
    """Whose of the five decoys, a seat's among them, are hit: each of the ten pairs is as likely to be a's."""

    def blind(self, positions, kind="people", **options):
        incident = incident_of_cells(np.array(positions, dtype=np.int32).reshape(-1, 1), AXES, kind)
        return trace(hand_made(), AXES, incident, None, **options)

    def test_both_decoys(self):
        found = self.blind([10, 10, 11, 11], level=0.21)
        assert not found.by_population
        assert traced([10]).by_population
        assert found.named == ("a",)
        assert found.hits[0].chance == pytest.approx(2 / 10)

    def test_others_decoys_speak_against_it(self):
        """Three of five are hit, both of a's among them: three of ten pairs. A seat's count like anybody's."""
        assert self.blind([10, 11, 12]).hits[0].chance == pytest.approx(2 * 3 / 10)
        assert self.blind([10, 11, 21]).hits[0].chance == pytest.approx(2 * 3 / 10)

    def test_one_decoy_class_says_little(self):
        """However many people are in it: two of five."""
        assert self.blind([10] * 50).hits[0].chance == pytest.approx(2 * 2 / 5)
        assert self.blind([10] * 50, level=0.9).named == ()

    def test_kept_classes_help(self):
        product = (1 / 10) * 2 * (10 / 55) * (1 / 10)
        assert self.blind([10, 11, 6, 7]).hits[0].chance == pytest.approx(2 * product * (1 - log(product)))

    def test_decoys_of_another_file_are_not_compared(self):
        holders = (
            Holder("a", 0, column([20, 21]), column([0])),
            Holder("b", 0, column([22, 23]), column([1])),
            Holder("c", 1, column([28], [20], [50]), column([26], [20], [50])),
        )
        files = (column(range(10)), column([25, 26], [20, 20], [50] * 2))
        manifest = DecoyManifest("digest", 1, (Version("r", files),), holders)
        incident = incident_of_cells(np.array([[20], [21]], np.int32), AXES, "people")
        assert trace(manifest, AXES, incident, None).hits[0].chance == pytest.approx(3 / 6)


HERE = world()


def leak(number, rng, form):
    rows = rows_of(HERE.held[number].classes)
    rows = rows[rng.permutation(len(rows))]
    if form == "sampled":
        rows = rows[rng.random(len(rows)) < 0.5]
    if form == "truncated":
        rows = rows[: len(rows) // 2]
    if form in ("generalized", "sexless"):
        axis, level = (0, 1) if form == "generalized" else (2, 1)
        rows = rows.copy()
        rows[:, axis] = HERE.axes[axis].at_level[rows[:, axis], level]
    return incident_of_cells(rows, HERE.axes, "rows")


class TestLeaks:
    @pytest.mark.parametrize("form", ["exact", "sampled", "truncated"])
    @pytest.mark.parametrize("number", a_few(len(HERE.recipients)))
    def test_names_the_recipient(self, form, number):
        """Two decoys each, and some sixty cells that they could have been: half a copy is not enough for 0.01."""
        incident = leak(number, np.random.default_rng(number), form)
        found = trace(HERE.manifest, HERE.axes, incident, HERE.population, level=0.1)
        assert {*found.named, *found.suspected} == {HERE.recipients[number]}
        assert found.outside == 0

    @pytest.mark.parametrize(("form", "least"), [("generalized", 1), ("sexless", 0)])
    def test_generalized_further_names_nobody_else(self, form, least):
        """Most decoys then share their group with real classes; those that do not still speak."""
        right = 0
        for number, recipient in enumerate(HERE.recipients):
            incident = leak(number, np.random.default_rng(number), form)
            found = trace(HERE.manifest, HERE.axes, incident, HERE.population, level=0.2)
            assert set(found.named) | set(found.suspected) <= {recipient}
            assert {hit.recipient for hit in found.hits} <= {recipient}
            right += found.verdict != "nothing"
        assert right >= least

    @pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
    def test_before_the_decoys_nobody(self, share):
        rows = rows_of(HERE.problem.files[0])
        for seed in range(10):
            some = rows[np.random.default_rng(seed).random(len(rows)) < share]
            incident = incident_of_cells(some, HERE.axes, "rows")
            found = trace(HERE.manifest, HERE.axes, incident, HERE.population)
            assert found.verdict == "nothing"

    def test_two_recipients_merged(self):
        rows = np.concatenate([rows_of(HERE.held[number].classes) for number in (1, 4)])
        incident = incident_of_cells(rows, HERE.axes, "rows")
        found = trace(HERE.manifest, HERE.axes, incident, HERE.population, level=0.1)
        assert {*found.named, *found.suspected} == {HERE.recipients[1], HERE.recipients[4]}

    @settings(max_examples=examples(15), deadline=None)
    @given(st.integers(0, 5), st.integers(1, 6), st.integers(0, 1000))
    def test_people_of_its_decoys(self, number, n_people, seed):
        """Leaf tuples of people in a recipient's decoy cells hit it and nobody else."""
        rng = np.random.default_rng(seed)
        decoys = HERE.manifest.holders[number].decoys
        drawn = decoys.cells[rng.integers(0, len(decoys), n_people)]
        leaves = np.column_stack(
            [
                [
                    rng.choice(np.flatnonzero(encloses(line, np.full(t.n_leaves, c), np.arange(t.n_leaves))))
                    for c in drawn[:, axis]
                ]
                for axis, (line, t) in enumerate(zip(HERE.axes, HERE.trees, strict=True))
            ]
        ).astype(np.int32)
        found = trace(HERE.manifest, HERE.axes, incident_of_cells(leaves, HERE.axes, "people"), HERE.population)
        assert [hit.recipient for hit in found.hits] == [HERE.recipients[number]]
        assert found.hits[0].decoy_hits == n_people

    def test_counts_alone_are_shown(self):
        incident = leak(0, np.random.default_rng(0), "exact")
        assert "array" not in repr(incident)
        assert "array" not in repr(trace(HERE.manifest, HERE.axes, incident, HERE.population))


NAMES = dict(zip(("region", "job", "sex"), HERE.trees, strict=True))
THERE = LaterWorld(decoys=3, ratio=2)


def delivered(cells, rng):
    """A copy as it is delivered: labels, another column, in an order that tells nothing."""
    columns = {name: [t.axis_labels[c] for c in cells[:, axis]] for axis, (name, t) in enumerate(NAMES.items())}
    frame = pd.DataFrame(columns | {"income": rng.integers(0, 9, len(cells)).astype(str)})
    return frame.sample(frac=1, random_state=int(rng.integers(2**31)))


def without(name):
    return lambda frame, _: frame.drop(columns=name)


def raised(name, level):
    def form(frame, _):
        tree = NAMES[name]
        line = THERE.axes[list(NAMES).index(name)]
        up = {label: tree.axis_labels[line.at_level[p, level]] for p, label in enumerate(tree.axis_labels)}
        return frame.assign(**{name: frame[name].map(up)})

    return form


FORMS = {
    "exact": lambda frame, _: frame,
    "truncated": lambda frame, _: frame.head(len(frame) * 3 // 5),
    "shuffled": lambda frame, rng: frame.sample(frac=1, random_state=int(rng.integers(2**31))),
    "columns reordered": lambda frame, _: frame[frame.columns[::-1]],
    "rows sampled": lambda frame, rng: frame.sample(frac=0.5, random_state=int(rng.integers(2**31))),
    "rows repeated": lambda frame, _: pd.concat([frame, frame]),
    "spaces around": lambda frame, _: frame.assign(job=" " + frame["job"] + " "),
}
COARSER = {"sex dropped": without("sex"), "sex withheld": raised("sex", 1), "job raised": raised("job", 2)}


def traced_frame(frame, kind="rows", people=..., **options):
    people = THERE.population if people is ... else people
    incident = incident_of_labels(frame, NAMES, THERE.axes, kind, "leak.csv")
    return trace(THERE.manifest, THERE.axes, incident, people, **options)


class TestLeakedFiles:
    @pytest.mark.slow
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("number", a_few(RECIPIENTS))
    def test_names_the_recipient(self, form, number):
        rng = np.random.default_rng(100 + number)
        frame = FORMS[form](delivered(rows_of(THERE.held[number].classes), rng), rng)
        found = traced_frame(frame)
        assert (found.named, found.suspected, found.outside) == ((THERE.recipients[number],), (), 0)
        assert found.total == len(frame)

    @pytest.mark.parametrize(("form", "least"), [("sex dropped", 3), ("sex withheld", 3), ("job raised", 0)])
    def test_coarser_names_nobody_else(self, form, least):
        """Of some fifty cells that each decoy could have been, tuples that are more general hit several."""
        right = 0
        for number, recipient in enumerate(THERE.recipients):
            rng = np.random.default_rng(number)
            frame = COARSER[form](delivered(rows_of(THERE.held[number].classes), rng), rng)
            found = traced_frame(frame, level=0.2)
            assert {*found.named, *found.suspected} <= {recipient}
            right += found.verdict != "nothing"
        assert right >= least

    @pytest.mark.parametrize("form", FORMS)
    def test_before_the_decoys_nobody(self, form):
        rng = np.random.default_rng(7)
        frame = FORMS[form](delivered(rows_of(THERE.problem.files[0]), rng), rng)
        assert traced_frame(frame).verdict == "nothing"

    @pytest.mark.parametrize("pair", [(0, 3), (1, 4), (2, 5)])
    def test_two_copies_merged_name_both(self, pair):
        rng = np.random.default_rng(8)
        frame = delivered(np.concatenate([rows_of(THERE.held[number].classes) for number in pair]), rng)
        found = traced_frame(frame.sample(frac=0.7, random_state=1))
        assert set(found.named) == {THERE.recipients[number] for number in pair}

    @pytest.mark.parametrize("number", range(RECIPIENTS))
    def test_copy_that_had_its_decoys_taken_out_points_to_its_keeper(self, number):
        """Kept classes alone are left: a suspicion, never a name."""
        copy, rng = THERE.held[number], np.random.default_rng(number)
        found = traced_frame(delivered(rows_of(copy.classes.take(~copy.decoy)), rng))
        assert (found.named, found.suspected) == ((), (THERE.recipients[number],))

    def test_what_all_copies_have_points_to_nobody(self):
        copy = THERE.held[0]
        own = np.array([tuple(c) for c in THERE.manifest.holders[0].kept.cells.tolist()])
        common = ~copy.decoy & ~(copy.classes.cells[:, None] == own).all(axis=2).any(axis=1)
        found = traced_frame(delivered(rows_of(copy.classes.take(common)), np.random.default_rng(0)))
        assert (found.verdict, found.hits) == ("nothing", ())

    @pytest.mark.parametrize("number", range(RECIPIENTS))
    def test_without_population(self, number):
        rng = np.random.default_rng(number)
        found = traced_frame(delivered(rows_of(THERE.held[number].classes), rng), people=None)
        assert not found.by_population
        assert found.named == (THERE.recipients[number],)

    @pytest.mark.slow
    def test_other_people_name_nobody_more_often_than_the_level(self):
        named, lists = 0, examples(60, 20)
        for seed in range(lists):
            rng = np.random.default_rng(seed)
            counts = THERE.population.counts
            drawn = rng.choice(len(counts), 2_000, p=counts / counts.sum())
            frame = delivered(THERE.population.codes[drawn], rng)
            named += traced_frame(frame, "people").verdict != "nothing"
        assert named <= lists / 20


class TestClusteredLists:
    """Unrelated people of one region, one job or both."""

    @pytest.mark.slow
    def test_point_to_somebody_no_more_often_than_the_level(self):
        """Everybody of each region and of each job, and of every third pair of both."""
        codes, pointing, lists = THERE.population.codes, 0, 0
        for axes in ([0], [1], [0, 1]):
            for place in np.unique(codes[:, axes], axis=0)[:: 1 if len(axes) == 1 else 3]:
                incident = incident_of_cells(codes[(codes[:, axes] == place).all(axis=1)], THERE.axes, "people")
                found = trace(THERE.manifest, THERE.axes, incident, THERE.population)
                pointing, lists = pointing + (found.verdict != "nothing"), lists + 1
        assert lists == 64 + 9 + 64 * 9 / 3
        assert pointing <= 0.01 * lists

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [1, 20, pytest.param(700, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("number", range(RECIPIENTS))
    def test_not_even_those_of_one_decoy(self, number, size):
        """Chosen by where the decoy lies, which nobody can who does not know it."""
        rng = np.random.default_rng(number)
        for cell in THERE.manifest.holders[number].decoys.cells:
            inside = of_same_origin(THERE.population.codes, cell[None], THERE.axes)
            drawn = rng.choice(THERE.population.codes[inside], size)
            for kind in ("people", "rows"):
                found = trace(THERE.manifest, THERE.axes, incident_of_cells(drawn, THERE.axes, kind), THERE.population)
                assert found.hits[0].decoy_hits == size
                assert found.named == ()


class TestTwoGeneralizations:
    """a and b hold leaves, c and d groups of five; all are traced by their own file's classes."""

    def made(self):
        fine, coarse = column([*range(10), 12]), column([25, 26, 27], [20, 20, 20], [50] * 3)
        holders = (
            Holder("a", 0, column([20], people=[10]), column([0])),
            Holder("b", 0, column([21], people=[10]), column([12])),
            Holder("c", 1, column([28], [20], [50]), column([26], [20], [50])),
        )
        return DecoyManifest("digest", 1, (Version("r", (fine, coarse)),), holders)

    @pytest.mark.parametrize(
        ("recipient", "cells"),
        [("a", [20, 0, 1, 2, 3, 4]), ("b", [21, 12, 1, 2, 3, 4]), ("c", [28, 26, 25]), ("c", [15, 16, 17, 18])],
    )
    def test_each_copy_and_people_of_it(self, recipient, cells):
        incident = incident_of_cells(np.array(cells, np.int32).reshape(-1, 1), AXES, "people")
        found = trace(self.made(), AXES, incident, PEOPLE, level=0.99)
        assert [hit.recipient for hit in found.hits if hit.decoy_hits] == [recipient]


class TestReading:
    def frame(self, cells):
        return pd.DataFrame(
            {name: [t.axis_labels[c] for c in cells[:, axis]] for axis, (name, t) in enumerate(NAMES.items())}
        )

    def test_labels_of_any_level(self):
        cells = rows_of(HERE.held[0].classes)
        by_label = incident_of_labels(self.frame(cells), NAMES, HERE.axes, "rows", "leak.csv")
        by_cell = incident_of_cells(cells, HERE.axes, "rows")
        assert np.array_equal(by_label.cells, by_cell.cells)
        assert np.array_equal(by_label.counts, by_cell.counts)
        assert by_label.unread == {"region": 0, "job": 0, "sex": 0}

    def test_missing_columns_and_unknown_values_are_unknown(self):
        frame = self.frame(rows_of(HERE.held[0].classes)[:4]).drop(columns="job")
        frame.loc[1, "sex"] = CANARY
        frame.loc[2, "sex"] = None
        found = incident_of_labels(frame, NAMES, HERE.axes, "rows", "leak.csv")
        assert found.unread == {"region": 0, "sex": 2}
        assert (found.cells[:, 1] == HERE.axes[1].top).all()
        assert found.total == 4

    def test_label_of_two_levels_is_one_group(self):
        """A value that is generalized no further keeps its label and is the same class at both levels."""
        rows = [["a", "a", "*"], ["b", "b or c", "*"], ["c", "b or c", "*"]]
        letters = hierarchy_from_rows("letter", rows, "letters")
        found = incident_of_labels(
            pd.DataFrame({"letter": ["a", "a", "b or c"]}), {"letter": letters}, lineages([letters]), "rows", "x"
        )
        assert found.counts.tolist() == [2, 1]
        assert found.cells.ravel().tolist() == [0, 4]

    def test_labels_outside_the_hierarchy(self):
        grouping = np.array([0, 1, 2, 31, 31, *range(5, 25)], dtype=np.int32)
        axes, frame = lineages([TREE], [grouping]), pd.DataFrame({"value": ["3 or 4", "00", "**"]})
        names = {"value": TREE}
        found = incident_of_labels(frame, names, axes, "rows", "x", outside={"value": ["3 or 4"]})
        assert found.cells.ravel().tolist() == [0, 30, 31]
        assert found.unread == {"value": 0}
        with pytest.raises(ParameterError, match="labels do not go"):
            incident_of_labels(frame, names, axes, "rows", "x", outside={"value": ["00"]})

    def test_column_twice(self):
        frame = pd.DataFrame([[CANARY, CANARY]], columns=["sex", "sex"])
        with pytest.raises(DataError, match="twice") as refused:
            incident_of_labels(frame, NAMES, HERE.axes, "rows", "leak.csv")
        assert_silent(refused.value)

    def test_no_quasi_identifier(self):
        frame = pd.DataFrame({CANARY: ["x"]})
        with pytest.raises(DataError) as refused:
            incident_of_labels(frame, NAMES, HERE.axes, "rows", "leak.csv")
        assert_silent(refused.value)


class TestRefusals:
    @pytest.mark.parametrize("level", [0, 1, -0.1, float("nan")])
    def test_level(self, level):
        with pytest.raises(ParameterError):
            traced([10], level=level)
