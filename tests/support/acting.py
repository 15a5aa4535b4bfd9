"""People at logins of their own: votes and overrides that do not come from the login that the request came from."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal

import flows.actions.overruling
import flows.actions.reviewing
from flows.releases.cases import ReleaseAction
from flows.workspace.actor import acting_as
from tests.support.enrolled import person_id


@contextmanager
def at_own_login(name: str) -> Iterator[None]:
    """A person acts, at a login that their name gives."""
    with acting_as(person_id(name)):
        yield


@contextmanager
def by_arguments(arguments: Sequence[str]) -> Iterator[None]:
    """Whoever ``--as`` names acts; else, and for other commands, the login of this process."""
    named = [after for before, after in pairwise(arguments) if before == "--as"]
    if not named or not {"review", "override", "revoke"} & set(arguments):
        yield
        return
    with at_own_login(named[0]):
        yield


def cast_vote(action: ReleaseAction, vote: Literal["approve", "reject"]) -> Any:
    """A vote at the reviewer's login."""
    with at_own_login(action.by):
        return flows.actions.reviewing.cast_vote(action, vote)


def override_gates(action: ReleaseAction, gates: Collection[str]) -> Any:
    """An override of gates at the officer's login."""
    with at_own_login(action.by):
        return flows.actions.overruling.override_gates(action, gates)


def reopen(action: ReleaseAction) -> Any:
    """An override of reviewers at the officer's login."""
    with at_own_login(action.by):
        return flows.actions.overruling.reopen(action)
