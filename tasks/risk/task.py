"""Door of the risk stage: score what the generalization leaves."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, checked, written
from tasks.generalization.played_file import load_played
from tasks.guard import guarded
from tasks.request.load import load_request
from tasks.risk.score import score
from tasks.risk.score_file import save_score
from tasks.shared_table import shared_table


@task(name="score", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def score_release(  # noqa: PLR0917
    release_id: str,  # noqa: ARG001
    request: str,
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    folder: str,
) -> Artifact:
    """Measure risk before and after, the game's outcome and the figures of the gates.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; part of the cache key.
    request, recipient : str
        Path of the request and id of the recipient.
    prepared, played : Artifact
        The coded data and the cells they are released as.
    folder : str
        Private folder of the run.
    """
    with guarded("risk"):
        asked = load_request(Path(request)).request
        coded, table = shared_table(asked, prepared)
        scored = score(
            table,
            load_played(checked(played)),
            asked,
            asked.recipient(recipient),
            coded.distinct_values,
        )
        target = Path(folder) / f"score-{recipient}.json"
        with written(target) as partial:
            save_score(scored, partial)
        return artifact(target)
