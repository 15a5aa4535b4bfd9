"""How ``releasegate assess game`` shows all policies: one table of 80 columns, and what its rows need said."""

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from flows.cli.assess_game_tables import policy_legend, policy_tables, proof_in_words
from reports.terminal import show
from tasks.assessments.identity.facts import DivisionFact
from tasks.assessments.identity.policies import ComparedPolicy, Comparison
from tasks.generalization.setting import game_table
from tests.support.tiny import Change, changed, tiny_prepared, tiny_request
from tests.support.world import World

GENERALIZATION = ("policy", "generalization")


def shown(folder: Path, *changes: Change, **divided: DivisionFact) -> str:
    """What is printed; ``divided`` are other outcomes of the partition of that name, in place of the tiny one's."""
    loaded = tiny_request(folder, *changes)
    prepared = tiny_prepared(loaded)
    table = game_table(loaded.request, prepared)
    recipient = loaded.request.recipients[0]
    rows = tuple(
        _divided(one, divided[name]) if (name := one.policy.replace("-", "_")) in divided else one
        for one in Comparison(loaded.request, prepared, table).of(recipient)
    )
    console = Console(width=80, record=True, file=StringIO())
    show((*policy_tables(recipient, loaded.request, table, rows), *policy_legend()), console)
    return console.export_text()


def _divided(row: ComparedPolicy, division: DivisionFact) -> ComparedPolicy:
    assert row.figures is not None
    return replace(row, figures=replace(row.figures, division=division))


def notes(text: str) -> str:
    return " ".join(text.split())


def test_one_table_of_80_columns_with_the_recipients_own_marked(tmp_path: Path) -> None:
    """Safe Harbor and the least classes by hand, as in the tests of the score."""
    text = shown(tmp_path)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].strip() == "university: all policies, against one attempt per record"
    headings = lines[1].split(), lines[2].split()
    assert headings[0] == ["kept", "claimed", "informed", "P_reid", "P_reid", "P_reid", "time"]
    assert headings[1] == ["policy", "payoff", "%", "risk", "risk", "known", "belief", "file", "s"]
    rows = {line[2:].split()[0]: line for line in lines[3:15]}
    assert list(rows)[:2] == ["safe-harbor", "k-anonymity"]
    assert len(rows) == 12
    assert [name for name, line in rows.items() if line.startswith("→")] == ["no-attack-remainder"]
    # 60.85 = 90 · 0.704 − 60/4/6, and one record in a group of 4 is attacked.
    assert rows["safe-harbor"].split()[1:5] == ["60.85", "70.4", "0.25", "0.25"]


def test_k_and_where_it_is_from(tmp_path: Path) -> None:
    assert "the policy gives no k; k = 6 is the size of the least group that is left alone" in notes(shown(tmp_path))
    demanded = shown(tmp_path, changed(*GENERALIZATION, "k_anonymity", to={"k": 2, "suppression_limit": 0.5}))
    assert "k-anonymity: k = 2, which the policy demands of every row." in notes(demanded)
    assert "gives no k" not in demanded
    assert "no-attack-partition 33.33%" in notes(demanded)


def test_a_row_that_cannot_be_played_has_dashes_and_a_reason(tmp_path: Path) -> None:
    def gain(document: dict[str, Any]) -> None:
        document["recipients"][0]["stakes"]["gain"] = 600

    text = shown(tmp_path, gain)
    row = next(line for line in text.splitlines() if line.startswith("→"))
    assert row.split() == ["→", "no-attack-remainder", *["–"] * 8]
    assert "no-attack-remainder cannot be played: no release exists that nobody would attack" in notes(text)
    assert next(line for line in text.splitlines() if " basic " in line).split()[1] == "75.74"


def test_the_gap_of_a_partition_is_told_and_never_too_small(tmp_path: Path) -> None:
    text = notes(shown(tmp_path))
    assert "no-attack-partition, fmdp-partition-basic, fmdp-partition: optimal, no recursive division pays" in text
    gap = DivisionFact(payoff=9.0, bound=10.501, exact=False, gap=1.501)
    text = notes(shown(tmp_path, basic_partition=gap))
    assert "basic-partition: at most 1.51 a person of the population below the best." in text
    assert "no-attack-partition, fmdp-partition-basic, fmdp-partition: optimal" in text
    by_records = changed(*GENERALIZATION, "cell_weights", to="data")
    assert "at most 1.51 a record below the best." in notes(shown(tmp_path, by_records, basic_partition=gap))
    bounded = DivisionFact(payoff=9.0, bound=9.0, exact=False, gap=0.0)
    assert proof_in_words(bounded, "a record") == "optimal, no division into such classes pays more"
    tiny = DivisionFact(payoff=9.0, bound=9.0, exact=False, gap=0.0012341)
    assert proof_in_words(tiny, "a record") == "at most 0.001235 a record below the best"


def test_a_budget_is_kept_by_some_and_said_of_the_others(tmp_path: Path) -> None:
    text = notes(shown(tmp_path, changed(*GENERALIZATION, "budget", to={"reidentifications": 0.5, "suppression": 0.2})))
    held = "basic, no-attack, sh-friendly, basic-partition, no-attack-partition, fmdp-partition-basic, fmdp-partition"
    assert f"{held}: optimal within the budget." in text
    assert "Not held to the budget: safe-harbor, k-anonymity, common." in text


def test_a_policy_against_one_who_plans_says_so(tmp_path: Path) -> None:
    text = shown(tmp_path, changed(*GENERALIZATION, "adversary", to="sequential"))
    assert "all policies, against a sequential adversary (access shared)" in text
    assert "against one attempt per record:" not in text
    again = "fmdp-partition is no-attack-partition, fmdp-remainder is no-attack-remainder: every game here is against"
    assert again in notes(text)
    rows = {name: line for line in text.splitlines()[3:15] for name in line[2:].split()[:1]}
    assert rows["fmdp-partition"].split()[1:] == rows["no-attack-partition"].split()[1:]


def test_what_partitions_pay_against_the_other_recipient_is_told(tmp_path: Path) -> None:
    text = notes(shown(tmp_path))
    assert "Made for one attempt per record, against a sequential adversary who pays for access once: basic" in text
    assert "Made for a sequential adversary, against one attempt per record: fmdp-partition-basic pays" in text
    assert "every game here" not in text


def test_the_legend_names_every_column_once_for_all_recipients(world: World, releasegate: Any) -> None:
    done = releasegate("assess", "game", world.request)
    assert done.code == 0, done.err
    assert done.out.count("seconds to play it") == 1
    headings = ("payoff", "kept", "claimed risk", "informed risk", "P_reid", "time", "common", "fmdp-…")
    legend = done.out[done.out.index("the recipient's own policy") :]
    assert all(f"\n{heading}" in legend for heading in headings)


def test_one_representation_for_several_is_said_to_be(tmp_path: Path) -> None:
    def two(document: dict[str, Any]) -> None:
        (one,) = document["recipients"]
        document["recipients"] = [one, one | {"id": "other", "stakes": {"benefit": 90, "loss": 60, "cost": 5}}]

    together = shown(tmp_path, two, changed(*GENERALIZATION, "shared", to={"recipients": "all"}))
    assert "One file is made for 2 recipients together; the figures are those of this one." in together
    colluding = {"recipients": "all"}
    apart = shown(tmp_path, two, changed(*GENERALIZATION, to={"method": "basic", "collusion": colluding}))
    assert "the gates judge what coalitions see as well" in notes(apart)
    # The other is kept off by groups of 12.
    assert "k = 6 is" in notes(shown(tmp_path, two))
    assert "at most 6 records, got 12" in notes(together)


def test_a_request_whose_own_method_cannot_be_played_is_compared_all_the_same(world: World, releasegate: Any) -> None:
    """Twelve thousand people are fewer than a gain of 300,000 at 4 a try needs."""
    stakes = {"benefit": 1200, "loss": 300, "gain": 300_000, "cost": 4}
    recipient = {
        "id": "u",
        "organisation": "U",
        "purpose": "research",
        "agreement": {"id": "D", "expires": "2030-12-31"},
    }
    world.ask(recipients=[recipient | {"stakes": stakes}])
    told = releasegate("assess", "game", world.request, "--json")
    assert told.code == 0, told.err
    rows = {one["policy"]: one for one in told.document["recipients"]["u"]}
    assert rows["no-attack-remainder"]["chosen"]
    assert "nobody would attack" in rows["no-attack-remainder"]["not_played"]
    assert rows["common"]["publisher_payoff"] > 0
    assert rows["common"]["seconds"] > 0


def test_all_rows_are_in_the_document(world: World, releasegate: Any) -> None:
    rows = releasegate("assess", "game", world.request, "--json").document["recipients"]["university"]
    assert rows[-1]["policy"] == "fmdp-remainder"
    assert all(len(one["p_reid"]) == 3 and one["not_played"] is None for one in rows)
