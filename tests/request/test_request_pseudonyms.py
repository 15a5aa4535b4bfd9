"""Pseudonyms in a request: what is accepted, what follows from it, and every refusal with place and remedy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tasks.request.model import PseudonymFormat, ReleaseRequest, Role, ValueType

Refused = Callable[[str], RequestError]
RECORD_ID = "  record_id: {role: direct identifier}\n"


@pytest.fixture
def accepted(tmp_path: Path) -> Callable[[str], ReleaseRequest]:
    def accept(text: str) -> ReleaseRequest:
        path = tmp_path / "request.yaml"
        path.write_text(text, encoding="utf-8")
        return load_request(path).request

    return accept


def declared(good: str, *columns: str, record_id: str = "{role: direct identifier}") -> str:
    return good.replace(RECORD_ID, "".join(f"  {one}\n" for one in (f"record_id: {record_id}", *columns)), 1)


def test_the_usual_pseudonyms_are_fresh_uuids(good: str, accepted: Callable[[str], ReleaseRequest]) -> None:
    request = accepted(declared(good, record_id="{role: pseudonym}"))
    column = request.attributes["record_id"]
    assert (column.pseudonyms.format, column.pseudonyms.project) == (PseudonymFormat.UUID, None)
    assert column.treatment == "replaced by a pseudonym (uuid, fresh in this release)"
    assert request.pseudonyms == ("record_id",)
    assert "record_id" not in request.outbound
    assert request.delivered[0] == "record_id"
    assert "record_id" in request.withheld
    assert request.linking == ()


@pytest.mark.parametrize(("form", "kind"), [("uuid", "text"), ("code", "text"), ("integer", "integer")])
def test_the_column_has_the_type_of_its_pseudonyms(
    form: str, kind: str, good: str, accepted: Callable[[str], ReleaseRequest]
) -> None:
    text = declared(
        good, record_id=f"{{role: pseudonym, type: integer, pseudonym: {{format: {form}, project: cohort}}}}"
    )
    column = accepted(text).attributes["record_id"]
    assert column.delivered_type is ValueType(kind)
    assert column.treatment == f"replaced by a pseudonym ({form}, the same in all releases of cohort)"


def test_a_role_is_delivered_where_values_or_pseudonyms_leave() -> None:
    delivered = {Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE, Role.PSEUDONYM, Role.TEXT}
    assert {role for role in Role if role.delivered} == delivered
    assert {role for role in Role if not role.withheld} == delivered - {Role.PSEUDONYM, Role.TEXT}


@pytest.mark.parametrize(
    ("columns", "record_id", "where", "expected"),
    [
        ([], "{role: unreviewed}", "dataset.record_id", "“direct identifier” or “pseudonym”"),
        (
            ["note: {role: insensitive, pseudonym: {format: code}}"],
            None,
            "attributes.note.pseudonym",
            "only a column with the role pseudonym has terms of pseudonyms",
        ),
        (
            ["born: {role: pseudonym, type: date}"],
            None,
            "attributes.born.role",
            "an identifier is text or whole numbers",
        ),
        (["born: {role: pseudonym, safe_harbor: zip}"], None, "attributes.born.role", "no rule of Safe Harbor"),
        (
            [],
            "{role: pseudonym, pseudonym: {format: integer, project: cohort}}",
            "attributes.record_id.pseudonym.format",
            "need whole-number identifiers",
        ),
        (
            ["patient: {role: pseudonym, pseudonym: {project: cohort}}"],
            None,
            "attributes.patient.pseudonym.project",
            "the column by which copies are compared",
        ),
        (
            [
                "patient: {role: pseudonym, pseudonym: {format: code}}",
                "mother: {role: pseudonym, pseudonym: {identifier: patient}}",
            ],
            None,
            "attributes.mother.pseudonym",
            "columns of one identifier have pseudonyms of one format and one project",
        ),
        (["patient: {role: pseudonym, known_probability: 0.1}"], None, "known_probability", "never leave"),
        (["patient: {role: pseudonym, sensitivity: {}}"], None, "sensitivity", "only a sensitive attribute"),
    ],
)
def test_terms_that_do_not_fit_are_refused(
    *, columns: list[str], record_id: str | None, where: str, expected: str, good: str, refused: Refused
) -> None:
    error = refused(declared(good, *columns, record_id=record_id or "{role: direct identifier}"))
    assert where in error.where
    assert expected in str(error.expected)


def test_a_pseudonym_is_not_masked(good: str, refused: Refused) -> None:
    text = declared(good, "patient: {role: pseudonym, type: integer}")
    masking = "masking:\n  - {attributes: [patient], method: rank-swapping, p: 10}\npopulation:"
    error = refused(text.replace("population:", masking, 1))
    assert error.where.endswith("masking[0].attributes[0]")
    assert "“pseudonym”" in str(error.got)
