"""Errors must not give away the data: nothing that a planted value could be printed through may hold it."""

import traceback

from tasks.core.errors import ReleasegateError

CANARY = "Zq7canary88"


def assert_silent(error: BaseException, secret: str = CANARY) -> None:
    """No way of printing the error shows the secret, and it is one of the errors made for readers."""
    assert isinstance(error, ReleasegateError)
    printed = "".join(traceback.format_exception(error))
    for text in (str(error), repr(error), repr(error.args), repr(error.fields()), printed):
        assert secret not in text
    assert error.__cause__ is None
    if error.__context__ is not None:
        assert error.__suppress_context__
