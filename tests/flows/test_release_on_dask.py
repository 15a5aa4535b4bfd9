"""A release whose file is read, counted, validated and redacted on the workers of a Dask cluster.

The bundle is the same byte for byte; the cluster is told of paths, hashes and columns alone.
"""

import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import yaml

from flows.pipeline import workbench
from tasks.core.errors import BadInput, DataError, Outage, StageCrashed
from tasks.delivery.verification import verify_bundle
from tasks.microdata import workers as by_dask
from tasks.microdata.parts import pieces
from tasks.microdata.workers import WorkOrder
from tasks.validation.run import judge
from tests.flows.test_text_release import MARK, ask, note
from tests.support.decoyed_world import make_decoyed_world, the_same_decoys
from tests.support.silence import assert_silent
from tests.support.world import COLUMNS, ID_MARK, SENSITIVE_MARK, World, recipient

ROWS_A_GROUP = 30
TCP: dict[str, Any] = {"protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": ":0"}


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **TCP) as running:
        yield running


@pytest.fixture
def cluster(running: Any) -> str:
    return str(running.scheduler_address)


def as_parquet(world: World) -> None:
    text = pacsv.ConvertOptions(column_types={"zip": "string", "record_id": "string"}, strings_can_be_null=True)
    table = pacsv.read_csv(world.data, parse_options=pacsv.ParseOptions(newlines_in_values=True), convert_options=text)
    pq.write_table(table, world.folder / "data.parquet", row_group_size=ROWS_A_GROUP)


def asked(world: World) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(world.request.read_text())
    return document


@pytest.fixture
def parquet_world(world: World) -> World:
    """The world with names and notes, its file Parquet of several row groups, delivered as Parquet."""
    ask_for_notes(world)
    return world


def ask_for_notes(world: World, note_of: Any = note) -> None:
    recipients = [recipient("university"), recipient("registry")]
    ask(world, note_of=note_of, dataset={"path": "data.csv"}, recipients=recipients)
    as_parquet(world)
    parquet = {"dataset": {"path": "data.parquet"}, "delivery_format": "parquet"}
    ask(world, note_of=note_of, recipients=recipients, **parquet)


@pytest.fixture(autouse=True)
def _pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row group is a piece; workers get the function that judges columns itself, not one that remembers."""
    monkeypatch.setattr("tasks.validation.run.judge", judge)
    for module in ("prepared", "coded_frame"):
        monkeypatch.setattr(
            f"tasks.microdata.{module}.pieces", lambda path, request: pieces(path, request, rows=ROWS_A_GROUP)
        )


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[WorkOrder]:
    """Orders that clusters are given."""
    orders: list[WorkOrder] = []
    connect = by_dask.connect

    def watched(address: str) -> Any:
        client = connect(address)
        send = client.map

        def listed(work: Any, given: list[WorkOrder], **terms: Any) -> Any:
            orders.extend(given)
            return send(work, given, **terms)

        client.map = listed
        return client

    monkeypatch.setattr(by_dask, "connect", watched)
    return orders


async def events_of(scheduler: Any) -> str:
    """What a scheduler has noted, asked for in its own thread."""
    return str(scheduler.get_events())


@pytest.fixture
def told(running: Any, sent: list[WorkOrder], caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """All that the scheduler holds of tasks, and that scheduler, workers and their logs say of them."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    seen: list[str] = []

    class Watching(SchedulerPlugin):
        def transition(self, key: Any, start: Any, finish: Any, *args: Any, **terms: Any) -> None:
            task = running.scheduler.tasks.get(key)
            held = b"" if task is None or task.run_spec is None else pickle.dumps(task.run_spec)
            seen.append(f"{key} {start} {finish} {args} {terms} {task!r} {held!r}")

    def everything() -> str:
        assert len(seen) > len(sent) > 0
        assert not running.scheduler.tasks
        assert not any(worker.data for worker in running.workers.values())
        assert any(record.name.startswith("distributed") for record in caplog.records)
        events = running.sync(events_of, running.scheduler)
        return "\n".join([*seen, events, caplog.text, *map(repr, sent), *map(repr, map(pickle.dumps, sent))])

    caplog.set_level("DEBUG", logger="distributed")
    running.scheduler.add_plugin(Watching(), name="watching")
    yield everything
    running.scheduler.remove_plugin("watching")


def works(orders: list[WorkOrder]) -> set[str]:
    """Names of what workers are to do; of what is made of columns, the function that makes it."""
    called = [one.work for one in orders]
    return {(one.args[0] if one.func.__name__ == "_made" else one.func).__name__ for one in called}  # type: ignore[attr-defined]


def files(bundle: Path) -> dict[str, bytes]:
    return {str(path.relative_to(bundle)): path.read_bytes() for path in sorted(bundle.rglob("*")) if path.is_file()}


def elsewhere(world: World) -> Path:
    """Another workspace with the same keys: what follows from them is the same."""
    folder = world.folder.parent / "elsewhere"
    (folder / ".releasegate").mkdir(mode=0o700, parents=True)
    for name in ("key", "decoy-keys"):
        if (kept := world.workspace.key_file.with_name(name)).exists():
            shutil.copy(kept, folder / ".releasegate" / name)
    return folder


@pytest.mark.slow
def test_the_bundle_is_the_same_byte_for_byte_and_the_cluster_is_told_no_value(
    parquet_world: World, engine: Any, cluster: str, sent: list[WorkOrder], told: Callable[[], str]
) -> None:
    alone = parquet_world.run(engine)
    assert not sent
    together = parquet_world.run(engine, elsewhere(parquet_world), dask=cluster)
    assert works(sent) == {"code", "_read_piece", "judge", "redact"}
    assert [works([one]) for one in sent].count({"_read_piece"}) >= 8, "every row group was a piece of its own"
    shares = [one.work.args[1] for one in sent if works([one]) == {"judge"}]  # type: ignore[attr-defined]
    assert sorted(sum(shares, ())) == sorted([*COLUMNS, "name"])
    assert [record.decision.value for record in together.records] == ["awaiting review"] * 2
    hashes = {record.dataset.output_sha256 for record in alone.records}
    assert None not in hashes, "the records name the bytes that wait for the reviewers"
    assert files(together.bundle) == files(alone.bundle)
    verify_bundle(together.bundle, None)
    known = told()
    assert "_read_piece" in known
    for mark in (ID_MARK, SENSITIVE_MARK, MARK, "Zebulon", "no complaint"):
        assert mark not in known
    key = parquet_world.workspace.key_file.read_bytes()
    assert repr(key)[2:-1] not in known
    assert key.hex() not in known


@pytest.mark.slow
def test_the_cluster_is_told_nothing_of_decoys(
    engine: Any, cluster: str, sent: list[WorkOrder], told: Callable[[], str], tmp_path: Path
) -> None:
    """Workers read the source alone: decoys are drawn, put among the records and written by the gate."""
    world = make_decoyed_world(tmp_path / "world")
    as_parquet(world)
    with the_same_decoys():
        world.ask(**asked(world) | {"dataset": {"path": "data.parquet"}})
        alone = world.run(engine)
        together = world.run(engine, elsewhere(world), dask=cluster)
    assert [record.decision.value for record in together.records] == ["approved"] * 3
    assert any(record.decoys for record in together.records)
    assert files(together.bundle) == files(alone.bundle)
    assert works(sent) == {"code", "_read_piece", "judge"}
    assert len({one.path for one in sent}) == 1, "the private copy of the file"
    assert "decoy" not in told()


@pytest.mark.slow
def test_data_that_are_not_valid_are_blocked_alike(parquet_world: World, engine: Any, cluster: str) -> None:
    table = pq.read_table(parquet_world.folder / "data.parquet")
    ids = table["record_id"].to_pylist()
    table = table.set_column(table.schema.get_field_index("record_id"), "record_id", [[ids[9], *ids[1:]]])
    pq.write_table(table, parquet_world.folder / "data.parquet", row_group_size=ROWS_A_GROUP)
    alone = parquet_world.run(engine)
    together = parquet_world.run(engine, elsewhere(parquet_world), dask=cluster)
    assert [record.decision.value for record in together.records] == ["blocked", "blocked"]
    assert [one.id for one in together.records[0].validation.checks if not one.passed] == [
        "unique/expect_column_values_to_be_unique/record_id"
    ]
    assert files(together.bundle) == files(alone.bundle)


@pytest.mark.slow
def test_what_a_worker_refuses_is_told_as_by_one_machine(
    parquet_world: World, engine: Any, cluster: str, tmp_path: Path
) -> None:
    ask_for_notes(parquet_world, lambda *_: f"{MARK} ist heute wieder in die Ambulanz gekommen und klagt über Husten.")
    with pytest.raises(DataError) as alone:
        parquet_world.run(engine)
    with pytest.raises(DataError) as together:
        parquet_world.run(engine, tmp_path / "elsewhere", dask=cluster)
    assert together.value.fields() == alone.value.fields()
    assert_silent(together.value, MARK)


@pytest.mark.slow
@pytest.mark.parametrize("began", ["validating", "assessing the copy"])
def test_a_cluster_that_dies_later_decides_nothing(
    parquet_world: World, engine: Any, began: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    monkeypatch.setattr(by_dask, "_TO_CONNECT", "1s")
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **TCP) as cluster:

        def dying(step: str) -> None:
            if step.startswith(began):
                cluster.close()
                workbench._last.clear()  # as in a worker process of its own, which has not read the file

        with monkeypatch.context() as patch:
            patch.setattr("flows.pipeline.sequence.step", dying)
            with pytest.raises(Outage, match="Dask cluster does not answer"):
                parquet_world.run(engine, dask=cluster.scheduler_address)
    assert not list(parquet_world.workspace.releases.iterdir())
    again = parquet_world.run(engine)
    assert [record.decision.value for record in again.records] == ["awaiting review"] * 2


@pytest.mark.slow
def test_a_worker_with_another_program_decides_nothing(
    parquet_world: World, engine: Any, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where only the reading for one recipient's copy meets it: that is no reason to block the copy."""

    def step(name: str) -> None:
        if name.startswith("assessing the copy"):
            workbench._last.clear()
            monkeypatch.setattr(by_dask, "file_sha256", lambda *_: "0" * 64)

    monkeypatch.setattr("flows.pipeline.sequence.step", step)
    with pytest.raises(StageCrashed, match="could not take its part"):
        parquet_world.run(engine, dask=cluster)
    assert not list(parquet_world.workspace.releases.iterdir())


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
