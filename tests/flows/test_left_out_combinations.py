"""A copy whose records have one strategy, with a combination left out: the delivery names it, by groups that occur."""

import json
from pathlib import Path
from typing import Any

import pyrage

from tests.support.made_release import Made
from tests.support.world import ZIPS, drawn_rows, make_world, recipient

FEW = ("F", "38106")


def release(engine: Any, tmp_path: Path, age: str, method: str = "no-attack-common", **terms: Any) -> Made:
    """A world of 20 records of each sex and ZIP code, all 20 years old, but for two of one combination and an age."""
    world, rows = make_world(tmp_path / "world"), []
    for number, row in enumerate(drawn_rows()):
        rows.append({**row, "sex": "FM"[number % 2], "zip": ZIPS[number // 2 % len(ZIPS)], "age": "20"})
    few = [row for row in rows if (row["sex"], row["zip"]) == FEW]
    world.write_rows([row for row in rows if row not in few] + [{**row, "age": age} for row in few[:2]])
    world.ask(
        population={"self": True, "source": "all visitors", "path": None},
        attributes={"zip": {"safe_harbor": "none"}},
        policy={"presence": "known", "generalization": {"method": method, "adversary": "sequential"}},
        recipients=[recipient("university", **terms)],
    )
    made = Made(world, world.run(engine))
    game = made.record("university").risk.game  # type: ignore[union-attr]
    assert (game.suppressed_records, game.suppressed_classes) == (2, 1)
    return made


def delivered(made: Made) -> tuple[Path, dict[str, Any]]:
    folder = made.outcome.bundle / "delivery" / "university"
    return folder, json.loads((folder / "dictionary.json").read_text())


def test_a_combination_that_is_left_out_is_named(engine: Any, tmp_path: Path) -> None:
    folder, dictionary = delivered(release(engine, tmp_path, "20"))
    assert (folder / "left-out.csv").read_text().splitlines() == ["age;sex;zip", "20;F;38106"]
    assert dictionary["left_out"].startswith("left-out.csv: combinations of groups")


def test_a_group_that_nobody_in_the_file_has_is_not_named(engine: Any, tmp_path: Path) -> None:
    folder, dictionary = delivered(release(engine, tmp_path, "59"))
    assert not (folder / "left-out.csv").exists()
    assert "left_out" not in dictionary


def test_an_encrypted_delivery_names_it_in_its_own_file(engine: Any, tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    folder, dictionary = delivered(release(engine, tmp_path, "20", encrypt_to=[str(identity.to_public())]))
    content = pyrage.decrypt((folder / "left-out.csv.age").read_bytes(), [identity])
    assert content.decode().splitlines() == ["age;sex;zip", "20;F;38106"]
    assert dictionary["left_out"].startswith("left-out.csv.age: ")
    assert not (folder / "left-out.csv").exists()
