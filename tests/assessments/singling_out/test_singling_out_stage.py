"""Singling out on the tiny request, by hand.

Safe Harbor releases these rows; one in six is alone by its age, and the diagnosis is not said to be unknown:

    1       370** 88  F flu      {age, diagnosis}, {sex, diagnosis}
    2, 4    370** 88  F cold     none
    3       370** 89  M flu      {age}, {zip, sex}
    5, 6    372** 90+ M flu      none

A set of one of four columns scores 3·2·1 and one of two 2·1: 4 and 8 together. There are 27 people.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.assessments.identity.preconditions import check_risk_setting
from tasks.assessments.registry import SINGLING_OUT
from tasks.assessments.singling_out.assessment import known_tables, special_records
from tasks.assessments.singling_out.facts import SinglingOutFact
from tasks.candidate.assessment import Finding
from tasks.candidate.candidate import Candidate, CandidateSource
from tasks.core.errors import ParameterError
from tasks.microdata.coded import knowable_columns
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest
from tasks.request.model import Measure
from tests.reference.plain_uniques import minimal_sets
from tests.support.numeric import masking, numeric_request
from tests.support.tiny import Change, changed, tiny_request

SAFE_HARBOR = changed("policy", "generalization", "method", to="safe-harbor")


def candidate(loaded: LoadedRequest) -> Candidate:
    frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(3))
    return source.candidate(loaded.request.recipients[0])


UNSTATED = changed("attributes", "diagnosis", "known_probability", to=None)


def assessed(folder: Path, *changes: Change) -> Finding[SinglingOutFact]:
    return SINGLING_OUT.assess(candidate(tiny_request(folder, SAFE_HARBOR, UNSTATED, *changes)))


def terms(**given: object) -> Change:
    return changed("policy", "singling_out", to=given)


def test_the_tiny_file_by_hand(tmp_path: Path) -> None:
    found = assessed(tmp_path)
    fact = found.fact
    assert fact.known == ("zip", "age", "sex", "diagnosis")
    assert fact.presumed == ("diagnosis",)
    assert (fact.columns, fact.records, fact.singled_out, fact.as_released, fact.masked) == (3, 6, 2, 2, None)
    assert [(one.columns, one.singled_out) for one in fact.by_size] == [(1, 1), (2, 1), (3, 0)]
    assert fact.score_maximum == 8.0
    columns = {one.column: (one.score_share * 12, one.singled_out, one.needed) for one in fact.by_column}
    assert columns == {
        "age": (pytest.approx(8), 2, 0),
        "diagnosis": (pytest.approx(4), 1, 1),
        "sex": (pytest.approx(4), 2, 0),
        "zip": (pytest.approx(2), 1, 0),
    }
    assert fact.worst is not None
    assert fact.together is not None
    assert (fact.worst.columns, fact.worst.uniques, fact.worst.pairs) == (("age", "diagnosis"), 2, 4)
    assert (fact.together.columns, fact.together.uniques) == (fact.known, 2)
    assert fact.sampling_fraction == pytest.approx(6 / 27)
    assert fact.worst.correct_match == pytest.approx(4 / 32)
    of_two = 2 * 6 * 21 / (27 * 26)
    assert fact.worst.zayatz == pytest.approx(2 / 6 * (6 / 27) / (6 / 27 + of_two))
    assert found.measures[Measure.SINGLED_OUT] == pytest.approx(2 / 6)
    assert found.measures[Measure.SINGLED_OUT_POPULATION] == fact.worst.population_share == fact.population_share
    assert SINGLING_OUT.measures(candidate(tiny_request(tmp_path, SAFE_HARBOR, UNSTATED))) == found.measures


def test_a_column_that_nobody_knows_is_left_out(tmp_path: Path) -> None:
    fact = assessed(tmp_path, changed("attributes", "diagnosis", "known_probability", to=0)).fact
    assert (fact.known, fact.presumed, fact.singled_out) == (("zip", "age", "sex"), (), 1)
    fact = assessed(tmp_path, changed("attributes", "diagnosis", "known_probability", to=1e-6)).fact
    assert (fact.presumed, fact.singled_out) == ((), 2)


def test_fewer_columns_single_out_fewer_records(tmp_path: Path) -> None:
    fact = assessed(tmp_path, terms(columns=1)).fact
    assert (fact.singled_out, len(fact.by_size)) == (1, 1)
    assert fact.worst is not None
    assert fact.worst.columns == ("age",)


def test_the_policy_may_state_the_sampling_fraction(tmp_path: Path) -> None:
    fact = assessed(tmp_path, terms(sampling_fraction=0.05)).fact
    assert (fact.sampling_fraction, fact.declared_fraction) == (0.05, True)
    assert fact.worst is not None
    assert fact.worst.chosen == "pitman"
    everybody = assessed(tmp_path, terms(sampling_fraction=1)).fact
    assert everybody.worst is not None
    assert everybody.population_share == pytest.approx(everybody.worst.uniques / 6)


@pytest.mark.parametrize("given", [{}, {"sampling_fraction": 0.05}])
def test_where_others_can_know_who_is_in_the_file_it_is_everybody(tmp_path: Path, given: dict[str, object]) -> None:
    """However large the population: both records that are alone by age and diagnosis are found."""
    known = changed("policy", "presence", to="known")
    found = assessed(tmp_path, known, terms(**given))
    assert (found.fact.sampling_fraction, found.fact.declared_fraction, found.fact.known_presence) == (1.0, False, True)
    assert found.measures[Measure.SINGLED_OUT_POPULATION] == pytest.approx(2 / 6)


def test_suppressed_records_are_no_part_of_the_sample(tmp_path: Path) -> None:
    """Classes of two are left: records 1, 2 and 4, and 5 and 6."""
    small = changed("policy", "generalization", "minimum_class_size", to=2)
    fact = assessed(tmp_path, small, terms(sampling_fraction=0.12)).fact
    assert (fact.records, fact.singled_out, fact.sampling_fraction) == (5, 1, pytest.approx(0.1))


def test_nothing_is_known(tmp_path: Path) -> None:
    nobody = [changed("attributes", name, "known_probability", to=0) for name in ("zip", "age", "sex", "diagnosis")]
    found = assessed(tmp_path, *nobody)
    assert found.measures == {Measure.SINGLED_OUT: 0.0, Measure.SINGLED_OUT_POPULATION: 0.0}
    assert (found.fact.worst, found.fact.together, found.fact.by_column) == (None, None, ())


def test_the_records_that_score_highest(tmp_path: Path) -> None:
    first, second = special_records(candidate(tiny_request(tmp_path, SAFE_HARBOR, UNSTATED)), 5)
    assert (first.row, first.score, first.sets, first.more) == (2, 8.0, (("age",), ("zip", "sex")), 0)
    assert (second.row, second.score) == (0, 4.0)
    assert second.sets == (("age", "diagnosis"), ("sex", "diagnosis"))
    assert first.probability > second.probability > 0
    assert first.document()["row"] == 3


def test_the_search_is_of_the_file_that_leaves(tmp_path: Path) -> None:
    """Against the definition, on values as they are released and masked."""
    maskings = (masking("individual-ranking", "income", k=3), masking("additive-noise", "visits", noise=0.5))
    unknown = changed("attributes", "dose", "known_probability", to=0)
    known = [changed("attributes", name, "known_probability", to=1) for name in ("income", "visits")]
    one = candidate(numeric_request(tmp_path, SAFE_HARBOR, UNSTATED, unknown, *known, maskings=maskings))
    request, frame = one.request, one.frame.iloc[one.rows]
    released = pd.DataFrame(index=frame.index)
    for axis, name in enumerate(request.quasi_identifiers):
        cells = one.generalization.cells[one.prepared.tuple_of_record[one.rows], axis]
        released[name] = np.array(one.index.axis_labels[axis])[cells]
    for name in ("diagnosis", "ward"):
        released[name] = frame[name]
    for name in one.masked.names:
        released[name] = one.masked.text(name).to_numpy()[one.rows]
    names = knowable_columns(request)
    assert set(names) == set(released.columns)
    table = [tuple(row) for row in released[list(names)].to_numpy()]
    expected = sum(bool(minimal_sets(table, row, 3)) for row in range(len(table)))
    assert known_tables(one)["as released"].singled_out == expected
    assert SINGLING_OUT.assess(one).fact.as_released == expected


def test_noise_singles_out_nobody_whom_the_originals_would_not(tmp_path: Path) -> None:
    """Noise makes every number of visits unique; as collected few have one of their own."""
    unknown = [changed("attributes", name, "known_probability", to=0) for name in ("income", "dose")]
    visits = changed("attributes", "visits", to={"role": "insensitive", "type": "number"})
    given = [SAFE_HARBOR, *unknown, visits, terms(columns=1)]
    plain = SINGLING_OUT.assess(candidate(numeric_request(tmp_path, *given))).fact
    noise = (masking("additive-noise", "visits", noise=0.5),)
    noisy = SINGLING_OUT.assess(candidate(numeric_request(tmp_path, *given, maskings=noise))).fact
    assert (noisy.masked, noisy.as_released) == ("as collected", noisy.records)
    assert noisy.singled_out == plain.singled_out < plain.records


def test_too_many_sets_are_refused(tmp_path: Path) -> None:
    many = {f"c{number}": {"role": "insensitive"} for number in range(120)}
    rows = pd.DataFrame({"id": ["1", "2"], "zip": "37010", "age": "88", "sex": "F", "diagnosis": "flu"})
    rows = pd.concat([rows, pd.DataFrame({name: ["x", "y"] for name in many})], axis=1)

    def wide(document: dict[str, Any]) -> None:
        document["attributes"] |= many

    one = candidate(tiny_request(tmp_path, SAFE_HARBOR, wide, data=rows.to_csv(index=False)))
    with pytest.raises(ParameterError, match="too many sets of columns"):
        SINGLING_OUT.assess(one)
    with pytest.raises(ParameterError, match="too many sets of columns"):
        check_risk_setting(one.request, one.prepared)
