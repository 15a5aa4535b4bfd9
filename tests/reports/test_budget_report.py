"""What a determination says of a budget over the whole file; small counts stay hidden."""

from tasks.assessments.identity.facts import BudgetFact
from tasks.decision.record import DecisionRecord
from tasks.generalization.game.facts import LimitFact
from tests.support import records, texts
from tests.support.rendered import determination_html

BUDGET = BudgetFact(
    limits=(
        LimitFact(name="reidentifications", limit=100.0, used=99.5, price=3.25),
        LimitFact(name="suppressed records", limit=0.0, used=0.0, price=0.0),
    ),
    least_people=5,
    least_records=None,
    payoff=1186.87,
    bound=1186.9,
    without_budget=1195.29,
    suppressed_records=0,
)


def section(budget: BudgetFact | None, method: str, *, left_out: int = 0) -> str:
    record: DecisionRecord = records.approved()
    assert record.risk is not None
    game = record.risk.game.model_copy(update={"budget": budget, "method": method})
    prosecutor = record.risk.residual.prosecutor.model_copy(update={"records": record.dataset.rows_in - left_out})
    residual = record.risk.residual.model_copy(update={"prosecutor": prosecutor})
    changed = record.risk.model_copy(update={"game": game, "residual": residual})
    return " ".join(texts.sections(determination_html(records.changed(record, risk=changed)))["method"].split())


def test_payoff_bound_and_limits() -> None:
    assert "Budget for the whole file" not in section(None, "basic")
    text = section(BUDGET, "basic")
    assert "1,186.87 units per record by the people who match" in text
    assert "can pay more than 1,186.90. Without the limits the method would pay 1,195.29." in text
    assert "at least 5 people of the population" in text
    assert "Expected re-identifications 100.00 99.50" in text
    assert "can rule out some of them" in text
    partition = section(BUDGET.model_copy(update={"without_budget": None}), "basic-partition")
    assert "1,186.87 units per person of the population" in partition
    assert "Without the limits the method would pay" not in partition
    assert "can rule out some of them" not in partition


def test_a_small_count_is_not_shown_as_a_share() -> None:
    record: DecisionRecord = records.approved()
    n_records = record.dataset.rows_in
    few = LimitFact(name="suppressed records", limit=n_records / 10, used=3.0, price=0.0)
    many = LimitFact(name="attacked records", limit=n_records / 5, used=n_records / 8, price=0.0)
    kept = LimitFact(name="information lost of age", limit=n_records / 5, used=n_records / 10, price=0.0, kept=0.9)
    text = section(BUDGET.model_copy(update={"limits": (few, many, kept)}), "basic")
    assert f"{3 / n_records:.2%}" not in text
    assert "Records suppressed 10% <0.03%" in text
    assert "Records worth attacking 20% 12.50%" in text
    assert "Least mean information kept of age 80% 90%" in text


def test_means_are_coarse_where_few_are_left_out() -> None:
    record: DecisionRecord = records.approved()
    n_records = record.dataset.rows_in
    gone = LimitFact(name="suppressed records", limit=n_records / 10, used=4.0, price=0.0)
    kept = LimitFact(name="information lost of age", limit=n_records / 5, used=n_records / 10, price=0.0, kept=0.87654)
    budget = BUDGET.model_copy(update={"limits": (gone, kept), "payoff": 1186.8723, "bound": 1186.8999})
    exact = section(budget, "basic")
    assert "1,186.87 units" in exact
    assert "kept of age 80% 87.65%" in exact
    few = section(budget, "basic", left_out=4)
    # A step of what eleven of all records can change at most, a thousandth of it all.
    assert round(11 / n_records, 3) == 0.0
    assert "1,186.80 units" in few
    assert "can pay more than" not in few, "a coarse bound might fall short"
    assert "Without the limits the method would pay 1,195.20." in few
    assert "kept of age 80% about 87.7%" in few
    assert "1,186.87 units per person" in section(budget, "basic-partition", left_out=4)
