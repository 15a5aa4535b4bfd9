"""Door of the validation stage: run the suite, keep its value-free projection."""

from pathlib import Path
from typing import TypedDict

from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, checked, written
from tasks.decision.record import canonical_json
from tasks.guard import guarded
from tasks.microdata.prepared import load
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request


class Validated(TypedDict):
    """Outcome of the validation stage."""

    passed: bool
    fact: Artifact
    """The value-free projection that goes into the record."""
    positions: Artifact
    """Row positions of what failed, counted from 1 at the first record; for the steward alone."""


@task(name="validate", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def validate_data(
    release_id: str,  # noqa: ARG001
    request: str,
    roots: list[str],
    prepared: Artifact,
    folder: str,
) -> Validated:
    """Validate the microdata against the suite derived from the request.

    Returns
    -------
    Validated
    """
    with guarded("validation"):
        from tasks.validation.run import validate  # noqa: PLC0415  Great Expectations takes seconds to import

        loaded = load_request(Path(request), [Path(root) for root in roots])
        path = loaded.resolve(loaded.request.dataset.path, "dataset.path")
        outcome = validate(read_microdata(path, loaded.request), loaded.request, load(checked(prepared)).covered)
        rows = {name: [row + 1 for row in positions] for name, positions in outcome.positions.items()}
        documents = {"fact": outcome.fact, "positions": rows}
        stored = {}
        for name, document in documents.items():
            target = Path(folder) / f"validation-{name}.json"
            with written(target) as partial:
                partial.write_bytes(canonical_json(document))
            stored[name] = artifact(target)
        return Validated(passed=outcome.fact.passed, fact=stored["fact"], positions=stored["positions"])
