"""Door of the utility stage: measure what one recipient's file is still good for."""

from pathlib import Path

import numpy as np
from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, checked, written
from tasks.delivery.seed import derive_seed
from tasks.errors import ParameterError, StageFailed
from tasks.generalization.played_file import load_played
from tasks.guard import guarded
from tasks.masking.masked_file import load_masked
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.risk.finding_file import save_finding
from tasks.risk.released import released_tuples
from tasks.shared_table import shared_table
from tasks.utility.analyses import Case
from tasks.utility.measure import measure


@task(name="measure utility", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def measure_utility(  # noqa: PLR0917
    release_id: str,
    request: str,
    roots: list[str],
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    masked: Artifact,
    key_file: str,
    folder: str,
) -> Artifact:
    """Measure the utility of a release beside the original.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; samples and starts follow from it and the key.
    request, recipient : str
        Path of the request and id of the recipient.
    roots : list of str
        Folders that the request may name files in.
    prepared, played, masked : Artifact
        The coded data, the cells they are released as, and the masked columns.
    key_file : str
        Path of the workspace's key; the key itself never becomes a parameter.
    folder : str
        Private folder of the run.
    """
    with guarded("utility"):
        loaded = load_request(Path(request), [Path(root) for root in roots])
        asked = loaded.request
        coded, table = shared_table(asked, prepared)
        outcome = load_played(checked(played))
        seed = derive_seed(Path(key_file), release_id, "utility")
        case = Case(
            asked,
            read_microdata(loaded.resolve(asked.dataset.path, "dataset.path"), asked),
            coded,
            outcome,
            released_tuples(table, outcome, asked.policy.generalization.minimum_class_size),
            load_masked(checked(masked)),
        )
        try:
            measured = measure(case, table, np.random.default_rng(int.from_bytes(seed)))
        except ParameterError as error:
            raise StageFailed(**error.fields()) from None
        target = Path(folder) / f"utility-{recipient}.json"
        with written(target) as partial:
            save_finding(measured.fact, measured.figures, partial)
        return artifact(target)
