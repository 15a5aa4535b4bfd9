"""The library in pages: versions, differences, uses, and officers who enrol and end enrolments."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.library.catalogue import Library
from flows.library.enrolment import enrol
from flows.library.policies import policy_file
from flows.library.text_difference import compared
from flows.library.texts import LibraryText, checked_text
from flows.workspace.actor import acting_as
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, TamperingFound
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import Event
from tasks.request.model import Policy
from tests.support import records
from tests.support.pages import NOW, OFFICER, PASSPHRASE, PASSWORD, STEWARD, WAITING, Pages, Visitor

TREE = b"1;low;*\n2;low;*\n3;high;*\n"
OTHER_TREE = b"1;low;*\n2;high;*\n3;high;*\n"
TEMPLATE = b"schema_version: releasegate/request/1\ntitle:\n"


def policy(version: str, **terms: Any) -> Policy:
    return Policy.model_validate({"id": "research", "version": version, **terms})


def by_officer(pages: Pages, *items: Any) -> None:
    with acting_as("officer"):
        enrol(pages.workspace, items, OFFICER, clock=pages.time)


def sent(visitor: Visitor, kind: str, data: dict[str, str], file: bytes | None, **more: bytes) -> Any:
    files = {"file": ("handed-in", file)} if file is not None else {}
    files |= {name: (name, content) for name, content in more.items()}
    return visitor.post(
        f"/library/enrol/{kind}",
        visitor.fields(f"/library/enrol/{kind}") | {"password": PASSWORD} | data,
        files=files or None,
    )


def test_versions_stand_side_by_side(pages: Pages) -> None:
    by_officer(pages, policy("1.0"), policy("1.1", small_cell=7))
    visitor = pages.visitor("inspector")
    page = visitor.get("/library").text
    assert "research 1.0" in page
    assert "research 1.1" in page
    assert "/library/enrol/" not in page
    shown = visitor.get("/library/policy/research", params={"version": "1.1", "beside": "1.0"}).text
    assert "Differences of version 1.1 from 1.0" in shown
    assert "<strong>changed</strong>" in shown
    assert '"small_cell": 7' in shown.replace("&#34;", '"')
    assert "End the enrolment" not in shown
    file = visitor.get("/library/policy/research/text", params={"version": "1.0"})
    assert file.content == policy_file(pages.workspace, "research", "1.0").read_bytes()
    assert file.headers["content-disposition"] == "attachment; filename*=UTF-8''research%401.0.yaml"
    assert visitor.get("/library/policy/research", params={"version": "2.0"}).status_code == 404


def test_lines_are_compared_with_some_around_them() -> None:
    before = "\n".join(["a", "b", "c", "d", "e", "f", "g", "h"])
    found = compared(before, before.replace("h", "H\ni"))
    assert found is not None
    assert [(one.kind, one.before, one.after) for one in found] == [
        ("same", "e", "e"), ("same", "f", "f"), ("same", "g", "g"), ("changed", "h", "H"), ("added", "", "i"),
    ]  # fmt: skip
    assert [(one.before_number, one.after_number) for one in found][-2:] == [(8, 8), (0, 9)]
    assert [one.kind for one in compared("a\nb", "a") or ()] == ["same", "removed"]
    assert compared("a", "a") == []
    assert compared("a\n" * 5001, "a") is None


def test_a_policy_names_the_releases_that_were_decided_by_it(pages: Pages) -> None:
    own = records.awaiting_review()
    facts = own.policy
    by_officer(pages, Policy.model_validate({"id": facts.id, "version": facts.version}))
    visitor = pages.visitor("okafor")
    shown = visitor.get(f"/library/policy/{facts.id}", params={"version": facts.version}).text
    assert f"/releases/{WAITING}/university" in shown
    (item,) = Library.of(pages.workspace).versions("policy", facts.id)
    assert (WAITING, "university") in item.used
    other = pages.visitor("ruiz").get(f"/library/policy/{facts.id}", params={"version": facts.version}).text
    assert f"/releases/{WAITING}/university" in other, "the requester's own"


def test_a_hierarchy_names_the_releases_whose_requests_rest_on_it(pages: Pages) -> None:
    tree = LibraryText("hierarchy", "zip", "1", TREE)
    by_officer(pages, tree)
    with open_ledger(pages.workspace) as ledger:
        ledger.append(
            Event.REQUESTED, release_id=WAITING, recipient=None, actor="desk",
            body={"title": "x", "requested_by": STEWARD, "rests_on": [tree.item.sha256]}, at=NOW,
        )  # fmt: skip
    (item,) = Library.of(pages.workspace).versions("hierarchy", "zip")
    assert item.used == ((WAITING, "university"),)


def test_an_officer_enrols_in_pages_as_by_commands(pages: Pages) -> None:
    visitor = pages.visitor("officer")
    text = policy("3.0").model_dump_json().encode()
    assert sent(visitor, "policy", {"password": "not the password at all"}, text).status_code == 422
    assert sent(visitor, "policy", {}, b"no policy: at all").status_code == 422
    assert sent(visitor, "policy", {}, text).status_code == 303
    assert sent(visitor, "hierarchy", {"id": "zip", "version": "1"}, TREE).status_code == 303
    assert sent(visitor, "hierarchy", {"id": "zip", "version": "1"}, OTHER_TREE).status_code == 422, "it is another"
    assert sent(visitor, "hierarchy", {"id": "zip", "version": "2"}, OTHER_TREE).status_code == 303
    assert sent(visitor, "template", {"id": "visits", "version": "1"}, TEMPLATE).status_code == 303
    assert sent(visitor, "population", {"source": "Census", "count": "n"}, b"zip,n\n1,30\n2,12\n").status_code == 303
    assert sent(visitor, "sample", {"source": "Members", "size": "1200000"}, None).status_code == 303
    assert sent(visitor, "sample", {"source": "Members", "size": "12", "everybody": "yes"}, None).status_code == 422
    with open_ledger(pages.workspace) as ledger:
        ledger.verify()
        kinds = [one.kind for one in Directory.of(ledger) if one.kind != "person"]
        assert ledger.entries(event=Event.ENROLLED)[-1].actor == "officer (reviewer's page)"
    assert sorted(kinds) == ["hierarchy", "hierarchy", "policy", "population", "sample", "template"]
    page = visitor.get("/library").text
    assert "42 people in column n" in page
    assert "1,200,000 people" in page
    shown = visitor.get("/library/hierarchy/zip", params={"version": "2", "beside": "1"}).text
    assert "2;low;*" in shown
    assert "2;high;*" in shown


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("hierarchy", b"1;low;*\n1;high;*\n"),
        ("hierarchy", b""),
        ("template", b"a: [b"),
        ("template", b"\xff"),
        ("template", b"schema_version: another\n"),
        ("template", TEMPLATE + b"note: AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ\n"),
    ],
)
def test_what_is_no_hierarchy_or_template_is_not_enrolled(pages: Pages, kind: Any, content: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        checked_text(pages.workspace, LibraryText(kind, "a", "1", content))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(("text_id", "version"), [("../x", "1"), ("", "1"), ("A", "1"), ("a", ""), ("a", "1\n2")])
def test_an_id_that_is_no_name_is_not_enrolled(pages: Pages, text_id: str, version: str) -> None:
    with pytest.raises(BadInput):
        by_officer(pages, LibraryText("template", text_id, version, TEMPLATE))


def test_a_changed_text_is_not_shown(pages: Pages) -> None:
    by_officer(pages, LibraryText("template", "visits", "../1", TEMPLATE))
    (path,) = (pages.workspace.root / "library" / "template").iterdir()
    (item,) = Library.of(pages.workspace).versions("template", "visits")
    assert Library.of(pages.workspace).text(item).encode() == TEMPLATE
    path.write_bytes(TEMPLATE + b"canary: 1\n")
    with pytest.raises(TamperingFound):
        Library.of(pages.workspace).text(item)
    answer = pages.visitor("officer").get("/library/template/visits", params={"version": "../1"})
    assert answer.status_code == 500
    assert "canary" not in answer.text


def test_an_officer_with_a_key_signs_enrolments_and_their_end(pages: Pages) -> None:
    key = pages.key(OFFICER, WorkflowRole.OFFICER).read_bytes()
    visitor = pages.visitor("officer")
    data = {"id": "visits", "version": "1", "passphrase": PASSPHRASE}
    assert sent(visitor, "template", data | {"passphrase": ""}, TEMPLATE).status_code == 422
    assert sent(visitor, "template", data, TEMPLATE, key=key).status_code == 303
    assert [entry.signer for entry in pages.entries(event=Event.ENROLLED)][-1] == OFFICER
    place = "/library/template/visits"
    ending = visitor.fields(f"{place}?version=1") | {"password": PASSWORD, "passphrase": PASSPHRASE}
    assert visitor.post(f"{place}/end", ending | {"password": "wrong"}, files={"key": ("k", key)}).status_code == 422
    ending |= visitor.fields(f"{place}?version=1")
    assert visitor.post(f"{place}/end", ending, files={"key": ("k", key)}).status_code == 303
    (ended,) = pages.entries(event=Event.ENROLMENT_ENDED)
    assert ended.signer == OFFICER
    shown = visitor.get(f"{place}?version=1").text
    assert "ended" in shown
    assert "End the enrolment" not in shown
    for form in (key, PASSPHRASE.encode()):
        assert not any(form in one.read_bytes() for one in pages.workspace.root.rglob("*") if one.is_file())


def test_the_commands_enrol_list_and_print_texts(pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.library.enrolment.actor", lambda: "officer")
    place = ["--workspace", str(pages.workspace.root)]
    tree, template = tmp_path / "zip.csv", tmp_path / "visits.yaml"
    tree.write_bytes(TREE)
    template.write_bytes(TEMPLATE)
    run = CliRunner(env={"COLUMNS": "160"})
    for kind, file in (("hierarchy", tree), ("template", template)):
        made = run.invoke(app, ["enrol", kind, "own", "1", str(file), "--as", OFFICER, *place])
        assert made.exit_code == 0, made.output
    assert "hierarchy own/1" in run.invoke(app, ["enrol", "list", *place]).output
    assert run.invoke(app, ["enrol", "text", "hierarchy", "own/1", *place]).output.encode() == TREE
    assert isinstance(run.invoke(app, ["enrol", "text", "hierarchy", "own/2", *place]).exception, BadInput)
    ended = run.invoke(app, ["enrol", "end", "template", "own/1", "--as", OFFICER, *place])
    assert ended.exit_code == 0, ended.output
    assert run.invoke(app, ["enrol", "text", "template", "own/1", *place]).output.encode() == TEMPLATE


def test_bodies_say_whose_officer_revokes_where_no_policy_does() -> None:
    assert "officer_of" not in bodies.revoked(OFFICER, WorkflowRole.OFFICER, "x")
    assert bodies.revoked(OFFICER, WorkflowRole.OFFICER, "x", "gate")["officer_of"] == "gate"
