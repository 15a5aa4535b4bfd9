"""Publishing what a run has made: check the files, seal the bundle, record it in one transaction, move it in place."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flows.gate.last_check import check_copies
from flows.pipeline.run import Run
from flows.releases.cases import forget, pending_key
from flows.releases.earlier import check_still_apart, forget_superseded, replace_undecided, supersede
from flows.releases.identity import check_unused
from flows.releases.released_copies import check_hand
from flows.workspace.actor import actor
from flows.workspace.folders import Workspace
from flows.workspace.kept_request import keep_request
from reports.validation_page import render_validation_page
from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.core.files import checked, file_sha256, written
from tasks.decision import bodies
from tasks.decision.changes import Author, change
from tasks.decision.context import DecisionContext
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.bundle import check_sealed, publish, seal
from tasks.delivery.bundle_files import RecipientFiles, delivered_files, lay_down, lay_out, no_file
from tasks.delivery.manifest import MANIFEST_FILE, Manifest
from tasks.delivery.pending import seal_folder
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.prepared import load
from tasks.request.load import open_snapshot
from tasks.request.model import ReleaseRequest


def publish_release(
    workspace: Workspace, ledger: Ledger, run: Run, finished: Mapping[str, Any], context: DecisionContext
) -> None:
    """Publish a bundle with the decisions of a run.

    `finished`: result of the pipeline.
    Raises StageFailed if a file is not the one that was decided on or does not follow from the inputs, or what the
    decision rests on has changed meanwhile; nothing is recorded then.
    """
    name, at = context.release_id, context.decided_at
    staged = workspace.staging / name
    asked, made = open_snapshot(run.snapshot, run.snapshot_sha256), finished["recipients"]
    request = asked.request
    keep_request(workspace, asked.sha256, asked.content)
    stored = [_recipient_files(files) for files in made.values()]
    recipients = check_copies(run, stored, {who: files["copy"] for who, files in made.items()})
    records = [files.record for files in recipients]
    page = render_validation_page(records[0].validation, request.title, request.policy.small_cell)
    hierarchies = load(checked(finished["prepared"])).hierarchies
    with _fresh(staged):
        laid = lay_out(staged, request, recipients, hierarchies, page)
        for files in recipients:
            if files.record.decision is not Verdict.BLOCKED:
                _keep(workspace, request, files)
        positions = checked(finished["validation"]["positions"])
        if any(json.loads(positions.read_bytes()).values()):
            # Row positions stay with the steward: in the private folder, never in the bundle.
            workspace.positions(name).parent.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(positions, workspace.positions(name))
        manifest = seal(staged)
        _check_laid(manifest, laid)
    author = Author(actor(), at)
    approved = [record for record in records if record.decision is Verdict.APPROVED]
    with ledger.transaction():
        check_unused(ledger, context.overrides, at)
        replace_undecided(workspace, ledger, request, context)
        for record in records:
            body = bodies.decided(record, context.beside.get(record.recipient.id, ()))
            change(ledger, record, digest(record), [(Event.DECIDED, body)], author)
        for record in approved:
            body = bodies.released(str(record.dataset.output_sha256), record.delivered_sha256)
            change(ledger, record, digest(record), [(Event.RELEASED, body)], author)
            check_still_apart(workspace, ledger, record)
            supersede(workspace, ledger, record, at)
            check_hand(ledger, record, request)
        body = bodies.published(manifest.sha256)
        ledger.append(Event.PUBLISHED, release_id=name, recipient=None, actor=actor(), body=body, at=at)
        check_sealed(staged, manifest.sha256)
    publish(staged, workspace.bundle(name), manifest.sha256)
    workspace.clear(name)
    for record in approved:
        forget_superseded(workspace, record)
    for who, before in context.decided_before.items():
        forget(workspace, before.release_id, who)  # after a crash this is repeated later


def _check_laid(manifest: Manifest, laid: Mapping[str, str]) -> None:
    """Refuse a sealed bundle with any file that differs from the one that was laid out."""
    sealed = {one.path: one.sha256 for one in manifest.files if not one.path.endswith(f"/{MANIFEST_FILE}")}
    differing = sorted(path for path in sealed.keys() | laid.keys() if sealed.get(path) != laid.get(path))
    if differing:
        raise StageFailed(
            "the staged bundle was changed before it was sealed",
            where=", ".join(differing),
            expected="the files that the stages made",
            got="different files",
            fix="nothing is released; find out who wrote to the workspace's private folder, and run again",
        )


def _keep(workspace: Workspace, request: ReleaseRequest, files: RecipientFiles) -> None:
    """Keep the material for assessing a copy again and, encrypted, the delivery that reviewers may still approve."""
    record = files.record
    name, who = record.release_id, record.recipient.id
    if files.released is None or files.kept is None or file_sha256(files.released) != record.delivered_sha256:
        raise no_file(files)
    if record.decision is Verdict.AWAITING_REVIEW:
        delivery = workspace.run(name) / f"delivery-{who}"
        with _fresh(delivery):
            lay_down(delivery, delivered_files(request, files))
            seal_folder(delivery, workspace.pending(name, who), pending_key(workspace, name))
        shutil.rmtree(delivery)
    with written(workspace.kept(name, who)) as partial:
        shutil.copyfile(files.kept, partial)
        partial.chmod(0o600)


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    """A folder that is not there at the beginning, nor after an error."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _recipient_files(files: Mapping[str, Any]) -> RecipientFiles:
    names = "certificate", "released", "kept"
    paths = {name: checked(files[name]) if files[name] else None for name in names}
    record = DecisionRecord.model_validate_json(checked(files["record"]).read_bytes())
    stored = [files[name] for name in ("report", "evidence", *names) if files[name]] + list(files["tables"].values())
    hashes = {Path(one["path"]): one["sha256"] for one in stored}
    certificate, released, kept = paths.values()
    report, evidence = checked(files["report"]), checked(files["evidence"])
    tables = {name: checked(stored) for name, stored in files["tables"].items()}
    return RecipientFiles(record, report, evidence, certificate, released, kept, hashes, tables=tables)
