import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decoys.classes import canonical_cells, half_octaves, joined, lineages, looks, same_origin_pairs
from tasks.generalization.game.safe_harbor import safe_harbor_axis
from tasks.generalization.game.zip3 import zip_table
from tasks.microdata.hierarchy import hierarchy_from_rows
from tasks.request.model import SafeHarborRule
from tests.reference.cells_within import within
from tests.support.decoy_tables import leaf_sets, of_same_origin, related, table, tree
from tests.support.examples import examples

GENDER = hierarchy_from_rows("gender", [["F", "*"], ["M", "*"]], "gender")
ZIP = hierarchy_from_rows(
    "zip", [[z, z[:4] + "*", z[:3] + "**", "*****"] for z in ("55550", "55551", "55560", "56000")], "zip"
)
BORN = hierarchy_from_rows(
    "born",
    [[str(y), f"{y - (y - 1980) % 3}+2", "*"] for y in range(1980, 1986)],
    "born",
)
PAPER = (GENDER, ZIP, BORN)
BROAD = (tree("a", 2, 3), tree("b", 3, 2), tree("c", 1, 4))


def position(hierarchy, label):
    return hierarchy.axis_labels.index(label)


def paper_cell(gender, code, born):
    return [position(GENDER, gender), position(ZIP, code), position(BORN, born)]


class TestDefinition:
    """The paper's example: (0, 1, 1) and (0, 2, 0) of one male of ZIP 5555x born in 1981."""

    def test_paper_example(self):
        ours = np.array([paper_cell("M", "5555*", "1980+2")])
        theirs = np.array([paper_cell("M", "555**", "1981")])
        assert of_same_origin(ours, theirs, lineages(PAPER)).tolist() == [True]

    @pytest.mark.parametrize("other", [("F", "555**", "1981"), ("M", "555**", "1983"), ("M", "5556*", "1981")])
    def test_one_value_apart(self, other):
        ours, theirs = np.array([paper_cell("M", "5555*", "1980+2")]), np.array([paper_cell(*other)])
        assert not of_same_origin(ours, theirs, lineages(PAPER)).any()

    def test_equal_values_and_equal_cells(self):
        cell = np.array([paper_cell("M", "5555*", "1981")])
        assert of_same_origin(cell, cell, lineages(PAPER)).all()

    def test_one_group_at_two_levels(self):
        """56000 is alone at three levels of the hierarchy: all three names mean it."""
        names = [paper_cell("F", label, "*") for label in ("56000", "5600*", "560**")]
        axes = lineages(PAPER)
        assert len(np.unique(canonical_cells(np.array(names), axes), axis=0)) == 1
        ours, theirs = same_origin_pairs(np.array(names), np.array(names), axes)
        assert len(ours) == len(theirs) == 9


@st.composite
def two_files(draw):
    lengths = [tree.axis_length for tree in BROAD]
    row = st.tuples(*[st.integers(0, length - 1) for length in lengths])
    files = [np.array(draw(st.lists(row, max_size=25)), dtype=np.int32).reshape(-1, 3) for _ in range(2)]
    return files[0], files[1]


class TestSearch:
    @settings(max_examples=examples(60), deadline=None)
    @given(two_files())
    def test_all_pairs_of_a_brute_force(self, files):
        left, right = files
        ours, theirs = same_origin_pairs(left, right, lineages(BROAD))
        pairs = list(zip(ours.tolist(), theirs.tolist(), strict=True))
        assert pairs == sorted(related(left, right, [leaf_sets(tree) for tree in BROAD]))

    @settings(max_examples=examples(25), deadline=None)
    @given(two_files())
    def test_of_same_origin_just_when_some_combination_lies_in_both(self, files):
        left, right = files
        sets = [leaf_sets(tree) for tree in BROAD]
        shared = {
            (row, other)
            for row, cell in enumerate(left)
            for other, second in enumerate(right)
            if all(sets[axis][a] & sets[axis][b] for axis, (a, b) in enumerate(zip(cell, second, strict=True)))
        }
        ours, theirs = same_origin_pairs(left, right, lineages(BROAD))
        assert set(zip(ours.tolist(), theirs.tolist(), strict=True)) == shared

    @settings(max_examples=examples(25), deadline=None)
    @given(two_files())
    def test_within_compares_leaves(self, files):
        rows = min(map(len, files))
        left, right = files[0][:rows], files[1][:rows]
        sets = [leaf_sets(tree) for tree in BROAD]
        expected = [
            all(sets[axis][a] <= sets[axis][b] for axis, (a, b) in enumerate(zip(cell, outer, strict=True)))
            for cell, outer in zip(left, right, strict=True)
        ]
        assert within(left, right, lineages(BROAD)).tolist() == expected

    def test_in_blocks(self, monkeypatch):
        rng = np.random.default_rng(5)
        lengths = [tree.axis_length for tree in BROAD]
        left, right = (rng.integers(0, lengths, (300, 3)).astype(np.int32) for _ in range(2))
        whole = same_origin_pairs(left, right, lineages(BROAD))
        monkeypatch.setattr("tasks.decoys.classes._BLOCK", 64)
        parts = same_origin_pairs(left, right, lineages(BROAD))
        assert len(whole[0]) > 1000
        assert np.array_equal(whole, parts)

    def test_empty_files(self):
        some, none = np.zeros((3, 3), np.int32), np.empty((0, 3), np.int32)
        assert not of_same_origin(some, none, lineages(BROAD)).any()
        assert len(of_same_origin(none, some, lineages(BROAD))) == 0

    def test_file_recoded_alike_has_no_pair_with_itself(self):
        rng = np.random.default_rng(6)
        leaves = np.column_stack([rng.integers(0, tree.n_leaves, 200) for tree in BROAD])
        cells = np.column_stack([tree.positions[leaves[:, axis], 1] for axis, tree in enumerate(BROAD)])
        cells = np.unique(cells, axis=0)
        ours, theirs = same_origin_pairs(cells, cells, lineages(BROAD))
        assert np.array_equal(ours, theirs)


class TestSafeHarborGroups:
    AGES = hierarchy_from_rows("age", [[str(a), f"{a // 4 * 4}+3", "*"] for a in range(84, 96)], "age")

    def test_group_outside_the_hierarchy(self):
        """90+ holds 90 to 95 and the interval 92+3, lies within *, and crosses 88+3."""
        axis = safe_harbor_axis(self.AGES, SafeHarborRule.AGE, zip_table())
        assert axis.extra_labels == ("90+",)
        (line,) = lineages([self.AGES], [axis.positions])
        oldest = self.AGES.axis_length
        related_to = [
            label
            for place, label in enumerate((*self.AGES.axis_labels, "90+"))
            if of_same_origin(np.array([[place]]), np.array([[oldest]]), [line])[0]
        ]
        assert sorted(related_to) == sorted(["90", "91", "92", "93", "94", "95", "92+3", "*", "90+"])
        assert line.levels[oldest] == 2
        assert self.AGES.axis_labels[line.at_level[oldest, 0]] == "*"


class TestLooks:
    def test_half_octaves_are_exact(self):
        people = np.array([0, *range(1, 5000)])
        expected = [-1, *[(n * n).bit_length() - 1 for n in range(1, 5000)]]
        assert half_octaves(people).tolist() == expected

    def test_bins_by_size_and_half_octave(self):
        first = table([[0], [0], [0], [0]], [5, 5, 6, 5], [4, 5, 4, 6])
        second = table([[0]], [5], [5])
        look = looks(joined([first, second]))
        assert look[0] == look[1] == look[4]
        assert len({int(look[0]), int(look[2]), int(look[3])}) == 3
