"""Columns of free text in a request: what is accepted, what follows from it, and each refusal with its place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tasks.request.model import Role, ValueType

Refused = Callable[[str], RequestError]
RECORD_ID = "  record_id: {role: direct identifier}\n"
LIMITED = ("{measure: text.missed, at_most: 0.05, because: a}", "{measure: text.residual, at_most: 1, because: b}")


REVIEW = "  review: {required: 1, reviewers: [R. Reader]}\n"


def declared(good: str, column: str, gates: tuple[str, ...] = LIMITED) -> str:
    """A request with a column, and gates beside the one that every policy needs."""
    noted = good.replace(RECORD_ID, f"{RECORD_ID}  note: {column}\n", 1)
    return noted + "".join(f"    - {one}\n" for one in gates) + REVIEW


TEXT = "{role: text, text: {language: en}}"


def test_text_is_delivered_and_is_none_of_the_values_that_leave(good: str, tmp_path: Path) -> None:
    path = tmp_path / "request.yaml"
    path.write_text(declared(good, TEXT), encoding="utf-8")
    request = load_request(path).request
    assert request.texts == ("note",)
    assert "note" in request.delivered
    assert "note" in request.withheld
    assert "note" not in (*request.outbound, *request.released)
    column = request.attributes["note"]
    assert (column.treatment, column.delivered_type, column.language) == ("redacted", ValueType.TEXT, "en")
    assert Role.TEXT.delivered
    assert Role.TEXT.withheld


@pytest.mark.parametrize(
    ("column", "gates", "where", "expected"),
    [
        ("{role: text}", LIMITED, "attributes.note.text", "if and only if its role is text"),
        ("{role: insensitive, text: {language: en}}", LIMITED, "attributes.note.text", "if and only if"),
        ("{role: text, text: {language: de}}", LIMITED, "attributes.note.text.language", "measured (en)"),
        ("{role: text, type: integer, text: {language: en}}", LIMITED, "attributes.note.role", "type text"),
        ("{role: text, scan: false, text: {language: en}}", LIMITED, "attributes.note.role", "always scanned"),
        ("{role: text, allowed_values: [a], text: {language: en}}", LIMITED, "attributes.note.role", "list of values"),
        (TEXT, LIMITED[:1], "policy.gates", "only under gates on text.missed and text.residual"),
        (TEXT, (), "policy.gates", "only under gates"),
    ],
)
def test_terms_that_do_not_fit_are_refused(
    *, column: str, gates: tuple[str, ...], where: str, expected: str, good: str, refused: Refused
) -> None:
    error = refused(declared(good, column, gates))
    assert where in error.where
    assert expected in str(error.expected)


def test_text_leaves_after_review_alone(good: str, refused: Refused) -> None:
    error = refused(declared(good, TEXT).replace("required: 1", "required: 0"))
    assert error.where.endswith("policy.review.required")
    assert "only after reviewers have judged it" in str(error.expected)


def test_there_are_no_decoys_beside_text(good: str, refused: Refused) -> None:
    text = declared(good, TEXT).replace("recipients:\n  - id:", "recipients:\n  - decoys: {classes: 20}\n    id:", 1)
    error = refused(text)
    assert error.where.endswith("recipients[0].decoys")
    assert "beside the column note" in str(error.got)
