"""A draft for one table, and one filled in by somebody who changes nothing else."""

import re

import pandas as pd

from tasks.draft.draft import Draft, Source, draft_file, profiled
from tasks.request.file_form import FileForm

ANSWERS = {
    "title": "A release",
    "requested_by": "a.steward",
    "source": "a register",
    "path": "population.csv",
    "id": "a-1",
    "organisation": "A University",
    "purpose": "research",
    "expires": "2040-01-01",
    "count": "people",
    "record_id": "row",
    "known_probability": "0",
    "at_most": "0.5",
    "because": "the board accepts it",
}


def filled(text: str) -> str:
    """The draft with an answer wherever it asks for one."""
    text = re.sub(r'\b(\w+): "\?"', lambda m: f"{m[1]}: {ANSWERS[m[1]]}", text)
    return re.sub(
        r"^( *(?:- )?)(\w+):( +# fill in: .*)$", lambda m: f"{m[1]}{m[2]}: {ANSWERS[m[2]]}{m[3]}", text, flags=re.M
    )


def draft_request(
    frame: pd.DataFrame,
    data_path: str,
    *,
    population: pd.DataFrame | None = None,
    population_path: str = "",
    form: FileForm | None = None,
) -> Draft:
    """Draft a request for a table, whose population counts people by attribute values."""
    people = None if population is None else Source(population_path, population)
    return draft_file(profiled(Source(data_path, frame, form)), people)
