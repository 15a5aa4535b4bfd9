"""The settings of ``releasegate serve``: schedules, limits, inbox, orchestrator, page and notifications.

They hold no secret: a notification names an environment variable, which holds the address. No value of the file is
repeated in a message all the same: what stands in the place of a variable's name may be a secret.
"""

import ipaddress
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, IPvAnyNetwork

from tasks.request.form import Form
from tasks.request.part import PersonId, RequestPart, Rule, broken_rule
from tasks.request.reading import checked, read_bytes

SCHEMA_VERSION = "releasegate/service/1"

_FIELD = r"(?:\*|[0-9a-z]+(?:-[0-9a-z]+)?)(?:/[0-9]+)?"
_CRON = re.compile(rf"{_FIELD}(?:,{_FIELD})*(?: {_FIELD}(?:,{_FIELD})*){{4}}", re.IGNORECASE)
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def _cron(text: str) -> str:
    if not _CRON.fullmatch(text):
        raise broken_rule(
            "a schedule is five fields of cron: minute, hour, day, month, weekday",
            got="text of a different form",
            fix="write the five fields, such as 0 3 * * *",
        )
    return text


def _timezone(name: str) -> str:
    if name not in available_timezones():
        raise broken_rule(
            "a time zone has a name of the IANA database, such as Europe/Berlin",
            got="a name that is not in the database",
            fix="correct the name",
        )
    return name


def _network(text: object) -> object:
    try:
        return ipaddress.ip_network(str(text))
    except ValueError:
        raise broken_rule(
            "proxies are addresses or networks, such as 10.0.0.5 or 10.0.0.0/24",
            got="text of a different form",
            fix="correct them",
        ) from None


Cron = Annotated[str, AfterValidator(_cron)]
Network = Annotated[IPvAnyNetwork, BeforeValidator(_network)]


class ScheduleSettings(RequestPart):
    """Times of scheduled work."""

    reassess: Cron | None = Field(
        "0 3 * * *", description="Assess earlier releases again that are due by their policy; null for never."
    )
    expire: Cron | None = Field("15 0 * * *", description="Record expired decisions in the ledger; null for never.")
    audit: Cron | None = Field("30 0 1 * *", description="Audit the previous month, in UTC; null for never.")
    timezone: Annotated[str, AfterValidator(_timezone)] = Field(
        "UTC", description="Time zone of re-assessment and expiry; audits cover months in UTC, and run in UTC."
    )


class LimitSettings(RequestPart):
    """Limits of concurrent work and of attempts."""

    releases: int = Field(2, ge=1, le=64, description="Concurrent runs of requests.")
    solvers: int = Field(1, ge=1, le=64, description="Of these, runs that solve for generalizations or decoys.")
    queued: int = Field(1000, ge=1, le=100_000, description="Requests without a verdict that the queue may hold.")
    attempts: int = Field(5, ge=1, le=20, description="Runs of one request that may end without a verdict.")
    outage_hours: float = Field(
        24.0, ge=0, le=720, description="Hours that a request waits for a server that does not answer."
    )


class InboxSettings(RequestPart):
    """Polling of the inbox."""

    poll_seconds: float = Field(1.0, ge=0.1, le=3600, description="Time between two polls.")
    settle_seconds: float = Field(
        2.0, ge=0.1, le=3600, description="Time for which a file must be unchanged before it is read."
    )


class OrchestratorSettings(RequestPart):
    """The service's own Prefect server."""

    port: int | None = Field(None, ge=1, le=65_535, description="Loopback port of the Prefect server; null for any.")
    ui: bool = Field(False, description="Whether that server serves its pages.")


class ProviderSettings(RequestPart):
    """An identity provider that signs people in by OpenID Connect, and what its groups may do here."""

    issuer: str = Field(
        pattern=r"^https?://[^\s?#]+$",
        max_length=2000,
        description="Issuer as the provider's ID tokens name it; below it lies .well-known/openid-configuration.",
    )
    client_id: str = Field(min_length=1, max_length=500, description="Id of this service at the provider.")
    title: str = Field(
        "your organisation", min_length=1, max_length=100, description="Name of the provider at the sign-in."
    )
    login_claim: str = Field(
        "preferred_username",
        min_length=1,
        max_length=200,
        description="Claim of the ID token with the login, one of an enrolled person.",
    )
    groups_claim: str = Field(
        "groups", min_length=1, max_length=200, description="Claim of the ID token with the person's groups."
    )
    scopes: tuple[Annotated[str, Field(pattern=r"^[!#-\[\]-~]+$")], ...] = Field(
        ("openid", "profile"), min_length=1, description="Requested scopes; openid among them."
    )
    roles: dict[str, tuple[Literal["requester", "reviewer", "officer", "regulator"], ...]] = Field(
        min_length=1, description="Roles of each group; a person has those of all of their groups."
    )

    rules: ClassVar[tuple[Rule["ProviderSettings"], ...]] = (
        Rule(
            "an issuer that is reached by https, or on this machine",
            lambda one: not one.issuer.startswith("https://") and urlsplit(one.issuer).hostname not in _HERE,
            "issuer",
            got="http to another machine",
            fix="name its https address",
        ),
        Rule(
            "scopes with openid among them",
            lambda one: "openid" not in one.scopes,
            "scopes",
            got="other scopes",
            fix="add openid",
        ),
    )


class PageSettings(RequestPart):
    """The reviewer's page."""

    hosts: tuple[str, ...] = Field(
        ("localhost", "127.0.0.1", "[::1]"),
        min_length=1,
        description="Host names of the service, without ports; a request with another Host header is refused.",
    )
    https: bool = Field(False, description="Whether readers reach the page by TLS; required beyond the machine.")
    proxy_header: str | None = Field(
        None, pattern=r"^[A-Za-z0-9-]+$", description="Header in which a proxy names the login that it authenticated."
    )
    proxies: tuple[Network, ...] = Field((), description="Addresses or networks of such proxies.")
    provider: ProviderSettings | None = Field(
        None, description="Identity provider that signs people in; its client secret is in RELEASEGATE_OIDC_SECRET."
    )
    second_factor: bool = Field(False, description="Whether accounts with a password must set up a second factor.")
    signed_only: bool = Field(False, description="Whether votes of people without a registered key are refused.")
    idle_minutes: int = Field(15, ge=1, le=240, description="Minutes without use after which a session ends.")
    longest_hours: int = Field(8, ge=1, le=24, description="Hours after which a session ends in any case.")
    address: str | None = Field(
        None,
        pattern=r"^https?://[^\s?#]{1,500}$",
        description="Address of the page for links in messages and receipts, such as https://gate.example.org.",
    )

    rules: ClassVar[tuple[Rule["PageSettings"], ...]] = (
        Rule(
            "https: true for a page that is served beyond this machine",
            lambda page: not page.https and not set(page.hosts) <= _LOOPBACK,
            got="false",
            fix="set https, or serve loopback names only",
        ),
        Rule(
            "proxies, the addresses that proxy_header is trusted from",
            lambda page: page.proxy_header is not None and not page.proxies,
            got="no address",
            fix="name the proxies",
        ),
        Rule(
            "proxies, the addresses of the proxies alone",
            lambda page: any(network.prefixlen == 0 for network in page.proxies),
            got="every address there is",
            fix="name the proxies",
        ),
    )

    def is_proxy(self, address: str) -> bool:
        """Whether an address is that of a proxy."""
        try:
            peer = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
        return any((mapped or peer) in network for network in self.proxies)


class NewsKind(StrEnum):
    """Kinds of news that people can be notified of."""

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
    OVERRIDDEN = "overridden"
    TRACED = "traced"
    REVIEW_DUE = "review due"
    EXPIRING = "expires soon"


REMINDERS = frozenset({NewsKind.REVIEW_DUE, NewsKind.EXPIRING})
"""Kinds of news that no entry of the ledger makes, but the calendar."""


class Notification(RequestPart):
    """A receiver of notifications: an address in the environment, of a person or of a group."""

    variable: str = Field(
        pattern=r"^RELEASEGATE_NOTIFY_[A-Z0-9_]{1,64}$",
        description="An environment variable RELEASEGATE_NOTIFY_… with an Apprise address, for e-mail mailtos://…",
    )
    person: PersonId | None = Field(
        None, description="Id of an enrolled person: only news of releases that they requested, review or oversee."
    )
    events: tuple[NewsKind, ...] = Field(
        (), description="Kinds of news to notify of; with a person, all that concern them if omitted."
    )

    rules: ClassVar[tuple[Rule["Notification"], ...]] = (
        Rule(
            "events, or a person whom news concerns",
            lambda one: not one.events and one.person is None,
            "events",
            got="neither",
            fix="list kinds of news, or name the person",
        ),
    )


def _days_before(days: tuple[int, ...]) -> tuple[int, ...]:
    if not all(0 <= one <= 365 for one in days):
        raise broken_rule("days before a last day are 0 to 365", got="another number", fix="correct them")
    return days


DaysBefore = Annotated[tuple[int, ...], AfterValidator(_days_before)]


class ReminderSettings(RequestPart):
    """Reminders, in days before the last day of a release."""

    review_days: DaysBefore = Field((7, 1), description="Days before a last day to remind of missing votes.")
    expiry_days: DaysBefore = Field((30, 7), description="Days before the expiry of a release to remind of it.")


class CountingSettings(RequestPart):
    """Counting of large files."""

    dask: str | None = Field(
        None,
        pattern=r"^(tcp|tls)://[^\s/@]+:[0-9]{1,5}$",
        description="Running Dask scheduler, tcp://host:port or tls://host:port, to read and validate Parquet files; "
        "requests for these wait for it.",
    )


class ReassessmentSettings(RequestPart):
    """Terms of the scheduled re-assessment."""

    policy: str | None = Field(
        None,
        min_length=1,
        max_length=4096,
        description="File with the current policy, absolute or in the workspace; null for each request's own.",
    )


class ServiceSettings(RequestPart):
    """All settings; every one has a default."""

    schema_version: Literal["releasegate/service/1"] = Field(description="Version of this form.")
    schedules: ScheduleSettings = Field(ScheduleSettings(), description="Times of scheduled work.")
    limits: LimitSettings = Field(LimitSettings(), description="Limits of concurrent work and of attempts.")
    inbox: InboxSettings = Field(InboxSettings(), description="Polling of the inbox.")
    reassessment: ReassessmentSettings = Field(
        ReassessmentSettings(), description="Terms of the scheduled re-assessment."
    )
    counting: CountingSettings = Field(CountingSettings(), description="Counting of large files.")
    orchestrator: OrchestratorSettings = Field(OrchestratorSettings(), description="The service's own Prefect server.")
    page: PageSettings = Field(PageSettings(), description="The reviewer's page.")
    notifications: tuple[Notification, ...] = Field((), description="Receivers of notifications, with kinds of news.")
    reminders: ReminderSettings = Field(ReminderSettings(), description="Reminders before a last day.")


DEFAULTS = ServiceSettings(schema_version=SCHEMA_VERSION)
"""The settings without a file."""

_FORM = Form(
    model=ServiceSettings,
    name="the settings file",
    kind="a file of service settings",
    start="see the settings in docs/terms.md",
    shorten="see the settings in docs/terms.md",
)


def load_settings(path: Path) -> ServiceSettings:
    """Read and check the settings, YAML 1.2 in UTF-8 of at most 1 MB.

    A RequestError says that the file cannot be read or is not valid; ``problems`` holds the first 100 mistakes found.
    """
    settings, _ = checked(read_bytes(path, _FORM), path, _FORM)
    return settings
