"""Every golden output is as expected, and golden requests use every term."""

from collections.abc import Mapping

import pytest

from tasks.request.attribute import Attribute
from tests.golden.cases import CASES
from tests.golden.comparing import EXPECTED, compared, made
from tests.golden.outputs import Outputs
from tests.golden.terms import all_terms, used_terms

_ANOTHER = "a policy has one value, and another case costs seconds; tests of the method cover it"
_FLOWS = "releases of such files are tested in tests/flows, and change no golden request"
_FORMS = "how a file is read changes nothing of what is made of it; tests/microdata and tests/flows cover it"
UNUSED: Mapping[str, str] = {
    **dict.fromkeys(("Attribute.of", "Attribute.of=row", "Dataset.person"), _FLOWS),
    **{f"FurtherTable.{term}": _FLOWS for term in ("attributes", "key", "path", "title", "within")},
    **{f"RowAttribute.{term}": _FLOWS for term in (*Attribute.model_fields, "of=row")},
    "ReleaseRequest.tables": _FLOWS,
    **{f"Dataset.{term}": _FORMS for term in ("dates", "decimal", "format", "header", "member", "sheet", "thousands")},
    "Dataset.decimal=,": _FORMS,
    **{f"Dataset.thousands={mark}": _FORMS for mark in (".", ",", " ", "'")},
    **{f"FileFormat={name}": _FORMS for name in ("excel", "sas", "sas-transport", "spss", "stata")},
    **dict.fromkeys(("Attribute.level", "Attribute.least_people", "Policy.events"), _FLOWS),
    **dict.fromkeys(("EventsPolicy.known", "EventsPolicy.known=all", "EventsPolicy.people"), _FLOWS),
    **dict.fromkeys(("EventsPolicy.most_rows", "ReviewPolicy.expert_signs", "ReviewPolicy.signed_votes"), _FLOWS),
    **dict.fromkeys(("Attribute.pseudonym", "Role=pseudonym"), _FLOWS),
    **dict.fromkeys(("Attribute.text", "Role=text", "TextTerms.language"), _FLOWS),
    **{f"Measure=text.{name}": _FLOWS for name in ("missed", "residual")},
    **{f"PseudonymTerms.{term}": _FLOWS for term in ("format", "identifier", "project")},
    **{f"PseudonymFormat={form}": _FLOWS for form in ("code", "integer", "uuid")},
    **{f"Population.{term}": _FLOWS for term in ("lacks", "sampling_fraction", "self", "size")},
    **{f"Measure=estimated.{name}": _FLOWS for name in ("maximum_risk", "mean_risk", "unique_share")},
    **dict.fromkeys(("Attribute.date", "HierarchySource.dates", "Policy.dates", "Policy.missing"), _FLOWS),
    **{f"DateTerms.{term}": _FLOWS for term in ("age", "days", "event", "event=birth", "event=death")},
    **{f"DateTerms.{term}": _FLOWS for term in ("relative_to", "shift", "shift=person")},
    **{f"DateLevels.{term}": _FLOWS for term in ("levels", "maximum", "minimum")},
    **{
        f"DatePeriod={period}": _FLOWS
        for period in ("iso-week", "iso-year", "month", "quarter", "year", "five-years", "decade")
    },
    **{f"Measure=dates.{name}_share": _FLOWS for name in ("alone", "linked", "offset", "pattern")},
    **{
        f"{term}": _FLOWS
        for term in ("DatesPolicy.known", "MissingPolicy.quasi_identifiers", "MissingPolicy.sensitive")
    },
    "CollusionPolicy.recipients=all": "all of the request are named",
    "CollusionPolicy.who=everybody": _ANOTHER,
    "GeneralizationPolicy.adversary_belief=known group": _ANOTHER,
    "GeneralizationPolicy.adversary_belief=unknown group": _ANOTHER,
    "GeneralizationPolicy.information_loss=table7": "of the attributes of the paper's data alone",
    "KAnonymity.metric=loss": _ANOTHER,
    "KAnonymity.metric=non-uniform entropy": _ANOTHER,
    "KAnonymity.metric=precision": _ANOTHER,
    **{f"SensitivityPolicy.draws={2**power}": "a number, in steps" for power in (7, 8, 9, 11, 12, 13, 14)},
}
"""Terms and values of terms that no golden request uses, and why."""


@pytest.fixture(scope="module")
def outputs() -> Mapping[str, Outputs]:
    return dict(made(CASES))


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first makes all of them: a minute and a half where nothing else runs
@pytest.mark.parametrize("name", CASES)
def test_outputs_are_as_expected(outputs: Mapping[str, Outputs], name: str) -> None:
    found = [difference.shown(8) for difference in compared(name, outputs[name])]
    assert not found, "\n".join(["python -m tests.golden shows more, and --update takes it over", *found])


def test_nothing_is_kept_of_cases_that_are_gone() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == set(CASES)


def test_every_term_is_used() -> None:
    missing = set(all_terms()) - used_terms()
    assert missing == set(UNUSED)
