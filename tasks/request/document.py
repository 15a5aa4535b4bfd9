"""YAML 1.2 documents as plain values, with the line and column of each.

Nothing here knows a model; ``tasks.request.form`` checks the values. No text of the document is part of a mistake
found here, since it may hold data values.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import ruamel.yaml
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.nodes import ScalarNode

Location = tuple[str | int, ...]
Position = tuple[int, int]

MAXIMUM_BYTES = 1_000_000
_MAXIMUM_NODES = 200_000
_MAXIMUM_DEPTH = 32
_MAXIMUM_DIGITS = 40
_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
"""Numbers that Python reads as YAML does, and faster."""
_NUMBERS: dict[str, Callable[[str], float]] = {_TAG + "int": int, _TAG + "float": float}
_AS_WRITTEN = {_TAG + "str", _TAG + "timestamp"}
_AS_TYPED = {_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"}
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")
"""Characters that libyaml and ruamel count as line breaks or blanks in different ways."""
_SYNTAX = (
    ("\\t", "a tab where YAML wants spaces", "indent with spaces"),
    ("mapping values are not allowed", "a second “: ” on one line", "put the text in quotes, or begin a new line"),
    ("quoted scalar", "a quote that is not closed", "close the quote"),
    ("could not find expected ':'", "a key without “:”", "write “key: value”, indented like its neighbours"),
    ("cannot start any token", "a character that YAML reserves", "put the text in quotes"),
    ("<block end>", "an indentation that fits no line above", "align the line with its neighbours"),
    ("flow sequence", "a “[” that is not closed", "close the bracket and separate items by commas"),
    ("flow mapping", "a “{” that is not closed", "close the brace and separate items by commas"),
    ("incompatible YAML document", "a version other than YAML 1.2", "remove the %YAML line"),
)


@dataclass(frozen=True)
class Mistake:
    """Something wrong at a place of the document."""

    location: Location
    what: str
    expected: str
    got: str
    fix: str
    position: Position | None = None
    """Line and column, where they do not follow from the location."""
    at_key: bool = False
    """Whether the mistake is in the key, not in its value."""


@dataclass(frozen=True)
class Document:
    """The values of a document, their positions, and its mistakes as YAML."""

    data: Any
    positions: Mapping[Location, Position]
    keys: Mapping[Location, Position]
    mistakes: tuple[Mistake, ...]

    def position(self, mistake: Mistake) -> Position:
        """Line and column of a mistake."""
        if mistake.position is not None:
            return mistake.position
        if mistake.at_key and mistake.location in self.keys:
            return self.keys[mistake.location]
        return self.position_of(mistake.location)

    def position_of(self, location: Location) -> Position:
        """Line and column of a place, or of the nearest part around it that the document has."""
        while location not in self.positions:
            if not location:
                return (1, 1)
            location = location[:-1]
        return self.positions[location]


NOTHING = Document(None, {}, {}, ())
"""A document without a value."""


class NotYaml(Exception):
    """The text cannot be read as one YAML document; ``mistake`` gives the reason."""

    def __init__(self, mistake: Mistake) -> None:
        self.mistake = mistake
        super().__init__(mistake.what)


def read_document(text: str) -> Document:
    """Read one YAML 1.2 document.

    Dates keep the form they are written in. Keys that occur twice or are not text, tags, and YAML 1.1 merges
    become mistakes of the document, beside whatever else is wrong with it.

    Parameters
    ----------
    text : str
        The document.

    Returns
    -------
    Document
        Values as dict, list, str, int, float, bool and None.

    Raises
    ------
    NotYaml
        If the text is not YAML, or is nested or repeated (aliases) past any use in a request.
    """
    try:
        root = _parsed(text)
    except MarkedYAMLError as error:
        raise NotYaml(_syntax_mistake(error)) from None
    except YAMLError:
        raise NotYaml(
            Mistake((), "not a YAML document", "printable text", "a control character", "remove it")
        ) from None
    if root is None:
        return NOTHING
    builder = _Builder()
    data = builder.build(root, (), root.event)
    return Document(data, builder.positions, builder.keys, tuple(builder.mistakes))


@dataclass
class _Node:
    """A value of the document; the same for an alias and its anchor."""

    event: ScalarEvent | CollectionStartEvent
    parts: list["_Node"] = field(default_factory=list)
    """Items of a list, keys and values of a mapping."""


def _parsed(text: str) -> _Node | None:
    """The document by libyaml, which is fast; by ruamel itself where libyaml finds a fault or may differ."""
    by_libyaml = getattr(ruamel.yaml, "CParser", None)
    if by_libyaml is not None and not _OTHER_BREAKS.search(text):
        try:
            return _root(_until_end(by_libyaml(text).get_event))
        except YAMLError:
            pass
    return _root(YAML(typ="safe", pure=True).parse(text))


def _until_end(next_event: Callable[[], Event]) -> Iterator[Event]:
    while not isinstance(event := next_event(), StreamEndEvent):
        yield event


def _root(events: Iterable[Event]) -> _Node | None:
    """The only value of a stream of events; None where it has none."""
    root = None
    anchors: dict[str, _Node] = {}
    around: list[_Node] = []
    for count, event in enumerate(events):
        if isinstance(event, CollectionEndEvent):
            around.pop()
        elif isinstance(event, DocumentStartEvent):
            if root is not None:
                raise _not_yaml(event, "a second document", "keep one document a file")
            if event.version is not None and tuple(event.version) < (1, 2):
                raise NotYaml(
                    Mistake((), "wrong version of YAML", "YAML 1.2", "a %YAML line with 1.1", "remove the %YAML line")
                )
        elif isinstance(event, NodeEvent):
            node = _node(event, anchors)
            if around:
                around[-1].parts.append(node)
            else:
                root = node
            if isinstance(event, CollectionStartEvent):
                around.append(node)
        if len(around) > _MAXIMUM_DEPTH + 1:
            raise _too_deep()
        if count > 3 * _MAXIMUM_NODES:
            raise _too_many()
    return root


def _node(event: NodeEvent, anchors: dict[str, _Node]) -> _Node:
    if isinstance(event, ScalarEvent | CollectionStartEvent):
        node = _Node(event)
        if event.anchor is not None:
            anchors[event.anchor] = node
        return node
    if event.anchor not in anchors:
        fix = "define the anchor first, or put the text in quotes"
        raise _not_yaml(event, "an alias (*) without its anchor (&)", fix)
    return anchors[event.anchor]


def _not_yaml(event: Event, got: str, fix: str) -> NotYaml:
    return NotYaml(Mistake((), "not a YAML document", "well-formed YAML", got, fix, _position(event)))


def _syntax_mistake(error: MarkedYAMLError) -> Mistake:
    message = f"{error.problem} {error.context}"
    got, fix = next(
        ((got, fix) for sign, got, fix in _SYNTAX if sign in message),
        ("text that YAML does not allow there", "compare the line and those above it with an example request"),
    )
    mark = error.problem_mark
    position = None if mark is None else (mark.line + 1, mark.column + 1)
    return Mistake((), "not a YAML document", "well-formed YAML", got, fix, position)


def _too_deep() -> NotYaml:
    return NotYaml(
        Mistake(
            (),
            "nested too deeply",
            f"at most {_MAXIMUM_DEPTH} levels",
            "more levels",
            "write the request without such nesting",
        )
    )


def _too_many() -> NotYaml:
    return NotYaml(
        Mistake((), "too many values", f"at most {_MAXIMUM_NODES:,}", "more values", "write out fewer aliases (*)")
    )


@dataclass
class _Builder:
    """Turns nodes into plain values, an alias into a copy of what it stands for."""

    positions: dict[Location, Position] = field(default_factory=dict)
    keys: dict[Location, Position] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    nodes: int = 0
    yaml: YAML = field(default_factory=lambda: YAML(typ="safe", pure=True))

    def __post_init__(self) -> None:
        self.patterns: Mapping[str, list[tuple[str, re.Pattern[str]]]] = self.yaml.resolver.versioned_resolver
        """Tags that YAML 1.2 gives to scalars without quotes, by first character."""

    def build(self, node: _Node, location: Location, key: Event) -> Any:
        """The value of a node; an item of a list is its own key."""
        event = node.event
        self.nodes += 1
        if self.nodes > _MAXIMUM_NODES:
            raise _too_many()
        if len(location) > _MAXIMUM_DEPTH:
            raise _too_deep()
        written = isinstance(event, ScalarEvent) and (event.value or event.style)
        self.keys[location] = _position(key)
        self.positions[location] = _position(event if written else key)
        if isinstance(event, ScalarEvent):
            return self._scalar(event, location)
        if isinstance(event, MappingStartEvent) and event.tag in (None, "!", _TAG + "map"):
            return self._mapping(node, location)
        if isinstance(event, SequenceStartEvent) and event.tag in (None, "!", _TAG + "seq"):
            return [self.build(item, (*location, index), item.event) for index, item in enumerate(node.parts)]
        return self._refuse_tag(event, location)

    def _mapping(self, node: _Node, location: Location) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in zip(node.parts[::2], node.parts[1::2], strict=True):
            name = self._key(key.event, location, result)
            if name is not None:
                result[name] = self.build(value, (*location, name), key.event)
        return result

    def _key(self, key: Event, location: Location, result: Mapping[str, Any]) -> str | None:
        """The text of a key that can be used; else None, and its mistake is noted."""
        tag = self._tag(key) if isinstance(key, ScalarEvent) else ""
        if tag == _TAG + "merge":
            self._note(
                key,
                location,
                what="a merge key",
                expected="YAML 1.2, which has none",
                got="<<",
                fix="write the keys out, or take an alias for the whole part",
            )
        elif not isinstance(key, ScalarEvent) or tag not in _AS_WRITTEN:
            self._note(
                key,
                location,
                what="a key that is not text",
                expected="text",
                got="a number, true or false, nothing, a list or a mapping",
                fix="put the key in quotes",
            )
        elif key.value in result:
            self._note(
                key,
                (*location, key.value),
                what="a key that occurs twice",
                expected="each key once",
                got="the key again",
                fix="keep one of them",
            )
        elif self._is_text(key, location):
            return str(key.value)
        return None

    def _tag(self, event: ScalarEvent) -> str:
        if event.tag not in (None, "!"):
            return str(event.tag)
        patterns = self.patterns.get(event.value[:1], ()) if event.implicit[0] else ()
        return next((tag for tag, pattern in patterns if pattern.match(event.value)), _TAG + "str")

    def _scalar(self, event: ScalarEvent, location: Location) -> Any:
        tag = self._tag(event)
        if tag in _AS_WRITTEN:
            return event.value if self._is_text(event, location) else None
        if tag not in _AS_TYPED:
            return self._refuse_tag(event, location)
        if len(event.value) <= _MAXIMUM_DIGITS:
            try:
                if tag in _NUMBERS and _DECIMAL.fullmatch(event.value):
                    return _NUMBERS[tag](event.value)
                return self.yaml.constructor.construct_object(ScalarNode(tag, event.value))
            except (ValueError, KeyError, YAMLError):
                pass
        return self._note(
            event,
            location,
            what="not a readable number",
            expected="a number of ordinary length",
            got="a number that is too long or malformed",
            fix="write it in plain digits",
        )

    def _is_text(self, event: ScalarEvent, location: Location) -> bool:
        try:
            event.value.encode()
        except UnicodeEncodeError:
            self._note(
                event,
                location,
                what="not valid Unicode",
                expected="whole characters",
                got="half of a surrogate pair",
                fix="correct the escape",
            )
            return False
        return True

    def _refuse_tag(self, event: Event, location: Location) -> None:
        self._note(event, location, what="a tag", expected="plain YAML", got="a value with “!”", fix="remove the tag")

    def _note(self, event: Event, location: Location, *, what: str, expected: str, got: str, fix: str) -> None:
        self.mistakes.append(Mistake(location, what, expected, got, fix, _position(event)))


def _position(event: Event) -> Position:
    return event.start_mark.line + 1, event.start_mark.column + 1
