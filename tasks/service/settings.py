"""The settings of ``releasegate serve``: schedules, limits, the inbox, the orchestrator, and who is told of what.

No secret is among them: a notification names a Prefect block or an environment variable, which has the secret.
"""

import re
from enum import StrEnum
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = "releasegate/service/1"

_FIELD = r"(?:\*|[0-9a-z]+(?:-[0-9a-z]+)?)(?:/[0-9]+)?"
_CRON = re.compile(rf"{_FIELD}(?:,{_FIELD})*(?: {_FIELD}(?:,{_FIELD})*){{4}}", re.IGNORECASE)


class Part(BaseModel):
    """A part of the settings: frozen, and no key but those it has."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _cron(text: str) -> str:
    if not _CRON.fullmatch(text):
        raise ValueError("a schedule is five fields of cron: minute, hour, day, month, weekday")
    return text


def _timezone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("a time zone has a name of the IANA database, such as Europe/Berlin")
    return name


Cron = Annotated[str, AfterValidator(_cron)]


class Schedules(Part):
    """When the service acts by itself."""

    reassess: Cron | None = Field(
        "0 3 * * *", description="What has left and is due by its policy is assessed again; null for never."
    )
    expire: Cron | None = Field("15 0 * * *", description="Ended decisions are noted in the ledger; null for never.")
    audit: Cron | None = Field(
        "30 0 1 * *", description="The month before is audited, by the clock of UTC; null for never."
    )
    timezone: Annotated[str, AfterValidator(_timezone)] = Field(
        "UTC", description="Time zone of re-assessment and expiry; audits are of months in UTC, and go by it."
    )


class Limits(Part):
    """What is done at once, and how often it is tried."""

    releases: int = Field(2, ge=1, le=64, description="Runs at once.")
    solvers: int = Field(1, ge=1, le=64, description="Runs that solve for generalizations or decoys at once.")
    queued: int = Field(1000, ge=1, le=100_000, description="Requests without a verdict that the queue may hold.")
    attempts: int = Field(5, ge=1, le=20, description="Runs of one request that may end without a verdict.")


class Inbox(Part):
    """How the inbox is watched."""

    poll_seconds: float = Field(1.0, ge=0.1, le=3600, description="Time between two looks into it.")
    settle_seconds: float = Field(
        2.0, ge=0.1, le=3600, description="Time for which a file must keep its size before it is read."
    )


class Orchestrator(Part):
    """The service's own Prefect server."""

    port: int | None = Field(None, ge=1, le=65_535, description="Its port on the loopback interface; null for any.")
    ui: bool = Field(False, description="Whether it has its pages, for operators.")


class Page(Part):
    """The reviewer's page."""

    hosts: tuple[str, ...] = Field(
        ("localhost", "127.0.0.1", "[::1]"), min_length=1, description="Names that the service is asked for by."
    )
    https: bool = Field(False, description="Whether readers reach it by TLS, its own or a proxy's.")
    proxy_header: str | None = Field(None, description="Header by which a proxy names whom it has signed in.")
    proxies: tuple[str, ...] = Field((), description="Addresses or networks of such proxies.")
    signed_only: bool = Field(False, description="Whether votes of people without a registered key are refused.")
    idle_minutes: int = Field(15, ge=1, le=240, description="After which a session ends that is not used.")
    longest_hours: int = Field(8, ge=1, le=24, description="After which it ends in any case.")


class Told(StrEnum):
    """What somebody can be told of."""

    APPROVED = "approved"
    BLOCKED = "blocked"
    AWAITING_REVIEW = "awaiting review"
    REJECTED = "rejected"
    RELEASED = "released"
    REVOKED = "revoked"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    REASSESSED = "reassessed"
    REFUSED = "refused"
    FAILED = "failed"


class Notification(Part):
    """Somebody who is told, by a notification block of Prefect or by an address in the environment."""

    block: str | None = Field(
        None, min_length=3, max_length=200, description="A notification block of Prefect, as type/name."
    )
    variable: str | None = Field(
        None,
        pattern=r"^RELEASEGATE_NOTIFY_[A-Z0-9_]{1,64}$",
        description="An environment variable RELEASEGATE_NOTIFY_… that holds an address of Apprise, for e-mail mailtos://…",
    )
    events: tuple[Told, ...] = Field(min_length=1, description="What to tell.")

    @model_validator(mode="after")
    def _one_way(self) -> "Notification":
        if (self.block is None) == (self.variable is None):
            raise ValueError("a notification takes exactly one of block and variable")
        return self


class Counting(Part):
    """Where the records of large files are counted."""

    dask: str | None = Field(
        None,
        pattern=r"^(tcp|tls)://[^\s/@]+:[0-9]{1,5}$",
        description="Running Dask scheduler, as tcp://host:port or tls://host:port, whose workers count the records of "
        "Parquet files; null for this machine.",
    )


class Reassessment(Part):
    """What the scheduled re-assessment judges by."""

    policy: str | None = Field(
        None,
        min_length=1,
        max_length=4096,
        description="File with the policy of today, absolute or in the workspace; null for each request's own.",
    )


class ServiceSettings(Part):
    """All settings; every one has a default."""

    schema_version: Literal["releasegate/service/1"] = Field(description="Version of this form.")
    schedules: Schedules = Field(Schedules(), description="When the service acts by itself.")
    limits: Limits = Field(Limits(), description="What is done at once, and how often it is tried.")
    inbox: Inbox = Field(Inbox(), description="How the inbox is watched.")
    reassessment: Reassessment = Field(Reassessment(), description="What the scheduled re-assessment judges by.")
    counting: Counting = Field(Counting(), description="Where the records of large files are counted.")
    orchestrator: Orchestrator = Field(Orchestrator(), description="The service's own Prefect server.")
    page: Page = Field(Page(), description="The reviewer's page.")
    notifications: tuple[Notification, ...] = Field((), description="Who is told of what.")


DEFAULTS = ServiceSettings(schema_version=SCHEMA_VERSION)
"""What holds without a file."""
