"""Further tables of a request, and how their columns are named.

The first table is the dataset; the other tables hold rows of the same persons. Everywhere but in the tables' own files
an attribute of a table is named ``table.column``, and is an attribute of rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from tasks.request.attribute import Attribute, Role
from tasks.request.part import RelativePath, RequestPart, Rule, Text, at_first

if TYPE_CHECKING:
    from tasks.request.model import ReleaseRequest

TABLE_NAME = r"^[a-z][a-z0-9_-]{0,63}$"
TableName = Annotated[str, StringConstraints(pattern=TABLE_NAME)]


class RowAttribute(Attribute):
    """One column of a table of rows."""

    of: Literal["row"] = Field(default="row", description="Attributes of a table are of rows.")


class FurtherTable(RequestPart):
    """A table of rows of the persons of the dataset."""

    path: RelativePath = Field(description="File, with the dataset's delimiter, encoding and missing cells.")
    title: Text | None = Field(default=None, description="Title of the table, for the reports.")
    key: Text | None = Field(
        default=None, description="Column that names each row once; needed if another table is within this one."
    )
    within: TableName | None = Field(
        default=None,
        description="Earlier table to whose rows these belong, by that table's key; with an empty cell, to the person "
        "alone.",
    )
    attributes: dict[Text, RowAttribute] = Field(
        min_length=1,
        description="Columns of the table, all of rows, without dataset.person and the key of the table that "
        "it is within.",
    )

    rules: ClassVar[tuple[Rule["FurtherTable"], ...]] = (
        Rule(
            "the key of a table is one of its attributes, with the role “direct identifier” or “pseudonym”",
            lambda one: (
                one.key is not None
                and (one.key not in one.attributes or one.attributes[one.key].role not in (Role.DIRECT, Role.PSEUDONYM))
            ),
            "key",
            got=lambda one: (
                f"the role “{one.attributes[one.key].role.value}”"
                if one.key in one.attributes
                else "a name that is not among the table's attributes"
            ),
            fix="name the column that numbers the rows and give it that role",
        ),
    )


def qualified(table: str, column: str) -> str:
    """Name of a table's column outside the table."""
    return f"{table}.{column}"


def attributes_of(tables: Mapping[str, FurtherTable]) -> Iterator[tuple[str, Attribute]]:
    """The attributes of tables by their qualified names; what they name in their own table is qualified too."""
    for table, one in tables.items():
        for column, attribute in one.attributes.items():
            yield qualified(table, column), _with_qualified_terms(attribute, table, one)


def _with_qualified_terms(attribute: Attribute, table: str, one: FurtherTable) -> Attribute:
    terms = attribute.date
    if terms is None:
        return attribute
    names = {key: getattr(terms, key) for key in ("relative_to", "age")}
    own = {key: qualified(table, name) for key, name in names.items() if name in one.attributes}
    return attribute.model_copy(update={"date": terms.model_copy(update=own)}) if own else attribute


def named_as_of_table(attributes: Iterable[str], tables: Iterable[str]) -> str | None:
    """Place of the first attribute of the dataset whose name would make it a column of a table."""
    starts = tuple(qualified(table, "") for table in tables)
    return next((f"attributes.{name}" for name in attributes if name.startswith(starts)), None)


def table_rules() -> "tuple[Rule[ReleaseRequest], ...]":
    """Rules that relate the tables of a request to each other and to the dataset."""
    return (
        Rule(
            "where there are tables, dataset.person names the column of the person, which every table has",
            lambda one: bool(one.tables) and one.dataset.person is None,
            "dataset.person",
            fix="name the column of the person there",
        ),
        Rule(
            "the rows of a table are within an earlier table that has a key",
            at_first("within", _no_parent, "tables"),
            got="a name that is not that of an earlier table with a key",
            fix="list the table before, and name its key column under “key”",
        ),
        Rule(
            "the column of the person and the key of another table are declared once, where they are the key",
            _declared_again,
            got="the column again",
            fix="remove it here; it is treated as declared there, in all tables that have it",
        ),
        Rule(
            "at least one of a table's own columns is released",
            at_first("attributes", _nothing_leaves, "tables"),
            got="columns that are all withheld",
            fix="correct their roles, or leave the table out",
        ),
        Rule(
            "every table is a file of its own",
            at_first("path", _same_file, "tables"),
            got="the file of another table, of the population or of the register",
            fix="name the table's own file",
        ),
    )


def _no_parent(request: "ReleaseRequest", name: str) -> bool:
    names, parent = list(request.tables), request.tables[name].within
    return parent is not None and (parent not in names[: names.index(name)] or request.tables[parent].key is None)


def _declared_again(request: "ReleaseRequest") -> str | None:
    for name, table in request.tables.items():
        parent = request.tables.get(table.within or "")
        keys = {request.dataset.person, None if parent is None else parent.key}
        again = next((column for column in table.attributes if column in keys), None)
        if again is not None:
            return f"tables.{name}.attributes.{again}"
    return None


def _nothing_leaves(request: "ReleaseRequest", name: str) -> bool:
    return not any(one.role.delivered for one in request.tables[name].attributes.values())


def _same_file(request: "ReleaseRequest", name: str) -> bool:
    register = request.external_data
    others = [request.dataset.path, request.population.path, None if register is None else register.path]
    for table in request.tables:
        if table == name:
            break
        others.append(request.tables[table].path)
    path = PurePosixPath(request.tables[name].path)
    return any(other is not None and PurePosixPath(other) == path for other in others)
