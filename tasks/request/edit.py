"""Changes to the text of a request that keep its comments, its order and its style."""

import io
import re
import stat
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from tasks.core.errors import RequestError, system_refusal
from tasks.core.files import write_whole
from tasks.request.document import Location, NotYaml, read_document

_BLANK = "# fill in"
_WITHIN = re.compile(r"^( +[^\s#][^#\n]*: \{[^#\n]*,) (# [^\n]*)\n +([^#\n]*\})$", re.MULTILINE)
"""A mapping in braces on two lines, with a comment behind the first, as drafts have it."""
_WIDEST = 1_000_000


def edited(text: str, changes: Mapping[Location, Any]) -> str:
    """A document with some of its values changed.

    Parameters
    ----------
    text : str
        A YAML document, whose root is a mapping.
    changes : mapping
        New value of each place, plain values alone; None removes the key or the item. Mappings on the way that are
        missing are made. The index after the last item of a list appends one. Of several changes those of one list's
        items must not remove an item before another that is changed.

    Returns
    -------
    str
        The document; a comment “# fill in …” beside a value that was filled in is gone.

    Raises
    ------
    RequestError
        If the text is not such a document, or a place lies within a single value.
    """
    yaml = YAML()
    yaml.width, yaml.preserve_quotes = _WIDEST, True
    yaml.indent(mapping=2, sequence=4, offset=2)
    try:
        root = yaml.load(_reasons_last(text))
        for location, value in changes.items():
            set_value(root, location, value)
        written = io.StringIO()
        yaml.dump(root, written)
    except (YAMLError, TypeError, LookupError, AttributeError):
        raise RequestError(
            "the request cannot be changed here",
            where="the document",
            expected="YAML whose parts are mappings and lists where a request has them",
            got="a document of a different form",
            fix="correct it as text first",
        ) from None
    return written.getvalue()


def rewrite(path: Path, text: str) -> None:
    """Put a document in place of the one in a file, whose mode stays; WorkspaceError if it cannot be written."""
    with system_refusal(
        "the request cannot be written",
        where=path.name,
        expected="a file that you may write",
        fix="check its permissions and the room on the disk",
    ):
        mode = stat.S_IMODE(path.stat().st_mode)
        write_whole(path, text.encode())
        path.chmod(mode)


def reasons(text: str) -> dict[str, str]:
    """The comment above or beside each attribute of the dataset, as ``releasegate init`` writes it."""
    text = _reasons_last(text)
    try:
        attributes = YAML().load(text)["attributes"]
    except (YAMLError, TypeError, LookupError):
        return {}
    if not isinstance(attributes, CommentedMap):
        return {}
    lines = text.splitlines()
    words = {str(name): _above(lines, *attributes.lc.key(name)) or _comment(attributes, name) for name in attributes}
    return {name: one for name, one in words.items() if one}


def _above(lines: Sequence[str], line: int, column: int) -> str:
    """The comment on the lines above a key that begin where the key does."""
    start = f"{' ' * column}#"
    first = next((place for place in range(line, 0, -1) if not lines[place - 1].startswith(start)), 0)
    return " ".join(one.removeprefix(start).strip() for one in lines[first:line])


def _reasons_last(text: str) -> str:
    """The same document in which reasons within a mapping in braces stand behind it: ruamel would lose them there."""
    moved = _WITHIN.sub(r"\1 \3 \2", text)
    try:
        return moved if moved != text and read_document(moved).data == read_document(text).data else text
    except NotYaml:
        return text


def _comment(mapping: CommentedMap, key: object) -> str:
    tokens = mapping.ca.items.get(key) or ()
    beside = next((token for token in tokens if hasattr(token, "value")), None)
    line = "" if beside is None else str(beside.value).partition("\n")[0]
    return line.removeprefix("#").strip()


def set_value(node: Any, location: Location, value: Any) -> None:
    """Change a value inside mappings and lists, as ``edited`` does; LookupError or TypeError for no such place."""
    *way, last = location
    for step in way:
        if isinstance(node, MutableMapping) and node.get(step) is None:
            node[step] = CommentedMap()
        _move_up(node, step)
        node = node[step]
    if isinstance(node, MutableSequence):
        if value is None:
            del node[int(last)]
        elif last == len(node):
            node.append(value)
        else:
            node[int(last)] = value
    elif not isinstance(node, MutableMapping):
        raise TypeError("a place within a single value")
    elif value is None:
        node.pop(last, None)
    else:
        node[last] = value
        _forget_blank(node, last)


def _move_up(node: Any, key: object) -> None:
    """Let a comment stand right behind its value, which may become shorter."""
    tokens = node.ca.items.get(key) if isinstance(node, CommentedMap) and node[key] is not None else None
    for token in tokens or ():
        if hasattr(token, "column"):
            token.start_mark.column = 0


def _forget_blank(mapping: Any, key: object) -> None:
    """Remove the comment that asks for a value, and keep what stands below it."""
    tokens = mapping.ca.items.get(key) if isinstance(mapping, CommentedMap) else None
    for token in tokens or ():
        if hasattr(token, "value") and str(token.value).startswith(_BLANK):
            rest = str(token.value).partition("\n")[2]
            token.value = f"\n{rest}"
