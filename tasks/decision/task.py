"""Door of the decision stage: judge the gates and write the record."""

import json
from pathlib import Path
from typing import TypedDict

from prefect import task
from prefect.cache_policies import NO_CACHE
from pydantic import TypeAdapter

from tasks.artifact import Artifact, Written, artifact, checked, written
from tasks.decision.adversary_facts import CombinedFact, SequentialFact
from tasks.decision.assemble import Circumstances, Findings, Output, are_open, assemble, gates_before_writing
from tasks.decision.decoy_facts import DecoyFact, StatisticsFact
from tasks.decision.linkage_facts import LinkageFact
from tasks.decision.record import DeliveryFact, NotAssessed, ValidationFact, canonical_json
from tasks.decision.utility_facts import UtilityFact
from tasks.delivery.stage import delivered_name
from tasks.guard import guarded
from tasks.masking.masked_file import load_masked
from tasks.microdata.prepared import load
from tasks.request.load import load_request
from tasks.risk.finding_file import load_figure, load_finding
from tasks.risk.score_file import load_score

_CIRCUMSTANCES = TypeAdapter(Circumstances)


class Found(TypedDict):
    """What the stages left for one recipient, as paths, hashes and messages."""

    prepared: Artifact
    validation: Artifact
    score: Artifact | None
    sequential: Artifact | None
    combined: Artifact | None
    masked: Artifact | None
    linkage: Artifact | None
    utility: Artifact | None
    decoys: Artifact | None
    written: Written | None
    failures: list[dict[str, str]]


def circumstances_document(circumstances: Circumstances) -> dict[str, object]:
    """Circumstances as a task parameter."""
    document: dict[str, object] = _CIRCUMSTANCES.dump_python(circumstances, mode="json")
    return document


@task(name="judge", cache_policy=NO_CACHE, persist_result=False)
def gates_open(request: str, recipient: str, found: Found, circumstances: dict[str, object]) -> bool:
    """Whether every gate that can be judged before a file is written is open."""
    with guarded("decision"):
        asked = load_request(Path(request)).request
        gates = gates_before_writing(
            asked, asked.recipient(recipient), _findings(found), _CIRCUMSTANCES.validate_python(circumstances)
        )
        return are_open(gates)


@task(name="decide", cache_policy=NO_CACHE, persist_result=False)
def decide_release(
    request: str, recipient: str, found: Found, circumstances: dict[str, object], folder: str
) -> Artifact:
    """Write one recipient's decision record.

    Parameters
    ----------
    request, recipient : str
        Path of the request and id of the recipient.
    found : Found
    circumstances : dict
        As ``circumstances_document`` gives it.
    folder : str
        Private folder of the run.
    """
    with guarded("decision"):
        asked = load_request(Path(request)).request
        record = assemble(
            asked, asked.recipient(recipient), _findings(found), _CIRCUMSTANCES.validate_python(circumstances)
        )
        target = Path(folder) / f"decision-{recipient}.json"
        with written(target) as partial:
            partial.write_bytes(canonical_json(record))
        return artifact(target)


def _findings(found: Found) -> Findings:
    output = found["written"]
    return Findings(
        prepared=load(checked(found["prepared"])),
        validation=ValidationFact.model_validate(json.loads(checked(found["validation"]).read_bytes())),
        score=load_score(checked(found["score"])) if found["score"] else None,
        sequential=load_finding(checked(found["sequential"]), SequentialFact) if found["sequential"] else None,
        combined=load_finding(checked(found["combined"]), CombinedFact) if found["combined"] else None,
        masking=load_masked(checked(found["masked"])).facts if found["masked"] else (),
        linkage=load_finding(checked(found["linkage"]), LinkageFact) if found["linkage"] else None,
        utility=load_finding(checked(found["utility"]), UtilityFact) if found["utility"] else None,
        decoys=load_figure(checked(found["decoys"]), DecoyFact) if found["decoys"] else None,
        output=Output(
            sha256=output["clear_sha256"],
            rows=output["rows"],
            figures=output["figures"],
            statistics=load_figure(checked(output["statistics"]), StatisticsFact),
            delivery=DeliveryFact.model_validate(
                {
                    "file": delivered_name(output["form"], encrypted=bool(output["keys"])),
                    "format": output["form"],
                    "sha256": output["file"]["sha256"],
                    "encrypted_to": output["keys"],
                },
            ),
        )
        if output
        else None,
        failures=tuple(NotAssessed(**failure) for failure in found["failures"]),
    )
