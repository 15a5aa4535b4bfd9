import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import ClassTable
from tasks.decoys.collusion import Copy, collusion
from tasks.decoys.lineage import lineages
from tasks.decoys.manifest import Version
from tasks.decoys.same_origin import of_same_origin
from tasks.decoys.versions import deliveries, extend
from tests.support.decoy_tables import tree
from tests.support.decoy_world import world

HERE = world(3, 2, 1, seats=2)


def copies_of(made, files):
    held = []
    for one in made:
        real = files[one.generalization].take(one.released)
        classes = real.with_rows(one.decoys)
        held.append(Copy(classes, np.arange(len(classes)) >= len(real)))
    return held


def next_version(release="release-2", grown=0, without=(), added=()):
    """The first file with some classes grown, gone or new."""
    real = HERE.place.files[0]
    left = np.ones(len(real), dtype=bool)
    left[list(without)] = False
    table = ClassTable(real.cells, real.records + grown, real.people).take(left)
    if len(added):
        more = np.array(added, dtype=np.int32)
        table = table.with_rows(ClassTable(more, np.full(len(more), 4), HERE.people.count(more)))
    return Version(release, (table,))


def kept_rows(number):
    return HERE.found.shares[number].kept


class TestFirstVersion:
    def test_deliveries_are_the_assignment(self):
        for one, share in zip(deliveries(HERE.manifest, HERE.axes), HERE.found.shares, strict=True):
            assert np.array_equal(np.flatnonzero(~one.released), share.removed)
            assert (one.missing, one.kept, one.unchanged) == (share.missing, 2, 2)
            assert one.share_within == one.share_between == 0.5


class TestNewcomers:
    def test_takes_a_seat_and_changes_nobody(self):
        before = deliveries(HERE.manifest, HERE.axes)
        grown, made = extend(HERE.manifest, HERE.axes, HERE.trees, newcomers={"late": 0})
        assert grown.recipients == (*HERE.recipients, "late")
        assert (HERE.manifest.free_seats, grown.free_seats) == (2, 1)
        for one, two in zip(before, made, strict=True):
            assert np.array_equal(one.released, two.released)

    def test_newcomer_is_hidden_as_the_others(self):
        _, made = extend(HERE.manifest, HERE.axes, HERE.trees, newcomers={"late": 0, "later": 0})
        found = collusion(copies_of(made, HERE.place.files), HERE.axes, np.random.default_rng(0))
        assert all(one.worst_informed == pytest.approx(0.5) for one in found[1:])

    def test_no_seat_left(self):
        with pytest.raises(ParameterError, match="no seat") as refused:
            extend(HERE.manifest, HERE.axes, HERE.trees, newcomers={"x": 0, "y": 0, "z": 0})
        assert "plan more seats" in refused.value.fix
        with pytest.raises(ParameterError, match="no seat"):
            extend(HERE.manifest, HERE.axes, HERE.trees, newcomers={"x": 1})

    def test_who_is_there_already(self):
        with pytest.raises(ParameterError, match="holds copies already"):
            extend(HERE.manifest, HERE.axes, HERE.trees, newcomers={HERE.recipients[0]: 0})


class TestLaterVersion:
    def test_decoys_stay_and_real_classes_meet_none(self):
        """New real classes turn up in the cells of a decoy and of nobody."""
        decoy = HERE.manifest.holders[0].decoys.cells[0]
        used = np.concatenate([holder.decoys.cells for holder in HERE.manifest.holders])
        offered = np.unique(HERE.place.candidates[0].cells, axis=0)
        free = offered[~of_same_origin(offered, used, HERE.axes)][0]
        version = next_version(added=[decoy, free])
        grown, made = extend(HERE.manifest, HERE.axes, HERE.trees, version=version)
        assert [one.release for one in grown.versions] == ["release-1", "release-2"]
        for one, before in zip(made, HERE.manifest.holders, strict=True):
            assert one.decoys is before.decoys
            assert not one.released[-2]
            assert one.released[-1]
        found = collusion(copies_of(made, version.files), HERE.axes, np.random.default_rng(0))
        assert all(one.share == pytest.approx(0.5) and one.unsuspected == 0 for one in found[1:])

    def test_kept_classes_that_go_or_change_are_counted(self):
        first, second = kept_rows(0)[0], kept_rows(1)
        _, made = extend(HERE.manifest, HERE.axes, HERE.trees, version=next_version(without=[first]))
        assert [(one.kept, one.unchanged) for one in made[:2]] == [(1, 1), (2, 2)]
        assert made[0].share_within == made[0].share_between == pytest.approx(2 / 3)
        _, made = extend(HERE.manifest, HERE.axes, HERE.trees, version=next_version(grown=1, without=second))
        assert [(one.kept, one.unchanged) for one in made[:2]] == [(2, 0), (0, 0)]
        assert (made[0].share_within, made[0].share_between) == (0.5, 1.0)

    def test_third_version_after_a_newcomer(self):
        grown, _ = extend(HERE.manifest, HERE.axes, HERE.trees, newcomers={"late": 0}, version=next_version())
        again, made = extend(grown, HERE.axes, HERE.trees, version=next_version("release-3"))
        assert len(again.versions) == 3
        assert [one.recipient for one in made] == [*HERE.recipients, "late", None]
        assert all(
            one.missing == two.missing for one, two in zip(made, deliveries(HERE.manifest, HERE.axes), strict=True)
        )

    def test_budget(self):
        worst = max(one.missing for one in deliveries(HERE.manifest, HERE.axes))
        extend(HERE.manifest, HERE.axes, HERE.trees, version=next_version(), budget=worst)
        with pytest.raises(ParameterError, match="budget") as refused:
            extend(HERE.manifest, HERE.axes, HERE.trees, version=next_version(), budget=worst - 1)
        assert f"allow {worst} records" in refused.value.fix


class TestRefusals:
    def test_other_hierarchies(self):
        trees = (tree("region", 3, 4), tree("job", 2, 3), tree("gender", 1, 2))
        with pytest.raises(ParameterError, match="hierarchies"):
            extend(HERE.manifest, lineages(trees), trees, newcomers={"late": 0})

    def test_other_generalization(self):
        real = HERE.place.files[0]
        coarser = np.column_stack([HERE.axes[0].raised[real.cells[:, 0], 1], real.cells[:, 1:]]).astype(np.int32)
        cells, first = np.unique(coarser, axis=0, return_index=True)
        version = Version("release-2", (ClassTable(cells, real.records[first], real.people[first]),))
        with pytest.raises(ParameterError, match="does not go with") as refused:
            extend(HERE.manifest, HERE.axes, HERE.trees, version=version)
        assert "10 of the decoys" in refused.value.got

    @pytest.mark.parametrize("change", ["release", "files", "twice"])
    def test_versions_that_do_not_fit(self, change):
        version = next_version("release-1" if change == "release" else "release-2")
        if change == "files":
            version = Version("release-2", version.files * 2)
        if change == "twice":
            version = Version("release-2", (version.files[0].with_rows(version.files[0].take([0])),))
        with pytest.raises(ParameterError, match="does not go with"):
            extend(HERE.manifest, HERE.axes, HERE.trees, version=version)
