"""Determination and evidence where the policy asks for the expert's signature, and where it does not."""

from tests.support.records import approved, awaiting_review, changed
from tests.support.rendered import determination_html, evidence_html


def test_the_papers_of_a_release_that_awaits_the_signature_call_nothing_approved() -> None:
    record = changed(awaiting_review(), expert_signs=True)
    words = "Technically passed, awaiting the expert&#39;s signature"
    for html in (determination_html(record), evidence_html(record)):
        assert words in html
        assert "✓ Approved" not in html
    assert "that is no determination yet" in determination_html(record)
    assert words not in determination_html(awaiting_review())


def test_an_approval_without_it_says_that_it_is_the_result_of_the_gates() -> None:
    html = determination_html(changed(approved(), expert="R. Okafor"))
    assert "“Approved” is the result of the gates; the policy lets the file leave before the expert signs." in html
