"""Rendering a record's reports as a task of the flow."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, checked, written
from tasks.decision.record import DecisionRecord, Verdict
from tasks.guard import guarded


@task(name="report", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def render_reports(
    release_id: str,  # noqa: ARG001
    recipient: str,
    record: Artifact,
    folder: str,
) -> dict[str, Artifact | None]:
    """Render the determination and, for an approved release, the recipient's certificate.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; part of the cache key.
    recipient : str
        Id of the recipient.
    record : Artifact
        The decision record.
    folder : str
        Private folder of the run.
    """
    with guarded("report"):
        from reports.certificate import render_certificate  # noqa: PLC0415  WeasyPrint takes a second to import
        from reports.determination import render_determination  # noqa: PLC0415

        decided = DecisionRecord.model_validate_json(checked(record).read_bytes())
        pages = {"report": render_determination(decided)}
        if decided.decision is Verdict.APPROVED:
            pages["certificate"] = render_certificate(decided)
        stored: dict[str, Artifact | None] = {"report": None, "certificate": None}
        for name, content in pages.items():
            target = Path(folder) / f"{name}-{recipient}.pdf"
            with written(target) as partial:
                partial.write_bytes(content)
            stored[name] = artifact(target)
        return stored
