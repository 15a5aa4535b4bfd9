"""The decoy stage as a whole, on a small world: what copies hold, what they go without, what is told of it."""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.decoys.stage import Planted, plant, withheld_with
from tests.support.decoyed_copies import copies, generators
from tests.support.decoyed_world import POLICY, STAKES, with_decoys
from tests.support.world import WHOLE_CELLS, recipient

FIRST, SECOND = "a" * 64, "b" * 64
UNIVERSITY = recipient("university", stakes=STAKES)
NAMES = ("clinic", "registry", "university")


def asked(recipients: Any = None, **decoys: Any) -> list[Candidate]:
    policy = POLICY | WHOLE_CELLS | {"decoys": POLICY["decoys"] | decoys}
    return copies(recipients=recipients or [with_decoys("clinic"), with_decoys("registry"), UNIVERSITY], policy=policy)


@cache
def first() -> tuple[list[Candidate], Planted]:
    held = asked()
    return held, plant(held, FIRST, None, generators)


def labels(held: list[Candidate], name: str, value: str) -> set[str]:
    """Labels of all groups that a value of the data lies in."""
    tree = held[0].prepared.hierarchies[name]
    leaf = tree.labels[0].index(value)
    return {tree.labels[level][tree.groups[leaf, level]] for level in range(tree.n_levels)}


def released(held: list[Candidate], planted: Planted, name: str) -> list[tuple[str, ...]]:
    """Quasi-identifiers of the real rows of a copy, as text."""
    copy = next(one for one in held if one.recipient.id == name)
    kept = copy.released & ~withheld_with(copy, planted.missing[name])
    rows = held[0].prepared.tuple_of_record[kept[held[0].prepared.tuple_of_record]]
    cells = copy.generalization.cells[rows]
    return [
        tuple(held[0].index.axis_labels[axis][position] for axis, position in enumerate(cell))
        for cell in cells.tolist()
    ]


def decoy_cells(planted: Planted, name: str) -> list[tuple[str, ...]]:
    holder = next(one for one in planted.manifest.holders if one.recipient == name)
    return [(str(row["age"]), str(row["sex"]), str(row["zip"])) for row in holder.rows]


def test_only_those_who_ask_get_decoys_and_one_seat_is_kept() -> None:
    _, planted = first()
    assert [holder.recipient for holder in planted.manifest.holders] == ["clinic", "registry", None]
    assert set(planted.facts) == {"clinic", "registry"}
    assert [len(holder.decoys) for holder in planted.manifest.holders] == [2, 2, 2]


def test_no_record_of_the_data_lies_in_a_decoy_cell() -> None:
    held, planted = first()
    cells = {cell for name in ("clinic", "registry") for cell in decoy_cells(planted, name)}
    names = held[0].request.quasi_identifiers
    for row in held[0].frame[list(names)].drop_duplicates().itertuples(index=False):
        own = [labels(held, name, value) for name, value in zip(names, row, strict=True)]
        assert not any(all(part in groups for part, groups in zip(cell, own, strict=True)) for cell in cells)


def test_every_decoy_record_is_complete_and_as_a_class_says() -> None:
    held, planted = first()
    for holder in planted.manifest.holders:
        assert all(tuple(row) == held[0].request.outbound for row in holder.rows)
        counts = Counter((row["age"], row["sex"], row["zip"]) for row in holder.rows)
        assert sorted(counts.values()) == sorted(holder.decoys.records.tolist())
    values = set(map(tuple, held[0].frame[["diagnosis", "visits", "note"]].itertuples(index=False)))
    shared = Counter(map(tuple, held[0].frame[["diagnosis", "visits", "note"]].itertuples(index=False)))
    drawn = [
        (row["diagnosis"], row["visits"], row["note"]) for holder in planted.manifest.holders for row in holder.rows
    ]
    assert all(shared[one] != 1 for one in drawn)
    assert values.intersection(drawn)


def test_what_one_copy_keeps_no_other_has() -> None:
    held, planted = first()
    copies_of = {name: set(released(held, planted, name)) for name in NAMES}
    own = {name: copies_of[name] - set.union(*(copies_of[other] for other in NAMES if other != name)) for name in NAMES}
    kept = {
        holder.recipient: {
            tuple(held[0].index.axis_labels[axis][position] for axis, position in enumerate(cell))
            for cell in holder.kept.cells.tolist()
        }
        for holder in planted.manifest.holders
    }
    assert own["clinic"] == kept["clinic"]
    assert own["registry"] == kept["registry"]
    assert own["university"] == set()
    everything = set.union(*copies_of.values())
    assert not kept[None] & everything, "what a seat keeps is nobody's yet"


def test_facts_are_those_of_the_copies() -> None:
    held, planted = first()
    fact = planted.facts["clinic"]
    assert fact.count == len(decoy_cells(planted, "clinic"))
    assert (fact.classes, fact.recipients, fact.kept_per_decoy, fact.planned_probability) == (2, 2, 1, 0.5)
    assert fact.missing == len(held[0].frame) - len(released(held, planted, "clinic"))
    assert fact.choice is not None
    assert fact.choice.status == "optimal"
    assert [one.colluders for one in fact.collusion] == [1, 2]
    assert fact.collusion[-1].probability == pytest.approx(0.5)
    assert fact.collusion[-1].worst_informed <= 0.5 + 1e-12
    assert fact.attempts is not None
    assert fact.attempts.success < fact.attempts.subjects_mean
    assert fact.statistics is not None
    assert [one.name for one in fact.statistics.columns] == ["age", "sex", "zip", "diagnosis", "visits", "note"]


def test_the_same_seed_gives_the_same_manifest() -> None:
    from tasks.decoys.manifest import canonical_bytes

    again = plant(asked(), FIRST, None, generators)
    assert canonical_bytes(again.manifest) == canonical_bytes(first()[1].manifest)


def test_a_later_version_keeps_the_decoys_and_seats_a_newcomer() -> None:
    newcomer = with_decoys("agency")
    held = asked([with_decoys("clinic"), UNIVERSITY, newcomer])
    planted = plant(held, SECOND, first()[1].manifest, generators)
    before = {one.recipient: one for one in first()[1].manifest.holders}
    now = {one.recipient: one for one in planted.manifest.holders}
    assert list(now) == ["clinic", "registry", "agency"]
    assert now["clinic"].rows == before["clinic"].rows
    assert now["agency"].rows == before[None].rows
    assert [version.release for version in planted.manifest.versions] == [FIRST, SECOND]
    whole = {name: set(released(held, planted, name)) for name in ("clinic", "agency", "university")}
    old = {name: set(released(*first(), name)) for name in NAMES}
    # Data and generalization are the same, so a holder of both versions finds no class that comes or goes.
    assert whole["clinic"] == old["clinic"]
    assert whole["university"] == old["university"]
    assert whole["agency"] - old["clinic"] - old["registry"] - old["university"]


def test_a_second_newcomer_finds_no_seat() -> None:
    held = asked([with_decoys("clinic"), with_decoys("agency"), with_decoys("institute")])
    with pytest.raises(ParameterError, match="no seat"):
        plant(held, SECOND, first()[1].manifest, generators)


def test_a_newcomer_with_another_generalization_is_refused() -> None:
    held = asked([with_decoys("clinic"), with_decoys("agency", stakes={"benefit": 1200, "loss": 400, "cost": 4})])
    with pytest.raises(ParameterError, match="generalized like the new recipient's"):
        plant(held, SECOND, first()[1].manifest, generators)


@pytest.mark.parametrize(
    ("terms", "decoys", "said"),
    [
        ({"classes": 5000}, {}, "ask for [0-9]+ decoy classes at most"),
        ({"classes": 2}, {"missing_limit": 0.0}, "missing_limit|budget"),
        (
            {"classes": 2, "minimum_risk_factor": 9e5, "maximum_risk_factor": 1e6},
            {},
            "raise decoys.maximum_risk_factor",
        ),
    ],
)
def test_what_cannot_be_had_is_refused_with_what_would_do(terms: Any, decoys: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        plant(asked([with_decoys("clinic", decoys=terms), UNIVERSITY], **decoys), FIRST, None, generators)


def test_a_class_is_no_smaller_than_the_policy_asks() -> None:
    policy = {"decoys": POLICY["decoys"], "generalization": {"minimum_class_size": 2}, "gates": POLICY["gates"]}
    held = copies(recipients=[with_decoys("clinic"), UNIVERSITY], policy=policy)
    planted = plant(held, FIRST, None, generators)
    assert all((holder.decoys.records >= 2).all() for holder in planted.manifest.holders)


@pytest.mark.slow
def test_copies_of_another_generalization_are_files_of_their_own() -> None:
    coarse = with_decoys("registry", stakes={"benefit": 1200, "loss": 72, "cost": 4})
    held = asked([with_decoys("clinic"), coarse, UNIVERSITY])
    planted = plant(held, FIRST, None, generators)
    assert len(planted.manifest.versions[0].files) == 2, "the university's is the clinic's"
    for name, other in (("clinic", "registry"), ("registry", "clinic")):
        real = set(released(held, planted, other))
        assert not real & set(decoy_cells(planted, name))
    assert all(one.probability <= 0.5 + 1e-12 for one in planted.facts["clinic"].collusion)


def test_withheld_tuples_stay_withheld() -> None:
    held, planted = first()
    missing = planted.missing["clinic"]
    assert np.array_equal(withheld_with(held[0], missing), missing)


def test_a_holder_who_asks_for_none_any_more_keeps_them_and_they_are_judged() -> None:
    held = asked([recipient("clinic", stakes=STAKES), UNIVERSITY])
    planted = plant(held, SECOND, first()[1].manifest, generators)
    assert set(planted.facts) == {"clinic"}
    assert planted.facts["clinic"].classes == 2
    assert planted.facts["clinic"].detectability is not None
