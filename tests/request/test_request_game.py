"""Whom the game is played against: accepted, or refused where it stands and with what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.errors import RequestError
from tasks.request.load import load_request

Refused = Callable[[str], RequestError]
VERSION = 'version: "3"'


def policy(terms: str) -> tuple[str, str]:
    return VERSION, f"{VERSION}\n  generalization: {{{terms}}}"


def edited(text: str, edit: tuple[str, str]) -> str:
    assert text.count(edit[0]) == 1
    return text.replace(*edit)


@pytest.mark.parametrize(
    ("terms", "what", "where"),
    [
        ("adversary_belief: known group", "sequential", "adversary_belief"),
        ("shared: {}", "recipients or types", "shared"),
        ("shared: {recipients: all, types: {a: 0.5, b: 0.5}}", "recipients or types", "shared"),
        ("shared: {recipients: [a, a]}", "each recipient once", "shared.recipients"),
        ("shared: {types: {a: 0.5, b: 0.4}}", "sum to 1", "shared.types"),
        ("shared: {recipients: [nobody, someone]}", "recipients of the request", "shared"),
    ],
)
def test_refused(good: str, refused: Refused, terms: str, what: str, where: str) -> None:
    error = refused(edited(good, policy(terms)))
    assert what in error.expected + error.what + error.fix
    assert error.where.endswith(f"policy.generalization.{where}")
    assert error.fix


def test_accepted(tmp_path: Path, good: str) -> None:
    path = tmp_path / "request.yaml"
    path.write_text(
        edited(good, policy("adversary: sequential, adversary_belief: unknown group, shared: {recipients: all}")),
        encoding="utf-8",
    )
    request = load_request(path).request
    assert request.policy.generalization.adversary_belief == "unknown group"
    assert len(request.sharing(request.recipients[0])) == (
        len(request.recipients) if len(request.recipients) > 1 else 0
    )
