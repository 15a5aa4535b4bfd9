"""Levels of attributes of rows, changed in the file of a request; everything else in it stays as it was written."""

import re
from collections.abc import Mapping

from tasks.core.files import written
from tasks.request.load import REQUEST, LoadedRequest
from tasks.request.reading import read_bytes

_NUMBER = re.compile(r"\d+")


def state_levels(loaded: LoadedRequest, levels: Mapping[str, int]) -> None:
    """Change the levels that a request states, of attributes of rows by their names."""
    lines = read_bytes(loaded.path, REQUEST).decode().splitlines(keepends=True)
    stated = {place[-2]: at for place, at in loaded.document.positions.items() if place[-1:] == ("level",)}
    # The last of a line first, so that the columns of those before it stay.
    for (line, column), level in sorted(((stated[name], level) for name, level in levels.items()), reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[: column - 1] + _NUMBER.sub(str(level), text[column - 1 :], count=1)
    with written(loaded.path) as partial:
        partial.write_bytes("".join(lines).encode())
