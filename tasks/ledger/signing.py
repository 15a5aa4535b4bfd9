"""Signatures of people in the ledger: keys, what a signature covers, and which key was whose at which entry.

A key is registered and retired by entries of the ledger itself; a registration is signed with the key it registers, so
that nobody registers a key that he does not hold. From there to the key's retirement, what the person is said to do
must be signed with it. An entry's signature covers the hash of the entry before it: whoever rewrites the chain would
need the keys of all who signed later.

Pure: no file, no database, no clock. Whose a key really is, only people can tell, by comparing fingerprints.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple, Never

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tasks.decision.people import person_key
from tasks.decision.states import Role
from tasks.ledger.entry import Event, Row

KEY_EVENTS = (Event.KEY_REGISTERED, Event.KEY_RETIRED)
"""Entries that say whose key is which."""

PERSONAL = {Event.VOTED: "reviewer", Event.REVOKED: "by", Event.OVERRIDDEN: "by", Event.SIGNED: "by"}
"""What only a person does, and the key of the body that names who; ``signed`` may name nobody."""

ROLES = (Role.REQUESTER, Role.REVIEWER, Role.OFFICER)
"""Roles of people; the gate itself has no key."""

LONGEST_NAME = 200
_ROLE_NAMES = tuple(role.value for role in ROLES)
_CONTEXT = b"releasegate ledger entry\n"  # so that no signature made for another purpose fits
_KEY_BYTES = 32
_EVENT_ROLES = {
    Event.VOTED: frozenset({Role.REVIEWER}),
    Event.OVERRIDDEN: frozenset({Role.OFFICER}),
    Event.REVOKED: frozenset({Role.REQUESTER, Role.OFFICER}),
}


class Problem(NamedTuple):
    """Why an entry is not properly signed; quotes nothing of it."""

    what: str
    expected: str
    got: str
    fix: str = ""


@dataclass(frozen=True)
class Signer:
    """A person with the private key at hand."""

    name: str
    key: Ed25519PrivateKey = field(repr=False)

    @property
    def public_key(self) -> str:
        """The public key, 32 bytes in Base64."""
        return base64.b64encode(self.key.public_key().public_bytes_raw()).decode()

    def sign(self, row: Row) -> Row:
        """The row with signer and signature; its hash is still to be computed.

        Raises
        ------
        ValueError
            If its fields cannot be text.
        """
        named = row._replace(signer=self.name)
        signature = self.key.sign(_CONTEXT + named.signed_bytes())
        return named._replace(signature=base64.b64encode(signature).decode())


def is_signed_with(row: Row, public_key: Ed25519PublicKey) -> bool:
    """Whether a row's signature is that of its fields under a key."""
    try:
        public_key.verify(base64.b64decode(row.signature or "", validate=True), _CONTEXT + row.signed_bytes())
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def fingerprint(public_key: str) -> str:
    """What people compare: SHA-256 of a public key's 32 bytes, in hexadecimal."""
    return hashlib.sha256(base64.b64decode(public_key)).hexdigest()


def registration(signer: Signer, roles: Iterable[Role], valid_from: datetime) -> dict[str, object]:
    """Body of ``key registered``: whose key, in which roles, and from when on it signs.

    Raises
    ------
    ValueError
        If the name is empty, too long or holds what cannot be printed, or a role is none of a person's.
    """
    chosen = sorted({Role(role).value for role in roles})
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
    """Body of ``key retired``: whose key, and which."""
    return {"name": key.name, "public_key": key.public_key}


def is_name(text: str) -> bool:
    """Whether a text can be a name: not empty, printable, of one line, without spaces around it."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()


@dataclass(frozen=True)
class RegisteredKey:
    """A key of the ledger, and while of which entries it is somebody's."""

    name: str
    roles: tuple[Role, ...]
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
        """What people compare."""
        return fingerprint(self.public_key)


class KeyBook:
    """Follows the entries of a ledger in order, and tells whose key is in force."""

    def __init__(self) -> None:
        self._active: dict[str, tuple[RegisteredKey, Ed25519PublicKey]] = {}
        self._keys: dict[int, RegisteredKey] = {}

    @property
    def keys(self) -> tuple[RegisteredKey, ...]:
        """All keys, in the order of their registration."""
        return tuple(self._keys.values())

    def active(self, name: str) -> RegisteredKey | None:
        """The key that somebody signs with now; None for none."""
        found = self._active.get(person_key(name))
        return found[0] if found else None

    def missing(self, fingerprints: Collection[str]) -> tuple[str, ...]:
        """Those of some fingerprints that no key has that was ever registered."""
        known = {key.fingerprint for key in self._keys.values()}
        return tuple(one for one in fingerprints if one not in known)

    def add(self, row: Row) -> Problem | None:
        """Take the next row; a problem, in place of taking it, where it is not signed as it should be."""
        if row.event in _PERSONAL or row.signer is not None or row.signature is not None:
            try:
                self._check(row)
            except _Unsound as unsound:
                return unsound.problem
        elif row.event == Event.KEY_REGISTERED:
            return Problem("a key was registered without a signature", "a signature with the key itself", "none")
        elif row.event == Event.KEY_RETIRED:
            return self._retire(row)
        return None

    def _check(self, row: Row) -> None:
        if row.event == Event.KEY_REGISTERED:
            self._register(row)
            return
        body = _body(row)
        field_name = _PERSONAL.get(row.event)
        person = body.get(field_name) if field_name else None
        if row.signer is None or row.signature is None:
            if row.signer is not None or row.signature is not None:
                _refuse("half a signature", "a signer and a signature, or neither", "one of them")
            if isinstance(person, str) and self.active(person) is not None:
                _refuse(
                    "an entry of somebody who has a key is not signed",
                    "a signature with the key that was in force",
                    "none",
                    "Sign it with the key that was registered for this person.",
                )
            return
        found = self._active.get(person_key(row.signer))
        if found is None:
            _refuse("an entry is signed by somebody without a key", "a key that was in force", "none")
        key, public_key = found
        if person is not None and (not isinstance(person, str) or person_key(person) != person_key(row.signer)):
            _refuse("an entry is signed by somebody else than it names", "the signature of whom it names", "another's")
        roles = _EVENT_ROLES.get(Event(row.event)) if row.event in _PERSONAL else None
        if roles is not None and roles.isdisjoint(key.roles):
            _refuse(
                "an entry is signed with a key of another role",
                f"a key registered as {' or '.join(sorted(roles))}",
                f"one registered as {', '.join(key.roles)}",
                "Register a key for this role.",
            )
        if row.at < key.valid_from:
            _refuse("an entry is signed with a key before its time", "a time from which the key is valid", "an earlier")
        if not is_signed_with(row, public_key):
            _refuse(
                "the signature of an entry is wrong",
                "the signature of these fields, with the key registered for the signer",
                "another: this entry, or one before it, is not what was signed",
            )
        if row.event == Event.KEY_RETIRED:
            if Role.OFFICER not in key.roles and person_key(str(body.get("name"))) != person_key(key.name):
                _refuse("a key was retired by somebody else", "its holder's signature, or an officer's", "another's")
            if problem := self._retire(row):
                raise _Unsound(problem)

    def _register(self, row: Row) -> None:
        key = _registered(row)
        if key.name != row.signer:
            _refuse("a key was registered by somebody else", "a signature of its holder", "another name")
        if self.active(key.name) is not None:
            _refuse(
                "a key is registered for this name already",
                "one key a person",
                "a second",
                "Retire the key that is in force first: releasegate key retire NAME.",
            )
        if any(known.public_key == key.public_key for known in self._keys.values()):
            _refuse("this key was registered before", "a new key", "one that is or was somebody's", "Make a new key.")
        public_key = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.public_key))
        if not is_signed_with(row, public_key):
            _refuse("the signature of a key's registration is wrong", "a signature with the key itself", "another")
        self._active[person_key(key.name)] = (key, public_key)
        self._keys[row.sequence] = key

    def _retire(self, row: Row) -> Problem | None:
        try:
            body = _body(row)
        except _Unsound as unsound:
            return unsound.problem
        name = body.get("name")
        key = self.active(name) if isinstance(name, str) else None
        if key is None or body.get("public_key") != key.public_key:
            return Problem("a key was retired that is not in force", "the key in force of its holder", "another")
        del self._active[person_key(key.name)]
        self._keys[key.registered] = replace(key, retired=row.sequence)
        return None


_PERSONAL: dict[str, str] = {event.value: name for event, name in PERSONAL.items()}


class _Unsound(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.what)


def _refuse(what: str, expected: str, got: str, fix: str = "") -> Never:
    raise _Unsound(Problem(what, expected, got, fix))


def _body(row: Row) -> Mapping[str, object]:
    try:
        body = json.loads(row.body)
    except (TypeError, ValueError):
        body = None
    if not isinstance(body, dict):
        _refuse("the body of an entry cannot be read", "a JSON object", "something else")
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
        return RegisteredKey(name, tuple(Role(role) for role in roles), public_key, valid_from, row.sequence, None)
    _refuse("a key's registration cannot be read", "a name, roles, a public key and a time not in the past", "another")


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
