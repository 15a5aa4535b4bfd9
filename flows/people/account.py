"""An account of the reviewer's page: its login, the person that it stands for, its roles, and its way in."""

import hashlib
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from tasks.core.people import WorkflowRole


class Duty(StrEnum):
    """Roles of an account; the policy of each release says what its holder may do with that release."""

    REQUESTER = WorkflowRole.REQUESTER.value
    """Sees the releases that they requested, and may revoke them."""
    REVIEWER = WorkflowRole.REVIEWER.value
    """Sees all releases, and votes where a policy names them."""
    OFFICER = WorkflowRole.OFFICER.value
    """Sees all releases and audits, revokes, and sees to accounts, tokens and the library."""
    REGULATOR = "regulator"
    """Sees all releases and audits; changes nothing."""


class SecondFactor(BaseModel):
    """Secret of the codes that an account needs besides its password."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sealed: str = Field(repr=False)
    last_step: int
    """Time step of the last code that was used; neither it nor an earlier one counts again."""


class ProviderIdentity(BaseModel):
    """A person as an identity provider names them, permanently."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str
    subject: str


class BoundIdentity(ProviderIdentity):
    """An identity of a provider, bound permanently to the person of its first sign-in."""

    person: str
    """Id of the enrolled person."""

    @property
    def name(self) -> str:
        """Issuer and subject."""
        return f"{self.issuer} {self.subject}"


class Account(BaseModel):
    """A person who may sign in."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    login: str
    person: str = ""
    """Id of the enrolled person; empty in accounts of earlier versions, which go by the name."""
    name: str
    """Their name, as enrolled when the account was made."""
    duties: frozenset[Duty] = Field(alias="roles")
    password: str | None = Field(repr=False)
    """Hash; None if only a proxy or an identity provider signs them in."""
    since: datetime
    second_factor: SecondFactor | None = None
    identity: ProviderIdentity | None = None
    """At the identity provider, where their first sign-in made the account."""
    must_change: bool = False
    """Whether somebody else made its password, which then only serves to choose another one."""
    counts_until: datetime | None = None
    """End of such a password."""
    disabled: bool = False
    """Whether an officer has disabled it."""
    disablings: int = 0
    """Number of times that it was disabled; each ended its sessions."""

    @field_serializer("duties")
    def _sorted(self, duties: frozenset[Duty]) -> list[str]:
        return sorted(duties)

    @property
    def stamp(self) -> str:
        """Changes with the account, which ends its earlier sessions."""
        parts = [self.login, self.person, self.name, *sorted(self.duties), self.password or "", self.since.isoformat()]
        parts += [self.second_factor.sealed if self.second_factor else ""]
        parts += [self.identity.issuer, self.identity.subject] if self.identity else []
        parts += [str(self.disablings)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def is_open(self) -> bool:
        """Whether its holder may sign in: it is not disabled, and an identity provider still gives them a role."""
        return bool(self.duties) and not self.disabled

    def is_too_late(self, now: datetime) -> bool:
        """Whether its password is a one-time password that has ended."""
        return self.must_change and (self.counts_until is None or now >= self.counts_until)

    @property
    def way_in(self) -> str:
        """Way in which its holder signs in."""
        if self.password is None:
            return "identity provider" if self.identity else "proxy"
        return "password and code" if self.second_factor else "password"
