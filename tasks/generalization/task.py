"""Door of the generalization stage: play the recipient's method."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, written
from tasks.generalization.played_file import save_played
from tasks.generalization.setting import follower_of, played_against
from tasks.guard import guarded
from tasks.request.load import load_request
from tasks.shared_table import shared_table


@task(name="generalize", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def generalize(
    release_id: str,  # noqa: ARG001
    request: str,
    recipient: str,
    prepared: Artifact,
    folder: str,
) -> Artifact:
    """Decide the cell that every distinct tuple is released as, under one recipient's stakes.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; part of the cache key.
    request, recipient : str
        Path of the request and id of the recipient.
    prepared : Artifact
        The coded data.
    folder : str
        Private folder of the run.
    """
    with guarded("generalization"):
        asked = load_request(Path(request)).request
        who = asked.recipient(recipient)
        _, table = shared_table(asked, prepared)
        played = played_against(table, asked, who, follower_of(asked, who, table.population.total))
        target = Path(folder) / f"played-{recipient}.npz"
        with written(target) as partial:
            save_played(played, partial)
        return artifact(target)
