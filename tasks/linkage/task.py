"""Door of the linkage stage: attack one recipient's release by linking it to the original file."""

from pathlib import Path

import numpy as np
from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, checked, written
from tasks.delivery.seed import derive_seed
from tasks.errors import ParameterError, StageFailed
from tasks.generalization.played_file import load_played
from tasks.guard import guarded
from tasks.linkage.attack import Setting, attack
from tasks.masking.masked_file import load_masked
from tasks.request.load import load_request
from tasks.risk.finding_file import save_finding
from tasks.shared_table import shared_table


@task(name="attack", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def attack_release(  # noqa: PLR0917
    release_id: str,
    request: str,
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    masked: Artifact,
    key_file: str,
    folder: str,
) -> Artifact:
    """Link the release to its originals as the strongest intruder would.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; the sample of people follows from it and the key.
    request, recipient : str
        Path of the request and id of the recipient.
    prepared, played, masked : Artifact
        The coded data, the cells they are released as, and the masked columns.
    key_file : str
        Path of the workspace's key; the key itself never becomes a parameter.
    folder : str
        Private folder of the run.
    """
    with guarded("record linkage"):
        asked = load_request(Path(request)).request
        coded, table = shared_table(asked, prepared)
        setting = Setting(
            request=asked,
            recipient=asked.recipient(recipient),
            prepared=coded,
            table=table,
            played=load_played(checked(played)),
            columns=load_masked(checked(masked)),
        )
        seed = derive_seed(Path(key_file), release_id, f"record linkage {recipient}")
        try:
            attacked = attack(setting, np.random.default_rng(int.from_bytes(seed)))
        except ParameterError as error:
            raise StageFailed(**error.fields()) from None
        target = Path(folder) / f"linkage-{recipient}.json"
        with written(target) as partial:
            save_finding(attacked.fact, attacked.figures, partial)
        return artifact(target)
