"""Door of the preparation stage: read data and population once, code them, keep the codes."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from tasks.artifact import Artifact, artifact, written
from tasks.guard import guarded
from tasks.microdata.counting.choice import Counting
from tasks.microdata.prepared import prepare_file, save
from tasks.request.load import load_request


@task(name="prepare", persist_result=True, cache_policy=INPUTS + TASK_SOURCE, result_serializer="json")
def prepare_data(
    release_id: str,  # noqa: ARG001
    request: str,
    roots: list[str],
    folder: str,
    dask: str | None,
) -> Artifact:
    """Read, check and code the microdata and the population of a request.

    Parameters
    ----------
    release_id : str
        Names every input's bytes; part of the cache key.
    request : str
        Path of the request.
    roots : list of str
        Folders that the request may name files in.
    folder : str
        Private folder of the run.
    dask : str, optional
        Address of a Dask scheduler whose workers code and count the records; the result is the same.
    """
    with guarded("preparation"):
        loaded = load_request(Path(request), [Path(root) for root in roots])
        path = loaded.resolve(loaded.request.dataset.path, "dataset.path")
        prepared = prepare_file(loaded, path, Counting(Path(folder) / "counting", dask))
        target = Path(folder) / "prepared.npz"
        with written(target) as partial:
            save(prepared, partial)
        return artifact(target)
