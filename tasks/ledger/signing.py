"""Signatures of people in the ledger: keys, signed bytes, and the holder of each key at each entry.

A key is registered and retired by entries of the ledger itself; a registration is signed with the key it registers, or
holds a signature that its holder has made elsewhere, so that nobody can register a key that they do not hold. Until the
key is retired, all actions of that person must be signed with it. A signature covers the hash of the previous entry:
rewriting the chain would need the keys of everybody who signed later.

Pure: no file, no database, no clock. Only people can establish who really holds a key, by comparing fingerprints.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tasks.core.canonical import canonical_json
from tasks.core.people import WorkflowRole, person_key, same_person
from tasks.ledger.entry import SKEW, Event, Row, stamp

KEY_EVENTS = (Event.KEY_REGISTERED, Event.KEY_RETIRED)
"""Entries about keys."""

PERSONAL: dict[str, str] = {
    Event.VOTED: "reviewer",
    Event.REVOKED: "by",
    Event.OVERRIDDEN: "by",
    Event.SIGNED: "by",
    Event.COMMENTED: "by",
    Event.ENROLLED: "by",
    Event.ENROLMENT_ENDED: "by",
}
"""Events that only a person causes, and the key of the body that names them; ``signed`` may name no one.

So may the first ``enrolled``."""

ROLES = (WorkflowRole.REQUESTER, WorkflowRole.REVIEWER, WorkflowRole.OFFICER)
"""Roles of people; the gate itself has no key."""

LONGEST_NAME = 200
_CONTEXT = b"releasegate ledger entry\n"  # so that no signature made for another purpose fits
_OFFER_CONTEXT = b"releasegate public key\n"
_KEY_BYTES = 32
_EVENT_ROLES: dict[str, frozenset[WorkflowRole]] = {
    Event.VOTED: frozenset({WorkflowRole.REVIEWER}),
    Event.OVERRIDDEN: frozenset({WorkflowRole.OFFICER}),
    Event.REVOKED: frozenset({WorkflowRole.REQUESTER, WorkflowRole.OFFICER}),
    Event.ENROLLED: frozenset({WorkflowRole.OFFICER}),
    Event.ENROLMENT_ENDED: frozenset({WorkflowRole.OFFICER}),
}


class UnsoundEntry(Exception):
    """An entry that is not signed as it should be; quotes nothing of it."""

    def __init__(self, what: str, expected: str, got: str, fix: str = "") -> None:
        self.what, self.expected, self.got, self.fix = what, expected, got, fix


@dataclass(frozen=True)
class Signer:
    """A person with their private key."""

    name: str
    key: Ed25519PrivateKey = field(repr=False)

    @property
    def public_key(self) -> str:
        """The public key, 32 bytes in Base64."""
        return base64.b64encode(self.key.public_key().public_bytes_raw()).decode()

    def sign(self, row: Row) -> Row:
        """The row with signer, signature and the hash of both; a ValueError where its fields cannot be text."""
        named = row._replace(signer=self.name)
        signature = self.key.sign(_CONTEXT + named.signed_bytes())
        return named._replace(signature=base64.b64encode(signature).decode()).hashed()


def is_signed_with(row: Row, public_key: str) -> bool:
    """Whether a row's signature is that of its fields under a key, 32 bytes in Base64."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key))
        key.verify(base64.b64decode(row.signature or "", validate=True), _CONTEXT + row.signed_bytes())
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """SHA-256 of a public key's 32 bytes, in hexadecimal."""
    return hashlib.sha256(base64.b64decode(public_key)).hexdigest()


def registration(signer: Signer, roles: Iterable[WorkflowRole], valid_from: datetime) -> dict[str, object]:
    """Body of ``key registered``: holder, roles, public key, and the time from which it signs.

    A ValueError says that the name is empty, too long or cannot be printed, or a role is none of a person's.
    """
    return _registration(signer.name, roles, signer.public_key, valid_from)


def _registration(name: str, roles: Iterable[WorkflowRole], public_key: str, valid_from: datetime) -> dict[str, object]:
    chosen = sorted(set(roles))
    if not chosen or not set(chosen) <= set(ROLES):
        raise ValueError("a key is registered for at least one role of a person")
    if not is_name(name):
        raise ValueError("the name of a key's holder must be printable text")
    return {
        "name": name,
        "roles": [role.value for role in chosen],
        "public_key": public_key,
        "valid_from": stamp(valid_from),
    }


@dataclass(frozen=True)
class OfferedKey:
    """A public key that its holder has made elsewhere and signed, to be registered in a ledger."""

    name: str
    roles: tuple[WorkflowRole, ...]
    public_key: str
    """32 bytes in Base64."""
    proof: str
    """Ed25519 signature, Base64, of name, roles and public key, by the key itself."""

    @classmethod
    def of(cls, signer: Signer, roles: Iterable[WorkflowRole]) -> "OfferedKey":
        """Offer the public key of a person for some roles."""
        chosen = tuple(sorted(set(roles)))
        proof = signer.key.sign(_offered_bytes(signer.name, chosen, signer.public_key))
        return cls(signer.name, chosen, signer.public_key, base64.b64encode(proof).decode())

    def is_sound(self) -> bool:
        """Whether the proof is a signature of the other fields by the key."""
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(self.public_key, validate=True))
            proof = base64.b64decode(self.proof, validate=True)
            key.verify(proof, _offered_bytes(self.name, self.roles, self.public_key))
        except (InvalidSignature, TypeError, ValueError):
            return False
        return True

    def registration(self, valid_from: datetime) -> dict[str, object]:
        """Body of ``key registered``, whose entry then needs no signature of its own; a ValueError as there."""
        return _registration(self.name, self.roles, self.public_key, valid_from) | {"proof": self.proof}


def _offered_bytes(name: str, roles: Iterable[WorkflowRole], public_key: str) -> bytes:
    offered = {"name": name, "roles": sorted(role.value for role in roles), "public_key": public_key}
    return _OFFER_CONTEXT + canonical_json(offered)


def retirement(key: "RegisteredKey") -> dict[str, object]:
    """Body of ``key retired``: holder and public key."""
    return {"name": key.name, "public_key": key.public_key}


def is_name(text: str) -> bool:
    """Whether a text can be a name: not empty, printable, of one line, without spaces around it."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


@dataclass(frozen=True)
class RegisteredKey:
    """A key of the ledger, and the entries between which it is in force."""

    name: str
    roles: tuple[WorkflowRole, ...]
    public_key: str
    """32 bytes in Base64."""
    valid_from: str
    """ISO 8601, UTC; an entry that it signs is not earlier."""
    registered: int
    """Sequence of the entry that registered it."""
    retired: int | None
    """Sequence of the entry that retired it; None while it is in force."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the public key, which people compare."""
        return fingerprint(self.public_key)


class KeyBook:
    """Follows the entries of a ledger in order, and knows the keys in force."""

    def __init__(self) -> None:
        self._active: dict[str, RegisteredKey] = {}
        self._keys: dict[int, RegisteredKey] = {}

    @property
    def keys(self) -> tuple[RegisteredKey, ...]:
        """All keys, in the order of their registration."""
        return tuple(self._keys.values())

    def active(self, name: str) -> RegisteredKey | None:
        """The key of a person that is in force; None for none."""
        return self._active.get(person_key(name))

    def add(self, row: Row) -> None:
        """Take the next row; an UnsoundEntry, which is not taken, is not signed as it should be."""
        if row.event == Event.KEY_REGISTERED:
            self._register(row)
            return
        if row.event in PERSONAL or row.signer is not None or row.signature is not None:
            self._check(row)
        if row.event == Event.KEY_RETIRED:
            self._retire(row)

    def _check(self, row: Row) -> None:
        """Check signer and signature of an entry that is not a registration."""
        body = _body(row)
        person = body.get(PERSONAL[row.event]) if row.event in PERSONAL else None
        if row.signer is None or row.signature is None:
            whole = row.signer is None and row.signature is None
            _demand(whole, "half a signature", "a signer and a signature, or neither", "one of them")
            _demand(
                not isinstance(person, str) or self.active(person) is None,
                "an entry of a person with a registered key is not signed",
                "a signature with the key in force",
                "none",
                "Sign it with the key that was registered for this person.",
            )
            return
        key = self.active(row.signer)
        if key is None:
            raise UnsoundEntry("an entry is signed by somebody without a key", "a key in force", "none")
        _demand(
            person is None or (isinstance(person, str) and same_person(person, row.signer)),
            "an entry is signed by a person other than the one it names",
            "the signature of the person named",
            "another person's signature",
        )
        roles = _EVENT_ROLES.get(row.event, frozenset(key.roles))
        _demand(
            not roles.isdisjoint(key.roles),
            "an entry is signed with a key of another role",
            f"a key registered as {' or '.join(sorted(roles))}",
            f"a key registered as {', '.join(key.roles)}",
            "Register a key for this role.",
        )
        before = "an entry is signed before its key is valid"
        _demand(row.at >= key.valid_from, before, "a later time", "an earlier time")
        _demand(
            is_signed_with(row, key.public_key),
            "the signature of an entry is wrong",
            "the signature of these fields, with the key registered for the signer",
            "a different signature: this entry, or one before it, is not what was signed",
        )
        _demand(
            row.event != Event.KEY_RETIRED
            or WorkflowRole.OFFICER in key.roles
            or same_person(str(body.get("name")), key.name),
            "a key was retired by somebody else",
            "the signature of its holder or of an officer",
            "another person's signature",
        )

    def _register(self, row: Row) -> None:
        own, proof = "a signature with the key itself", _body(row).get("proof")
        _demand(row.signature is not None or bool(proof), "a key was registered without a signature", own, "none")
        key = _registered(row)
        other = "a key was registered by somebody else"
        _demand(row.signer in {key.name, None}, other, "a signature of its holder", "another name")
        _demand(
            self.active(key.name) is None,
            "a key is already registered for this name",
            "one key for each person",
            "a second",
            "Retire the key that is in force first: releasegate key retire NAME.",
        )
        _demand(
            all(known.public_key != key.public_key for known in self._keys.values()),
            "this key was registered before",
            "a new key",
            "a key that is or was registered",
            "Make a new key.",
        )
        wrong = "the signature of a key's registration is wrong"
        signed = is_signed_with(row, key.public_key)
        if row.signer is None and row.signature is None:
            signed = OfferedKey(key.name, key.roles, key.public_key, str(proof)).is_sound()
        _demand(signed, wrong, own, "a different signature")
        self._active[person_key(key.name)] = self._keys[row.sequence] = key

    def _retire(self, row: Row) -> None:
        body = _body(row)
        key = self.active(str(body.get("name")))
        if key is None or body.get("public_key") != key.public_key:
            raise UnsoundEntry(
                "a key was retired that is not in force", "the key in force of its holder", "a different key"
            )
        del self._active[person_key(key.name)]
        self._keys[key.registered] = replace(key, retired=row.sequence)


def _demand(sound: bool, what: str, expected: str, got: str, fix: str = "") -> None:
    if not sound:
        raise UnsoundEntry(what, expected, got, fix)


def _body(row: Row) -> Mapping[str, Any]:
    body = row.object_in_body()
    if body is None:
        raise UnsoundEntry("the body of an entry cannot be read", "a JSON object", "something else")
    return body


def _registered(row: Row) -> RegisteredKey:
    body = _body(row)
    try:
        name, roles, public_key, valid_from = (body[one] for one in ("name", "roles", "public_key", "valid_from"))
        key = RegisteredKey(name, tuple(map(WorkflowRole, roles)), public_key, valid_from, row.sequence, None)
        sound = (
            is_name(name)
            and len(base64.b64decode(public_key, validate=True)) == _KEY_BYTES
            # Others may have appended since the registering clock was read, and moved the entry's time.
            and stamp(datetime.fromisoformat(row.at) - SKEW) <= valid_from == stamp(datetime.fromisoformat(valid_from))
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        sound = False
    if not (sound and key.roles and set(key.roles) <= set(ROLES)):
        raise UnsoundEntry(
            "a key's registration cannot be read",
            "a name, roles, a public key and a time not in the past",
            "something else",
        )
    return key
