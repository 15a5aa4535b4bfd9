"""Microdata as categories, read a row group at a time, are what the whole file says as text."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.core.errors import DataError
from tasks.microdata.coded_frame import coded_texts, factorized, read_coded
from tasks.microdata.parts import pieces
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.request.load import LoadedRequest
from tasks.validation.readings import arrow
from tasks.validation.run import validate
from tasks.validation.values import encode
from tests.microdata.test_counting import as_columns, drawn, odd_request, records
from tests.support.examples import examples
from tests.support.tiny import tiny_request


def assert_same_cells(loaded: LoadedRequest) -> None:
    coded, text = read_coded(loaded), read_data(loaded)
    assert list(coded) == list(text)
    for name in text:
        assert isinstance(coded[name].dtype, pd.CategoricalDtype), name
        assert arrow(coded[name]).equals(arrow(text[name])), name
        for found, expected in zip(factorized(coded[name]), factorized(text[name]), strict=True):
            assert found.tolist() == expected.tolist(), name
        assert encode(coded[name]).values.equals(encode(text[name]).values), name
        for column in (coded[name], text[name]):
            assert coded_texts(column).dictionary_decode().equals(arrow(text[name])), name


@pytest.mark.slow
@settings(max_examples=examples(40, 6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=records, group=st.integers(1, 9), piece=st.integers(1, 9))
def test_cells_are_those_of_the_text_however_the_file_is_cut(
    rows: list[tuple[Any, ...]],
    group: int,
    piece: int,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut = "tasks.microdata.coded_frame.pieces"
    monkeypatch.setattr(cut, lambda path, request: pieces(path, request, rows=piece))
    assert_same_cells(odd_request(tmp_path_factory.mktemp("odd"), as_columns(rows), group))


@pytest.mark.slow
@settings(max_examples=examples(4, 2), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=records, group=st.integers(1, 9))
def test_validation_finds_in_categories_what_it_finds_in_text(
    rows: list[tuple[Any, ...]], group: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.microdata.coded_frame.pieces", lambda path, request: pieces(path, request, rows=group))
    loaded = odd_request(tmp_path_factory.mktemp("odd"), as_columns(rows), group)
    covered = np.arange(len(rows)) % 3 > 0
    of_categories = validate(read_coded(loaded), loaded.request, covered)
    assert of_categories == validate(read_data(loaded), loaded.request, covered)


def test_a_file_of_text_is_read_as_text(tmp_path: Any) -> None:
    loaded = tiny_request(tmp_path)
    assert read_coded(loaded).equals(read_data(loaded))
    assert len(prepare(loaded, read_coded(loaded)).data) == 5


def test_texts_that_do_not_fit_in_memory_together_are_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = odd_request(tmp_path, drawn(100), 10)
    assert len(read_coded(loaded)) == 100
    monkeypatch.setattr("tasks.microdata.coded_frame.machine_memory", lambda: 50)
    with pytest.raises(DataError, match="too large for the memory"):
        read_coded(loaded)
