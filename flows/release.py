"""The flow of a release: validate, mask, generalize, place decoys, score, attack, write, decide, report.

Only sequences. Paths and hashes cross the borders between tasks, so nothing that Prefect keeps holds a data value.
"""

from collections.abc import Callable
from typing import Any

from prefect import Task, flow

from flows.progress import step
from flows.reporting import render_reports
from flows.solving import solver_slot
from tasks.artifact import Artifact, is_intact
from tasks.decision.task import Found, decide_release, gates_open
from tasks.decoys.task import place_decoys
from tasks.delivery.task import write_release
from tasks.errors import StageCrashed, StageFailed
from tasks.generalization.task import generalize
from tasks.linkage.task import attack_release
from tasks.masking.task import mask_data
from tasks.microdata.task import prepare_data
from tasks.risk.task import combine_risks, plan_attack, score_as_collected, score_release
from tasks.utility.task import measure_utility
from tasks.validation.task import validate_data


@flow(name="release", persist_result=False, validate_parameters=False)
def release(  # noqa: PLR0917
    release_id: str,
    inputs_id: str,
    request: str,
    roots: list[str],
    recipients: list[str],
    decided: list[str],
    decoys: dict[str, str] | None,
    circumstances: dict[str, object],
    key_file: str,
    folder: str,
    dask: str | None,
) -> dict[str, Any]:
    """Take a request to one decision record and its reports for each recipient.

    1. Prepare: read and code data and population, once.
    2. Validate the data; where that fails, no recipient is assessed. Mask numbers, and score the records as collected.
    3. Generalize for each recipient; place the decoys of all of them, if any are asked for.
    4. For each recipient: score, plan an attack, weigh what is given away, link the release to its originals, measure
       what it is good for, write the file if the gates are open so far, decide, report.

    Parameters
    ----------
    release_id : str
        Names every input's bytes, and the overrides that the release rests on.
    inputs_id : str
        The same without overrides: what is drawn at random for a measurement follows from it, so that the figures that
        an officer answered for come out again.
    request : str
        Path of the request.
    roots : list of str
        Folders that the request may name files in.
    recipients : list of str
        Ids of the recipients.
    decided : list of str
        Those to decide for: all of them, but under overrides those whose gates were overridden. Copies with decoys are
        planned for all of them together.
    decoys : dict of str to str, optional
        ``release`` and ``commitment`` of the version whose decoys are continued; empty for new ones, None for none.
    circumstances : dict
        Identity, program, time and ledger head, for the records.
    key_file : str
        Path of the workspace's key.
    folder : str
        Private folder of the run.
    dask : str, optional
        Address of a Dask scheduler whose workers code and count the records.

    Returns
    -------
    dict
        ``prepared`` and ``validation`` artifacts, and by recipient the artifacts of its record, reports and file.

    Raises
    ------
    BadInput
        If request or data cannot be used.
    StageFailed
        If a stage fails that all recipients share, or a report cannot be made.
    """
    step("reading data and population")
    prepared = _done(prepare_data, release_id, request, roots, folder, dask)
    step("validating")
    validation = _done(validate_data, release_id, request, roots, prepared, folder)
    masked = collected = None
    if validation["passed"]:
        step("masking")
        masked = _done(mask_data, release_id, request, roots, key_file, folder)
        step("weighing identity and attributes as collected")
        collected = _done(score_as_collected, release_id, request, prepared, folder)
    every = {
        recipient: Found(
            prepared=prepared,
            validation=validation["fact"],
            score=None,
            sequential=None,
            combined=None,
            masked=masked,
            linkage=None,
            utility=None,
            decoys=None,
            written=None,
            failures=[],
        )
        for recipient in (decided if decoys is None else recipients)
    }
    played: dict[str, Artifact] = {}
    if masked and collected:
        played = _generalized(every, release_id, request, prepared, folder)
        if decoys is not None:
            played = _with_decoys(every, release_id, request, roots, played, decoys, masked, key_file, folder)
    finished = {}
    for recipient, found in every.items():
        if recipient not in decided:
            continue
        if masked and collected and recipient in played:
            _assess(
                found,
                release_id,
                inputs_id,
                request,
                roots,
                recipient,
                played[recipient],
                masked,
                collected,
                circumstances,
                key_file,
                folder,
            )
        step(f"deciding and reporting for {recipient}")
        record = decide_release(request, recipient, found, circumstances, folder)
        reports = _done(render_reports, release_id, recipient, record, folder)
        released = found["written"]["file"] if found["written"] else None
        kept = found["written"]["kept"] if found["written"] else None
        finished[recipient] = {"record": record, "released": released, "kept": kept, **reports}
    return {"prepared": prepared, "validation": validation, "recipients": finished}


def _generalized(
    every: dict[str, Found], release_id: str, request: str, prepared: Artifact, folder: str
) -> dict[str, Artifact]:
    """Generalize for each recipient; one whose generalization fails is blocked, a crash ends the run."""
    played = {}
    for recipient, found in every.items():
        step(f"generalizing for {recipient}")
        try:
            with solver_slot():
                played[recipient] = _done(generalize, release_id, request, recipient, prepared, folder)
        except StageCrashed:
            raise
        except StageFailed as failure:
            found["failures"].append({"stage": "generalization", "reason": failure.in_one_line()})
    return played


def _with_decoys(  # noqa: PLR0917
    every: dict[str, Found],
    release_id: str,
    request: str,
    roots: list[str],
    played: dict[str, Artifact],
    decoys: dict[str, str],
    masked: Artifact,
    key_file: str,
    folder: str,
) -> dict[str, Artifact]:
    """Place the decoys of all recipients; where that fails, everybody is blocked.

    A copy without decoys, given away now, would lack nothing that later copies lack for each other's decoys.
    """
    step("placing decoys")
    prepared = next(iter(every.values()))["prepared"]
    try:
        with solver_slot():
            placed = _done(place_decoys, release_id, request, roots, prepared, played, masked, decoys, key_file, folder)
    except StageCrashed:
        raise
    except StageFailed as failure:
        for recipient in played:
            every[recipient]["failures"].append({"stage": "decoys", "reason": failure.in_one_line()})
        return played
    for recipient, copy in placed["copies"].items():
        every[recipient]["decoys"] = copy["fact"]
    return {recipient: copy["played"] for recipient, copy in placed["copies"].items()}


def _assess(  # noqa: PLR0917
    found: Found,
    release_id: str,
    inputs_id: str,
    request: str,
    roots: list[str],
    recipient: str,
    played: Artifact,
    masked: Artifact,
    collected: Artifact,
    circumstances: dict[str, object],
    key_file: str,
    folder: str,
) -> None:
    """Run one recipient's stages; a stage that fails blocks this recipient and no other, a crash ends the run."""
    prepared, stage = found["prepared"], "risk"
    try:
        step(f"scoring for {recipient}")
        found["score"] = _done(score_release, inputs_id, request, recipient, prepared, played, key_file, folder)
        stage = "sequential adversary"
        step(f"planning an attack as {recipient}")
        found["sequential"] = _done(plan_attack, release_id, request, recipient, prepared, played, folder)
        stage = "combined risk"
        step(f"weighing identity and attributes for {recipient}")
        found["combined"] = _done(
            combine_risks, release_id, request, recipient, prepared, played, masked, collected, folder
        )
        stage = "record linkage"
        step(f"linking the release for {recipient} to its originals")
        found["linkage"] = _done(
            attack_release, inputs_id, request, recipient, prepared, played, masked, key_file, folder
        )
        stage = "utility"
        step(f"measuring the utility of the release for {recipient}")
        found["utility"] = _done(
            measure_utility, inputs_id, request, roots, recipient, prepared, played, masked, key_file, folder
        )
        if not found["failures"] and gates_open(request, recipient, found, circumstances):
            stage = "delivery"
            step(f"writing and re-scoring the file for {recipient}")
            found["written"] = _done(
                write_release,
                release_id,
                request,
                roots,
                recipient,
                prepared,
                played,
                masked,
                found["decoys"],
                key_file,
                folder,
            )
    except StageCrashed:
        raise
    except StageFailed as failure:
        found["failures"].append({"stage": stage, "reason": failure.in_one_line()})


def _done(door: Task[..., Any], *arguments: Any) -> Any:
    """Result of a task; made again where a cached result names files that are gone or changed."""
    result = door(*arguments)
    if _intact(result):
        return result
    return door.with_options(refresh_cache=True)(*arguments)


def _intact(result: Any) -> bool:
    if not isinstance(result, dict):
        return True
    if result.keys() >= Artifact.__annotations__.keys():
        return is_intact(Artifact(path=result["path"], sha256=result["sha256"]))
    check: Callable[[Any], bool] = _intact
    return all(check(part) for part in result.values())
