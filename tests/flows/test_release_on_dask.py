"""A release whose records are counted on the workers of a Dask cluster: the same bundle, byte for byte."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from tasks.core.errors import BadInput
from tasks.delivery.verification import verify_bundle
from tasks.microdata import counting as by_dask
from tasks.microdata.parts import pieces
from tests.support.world import World

ROWS_A_GROUP = 30


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as running:
        yield running.scheduler_address


@pytest.fixture
def parquet_world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The world with its file as Parquet of several row groups, each a piece, and delivered as Parquet."""
    text = pacsv.ConvertOptions(column_types={"zip": "string", "record_id": "string"}, strings_can_be_null=True)
    pq.write_table(
        pacsv.read_csv(world.data, convert_options=text), world.folder / "data.parquet", row_group_size=ROWS_A_GROUP
    )
    monkeypatch.setattr(
        "tasks.microdata.prepared.pieces", lambda path, request: pieces(path, request, rows=ROWS_A_GROUP)
    )
    world.ask(dataset={"path": "data.parquet"}, delivery_format="parquet")
    return world


def files(bundle: Path) -> dict[str, bytes]:
    return {str(path.relative_to(bundle)): path.read_bytes() for path in sorted(bundle.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_the_bundle_is_the_same_byte_for_byte(parquet_world: World, engine: Any, cluster: str, tmp_path: Path) -> None:
    sent: list[int] = []
    coded = by_dask.code_by_dask

    def watched(address: str, coder: Any, cut: Any) -> Any:
        sent.append(len(cut))
        return coded(address, coder, cut)

    alone = parquet_world.run(engine)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".releasegate").mkdir(mode=0o700, parents=True)
    shutil.copyfile(parquet_world.workspace.key_file, elsewhere / ".releasegate" / "key")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.microdata.counting.code_by_dask", watched)
        together = parquet_world.run(engine, elsewhere, dask=cluster)
    assert sent
    assert sent[0] > 2, "every row group was a piece of its own"
    assert together.release_id == alone.release_id
    assert [record.decision.value for record in together.records] == ["approved"]
    assert "delivery/university/data.parquet" in files(alone.bundle)
    assert files(together.bundle) == files(alone.bundle)
    verify_bundle(together.bundle, None)


def test_no_cluster_is_bad_input(parquet_world: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_dask, "_TO_CONNECT", "200ms")
    told = releasegate(
        "release", parquet_world.request, "--workspace", parquet_world.workspace.root, "--dask", "tcp://127.0.0.1:1"
    )
    assert told.code == BadInput.exit_code
    assert "the Dask cluster does not answer" in told.err
    assert "starting the orchestrator" not in told.err, "nothing else is begun"
    assert not list(parquet_world.workspace.releases.iterdir())


def test_csv_has_no_pieces(world: World, engine: Any, cluster: str) -> None:
    with pytest.raises(BadInput, match="only Parquet"):
        world.run(engine, dask=cluster)
