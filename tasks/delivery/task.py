"""Door of the delivery stage: write the released file where the gates are open so far, read it back, score it again."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, Written, artifact, checked, written
from tasks.delivery.released_file import read_cells, released_table, write_csv
from tasks.delivery.rescore import CellSizes, flat_figures, rescore
from tasks.delivery.seed import derive_seed
from tasks.generalization.played_file import load_played
from tasks.generalization.setting import payoffs_of
from tasks.guard import guarded
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.risk.score import released_tuples
from tasks.shared_table import shared_table


@task(name="write", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def write_release(  # noqa: PLR0917
    release_id: str,
    request: str,
    roots: list[str],
    recipient: str,
    prepared: Artifact,
    played: Artifact,
    key_file: str,
    folder: str,
) -> Written:
    """Write one recipient's file into the private folder of the run, and score it from its bytes.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; the row order follows from it and the key.
    request, recipient : str
        Path of the request and id of the recipient.
    roots : list of str
        Folders that the request may name files in.
    prepared, played : Artifact
        The coded data and the cells they are released as.
    key_file : str
        Path of the workspace's key; the key itself never becomes a parameter.
    folder : str
        Private folder of the run.
    """
    with guarded("delivery"):
        loaded = load_request(Path(request), [Path(root) for root in roots])
        asked, policy = loaded.request, loaded.request.policy
        coded, table = shared_table(asked, prepared)
        outcome = load_played(checked(played))
        released = released_table(
            read_microdata(loaded.resolve(asked.dataset.path, "dataset.path"), asked),
            asked,
            table,
            cells=outcome.cells,
            tuple_of_record=coded.tuple_of_record,
            keep=released_tuples(table, outcome, policy.generalization.minimum_class_size),
            seed=derive_seed(Path(key_file), release_id, f"row order {recipient}"),
        )
        target = Path(folder) / f"released-{recipient}.csv"
        with written(target) as partial:
            write_csv(released, partial)
        measured = rescore(
            read_cells(target, asked.quasi_identifiers, table),
            table,
            CellSizes.of(table, outcome),
            payoffs=payoffs_of(asked.recipient(recipient)),
            threshold=policy.risk_threshold,
            small_cell=policy.small_cell,
        )
        return Written(
            file=artifact(target),
            rows=released.num_rows,
            figures=None if measured is None else flat_figures(*measured),
        )
