from dataclasses import replace
from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tasks.decoys.incident import incident_of_cells, incident_of_labels
from tasks.decoys.lineage import lineages
from tasks.decoys.manifest import Holder, Manifest, Version
from tasks.decoys.tracing import trace
from tasks.errors import DataError, ParameterError
from tests.support.decoy_tables import table, tree
from tests.support.decoy_world import rows_of, world
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
    return Manifest("digest", 1, (Version("r", (column([*range(10), 15]),)),), holders)


def ten_a_leaf(cells):
    """Ten people in each leaf, 250 in all: 110 in real classes, 140 outside."""
    return np.array([10 * int(AXES[0].encloses(np.full(25, c), np.arange(25)).sum()) for c in cells[:, 0]])


def traced(positions, kind="people", **options):
    incident = incident_of_cells(np.array(positions, dtype=np.int32).reshape(-1, 1), AXES, kind)
    return trace(hand_made(), AXES, incident, ten_a_leaf, **options)


class TestHandWorked:
    def test_one_person_in_a_decoy(self):
        """Of one person outside the real classes, the chance of a's cells is 20 / 140; times two recipients."""
        found = traced([10, 0, 1], level=0.3)
        assert (found.verdict, found.named, found.suspected) == ("decoys", ("a",), ())
        (hit,) = found.hits
        assert (hit.decoy_hits, hit.decoy_classes, hit.of_decoys, hit.kept_hits) == (1, 1, 2, 0)
        assert hit.chance == pytest.approx(2 * 20 / 140)
        assert (found.total, found.ordinary, found.ambiguous, found.outside) == (3, 2, 0, 0)

    def test_people_elsewhere_make_chance_likelier(self):
        found = traced([10, 22, 23, 24], level=0.3)
        assert found.outside == 3
        assert found.hits[0].chance == pytest.approx(2 * (1 - (120 / 140) ** 4))
        assert found.verdict == "nothing"

    def test_kept_classes_are_weaker(self):
        """Both classes of a, of four kept: 1 / 6 by chance, times two."""
        found = traced([6, 7, 0], level=0.34)
        assert (found.verdict, found.named, found.suspected) == ("kept classes", (), ("a",))
        assert found.hits[0].chance == pytest.approx(2 / 6)
        assert (found.hits[0].kept_hits, found.hits[0].kept_classes, found.hits[0].of_kept) == (2, 2, 2)

    def test_file_from_before_the_decoys_names_nobody(self):
        found = traced([*range(10), 15], "rows", level=0.9)
        assert (found.verdict, found.named, found.suspected) == ("nothing", (), ())
        assert [hit.chance for hit in found.hits] == [1.0, 1.0]

    def test_decoys_and_kept_classes_together(self):
        chances = [stats.binom.sf(1, 2, 20 / 140), 1 / 6]
        product = chances[0] * chances[1]
        found = traced([10, 11, 6, 7])
        assert found.hits[0].chance == pytest.approx(2 * product * (1 - log(product)))

    def test_group_that_holds_decoys_of_two(self):
        """Group 27 is leaves 10 to 14: decoys of a and of b."""
        found = traced([27], "rows")
        assert (found.ambiguous, found.hits, found.verdict) == (1, (), "nothing")

    def test_group_that_holds_a_decoy_and_people_of_nobody(self):
        """Group 29 is leaves 20 to 24, b's decoy among them: 50 + 50 people of 140 are now in b's decoy cells."""
        found = traced([29], "rows")
        (hit,) = found.hits
        assert (hit.recipient, hit.decoy_hits) == ("b", 1)
        assert hit.chance == pytest.approx(min(1.0, 2 * 100 / 100))

    def test_group_that_holds_real_classes_says_nothing(self):
        found = traced([25, 30], "rows")
        assert (found.ordinary, found.hits) == (2, ())

    def test_seat_that_nobody_has_names_nobody(self):
        found = traced([21, 15], "rows")
        assert (found.outside, found.ordinary, found.hits) == (1, 1, ())

    def test_rows_beyond_those_delivered_do_not_count(self):
        """Four records of each decoy were delivered."""
        few, many = traced([10] * 4, "rows"), traced([10] * 400, "rows")
        assert many.hits[0].decoy_hits == 400
        assert many.hits[0].chance == pytest.approx(few.hits[0].chance)

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
        manifest = Manifest("digest", 1, (Version("r", files),), holders)
        incident = incident_of_cells(np.array([[6], [5], [0], [17]], np.int32), AXES, "people")
        found = trace(manifest, AXES, incident, ten_a_leaf)
        assert {hit.recipient: hit.kept_hits for hit in found.hits} == {"a": 1, "c": 1}
        assert found.ordinary == 2

    def test_chance_is_not_understated(self):
        """People drawn from the whole population name somebody no more often than the level says."""
        rng = np.random.default_rng(0)
        named = 0
        for _ in range(400):
            found = traced(rng.integers(0, 25, rng.integers(1, 12)), level=0.1)
            named += found.verdict != "nothing"
        assert named <= 40 + 3 * 6


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
        rows[:, axis] = HERE.axes[axis].raised[rows[:, axis], level]
    return incident_of_cells(rows, HERE.axes, "rows")


class TestLeaks:
    @pytest.mark.parametrize("form", ["exact", "sampled", "truncated"])
    @pytest.mark.parametrize("number", range(len(HERE.recipients)))
    def test_names_the_recipient(self, form, number):
        incident = leak(number, np.random.default_rng(number), form)
        found = trace(HERE.manifest, HERE.axes, incident, HERE.people.count)
        assert found.named == (HERE.recipients[number],)
        assert found.outside == 0

    @pytest.mark.parametrize(("form", "least"), [("generalized", 1), ("sexless", 3)])
    def test_generalized_further_names_nobody_else(self, form, least):
        """Most decoys then share their group with real classes; those that do not still speak."""
        right = 0
        for number, recipient in enumerate(HERE.recipients):
            incident = leak(number, np.random.default_rng(number), form)
            found = trace(HERE.manifest, HERE.axes, incident, HERE.people.count)
            assert set(found.named) | set(found.suspected) <= {recipient}
            right += found.verdict != "nothing"
        assert right >= least

    @pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
    def test_before_the_decoys_nobody(self, share):
        rows = rows_of(HERE.place.files[0])
        for seed in range(10):
            some = rows[np.random.default_rng(seed).random(len(rows)) < share]
            incident = incident_of_cells(some, HERE.axes, "rows")
            found = trace(HERE.manifest, HERE.axes, incident, HERE.people.count)
            assert found.verdict == "nothing"

    def test_two_recipients_merged(self):
        rows = np.concatenate([rows_of(HERE.held[number].classes) for number in (1, 4)])
        found = trace(HERE.manifest, HERE.axes, incident_of_cells(rows, HERE.axes, "rows"), HERE.people.count)
        assert set(found.named) == {HERE.recipients[1], HERE.recipients[4]}

    @settings(max_examples=15, deadline=None)
    @given(st.integers(0, 5), st.integers(1, 6), st.integers(0, 1000))
    def test_people_of_its_decoys(self, number, n_people, seed):
        """Leaf tuples of people in a recipient's decoy cells hit it and nobody else."""
        rng = np.random.default_rng(seed)
        decoys = HERE.manifest.holders[number].decoys
        drawn = decoys.cells[rng.integers(0, len(decoys), n_people)]
        leaves = np.column_stack(
            [
                [
                    rng.choice(np.flatnonzero(line.encloses(np.full(t.n_leaves, c), np.arange(t.n_leaves))))
                    for c in drawn[:, axis]
                ]
                for axis, (line, t) in enumerate(zip(HERE.axes, HERE.trees, strict=True))
            ]
        ).astype(np.int32)
        found = trace(HERE.manifest, HERE.axes, incident_of_cells(leaves, HERE.axes, "people"), HERE.people.count)
        assert [hit.recipient for hit in found.hits] == [HERE.recipients[number]]
        assert found.hits[0].decoy_hits == n_people

    def test_counts_alone_are_shown(self):
        incident = leak(0, np.random.default_rng(0), "exact")
        assert "array" not in repr(incident)
        assert "array" not in repr(trace(HERE.manifest, HERE.axes, incident, HERE.people.count))


NAMES = dict(zip(("region", "job", "sex"), HERE.trees, strict=True))


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

    def test_nobody_received_it(self):
        made = hand_made()
        empty = replace(made, holders=made.holders[2:])
        incident = incident_of_cells(np.array([[10]], np.int32), AXES, "people")
        with pytest.raises(ParameterError):
            trace(empty, AXES, incident, ten_a_leaf)

    @pytest.mark.parametrize("counts", [[1], [0, 1], [1, 1, 1]])
    def test_counts(self, counts):
        with pytest.raises(ParameterError):
            incident_of_cells(np.array([[1], [2]], np.int32), AXES, "rows", np.array(counts))
