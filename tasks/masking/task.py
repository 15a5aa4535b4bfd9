"""Door of the masking stage: mask the numeric columns that the request names, once for all recipients."""

from functools import partial
from pathlib import Path

from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, written
from tasks.delivery.seed import masking_generator
from tasks.guard import guarded
from tasks.masking.masked_columns import NOTHING_MASKED, mask_columns
from tasks.masking.masked_file import save_masked
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request


@task(name="mask", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def mask_data(release_id: str, request: str, roots: list[str], key_file: str, folder: str) -> Artifact:  # noqa: ARG001
    """Mask numeric columns; all recipients get the same masked values, so that copies cannot be averaged.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; part of the cache key.
    request : str
        Path of the request.
    roots : list of str
        Folders that the request may name files in.
    key_file : str
        Path of the workspace's key; the key itself never becomes a parameter.
    folder : str
        Private folder of the run.
    """
    with guarded("masking"):
        loaded = load_request(Path(request), [Path(root) for root in roots])
        asked = loaded.request

        columns = NOTHING_MASKED
        if asked.masking:
            frame = read_microdata(loaded.resolve(asked.dataset.path, "dataset.path"), asked)
            columns = mask_columns(asked, frame, partial(masking_generator, Path(key_file)))
        target = Path(folder) / "masked.npz"
        with written(target) as unfinished:
            save_masked(columns, unfinished)
        return artifact(target)
