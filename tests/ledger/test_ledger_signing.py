"""Signatures of people: what they cover, which key they need, and that a rewritten chain breaks them."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.core.errors import BadInput, TamperingFound
from tasks.core.people import WorkflowRole
from tasks.ledger.chain import ChainCheck, Checkpoints
from tasks.ledger.entry import GENESIS, Event, Head, Row, new_row
from tasks.ledger.signing import OfferedKey, Signer, fingerprint, is_signed_with, registration, retirement
from tasks.ledger.store import Ledger
from tests.support.ledgers import NOON, Place, Raw, add


def signer(name: str, seed: int = 1) -> Signer:
    return Signer(name, Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


ANA, BEN, CLEO = signer("Ana Ré", 1), signer("Ben", 2), signer("Cleo", 3)


def enrol(ledger: Ledger, who: Signer, *roles: WorkflowRole, number: int = 0) -> None:
    body = registration(who, roles or (WorkflowRole.REVIEWER,), NOON + timedelta(seconds=number))
    add(ledger, number, Event.KEY_REGISTERED, release_id=None, recipient=None, body=body, signer=who)


def vote(ledger: Ledger, who: str, signed_by: Signer | None, number: int = 9) -> None:
    add(ledger, number, Event.VOTED, actor="login", body={"reviewer": who}, signer=signed_by)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(BadInput) as caught:
        call()
    return caught.value.what


def test_a_signature_is_that_of_ed25519_over_the_canonical_fields() -> None:
    row = BEN.sign(
        new_row(
            Head(0, GENESIS), Event.VOTED, release_id="r1", recipient=None, actor="login", body={"reviewer": "Ben"},
            at=NOON,
        )
    )  # fmt: skip
    text = (
        'releasegate ledger entry\n{"actor":"login","at":"2026-05-04T12:00:00.000000Z",'
        '"body":"{\\"reviewer\\":\\"Ben\\"}",'
        f'"event":"voted","prev_sha256":"{"0" * 64}","recipient":null,"release_id":"r1","sequence":1,"signer":"Ben"}}\n'
    )
    assert row.signature is not None
    BEN.key.public_key().verify(base64.b64decode(row.signature), text.encode())
    row.check_intact()
    assert is_signed_with(row, BEN.public_key)
    assert not is_signed_with(row, ANA.public_key)


@pytest.mark.parametrize("field", [name for name in Row._fields if name not in {"sha256", "signature"}])
def test_a_signature_covers_every_field(field: str) -> None:
    row = BEN.sign(
        new_row(Head(0, GENESIS), Event.VOTED, release_id="r1", recipient="a", actor="login", body={}, at=NOON)
    )
    changed = row._replace(**{field: 2 if field == "sequence" else "other"})
    assert not is_signed_with(changed, BEN.public_key)


def test_no_key_is_shown() -> None:
    assert "key" not in repr(BEN).replace("Ed25519", "")


def test_signed_entries_verify_and_keys_are_listed(place: Place) -> None:
    with Ledger.open(place) as ledger:
        enrol(ledger, ANA)
        enrol(ledger, BEN, WorkflowRole.OFFICER, WorkflowRole.REQUESTER)
        vote(ledger, "ana RÉ", ANA)
        add(ledger, 9, Event.REVOKED, body={"by": "Ben", "role": "officer"}, signer=BEN)
        add(ledger, 9, Event.DECIDED)
        (ana, _) = ledger.registered_keys()
        add(ledger, 10, Event.KEY_RETIRED, body=retirement(ana))
        enrol(ledger, signer("Ana Ré", 7), number=11)
        vote(ledger, "Ana Ré", signer("Ana Ré", 7), 12)
        assert ledger.verify(Checkpoints(fingerprints=[ana.fingerprint, fingerprint(BEN.public_key)])) == 8
        assert [(key.name, key.roles, key.registered, key.retired) for key in ledger.registered_keys()] == [
            ("Ana Ré", (WorkflowRole.REVIEWER,), 1, 6),
            ("Ben", (WorkflowRole.OFFICER, WorkflowRole.REQUESTER), 2, None),
            ("Ana Ré", (WorkflowRole.REVIEWER,), 7, None),
        ]
        assert ledger.entries(event=Event.VOTED)[0].signer == "Ana Ré"


def test_what_is_not_signed_as_it_should_be_is_not_recorded(place: Place) -> None:
    with Ledger.open(place) as ledger:
        vote(ledger, "Ana Ré", None)  # nobody has a key yet
        enrol(ledger, ANA)
        enrol(ledger, BEN, WorkflowRole.OFFICER)
        (ana, _) = ledger.registered_keys()
        assert "not signed" in refused(lambda: vote(ledger, "Ana Ré", None))
        assert "not signed" in refused(lambda: vote(ledger, " ANA  ré", None))
        assert "person other than the one it names" in refused(lambda: vote(ledger, "Ana Ré", BEN))
        assert "without a key" in refused(lambda: vote(ledger, "Cleo", CLEO))
        assert "signature of an entry is wrong" in refused(lambda: vote(ledger, "Ana Ré", signer("Ana Ré", 5)))
        assert "another role" in refused(lambda: vote(ledger, "Ben", BEN))
        assert "before the last entry" in refused(lambda: vote(ledger, "Ana Ré", ANA, -120))
        later = registration(CLEO, [WorkflowRole.REVIEWER], NOON + timedelta(hours=1))
        add(ledger, 0, Event.KEY_REGISTERED, body=later, signer=CLEO)
        assert "before its key is valid" in refused(lambda: vote(ledger, "Cleo", CLEO))
        assert "already registered for this name" in refused(lambda: enrol(ledger, signer("ana ré", 6)))
        assert "registered before" in refused(lambda: enrol(ledger, Signer("Dora", BEN.key)))
        add(ledger, 10, Event.KEY_RETIRED, body=retirement(ana))
        assert "not in force" in refused(lambda: add(ledger, 10, Event.KEY_RETIRED, body=retirement(ana)))
        assert "without a key" in refused(lambda: vote(ledger, "Ana Ré", ANA))
        assert "registered before" in refused(lambda: enrol(ledger, ANA))
        assert ledger.verify() == 5


def test_a_key_is_registered_by_whoever_holds_it(place: Place) -> None:
    with Ledger.open(place) as ledger:
        body = registration(ANA, [WorkflowRole.REVIEWER], NOON)
        for by in (None, BEN, signer("Ana Ré", 2)):
            assert "regist" in refused(lambda by=by: add(ledger, 0, Event.KEY_REGISTERED, body=body, signer=by))
        for spoilt in ({"roles": ["gate"]}, {"roles": []}, {"roles": [[]]}, {"public_key": "AA=="}, {"name": " x"},
                       {"valid_from": "soon"}, {"valid_from": "2026-05-04T11:00:00.000000Z"}):  # fmt: skip
            call = lambda spoilt=spoilt: add(ledger, 0, Event.KEY_REGISTERED, body=body | spoilt, signer=ANA)  # noqa: E731
            assert "cannot be read" in refused(call)
        assert ledger.verify() == 0


@pytest.mark.parametrize(("by", "allowed"), [(ANA, True), (BEN, True), (CLEO, False)])
def test_a_key_is_retired_by_its_holder_or_an_officer_or_without_a_signature(
    place: Place, by: Signer, allowed: bool
) -> None:
    with Ledger.open(place) as ledger:
        for who, role in ((ANA, WorkflowRole.REVIEWER), (BEN, WorkflowRole.OFFICER), (CLEO, WorkflowRole.REVIEWER)):
            enrol(ledger, who, role)
        body = retirement(ledger.registered_keys()[0])
        if allowed:
            add(ledger, 1, Event.KEY_RETIRED, body=body, signer=by)
        else:
            assert "by somebody else" in refused(lambda: add(ledger, 1, Event.KEY_RETIRED, body=body, signer=by))
        assert ledger.verify() == 3 + allowed


@pytest.mark.parametrize("name", ["", " Ana", "A\nB", "x" * 201, "\u202e"])
def test_a_name_that_cannot_be_one(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        registration(signer(name), [WorkflowRole.REVIEWER], NOON)


@pytest.fixture
def signed(place: Place) -> Place:
    """Entries 1–7: two keys, a decision, Ana's vote, Ben's, a failure, the end of Ana's key."""
    with Ledger.open(place) as ledger:
        enrol(ledger, ANA)
        enrol(ledger, BEN)
        add(ledger, 1, Event.DECIDED, body={"decision": "blocked"})
        vote(ledger, "Ana Ré", ANA)
        vote(ledger, "Ben", BEN)
        add(ledger, 10, Event.FAILED)
        add(ledger, 11, Event.KEY_RETIRED, body=retirement(ledger.registered_keys()[0]))
    return place


def rewritten(rows: list[Row], change: Callable[[Row], Row]) -> list[Row]:
    """What an administrator makes of a chain without anybody's key: every hash and link is right again."""
    made, head = [], GENESIS
    for row in rows:
        changed = change(row)._replace(prev_sha256=head)
        made.append(changed._replace(sha256=changed.computed_sha256() or ""))
        head = made[-1].sha256
    return made


def stored(place: Place) -> list[Row]:
    with Ledger.open(place) as ledger:
        return [
            Row(
                one.sequence, one.at.isoformat(timespec="microseconds").replace("+00:00", "Z"), one.event.value,
                one.release_id, one.recipient, one.actor,
                json.dumps(one.body, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
                one.prev_sha256, one.sha256, one.signer, one.signature,
            )
            for one in ledger.entries()
        ]  # fmt: skip


def unsigned(row: Row) -> Row:
    return row._replace(signer=None, signature=None)


def at(sequence: int, change: Callable[[Row], Row]) -> Callable[[Row], Row]:
    return lambda row: change(row) if row.sequence == sequence else row


def body(text: str) -> Callable[[Row], Row]:
    return lambda row: row._replace(body=text)


CHANGES: dict[str, tuple[Callable[[Row], Row], int, str]] = {
    "an earlier decision": (at(3, body('{"decision":"approved"}')), 4, "signature of an entry"),
    "the last signed entry": (at(5, body('{"reviewer":"Ben","x":1}')), 5, "signature of an entry"),
    "a vote's signature left out": (at(4, unsigned), 4, "is not signed"),
    "another's signature": (at(4, BEN.sign), 4, "person other than the one it names"),
    "half a signature": (at(4, lambda row: row._replace(signature=None)), 4, "half a signature"),
    "a registration's signature left out": (at(1, unsigned), 1, "without a signature"),
    "another's key registered": (
        at(1, lambda row: row._replace(body=row.body.replace(ANA.public_key, CLEO.public_key))),
        1,
        "signature of a key's registration",
    ),
    "a retirement of nobody's key": (at(7, body('{"name":"Dora","public_key":""}')), 7, "not in force"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_chain_rewritten_without_the_keys_is_found_and_the_first_entry_named(signed: Place, kind: str) -> None:
    change, sequence, what = CHANGES[kind]
    with pytest.raises(TamperingFound, match=what) as caught:
        check(rewritten(stored(signed), change))
    assert caught.value.where == f"ledger entry {sequence}"


def check(rows: list[Row], fingerprints: tuple[str, ...] = ()) -> tuple[int, int]:
    walk = ChainCheck(Checkpoints(fingerprints=fingerprints))
    for row in rows:
        walk.add(row)
    return walk.finish(), walk.signatures


def test_the_chain_as_it_was_is_right(signed: Place) -> None:
    rows = stored(signed)
    assert rewritten(rows, lambda row: row) == rows
    assert check(rows, (fingerprint(ANA.public_key), fingerprint(BEN.public_key))) == (7, 4)


def test_only_something_outside_tells_of_a_chain_rewritten_without_any_key(signed: Place) -> None:
    """The registrations are taken for other events, the signatures left out: as if nobody had ever had a key."""
    rows = rewritten(
        stored(signed),
        lambda row: unsigned(row)._replace(event="assessed") if row.event.startswith("key") else unsigned(row),
    )
    assert check(rows) == (7, 0)
    with pytest.raises(TamperingFound, match="key that was noted outside"):
        check(rows, (fingerprint(ANA.public_key),))


def test_verify_finds_a_rewritten_ledger_in_the_database(signed: Place, request: pytest.FixtureRequest) -> None:
    rows = rewritten(stored(signed), CHANGES["an earlier decision"][0])
    raw: Raw = request.getfixturevalue("raw_of")(signed)
    raw.unguard()
    for row in rows:
        raw.execute(
            f"UPDATE entry SET body = '{row.body}', sha256 = '{row.sha256}', prev_sha256 = '{row.prev_sha256}' "
            f"WHERE sequence = {row.sequence}"
        )
    raw.guard()
    with Ledger.open(signed) as ledger, pytest.raises(TamperingFound, match="signature of an entry") as caught:
        ledger.verify()
    assert caught.value.where == "ledger entry 4"


def offer(ledger: Ledger, key: OfferedKey, number: int = 0, **changes: object) -> None:
    body = key.registration(NOON + timedelta(seconds=number)) | changes
    add(ledger, number, Event.KEY_REGISTERED, release_id=None, recipient=None, body=body)


def test_a_key_that_was_offered_elsewhere_signs_as_any_other(place: Place) -> None:
    offered = OfferedKey.of(ANA, [WorkflowRole.REVIEWER])
    assert offered.is_sound()
    with Ledger.open(place) as ledger:
        offer(ledger, offered)
        assert (
            refused(lambda: vote(ledger, ANA.name, None)) == "an entry of a person with a registered key is not signed"
        )
        vote(ledger, ANA.name, ANA)
        ledger.verify()
        (key,) = ledger.registered_keys()
        assert (key.name, key.roles, key.public_key) == (ANA.name, (WorkflowRole.REVIEWER,), ANA.public_key)


@pytest.mark.parametrize(
    "changes",
    [
        {"proof": ""},
        {"proof": "AAAA"},
        {"proof": 1},
        {"name": "Ben"},
        {"roles": ["officer"]},
        {"roles": ["officer", "reviewer"]},
        {"public_key": BEN.public_key},
    ],
)
def test_an_offer_of_another_name_role_or_key_is_refused(place: Place, changes: dict[str, object]) -> None:
    with Ledger.open(place) as ledger:
        told = refused(lambda: offer(ledger, OfferedKey.of(ANA, [WorkflowRole.REVIEWER]), **changes))
        assert told in {
            "a key was registered without a signature",
            "the signature of a key's registration is wrong",
        }
        assert ledger.registered_keys() == ()


def test_an_offer_counts_once(place: Place) -> None:
    offered = OfferedKey.of(ANA, [WorkflowRole.REVIEWER])
    with Ledger.open(place) as ledger:
        offer(ledger, offered)
        assert refused(lambda: offer(ledger, offered, 1)) == "a key is already registered for this name"
        (key,) = ledger.registered_keys()
        add(ledger, 2, Event.KEY_RETIRED, release_id=None, recipient=None, body=retirement(key))
        assert refused(lambda: offer(ledger, offered, 3)) == "this key was registered before"


def test_no_signature_of_an_entry_is_an_offer_and_no_offer_one_of_an_entry() -> None:
    offered = OfferedKey.of(ANA, [WorkflowRole.REVIEWER])
    row = ANA.sign(new_row(Head(0, GENESIS), Event.VOTED, release_id="r1", recipient=None, actor="x", body={}, at=NOON))
    assert not replace(offered, proof=str(row.signature)).is_sound()
    assert not is_signed_with(row._replace(signature=offered.proof), ANA.public_key)
