"""Reading a YAML 1.2 document into plain values, with the line and column of every one of them.

Nothing here knows what a request is; ``tasks.request.load`` checks the values and ``tasks.request.explain`` puts
mistakes into words. No text of the document is part of a mistake found here, since it may hold data values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Location = tuple[str | int, ...]
Position = tuple[int, int]

MAXIMUM_BYTES = 1_000_000
_MAXIMUM_NODES = 200_000
_MAXIMUM_DEPTH = 32
_MAXIMUM_DIGITS = 40
_TAG = "tag:yaml.org,2002:"
_AS_WRITTEN = {_TAG + "str", _TAG + "timestamp"}
_AS_TYPED = {_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"}
_SYNTAX = (
    ("\\t", "a tab where YAML wants spaces", "indent with spaces"),
    ("mapping values are not allowed", "a second “: ” on one line", "put the text in quotes, or begin a new line"),
    ("undefined alias", "an alias (*) without its anchor (&)", "define the anchor first, or put the text in quotes"),
    ("another document", "a second document", "keep one document a file"),
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
    """Line and column, where the location alone does not tell."""
    at_key: bool = False
    """Whether the key is meant and not its value."""


@dataclass(frozen=True)
class Document:
    """The values of a document, where each stands, and what is wrong with it as YAML."""

    data: Any
    positions: Mapping[Location, Position]
    keys: Mapping[Location, Position]
    mistakes: tuple[Mistake, ...]

    def position(self, mistake: Mistake) -> Position:
        """Line and column of a mistake, or of the nearest part around it that the document has."""
        location = mistake.location
        if mistake.position is not None:
            return mistake.position
        if mistake.at_key and location in self.keys:
            return self.keys[location]
        while location not in self.positions:
            if not location:
                return (1, 1)
            location = location[:-1]
        return self.positions[location]


NOTHING = Document(None, {}, {}, ())
"""A document without a value."""


class NotYaml(Exception):
    """The text cannot be read as one YAML document; ``mistake`` says why."""

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
    yaml = YAML(typ="safe", pure=True)
    try:
        root = yaml.compose(text)
    except MarkedYAMLError as error:
        raise NotYaml(_syntax_mistake(error)) from None
    except YAMLError:
        raise NotYaml(
            Mistake((), "not a YAML document", "printable text", "a control character", "remove it")
        ) from None
    except RecursionError:
        raise NotYaml(_too_deep()) from None
    if root is None:
        return NOTHING
    if yaml.resolver.processing_version < (1, 2):
        raise NotYaml(
            Mistake((), "wrong version of YAML", "YAML 1.2", "a %YAML line with another", "remove the %YAML line")
        )
    builder = _Builder(yaml.constructor)
    data = builder.build(root, (), root)
    return Document(data, builder.positions, builder.keys, tuple(builder.mistakes))


def _syntax_mistake(error: MarkedYAMLError) -> Mistake:
    told = f"{error.problem} {error.context}"
    got, fix = next(
        ((got, fix) for sign, got, fix in _SYNTAX if sign in told),
        ("something else", "compare the line and those above it with an example request"),
    )
    mark = error.problem_mark
    position = None if mark is None else (mark.line + 1, mark.column + 1)
    return Mistake((), "not a YAML document", "well-formed YAML", got, fix, position)


def _too_deep() -> Mistake:
    return Mistake(
        (), "nested too deeply", f"at most {_MAXIMUM_DEPTH} levels", "more", "write the request without such nesting"
    )


@dataclass
class _Builder:
    """Turns the node graph into plain values, an alias into a copy of what it stands for."""

    constructor: Any
    positions: dict[Location, Position] = field(default_factory=dict)
    keys: dict[Location, Position] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    nodes: int = 0

    def build(self, node: Node, location: Location, key: Node) -> Any:
        self.nodes += 1
        if self.nodes > _MAXIMUM_NODES:
            raise NotYaml(
                Mistake((), "too many values", f"at most {_MAXIMUM_NODES:,}", "more", "write out fewer aliases (*)")
            )
        if len(location) > _MAXIMUM_DEPTH:
            raise NotYaml(_too_deep())
        written = isinstance(node, ScalarNode) and (node.value or node.style)
        self.keys[location] = _position(key)
        self.positions[location] = _position(node if written else key)
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, location)
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            return [self.build(item, (*location, index), item) for index, item in enumerate(node.value)]
        if isinstance(node, ScalarNode):
            return self._scalar(node, location)
        return self._refuse_tag(node, location)

    def _mapping(self, node: MappingNode, location: Location) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                self._note(
                    key,
                    location,
                    what="a merge key",
                    expected="YAML 1.2, which has none",
                    got="<<",
                    fix="write the keys out, or take an alias for the whole part",
                )
            elif key.tag not in _AS_WRITTEN:
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
                result[key.value] = self.build(value, (*location, key.value), key)
        return result

    def _scalar(self, node: ScalarNode, location: Location) -> Any:
        if node.tag in _AS_WRITTEN:
            return node.value if self._is_text(node, location) else None
        if node.tag not in _AS_TYPED:
            return self._refuse_tag(node, location)
        if len(node.value) <= _MAXIMUM_DIGITS:
            try:
                return self.constructor.construct_object(node)
            except (ValueError, KeyError, YAMLError):
                pass
        return self._note(
            node,
            location,
            what="not a readable number",
            expected="a number of ordinary length",
            got="another form",
            fix="write it in plain digits",
        )

    def _is_text(self, node: ScalarNode, location: Location) -> bool:
        try:
            node.value.encode()
        except UnicodeEncodeError:
            self._note(
                node,
                location,
                what="not valid Unicode",
                expected="whole characters",
                got="half of a surrogate pair",
                fix="correct the escape",
            )
            return False
        return True

    def _refuse_tag(self, node: Node, location: Location) -> None:
        self._note(node, location, what="a tag", expected="plain YAML", got="a value with “!”", fix="remove the tag")

    def _note(self, node: Node, location: Location, *, what: str, expected: str, got: str, fix: str) -> None:
        self.mistakes.append(Mistake(location, what, expected, got, fix, _position(node)))


def _position(node: Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1
