"""What a determination says of k-anonymity, and what it must not tell."""

from typing import Any

import pytest

from reports.model.record_view import RecordView
from reports.sections.reference import cited
from tasks.assessments.identity.facts import KAnonymityFact
from tasks.decision.record import DecisionRecord
from tests.support import linkage_records, records, texts
from tests.support.rendered import determination_html

FACT = KAnonymityFact(
    k=5,
    suppression_limit=0.02,
    people=20,
    demands=("at least 5 records", "at least 20 people of the population who match it", "at least 2 values of income"),
    kinds=("diversity",),
    local_recoding=True,
    metric="loss",
    levels={"age": 2, "zip": 0, "race": 3, "sex": 0},
    value=0.1315,
    value_before_lifting=0.1413,
    suppressed_records=103,
    lifted_records=409,
    nodes_evaluated=10,
    nodes_total=288,
)


def made(suppressed: int = 103, *, method: str = "no-attack-partition", **changes: Any) -> DecisionRecord:
    """The approved record with k-anonymity after the method, and as many records suppressed in all."""
    record = records.approved()
    assert record.risk is not None
    fact = FACT.model_copy(update={"suppressed_records": suppressed, **changes})
    game = record.risk.game.model_copy(update={"k_anonymity": fact, "suppressed_records": suppressed, "method": method})
    policies = tuple(
        one.model_copy(update={"whole_cells": False} if one.chosen else {})
        for one in linkage_records.linkage().policies
    )
    linkage = linkage_records.linkage().model_copy(update={"policies": policies})
    return records.changed(record, risk=record.risk.model_copy(update={"game": game, "linkage": linkage}))


def section(record: DecisionRecord) -> str:
    return texts.sections(determination_html(record))["method"]


def test_it_says_what_was_demanded_which_levels_met_it_and_that_no_other_loses_less() -> None:
    text = section(made())
    assert "k-anonymity after it" in text
    assert "at least 5 records; at least 20 people of the population who match it; at least 2 values of income" in text
    assert "at most 2% of the records" in text
    assert "No other loses less: 10 of 288 combinations were counted" in text
    assert "zip: as collected" in text
    assert "Loss of the file, suppressed records included 0.13" in text
    assert "The same without local recoding 0.14" in text
    assert "Records released by local recoding 409" in text
    assert "cells may come to contain one another" in text


def test_by_itself_it_follows_no_method() -> None:
    record = made(method="k-anonymity")
    text = section(record)
    assert "Generalization follows optimal k-anonymity" in text
    assert "k-anonymity after it" not in text
    assert "cells may come to contain one another" not in text


def test_without_demands_nothing_is_said() -> None:
    assert "k-anonymity after it" not in section(records.approved())


@pytest.mark.parametrize(
    ("by_demands", "in_all", "shown"), [(103, 103, "103"), (7, 7, "<11"), (103, 108, ">97"), (5, 108, "<11")]
)
def test_few_suppressed_people_are_not_told_and_do_not_follow(by_demands: int, in_all: int, shown: str) -> None:
    record = made(by_demands)
    assert record.risk is not None
    game = record.risk.game.model_copy(update={"suppressed_records": in_all})
    record = records.changed(record, risk=record.risk.model_copy(update={"game": game}))
    assert f"Records suppressed by these demands {shown} " in section(record)


@pytest.mark.parametrize(
    ("by_demands", "lifted", "metric", "shown"),
    [
        (103, 409, "loss", "0.1315"),
        (7, 409, "loss", "about 13.2%"),
        (103, 3, "loss", "about 13.2%"),
        (7, 409, "discernibility", "not shown"),
        (103, 409, "discernibility", "131,500"),
    ],
)
def test_few_suppressed_or_lifted_people_do_not_follow_from_what_the_file_loses(
    by_demands: int, lifted: int, metric: str, shown: str
) -> None:
    value = 131_500.0 if metric == "discernibility" else 0.1315
    text = section(made(by_demands, lifted_records=lifted, metric=metric, value=value))
    assert f"Loss of the file, suppressed records included {shown} " in text


def test_few_lifted_people_are_not_told() -> None:
    assert "Records released by local recoding <11 " in section(made(lifted_records=3))


def test_the_papers_of_what_was_demanded_are_cited() -> None:
    papers = " ".join(cited(RecordView(made())))
    assert "l-Diversity" in papers
    assert "t-Closeness" not in papers
    assert "t-Closeness" in " ".join(cited(RecordView(made(kinds=("closeness",)))))
    assert "globally optimal" not in " ".join(cited(RecordView(records.approved())))
