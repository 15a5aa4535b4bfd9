"""Signatures of people in the ledger: keys, signed bytes, and the holder of each key at each entry.

A key is registered and retired by entries of the ledger itself; a registration is signed with the key it registers, so
that nobody can register a key that they do not hold. Until the key is retired, all actions of that person must be
signed with it. A signature covers the hash of the previous entry: rewriting the chain would need the keys of everybody
who signed later.

Pure: no file, no database, no clock. Only people can establish who really holds a key, by comparing fingerprints.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tasks.core.people import WorkflowRole, person_key
from tasks.ledger.entry import Event, Row

KEY_EVENTS = (Event.KEY_REGISTERED, Event.KEY_RETIRED)
"""Entries about keys."""

PERSONAL: dict[str, str] = {
    Event.VOTED: "reviewer",
    Event.REVOKED: "by",
    Event.OVERRIDDEN: "by",
    Event.SIGNED: "by",
}
"""Events that only a person causes, and the key of the body that names them; ``signed`` may name no one."""

ROLES = (WorkflowRole.REQUESTER, WorkflowRole.REVIEWER, WorkflowRole.OFFICER)
"""Roles of people; the gate itself has no key."""

LONGEST_NAME = 200
_ROLE_NAMES = tuple(role.value for role in ROLES)
_CONTEXT = b"releasegate ledger entry\n"  # so that no signature made for another purpose fits
_KEY_BYTES = 32
_EVENT_ROLES: dict[str, frozenset[WorkflowRole]] = {
    Event.VOTED: frozenset({WorkflowRole.REVIEWER}),
    Event.OVERRIDDEN: frozenset({WorkflowRole.OFFICER}),
    Event.REVOKED: frozenset({WorkflowRole.REQUESTER, WorkflowRole.OFFICER}),
}


class UnsoundEntry(Exception):
    """An entry that is not signed as it should be; quotes nothing of it."""

    def __init__(self, what: str, expected: str, got: str, fix: str = "") -> None:
        self.what, self.expected, self.got, self.fix = what, expected, got, fix
        super().__init__(what)


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
        """The row with signer, signature and the hash of both.

        Raises
        ------
        ValueError
            If its fields cannot be text.
        """
        named = row._replace(signer=self.name)
        signature = self.key.sign(_CONTEXT + named.signed_bytes())
        return named._replace(signature=base64.b64encode(signature).decode()).hashed()


def is_signed_with(row: Row, public_key: Ed25519PublicKey) -> bool:
    """Whether a row's signature is that of its fields under a key."""
    try:
        public_key.verify(base64.b64decode(row.signature or "", validate=True), _CONTEXT + row.signed_bytes())
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """SHA-256 of a public key's 32 bytes, in hexadecimal."""
    return hashlib.sha256(base64.b64decode(public_key)).hexdigest()


def registration(signer: Signer, roles: Iterable[WorkflowRole], valid_from: datetime) -> dict[str, object]:
    """Body of ``key registered``: holder, roles, public key, and the time from which it signs.

    Raises
    ------
    ValueError
        If the name is empty, too long or holds what cannot be printed, or a role is none of a person's.
    """
    chosen = sorted({WorkflowRole(role).value for role in roles})
    if not chosen or not set(chosen) <= set(_ROLE_NAMES):
        raise ValueError("a key is registered for at least one role of a person")
    if not is_name(signer.name):
        raise ValueError("the name of a key's holder must be printable text")
    return {
        "name": signer.name,
        "roles": chosen,
        "public_key": signer.public_key,
        "valid_from": valid_from.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
    }


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
        self._active: dict[str, tuple[RegisteredKey, Ed25519PublicKey]] = {}
        self._keys: dict[int, RegisteredKey] = {}

    @property
    def keys(self) -> tuple[RegisteredKey, ...]:
        """All keys, in the order of their registration."""
        return tuple(self._keys.values())

    def active(self, name: str) -> RegisteredKey | None:
        """The key of a person that is in force; None for none."""
        found = self._active.get(person_key(name))
        return found[0] if found else None

    def missing(self, fingerprints: Collection[str]) -> tuple[str, ...]:
        """Fingerprints that belong to no key that was ever registered."""
        known = {key.fingerprint for key in self._keys.values()}
        return tuple(one for one in fingerprints if one not in known)

    def add(self, row: Row) -> None:
        """Take the next row.

        Raises
        ------
        UnsoundEntry
            If it is not signed as it should be; it is not taken then.
        """
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
            if row.signer is not None or row.signature is not None:
                raise UnsoundEntry("half a signature", "a signer and a signature, or neither", "one of them")
            if isinstance(person, str) and self.active(person) is not None:
                raise UnsoundEntry(
                    "an entry of a person with a registered key is not signed",
                    "a signature with the key in force",
                    "none",
                    "Sign it with the key that was registered for this person.",
                )
            return
        found = self._active.get(person_key(row.signer))
        if found is None:
            raise UnsoundEntry("an entry is signed by somebody without a key", "a key in force", "none")
        key, public_key = found
        if person is not None and (not isinstance(person, str) or person_key(person) != person_key(row.signer)):
            raise UnsoundEntry(
                "an entry is signed by a person other than the one it names",
                "the signature of the person named",
                "another person's signature",
            )
        roles = _EVENT_ROLES.get(row.event)
        if roles is not None and roles.isdisjoint(key.roles):
            raise UnsoundEntry(
                "an entry is signed with a key of another role",
                f"a key registered as {' or '.join(sorted(roles))}",
                f"a key registered as {', '.join(key.roles)}",
                "Register a key for this role.",
            )
        if row.at < key.valid_from:
            raise UnsoundEntry("an entry is signed before its key is valid", "a later time", "an earlier time")
        if not is_signed_with(row, public_key):
            raise UnsoundEntry(
                "the signature of an entry is wrong",
                "the signature of these fields, with the key registered for the signer",
                "a different signature: this entry, or one before it, is not what was signed",
            )
        if (
            row.event == Event.KEY_RETIRED
            and WorkflowRole.OFFICER not in key.roles
            and person_key(str(body.get("name"))) != person_key(key.name)
        ):
            raise UnsoundEntry(
                "a key was retired by somebody else",
                "the signature of its holder or of an officer",
                "another person's signature",
            )

    def _register(self, row: Row) -> None:
        if row.signature is None:
            raise UnsoundEntry("a key was registered without a signature", "a signature with the key itself", "none")
        key = _registered(row)
        if key.name != row.signer:
            raise UnsoundEntry("a key was registered by somebody else", "a signature of its holder", "another name")
        if self.active(key.name) is not None:
            raise UnsoundEntry(
                "a key is already registered for this name",
                "one key for each person",
                "a second",
                "Retire the key that is in force first: releasegate key retire NAME.",
            )
        if any(known.public_key == key.public_key for known in self._keys.values()):
            raise UnsoundEntry(
                "this key was registered before", "a new key", "a key that is or was registered", "Make a new key."
            )
        public_key = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public_key))
        if not is_signed_with(row, public_key):
            raise UnsoundEntry(
                "the signature of a key's registration is wrong",
                "a signature with the key itself",
                "a different signature",
            )
        self._active[person_key(key.name)] = (key, public_key)
        self._keys[row.sequence] = key

    def _retire(self, row: Row) -> None:
        body = _body(row)
        name = body.get("name")
        key = self.active(name) if isinstance(name, str) else None
        if key is None or body.get("public_key") != key.public_key:
            raise UnsoundEntry(
                "a key was retired that is not in force", "the key in force of its holder", "a different key"
            )
        del self._active[person_key(key.name)]
        self._keys[key.registered] = replace(key, retired=row.sequence)


def _body(row: Row) -> Mapping[str, object]:
    try:
        body = json.loads(row.body)
    except (TypeError, ValueError):
        body = None
    if not isinstance(body, dict):
        raise UnsoundEntry("the body of an entry cannot be read", "a JSON object", "something else")
    return body


def _registered(row: Row) -> RegisteredKey:
    body = _body(row)
    name, roles, public_key, valid_from = (body.get(one) for one in ("name", "roles", "public_key", "valid_from"))
    if (
        isinstance(name, str)
        and is_name(name)
        and isinstance(roles, list)
        and roles
        and all(role in _ROLE_NAMES for role in roles)
        and isinstance(public_key, str)
        and _is_public_key(public_key)
        and isinstance(valid_from, str)
        and _is_time(valid_from)
        and valid_from >= row.at
    ):
        return RegisteredKey(
            name, tuple(WorkflowRole(role) for role in roles), public_key, valid_from, row.sequence, None
        )
    raise UnsoundEntry(
        "a key's registration cannot be read",
        "a name, roles, a public key and a time not in the past",
        "something else",
    )


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).isoformat(timespec="microseconds").replace("+00:00", "Z") == text
    except ValueError:
        return False


def _is_public_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False
