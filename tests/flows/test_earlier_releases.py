"""What of the same data is out already, told by the ledger alone: what must be continued, and what forbids decoys."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flows.releases.earlier import check_still_apart, decoys_to_continue, what_was_asked
from flows.workspace.folders import Workspace, open_workspace
from tasks.core.errors import RequestError, StageFailed
from tasks.delivery.kept import Kept, kept_key, names_of, packed
from tasks.delivery.pending import seal_members
from tasks.generalization.game.count_index import Generalization
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.tuples import Tuples
from tasks.request.inputs import Inputs, read_inputs
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Method
from tests.support import records
from tests.support.decoyed_world import POLICY, STAKES, make_decoyed_world, with_decoys
from tests.support.world import ID_MARK, NOW, World, recipient

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

    def add(self, event: Event, release: str, body: dict[str, object], who: str | None = None) -> None:
        self.ledger.append(event, release_id=release, recipient=who, actor="somebody", body=body, at=NOW)

    def keep(self, release: str, who: str) -> None:
        """Keep the names of the people whom the data have now, and as little else as can be."""
        self.workspace.key()
        place, key_file = self.workspace.kept(release, who), self.workspace.key_file
        place.parent.mkdir(parents=True, exist_ok=True)
        none = np.empty((0, 0), np.int32)
        empty = np.empty(0, np.int64)
        kept = Kept(
            request=b"",
            hierarchies={},
            axis_labels=(),
            grouped=(),
            population=Tuples(none, empty, empty),
            generalization=Generalization(Method.BASIC, none, none, np.empty(0), empty, empty, own=none),
            released=np.empty(0, np.bool_),
            people=names_of(pd.read_csv(self.world.data, dtype=str)["record_id"], key_file),
            clear=None,
        )
        seal_members(packed(kept), place, kept_key(key_file, release, who))

    def delivered(self, release: str, *recipients: Any, continues: str | None = None) -> None:
        """A release of these data of which somebody has a copy."""
        loaded, inputs = self.asked(*recipients)
        body = {**what_was_asked(loaded.request, inputs), "continues": continues}
        self.add(Event.REQUESTED, release, body)
        self.left(release)

    def left(self, release: str) -> None:
        self.keep(release, "someone")
        self.add(Event.RELEASED, release, {"output_sha256": "0" * 64}, "someone")

    def other_people(self) -> None:
        """Give every person of the data another id."""
        self.world.data.write_text(self.world.data.read_text().replace(ID_MARK, "ELSE"))

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
    with pytest.raises(RequestError, match="release these people without decoys"):
        book.found(with_decoys("clinic"))
    assert book.found(UNIVERSITY) is None, "as advised"


def test_what_was_asked_and_never_left_forbids_nothing(book: Book) -> None:
    loaded, inputs = book.asked(with_decoys("clinic"))
    book.add(Event.REQUESTED, A, what_was_asked(loaded.request, inputs))
    assert book.found(with_decoys("clinic"), title="Other terms") == {}


def test_other_people_are_another_matter(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    book.other_people()
    assert book.found(with_decoys("clinic")) == {}
    assert book.found(UNIVERSITY) is None


@pytest.mark.parametrize("first", [with_decoys("clinic"), UNIVERSITY], ids=["decoys before", "decoys now"])
def test_another_file_of_the_same_people_is_not_released_beside_decoys(book: Book, first: Any) -> None:
    """One row less, so that the SHA-256 is another: the rows that only one of the copies has would be the decoys."""
    book.delivered(A, first)
    lines = book.world.data.read_text().splitlines(keepends=True)
    book.world.data.write_text("".join(lines[:-1]))
    now = UNIVERSITY if first is not UNIVERSITY else with_decoys("clinic")
    with pytest.raises(RequestError, match="copies of the same people would give the decoys away") as caught:
        book.found(now)
    assert ("continues" in caught.value.fix) == (first is not UNIVERSITY)


def test_people_who_cannot_be_read_count_as_the_same(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    book.other_people()
    book.workspace.kept(A, "someone").unlink()
    with pytest.raises(RequestError, match="copies of the same people would give the decoys away"):
        book.found(UNIVERSITY)


def test_what_cannot_be_continued_both_is_not_advised(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    book.delivered(B, with_decoys("registry"))
    with pytest.raises(RequestError, match="leave the people out"):
        book.found(UNIVERSITY)


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
    with pytest.raises(RequestError, match="leave the people out"):
        book.found(with_decoys("clinic"), continues=B)


def test_a_version_that_was_never_published_cannot_be_continued(book: Book) -> None:
    with pytest.raises(RequestError, match="not a release of this workspace"):
        book.found(with_decoys("clinic"), continues=A)


def test_entries_of_older_programs_say_nothing(book: Book) -> None:
    book.add(Event.REQUESTED, A, {"title": "before decoys"})
    book.left(A)
    book.other_people()
    assert book.found(with_decoys("clinic")) == {}


def leaves(book: Book, release: str) -> None:
    """Whether a release that awaited review may leave after all that has left meanwhile."""
    record = records.approved()
    who = record.recipient.model_copy(update={"id": "someone"})
    check_still_apart(book.workspace, book.ledger, record.model_copy(update={"release_id": release, "recipient": who}))


def awaiting(book: Book, release: str, *recipients: Any, continues: str | None = None) -> None:
    loaded, inputs = book.asked(*recipients)
    book.add(Event.REQUESTED, release, {**what_was_asked(loaded.request, inputs), "continues": continues})
    book.keep(release, "someone")


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
    book.left(A)
    leaves(book, A)
    with pytest.raises(StageFailed, match="give decoys away") as caught:
        leaves(book, B)
    assert f"“continues: {A}”" in caught.value.fix


def test_of_two_versions_after_one_the_second_stays_whatever_its_data(book: Book) -> None:
    book.delivered(A, with_decoys("clinic"))
    awaiting(book, B, with_decoys("clinic"), continues=A)
    book.world.data.write_text(book.world.data.read_text().replace("influenza", "migraine", 1))
    book.delivered(C, with_decoys("clinic"), continues=A)
    with pytest.raises(StageFailed, match="give decoys away"):
        leaves(book, B)


def test_releases_without_decoys_and_of_other_people_hinder_nobody(book: Book) -> None:
    awaiting(book, B, UNIVERSITY)
    book.delivered(A, UNIVERSITY)
    leaves(book, B)
    book.other_people()
    book.delivered(C, with_decoys("clinic"))
    leaves(book, B)
