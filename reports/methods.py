"""Generalization methods and their promises, in the words the report prints."""

from tasks.core.errors import StageFailed
from tasks.generalization.methods.method import GeneralizationMethod
from tasks.generalization.methods.registry import METHODS
from tasks.request.model import Method


def method_text(name: str) -> GeneralizationMethod:
    """The method that a record names, with its text.

    Raises
    ------
    StageFailed
        If the record names a method that the report cannot explain.
    """
    try:
        return METHODS[Method(name)]
    except (ValueError, KeyError):
        raise StageFailed(
            "the decision record names a method that the report cannot explain",
            where="risk.game",
            expected="one of " + ", ".join(method.value for method in Method),
            got=name,
            fix="render the record with the version of the program that wrote it",
        ) from None
