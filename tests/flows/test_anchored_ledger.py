"""A ledger that an administrator has written anew, found through determinations that an auditor has kept."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.workspace.ledger import VARIABLE
from tasks.ledger.entry import Event
from tests.support.certificates import pem, pki, private, root
from tests.support.determined import Determined, determined
from tests.support.ledgers import Raw
from tests.support.postgres import Server, running_server
from tests.support.rewriting import rewrite, with_other, without

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@dataclass
class Kept:
    """A workspace, its ledger's database, and what an auditor took home: a signed determination."""

    made: Determined
    raw: Raw
    pdf: Path
    releasegate: Run

    def verify(self, *options: str | Path) -> Any:
        return self.releasegate("verify", "ledger", "--workspace", self.made.workspace.root, *options)

    def from_pdf(self) -> Any:
        return self.verify("--anchor", self.pdf)

    def forget_bundles(self) -> None:
        """As an administrator would, for whom the bundles are in the way."""
        shutil.rmtree(self.made.bundle)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def kept(
    request: pytest.FixtureRequest, tmp_path: Path, releasegate: Run, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Kept]:
    monkeypatch.delenv(VARIABLE, raising=False)
    connection: Any
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("server")
        address = server.new_database()
        monkeypatch.setenv(VARIABLE, address)
    made = determined(tmp_path / "workspace")
    made.append()
    signed = made.sign()
    assert (signed.entry, len(made.entries())) == (9, 9)
    made.append()
    if request.param == "postgresql":
        connection = server.connect(address.rpartition("@/")[2].partition("?")[0])
    else:
        connection = sqlite3.connect(made.workspace.ledger, isolation_level=None)
    (tmp_path / "auditor").mkdir()
    with closing(connection):
        yield Kept(made, Raw(connection), shutil.copy(signed.path, tmp_path / "auditor" / "kept.pdf"), releasegate)


def test_what_is_as_it_was_fits(kept: Kept) -> None:
    told = kept.verify("--anchor", kept.pdf.parent, "--json").document
    assert told["anchors"] == {
        "in the workspace": 3,
        "signed documents": 1,
        "unsigned documents": 0,
        "other files": 0,
    }
    assert "anchors          in the workspace: 3, signed documents: 1" in kept.from_pdf().out


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        (with_other(2), "ledger entries 1 to 3", "is not in the ledger before entry 4"),
        (with_other(7), "ledger entries 4 to 8", "entry 8 is not the one that it names"),
        (without(9, 10), "after ledger entry 8, the last", "no entry records its signature"),
        (without(6, 7, 8, 9, 10), "ledger entries 4 to 6", "signed when there were 8 entries, and now there are 5"),
    ],
    ids=["before the decision", "after it", "the end cut off", "more cut off"],
)
def test_a_chain_written_anew_is_found_by_a_kept_determination(kept: Kept, change: Any, where: str, what: str) -> None:
    kept.forget_bundles()
    rewrite(kept.raw, change)
    assert kept.verify().code == 3, "the workspace has noted the head"
    (kept.made.workspace.private / "ledger-head" / "noted").unlink()
    assert kept.verify().code == 0, "nothing in the chain shows it"
    told = kept.from_pdf()
    assert told.code == 3
    assert "the ledger does not match documents kept outside it" in told.err.splitlines()[0]
    assert f"where: {where}\n" in told.err
    assert what in told.err
    assert str(kept.pdf) in told.err


def test_the_bundles_of_the_workspace_are_anchors_by_themselves(kept: Kept) -> None:
    rewrite(kept.raw, with_other(3))
    told = kept.verify()
    assert told.code == 3
    assert "decision/university.json: the head that it names is not in the ledger before entry 4" in told.err
    assert "where: ledger entries 1 to 3" in told.err
    assert "contradict each other" in told.err.splitlines()[0], "both are in the administrator's hands"


def test_a_signed_determination_in_the_workspace_holds_its_entry(kept: Kept) -> None:
    rewrite(kept.raw, without(9, 10))
    assert "no entry records its signature" in kept.verify().err


def test_a_record_alone_is_an_anchor_too(kept: Kept, tmp_path: Path) -> None:
    record = shutil.copy(kept.made.bundle / "decision" / "registry.json", tmp_path / "registry.json")
    told = kept.verify("--anchor", record, "--anchor", kept.pdf, "--json").document
    assert (told["anchors"]["signed documents"], told["anchors"]["unsigned documents"]) == (1, 1)
    kept.forget_bundles()
    rewrite(kept.raw, with_other(1))
    assert str(record) in kept.verify("--anchor", record).err


@pytest.mark.parametrize("kept", ["sqlite"], indirect=True)
class TestDocumentsThatAreNone:
    """What is refused before it is compared with anything."""

    def test_a_changed_pdf(self, kept: Kept) -> None:
        content = bytearray(kept.pdf.read_bytes())
        content[-600] ^= 1
        kept.pdf.write_bytes(content)
        told = kept.from_pdf()
        assert told.code == 3
        assert "cannot be relied on to verify the ledger: the PDF was changed" in told.err

    def test_a_signer_who_is_not_trusted_where_that_is_asked(self, kept: Kept, tmp_path: Path) -> None:
        right = private(tmp_path / "root.pem", pem(pki().top.certificate))
        wrong = private(tmp_path / "wrong.pem", pem(root("Another").certificate))
        assert kept.verify("--anchor", kept.pdf, "--trust", right).code == 0
        told = kept.verify("--anchor", kept.pdf, "--trust", wrong)
        assert (told.code, "is not trusted" in told.err) == (3, True)
        unsigned = kept.made.bundle / "report" / "university.pdf"
        assert "not signed" in kept.verify("--anchor", unsigned, "--trust", right).err
        assert kept.verify("--anchor", unsigned).code == 0

    def test_files_that_say_nothing(self, kept: Kept, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "manifest.json").write_text("{}")
        for path in (tmp_path / "other", tmp_path / "other" / "manifest.json", tmp_path / "none.pdf"):
            assert kept.verify("--anchor", path).code == 2
        told = kept.verify("--anchor", kept.made.bundle, "--json").document
        assert told["anchors"]["other files"] >= 2, "manifests"

    def test_an_entry_that_is_mistyped(self, kept: Kept) -> None:
        told = kept.verify("--anchor", "1:abc")
        assert told.code == 2
        assert "the number of an entry, a colon and its SHA-256" in " ".join(told.err.split())

    def test_a_decision_of_the_workspace_that_was_changed(self, kept: Kept) -> None:
        record = kept.made.bundle / "decision" / "registry.json"
        record.write_bytes(record.read_bytes().replace(b'"blocked"', b'"approved"'))
        told = kept.verify()
        assert told.code == 3
        assert "contradict each other" in told.err.splitlines()[0]
        assert "decision/registry.json: entry 5 does not record the decision that it holds" in told.err

    def test_a_decision_of_the_workspace_that_cannot_be_read(self, kept: Kept) -> None:
        (kept.made.bundle / "decision" / "registry.json").write_text("{")
        told = kept.verify()
        assert told.code == 3
        assert "decision/registry.json" in told.err

    def test_a_determination_of_another_workspace(self, kept: Kept, tmp_path: Path) -> None:
        other = determined(tmp_path / "other workspace")
        other.append(Event.ASSESSED)
        kept.pdf.write_bytes(other.sign().path.read_bytes())
        told = kept.from_pdf()
        assert told.code == 3
        assert "entry 8 is not the one that it names" in told.err
