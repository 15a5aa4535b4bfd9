"""Documents as HTML, by Jinja templates that print nothing unformatted: a number or a missing value stops them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateError

from reports.model import numbers
from reports.model.document import Block, Document, digest_text
from reports.model.smallcell import SmallCellRule
from tasks.core.errors import StageFailed
from tasks.core.shipped import shipped

TEMPLATES = shipped("templates")


@cache
def environment(cells: SmallCellRule) -> Environment:
    """The templates with formatters; counts of people and records pass the disclosure rule."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_formatted,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "integer": numbers.integer,
        "percent": numbers.percent,
        "plain": numbers.plain,
        "risk": numbers.risk,
        "day": numbers.day,
        "minute": numbers.minute,
        "short": numbers.short,
        "hash": digest_text,
        "people": cells.count,
        "part": cells.part,
    }
    templates.filters.update(filters)
    return templates


def render(cells: SmallCellRule, template: str, **context: object) -> str:
    """A template filled in."""
    with rendering(template):
        return environment(cells).get_template(template).render(**context)


def document_html(document: Document) -> str:
    """A document as HTML; its charts are referred to as ``asset:<name>.svg``."""
    moment = numbers.utc(document.moment).strftime("%Y-%m-%dT%H:%M:%SZ")
    return render(SmallCellRule(0), "document.html", document=document, moment=moment)


def fragment_html(blocks: Iterable[Block]) -> str:
    """Blocks as HTML within another page, such as a notebook, with charts in place."""
    return render(SmallCellRule(0), "fragment.html", blocks=list(blocks))


@contextmanager
def rendering(where: str) -> Iterator[None]:
    """Turn errors of a report that lacks something, or prints it unformatted, into one ``StageFailed``."""
    try:
        yield
    except (TemplateError, TypeError, AttributeError, LookupError, ArithmeticError, ValueError, RuntimeError) as error:
        raise StageFailed(
            "a report could not be written in full",
            where=where,
            expected="every figure present and formatted",
            got=type(error).__name__,
            fix="render the record with the version of the program that wrote it",
        ) from error


def _formatted(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        raise TypeError("a template printed a value that no formatter had passed")
    return value
