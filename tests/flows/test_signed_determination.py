"""An expert's signature on a release's determination: the commands, and every way in which a signed PDF can fail."""

import io
import json
import shutil
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign.signers.pdf_cms import SimpleSigner
from pyhanko.sign.signers.pdf_signer import PdfSignatureMetadata, PdfSigner
from pyhanko_certvalidator.registry import SimpleCertificateStore

import flows.actions.expert_signature
import flows.workspace.actor
from flows.cli.sign import PASSPHRASE
from flows.people.signing import PASSPHRASE as LEDGER_PASSPHRASE
from reports.pdf import Attachment, write_pdf
from tasks.core.errors import BadInput, StageFailed, TamperingFound
from tasks.core.people import WorkflowRole
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.signature.credentials import fingerprint
from tasks.signature.inspection import asn1_certificate, inspect_pdf
from tasks.signature.pades import asn1_key, sign_pdf
from tests.support.certificates import EXPERT, SECRET, UNTIL, key_pem, p12, pem, pki, private, root
from tests.support.determined import NAME, NOON, Determined, Noon, determined
from tests.support.enrolled import enrol_people

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Determined:
    """Published once; each test works on a copy."""
    return determined(tmp_path_factory.mktemp("determined") / "workspace")


@pytest.fixture
def made(published: Determined, tmp_path: Path) -> Determined:
    shutil.copytree(published.workspace.root, tmp_path / "workspace")
    return Determined(type(published.workspace)(tmp_path / "workspace"))


@pytest.fixture
def signed(made: Determined) -> Path:
    return made.sign().path


@pytest.fixture
def run(releasegate: Run, made: Determined, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line, at noon, in the workspace of the test."""
    monkeypatch.setattr(flows.workspace.actor, "datetime", Noon)
    return lambda *arguments: releasegate(*arguments, "--workspace", made.workspace.root)


@pytest.fixture
def root_file(tmp_path: Path) -> Path:
    return private(tmp_path / "root.pem", pem(pki().top.certificate))


def first_line(told: Any) -> str:
    assert told.code == 3, told.out + told.err
    return str(told.err.splitlines()[0].removeprefix("error: "))


def updated(content: bytes, change: Callable[[IncrementalPdfFileWriter], None]) -> bytes:
    """The file with a further incremental update."""
    writer = IncrementalPdfFileWriter(io.BytesIO(content))
    change(writer)
    out = io.BytesIO()
    writer.write(out)
    assert out.getvalue().startswith(content)
    return out.getvalue()


def countersigned(content: bytes) -> bytes:
    other = pki().middle.issue("Second signer")
    signer = SimpleSigner(asn1_certificate(other.certificate), asn1_key(other.key), SimpleCertificateStore())
    writer = IncrementalPdfFileWriter(io.BytesIO(content))
    out: bytes = PdfSigner(PdfSignatureMetadata("Second"), signer).sign_pdf(writer).getvalue()
    return out


def other_page(writer: IncrementalPdfFileWriter) -> None:
    page = writer.root["/Pages"]["/Kids"][0]
    page["/MediaBox"] = generic.ArrayObject([generic.NumberObject(number) for number in (0, 0, 100, 100)])
    writer.update_container(page)


def test_a_signed_determination_is_an_addition_that_verifies(made: Determined) -> None:
    before = {path: path.read_bytes() for path in made.bundle.rglob("*") if path.is_file()}
    done = made.sign()
    assert {path: path.read_bytes() for path in before} == before
    digits = fingerprint(pki().expert.certificate)
    assert done.path == made.bundle / "signed" / "university" / f"{digits[:16]}.pdf"
    assert done.path.read_bytes().startswith(made.report())
    assert made.verified().signed == (f"signed/university/{digits[:16]}.pdf",)
    verify_bundle(made.bundle, None)
    (entry,) = made.entries(Event.SIGNED)
    assert entry.sequence == done.entry
    assert dict(entry.body) == {
        "record_sha256": made.entries(Event.DECIDED)[0].body["record_sha256"],
        "report_sha256": flows.actions.expert_signature._sha256(made.report()),
        "signed_sha256": done.sha256,
        "certificate_sha256": digits,
        "subject": f"CN={EXPERT},O=Registry",
    }
    assert str(done.named).startswith("A. Lindqvist, PhD")
    assert entry.actor != done.expert
    assert not made.workspace.additions(NAME).exists()


def test_several_experts_may_sign_and_each_once(made: Determined) -> None:
    made.sign()
    made.sign(recipient="registry")
    made.sign(pki().middle.issue("Second expert"))
    assert len(made.verified().signed) == 3
    with pytest.raises(BadInput, match="already signed with this certificate"):
        made.sign()
    assert len(made.entries(Event.SIGNED)) == 3


@pytest.mark.parametrize("place", ["report/university.pdf", "decision/registry.json", "delivery/university/data.csv"])
def test_nothing_is_signed_in_a_bundle_that_is_not_as_recorded(made: Determined, place: str) -> None:
    path = made.bundle / place
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(TamperingFound):
        made.sign()
    assert made.entries(Event.SIGNED) == ()
    assert not (made.bundle / "signed").exists()


def test_a_report_with_another_record_is_not_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a renderer might have made it: everything is as recorded, but the report holds another decision."""
    import tests.support.determined as support

    one = support.determination
    monkeypatch.setattr(support, "determination", lambda record: one(record.replace(b"university", b"universal_")))
    made = determined(tmp_path / "workspace")
    made.verified()
    with pytest.raises(TamperingFound, match="does not hold the decision"):
        made.sign()


def test_a_release_that_has_ended_is_not_signed(made: Determined) -> None:
    with pytest.raises(StageFailed, match="expired"):
        made.sign(clock=lambda: NOON + timedelta(days=500))
    assert made.entries(Event.SIGNED) == ()


def test_a_certificate_out_of_its_time_signs_nothing(made: Determined) -> None:
    late = pki().middle.issue("Late", until=NOON - timedelta(days=1))
    early = pki().middle.issue("Early", since=NOON + timedelta(days=1))
    for expert in (late, early):
        with pytest.raises(BadInput, match="not in force"):
            made.sign(expert)
    assert made.entries(Event.SIGNED) == ()


@pytest.mark.parametrize("uses", [("key_encipherment",), ()])
def test_a_certificate_for_other_purposes_or_for_none_that_is_stated_signs_nothing(
    made: Determined, uses: tuple[str, ...]
) -> None:
    with pytest.raises(BadInput, match="not for signatures"):
        made.sign(pki().middle.issue("Server", uses=uses))
    assert made.entries(Event.SIGNED) == ()


def test_a_chain_that_does_not_lead_from_the_certificate_signs_nothing(made: Determined) -> None:
    stranger = root("Another root").issue("Stranger")
    with pytest.raises(StageFailed, match="would not verify"):
        made.sign(stranger)
    assert made.entries(Event.SIGNED) == ()
    assert not made.workspace.additions(NAME).exists()


def test_what_was_interrupted_is_finished(made: Determined, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows.actions.expert_signature, "finish_additions", lambda *_: None)
    with pytest.raises(StageFailed):  # looks for what it has not moved
        made.sign()
    with pytest.raises(TamperingFound, match=r"is missing; if the command that signed it was\s+interrupted"):
        made.verified()
    monkeypatch.undo()
    made.sign(recipient="registry")
    assert len(made.verified().signed) == 2


def test_what_was_staged_and_not_recorded_is_removed(made: Determined, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.releases.cases.OpenRelease.append", killed)
    with pytest.raises(KeyboardInterrupt):
        made.sign()
    assert list(made.workspace.additions(NAME).rglob("*.pdf"))
    made.verified()
    monkeypatch.undo()
    made.sign(recipient="registry")
    assert len(made.verified().signed) == 1
    assert not made.workspace.additions(NAME).exists()


def problems(made: Determined) -> str:
    with pytest.raises(TamperingFound) as caught:
        made.verified()
    return caught.value.got


def test_a_bundle_tells_what_is_wrong_with_its_signed_determinations(made: Determined, signed: Path) -> None:
    whole = signed.read_bytes()
    signed.write_bytes(whole[:-400] + bytes([whole[-400] ^ 1]) + whole[-399:])
    assert "changed within what was signed" in problems(made)
    signed.write_bytes(updated(whole, other_page))
    assert "in a way that the signature does not allow" in problems(made)
    signed.write_bytes(countersigned(whole))
    assert "in a way that the signature allows" in problems(made)
    signed.write_bytes(made.report())
    assert "the PDF is not signed" in problems(made)
    signed.unlink()
    assert "is missing" in problems(made)
    signed.write_bytes(whole)
    shutil.copy(signed, signed.with_name("0123456789abcdef.pdf"))
    assert "another certificate than it is named by" in problems(made)
    assert "the ledger records no signature of" in problems(made)
    signed.with_name("0123456789abcdef.pdf").rename(signed.with_name("note.txt"))
    assert "note.txt is an extra file" in problems(made)


def test_the_commands_with_pkcs12(
    made: Determined, run: Run, tmp_path: Path, monkeypatch: Any, root_file: Path
) -> None:
    bundle_of_keys = private(tmp_path / "expert.p12", p12(pki().credentials()))
    signing = ("sign", NAME, "--pkcs12", bundle_of_keys)
    assert "several recipients" in run(*signing).err
    signing = (*signing, "--recipient", "university")
    asked = run(*signing)
    assert (asked.code, PASSPHRASE in asked.err) == (2, True)
    monkeypatch.setenv(PASSPHRASE, "a different passphrase")
    refused = run(*signing)
    assert (refused.code, "cannot be opened" in refused.err) == (2, True)
    assert "a different passphrase" not in refused.err.replace("got: a different passphrase", "")
    monkeypatch.setenv(PASSPHRASE, SECRET)
    told = run(*signing, "--json").document
    assert told["fingerprint"] == fingerprint(pki().expert.certificate)
    assert "signers          not checked: give --trust" in run("verify", made.bundle).out
    shown = run("verify", made.bundle, "--trust", root_file, "--json").document
    assert list(shown["signers"].values()) == [f"CN={EXPERT},O=Registry"]
    verified = run("verify", told["path"], "--trust", root_file)
    assert verified.code == 0, verified.err
    for expected in ("signed by        CN=A. Lindqvist", "as recorded      yes", "revocation       not looked up"):
        assert expected in verified.out
    assert "2026-05-04T12:00:00Z, when the ledger recorded the signature" in verified.out
    assert "everything is as recorded" in verified.out
    by_itself = " ".join(run("verify", told["path"], "--trust", root_file, "--alone").out.split())
    assert "verified: unchanged since it was signed; it was not compared with a ledger" in by_itself
    assert "everything is as recorded" not in by_itself
    assert "  state" not in by_itself
    enrol_people(made.workspace, {"Ana Ruiz": [WorkflowRole.OFFICER]}, lambda: NOON)
    why = ("--recipient", "university", "--as", "ana.ruiz", "--reason", "wrong file")
    assert run("revoke", made.bundle.name, *why).code == 0
    ended = run("verify", told["path"], "--trust", root_file, "--json").document
    assert (ended["decision"], ended["state"].partition(".")[0]) == ("approved", "revoked")
    files = [path for path in made.workspace.root.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


def test_the_commands_with_pem_and_a_person_of_the_ledger(
    made: Determined, run: Run, tmp_path: Path, monkeypatch: Any, root_file: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(LEDGER_PASSPHRASE, "ibex saiga marmot quoll")
    enrol_people(made.workspace, {"Ana Ruiz": [WorkflowRole.OFFICER]}, lambda: NOON)
    assert run("key", "create", "ana.ruiz", "--role", "officer").code == 0
    files = ("--pem", private(tmp_path / "key.pem", key_pem(pki().expert.key)),
             "--pem", private(tmp_path / "cert.pem", pem(pki().expert.certificate)),
             "--pem", private(tmp_path / "chain.pem", pem(pki().middle.certificate)))  # fmt: skip
    assert run("sign", NAME[:12], "--recipient", "registry", *files[:2]).code == 2
    told = run("sign", NAME[:12], "--recipient", "registry", *files, "--as", "ana ruiz", "--json")
    assert told.code == 0, told.err
    (entry,) = made.entries(Event.SIGNED)
    assert (entry.signer, entry.body["by"]) == ("Ana Ruiz", "Ana Ruiz")
    assert entry.body["subject"] == f"CN={EXPERT},O=Registry"
    assert run("verify", "ledger").code == 0
    assert run("verify", told.document["path"], "--trust", root_file).code == 0
    (tmp_path / "home" / ".releasegate" / "ana-ruiz.pem").unlink()
    assert run("sign", NAME, "--recipient", "university", *files, "--as", "Ana Ruiz").code == 2
    assert len(made.entries(Event.SIGNED)) == 1


def test_each_thing_that_can_be_wrong_with_a_file_has_words_of_its_own(
    made: Determined, run: Run, signed: Path, tmp_path: Path, root_file: Path
) -> None:
    whole, file = signed.read_bytes(), tmp_path / "kept.pdf"
    strangers = private(tmp_path / "other.pem", pem(root("Another root").certificate))
    namesakes = private(tmp_path / "namesake.pem", pem(root("Root of the tests").certificate))

    def told(content: bytes, trusted: Path = root_file, *more: str) -> str:
        file.write_bytes(content)
        return first_line(run("verify", file, "--trust", trusted, *more))

    middle = len(whole) - 500
    lines = {
        "flipped": told(whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :]),
        "stranger": told(whole, strangers),
        "edited": told(updated(whole, other_page)),
        "countersigned": told(countersigned(whole)),
        "unsigned": told(made.report()),
        "expired": told(whole, root_file, "--as-of", "2028-01-01"),
        "no PDF": told(b"%PDF-1.7 and nothing else"),
    }
    assert len(set(lines.values())) == len(lines)
    assert lines == {
        "flipped": "the PDF was changed within what was signed: its signature does not fit its bytes",
        "stranger": "the PDF is whole, but its signer is not trusted: the certificate leads to none of the given roots",
        "edited": "the PDF was changed after it was signed, in a way that the signature does not allow",
        "countersigned": "the PDF was added to after it was signed, in a way that the signature allows",
        "unsigned": "the PDF is not signed",
        "expired": "the PDF is whole, but it was signed with a certificate that was not in force",
        "no PDF": "the file cannot be read as a PDF",
    }
    assert told(whole, namesakes) == lines["stranger"]
    assert told(updated(whole, other_page), strangers) == lines["edited"], "bytes come before trust"
    assert told(countersigned(whole), strangers) == lines["stranger"], "trust comes before what is allowed"
    file.write_bytes(whole)
    assert run("verify", file, "--trust", root_file).code == 0


def test_a_file_by_itself_is_judged_as_of_now_or_a_day_that_is_asked_for(
    run: Run, signed: Path, root_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later(Noon):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return (UNTIL + timedelta(days=30)).astimezone(tz)

    alone = ("verify", signed, "--trust", root_file, "--alone")
    document = run(*alone, "--json").document
    assert (document["judged_as_of"], document["as_recorded"]) == ("2026-05-04T12:00:00Z, now", False)
    monkeypatch.setattr(flows.workspace.actor, "datetime", Later)
    late = run(*alone)
    assert "was not in force" in first_line(late)
    assert "in force from 2026-01-01 to 2027-01-01" in late.err
    assert "--as-of" in late.err
    assert run(*alone, "--as-of", "2026-06-01").code == 0
    recorded = run(*alone[:-1])
    assert recorded.code == 0, "the ledger says when it was signed"


def test_a_pdf_that_is_not_the_recorded_determination_is_told(
    made: Determined, run: Run, tmp_path: Path, root_file: Path
) -> None:
    """Another report that holds the same decision, signed by the same expert, but not through the gate."""
    made.sign()
    record = (made.bundle / "decision/university.json").read_bytes()
    forged = write_pdf(
        "<html lang='en'><head><title>D</title></head><body><p>Another statement</p></body></html>",
        assets={}, attachments=[Attachment("decision.json", record, "r")], moment=NOON, identifier="0" * 32,
    )  # fmt: skip
    file = tmp_path / "forged.pdf"
    file.write_bytes(sign_pdf(forged, pki().credentials(), reason="", moment=NOON))
    told = run("verify", file, "--trust", root_file)
    assert "it is not the determination that was recorded" in first_line(told)
    assert "does not begin with the recorded determination, byte for byte" in told.err
    assert "records a different file signed with this certificate" in told.err
    assert run("verify", file, "--trust", root_file, "--alone").code == 0

    other = record.replace(b'"decision":"approved"', b'"decision":"blocked"')
    assert other != record
    forged = write_pdf(
        "<html lang='en'><head><title>D</title></head><body><p>Another record</p></body></html>",
        assets={}, attachments=[Attachment("decision.json", other, "r")], moment=NOON, identifier="0" * 32,
    )  # fmt: skip
    file.write_bytes(sign_pdf(forged, pki().credentials(), reason="", moment=NOON))
    assert "decision.json is not the recorded one" in run("verify", file, "--trust", root_file).err


def test_a_report_signed_elsewhere_is_told_to_be_in_no_entry(
    made: Determined, run: Run, tmp_path: Path, root_file: Path
) -> None:
    """With a smart card, say: the bytes are the recorded ones, and the ledger knows nothing of the signature."""
    file = tmp_path / "elsewhere.pdf"
    file.write_bytes(sign_pdf(made.report(), pki().credentials(), reason="I agree", moment=NOON))
    document = run("verify", file, "--trust", root_file, "--json").document
    assert (document["as_recorded"], document["ledger_entry"]) == (True, "none")
    assert document["judged_as_of"].endswith("now")


def test_misuse_is_told(run: Run, made: Determined, signed: Path, root_file: Path, tmp_path: Path) -> None:
    assert "a signed determination goes with --trust" in run("verify", signed).err
    assert "goes with the ledger" in run("verify", signed, "--trust", root_file, "--anchor", signed).err
    assert "--as-of goes with" in run("verify", made.bundle, "--as-of", "2026-01-01").err
    assert run("verify", tmp_path / "none.pdf", "--trust", root_file).code == 2
    assert run("verify", signed, "--trust", signed).code == 2
    empty = determined(tmp_path / "unsigned")
    told = run("verify", empty.bundle, "--trust", root_file)
    assert told.code != 0


def test_no_network_is_used(made: Determined, run: Run, root_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "create_connection", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    path = made.sign().path
    assert run("verify", path, "--trust", root_file).code == 0


def test_the_record_in_the_pdf_is_the_one_in_the_bundle(made: Determined, signed: Path) -> None:
    held = inspect_pdf(signed.read_bytes()).record
    assert held == (made.bundle / "decision/university.json").read_bytes()
    assert json.loads(held or b"")["release_id"] == NAME
