"""The pages for requesting over HTTP: what each shows and changes, what it refuses, and who may see it."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.library.enrolment import end_enrolment, enrol
from flows.library.texts import LibraryText
from flows.studio.desk import Desk
from flows.studio.runs import LocalRuns
from flows.studio.studio import Studio
from flows.web.app import Writing, create_app
from flows.web.local import local_app
from flows.workspace.actor import acting_as
from flows.workspace.folders import open_workspace
from tasks.request.edit import edited
from tests.support.pages import OFFICER, Pages, Visitor
from tests.support.studio import ANSWERS, StudioVisitor, small_file, words


@pytest.fixture
def studio(tmp_path: Path) -> StudioVisitor:
    return StudioVisitor.at(tmp_path / "workspace")


@pytest.fixture
def place(studio: StudioVisitor) -> Iterator[str]:
    """Address of a drafted request."""
    return studio.hand_in(small_file().encode())


def document(studio: StudioVisitor, place: str) -> str:
    return str(studio.get(f"{place}/request.yaml").text)


def test_the_address_opens_the_studio_once(tmp_path: Path) -> None:
    app, token = local_app(tmp_path / "workspace")
    first, second = Visitor(app), Visitor(app)
    assert first.get("/requests").status_code == 303
    assert "terminal" in words(first.get("/sign-in"))
    assert first.get("/open/" + "x" * len(token)).status_code == 403
    assert first.get(f"/open/{token}").status_code == 200
    assert first.get("/requests").status_code == 200
    assert second.get(f"/open/{token}").status_code == 403
    assert second.get("/requests").status_code == 303
    cookie = first.client.cookies.jar
    assert [one.name.startswith("releasegate-") for one in cookie] == [True]


def test_another_host_is_not_answered(studio: StudioVisitor) -> None:
    assert studio.visitor.get("/requests", headers={"host": "example.org"}).status_code == 400


def test_a_file_becomes_a_draft_in_a_private_folder(studio: StudioVisitor, tmp_path: Path) -> None:
    place = studio.hand_in(small_file().encode(), "../../My visits.CSV")
    (folder,) = (tmp_path / "workspace" / ".releasegate" / "studio").glob("*/*")
    assert {one.name for one in folder.iterdir()} >= {"request.yaml", "my-visits.csv"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "path: my-visits.csv" in document(studio, place)
    assert "Draft for my-visits.csv" in words(studio.get("/requests"))


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "file is empty"), (b"a,a\n1,2\n", "the same name"), (b"a,b\n", "no records")]
)
def test_a_file_that_is_none_leaves_nothing_behind(
    studio: StudioVisitor, tmp_path: Path, content: bytes, said: str
) -> None:
    answer = studio.visitor.post("/requests", {"csrf": studio.csrf}, files={"data": ("a.csv", content)})
    assert answer.status_code == 422
    assert said in words(answer)
    assert list((tmp_path / "workspace" / ".releasegate" / "studio").glob("*/*")) == []


def test_a_form_of_another_session_does_nothing(studio: StudioVisitor, place: str) -> None:
    for address in ("columns", "terms", "designs", "document", "run", "check", "columns/2", "figures", "remove"):
        answer = studio.visitor.post(f"{place}/{address}", {"csrf": "x"})
        assert answer.status_code == 403, address
    answer = studio.visitor.post("/requests", {"csrf": "x"}, files={"data": ("a.csv", b"a\n1\n")})
    assert answer.status_code == 403


def test_a_form_from_another_site_does_nothing(studio: StudioVisitor, place: str) -> None:
    data = {"csrf": studio.csrf, "title": "Taken"}
    answer = studio.visitor.post(f"{place}/terms", data, headers={"origin": "http://example.org"})
    assert answer.status_code == 403
    assert "Taken" not in document(studio, place)


def test_columns_are_shown_with_role_reason_and_counts(studio: StudioVisitor, place: str) -> None:
    page = words(studio.get(f"{place}/columns"))
    assert "age “age”; 6 values" in page
    assert "asthma 36" in page
    assert "V0001" not in page, "no value of an identifier"
    assert "not shown" in page


def test_codes_are_shown_with_their_labels(studio: StudioVisitor, place: str) -> None:
    """In the counts, and where they are grouped."""
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', studio.get(f"{place}/document").text)
    assert seen is not None
    text = document(studio, place).replace("sex: {", 'sex: {labels: {F: "a woman <b>"}, ')
    studio.post(f"{place}/document", {"text": text, "seen": seen[1]})
    columns, levels = (studio.get(f"{place}/{one}").text for one in ("columns", "columns/3"))
    assert "F · a woman &lt;b&gt;</span>" in columns
    assert 'F<span class="sub meaning">a woman &lt;b&gt;</span>' in levels


def test_labels_of_a_file_tell_roles_as_in_a_draft(studio: StudioVisitor, tmp_path: Path) -> None:
    """Those of columns and of codes, with the comments that a draft has and without them."""
    file = tmp_path / "visits.dta"
    pd.DataFrame(
        {"visit_id": [f"V{one:03}" for one in range(144)], "x1": [1 + one % 2 for one in range(144)]}
    ).to_stata(
        file,
        write_index=False,
        variable_labels={"x1": "sex of the patient"},
        value_labels={"x1": {1: "Female", 2: "Male"}},
    )
    place = studio.hand_in(file.read_bytes(), "visits.dta")
    page = words(studio.get(f"{place}/columns"))
    assert "x1 sex of the patient “sex”, label; 2 values" in page
    assert "1 · Female 72" in page
    assert "1 Female" in words(studio.get(f"{place}/columns/2"))
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', studio.get(f"{place}/document").text)
    assert seen is not None
    bare = re.sub(r" *#.*", "", document(studio, place)).replace("x1: {role: quasi-identifier", "x1: {role: withheld")
    studio.post(f"{place}/document", {"text": bare, "seen": seen[1]})
    assert "a draft would say quasi-identifier: “sex” in its label" in words(studio.get(f"{place}/columns"))


def test_reasons_that_a_request_does_not_have_are_those_of_a_draft(studio: StudioVisitor, place: str) -> None:
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', studio.get(f"{place}/document").text)
    assert seen is not None
    bare = re.sub(r" *#.*", "", document(studio, place))
    bare = bare.replace("sex: {role: quasi-identifier", "sex: {role: sensitive")
    studio.post(f"{place}/document", {"text": bare, "seen": seen[1]})
    page = words(studio.get(f"{place}/columns"))
    assert "age “age” in its name" in page
    assert "sex a draft would say quasi-identifier: “sex” in its name" in page


def test_a_role_is_changed_with_its_hierarchy(studio: StudioVisitor, place: str) -> None:
    page = studio.post(f"{place}/columns", {"role.5": "quasi-identifier", "role.2": "direct identifier"})
    assert "The roles are saved." in words(page)
    text = document(studio, place)
    assert "hierarchy: {file: hierarchy-diagnosis.csv}" in text
    assert re.search(r"  age: \{role: direct identifier, type: integer[^}]*\} # “age”; 6 values", text)
    assert "No role was changed." in words(studio.post(f"{place}/columns", {"role.5": "quasi-identifier"}))
    refused = studio.post(f"{place}/columns", {"role.5": "king"})
    assert refused.status_code == 422
    assert "Not a role" in words(refused)


def test_who_can_know_rows_is_answered_at_their_column(studio: StudioVisitor) -> None:
    rows = [f"V{visit},P{visit // 3},{'FM'[visit // 3 % 2]},{('a', 'b', 'c')[visit % 3]}" for visit in range(90)]
    place = studio.hand_in("\n".join(["visit_id,patient_id,sex,diagnosis", *rows]).encode())
    assert 'known_probability: "?"' in document(studio, place)
    page = studio.get(f"{place}/columns")
    assert "Can others know diagnosis of a person?" in words(page)
    (number,) = re.findall(r'name="known\.(\d+)"', page.text)
    page = studio.post(f"{place}/columns", {f"known.{number}": "0"})
    assert "Can others know" not in words(page)
    assert "known_probability: 0" in document(studio, place)


@pytest.mark.slow
def test_a_rare_value_is_on_no_page_and_no_value_in_the_log(
    studio: StudioVisitor, caplog: pytest.LogCaptureFixture
) -> None:
    """One diagnosis of 145, and one town; both would name a person to whoever looks on."""
    place = studio.hand_in((small_file() + "V9999,30,F,Quxville,Vexillopathy\n").encode())
    studio.post(f"{place}/columns", {"role.5": "quasi-identifier"})
    studio.post(f"{place}/terms", ANSWERS)
    pages = [studio.get(f"{place}/{tab}").text for tab in ("columns", "terms?figures=1", "designs", "run", "document")]
    pages += [studio.get(f"{place}/columns/{position}").text for position in (4, 5)]
    pages.append(studio.post(f"{place}/columns/5", {"kind": "groups", "group.0": "x", "do": "preview"}).text)
    for page in pages:
        assert not re.search("Quxville|Vexillopathy|V9999", page)
    assert not re.search("Quxville|Vexillopathy|V9999|north|asthma", caplog.text)


def test_groups_are_previewed_and_then_saved(studio: StudioVisitor, place: str) -> None:
    """48 people of each of three towns."""
    groups = {"kind": "groups", "group.0": "seaside", "group.1": "seaside", "group.2": "", "rare": "other"}
    preview = studio.post(f"{place}/columns/4", {**groups, "do": "preview"})
    assert "1 2 48 0" in words(preview)
    assert "Preview: not saved yet." in words(preview)
    assert 'value="seaside"' in preview.text
    before = document(studio, place)
    assert studio.get(f"{place}/columns/4").status_code == 200
    assert document(studio, place) == before
    assert "1 2 48 0" in words(studio.post(f"{place}/columns/4", groups))
    assert "hierarchy: {file: hierarchy-4.csv}" in document(studio, place)


def test_widths_that_do_not_fit_are_told_at_their_column(studio: StudioVisitor, place: str) -> None:
    widths = {"kind": "terms", "minimum": "0", "maximum": "119", "widths": "10, 15"}
    assert "must be a larger multiple" in words(studio.post(f"{place}/columns/2", {**widths, "do": "preview"}))
    assert "must be a larger multiple" in words(studio.post(f"{place}/columns/2", widths))
    assert "must be a larger multiple" in words(studio.get(f"{place}/columns"))
    assert "The levels of age are saved." in words(studio.post(f"{place}/columns/2", {**widths, "widths": "10, 20"}))
    assert studio.get(f"{place}/columns/1").status_code == 404, "an identifier has no levels"


def test_answers_complete_the_request_and_figures_follow(studio: StudioVisitor, place: str) -> None:
    assert "10 answers are missing." in words(studio.get(f"{place}/terms"))
    assert "State benefit, loss and cost" in words(studio.post(f"{place}/figures", {"recipients.0.stakes.cost": ""}))
    tried = words(studio.post(f"{place}/figures", ANSWERS))
    assert "of the information kept" in tried
    assert "answers are missing" in words(studio.get(f"{place}/terms")), "figures save nothing"
    page = words(studio.post(f"{place}/terms", ANSWERS))
    assert "The request is complete." in page
    assert "of the information kept" in page
    assert ": # fill in" not in document(studio, place)
    assert "The request is complete. 1 column is withheld: no role is chosen yet." in page
    reviewed = words(studio.post(f"{place}/columns", {"role.5": "withheld"}))
    assert "The request is complete. Download the request" in reviewed


def test_a_mistake_stands_at_its_field(studio: StudioVisitor, place: str) -> None:
    page = studio.post(f"{place}/terms", {**ANSWERS, "recipients.0.stakes.cost": "ten"})
    assert re.search(r'name="recipients\.0\.stakes\.cost" value="ten"[^>]*aria-invalid="true"', page.text)
    assert "expected a number" in words(page)


def test_expert_and_controls_are_terms(studio: StudioVisitor, place: str) -> None:
    sent = {"expert": "Dr. Osei, biostatistician", "recipients.0.controls": "No export\r\n\r\nYearly audit"}
    page = studio.post(f"{place}/terms", sent)
    assert re.search(r"<textarea[^>]*>\s*No export\nYearly audit</textarea>", page.text)
    text = document(studio, place)
    assert "expert: Dr. Osei, biostatistician" in text
    assert re.search(r"controls:\n +- No export\n +- Yearly audit\n", text)
    long = studio.post(f"{place}/terms", {"recipients.0.controls": "x" * 2001})
    assert re.search(r'<textarea[^>]*name="recipients.0.controls"[^>]*aria-invalid="true"', long.text)
    assert "at most 2000 characters" in words(long)
    studio.post(f"{place}/terms", {"expert": "", "recipients.0.controls": " "})
    assert not re.search("expert|controls", document(studio, place))


def test_a_column_is_masked_and_accepted_on_its_page(studio: StudioVisitor, place: str) -> None:
    studio.post(f"{place}/columns", {"role.2": "sensitive"})
    page = studio.get(f"{place}/columns")
    assert "Terms of age" in words(page)
    terms = {"kind": "column", "masking.method": "mdav", "masking.strength": "1", "excused.by": "jo"}
    page = studio.post(f"{place}/columns/2", terms)
    assert "The terms of age are saved." in words(page)
    assert re.search(r'name="masking\.strength" value="1"[^>]*aria-invalid="true"', page.text)
    assert "a number at least 2" in words(page), "at its field"
    assert "Not answered yet." in words(page), "the reason"
    assert "a number at least 2" in words(studio.get(f"{place}/columns")), "at its column"
    assert "Mistakes elsewhere" not in words(studio.get(f"{place}/terms"))
    studio.post(f"{place}/columns/2", {**terms, "masking.strength": "12", "excused.because": "Known to nobody"})
    assert "Terms of age : mdav, k = 12" in words(studio.get(f"{place}/columns"))
    text = document(studio, place)
    assert re.search(r"masking:\n +- attributes:\n +- age\n +method: mdav\n +k: 12\n", text)
    assert "Known to nobody" in text
    assert "No term was changed." in words(studio.post(f"{place}/columns/2", {"kind": "column"}))
    studio.post(f"{place}/columns", {"role.2": "quasi-identifier"})
    assert not re.search("masking|excused", document(studio, place)), "another role has no such terms"


def test_pages_of_columns_are_for_the_terms_that_they_may_have(studio: StudioVisitor, place: str) -> None:
    assert studio.get(f"{place}/columns/5").status_code == 404, "nobody has reviewed it"
    studio.post(f"{place}/columns", {"role.5": "sensitive"})
    assert "Accepted by" in words(studio.get(f"{place}/columns/5"))
    assert "Masking" not in words(studio.get(f"{place}/columns/5")), "text is not masked"
    assert studio.post(f"{place}/columns/5", {"kind": "groups"}).status_code == 404
    assert studio.post(f"{place}/columns/1", {"kind": "column"}).status_code == 404


def test_groups_that_cannot_be_stay_in_their_fields(studio: StudioVisitor, place: str) -> None:
    groups = {"kind": "groups", "group.0": "south", "group.1": "coast", "do": "preview"}
    page = studio.post(f"{place}/columns/4", groups)
    assert "A group has the name of a value that is not in it" in words(page)
    assert 'value="south"' in page.text


def test_a_recipient_is_added_and_removed(studio: StudioVisitor, place: str) -> None:
    assert "Recipient 2" in words(studio.post(f"{place}/terms", {"do": "add"}))
    assert "Recipient 2" not in words(studio.post(f"{place}/terms", {"do": "remove.1"}))
    assert studio.post(f"{place}/terms", {"do": "remove.9"}).status_code == 200


def test_a_design_is_chosen(studio: StudioVisitor, place: str) -> None:
    studio.post(f"{place}/terms", {"recipients.0.stakes.cost": ""})
    assert "State the terms" in words(studio.get(f"{place}/designs"))
    studio.post(f"{place}/terms", {**ANSWERS, "recipients.0.method": "common"})
    assert "1. common" in words(studio.get(f"{place}/designs"))
    page = words(studio.post(f"{place}/designs", {"recipient": "1", "design": "k-anonymity, k = 5"}))
    assert "The request now says: k-anonymity, k = 5." in page
    text = document(studio, place)
    assert "method: k-anonymity" in text
    assert "k: 5" in text
    assert studio.post(f"{place}/designs", {"recipient": "9" * 5000, "design": "common"}).status_code == 404
    assert studio.post(f"{place}/designs", {"recipient": "1", "design": "magic"}).status_code == 422


def test_the_document_is_shown_changed_and_handed_out(studio: StudioVisitor, place: str) -> None:
    text = document(studio, place)
    page = studio.get(f"{place}/document")
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', page.text)
    assert seen is not None
    changed = {"text": text.replace("title:", "title: Visits", 1).replace("\n", "\r\n"), "seen": seen[1]}
    assert "The request is saved." in words(studio.post(f"{place}/document", changed))
    assert "\r" not in document(studio, place)
    late = studio.post(f"{place}/document", changed)
    assert late.status_code == 422
    assert "changed meanwhile" in words(late)
    shown = studio.get(f"{place}/request.yaml")
    assert shown.headers["content-disposition"] == 'attachment; filename="request.yaml"'


def test_a_document_that_is_no_yaml_breaks_no_page(studio: StudioVisitor, place: str) -> None:
    seen = re.search(r'name="seen" value="([0-9a-f]{64})"', studio.get(f"{place}/document").text)
    assert seen is not None
    studio.post(f"{place}/document", {"text": "recipients: [7]\nattributes: {a: 1", "seen": seen[1]})
    for tab in ("columns", "terms", "run", "document", "request.yaml"):
        assert studio.get(f"{place}/{tab}").status_code == 200, tab
    assert studio.get(f"{place}/designs").status_code == 404, "there is no recipient"
    assert studio.post(f"{place}/terms", {"title": "x"}).status_code == 422
    assert studio.post(f"{place}/figures", {"title": "x"}).status_code == 200


def test_an_incomplete_request_does_not_run(studio: StudioVisitor, place: str) -> None:
    assert "takes the request once it is complete" in words(studio.get(f"{place}/run"))
    refused = studio.post(f"{place}/run")
    assert refused.status_code == 422
    assert "mistakes" in words(refused)


def test_several_tables_become_one_request(studio: StudioVisitor) -> None:
    people = "\n".join(["patient_id,sex", *(f"P{number},{'FM'[number % 2]}" for number in range(60))])
    visits = "\n".join(
        ["visit_id,patient_id,diagnosis", *(f"V{one},P{one // 2},{'ab'[one % 2]}" for one in range(120))]
    )
    sent = [("data", ("patients.csv", people.encode())), ("data", ("visits.csv", visits.encode()))]
    place = str(studio.visitor.post("/requests", {"csrf": studio.csrf}, files=sent).headers["location"])
    place = place.removesuffix("/columns")
    assert "tables:" in document(studio, place)
    page = words(studio.get(f"{place}/columns"))
    assert "visits.diagnosis" in page
    assert "a 60 b 60" in page
    assert "The roles are saved." in words(studio.post(f"{place}/columns", {"role.4": "direct identifier"}))


def test_a_request_is_removed_with_its_files(studio: StudioVisitor, place: str, tmp_path: Path) -> None:
    folders = tmp_path / "workspace" / ".releasegate" / "studio"
    assert studio.post(f"{place}/remove").status_code == 422
    assert list(folders.glob("*/*/visits.csv"))
    assert "removed with its files" in words(studio.post(f"{place}/remove", {"sure": "yes"}))
    assert list(folders.glob("*/*")) == []
    assert studio.get(f"{place}/columns").status_code == 404


def test_a_request_on_disk_is_not_removed(tmp_path: Path) -> None:
    request = tmp_path / "request.yaml"
    request.write_text("title: Old\n")
    studio = StudioVisitor.at(tmp_path / "workspace", request)
    assert "Remove the request" not in words(studio.get("/requests/given/document"))
    assert studio.post("/requests/given/remove", {"sure": "yes"}).status_code == 422
    assert request.exists()


def test_a_request_on_disk_is_changed_where_it_lies(tmp_path: Path) -> None:
    request = tmp_path / "request.yaml"
    request.write_text("title: Old # mine\nschema_version: releasegate/request/1\n")
    studio = StudioVisitor.at(tmp_path / "workspace", request)
    studio.post("/requests/given/terms", {"title": "New"})
    assert request.read_text() == "title: New # mine\nschema_version: releasegate/request/1\n"


def test_every_page_keeps_to_the_policy_of_the_page(studio: StudioVisitor, place: str) -> None:
    for tab in ("columns", "columns/2", "columns/4", "columns/5", "terms", "run", "document"):
        answer = studio.get(f"{place}/{tab}")
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert not re.search(r"<script>|\sstyle=|\son\w+=", answer.text), tab


def test_a_page_of_a_service_is_for_requesters_and_their_own_requests(pages: Pages) -> None:
    place = open_workspace(pages.workspace.root)
    writing = Writing(Studio(Desk(place), LocalRuns(place)))
    app = create_app(place.root, clock=pages.time, writing=writing)
    requester, reviewer = Visitor(app), Visitor(app)
    requester.sign_in("ruiz")
    reviewer.sign_in("okafor")
    assert reviewer.get("/requests").status_code == 403
    assert 'href="/requests"' not in reviewer.get("/releases").text
    assert 'href="/requests"' in requester.get("/releases").text
    found = re.search(r'name="csrf" value="([^"]+)"', requester.get("/requests").text)
    assert found is not None
    sent = {"data": ("visits.csv", small_file().encode())}
    address = requester.post("/requests", {"csrf": found[1]}, files=sent).headers["location"]
    assert requester.get(address).status_code == 200
    assert reviewer.get(address).status_code == 403
    project = address.split("/")[2]
    assert Desk(place).project("ruiz", project) is not None
    assert Desk(place).project("brandt", project) is None, "another login's"
    assert str(place.root) not in requester.get(f"/requests/{project}/document").text


def test_a_request_begins_with_a_template_and_hierarchies_of_the_library(pages: Pages) -> None:
    place = open_workspace(pages.workspace.root)
    app = create_app(place.root, clock=pages.time, writing=Writing(Studio(Desk(place), LocalRuns(place))))
    requester = Visitor(app)
    requester.sign_in("ruiz")
    shown = requester.get("/requests").text
    assert 'name="template"' not in shown, "there is none"
    found = re.search(r'name="csrf" value="([^"]+)"', shown)
    assert found is not None

    def hand_in(template: str, *names: str) -> Any:
        files = [("data", (name, small_file().encode())) for name in names]
        return requester.post("/requests", {"csrf": found[1], "template": template}, files=files)

    first = hand_in("", "visits.csv").headers["location"].split("/")[2]
    draft = Desk(place).project("ruiz", first)
    assert draft is not None
    text = edited(
        draft.path.read_text(),
        {("title",): "Visits of a month", ("attributes", "town", "hierarchy"): {"file": "town@1.csv"}},
    )
    towns = LibraryText("hierarchy", "town", "1", b"north;*\nsouth;*\nwest;*\n")
    with acting_as("officer"):
        items = [towns, LibraryText("template", "visits", "1", text.encode())]
        enrol(place, items, OFFICER, clock=pages.time)
    assert "visits 1" in requester.get("/requests").text
    project = Desk(place).project("ruiz", hand_in("visits/1", "may.csv").headers["location"].split("/")[2])
    assert project is not None
    read = project.read()
    assert (read.value(("title",)), read.value(("dataset", "path"))) == ("Visits of a month", "may.csv")
    assert (project.path.parent / "town@1.csv").read_bytes() == towns.content
    assert read.columns is not None
    assert requester.get(f"/requests/{project.name}/columns").status_code == 200
    for template, names in (("visits/2", ("may.csv",)), ("visits/1", ("may.csv", "june.csv"))):
        refused = hand_in(template, *names)
        assert refused.status_code == 422
        assert "The template cannot be used." in refused.text
    assert len(Desk(place).projects("ruiz")) == 2
    with acting_as("officer"):
        end_enrolment(place, items[1].item, OFFICER, clock=pages.time)
    assert hand_in("visits/1", "may.csv").status_code == 422
