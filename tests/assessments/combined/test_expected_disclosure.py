"""Expected disclosure: by hand on the tiny file, by the definition on drawn tables, and against identity risk."""

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.assessments.combined.expected import LEAST_SET, PRESUMED, expected_disclosure
from tasks.assessments.registry import COMBINED, IDENTITY
from tasks.candidate.candidate import Candidate, CandidateSource
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest
from tasks.request.model import DEFAULT_GATES, Measure
from tests.support.examples import examples
from tests.support.tiny import DATA, Change, changed, larger, tiny_request

SAFE_HARBOR = changed("policy", "generalization", "method", to="safe-harbor")


def candidate(loaded: LoadedRequest) -> Candidate:
    frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(3))
    return source.candidate(loaded.request.recipients[0])


def with_ward(*changes: Change, folder: Path, wards: str, **attribute: object) -> Candidate:
    """The tiny request under Safe Harbor with one insensitive column more."""
    head, *rows = DATA.splitlines()
    data = "\n".join([head + ",ward", *(f"{row},{ward}" for row, ward in zip(rows, wards, strict=True))]) + "\n"
    ward = changed("attributes", "ward", to={"role": "insensitive", **attribute})
    return candidate(tiny_request(folder, SAFE_HARBOR, ward, *changes, data=data, population=larger(1)))


def test_with_known_quasi_identifiers_alone_it_is_the_risk_from_an_informed_recipient(tmp_path: Path) -> None:
    one = candidate(tiny_request(tmp_path, SAFE_HARBOR))
    identity = IDENTITY.measures(one)
    assert COMBINED.measures(one)[Measure.COMBINED_EXPECTED] == pytest.approx(identity[Measure.TRANSPARENT_MAXIMUM])
    people = one.generalization.effective[one.prepared.tuple_of_record]
    assert expected_disclosure(one) == pytest.approx(1 / people)


def test_a_column_nobody_looked_at_by_hand(tmp_path: Path) -> None:
    """Of 370** 88 F, three records of eight people, one is of ward A: 3/8 · (0.9/3 + 0.1/1); two are of B."""
    unstated = with_ward(folder=tmp_path, wards="ABABAA")
    found = expected_disclosure(unstated)
    assert found[0] == pytest.approx(3 / 8 * (0.9 / 3 + 0.1 / 1))
    assert found[1] == found[3] == pytest.approx(3 / 8 * (0.9 / 3 + 0.1 / 2))
    fact = COMBINED.assess(unstated).fact
    assert fact.presumed == ("ward",)
    assert fact.expected == pytest.approx(found.max())
    assert fact.known_probabilities.get("ward", 0.0) == 0.0, "the score of the paper counts what the request states"
    stated = with_ward(folder=tmp_path, wards="ABABAA", known_probability=0)
    assert expected_disclosure(stated)[0] == pytest.approx(1 / 8)


def test_where_others_can_know_who_is_in_the_file_its_records_count_by_hand(tmp_path: Path) -> None:
    """Of 370** 88 F, three records of eight people, one is of ward A: 0.9/3 + 0.1/1; two are of B."""
    known = changed("policy", "presence", to="known")
    one = with_ward(known, folder=tmp_path, wards="ABABAA")
    found = expected_disclosure(one)
    assert found[0] == pytest.approx(0.9 / 3 + 0.1 / 1)
    assert found[1] == found[3] == pytest.approx(0.9 / 3 + 0.1 / 2)


def test_a_sensitive_column_that_is_known_is_not_learned(tmp_path: Path) -> None:
    unstated = changed("attributes", "diagnosis", "known_probability", to=None)
    found = expected_disclosure(candidate(tiny_request(tmp_path, SAFE_HARBOR, unstated)))
    assert found[0] == pytest.approx(0.9 / 8)


def test_in_a_file_of_everybody_a_column_nobody_looked_at_closes_the_default_gate(tmp_path: Path) -> None:
    """0.1 for a column that tells all apart exceeds 0.09, however large the classes; without it 30 are alike."""
    (bound,) = [gate.at_most for gate in DEFAULT_GATES if gate.measure is Measure.COMBINED_EXPECTED]
    head, *rows = DATA.splitlines()
    lines = [f"{time}-{row},{time}{place}" for time in range(30) for place, row in enumerate(rows)]
    data = "\n".join([head + ",ward", *lines]) + "\n"
    everybody = "zip,age,sex,count\n37010,88,F,60\n37010,89,M,30\n37011,88,F,30\n37201,90,M,30\n37201,93,M,30\n"
    found = []
    for chance in (0.0, None):
        ward = changed("attributes", "ward", to={"role": "insensitive", "known_probability": chance})
        one = candidate(tiny_request(tmp_path, SAFE_HARBOR, ward, data=data, population=everybody))
        found.append(COMBINED.measures(one)[Measure.COMBINED_EXPECTED])
    assert found == pytest.approx([1 / 30, 0.9 / 30 + 0.1])
    assert bound is not None
    assert found[0] < bound < PRESUMED < found[1]


def test_without_anything_sensitive_it_is_none(tmp_path: Path) -> None:
    nothing = changed("attributes", "diagnosis", to={"role": "insensitive", "known_probability": 0})
    one = candidate(tiny_request(tmp_path, SAFE_HARBOR, nothing))
    assert COMBINED.measures(one)[Measure.COMBINED_EXPECTED] == 0.0


def test_without_anything_sensitive_what_nobody_looked_at_is_what_is_learned(tmp_path: Path) -> None:
    """Of the class of eight people each is found with 1/8, and ward learned, unless it is known, with 0.1, itself."""
    nothing = changed("attributes", "diagnosis", to={"role": "insensitive", "known_probability": 0})
    one = with_ward(nothing, folder=tmp_path, wards="ABABAA")
    assert expected_disclosure(one)[0] == pytest.approx(3 / 8 * 0.9 / 3)


def by_definition(
    one: Candidate, table: pd.DataFrame, chances: dict[str, float], weights: dict[str, float]
) -> list[float]:
    """Every set of columns, every record among those equal to it; of rarer sets, among those equal in all columns."""
    names, learned = list(chances), np.zeros(len(table))
    possible = [name for name in names if chances[name] > 0]
    for size in range(len(names) + 1):
        for known in combinations(names, size):
            rare = math.prod(chances[name] for name in known) <= LEAST_SET
            weight = math.prod(chances[name] if name in known else 1 - chances[name] for name in names)
            among = possible if rare else list(known)
            like = table.fillna("missing").groupby(among)[names[0]].transform("size") if among else len(table)
            learned += weight / np.asarray(like) * sum(own for name, own in weights.items() if name not in known)
    people = one.generalization.effective[one.prepared.tuple_of_record]
    cells = one.generalization.cells[one.prepared.tuple_of_record]
    sizes = np.array([(cells == cell).all(axis=1).sum() for cell in cells])
    shares = np.minimum(learned / sum(weights.values()), 1.0)
    return list(shares * np.minimum(sizes / np.maximum(people, 1), 1.0))


CHANCE = st.sampled_from([None, 0.0, 0.05, 0.3, 1.0])


@pytest.mark.slow
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wards=st.text("ABC", min_size=6, max_size=6),
    stated_chances=st.tuples(CHANCE, CHANCE, CHANCE),
    weight=st.sampled_from([0.5, 1.0]),
)
def test_the_definition_gives_the_same(
    tmp_path: Path, wards: str, stated_chances: tuple[float | None, float | None, float | None], weight: float
) -> None:
    ward, diagnosis, zip_code = stated_chances
    one = with_ward(
        changed("attributes", "diagnosis", "known_probability", to=diagnosis),
        changed("attributes", "diagnosis", "sensitivity", to={"attribute": weight}),
        changed("attributes", "zip", "known_probability", to=zip_code),
        folder=tmp_path,
        wards=wards,
        known_probability=ward,
    )
    cells = one.generalization.cells[one.prepared.tuple_of_record]
    table = pd.DataFrame({name: cells[:, axis] for axis, name in enumerate(("zip", "age", "sex"))})
    table["diagnosis"], table["ward"] = one.frame["diagnosis"].to_numpy(), one.frame["ward"].to_numpy()
    stated = {"zip": 1.0 if zip_code is None else zip_code, "age": 1.0, "sex": 1.0}
    chances = stated | {"diagnosis": diagnosis, "ward": ward}
    chances = {name: PRESUMED if chance is None else chance for name, chance in chances.items()}
    expected = by_definition(one, table, chances, {"diagnosis": weight})
    assert expected_disclosure(one) == pytest.approx(expected)
