"""What leaves is what was assessed, whatever is exchanged at whichever border of a release.

``make attacks`` plays the whole table; the tests play parts of it.
"""

from collections.abc import Iterator

import pytest

from tests.attacks.exchanges import (
    BACK_AT_NEXT,
    HARMLESS,
    IDENTICAL,
    LEAVES,
    REFUSED,
    STAYS,
    Cell,
    Told,
    cells,
    judged,
    play,
    quickly,
)
from tests.attacks.scenes import VARIANTS, Scene
from tests.support.engines import in_process

_EVERY = {"plain": 167, "masked": 167, "decoys": 331}
"""Of all exchanges of a variant, the share that is played: one in so many."""
ONCE_LEFT = [
    ("copy of data", "validation", STAYS),
    ("copy of data", "preparation", BACK_AT_NEXT),
    ("all copies, with their index", "preparation", STAYS),
    ("staged delivery/university/dictionary.json", "sealing", STAYS),
    ("staged report/university.pdf", "sealing", STAYS),
    ("staged evidence/report-university.pdf", "sealing", STAYS),
    ("staged delivery/university/data.csv", "recording", STAYS),
    ("staged, all of it", "recording", STAYS),
    ("staged, all of it", "checking the seal", STAYS),
    ("staged, all of it", "moving", STAYS),
]
"""Exchanges that a gate has let pass."""


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with quickly():
        yield


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("attacks"), VARIANTS["plain"])


def wrong(scene: Scene, chosen: list[Cell]) -> list[Told]:
    return [told for cell in chosen if (told := play(scene, cell)).outcome not in HARMLESS]


@pytest.mark.slow
@pytest.mark.parametrize(("thing", "border", "way"), ONCE_LEFT)
def test_what_once_left_is_refused(plain: Scene, thing: str, border: str, way: str) -> None:
    told = play(plain, Cell("plain", thing, plain.played.borders.index(border), way))
    assert told.outcome == REFUSED, told


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_part_of_each_variant_comes_to_nothing(variant: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    scene = Scene(tmp_path_factory.mktemp("attacks"), VARIANTS[variant])
    assert wrong(scene, list(cells(scene))[:: _EVERY[variant]]) == []


@pytest.mark.slow
def test_the_judge_can_tell_what_leaves(plain: Scene) -> None:
    """The twin's own release is approved, and is not what was to be released; nor is one that was changed later."""
    plain.set_up()
    assert judged(plain, lambda: plain.world.run(in_process(plain.place)))[0] == IDENTICAL
    (delivered,) = plain.workspace.releases.glob("*/delivery/*/data.csv")
    delivered.write_bytes(delivered.read_bytes() + b"x")
    assert judged(plain, lambda: plain.world.run(in_process(plain.place)))[0] == LEAVES
    plain.set_up()
    for name, content in plain.evil.items():
        (plain.world.folder / name).write_bytes(content)
    assert judged(plain, lambda: plain.world.run(in_process(plain.place)))[0] == LEAVES
