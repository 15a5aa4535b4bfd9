"""Whom the game is played against: accepted, or refused where it stands and with what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tests.support.tiny import Change, changed, tiny_request

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
        ("adversary: one-shot, adversary_belief: known group", "sequential", "adversary_belief"),
        ("shared: {}", "recipients or types", "shared"),
        ("shared: {recipients: all, types: {a: 0.5, b: 0.5}}", "recipients or types", "shared"),
        ("shared: {recipients: [a, a]}", "each is named once", "shared.recipients"),
        ("shared: {types: {a: 0.5, b: 0.4}}", "sum to 1", "shared.types"),
        ("shared: {recipients: [nobody, someone]}", "recipients of the request", "shared"),
        ("collusion: {who: everybody}", "a missing key", "collusion.recipients"),
        ("collusion: {recipients: all, probability: 0.1}", "an unknown key", "collusion.probability"),
        ("collusion: {recipients: all, who: one pair}", "each pair", "collusion.who"),
        ("collusion: {recipients: [a, a]}", "each is named once", "collusion.recipients"),
        ("collusion: {recipients: [nobody, someone]}", "recipients of the request", "collusion"),
        ("collusion: {recipients: all}, shared: {recipients: all}", "exclude", "collusion"),
        ("collusion: {recipients: all}, budget: {least_people: 3}", "exclude each other", "collusion"),
    ],
)
def test_refused(good: str, refused: Refused, terms: str, what: str, where: str) -> None:
    error = refused(edited(good, policy(terms)))
    assert what in error.expected + error.what + error.fix
    assert error.where.endswith(f"policy.generalization.{where}")
    assert error.fix


COLLUDING = {"recipients": "all"}


def several(number: int, **terms: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["recipients"] = [document["recipients"][0] | {"id": f"r{place}"} for place in range(number)]
        document["recipients"][-1] |= terms

    return change


def colluding(method: str = "basic", **terms: Any) -> Change:
    return changed("policy", "generalization", to={"method": method, "collusion": COLLUDING | terms})


def gated(measure: str) -> Change:
    judged = ["transparent.maximum_risk", measure]
    return changed("policy", "gates", to=[{"measure": one, "at_most": 0.5, "because": "a bound"} for one in judged])


@pytest.mark.parametrize(
    ("changes", "what", "got"),
    [
        ((several(2, method="safe-harbor"), colluding()), "Safe Harbor", "safe-harbor"),
        ((several(2), colluding(), gated("linkage.informed_share")), "pooled copies", "one copy alone"),
        (
            (several(3), colluding(who="each pair"), gated("linkage.informed_certain")),
            "pooled copies",
            "one copy alone",
        ),
    ],
)
def test_who_cannot_collude(tmp_path: Path, changes: tuple[Change, ...], what: str, got: str) -> None:
    with pytest.raises(ValidationError) as caught:
        tiny_request(tmp_path, *changes)
    (error,) = caught.value.errors()
    assert what in error["ctx"]["expected"]
    assert got in error["ctx"]["got"]
    assert error["ctx"]["fix"]


def test_coalitions(tmp_path: Path) -> None:
    def told(*changes: Change) -> list[list[str]]:
        request = tiny_request(tmp_path, several(3), *changes).request
        return [[one.id for one in members] for members in request.coalitions(request.recipients[0])]

    assert told(colluding()) == [["r0", "r1", "r2"]]
    assert told(colluding(who="each pair")) == [["r0", "r1"], ["r0", "r2"]]
    assert told(colluding(recipients=["r2", "r0"])) == [["r0", "r2"]]
    assert told(colluding(recipients=["r1", "r2"])) == []
    assert told() == []
    seven = tiny_request(tmp_path, several(7, method="common"), colluding(), gated("linkage.masked_share")).request
    assert len(seven.coalitions(seven.recipients[6])[0]) == 7


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
