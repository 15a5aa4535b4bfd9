"""Jinja templates that print nothing unformatted: a bare number or a missing value stops the rendering."""

from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateError

from reports import numbers
from reports.pdf import TEMPLATES
from reports.smallcell import SmallCellRule
from reports.treatment import treatment_text
from tasks.core.errors import StageFailed


@cache
def environment(cells: SmallCellRule) -> Environment:
    """The templates with the house's formatters; counts of people and records pass the small-cell rule."""
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
        "plain": numbers.plain,
        "risk": numbers.risk,
        "percent": numbers.percent,
        "amount": numbers.amount,
        "amount_up": numbers.amount_up,
        "day": numbers.day,
        "minute": numbers.minute,
        "short": numbers.short,
        "hash": numbers.breakable,
        "subscripts": numbers.subscripts,
        "treatment": treatment_text,
        "people": cells.count,
        "part": cells.part,
        "share": cells.share,
    }
    templates.filters.update(filters)
    return templates


def render(cells: SmallCellRule, template: str, **context: object) -> str:
    """A template filled in.

    Raises
    ------
    StageFailed
        If the template prints something that is missing or not formatted.
    """
    try:
        return environment(cells).get_template(template).render(**context)
    except (TemplateError, TypeError, AttributeError, LookupError, ArithmeticError, ValueError) as error:
        raise StageFailed(
            "a report template could not be filled in",
            where=template,
            expected="every figure present and formatted",
            got=type(error).__name__,
            fix="render the record with the version of the program that wrote it",
        ) from error


def _formatted(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        raise TypeError("a template printed a value that no formatter had passed")
    return value
