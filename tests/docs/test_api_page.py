"""The page of the Python interface is the package's own, and its examples run."""

import doctest

from releasegate._docs import PAGE, page


def test_the_page_is_what_the_package_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m releasegate._docs"


def test_the_examples_run() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("```", "\n")
    results = doctest.DocTestRunner(verbose=False)
    results.run(doctest.DocTestParser().get_doctest(text, {}, "api.md", str(PAGE), 0))
    assert results.failures == 0
    assert results.tries >= 30
