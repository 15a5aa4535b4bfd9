"""The work of each stage: artifacts in, artifacts out. No orchestrator is known here.

Every function takes the workbench, the stage's inputs and the recipient, where the stage is of one, and returns plain
JSON. Slow libraries are imported where a stage needs them.
"""

import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, reduce
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from flows.pipeline.stages import Inputs
from flows.pipeline.workbench import Workbench
from flows.workspace.locking import try_lock
from tasks.assessments.columns.assessment import column_places
from tasks.assessments.combined.assessment import score_collected as collected_score
from tasks.assessments.registry import ASSESSMENTS, COMBINED, SINGLING_OUT
from tasks.candidate.assessment import load_figure, load_finding, save_figure, save_finding
from tasks.candidate.candidate import Candidate, Randomness
from tasks.core.canonical import canonical_json
from tasks.core.errors import ParameterError, StageFailed
from tasks.core.files import Artifact, artifact, checked, written
from tasks.core.seed import masking_generator
from tasks.decision.assemble import Findings, Output, are_open, assemble, gates_before_writing
from tasks.decision.context import CONTEXT
from tasks.decision.decoy_facts import DecoyFact, StatisticsFact
from tasks.decision.earlier_facts import EarlierFact
from tasks.decision.record import DecisionRecord, DeliveryFact, NotAssessed, ValidationFact, Verdict
from tasks.delivery.bundle_files import delivered_name
from tasks.generalization.generalization_file import save_generalization
from tasks.generalization.setting import follower_of, generalized_against
from tasks.masking.masked_columns import NOTHING_MASKED, mask_columns, save_masked
from tasks.microdata.prepared import prepare_file, save


def _stored(bench: Workbench, name: str, write: Callable[[Path], object]) -> Artifact:
    """Write a file of the run."""
    target = bench.run.path / name
    with written(target) as unfinished:
        write(unfinished)
    return artifact(target)


def _stored_bytes(bench: Workbench, name: str, content: bytes) -> Artifact:
    return _stored(bench, name, lambda path: path.write_bytes(content))


def prepare(bench: Workbench, _inputs: Inputs, _recipient: str | None) -> dict[str, Any]:
    """Read, check and code the microdata and the population; name the assessments that each copy will need."""
    prepared = prepare_file(bench.loaded, bench.data_path, bench.run.dask)
    stored = _stored(bench, "prepared.npz", partial(save, prepared))
    needed = [{"id": one.id, "stage": one.stage} for one in ASSESSMENTS if one.applies(bench.request)]
    return {"prepared": stored, "assessments": needed}


def validate(bench: Workbench, inputs: Inputs, _recipient: str | None) -> dict[str, Any]:
    """Check the microdata against the suite derived from the request."""
    from tasks.validation.run import NOTHING_JUDGED, Judged, judge  # noqa: PLC0415
    from tasks.validation.run import validate as run_suite  # noqa: PLC0415  Great Expectations takes seconds to import

    found = bench.by_columns(judge, list(bench.request.attributes))
    judged = reduce(Judged.__or__, found, NOTHING_JUDGED)
    outcome = run_suite(bench.frame(), bench.request, bench.prepared(inputs["prepared"]).covered, judged=judged)
    rows = {name: [row + 1 for row in positions] for name, positions in outcome.positions.items()}
    documents = {"fact": outcome.fact, "positions": rows}
    stored = {
        name: _stored_bytes(bench, f"validation-{name}.json", canonical_json(one)) for name, one in documents.items()
    }
    return {"passed": outcome.fact.passed, **stored}


def mask(bench: Workbench, _inputs: Inputs, _recipient: str | None) -> Artifact:
    """The same masked values for all recipients, so that copies cannot be averaged."""
    columns = NOTHING_MASKED
    if bench.request.masking:
        columns = mask_columns(bench.request, bench.frame(), partial(masking_generator, bench.run.key))
    return _stored(bench, "masked.npz", partial(save_masked, columns))


def score_collected(bench: Workbench, inputs: Inputs, _recipient: str | None) -> Artifact:
    """The combined score of the records as collected."""
    prepared = inputs["prepared"]
    figure = collected_score(bench.request, bench.prepared(prepared))
    return _stored(bench, "collected.json", partial(save_figure, figure))


def place_columns(bench: Workbench, inputs: Inputs, _recipient: str | None) -> Artifact:
    """The place of each released column in the attack: the same in every copy."""
    fact = column_places(bench.request, bench.prepared(inputs["prepared"]), bench.masked(inputs["masked"]))
    return _stored(bench, "columns.json", partial(save_figure, fact))


def generalize(bench: Workbench, inputs: Inputs, recipient: str | None) -> Artifact:
    """The released cell of every distinct tuple, by the recipient's method."""
    whom, index = bench.request.recipient(str(recipient)), bench.index(inputs["prepared"])
    generalization = generalized_against(
        index,
        bench.request,
        whom,
        follower_of(bench.request, whom, index.population.total, from_below=index.from_below),
    )
    return _stored(bench, f"generalization-{recipient}.npz", partial(save_generalization, generalization))


def place_decoys(bench: Workbench, inputs: Inputs, _recipient: str | None) -> dict[str, Any]:
    """Decoys for all recipients, the manifest sealed in the workspace; every copy lacks what others alone keep.

    Decoys are drawn from the system's randomness, unlike anything else: nobody who has the workspace's key can draw
    them again. A run that is resumed finds the result of this stage; one that finds it gone has other decoys.
    """
    from tasks.decoys.stage import plant, withheld_with  # noqa: PLC0415
    from tasks.decoys.vault import (  # noqa: PLC0415  imports solvers
        NONCE_BYTES,
        Vault,
        seal,
    )

    run, continues = bench.run, inputs["continues"]
    generalizations = inputs["generalizations"]
    made: dict[str, Any] = {name: {"generalization": one, "fact": None} for name, one in generalizations.items()}
    candidates = {name: bench.candidate(name, {**inputs, **one}) for name, one in made.items()}
    releasing = {name: one for name, one in candidates.items() if _releases(one)}
    vault = Vault.beside(run.key)
    try:
        before = vault.open(continues["release"], continues["commitment"]) if continues else None
        planted = plant(list(releasing.values()), run.release_id, before, _system_generators())
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    content, commitment = seal(planted.manifest, vault.keys(), secrets.token_bytes(NONCE_BYTES))
    manifest = artifact(vault.write(run.release_id, content))
    for name, candidate in releasing.items():
        withheld = withheld_with(candidate, planted.missing[name])
        marked = replace(candidate.generalization, withheld=withheld)
        target = f"generalization-{name}-with-decoys.npz"
        made[name]["generalization"] = _stored(bench, target, partial(save_generalization, marked))
        if name in planted.facts:
            fact = planted.facts[name].model_copy(update={"commitment_sha256": commitment})
            made[name]["fact"] = _stored(bench, f"decoys-{name}.json", partial(save_figure, fact))
    return {"manifest": manifest, "copies": made}


def _releases(candidate: Candidate) -> bool:
    """Whether anything is left to release; where not, the assessment says so."""
    try:
        return bool(candidate.released.any())
    except StageFailed:
        return False


def _system_generators() -> Randomness:
    secret = secrets.token_bytes(32)

    def generator(purpose: str) -> np.random.Generator:
        return np.random.default_rng(int.from_bytes(hmac.digest(secret, purpose.encode(), "sha256")))

    return generator


def assess(bench: Workbench, inputs: Inputs, recipient: str | None) -> Artifact:
    """One assessment of one copy."""
    assessment = next(one for one in ASSESSMENTS if one.id == inputs["assessment"])
    alone = assessment is COMBINED and bench.scores_alone
    with try_lock(bench.run.path / "scoring.lock", wait_seconds=inf) if alone else nullcontext():
        found = assessment.assess(bench.candidate(str(recipient), inputs))
    return _stored(bench, f"{assessment.id}-{recipient}.json", partial(save_finding, found))


def compare_earlier(bench: Workbench, inputs: Inputs, recipient: str | None) -> Artifact:
    """A copy beside the earlier ones held by the same party."""
    from flows.pipeline.earlier_copies import compared  # noqa: PLC0415  imports re-assessment

    candidate = bench.candidate(str(recipient), inputs)
    siblings = [
        bench.candidate(one, {**inputs, "generalization": made}) for one, made in inputs["siblings"].items() if made
    ]
    fact = compared(candidate, bench.run, inputs["copies"], inputs["parties"], siblings)
    return _stored(bench, f"earlier-{recipient}.json", partial(save_figure, fact))


def write(bench: Workbench, inputs: Inputs, recipient: str | None) -> dict[str, Any]:
    """Write the released file, read it back and score it again."""
    from tasks.delivery.write import Assessed, write_release  # noqa: PLC0415  imports encryption

    candidate = bench.candidate(str(recipient), inputs)
    decoys = load_figure(checked(inputs["decoys"]), DecoyFact) if inputs["decoys"] else None
    run, scored, singled = bench.run, inputs["combined"], inputs["singling_out"]
    assessed = None
    if scored and singled:
        known = load_finding(checked(singled), SINGLING_OUT).fact
        assessed = Assessed(load_finding(checked(scored), COMBINED).fact, known.as_released)
    made = write_release(
        candidate,
        bench.loaded,
        decoys,
        release_id=run.release_id,
        key_file=run.key,
        folder=run.path,
        assessed=assessed,
    )
    return dict(made)


def judge(bench: Workbench, inputs: Inputs, recipient: str | None) -> bool:
    """Whether every gate that can be judged before a file is written is open."""
    request = bench.request
    whom, context = request.recipient(str(recipient)), CONTEXT.validate_python(inputs["context"])
    return are_open(gates_before_writing(request, whom, _findings(bench, inputs), context))


def decide(bench: Workbench, inputs: Inputs, recipient: str | None) -> Artifact:
    """The decision record."""
    request = bench.request
    whom, context = request.recipient(str(recipient)), CONTEXT.validate_python(inputs["context"])
    record = assemble(request, whom, _findings(bench, inputs), context)
    return _stored_bytes(bench, f"decision-{recipient}.json", canonical_json(record))


def _findings(bench: Workbench, inputs: Inputs) -> Findings:
    found, output = inputs["found"], inputs["found"]["written"]
    return Findings(
        prepared=bench.prepared(found["prepared"]),
        validation=ValidationFact.model_validate(json.loads(checked(found["validation"]).read_bytes())),
        findings={
            assessment.id: load_finding(checked(found["findings"][assessment.id]), assessment)
            for assessment in ASSESSMENTS
            if assessment.id in found["findings"]
        },
        masking=bench.masked(found["masked"]).facts if found["masked"] else (),
        decoys=load_figure(checked(found["decoys"]), DecoyFact) if found["decoys"] else None,
        earlier=_earlier(found),
        output=_output(output) if output else None,
        failures=tuple(NotAssessed(**failure) for failure in found["failures"]),
    )


def _earlier(found: Mapping[str, Any]) -> EarlierFact | None:
    if found["earlier"]:
        return load_figure(checked(found["earlier"]), EarlierFact)
    return None if found["compared"] else EarlierFact()


def _output(output: Mapping[str, Any]) -> Output:
    delivery = {
        "file": delivered_name(output["form"], encrypted=bool(output["keys"])),
        "format": output["form"],
        "sha256": output["file"]["sha256"],
        "encrypted_to": output["keys"],
        "tables": [_table_file(output, one) for one in output["tables"]],
    }
    return Output(
        sha256=output["clear_sha256"],
        rows=output["rows"],
        records=output["records"],
        figures=output["figures"],
        statistics=load_figure(checked(output["statistics"]), StatisticsFact),
        delivery=DeliveryFact.model_validate(delivery),
        crosswalk=output["crosswalk"],
    )


def _table_file(output: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    name = delivered_name(output["form"], encrypted=bool(output["keys"]), table=table["table"])
    return {**table, "file": name, "sha256": table["file"]["sha256"]}


def report(bench: Workbench, inputs: Inputs, recipient: str | None) -> Artifact:
    """The determination."""
    from reports.determination import render_determination  # noqa: PLC0415  WeasyPrint takes a second to import

    return _stored_bytes(bench, f"report-{recipient}.pdf", render_determination(_record(inputs)))


def evidence(bench: Workbench, inputs: Inputs, recipient: str | None) -> Artifact:
    """The evidence of the determination."""
    from reports.determination import render_evidence  # noqa: PLC0415

    return _stored_bytes(bench, f"evidence-{recipient}.pdf", render_evidence(_record(inputs)))


def certify(bench: Workbench, inputs: Inputs, recipient: str | None) -> Artifact | None:
    """The recipient's certificate, for an approved release."""
    from reports.certificate import render_certificate  # noqa: PLC0415

    record = _record(inputs)
    if record.decision is not Verdict.APPROVED:
        return None
    return _stored_bytes(bench, f"certificate-{recipient}.pdf", render_certificate(record))


def _record(inputs: Inputs) -> DecisionRecord:
    return DecisionRecord.model_validate_json(checked(inputs["record"]).read_bytes())
