"""Populations without a full table in a request: what each is, and every refusal with place and remedy."""

from typing import Any

import pytest
from pydantic import ValidationError

from tasks.request.model import Population, PopulationBasis, ReleaseRequest
from tasks.request.unused import unused_terms
from tests.support.tiny import Change, changed, tiny_document

CENSUS = {"path": "population.csv", "source": "made up"}


def asked(population: dict[str, Any], *changes: Change) -> ReleaseRequest:
    document = tiny_document()
    document["population"] = {"source": "made up", **population}
    document["policy"]["presence"] = "known"
    for change in changes:
        change(document)
    return ReleaseRequest.model_validate(document)


PARTITION = changed("policy", "generalization", "method", to="no-attack-partition")
BY_DATA = changed("policy", "generalization", "cell_weights", to="data")
LACKING = {"path": "population.csv", "lacks": ["sex"]}


@pytest.mark.parametrize(
    ("terms", "basis", "people", "below"),
    [
        ({"path": "p.csv"}, PopulationBasis.TABLE, None, False),
        ({"path": "p.csv", "lacks": ["sex"]}, PopulationBasis.TABLE_AND_FILE, None, True),
        ({"self": True}, PopulationBasis.FILE, None, False),
        ({"size": 300}, PopulationBasis.SAMPLE, 300, True),
        ({"sampling_fraction": 0.3}, PopulationBasis.SAMPLE, 20, True),
        ({"sampling_fraction": 1}, PopulationBasis.SAMPLE, 6, True),
    ],
)
def test_each_population_says_what_its_people_are_counted_in(
    terms: dict[str, Any], basis: PopulationBasis, people: int | None, below: bool
) -> None:
    population = Population.model_validate({"source": "made up", **terms})
    assert (population.basis, population.people(6), population.from_below) == (basis, people, below)


@pytest.mark.parametrize(
    ("terms", "got"),
    [
        ({}, "none"),
        ({"self": False}, "none"),
        ({"path": "p.csv", "self": True}, "path and self"),
        ({"self": True, "size": 300, "sampling_fraction": 0.5}, "self, size and sampling_fraction"),
        ({"self": True, "count": "people"}, "count without path"),
        ({"size": 300, "lacks": ["sex"]}, "lacks without path"),
    ],
)
def test_a_population_is_one_thing(terms: dict[str, Any], got: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Population.model_validate({"source": "made up", **terms})
    (error,) = caught.value.errors()
    assert error["ctx"]["got"] == got


@pytest.mark.parametrize(
    ("population", "changes", "place", "expected"),
    [
        ({"self": True}, [changed("recipients", to=[{**tiny_document()["recipients"][0], "decoys": {"classes": 2}}])],
         "recipients.0.decoys", "decoys need a population table"),
        ({"size": 99}, [changed("continues", to="a" * 64)], "continues", "decoys need a population table"),
        ({"self": True}, [changed("external_data", to={"path": "r.csv", "source": "made up"})], "external_data",
         "a register lists people of a population table"),
        ({"self": True}, [changed("policy", "presence", to="unknown")], "policy.presence", "others know who is in it"),
        ({"size": 99}, [changed("policy", "singling_out", to={"sampling_fraction": 0.1})],
         "policy.singling_out.sampling_fraction", "is of a file with a population table"),
        ({"self": True}, [changed("policy", "gates", to=[
            {"measure": "transparent.maximum_risk", "at_most": 0.1, "because": "-"},
            {"measure": "estimated.mean_risk", "at_most": 0.1, "because": "-"}])],
         "policy.gates", "a gate on estimated"),
        ({**LACKING, "lacks": ["diagnosis"]}, [PARTITION, BY_DATA], "population.lacks", "names quasi-identifiers"),
        ({**LACKING, "lacks": ["zip", "age", "sex"]}, [PARTITION, BY_DATA], "population.lacks", "not all of them"),
        ({**LACKING, "lacks": ["age"]}, [PARTITION, BY_DATA], "population.lacks", "a Safe Harbor rule"),
        (LACKING, [BY_DATA], "policy.generalization.method", "every recipient's method is a partition"),
        (LACKING, [PARTITION], "policy.generalization.cell_weights", "weighed by the records"),
        (LACKING, [PARTITION, BY_DATA, changed("policy", "generalization", "k_anonymity", to={"k": 2})],
         "policy.generalization.k_anonymity", "there is no k_anonymity"),
        ({"size": 99}, [changed("recipients", to=[{**tiny_document()["recipients"][0], "adversary": {"resources": [
            {"source": "a register", "candidates": [{"people": 0.5}]}]}}])],
         "recipients.0.adversary.resources", "counted from below"),
    ],
)  # fmt: skip
def test_what_a_population_without_a_full_table_does_not_go_with(
    population: dict[str, Any], changes: list[Change], place: str, expected: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        asked(population, *changes)
    (error,) = caught.value.errors()
    assert ".".join(map(str, error["ctx"]["at"])) == place
    assert expected in error["ctx"]["expected"]
    assert error["ctx"]["fix"]


def test_coverage_of_a_file_by_itself_is_named_as_unused() -> None:
    covered = changed("policy", "validation", to={"minimum_population_coverage": 0.9})
    (note,) = (one for one in unused_terms(asked({"self": True}, covered)) if "coverage" in one)
    assert note.startswith("policy.validation.minimum_population_coverage is not used")
    assert not any("coverage" in one for one in unused_terms(asked({"path": "population.csv"}, covered)))


def test_a_table_that_lacks_some_goes_with_a_partition_weighed_by_data() -> None:
    assert asked(LACKING, PARTITION, BY_DATA).population.basis is PopulationBasis.TABLE_AND_FILE
