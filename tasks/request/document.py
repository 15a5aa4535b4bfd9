"""YAML 1.2 documents as plain values, with the line and column of each.

Nothing here knows a model; ``tasks.request.form`` checks the values. No text of the document is part of a mistake
found here, since it may hold data values.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent, DocumentStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.resolver import VersionedResolver

Location = tuple[str | int, ...]
Position = tuple[int, int]

REQUEST_FILE = "request.yaml"
"""Name of a request in its folder."""
MAXIMUM_BYTES = 1_000_000
_MAXIMUM_NODES = 100_000
_MAXIMUM_DEPTH = 32
_MAXIMUM_DIGITS = 40
_TAG = "tag:yaml.org,2002:"
_AS_WRITTEN = {_TAG + "str", _TAG + "timestamp"}
_INTEGER = _TAG + "int"
_PLAIN_INTEGER = re.compile("[-+]?[0-9]{1,18}")
_AS_TYPED = {_INTEGER, _TAG + "float", _TAG + "bool", _TAG + "null"}
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")
"""Characters that libyaml and ruamel count as line breaks or blanks in different ways."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_SYNTAX = (
    ("\\t", "a tab where YAML wants spaces", "indent with spaces"),
    ("mapping values are not allowed", "a second “: ” on one line", "put the text in quotes, or begin a new line"),
    ("quoted scalar", "a quote that is not closed", "close the quote"),
    ("could not find expected ':'", "a key without “:”", "write “key: value”, indented like its neighbours"),
    ("cannot start any token", "a character that YAML reserves", "put the text in quotes"),
    ("<block end>", "an indentation that fits no line above", "align the line with its neighbours"),
    ("flow sequence", "a “[” that is not closed", "close the bracket and separate items by commas"),
    ("flow mapping", "a “{” that is not closed", "close the brace and separate items by commas"),
    ("undefined alias", "an alias (*) without its anchor (&)", "define the anchor first, or put the text in quotes"),
    ("another document", "a second document", "keep one document a file"),
    ("incompatible YAML document", "a version other than YAML 1.2", "remove the %YAML line"),
)


class OtherwiseWritten(int):
    """A whole number that the document writes in another way than digits alone, such as 007, +7 or 0x7."""


@dataclass(frozen=True)
class Mistake:
    """Something wrong at a place of the document."""

    location: Location
    what: str
    expected: str
    got: str
    fix: str
    position: Position = (1, 1)
    """Line and column."""


@dataclass(frozen=True)
class YamlDocument:
    """The values of a document, their positions, and its mistakes as YAML."""

    data: Any
    positions: Mapping[Location, Position]
    keys: Mapping[Location, Position]
    mistakes: tuple[Mistake, ...]

    def position_of(self, location: Location) -> Position:
        """Line and column of a place, or of the nearest part around it that the document has."""
        while location not in self.positions:
            if not location:
                return (1, 1)
            location = location[:-1]
        return self.positions[location]


_TOO_DEEP = Mistake(
    (), "nested too deeply", f"at most {_MAXIMUM_DEPTH} levels", "more levels", "write the request without such nesting"
)
_TOO_MANY = Mistake((), "too many values", f"at most {_MAXIMUM_NODES:,}", "more values", "write out fewer aliases (*)")
NOTHING = YamlDocument(None, {}, {}, ())
"""A document without a value."""


class NotYaml(Exception):
    """The text cannot be read as one YAML document; ``mistake`` gives the reason."""

    def __init__(self, mistake: Mistake) -> None:
        self.mistake = mistake
        super().__init__(mistake.what)


def read_document(text: str) -> YamlDocument:
    """Read one YAML 1.2 document as dict, list, str, int, float, bool and None; dates stay as they are written.

    Keys that occur twice or are not text, tags, and YAML 1.1 merges become mistakes of the document. Raises NotYaml if
    the text is not YAML, or is nested or repeated (aliases) past any use in a request.
    """
    root = _composed(text)
    if root is None:
        return NOTHING
    builder = _Builder()
    data = builder.build(root, (), root)
    return YamlDocument(data, builder.positions, builder.keys, tuple(builder.mistakes))


def _composed(text: str) -> Node | None:
    """The document by libyaml, which is fast; by ruamel itself where libyaml finds a fault or may differ."""
    if not _OTHER_BREAKS.search(text):
        with suppress(YAMLError):
            return _root(text, pure=False)
    try:
        return _root(text, pure=True)
    except MarkedYAMLError as error:
        message, mark = f"{error.problem} {error.context}", error.problem_mark
        got, fix = next(
            ((got, fix) for sign, got, fix in _SYNTAX if sign in message),
            ("text that YAML does not allow there", "compare the line and those above it with an example request"),
        )
        position = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        raise NotYaml(Mistake((), "not a YAML document", "well-formed YAML", got, fix, position)) from None
    except YAMLError:
        raise NotYaml(
            Mistake((), "not a YAML document", "printable text", "a control character", "remove it")
        ) from None


def _root(text: str, *, pure: bool) -> Node | None:
    """The only value of a document; composed only where its nesting and size are known to be small."""
    depth = 0
    for count, event in enumerate(_yaml(pure).parse(text)):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _MAXIMUM_DEPTH + 1:
            raise NotYaml(_TOO_DEEP)
        if count > 3 * _MAXIMUM_NODES:
            raise NotYaml(_TOO_MANY)
        if isinstance(event, DocumentStartEvent) and event.version and tuple(event.version) < (1, 2):
            raise NotYaml(
                Mistake((), "wrong version of YAML", "YAML 1.2", "a %YAML line with 1.1", "remove the %YAML line")
            )
    root: Node | None = _yaml(pure).compose(text)
    return root


def _yaml(pure: bool) -> YAML:
    yaml = YAML(typ="safe", pure=pure)
    yaml.Resolver = _Resolver
    return yaml


class _Resolver(VersionedResolver):
    """Resolves plain scalars as YAML 1.2 does, whatever version a document names."""

    processing_version = (1, 2)


class _Builder:
    """Turns nodes into plain values, an alias into a copy of what it stands for."""

    def __init__(self) -> None:
        self.positions: dict[Location, Position] = {}
        self.keys: dict[Location, Position] = {}
        self.mistakes: list[Mistake] = []
        self._construct = YAML(typ="safe", pure=True).constructor.construct_object

    def build(self, node: Node, location: Location, key: Node) -> Any:
        """The value of a node; an item of a list is its own key."""
        if len(self.positions) >= _MAXIMUM_NODES:
            raise NotYaml(_TOO_MANY)
        if len(location) > _MAXIMUM_DEPTH:
            raise NotYaml(_TOO_DEEP)
        written = isinstance(node, ScalarNode) and (node.value or node.style)
        self.keys[location] = _position(key)
        self.positions[location] = _position(node if written else key)
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            result: dict[str, Any] = {}
            for name, value in node.value:
                if self._is_key(name, location, result):
                    result[name.value] = self.build(value, (*location, name.value), name)
            return result
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            return [self.build(item, (*location, index), item) for index, item in enumerate(node.value)]
        if node.tag == _INTEGER and _PLAIN_INTEGER.fullmatch(node.value):
            return _as_written(int(node.value), node)
        if node.tag in _AS_TYPED:
            with suppress(ValueError, KeyError, YAMLError):
                if len(node.value) <= _MAXIMUM_DIGITS:
                    return _as_written(self._construct(node), node)
            return self._note(node, location, "number")
        fault = _fault_of_text(node) if node.tag in _AS_WRITTEN else "tag"
        return self._note(node, location, fault) if fault else node.value

    def _is_key(self, key: Node, location: Location, result: Mapping[str, Any]) -> bool:
        """Whether a key can be used; else its mistake is noted."""
        if key.tag not in _AS_WRITTEN:
            fault = {_TAG + "merge": "merge", _INTEGER: "digits"}.get(str(key.tag), "key")
        elif key.value in result:
            location, fault = (*location, key.value), "twice"
        else:
            fault = _fault_of_text(key)
        if fault:
            self._note(key, location, fault)
        return not fault

    def _note(self, node: Node, location: Location, fault: str) -> None:
        self.mistakes.append(Mistake(location, *_FAULTS[fault], _position(node)))


_FAULTS: dict[str, tuple[str, str, str, str]] = {
    "tag": ("a tag", "plain YAML", "a value with “!”", "remove the tag"),
    "number": (
        "not a readable number",
        "a number of ordinary length",
        "a number that is too long or malformed",
        "write it in plain digits",
    ),
    "merge": (
        "a merge key",
        "YAML 1.2, which has none",
        "<<",
        "write the keys out, or take an alias for the whole part",
    ),
    "key": (
        "a key that is not text",
        "text",
        "a number, true or false, nothing, a list or a mapping",
        "put the key in quotes",
    ),
    "digits": (
        "a key that is a number",
        "text",
        "a number",
        "a comma within a number? Write 2000.00 (else put the key in quotes)",
    ),
    "twice": ("a key that occurs twice", "each key once", "the key again", "keep one of them"),
    "surrogate": ("not valid Unicode", "whole characters", "half of a surrogate pair", "correct the escape"),
}
"""Error, expected and actual text, and remedy, by fault of a node."""


def _as_written(value: Any, node: Node) -> Any:
    return OtherwiseWritten(value) if type(value) is int and str(value) != node.value else value


def _fault_of_text(node: Node) -> str:
    return "surrogate" if _SURROGATE.search(node.value) else ""


def _position(node: Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1
