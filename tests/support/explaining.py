"""A table small enough to work out every verdict on it by hand, and requests about it.

One quasi-identifier with the leaves a, b, c, d in the groups ab and cd; 10, 20, 30 and 40 people, one record each.
"""

from datetime import date
from typing import Any

import numpy as np

from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.explain import Decided
from tasks.decision.gates import VALIDATION_PASSED
from tasks.decision.record import GateResult
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.demands import demands_of
from tasks.generalization.game.safe_harbor import safe_harbor_axis
from tasks.generalization.game.zip3 import zip_table
from tasks.microdata.coded import CodedColumn, Prepared
from tasks.request.model import ReleaseRequest, SafeHarborRule
from tests.support.worlds import People, Rows, World, count_tuples

TODAY = date(2026, 3, 9)
MAXIMUM = {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "EMA"}
SEQUENTIAL = {"measure": "sequential.maximum_risk", "at_most": 0.09, "because": "EMA"}
ATTACKED = {"measure": "transparent.attacked_share", "at_most": 0.0, "because": "none"}
ROWS: Rows = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
PEOPLE: People = {("a",): 10, ("b",): 20, ("c",): 30, ("d",): 40}
RECORDS: People = dict.fromkeys(PEOPLE, 1)


def table(rows: tuple[Rows, ...] = (ROWS,), people: People = PEOPLE, records: People = RECORDS) -> CountIndex:
    world = World(rows, people, records, payoffs=None, weights=(1.0,) * len(rows))  # type: ignore[arg-type]
    trees = world.hierarchies
    axes = tuple(safe_harbor_axis(tree, SafeHarborRule.NONE, zip_table()) for tree in trees)
    return CountIndex(trees, axes, count_tuples(records, trees), count_tuples(people, trees), 2**24)


def demanding(of: CountIndex, request: ReleaseRequest) -> CountIndex:
    """The table under the demands of a request."""
    return of.demanding(demands_of(request, prepared(of, ())))


def prepared(of: CountIndex, weights: tuple[float, ...]) -> Prepared:
    """The records of a table, each tuple's one after the other, with illnesses of these weights, one a record."""
    return Prepared(
        hierarchies={tree.name: tree for tree in of.hierarchies},
        data=of.data,
        population=of.population,
        tuple_of_record=np.repeat(np.arange(len(of.data)), of.data.counts).astype(np.int32),
        distinct_values={},
        columns={"illness": CodedColumn(np.arange(len(weights), dtype=np.uint8), np.array(weights))} if weights else {},
    )


def asked(
    method: str = "no-attack-partition",
    gates: tuple[dict[str, Any], ...] = (MAXIMUM, ATTACKED),
    *,
    expires: str = "2027-01-01",
    weights: tuple[float, ...] = (1.0,),
    reviews: int = 0,
    minimum_class_size: int = 1,
    agreement: dict[str, Any] | None = None,
    adversary: dict[str, Any] | None = None,
    combined: dict[str, Any] | None = None,
    k_anonymity: dict[str, Any] | None = None,
    **stakes: float,
) -> ReleaseRequest:
    """A request whose second recipient has these terms; cost 4 and gain 100 let a group of 25 be safe.

    With terms of the combined score there is an illness beside the quasi-identifiers.
    """
    terms = {"benefit": 100.0, "loss": 100.0, "cost": 4.0, **stakes}
    who = {"organisation": "An institute", "purpose": "A study"}
    plain = {"id": "DUA-1", "expires": expires}
    institute = {"id": "institute", "stakes": terms, "method": method, "agreement": {**plain, **(agreement or {})}}
    quasi = {"role": "quasi-identifier", "hierarchy": {"prefixes": {"keep": []}}}
    document = {
        "schema_version": "releasegate/request/1",
        "title": "A test",
        "requested_by": "a.steward",
        "dataset": {"path": "data.csv", "title": "Data", "source": "made up", "record_id": "id"},
        "attributes": {"id": {"role": "direct identifier"}}
        | {f"q{axis}": {**quasi, "weight": weight} for axis, weight in enumerate(weights)}
        | ({} if combined is None else {"illness": {"role": "sensitive"}}),
        "population": {"path": "population.parquet", "source": "made up"},
        "recipients": [
            {"id": "other", "stakes": {"benefit": 1.0, "loss": 1.0, "cost": 1.0}, "agreement": plain, **who},
            {**institute, **who} | ({} if adversary is None else {"adversary": adversary}),
        ],
        "policy": {
            "id": "policy",
            "version": "1",
            "presence": "unknown",
            "gates": gates,
            "generalization": {
                "adversary": "one-shot",
                "minimum_class_size": minimum_class_size,
                "k_anonymity": k_anonymity,
            },
            "review": {"required": reviews},
            "combined": combined or {},
        },
    }
    return ReleaseRequest.model_validate(document)


def candidates(of: CountIndex | None = None, weights: tuple[float, ...] = (), **options: Any) -> Candidates:
    """Candidates of a table; of the usual one if none is given."""
    index = of or table()
    return Candidates(index, prepared(index, weights), **options)


def decided(request: ReleaseRequest, plays: Candidates, *, validated: bool = True) -> Decided:
    """The decision on the institute's release, as the gate would record it."""
    judgement = plays.judge(request, "institute", TODAY)
    validation = GateResult(
        id=VALIDATION_PASSED,
        title="Validation passed",
        measured=float(validated),
        comparison="is",
        threshold=1.0,
        passed=validated,
        because="checked",
    )
    return Decided(judgement.verdict, (validation, *judgement.gates), ("a reason",), TODAY)
