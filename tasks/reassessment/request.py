"""The request by which a copy is judged today: made as at its release, judged by the terms of today."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tasks.core.errors import RequestError, WorkspaceError
from tasks.request.document import NotYaml, read_document
from tasks.request.load import LoadedRequest
from tasks.request.model import Policy, Population, PopulationBasis, Recipient, ReleaseRequest

_AS_MADE = ("id", "method", "delivery_format", "encrypt_to", "decoys")
"""Fields of a recipient that say how its copy was made."""


def asked_today(
    then: LoadedRequest,
    recipient: str,
    request: LoadedRequest | None = None,
    policy: Policy | None = None,
    population: Path | None = None,
) -> LoadedRequest:
    """The request that a copy is judged by: its recipient first, and the others only where some share one.

    `then` is the request by which it was released; `request` has policy, terms of the recipient, population and
    register of today, without it they are those of the release. A policy or a population file may stand in place of the
    request's. RequestError says that today's policy does not fit the release, KeyError that it has no such recipient.
    """
    made, now = then.request, request or then
    whom = made.recipient(recipient)
    named = made.recipients if made.policy.generalization.shared is not None else ()
    others = [one for one in named if one.id != recipient]
    policy = policy or now.request.policy
    roots = [*then.roots, now.base, *now.roots]
    people = now.request.population
    if people.path is not None:
        people = people.model_copy(update={"path": _absolute(now, people.path, "population.path")})
    if population is not None:
        table = {"path": str(population.resolve()), "self": False, "size": None, "sampling_fraction": None, "lacks": ()}
        people = people.model_copy(update=table)
        roots.append(population.resolve().parent)
    _check_counted_alike(people, then)
    external = now.request.external_data
    if external is not None:
        external = external.model_copy(update={"path": _absolute(now, external.path, "external_data.path")})
    asked = made.model_copy(
        update={
            "policy": policy.model_copy(update={"generalization": made.policy.generalization}),
            "recipients": tuple(_on_terms(one, now.request, made) for one in (whom, *others)),
            "population": people,
            "external_data": external,
        }
    )
    _check(asked, then, made)
    return replace(then, request=asked, roots=tuple(roots))


def kind_of(path: Path) -> Literal["request", "policy", "population"]:
    """Kind of a file: YAML is a request if it names recipients, else a policy; anything else is a population."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return "population"
    try:
        data: Any = read_document(path.read_bytes().decode()).data
    except (OSError, NotYaml, ValueError):
        return "policy"
    return "request" if isinstance(data, Mapping) and "recipients" in data else "policy"


def policy_from(path: Path) -> Policy:
    """A policy from a YAML document, the policy itself or a request that has one; a RequestError where it is none."""
    try:
        document = read_document(path.read_bytes().decode())
        data: Any = document.data
        part = data.get("policy", data) if isinstance(data, Mapping) else data
        if document.mistakes:
            raise ValueError
        return Policy.model_validate_json(json.dumps(part), strict=True)
    except ValidationError as error:
        places = sorted({".".join(map(str, one["loc"])) or "policy" for one in error.errors(include_input=False)})
        got = f"mistakes in {', '.join(places[:5])}"
    except (OSError, NotYaml, ValueError, TypeError) as error:
        got = type(error).__name__
    raise RequestError(
        "the policy cannot be used",
        where=str(path),
        expected="a YAML document with the keys of policy, as a request has them",
        got=got,
        fix="correct it; docs/terms.md lists the keys",
    )


def _absolute(loaded: LoadedRequest, relative: str, name: str) -> str:
    """A path that means the same from the folder of another request; one that leads nowhere is left as it is."""
    try:
        return str(loaded.resolve(relative, name))
    except WorkspaceError:  # the reader of the file reports what is wrong with it
        return str((loaded.base / relative).absolute())


def _on_terms(whom: Recipient, now: ReleaseRequest, made: ReleaseRequest) -> Recipient:
    """A recipient on the terms of today, its copy as it was made."""
    terms = next((one for one in now.recipients if one.id == whom.id), whom)
    kept = {name: getattr(whom, name) for name in _AS_MADE}
    return terms.model_copy(update={**kept, "method": made.method_for(whom)})


def _check_counted_alike(people: Population, then: LoadedRequest) -> None:
    """Refuse to count people in the file today who were counted otherwise at the release: the file is not kept."""
    made = then.request.population
    if people.basis is not PopulationBasis.TABLE and people.basis is not made.basis:
        raise RequestError(
            "today's request counts people otherwise than the release did",
            where=str(then.path),
            expected=f"people counted in the {made.basis.value}, or in a table with all quasi-identifiers",
            got=f"people counted in the {people.basis.value}",
            fix="name a population table with --under, or release the file anew",
        )


def _check(asked: ReleaseRequest, then: LoadedRequest, made: ReleaseRequest) -> None:
    """Let the rules that relate several parts of a request judge the new whole, its paths as they were."""
    document = asked.model_dump(mode="json", exclude_defaults=True)
    if asked.population.path is not None:
        document["population"]["path"] = made.population.path or "population"
    document["policy"].get("generalization", {}).pop("collusion", None)  # it names recipients who are left out
    if "external_data" in document:
        document["external_data"]["path"] = "register" if made.external_data is None else made.external_data.path
    try:
        ReleaseRequest.model_validate(document)
    except ValidationError as error:
        told = "; ".join(
            sorted({str(one["msg"]).removeprefix("Value error, ") for one in error.errors(include_input=False)})
        )
        raise RequestError(
            "today's policy does not fit the release",
            where=str(then.path),
            expected="a policy that the release's columns and recipients can be judged by",
            got=told,
            fix="name a policy that does with --under",
        ) from None
