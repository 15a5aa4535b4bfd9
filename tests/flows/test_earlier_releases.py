"""What of the same data is out already, told by the ledger alone: what must be continued, and what forbids decoys."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.earlier import check_still_apart, decoys_to_continue, what_was_asked
from flows.identity import Inputs, read_inputs
from flows.workspace import Workspace, open_workspace
from tasks.core.errors import RequestError, StageFailed
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.load import LoadedRequest, load_request
from tests.support.decoyed_world import POLICY, STAKES, make_decoyed_world, with_decoys
from tests.support.world import NOW, World, recipient

A, B, C = "a" * 64, "b" * 64, "c" * 64
UNIVERSITY = recipient("university", stakes=STAKES)


@dataclass
class Book:
    """A workspace whose ledger is written by hand."""

    world: World
    workspace: Workspace
    ledger: Ledger

    def asked(self, *recipients: Any, **changes: Any) -> tuple[LoadedRequest, Inputs]:
        loaded = load_request(self.world.ask(recipients=list(recipients), policy=POLICY, **changes))
        return loaded, read_inputs(loaded)

    def add(self, event: Event, release: str, body: dict[str, object]) -> None:
        self.ledger.append(event, release_id=release, recipient=None, actor="somebody", body=body, at=NOW)

    def delivered(self, release: str, *recipients: Any, continues: str | None = None) -> None:
        """A release of these data of which somebody has a copy."""
        loaded, inputs = self.asked(*recipients)
        body = {**what_was_asked(loaded.request, inputs), "continues": continues}
        self.add(Event.REQUESTED, release, body)
        self.add(Event.RELEASED, release, {"output_sha256": "0" * 64})

    def found(self, *recipients: Any, **changes: Any) -> dict[str, str] | None:
        return decoys_to_continue(self.workspace, self.ledger, *self.asked(*recipients, **changes))


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    world = make_decoyed_world(tmp_path / "world")
    workspace = open_workspace(world.workspace.root)
    with Ledger.open(workspace.ledger) as ledger:
        yield Book(world, workspace, ledger)


def test_a_first_release_has_new_decoys_or_none(book: Book) -> None:
    assert book.found(with_decoys("clinic")) == {}
    assert book.found(UNIVERSITY) is None


def test_releases_without_decoys_need_no_lineage(book: Book) -> None:
    book.delivered(A, UNIVERSITY)
    assert book.found(recipient("institute", stakes=STAKES)) is None


def test_copies_with_decoys_that_are_out_must_be_continued(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    for one in (with_decoys("registry"), UNIVERSITY):
        with pytest.raises(RequestError, match=f"add “continues: {A}”"):
            book.found(one)


def test_copies_without_decoys_that_are_out_forbid_them(book: Book) -> None:
    book.delivered(A, UNIVERSITY)
    with pytest.raises(RequestError, match="release this data without decoys"):
        book.found(with_decoys("clinic"))


def test_what_was_asked_and_never_left_forbids_nothing(book: Book) -> None:
    loaded, inputs = book.asked(with_decoys("clinic"))
    book.add(Event.REQUESTED, A, what_was_asked(loaded.request, inputs))
    assert book.found(with_decoys("clinic"), title="Other terms") == {}


def test_other_data_are_another_matter(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    book.world.data.write_text(book.world.data.read_text().replace("influenza", "migraine", 1))
    assert book.found(with_decoys("clinic")) == {}


def test_only_the_last_version_is_continued(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    book.delivered(B, with_decoys("clinic"), continues=A)
    with pytest.raises(RequestError, match=f"continue {B}"):
        book.found(with_decoys("clinic"), continues=A)


def test_a_lineage_counts_as_a_whole(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    book.delivered(B, with_decoys("clinic"), continues=A)
    with pytest.raises(RequestError, match="not a release of this workspace"):
        book.found(with_decoys("clinic"), continues=B)
    book.delivered(C, with_decoys("clinic"))
    with pytest.raises(RequestError, match=f"continues: {C}"):
        book.found(with_decoys("clinic"), continues=B)


def test_a_version_that_was_never_published_cannot_be_continued(book: Book) -> None:
    with pytest.raises(RequestError, match="not a release of this workspace"):
        book.found(with_decoys("clinic"), continues=A)


def test_entries_of_older_programs_say_nothing(book: Book) -> None:
    book.add(Event.REQUESTED, A, {"title": "before decoys"})
    book.add(Event.RELEASED, A, {"output_sha256": "0" * 64})
    assert book.found(with_decoys("clinic")) == {}


def leaves(book: Book, release: str) -> None:
    """Whether a release that awaited review may leave after all that has left meanwhile."""
    check_still_apart(book.ledger, release)


def awaiting(book: Book, release: str, *recipients: Any, continues: str | None = None) -> None:
    loaded, inputs = book.asked(*recipients)
    book.add(Event.REQUESTED, release, {**what_was_asked(loaded.request, inputs), "continues": continues})


def test_what_awaited_review_leaves_if_nothing_left_meanwhile(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    awaiting(book, B, with_decoys("clinic"), continues=A)
    leaves(book, B)
    awaiting(book, C, UNIVERSITY)
    with pytest.raises(StageFailed, match="give decoys away"):
        leaves(book, C)


def test_of_two_that_awaited_review_with_the_same_decoys_the_second_stays(book: Book) -> None:
    for release in (A, B):
        awaiting(book, release, with_decoys("clinic"))
    leaves(book, A)
    book.add(Event.RELEASED, A, {"output_sha256": "0" * 64})
    leaves(book, A)
    with pytest.raises(StageFailed, match="give decoys away") as caught:
        leaves(book, B)
    assert caught.value.fix.endswith(f"continues {A}")


def test_of_two_versions_after_one_the_second_stays_whatever_its_data(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    awaiting(book, B, with_decoys("clinic"), continues=A)
    book.world.data.write_text(book.world.data.read_text().replace("influenza", "migraine", 1))
    book.delivered(C, with_decoys("clinic"), continues=A)
    with pytest.raises(StageFailed, match="give decoys away"):
        leaves(book, B)


def test_releases_without_decoys_and_of_other_data_hinder_nobody(book: Book) -> None:
    awaiting(book, B, UNIVERSITY)
    book.delivered(A, UNIVERSITY)
    leaves(book, B)
    book.world.data.write_text(book.world.data.read_text().replace("influenza", "migraine", 1))
    book.delivered(C, with_decoys("clinic"))
    leaves(book, B)
