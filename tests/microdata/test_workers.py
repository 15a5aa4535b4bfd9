"""What workers of a Dask cluster are asked to do: on these bytes by this program, with the same result as here."""

import sys
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.core.errors import BadInput, DataError, ReleasegateError, StageCrashed
from tasks.core.files import file_sha256
from tasks.microdata import workers as by_dask
from tasks.microdata.build import build_hierarchies
from tasks.microdata.coded_frame import by_columns, read_coded
from tasks.microdata.parts import PartCoder, pieces
from tasks.microdata.read import no_records, read_population
from tasks.microdata.workers import Refusal, WorkOrder, connect, done, follow, shares
from tasks.request.load import LoadedRequest, load_request, named_files, take_snapshot
from tasks.validation.run import Judged, judge, validate
from tests.microdata.test_counting import drawn, in_pieces, odd_request
from tests.support.silence import CANARY, assert_silent


def order_of(loaded: LoadedRequest, *, path: Path | None = None, **changes: Any) -> WorkOrder:
    file = loaded.base / "data.parquet"
    values, _ = read_population(loaded.base / "population.csv", loaded.request.population, ("zip", "age", "sex"))
    (piece,) = pieces(file, loaded.request)
    names = changes.pop("names", ("zip", "age", "sex", "diagnosis"))
    coder = PartCoder(path or file, names, ("diagnosis",), ("?",), build_hierarchies(loaded, values))
    order = WorkOrder(partial(coder.code, piece), coder.path, file_sha256(file), by_dask.program())
    return replace(order, **changes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sha256": "0" * 64}, "bytes"),
        ({"path": Path("/absent.parquet")}, "bytes"),
        ({"program": "1" * 64}, "program"),
        ({"names": ("zip", "age")}, "KeyError"),
    ],
)
def test_a_worker_that_sees_another_file_or_has_another_program_refuses(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    assert follow(order_of(odd_request(tmp_path, drawn(30), 30), **changes)) == Refusal(why)


def test_a_refusal_of_one_worker_fails_the_release(
    tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_dask, "file_sha256", lambda *_: "0" * 64)
    with pytest.raises(StageCrashed, match="could not take its part") as caught:
        in_pieces(odd_request(tmp_path, drawn(30), 30), dask=cluster)
    assert "same path" in caught.value.expected


def test_two_workers_read_the_same_cells(tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.microdata.coded_frame.pieces", lambda path, request: pieces(path, request, rows=100))
    loaded = odd_request(tmp_path, drawn(1000), 50)
    here, there = read_coded(loaded), read_coded(loaded, cluster)
    assert there.equals(here)
    assert [list(one.cat.categories) for _, one in there.items()] == [
        list(one.cat.categories) for _, one in here.items()
    ]


@pytest.mark.slow
def test_two_workers_judge_the_same(tmp_path: Path, cluster: str) -> None:
    """Of every check whether it passed, and how often and where it failed."""
    columns = drawn(300)
    columns["diagnosis"][7] = columns["diagnosis"][80] = "jane.doe@example.org"
    columns["age"][41] = 95
    loaded = odd_request(tmp_path, columns, 50)
    loaded.path.write_text(loaded.request.model_dump_json(exclude_unset=True, by_alias=True))
    loaded = load_request(loaded.path)
    hashes = {name: file_sha256(loaded.resolve(relative, name)) for name, relative in named_files(loaded)}
    snapshot = tmp_path / "snapshot"
    sha256 = take_snapshot(loaded, hashes, snapshot)
    names, covered = list(loaded.request.attributes), np.arange(300) % 3 > 0
    assert shares(names, cluster) == [tuple(names[::2]), tuple(names[1::2])]
    found = by_columns(judge, names, snapshot, sha256, cluster)
    judged = reduce(Judged.__or__, found)
    assert sorted(judged.columns) == sorted(names)
    here = validate(read_coded(loaded), loaded.request, covered)
    assert validate(read_coded(loaded), loaded.request, covered, judged=judged) == here
    assert here.positions["email/expect_column_values_to_not_match_regex/diagnosis"] == (7, 80)


@pytest.mark.slow
def test_an_error_of_the_gate_is_raised_here_and_any_other_is_one_word(tmp_path: Path, cluster: str) -> None:
    path = odd_request(tmp_path, drawn(30), 30).base / "data.parquet"
    with pytest.raises(DataError, match="no records") as caught:
        done([partial(refuse, path, known=True)], path, cluster)
    assert_silent(caught.value)
    with pytest.raises(StageCrashed) as caught_other:
        done([partial(refuse, path, known=False)], path, cluster)
    assert caught_other.value.got == "ValueError"
    assert_silent(caught_other.value)


def refuse(path: Path, *, known: bool) -> None:
    """Fails while it holds a value of a record."""
    value = CANARY
    try:
        raise ValueError(f"{value} in {path}")
    except ValueError:
        if known:
            raise no_records(path)  # noqa: B904  what was caught is its context
        raise


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://x", "127.0.0.1:1"])
def test_no_scheduler(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_dask, "_TO_CONNECT", "200ms")
    with pytest.raises(BadInput, match="does not answer") as caught:
        connect(address)
    assert address in caught.value.where


def test_without_the_extra_one_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ReleasegateError, match="needs Dask") as caught:
        connect("tcp://127.0.0.1:1")
    assert "releasegate[dask]" in caught.value.fix
    assert caught.value.exit_code == 2
