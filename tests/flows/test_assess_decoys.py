"""``releasegate assess decoys``: what is shown and written of decoys that a release could have, and what is not."""

from pathlib import Path
from typing import Any

import pytest

from tasks.decision.decoy_facts import CollusionFact, DetectabilityFact
from tests.support.decoyed_world import POLICY, STAKES, drawn_rows, make_decoyed_world, with_decoys
from tests.support.world import COLUMNS, WHOLE_CELLS, World, recipient, write_table

MARK = "QuollMark"
UNIVERSITY = recipient("university", stakes=STAKES)
VALUES = {"influenza", "migraine", "asthma", "fracture", "seen in room", "QJXIDENTITY"}


@pytest.fixture
def decoyed(tmp_path: Path) -> World:
    return make_decoyed_world(tmp_path / "world")


def silent(told: Any) -> Any:
    assert not any(value in told.out + told.err for value in VALUES | {MARK})
    return told


def nothing_was_written(world: World) -> None:
    assert not world.workspace.root.exists()
    assert {path.name for path in world.folder.iterdir()} == {"data.csv", "population.csv", "age.csv", "request.yaml"}


@pytest.mark.slow
def test_for_programs(decoyed: World, releasegate: Any) -> None:
    told = silent(releasegate("assess", "decoys", decoyed.request, "--json"))
    document = told.document
    assert (told.code, document["method"], document["ok"]) == (0, "decoys", True)
    assert (document["terms_assumed"], document["refused"]) == (False, "")
    assert {(row["k"], row["suppression_limit"]) for row in document["room"]} == {
        (k, limit) for k in (2, 5, 10, 20, 50) for limit in (0, 0.02, 0.05, 0.1, 0.15)
    }
    for row in document["room"]:
        assert sum(row["sizes"]) == row["classes"]
        assert row["factors"] == sorted(row["factors"])
        assert all(factor > 1 for factor in row["factors"])
    assert all(row["samples"] == 5 and row["classes"]["deviation"] >= 0 for row in document["samples"])
    assert all(row["recipients"] == row["in_band"] // 2 for row in document["room"])
    assert [cost["ratio"] for cost in document["costs"]] == [1, 2, 4]
    assert all(cost["proven"] and cost["why_not"] == "" for cost in document["costs"])
    assert list(document["recipients"]) == ["clinic", "registry"], "the university asks for none"
    for one in document["recipients"].values():
        decoys = one["decoys"]
        assert not {"commitment_sha256", "statistics"} & decoys.keys()
        assert [CollusionFact.model_validate(fact).colluders for fact in decoys["collusion"]] == [1, 2]
        assert decoys["collusion"][1]["worst_informed"] == pytest.approx(0.5)
        assert DetectabilityFact.model_validate(decoys["detectability"]).decoys == 30
        assert one["supported"]["recipients"] >= 2
    assert document["recipients"]["clinic"]["supported"] == document["recipients"]["registry"]["supported"]
    nothing_was_written(decoyed)


def test_for_people(decoyed: World, releasegate: Any) -> None:
    told = silent(releasegate("assess", "decoys", decoyed.request))
    assert (told.code, told.err) == (0, "")
    for part in (
        "Room that k-anonymous releases leave for decoys",
        "The same in 5 random samples of the population, as large as the data: mean (standard deviation)",
        "Risk factors of what is left over, by the share of them that have a lower one",
        "Released classes by size, in multiples of k",
        "Records that the worst-off of the copies misses, 2 with decoys",
        "clinic, registry: ",
        "recipients of this generalization could have 2 decoy classes each at t = 1",
        "Probability that a class which stands alone is a decoy",
        "The plan of 0.5 holds",
        "clinic, registry: whether decoys can be distinguished from real classes",
        "university: no decoys are required.",
        "Drawn with randomness of its own; a release has other decoys.",
    ):
        assert " ".join(part.split()) in " ".join(told.out.split()), part
    assert told.out.count("whether decoys can be distinguished") == 1, "copies of one file are shown once"
    nothing_was_written(decoyed)


def test_one_recipient_is_shown_and_all_are_counted(decoyed: World, releasegate: Any) -> None:
    one = releasegate("assess", "decoys", decoyed.request, "--recipient", "registry", "--json").document
    assert list(one["recipients"]) == ["registry"]
    assert one["recipients"]["registry"]["decoys"]["recipients"] == 2
    without = releasegate("assess", "decoys", decoyed.request, "--recipient", "university")
    assert "university: no decoys are required." in without.out
    assert "clinic" not in without.out
    assert "2 with decoys" in without.out
    unknown = releasegate("assess", "decoys", decoyed.request, "--recipient", "nobody")
    assert unknown.code == 2
    assert "expected: one of clinic, registry, university" in " ".join(unknown.err.split())


def test_a_request_without_terms_is_shown_with_some(decoyed: World, releasegate: Any) -> None:
    decoyed.ask(recipients=[UNIVERSITY], policy=POLICY)
    told = silent(releasegate("assess", "decoys", decoyed.request))
    said = " ".join(told.out.split())
    assert "No recipient is to have decoys; 2 decoy classes each are assumed." in said
    assert "recipients of this generalization could have 2 decoy classes each" in said
    assert "university: whether decoys can be distinguished from real classes" in said
    assert "no decoys are asked for" not in said


def test_decoys_that_cannot_be_had_say_why_and_show_the_rest(decoyed: World, releasegate: Any) -> None:
    decoyed.ask(recipients=[with_decoys("clinic", decoys={"classes": 5000}), UNIVERSITY], policy=POLICY)
    document = releasegate("assess", "decoys", decoyed.request, "--json").document
    assert "ask for" in document["refused"]
    assert document["recipients"]["clinic"]["decoys"] is None
    assert document["recipients"]["clinic"]["supported"]["recipients"] == 0
    assert all(cost["optimal"] is None and cost["why_not"] for cost in document["costs"])
    told = silent(releasegate("assess", "decoys", decoyed.request))
    assert told.code == 0
    assert "Decoys cannot be had on these terms" in told.out
    assert "Room that k-anonymous releases leave for decoys" in told.out
    assert "Probability that a class which stands alone" not in told.out


def test_a_band_without_a_cell(decoyed: World, releasegate: Any) -> None:
    terms = {"classes": 2, "minimum_risk_factor": 9e5, "maximum_risk_factor": 1e6}
    decoyed.ask(recipients=[with_decoys("clinic", decoys=terms), UNIVERSITY], policy=POLICY)
    told = silent(releasegate("assess", "decoys", decoyed.request))
    assert told.code == 0
    assert "clinic: no decoys can be offered." in told.out
    assert "raise decoys.maximum_risk_factor" in told.out
    document = releasegate("assess", "decoys", decoyed.request, "--json").document
    assert document["recipients"]["clinic"] == {"supported": None, "decoys": None}


def test_too_few_cells_to_measure_detection(decoyed: World, releasegate: Any) -> None:
    narrow = {"classes": 1, "minimum_risk_factor": 0.8, "maximum_risk_factor": 1.0}
    policy = POLICY | WHOLE_CELLS | {"decoys": POLICY["decoys"] | {"seats": 0}}
    decoyed.ask(recipients=[with_decoys("clinic", decoys=narrow)], policy=policy)
    told = releasegate("assess", "decoys", decoyed.request)
    assert told.code == 0
    assert "clinic: too few cells to measure whether decoys can be distinguished from real classes." in told.out


def test_a_column_of_everybodys_own_text_is_refused_without_quoting_it(decoyed: World, releasegate: Any) -> None:
    rows = [row | {"note": f"{MARK} {number}"} for number, row in enumerate(drawn_rows())]
    write_table(decoyed.data, rows, COLUMNS)
    told = silent(releasegate("assess", "decoys", decoyed.request, "--json"))
    assert "column note" in told.document["refused"]
    assert "900 different values in 900 records" in told.document["refused"]


def test_a_request_that_continues_a_release_is_told_what_this_is(decoyed: World, releasegate: Any) -> None:
    decoyed.ask(recipients=[with_decoys("clinic"), UNIVERSITY], policy=POLICY, continues="a" * 64)
    told = releasegate("assess", "decoys", decoyed.request)
    assert told.code == 0
    assert "The request continues a release, whose decoys stay; these figures are for a first version." in " ".join(
        told.out.split()
    )


@pytest.mark.slow
def test_a_recipient_without_a_copy_is_told_and_the_others_are_shown(decoyed: World, releasegate: Any) -> None:
    """Nobody attacks the university, so that its method generalizes nothing and each of its classes is too small."""
    harmless = with_decoys("university", stakes={"benefit": 1200, "loss": 1, "cost": 1000})
    decoyed.ask(
        recipients=[with_decoys("clinic"), harmless],
        policy=POLICY | {"generalization": {"minimum_class_size": 6}},
    )
    document = silent(releasegate("assess", "decoys", decoyed.request, "--json")).document
    assert list(document["recipients"]) == ["clinic"]
    assert list(document["without_copy"]) == ["university"]
    assert "every record would be suppressed" in document["without_copy"]["university"]
    told = silent(releasegate("assess", "decoys", decoyed.request))
    assert "university has no copy: every record would be suppressed" in " ".join(told.out.split())


def test_where_nobody_has_a_copy_it_is_an_error(decoyed: World, releasegate: Any) -> None:
    decoyed.ask(policy=POLICY | {"generalization": {"minimum_class_size": 800}})
    told = silent(releasegate("assess", "decoys", decoyed.request))
    assert told.code != 0
    assert "every record would be suppressed" in told.err
