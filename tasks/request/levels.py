"""Levels of attributes of rows, and the rows that keep them, stated in the file of a request."""

import re
from collections.abc import Mapping

from tasks.request.document import Location
from tasks.request.edit import edited, rewrite
from tasks.request.load import REQUEST, LoadedRequest
from tasks.request.model import ReleaseRequest
from tasks.request.reading import read_bytes

_NUMBER = re.compile(r"\d+")


def state_levels(loaded: LoadedRequest, levels: Mapping[str, int], most_rows: int | None) -> None:
    """Change levels that a request states, of attributes of rows by their names; raises as ``rewrite`` does.

    Every other character of the file stays, unless ``policy.events.most_rows`` changes too.
    """
    lines = read_bytes(loaded.path, REQUEST).decode("utf-8", "replace").splitlines(keepends=True)
    stated = {loaded.document.positions[_place(loaded.request, name)]: level for name, level in levels.items()}
    # The last of a line first, so that the columns of those before it stay.
    for (line, column), level in sorted(stated.items(), reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[: column - 1] + _NUMBER.sub(str(level), text[column - 1 :], count=1)
    text = "".join(lines)
    if most_rows != loaded.request.policy.events.most_rows:
        text = edited(text, {("policy", "events", "most_rows"): most_rows})
    rewrite(loaded.path, text)


def _place(request: ReleaseRequest, name: str) -> Location:
    table = request.table_of(name)
    within: Location = () if table is None else ("tables", table)
    return (*within, "attributes", request.own_name(name), "level")
