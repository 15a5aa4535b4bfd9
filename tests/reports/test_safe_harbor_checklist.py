import pytest

from reports.model.document import Table
from reports.model.record_view import RecordView
from reports.sections.validation import finding, safe_harbor
from tasks.decision.record import DecisionRecord
from tests.support import records


def rows(record: DecisionRecord) -> dict[str, tuple[str, str]]:
    return {letter: finding(RecordView(record), letter) for letter in "ABCDEFGHIJKLMNOPQR"}


def scanned_everywhere() -> DecisionRecord:
    """A record whose request has no column with scan: false."""
    record = records.approved()
    return records.changed(record, validation=record.validation.model_copy(update={"skipped": ()}))


def with_method(record: DecisionRecord, method: str) -> DecisionRecord:
    assert record.risk is not None
    game = record.risk.game.model_copy(update={"method": method})
    return records.changed(record, risk=record.risk.model_copy(update={"game": game}))


def test_all_eighteen_kinds_are_there_in_the_order_of_the_rule() -> None:
    table = next(one for one in safe_harbor(RecordView(records.approved())) if isinstance(one, Table))
    kinds = [kind for row in table.rows for kind in row[0].split("<br>")]
    assert "".join(kind[0] for kind in kinds) == "ABCDEFGHIJKLMNOPQR"


@pytest.mark.parametrize("letter", "FNO")
def test_a_scanned_kind_rests_on_its_scans(letter: str) -> None:
    row = rows(scanned_everywhere())[letter]
    assert row[0] == "scanned, none found"
    assert row[1].startswith("Scan of 10 columns for ")
    assert row[1].endswith(": no match. Not scanned, as their types are checked: 6 columns of numbers or dates.")


@pytest.mark.parametrize("letter", "DEGHJ")
def test_numbers_that_are_not_scanned_are_named_where_they_could_hold_the_kind(letter: str) -> None:
    state, evidence = rows(scanned_everywhere())[letter]
    assert state == "scanned in part, none found"
    assert "Not scanned: column age, fnlwgt, education-num, " in evidence


@pytest.mark.parametrize("letter", "AFNO")
def test_a_column_that_no_scan_covers_is_named(letter: str) -> None:
    state, evidence = rows(records.approved())[letter]
    assert state == "scanned in part, none found"
    assert "Not scanned: column fnlwgt" in evidence


def test_a_column_that_is_only_no_copy_was_not_scanned_for_names() -> None:
    record = scanned_everywhere()
    checks = tuple(check for check in record.validation.checks if check.id != "name/expect_it/race")
    validation = record.validation.model_copy(update={"checks": checks})
    state, evidence = rows(records.changed(record, validation=validation))["A"]
    assert state == "scanned in part, none found"
    assert "Not scanned: column race" in evidence


def test_forms_that_the_policy_leaves_out_are_not_called_scanned() -> None:
    record = scanned_everywhere()
    checks = tuple(check for check in record.validation.checks if not check.id.startswith(("ssn/", "email/")))
    found = rows(records.changed(record, validation=record.validation.model_copy(update={"checks": checks})))
    assert found["F"][0] == "declared absent"
    assert found["G"][0] == "scanned in part, none found"
    assert "; ssn in any column." in found["G"][1]


def test_a_file_without_any_scan_says_so() -> None:
    record = records.approved()
    validation = record.validation.model_copy(update={"checks": record.validation.checks[:4]})
    assert rows(records.changed(record, validation=validation))["D"] == (
        "not scanned",
        "The request sets scan: false for fnlwgt.",
    )


@pytest.mark.parametrize("letter", "IKLM")
def test_a_kind_that_nothing_tests_says_so(letter: str) -> None:
    row = rows(records.approved())[letter]
    assert (row[0], "not tested" in row[1]) == ("declared absent", True)


def test_a_match_is_reported_as_found_without_a_small_count() -> None:
    row = rows(records.validation_failed())["G"]
    assert row[0] == "found"
    assert row[1] == "Scan of 10 columns matched in occupation: <11 cells."


@pytest.mark.parametrize(
    ("method", "state"),
    [
        ("no-attack-partition", "left to expert determination"),
        ("safe-harbor", "as Safe Harbor requires"),
        ("sh-friendly", "as Safe Harbor requires"),
    ],
)
def test_zip_codes_and_ages_follow_the_method(method: str, state: str) -> None:
    found = rows(with_method(records.approved(), method))
    assert found["B"][0] == state
    assert found["C"][0] == state


def test_nothing_generalized_means_nothing_released() -> None:
    found = rows(records.validation_failed())
    assert found["B"][0] == "not released"
    assert found["C"][0] == "not released"


def test_a_date_column_is_named_even_under_safe_harbor() -> None:
    record = with_method(records.approved(), "safe-harbor")
    fields = tuple(
        field.model_copy(update={"type": "date"}) if field.name == "relationship" else field for field in record.fields
    )
    row = rows(records.changed(record, fields=fields))["C"]
    assert row[0] == "left to expert determination"
    assert "relationship" in row[1]


def test_without_zip_codes_dates_and_scans_the_rows_say_declared_absent() -> None:
    record = scanned_everywhere()
    fields = tuple(field.model_copy(update={"safe_harbor": "none"}) for field in record.fields)
    validation = record.validation.model_copy(update={"checks": record.validation.checks[:2]})
    found = rows(records.changed(record, fields=fields, validation=validation))
    for letter in "ABCD":
        assert found[letter][0] == "declared absent"


def test_direct_identifiers_found_again_are_named_by_column() -> None:
    record = records.approved()
    checks = tuple(
        check.model_copy(update={"passed": False, "failed": 40})
        if check.id == "identifier copy/expect_it/fnlwgt"
        else check
        for check in record.validation.checks
    )
    row = rows(records.changed(record, validation=record.validation.model_copy(update={"checks": checks})))["A"]
    assert row[0] == "found"
    assert row[1].endswith("were found in fnlwgt.")


def test_a_released_column_with_a_value_for_every_record_stands_out() -> None:
    record = records.approved()
    fields = tuple(
        field.model_copy(update={"distinct_values": records.ROWS}) if field.name == "fnlwgt" else field
        for field in record.fields
    )
    assert rows(record)["R"][0] == "removed"
    row = rows(records.changed(record, fields=fields))["R"]
    assert row[0] == "see evidence"
    assert row[1].endswith("fnlwgt.")
