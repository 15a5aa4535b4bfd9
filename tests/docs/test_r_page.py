"""The page for R: its commands and columns are the program's, of a Parquet file as R's arrow writes it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.cli.output import ExitCode
from tests.support.shared_workers import BRIEFLY, shared_workers
from tests.support.tiny import tiny_document, tiny_request
from tests.support.world import releasegate, releasegate_here

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "r.md").read_text(encoding="utf-8")
BLOCKS = "".join(re.findall(r"^```r\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
CALLS = re.findall(r'gate\(("[^)]*)\)', BLOCKS)


def arguments(call: str) -> list[str]:
    return [one.strip().strip('"') for one in call.split(",")]


def test_brackets_and_quotes_of_every_block_close() -> None:
    assert all(BLOCKS.count(opening) == BLOCKS.count(closing) for opening, closing in ("()", "{}", "[]"))
    assert BLOCKS.count('"') % 2 == 0
    assert 'c(..., "--json")' in BLOCKS


def test_the_commands_give_the_columns_that_the_page_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_request(tmp_path)
    frame = pd.read_csv(tmp_path / "data.csv")
    # What arrow::write_parquet makes of integers, doubles, text and factors.
    table = pa.table(
        {
            "id": pa.array(frame["id"], pa.int32()),
            "zip": pa.array(frame["zip"].astype(str)),
            "age": pa.array(frame["age"], pa.int32()),
            "sex": pa.array(frame["sex"]).dictionary_encode(),
            "diagnosis": pa.array(frame["diagnosis"]),
        }
    )
    pq.write_table(table, tmp_path / "visits.parquet")
    document = tiny_document()
    document["dataset"]["path"] = "visits.parquet"
    (tmp_path / "request.yaml").write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    checked, released = (told(arguments(call), tmp_path) for call in CALLS)
    assert checked["exit_code"] in (ExitCode.APPROVED, ExitCode.BLOCKED)
    assert released["exit_code"] == ExitCode.BLOCKED  # six records are too few
    (columns,) = re.findall(r"recipients\[, c\((.*?)\)\]", BLOCKS)
    assert set(shlex.split(columns.replace(",", " "))) <= released["recipients"][0].keys()
    assert Path(released["bundle"]).is_dir()
    document["recipients"] = []
    (tmp_path / "request.yaml").write_text(json.dumps(document), encoding="utf-8")
    refused = told(arguments(CALLS[0]), tmp_path)
    assert refused["exit_code"] == ExitCode.BAD_INPUT
    named = re.findall(r"`result\$error` has the message, with (.*?)\. If the", PAGE.replace("\n", " "))[0]
    assert set(re.findall(r"`(\w+)`", named)) <= refused["error"].keys()


def told(line: list[str], folder: Path) -> Any:
    line = [str(folder / one) if one in {"request.yaml", "workspace"} else one for one in line]
    if line[0] == "check":
        return json.loads(releasegate_here(*line, "--json").stdout)
    return json.loads(releasegate(*line, "--json", environment=BRIEFLY | shared_workers()).stdout)
