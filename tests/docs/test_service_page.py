"""The page of the service says what the service does: settings, states, events and figures; the runbook, its signs."""

import json
import re
from pathlib import Path

from flows.queue.queue import RequestState
from flows.service.monitoring import Metrics, Pulse, health
from tasks.service.settings import NewsKind, load_settings

ROOT = Path(__file__).parents[2]
PAGE, RUNBOOK = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("service.md", "runbook.md"))


def rows(heading: str, page: str = PAGE) -> dict[str, list[str]]:
    """Cells of a table by its first, without marks."""
    match = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert match, heading
    lines = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in match.group(1).splitlines()]
    return {cells[0]: cells[1:] for cells in lines}


def test_the_settings_that_are_shown_can_be_used(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    path = tmp_path / "service.yaml"
    path.write_text(shown)
    assert len(load_settings(path).notifications) == 2


def test_every_state_of_a_request_is_listed() -> None:
    assert set(rows("state")) == {state.value for state in RequestState}


def test_every_deployment_is_listed() -> None:
    from flows.service import deployments

    flows = (
        deployments.release_request,
        deployments.receive_request,
        deployments.reassess,
        deployments.expire,
        deployments.audit,
    )
    assert list(rows("deployment")) == [flow.name for flow in flows]


def test_the_event_that_is_shown_is_of_a_kind_of_news() -> None:
    (kind,) = re.findall(r"`releasegate\.release\.([a-z-]+)`, one for each", PAGE.replace("\n", " "))
    assert kind.replace("-", " ") in {told.value for told in NewsKind}


def test_the_figures_that_the_runbook_watches_are_there(tmp_path: Path) -> None:
    from flows.service.config import service_of

    service = service_of(tmp_path / "workspace")
    text = Metrics(service).scrape().decode()
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    watched = set(re.findall(r"`(releasegate_\w+)", RUNBOOK))
    assert len(watched) > 2
    assert watched <= names


def test_the_parts_of_health_are_named(tmp_path: Path) -> None:
    from flows.service.config import service_of

    service = service_of(tmp_path / "workspace")
    _, parts = health(service, Pulse(), prefect_answers=True, runner_runs=True)
    signs = " ".join(rows("sign", RUNBOOK))
    assert [part for part in parts if part not in signs] == []


def test_the_schema_is_there() -> None:
    assert json.loads((ROOT / "schemas" / "service.schema.json").read_text())["title"] == "releasegate service settings"
