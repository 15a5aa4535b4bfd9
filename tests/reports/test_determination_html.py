"""What the determination says, read from the HTML that the PDF is made from."""

import re
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from reports.determination import charts as figures
from reports.determination import determination, evidence
from reports.model import numbers
from reports.model.record_view import RecordView
from reports.model.smallcell import SmallCellRule
from reports.sections.answer import answer, usefulness
from reports.templating import environment, render
from tasks.assessments.identity.facts import FieldFact
from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.gates import EARLIER_COPIES
from tasks.decision.record import DecisionRecord, NotAssessed, Review
from tasks.generalization.methods.registry import METHODS
from tests.reports.test_left_out_report import left_out
from tests.support import records, texts
from tests.support.rendered import determination_html, evidence_html

PLACEHOLDER = re.compile(r"\b(None|nan|NaN|inf|TODO|FIXME|lorem|ipsum|Undefined|True|False)\b|\{\{|\}\}|\{%|%\}|\?\?")


def text_of(record: DecisionRecord) -> str:
    return texts.seen(determination_html(record))


def text_with_figures(record: DecisionRecord) -> str:
    return texts.seen(determination_html(record), figures(record).values())


def test_nothing_is_left_unfilled(any_record: DecisionRecord) -> None:
    assert PLACEHOLDER.search(text_with_figures(any_record)) is None


def test_the_first_page_gives_verdict_file_recipient_and_validity() -> None:
    record = records.approved()
    page = texts.sections(determination_html(record))["decision"]
    for part in (
        "✓ Approved",
        record.release_id,
        record.dataset.output_sha256,
        "Cumberland University, Department of Economics (university)",
        "9 March 2026 to 9 March 2027",
        "All 11 gates passed.",
    ):
        assert part is not None
        assert part in page
    assert "✗ Blocked" in texts.sections(determination_html(records.blocked()))["decision"]
    assert "◔ Awaiting review" in texts.sections(determination_html(records.awaiting_review()))["decision"]


def test_the_table_of_risks_has_a_threshold_only_where_a_gate_has_it() -> None:
    """A record's policy counts risks above 0.09 in tables; that is no gate."""
    record = records.approved()
    gates = tuple(
        gate.model_copy(update={"threshold": 0.2}) if gate.id == "transparent.maximum_risk" else gate
        for gate in record.gates
        if not gate.id.startswith(("prosecutor.", "journalist."))
    )
    rows = texts.sections(determination_html(records.changed(record, gates=gates)))["judged"]
    for who in (r"who knows that a person is in the file \(prosecutor\)", r"who does not \(journalist\)"):
        assert re.search(rf"{who} \S+ \S+ – no gate", rows)
    assert re.search(r"who also knows how the file was made \(informed recipient\) \S+ \S+ 0\.2 ", rows)


def test_the_first_page_answers_what_leaves_who_could_find_whom_what_is_lost_and_on_what_it_rests() -> None:
    page = texts.sections(determination_html(records.approved()))["decision"]
    for part in (
        "What leaves. 32,561 records in 16 columns leave for Cumberland University, Department of Economics. Excused "
        "although it reveals other columns or people: relationship; section 3 says by whom and why. Values are changed",
        "Who could find somebody. A recipient who knows the method and everybody's age, zip, race, sex identifies a "
        "record in a single attempt with a probability of at most 0.01333 (1 in 75). That counts these columns alone. "
        "Whoever also knows some of",
        "For an attacker who weighs gain against cost, no attempt pays at the amounts of section 3; that is not a risk "
        "of zero for an attacker who does not weigh costs.",
        "What is kept. 95.57% of the information in age, zip, race, sex is kept, where sex counts for nothing. "
        "This rests on a population table of 6,339,942 "
        "people, on agreement DUA-2026-014 with its penalty, and on the assumptions of section 5.",
    ):
        assert part in page
    blocked = texts.sections(determination_html(records.blocked()))["decision"]
    assert "were measured for" in blocked
    assert "and do not leave." in blocked
    for first, then in pairwise(
        ("is blocked by", records.blocked().reasons[0], "Decided", "What would change it", "What was measured")
    ):
        assert blocked.index(first) < blocked.index(then)
    assert "What would change it" not in page
    assert (
        "The data failed validation; no risk was measured."
        in texts.sections(determination_html(records.validation_failed()))["decision"]
    )


def test_the_copy_keeps_what_the_record_says_and_small_counts_stay_hidden() -> None:
    record = records.approved()
    rows = texts.sections(determination_html(record))["loss"]
    field = next(field for field in record.fields if field.name == "sex")
    share = field.records_per_level[0] / record.dataset.rows_in
    assert f"sex {numbers.percent(field.information_kept)} {numbers.percent(share)}" in rows
    few = tuple(
        one.model_copy(update={"records_per_level": (record.dataset.rows_in - 3, 3)}) if one.name == "sex" else one
        for one in record.fields
    )
    rows = texts.sections(determination_html(records.changed(record, fields=few)))["loss"]
    assert re.search(r"sex \S+ not shown", rows)


def test_a_blocked_release_never_reads_like_a_permission() -> None:
    for record in (records.blocked(), records.validation_failed()):
        text = text_of(record)
        assert "may be delivered to" not in text.replace("Nothing may be delivered to", "")
        assert "With this verdict there is no determination to sign." in text
        assert "The file goes to" not in text


SIX = ["decision", "statement", "judged", "loss", "assumed", "conditions"]
SEVENTEEN = [
    "limitations",
    "context",
    "data",
    "fields",
    "safeharbor",
    "validation",
    "threats",
    "threshold",
    "method",
    "risk",
    "tests",
    "decoys",
    "utility",
    "gates",
    "reproduction",
    "history",
    "reference",
]


def test_all_sections_are_there_in_order_and_those_of_the_evidence_in_its_contents(any_record: DecisionRecord) -> None:
    """Whatever was measured, a section has the same number in every determination and its evidence."""
    document = evidence_html(any_record)
    listed = re.findall(r'<a href="#(\w+)"><span class="number">(E[\d.]+)</span>([^<]+)</a>', document)
    expected = [one for part in evidence(any_record).sections[1:] for one in (part, *part.parts)]
    assert listed == [(part.key, part.number, part.title) for part in expected]
    assert [(part.number, part.key) for part in determination(any_record).sections] == [
        (str(number), key) for number, key in enumerate(SIX, start=1)
    ]
    assert [(part.number, part.key) for part in evidence(any_record).sections] == [
        ("", "about"),
        *((f"E{number}", key) for number, key in enumerate(SEVENTEEN, start=1)),
    ]
    for key, number, title in listed:
        level = "h3" if "." in number else "h2"
        assert f'<{level} id="{key}" data-title="{number} {title}">' in document
    places = [document.index(f'id="{key}"') for key, _, _ in listed]
    assert places == sorted(places)


def test_every_reference_names_a_section_that_is_there(any_record: DecisionRecord) -> None:
    parts = [*determination(any_record).sections, *evidence(any_record).sections]
    there = {one.number for part in parts for one in (part, *part.parts)}
    body = texts.seen(determination_html(any_record))
    named = re.findall(r"\b[Ss]ections? (E?\d+(?:\.\d)?)(?: and (E?\d+\.\d))?(?=[ ,.;:)])", body)
    assert named
    assert {number for pair in named for number in pair if number} <= there


def test_no_section_is_empty(any_record: DecisionRecord) -> None:
    for key, text in texts.sections(determination_html(any_record)).items():
        assert len(text) > 75, key


def test_without_a_risk_the_report_says_why_and_shows_none() -> None:
    record = records.validation_failed()
    found = texts.sections(determination_html(record))
    assert {"transparency", "sequential", "combined", "linkage", "criteria"}.isdisjoint(found)
    assert "No generalization was chosen" in found["method"]
    assert "No attack was made" in found["tests"]
    assert "No utility was measured" in found["utility"]
    assert "No risk figure exists for this release" in found["risk"]
    assert "The data did not pass validation, so nothing was generalized" in found["risk"]
    assert "Decoy" not in found["risk"]
    assert "<img" not in determination_html(record)
    assert "no social security number occupation 32,561 <11" in found["validation"]
    assert "unique record id record_id 32,561 24" in found["validation"]
    assert "not measured" in found["gates"]


def test_without_a_risk_a_failed_stage_is_named_too() -> None:
    record = records.validation_failed()
    failure = NotAssessed(stage="risk", reason="The count cube does not fit in memory.")
    validation = record.validation.model_copy(update={"passed": True})
    found = texts.sections(determination_html(records.changed(record, validation=validation, not_assessed=(failure,))))
    assert "A stage before the measurement could not finish" in found["risk"]
    assert "risk: The count cube does not fit in memory." in found["risk"]


def test_the_scope_names_what_was_not_tested_once_each() -> None:
    record = records.approved()
    named = texts.sections(determination_html(record))["assumed"]
    for stage in (entry.stage for entry in record.not_assessed):
        assert named.count(stage) == 1
    assert "Decoys No decoy records were requested, so no decoys were placed" in named
    for stage in ("Sequential adversary", "Identity × attribute score", "Record linkage", "Utility"):
        assert stage not in named
    assert (
        "Decoys No file was made, so no decoys were placed"
        in texts.sections(determination_html(records.blocked()))["assumed"]
    )


def test_decoys_that_could_not_be_placed_are_named_as_a_stage_that_stopped() -> None:
    record = records.validation_failed()
    failure = NotAssessed(stage="decoys", reason="The key that seals manifests cannot be read.")
    found = texts.sections(determination_html(records.changed(record, not_assessed=(failure,))))
    assert found["assumed"].count("decoys The key that seals manifests cannot be read.") == 1
    assert "decoys: The key that seals manifests cannot be read." in found["risk"]
    assert "were requested" not in found["assumed"]


def test_decoys_are_stated_where_there_are_any() -> None:
    record = records.changed(
        records.approved(), decoys=DecoyFact(count=120, commitment_sha256=records.sha("decoys")), not_assessed=()
    )
    found = texts.sections(determination_html(record))
    assert "The file holds 120 decoy records." in found["decoys"]
    assert records.sha("decoys") in found["decoys"]
    assert "decoy records were requested" not in found["assumed"]
    assert "<h3>" not in determination_html(record).split('id="decoys"')[1].split("</section>")[0]


def test_naive_claim_and_informed_recipient_stand_side_by_side() -> None:
    found = texts.sections(determination_html(records.blocked()))
    assert "Expected re-identifications records, expected 385.24 599.31" in found["transparency"]
    assert "The two columns differ" in found["transparency"]
    assert "21.97% → 23.38%" in found["transparency"]
    agreeing = texts.sections(determination_html(records.approved()))["transparency"]
    assert "The two columns agree" in agreeing


def test_an_ungated_prosecutor_risk_is_said_plainly() -> None:
    record = records.approved()
    assert "Presence in the file is not known" in text_of(record)
    gated = record.gates[2].model_copy(update={"id": "prosecutor.maximum_risk"})
    assert "Presence in the file is not known" not in text_of(records.changed(record, gates=(*record.gates, gated)))


def test_wp216_has_before_after_threshold_and_interval_and_says_what_was_not_assessed() -> None:
    found = texts.sections(determination_html(records.approved()))["criteria"]
    assert "Singling out , assessed highest risk of a record from an informed recipient, a probability" in found
    assert "1 0.01333 at most 0.09 exact" in found
    assert "Linkability , assessed in part" in found
    assert "87.89% 87.88% none set 87.52–88.23% (95%)" in found
    assert "Inference , assessed in part highest combined score of a record" in found
    assert "Beyond what chance explains that is so of 0% of the records (section E10.5)." in found
    assert "workclass, occupation, capital-gain, capital-loss, salary-class" in found


def test_wp216_tells_of_an_older_record_what_it_lacks() -> None:
    record = records.approved()
    assert record.risk is not None
    assert record.risk.linkage is not None
    linkage = record.risk.linkage.model_copy(update={"initial_share": None})
    older = records.changed(record, risk=record.risk.model_copy(update={"linkage": linkage}))
    assert "not recorded 87.88%" in texts.sections(determination_html(older))["criteria"]
    without = texts.sections(determination_html(records.without_adversaries()))["criteria"]
    assert "records expected to be linked with the population, a share (marketer)" in without
    assert "Inference , not assessed none was measured – – – –" in without


def test_votes_stay_closed_until_all_are_in() -> None:
    record = records.awaiting_review()
    assert "M. Okafor" not in text_of(record)
    assert "1 of 2 votes cast" in text_of(record)
    second = Review(
        reviewer="J. Brandt",
        role="privacy expert",
        vote="reject",
        reason="The agreement is too wide.",
        at=datetime(2026, 3, 10, 9, 0, tzinfo=UTC),
        record_sha256=records.sha("record"),
    )
    text = text_of(records.changed(record, reviews=(*record.reviews, second)))
    assert "M. Okafor" in text
    assert "The agreement is too wide." in text


def test_hashes_and_commands_let_the_reader_check() -> None:
    record = records.approved()
    found = texts.sections(determination_html(record))["reproduction"]
    for part in (
        digest(record),
        record.code.lock_sha256,
        record.population.sha256,
        f"git checkout {record.code.commit}",
        f"releasegate verify releases/{record.release_id}",
    ):
        assert part in found


def test_a_program_with_unrecorded_changes_is_named_as_such() -> None:
    record = records.approved()
    code = record.code.model_copy(update={"commit": "c436ef9+modified.12513ef"})
    found = texts.sections(determination_html(records.changed(record, code=code)))["reproduction"]
    assert "git checkout c436ef9 make setup" in found
    assert "changes that no commit records, named by modified.12513ef" in found
    assert "no commit records" not in texts.sections(determination_html(record))["reproduction"]


def test_text_from_the_request_is_never_markup() -> None:
    record = records.approved()
    recipient = record.recipient.model_copy(update={"organisation": 'A <b>&</b> "B"', "purpose": "{{ 7 * 7 }}"})
    document = determination_html(records.changed(record, recipient=recipient))
    assert "A &lt;b&gt;&amp;&lt;/b&gt; &#34;B&#34;" in document
    assert "A <b>" not in document
    assert "{{ 7 * 7 }}" in texts.seen(document)


def test_small_counts_appear_nowhere_and_do_not_follow() -> None:
    """37 people everywhere, under a policy that shows none below 50; 32,561 came in."""
    record = records.approved()
    assert record.risk is not None
    small, total = 37, record.dataset.rows_in
    share = small / total
    counts = (small, *(0,) * 10, total - small)
    figure = record.risk.residual.prosecutor.model_copy(
        update={"over_threshold": small, "histogram": records.bins(counts)}
    )
    view = record.risk.residual.model_copy(
        update={"prosecutor": figure, "journalist": figure, "smallest_class": small, "below_small_cell": share}
    )
    outcomes = tuple(
        outcome.model_copy(
            update={
                "naive_attacked_share": share,
                "transparent_attacked_share": 1 - share,
                "most_specific_share": share,
            }
        )
        for outcome in record.risk.game.outcomes
    )
    transparent = record.risk.transparent.model_copy(
        update={
            "attacked_share": share,
            "attacked_records": small,
            "naive_attacked_share": 1 - share,
            "smallest_effective_group": small,
            "histogram": records.bins(counts),
        }
    )
    checks = tuple(
        check.model_copy(update={"failed": small, "passed": False}) if check.column == "occupation" else check
        for check in record.validation.checks
    )
    observed = tuple(entry.model_copy(update={"records": small}) for entry in record.validation.observed)
    fields = tuple(
        field.model_copy(update={"records_per_level": (total - small, *(0,) * (len(field.levels) - 2), small)})
        if field.levels
        else field
        for field in record.fields
    )
    gates = tuple(
        gate.model_copy(update={"measured": share}) if gate.id.endswith("_share") else gate for gate in record.gates
    )
    changed = records.changed(
        record,
        gates=gates,
        policy=record.policy.model_copy(update={"small_cell": 50}),
        fields=fields,
        validation=record.validation.model_copy(update={"checks": checks, "observed": observed}),
        risk=record.risk.model_copy(
            update={
                "initial": view,
                "residual": view,
                "transparent": transparent,
                "game": record.risk.game.model_copy(update={"outcomes": outcomes}),
            }
        ),
    )
    text = text_with_figures(changed)
    assert "<50" in text
    for told in ("37", "32,524", "0.11%", "0.1136%", "99.89%"):
        assert re.search(rf"(?<![\w.,]){re.escape(told)}(?![\w,])", text) is None, told


def test_a_few_suppressed_records_do_not_follow_from_any_table() -> None:
    text = text_with_figures(records.awaiting_review())
    assert ">32,550" in text
    assert "under 0.034%" in text
    for told in ("32,555", "3,711"):
        assert told not in text


def test_the_style_sheet_and_figures_are_all_that_is_referred_to(any_record: DecisionRecord) -> None:
    document = determination_html(any_record)
    targets = set(re.findall(r'(?:src|href)="([^"#][^"]*)"', document))
    assert targets == {f"asset:{name}.svg" for name in figures(any_record)}


@pytest.mark.parametrize("expression", ["count", "share", "passed", "missing", "record.missing", "nothing"])
def test_a_template_prints_no_bare_number_and_nothing_missing(expression: str) -> None:
    template = environment(SmallCellRule(11)).from_string("{{ " + expression + " }}")
    with pytest.raises(Exception, match=r"formatter|undefined|no attribute"):
        template.render(record=records.approved(), count=3, share=0.09, passed=True, missing=None)


def test_a_template_that_cannot_be_filled_stops_the_report() -> None:
    with pytest.raises(StageFailed, match="could not be written in full"):
        render(SmallCellRule(11), "document.html", document=records.approved())


@pytest.mark.parametrize(
    ("record", "left", "said"),
    [
        # 32,561 - 15,561 = 17,000 records leave without their age, 52.2097%.
        (records.approved(), (12_561, 3_000, 0, 0, 0, 17_000), "Lost most: age (withheld for 52.21% of the records)."),
        # Six more were suppressed: too few to be told, and no part of the share, which the evidence shows as well.
        (
            records.awaiting_review(),
            (12_555, 3_000, 0, 0, 0, 17_000),
            "age (withheld for 52.21% of the records, beside those left out).",
        ),
        # Where the evidence hides the count of the level instead, there is no share.
        (
            records.awaiting_review(),
            (12_555, 16_000, 0, 0, 0, 4_000),
            "Lost most: age (how often is not shown: it would",
        ),
        (
            records.approved(),
            (0, 0, 0, 0, 0, 32_561),
            "No value of age is left: every record has “*” in place of it.",
        ),
        # Groups of any size are no loss of the whole value, and a tenth is where it begins.
        (records.approved(), (0, 29_561, 0, 0, 0, 3_000), None),
    ],
)
def test_the_first_page_names_the_columns_that_records_lose(
    record: DecisionRecord, left: tuple[int, ...], said: str | None
) -> None:
    fields = tuple(
        field.model_copy(update={"records_per_level": left}) if field.name == "age" else field
        for field in record.fields
    )
    less = records.changed(record, fields=fields)
    page, line = texts.sections(determination_html(less))["decision"], usefulness(RecordView(less))
    assert line is not None
    assert "Information kept: 95.57%, where sex counts for nothing." in line
    for shown in (page, line):
        assert (said in shown) if said else ("Lost most" not in shown)


def test_the_first_page_names_categories_of_which_no_record_is_left() -> None:
    changes = {"age": (72, 30), "race": (5, 2), "sex": (2, 1), "zip": (9, 0)}
    fields = tuple(
        field.model_copy(update=dict(zip(("distinct_values", "values_lost"), changes[field.name], strict=True)))
        if field.name in changes
        else field
        for field in records.approved().fields
    )
    less = records.changed(records.approved(), fields=fields)
    page, line = texts.sections(determination_html(less))["decision"], usefulness(RecordView(less))
    said = "2 values of race and 1 value of sex are never shown by themselves, so their groups cannot be compared."
    assert said in page
    assert line is not None
    assert said in line


def test_the_first_page_names_what_nobody_outside_is_said_to_know() -> None:
    record = records.approved()
    name = next(field.name for field in record.fields if field.released)
    stated = "The request states that nobody outside can know"
    for known, expected in ((0.0, True), (0.1, False), (None, False)):
        fields = tuple(
            field.model_copy(update={"known_probability": known if field.name == name else 0.5})
            for field in record.fields
        )
        page = texts.sections(determination_html(records.changed(record, fields=fields)))["decision"]
        assert (f"{stated} {name}: these probabilities rest on that." in page) is expected
        assert (stated in page) is expected


def test_nothing_is_said_of_information_that_was_not_measured_or_is_all_kept() -> None:
    assert usefulness(RecordView(records.validation_failed())) is None
    record = records.approved()
    assert record.risk is not None
    outcomes = tuple(one.model_copy(update={"information_kept": 1.0}) for one in record.risk.game.outcomes)
    game = record.risk.game.model_copy(update={"outcomes": outcomes})
    whole = records.changed(record, risk=record.risk.model_copy(update={"game": game}))
    assert usefulness(RecordView(whole)) is None


@pytest.mark.parametrize(
    ("changes", "first", "second"),
    [
        (
            {"expert": None},
            "“Approved” means that the file passed every test (gate) of the policy “outbound-data”, version 2026.1, by "
            "measurement, and not that a person has judged it: the policy lets it leave without an expert or a "
            "reviewer, and no qualified person has signed.",
            "this document is evidence for a determination and not one itself. “Approved” is the result of the gates; "
            "the policy lets the file leave without that signature.",
        ),
        (
            {},
            "lets it leave without an expert or a reviewer, and it does not wait for the expert's signature.",
            "“Approved” is the result of the gates; the policy lets the file leave before the expert signs.",
        ),
    ],
)
def test_an_approval_that_waited_for_nobody_says_so_on_both_pages(
    changes: dict[str, None], first: str, second: str
) -> None:
    shown = texts.sections(determination_html(records.changed(records.approved(), **changes)))
    assert first in shown["decision"]
    assert second in shown["statement"]


def test_nothing_is_said_of_a_missing_signature_where_votes_are_needed_or_nothing_leaves() -> None:
    for record in (records.awaiting_review(), records.blocked()):
        assert "without an expert" not in text_of(record)


def test_a_sequential_risk_of_zero_is_explained_beside_the_figure_and_no_other_is() -> None:
    shown = texts.sections(determination_html(records.approved()))["judged"]
    assert "Highest risk of a record from repeated attempts (0: no attempt pays) 0 at most 0.09" in shown
    assert "somebody who tries again for as long as it pays (sequential adversary) (0: no attempt pays)" in shown
    for record in (records.blocked(), records.without_adversaries()):
        assert "no attempt pays" not in text_of(record)


def test_the_amounts_that_the_verdict_rests_on_stand_before_the_risks() -> None:
    rests = "per record, in one currency: benefit of sharing 1,200.00, loss from a re-identification 300.00, the "
    rests += "recipient's gain from it 300.00, cost of an attempt 4.00"
    judged = texts.sections(determination_html(records.approved()))["judged"]
    assert f"{rests}, penalty for an attempt 2,000.00 and chance of its detection 0.005." in judged
    undeterred = texts.sections(determination_html(records.blocked_by_planning()))["judged"]
    assert f"{rests} and no penalty." in undeterred
    assert "amounts" not in texts.sections(determination_html(records.validation_failed()))["judged"]


@pytest.mark.parametrize(
    ("released", "said"),
    [
        (32_480, "32,480 of 32,561 records in 16 columns leave"),
        (32_555, "More than 32,550 records in 16 columns leave"),
        (32_561, "32,561 records in 16 columns leave"),
        (5, "Fewer than 11 of 32,561 records in 16 columns leave"),
    ],
)
def test_the_first_page_counts_the_records_that_leave_of_all_unless_few_stay(released: int, said: str) -> None:
    record = records.approved()
    assert record.risk is not None
    residual = record.risk.residual
    fewer = residual.model_copy(update={"prosecutor": residual.prosecutor.model_copy(update={"records": released})})
    view = RecordView(records.changed(record, risk=record.risk.model_copy(update={"residual": fewer})))
    assert said in answer(view)[0].text


def test_no_search_is_promised_where_other_copies_block() -> None:
    """`explain` tries no change of a release that copies held by the same party have blocked."""
    record, promised = records.blocked(), "tries changes and names the smallest that would pass"
    copies = record.gates[0].model_copy(update={"id": EARLIER_COPIES, "passed": False})
    for gates, expected in ((record.gates, True), ((*record.gates, copies), False)):
        page = texts.sections(determination_html(records.changed(record, gates=gates)))["decision"]
        assert (promised in page) is expected


def test_groups_that_overlap_are_explained_where_records_have_values_of_several_widths() -> None:
    record = records.approved()

    def told(*per_level: int) -> str:
        fields = tuple(
            one.model_copy(update={"records_per_level": (records.ROWS, *(0 for _ in one.records_per_level[1:]))})
            if one.role == "quasi-identifier" and one.records_per_level
            else one
            for one in record.fields
        )
        wide = len(next(one for one in fields if one.name == "age").records_per_level)
        counts = (*per_level, *(0 for _ in range(wide - len(per_level))))
        fields = tuple(
            one.model_copy(update={"records_per_level": counts}) if one.name == "age" else one for one in fields
        )
        return texts.sections(determination_html(records.changed(record, fields=fields)))["loss"]

    assert "Groups of age overlap" in told(records.ROWS - 500, 500)
    assert "overlap" not in told(records.ROWS)
    assert "overlap" not in told(records.ROWS - 3, 3), "fewer than the small-cell limit have the other width"


def test_one_grouping_of_all_records_is_told_by_its_groups() -> None:
    """A value that two levels share, as a missing one, is named at the lower: the others are at the higher."""
    record = records.approved()
    game = record.risk.game.model_copy(update={"method": "no-attack-common"})  # type: ignore[union-attr]
    risk = record.risk.model_copy(update={"game": game})  # type: ignore[union-attr]

    def at(one: FieldFact) -> FieldFact:
        top = len(one.records_per_level) - 1
        counts = [0] * top + [records.ROWS]
        if one.name == "age":
            counts = [3, records.ROWS - 3, *[0] * (top - 1)]
        return one.model_copy(update={"records_per_level": tuple(counts)}) if one.role == "quasi-identifier" else one

    fields = tuple(map(at, record.fields))
    (age,) = (one for one in fields if one.name == "age")
    changed = records.changed(record, risk=risk, fields=fields)
    told = usefulness(RecordView(changed))
    assert told is not None
    assert f"the same for all records: age in {age.groups_per_level[1]} groups." in told
    assert "no-attack-common" not in told
    assert "are those of the file as collected." in told
    lists = "left-out.csv, beside the copy, lists those of groups that occur in it"
    for without, classes, number in (
        (", without the records left out.", 0, 18),
        (", without the records left out.", 2, 3),
        (
            f", but for 9 combinations of groups that are left out ({lists}).",
            9,
            18,
        ),
        (
            f", but for 1 combination of groups that is left out ({lists}).",
            1,
            18,
        ),
    ):
        fewer = left_out(number, changed, suppressed_classes=classes)
        assert f"are those of the file as collected{without}" in str(usefulness(RecordView(fewer)))
    mixed = usefulness(RecordView(records.changed(record, fields=fields)))
    assert mixed is not None
    assert "one grouping, the same" not in mixed


def test_a_column_that_counts_most_and_is_lost_is_told_with_what_leaves_room_for_it() -> None:
    record = records.approved()
    weights = {**record.risk.game.weights, "age": 10.0}  # type: ignore[union-attr]
    game = record.risk.game.model_copy(update={"weights": weights})  # type: ignore[union-attr]
    risk = record.risk.model_copy(update={"game": game})  # type: ignore[union-attr]

    def told(lost: str) -> str:
        fields = tuple(
            one.model_copy(update={"records_per_level": (*(0 for _ in one.records_per_level[1:]), records.ROWS)})
            if one.name == lost
            else one
            for one in record.fields
        )
        return usefulness(RecordView(records.changed(record, risk=risk, fields=fields))) or ""

    assert "age should count most, and is lost" in told("age")
    assert "should count most" not in told("zip")


def test_every_method_is_told_in_plain_words_before_its_title() -> None:
    for method in METHODS.values():
        assert method.in_plain_words.endswith(f" ({method.title})"), method.title
