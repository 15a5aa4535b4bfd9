"""The request that a copy is judged by today, where the release was to several recipients."""

from pathlib import Path

import pytest

from tasks.core.canonical import digest
from tasks.reassessment.request import asked_today
from tests.assessments.identity.test_generalized_against import against, beside
from tests.support.tiny import tiny_request

TERMS = {
    "shared": {"recipients": ["insurer", "university"]},
    "types": {"types": {"insurer": 0.25, "university": 0.75}},
    "collusion": {"recipients": ["insurer", "university"]},
}


@pytest.mark.parametrize("terms", TERMS)
def test_one_copy_of_recipients_who_are_named_together(tmp_path: Path, terms: str) -> None:
    name = "collusion" if terms == "collusion" else "shared"
    loaded = tiny_request(tmp_path, beside(), *against((name, TERMS[terms])))
    asked = asked_today(loaded, "insurer").request
    insurer, *others = asked.recipients
    assert insurer.id == "insurer"
    assert [one.id for one in others] == ([] if terms == "collusion" else ["university"])
    assert bool(asked.sharing(insurer)) is (terms != "collusion"), "whoever shares the copy has a say in its budget"
    assert asked.coalitions(insurer) == ()
    assert digest(asked.policy) == digest(loaded.request.policy), "no policy of today that is another"
