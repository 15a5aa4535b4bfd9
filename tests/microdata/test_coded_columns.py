"""Columns beside the quasi-identifiers: coded by value, weighed by sensitivity, and only where the score needs them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.combined.assessment import scored_names
from tasks.core.errors import DataError
from tasks.microdata.coded import (
    CodedColumn,
    code_column,
    coded_attributes,
    known_probabilities,
    numbered_column,
    sensitivities,
)
from tasks.request.model import ReleaseRequest, SensitivityWeights
from tests.support.examples import examples
from tests.support.tiny import changed, tiny_document, tiny_prepared, tiny_request

TEXT = pd.StringDtype("pyarrow")


def text(*cells: str | None) -> pd.Series:
    return pd.Series(cells, dtype=TEXT)


def code_columns(frame: pd.DataFrame, request: ReleaseRequest) -> dict[str, CodedColumn]:
    return {name: numbered_column(request, name, *pd.factorize(frame[name])) for name in coded_attributes(request)}


def asked(**attributes: dict[str, Any]) -> ReleaseRequest:
    document = tiny_document()
    document["attributes"] |= attributes
    return ReleaseRequest.model_validate(document)


def test_each_value_has_a_code_and_its_weight_and_a_missing_one_weighs_nothing() -> None:
    weights = SensitivityWeights(attribute=0.5, values={"flu": 0.2, "burn": 1.0}, default=0.8)
    column = code_column(text("flu", None, "cold", "flu", "burn"), weights)
    assert column.weights[column.codes].tolist() == pytest.approx([0.1, 0, 0.4, 0.1, 0.5])
    assert column.codes[1] == len(column.weights) - 1 == 3
    assert column.codes[0] == column.codes[3]
    assert len(set(column.codes.tolist())) == 4


def test_a_column_that_is_not_sensitive_weighs_nothing() -> None:
    column = code_column(text("a", "b"), None)
    assert column.weights.tolist() == [0, 0, 0]
    assert column.codes[0] != column.codes[1]


def test_a_column_without_any_value() -> None:
    column = code_column(text(None, None), SensitivityWeights())
    assert (column.codes.tolist(), column.weights.tolist()) == ([0, 0], [0])


def demanding(kind: str, *cells: str | None) -> tuple[pd.DataFrame, ReleaseRequest]:
    """A request for ordered closeness of a column that nothing else needs."""
    document = tiny_document()
    document["attributes"]["dose"] = {"role": "insensitive", "type": kind}
    demands = {"k": 2, "closeness": [{"attribute": "dose", "t": 0.2, "ordered": True}]}
    document["policy"]["generalization"] = {"k_anonymity": demands}
    frame = pd.DataFrame({"diagnosis": text(*["flu"] * len(cells)), "dose": text(*cells)})
    return frame, ReleaseRequest.model_validate(document)


@pytest.mark.parametrize(
    ("kind", "cells", "codes"),
    [
        ("integer", ["10", None, "9", "-2", "10"], [2, 3, 1, 0, 2]),
        ("number", ["1e1", "9.5", "0.5"], [2, 1, 0]),
        ("date", ["2020-03-01", "2019-12-31", None, "2020-03-01"], [1, 0, 2, 1]),
    ],
)
def test_codes_grow_with_the_values_where_their_order_counts(
    kind: str, cells: list[str | None], codes: list[int]
) -> None:
    column = code_columns(*demanding(kind, *cells))["dose"]
    assert column.codes.tolist() == codes
    assert not column.weights.any()


@pytest.mark.parametrize("kind", ["text", "number", "date"])
def test_a_value_without_a_place_is_refused_by_its_row(kind: str) -> None:
    with pytest.raises(DataError, match="no order") as caught:
        code_columns(*demanding(kind, "2020-01-01" if kind == "date" else "1", None, "secret"))
    assert "column dose" in caught.value.where
    assert "secret" not in str(caught.value.fields())


def test_every_released_column_is_coded_but_enters_the_combined_score_only_if_weighed(
    tmp_path: Path,
) -> None:
    diverse = {"k": 2, "diversity": [{"attribute": "diagnosis", "l": 2}]}
    idle = changed(
        "attributes", "diagnosis", to={"role": "sensitive", "known_probability": 0, "sensitivity": {"attribute": 0}}
    )
    plain = tiny_request(tmp_path, idle)
    assert list(tiny_prepared(plain).columns) == ["diagnosis"]
    loaded = tiny_request(tmp_path, idle, changed("policy", "generalization", "k_anonymity", to=diverse))
    prepared = tiny_prepared(loaded)
    assert prepared.columns["diagnosis"].codes.tolist() == [0, 1, 0, 1, 0, 0]
    assert scored_names(loaded.request, prepared) == scored_names(plain.request, tiny_prepared(plain))


def test_an_empty_text_is_a_value_and_not_a_missing_one() -> None:
    column = code_column(text("", None, ""), SensitivityWeights(values={"": 0.25}))
    assert column.weights[column.codes].tolist() == [0.25, 0, 0.25]


@pytest.mark.parametrize("values", [255, 256, 65_536])
def test_codes_hold_every_value_and_the_missing_one(values: int) -> None:
    column = code_column(text(*map(str, range(values)), None), SensitivityWeights())
    assert column.codes.tolist() == list(range(values + 1))
    assert column.codes.dtype == np.min_scalar_type(values)


CELLS = st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "A", "a ", "☃"])), min_size=1, max_size=12)


@given(
    cells=CELLS, listed=st.dictionaries(st.sampled_from(["", "a", "b", "☃"]), st.floats(0, 1)), whole=st.floats(0, 1)
)
@settings(max_examples=examples(60), deadline=None)
def test_codes_part_the_rows_as_their_cells_do(cells: list[str | None], listed: dict[str, float], whole: float) -> None:
    column = code_column(text(*cells), SensitivityWeights(attribute=whole, values=listed, default=0.5))
    for one, code in zip(cells, column.codes, strict=True):
        assert [one == other for other in cells] == (column.codes == code).tolist()
        assert column.weights[code] == (0 if one is None else whole * listed.get(one, 0.5))
    assert column.codes.max() < len(column.weights)


def test_what_is_not_said_is_known_of_quasi_identifiers_and_of_nothing_else() -> None:
    request = asked(
        ward={"role": "insensitive"},
        room={"role": "insensitive", "known_probability": 0.25},
        genome={"role": "sensitive", "known_probability": 0.0, "sensitivity": {"attribute": 0.3}},
    )
    assert known_probabilities(request) == {
        "zip": 1.0,
        "age": 1.0,
        "sex": 1.0,
        "diagnosis": 0.0,
        "ward": 0.0,
        "room": 0.25,
        "genome": 0.0,
    }
    assert {name: given.attribute for name, given in sensitivities(request).items()} == {"diagnosis": 1, "genome": 0.3}


def test_a_quasi_identifier_may_be_less_than_certainly_known() -> None:
    document = tiny_document()
    document["attributes"]["age"]["known_probability"] = 0.125
    assert known_probabilities(ReleaseRequest.model_validate(document))["age"] == 0.125


@pytest.mark.parametrize(
    ("attribute", "wanted"),
    [
        ({"role": "sensitive"}, True),
        ({"role": "sensitive", "sensitivity": {"attribute": 0}}, True),
        ({"role": "sensitive", "sensitivity": {"attribute": 0}, "known_probability": 0}, True),
        ({"role": "sensitive", "sensitivity": {"attribute": 0}, "known_probability": 0.1}, True),
        ({"role": "sensitive", "sensitivity": {"values": {"x": 0}, "default": 0}}, True),
        ({"role": "insensitive"}, True),
        ({"role": "insensitive", "known_probability": 0}, True),
        ({"role": "insensitive", "known_probability": 0.5}, True),
        ({"role": "direct identifier"}, False),
        ({"role": "unreviewed"}, False),
    ],
)
def test_a_column_is_coded_where_it_is_released(attribute: dict[str, Any], wanted: bool) -> None:
    request = asked(further=attribute)
    frame = pd.DataFrame({name: text("88", "89") for name in request.attributes})
    columns = code_columns(frame, request)
    assert list(columns) == ["diagnosis", *(["further"] if wanted else [])]
    weight = 1.0 if attribute == {"role": "sensitive"} else 0.0
    assert not wanted or columns["further"].weights.tolist() == [weight, weight, 0]


def test_columns_come_in_the_order_of_the_request() -> None:
    request = asked(b={"role": "insensitive", "known_probability": 1}, a={"role": "sensitive"})
    frame = pd.DataFrame({name: text("x") for name in reversed(request.attributes)})
    assert list(code_columns(frame, request)) == ["diagnosis", "b", "a"]
