"""Copies whose classes are too large for decoys: said from the request alone, and of copies that are made."""

from math import exp
from pathlib import Path
from typing import Any

import pytest

from tasks.decoys.scarcity import crowded_copies, crowding
from tasks.microdata.prepared import prepare
from tests.support.numeric import drawn, numeric_request
from tests.support.planted import COARSE, asks
from tests.support.tiny import Change, changed


def with_decoys(document: dict[str, Any]) -> None:
    document["recipients"][0]["decoys"] = {"classes": 2}


def crowded(folder: Path, *changes: Change) -> list[tuple[tuple[str, ...], int, float]]:
    frame = drawn(60)
    loaded = numeric_request(folder, *changes, frame=frame)
    found = crowded_copies(loaded.request, prepare(loaded, frame))
    return [(one.recipients, one.people, one.empty) for one in found]


def generalization(**terms: Any) -> Change:
    return changed("policy", "generalization", to={"adversary": "one-shot", **terms})


def test_classes_of_several_records_leave_few_cells_like_them_empty(tmp_path: Path) -> None:
    """A class of k records links to k over the share of the population, and e to the −k of such cells are empty."""
    alone = generalization(method="basic-partition", minimum_class_size=1)
    assert crowded(tmp_path, with_decoys, alone) == []
    together = generalization(method="k-anonymity", k_anonymity={"k": 3})
    ((recipients, people, empty),) = crowded(tmp_path, with_decoys, together)
    loaded = numeric_request(tmp_path, with_decoys, together, frame=drawn(60))
    prepared = prepare(loaded, drawn(60))
    assert recipients == tuple(one.id for one in loaded.request.recipients)
    assert people == round(3 * prepared.population.total / 60)
    assert empty == pytest.approx(exp(-3))
    assert crowded(tmp_path, together) == [], "nobody gets decoys"


def test_stakes_set_the_least_class_of_a_game_without_attacks(tmp_path: Path) -> None:
    def stakes(document: dict[str, Any]) -> None:
        for one in document["recipients"]:
            one["stakes"] = {"benefit": 1200, "loss": 40, "cost": 1}

    play = generalization(method="no-attack-partition", minimum_class_size=1)
    loaded = numeric_request(tmp_path, with_decoys, play, stakes, frame=drawn(60))
    prepared = prepare(loaded, drawn(60))
    expected = exp(-40 * 60 / prepared.population.total)
    ((_, people, empty),) = crowded(tmp_path, with_decoys, play, stakes)
    assert (people, empty) == (40, pytest.approx(expected))


def test_the_median_class_of_each_copy_that_is_made() -> None:
    """42 records of 270 people: of cells of 10 people e to the −10·42/270 are empty, of 30 people that cubed."""
    copies = [asks("clinic", 1), asks("registry", 1), asks("university", 0, COARSE)]
    fine, coarse = crowding(copies)
    assert (fine.recipients, fine.people, fine.empty) == (("clinic", "registry"), 10, pytest.approx(exp(-420 / 270)))
    assert (coarse.recipients, coarse.people, coarse.empty) == (("university",), 30, pytest.approx(exp(-1260 / 270)))
