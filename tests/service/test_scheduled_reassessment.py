"""What the scheduled re-assessment judges by."""

from pathlib import Path

import pytest

from flows.reassessment.run import reassess_all
from flows.service.config import service_of
from flows.service.deployments import todays_terms
from flows.workspace.ledger import open_ledger
from tasks.core.errors import RequestError
from tasks.ledger.entry import Event


@pytest.mark.parametrize("named", ["policy.yaml", "{folder}/elsewhere/policy.yaml"])
def test_the_policy_of_the_settings_is_that_of_today(tmp_path: Path, named: str) -> None:
    workspace, place = tmp_path / "workspace", named.format(folder=tmp_path)
    workspace.mkdir()
    settings = f"schema_version: releasegate/service/1\nreassessment: {{policy: {place}}}\n"
    (workspace / "service.yaml").write_text(settings)
    service = service_of(workspace, (tmp_path,))
    terms = todays_terms(service)
    assert terms.policy == workspace / place
    assert terms.roots == (tmp_path,)
    with open_ledger(service.workspace, create=True) as ledger:
        pass
    with pytest.raises(RequestError, match="the policy cannot be used"):
        reassess_all(service.workspace, options=terms)
    with open_ledger(service.workspace) as ledger:
        assert ledger.entries(event=Event.REASSESSED) == ()


def test_without_one_it_is_that_of_each_request(tmp_path: Path) -> None:
    assert todays_terms(service_of(tmp_path / "workspace")).policy is None
