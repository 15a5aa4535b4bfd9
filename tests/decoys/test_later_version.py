"""A later version, on a release of which everything can be counted by hand: who keeps what, and what is withheld."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.classes import ClassTable, Flags
from tasks.decoys.manifest import DecoyManifest, canonical_bytes
from tasks.decoys.planning import CopyToMark, continued, manifest_of, plan
from tasks.decoys.stage import marked_copy
from tests.support.planted import AXES, COARSE, RECORDS, TREES, asks, policy

FIRST, SECOND = "a" * 64, "b" * 64
LOTS = 10**6
THREES = np.where(RECORDS, 3, 0)
"""The same cells with three records each."""


@cache
def first(coarse: bool = False) -> DecoyManifest:
    """Clinic and registry hold a decoy each, one seat is free; the registry's copy may be in threes."""
    asked = (asks("clinic", 1), asks("registry", 1, COARSE) if coarse else asks("registry", 1), asks("university", 0))
    made = plan(asked, AXES, policy(seats=0 if coarse else 1), 1, np.random.default_rng(1))
    return manifest_of(made, 1, FIRST, TREES, [()] * len(made.demands))


def later(
    *asked: CopyToMark, before: DecoyManifest | None = None, budget: int = LOTS
) -> tuple[DecoyManifest, dict[str, Flags]]:
    return continued(before or first(), asked, SECOND, TREES, AXES, budget=budget)


def lost(asked: tuple[CopyToMark, ...], missing: dict[str, Flags]) -> dict[str, int]:
    """Records that each copy goes without."""
    return {one.recipient: int(one.release.classes.records[missing[one.recipient]].sum()) for one in asked}


def cells(table: ClassTable) -> list[tuple[int, ...]]:
    return [tuple(cell) for cell in table.cells.tolist()]


def test_holders_keep_theirs_and_everybody_misses_what_others_keep() -> None:
    """Three kept classes, one of a seat; now of 3 records. Who holds one misses the two others' 6."""
    asked = tuple(asks(*one, records=THREES) for one in (("clinic", 1), ("registry", 1), ("university", 0)))
    manifest, missing = later(*asked)
    assert lost(asked, missing) == {"clinic": 6, "registry": 6, "university": 9}
    assert list(missing) == ["clinic", "registry", "university"]
    for now, then in zip(manifest.holders, first().holders, strict=True):
        assert (cells(now.decoys), cells(now.kept)) == (cells(then.decoys), cells(then.kept))
    assert [version.release for version in manifest.versions] == [FIRST, SECOND]
    assert manifest.versions[1].files[0].records.tolist() == [3] * 21


def test_a_newcomer_gets_what_the_seat_held() -> None:
    asked = (asks("clinic", 1), asks("agency", 1))
    manifest, missing = later(*asked)
    assert [holder.recipient for holder in manifest.holders] == ["clinic", "registry", "agency"]
    seat = first().holders[2]
    assert cells(manifest.holders[2].decoys) == cells(seat.decoys)
    # The registry is not asked for any more; nobody else gets its kept class.
    assert lost(asked, missing) == {"clinic": 4, "agency": 4}


def test_one_who_asks_for_none_any_more_keeps_its_decoys() -> None:
    asked = (asks("clinic", 0), asks("registry", 5))
    manifest, missing = later(*asked)
    assert [len(holder.decoys) for holder in manifest.holders] == [1, 1, 1]
    assert lost(asked, missing) == {"clinic": 4, "registry": 4}


def test_a_record_in_a_decoys_cell_is_withheld_from_all() -> None:
    moved = RECORDS.copy()
    x, y = cells(first().holders[0].decoys)[0]
    moved[x, y] = 1
    asked = (asks("clinic", 1, records=moved), asks("university", 0, records=moved))
    _, missing = later(*asked)
    assert lost(asked, missing) == {"clinic": 4 + 1, "university": 6 + 1}
    for one in asked:
        place = one.release.classes.cells.tolist().index([x, y])
        assert missing[one.recipient][place]


def test_a_copy_in_threes_misses_the_threes_of_kept_classes() -> None:
    """The clinic keeps 2 records, the registry a three of 6: the clinic misses 6, the registry the 6 around the 2."""
    asked = (asks("clinic", 1), asks("registry", 1, COARSE), asks("university", 0), asks("museum", 0, COARSE))
    _, missing = later(*asked, before=first(coarse=True))
    assert lost(asked, missing) == {"clinic": 6, "registry": 6, "university": 8, "museum": 12}


@pytest.mark.parametrize(
    ("budget", "what", "where"),
    [
        (3, "a copy would miss more records", "the copy of clinic"),
        (5, "a copy would miss more records", "the copy of university"),
        (6, None, None),
    ],
)
def test_no_copy_misses_more_than_the_budget(budget: int, what: str | None, where: str | None) -> None:
    """Holders miss 4, the university 6."""
    asked = (asks("clinic", 1), asks("university", 0))
    if what is None:
        assert lost(asked, later(*asked, budget=budget)[1]) == {"clinic": 4, "university": 6}
        return
    with pytest.raises(ParameterError, match=what) as caught:
        later(*asked, budget=budget)
    assert caught.value.where == where
    assert caught.value.expected.startswith(f"at most {budget} records")


def seatless() -> Any:
    return (asks("clinic", 1), asks("agency", 1), asks("institute", 1))


def greedy() -> Any:
    return (asks("clinic", 1), asks("agency", 2))


def newcomer_of_its_own() -> Any:
    return (asks("clinic", 1), asks("agency", 1, COARSE))


def of_one_file_but_different_now() -> Any:
    return (asks("clinic", 1), asks("registry", 1, COARSE))


def all_in_threes_now() -> Any:
    return (asks("clinic", 1, COARSE), asks("registry", 1, COARSE))


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (seatless, "no seat for a further recipient"),
        (greedy, "more or fewer decoy classes than a seat holds"),
        (newcomer_of_its_own, "generalized like the new recipient's"),
        (of_one_file_but_different_now, "generalized alike are to get different ones"),
        (all_in_threes_now, "this version does not match the earlier ones"),
    ],
)
def test_what_cannot_be_continued_is_refused(asked: Any, what: str) -> None:
    before = canonical_bytes(first())
    with pytest.raises(ParameterError, match=what):
        later(*asked())
    assert canonical_bytes(first()) == before


def test_a_recipient_without_decoys_may_be_generalized_in_any_way() -> None:
    asked = (asks("clinic", 1), asks("museum", 0, COARSE))
    _, missing = later(*asked)
    kept = np.concatenate([holder.kept.cells for holder in first().holders])
    threes = {(x // 3, y) for x, y in kept.tolist()}
    museum = asked[1].release.classes
    gone = {(museum.cells[row, 0] - 9, museum.cells[row, 1]) for row in np.flatnonzero(missing["museum"]).tolist()}
    assert gone == threes
    assert lost(asked, missing)["museum"] == 6 * len(threes)


def test_a_copy_is_its_real_classes_followed_by_its_decoys() -> None:
    manifest = first()
    files, holder = manifest.versions[0].files, manifest.holders[0]
    missing = np.zeros(21, dtype=bool)
    missing[[3, 20]] = True
    copy = marked_copy(manifest, holder, missing)
    assert len(copy.classes) == 20
    assert copy.decoy.tolist() == [False] * 19 + [True]
    assert cells(copy.classes)[-1:] == cells(holder.decoys)
    assert cells(copy.classes)[3] == cells(files[0])[4]
