"""A tiny request with its files: three quasi-identifiers whose hierarchies come from three kinds of source.

people      37010  37010  37011  37201  37201  37201
            88 F   89 M   88 F   90 M   91 F   93 M
            3      4      5      6      2      7
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasks.microdata.prepared import Prepared, prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest
from tasks.request.model import ReleaseRequest

Change = Callable[[dict[str, Any]], None]

DATA = """id,zip,age,sex,diagnosis
1,37010,88,F,flu
2,37010,88,F,cold
3,37010,89,M,flu
4,37011,88,F,cold
5,37201,90,M,flu
6,37201,93,M,flu
"""
POPULATION = """zip,age,sex,count
37010,88,F,3
37010,89,M,4
37011,88,F,5
37201,90,M,6
37201,91,F,2
37201,93,M,7
37011,90,F,0
"""


def larger(times: int) -> str:
    """The population with so many times the people, which has room for so many times the records."""
    head, *rows = POPULATION.splitlines()
    return "\n".join([head, *(f"{row[: row.rindex(',')]},{times * int(row[row.rindex(',') + 1 :])}" for row in rows)])


ZIP_HIERARCHY = "37010;370**;*****\n37011;370**;*****\n37201;372**;*****\n"


def tiny_document() -> dict[str, Any]:
    return {
        "schema_version": "releasegate/request/1",
        "title": "Tiny",
        "requested_by": "a.steward",
        "dataset": {"path": "data.csv", "title": "Tiny", "source": "made up", "record_id": "id"},
        "attributes": {
            "id": {"role": "direct identifier"},
            "zip": {
                "role": "quasi-identifier",
                "hierarchy": {"file": "zip.csv"},
                "weight": 2.0,
                "safe_harbor": "zip",
            },
            "age": {
                "role": "quasi-identifier",
                "type": "integer",
                "hierarchy": {"intervals": {"minimum": 88, "maximum": 93, "widths": [2]}},
                "safe_harbor": "age",
            },
            "sex": {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [{"*": ["F", "M"]}]}}},
            "diagnosis": {"role": "sensitive", "known_probability": 0},
        },
        "population": {"path": "population.csv", "source": "made up"},
        "recipients": [
            {
                "id": "university",
                "organisation": "University",
                "purpose": "Research",
                "agreement": {"id": "D-1", "expires": "2030-01-01"},
                "stakes": {"benefit": 90, "loss": 60, "cost": 10},
            }
        ],
        "policy": {
            "id": "test",
            "version": "1",
            "presence": "unknown",
            "generalization": {"adversary": "one-shot"},
        },
    }


def changed(*place: str, to: object) -> Change:
    """A change of one part of the document."""

    def change(document: dict[str, Any]) -> None:
        part = document
        for name in place[:-1]:
            part = part.setdefault(name, {})
        part[place[-1]] = to

    return change


WHOLE_CELLS = changed("policy", "generalization", "method", to="no-attack-partition")
"""Whole cells in place of the remainder classes that the default method makes."""


def tiny_request(folder: Path, *changes: Change, data: str = DATA, population: str = POPULATION) -> LoadedRequest:
    document = tiny_document()
    for change in changes:
        change(document)
    for name, text in (("data.csv", data), ("population.csv", population), ("zip.csv", ZIP_HIERARCHY)):
        (folder / name).write_text(text, encoding="utf-8")
    return LoadedRequest(
        request=ReleaseRequest.model_validate(document),
        path=folder / "request.yaml",
        base=folder.resolve(),
        sha256=hashlib.sha256(b"tiny").hexdigest(),
    )


def tiny_prepared(loaded: LoadedRequest) -> Prepared:
    path = loaded.resolve(loaded.request.dataset.path, "dataset.path")
    return prepare(loaded, read_microdata(path, loaded.request))
