"""The determination and its evidence say where the amounts of a game come from."""

import pytest

from tests.support import records
from tests.support.rendered import determination_html
from tests.support.texts import sections

UNSTATED = "The request does not state where the amounts come from."


@pytest.mark.parametrize(
    ("basis", "told"),
    [(None, UNSTATED), ("a tariff < a fine", "as the request states it: “a tariff < a fine”.")],
)
def test_the_basis_of_amounts_is_beside_them(basis: str | None, told: str) -> None:
    record = records.approved()
    recipient = record.recipient.model_copy(update={"basis": basis})
    shown = sections(determination_html(records.changed(record, recipient=recipient)))
    assert "for these data; per record, in one currency: benefit of sharing 1,200.00" in shown["judged"]
    assert told in shown["judged"]
    assert (UNSTATED in shown["judged"]) is (basis is None)
    assert "declared, in one currency; only their ratios matter." in shown["limitations"]
    assert told in shown["limitations"]
