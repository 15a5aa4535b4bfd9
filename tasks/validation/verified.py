"""Identifiers with a numbering plan or check digits: phone numbers, accounts, national numbers.

Candidates are found by RE2; only they are tested by ``phonenumbers`` and ``stdnum``, both of which are imported when
there are candidates. Some tests a random code passes one time in ten: what passes them alone counts where at least half
of the column's candidates pass. Past 20,000 candidates in a column the rest count as found where any before them was.
"""

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.request.model import PatternName
from tasks.validation.readings import arrow, found


class CheckStrength(IntEnum):
    """Result of testing a cell."""

    NONE = 0
    FAILED = 1
    """A candidate of a form that other codes share fails its test."""
    WEAK = 2
    """Such a candidate passes."""
    CERTAIN = 3


MOST_TESTED = 20_000
"""Candidates of a column that are tested."""

_BEFORE = "(?:^|[^0-9A-Za-z.,+])"
_AFTER = "(?:$|[^0-9A-Za-z])"
_GAP = r"[ ./()\x{00A0}\x{2010}-\x{2014}-]"
_PHONE = (
    rf"{_BEFORE}(?:\+|00|\(?0)[1-9](?:{_GAP}{{0,3}}[0-9]){{6,13}}{_AFTER}|"
    rf"{_BEFORE}[0-9]{{3,5}}-[0-9]{{2,8}}(?:-[0-9]{{1,5}})?{_AFTER}|"
    rf"{_BEFORE}[0-9]{{3}}[ -](?:[0-9]{{3}}[ -][0-9]{{3}}|[0-9]{{2}}[ -][0-9]{{2}}[ -][0-9]{{2}}){_AFTER}|"
    r"(?i:(?:phone|tel|mobil|handy|fax|fon)[a-zé]{0,6}\.?(?: ?(?:nr|no|number|"
    r"nummer))?\.?[ :]{0,3})[0-9(][0-9 ()./-]{5,17}[0-9]"
)
_IN_PHONE = re.compile(r"(?<![0-9A-Za-z.,])[+(]?[0-9][0-9 ()./\u00a0\u2010-\u2014-]{5,22}[0-9]")
_PLAIN_MOBILE = re.compile(r"0(?:1[567][0-9]{8,9}|[67][0-9]{8}|7[0-9]{9})")
_LABELLED = re.compile(r"(?i)(?:phone|tel|mobil|handy|fax|fon)")
_NORTH_AMERICA, _SPAIN, _ITALY = 1, 34, 39
_WITH_ZERO = (49, 44, 33, 43, 41, _ITALY, 31, 32, 353, 46)
"""Country codes of plans in which national numbers begin with 0."""
_DATE = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4}")
_HYPHENED = re.compile(r"[0-9]{3,5}-[0-9]{2,8}(?:-[0-9]{1,5})?")
_NINE_DIGITS = re.compile(r"[0-9]{3}[ -](?:[0-9]{3}[ -][0-9]{3}|[0-9]{2}[ -][0-9]{2}[ -][0-9]{2})")

_IBAN = r"(?i:(?:^|[^0-9A-Za-z])[A-Z]{2}[ -]?[0-9]{2}(?:[ -]?[0-9A-Z]{2,4}){3,8}[ -]?[0-9A-Z]{0,3}(?:$|[^0-9A-Za-z]))"
_CARD = r"(?:^|[^0-9A-Za-z.,])[3-6][0-9]{3}[ -]?(?:[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}|[0-9]{6}[ -]?[0-9]{5})"
_CARD += "(?:$|[^0-9A-Za-z])"

_NATIONAL: dict[str, str] = {
    "fr.nir": r"[1-478] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
    "es.dni": r"[0-9]{8}[ -]?[A-Z]",
    "es.nie": r"[XYZ][ -]?[0-9]{7}[ -]?[A-Z]",
    "it.codicefiscale": r"[A-Z]{6}[0-9LMNP-V]{2}[A-EHLMPR-T][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]",
    "ch.ssn": r"756\.?[0-9]{4}\.?[0-9]{4}\.?[0-9]{2}",
    "de.idnr": r"[1-9][0-9][ ]?[0-9]{3} ?[0-9]{3} ?[0-9]{3}",
    "se.personnummer": r"(?:19|20)?[0-9]{6}[-+][0-9]{4}",
    "fi.hetu": r"[0-3][0-9][01][0-9]{3}[-+A-FU-Y][0-9]{3}[0-9A-Y]",
    "be.nn": r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}[.-][0-9]{2}",
    "br.cpf": r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}",
    "gb.nhs": r"[0-9]{3}[ -][0-9]{3}[ -][0-9]{4}",
    "ca.sin": r"[1-79][0-9]{2}[ -][0-9]{3}[ -][0-9]{3}",
    "pl.pesel": r"[0-9]{2}[0-3][0-9][0-3][0-9]{6}",
    "at.vnr": r"[1-9][0-9]{3} [0-3][0-9][01][0-9]{3}",
}
"""Numbers of ``stdnum`` by module, each with the forms that set it apart from other codes."""
_WEAK = frozenset({"es.dni", "es.nie", "de.idnr", "gb.nhs", "ca.sin", "pl.pesel", "at.vnr"})
"""Numbers whose check a code of the same form passes by chance now and then."""
_UNCHECKED = (
    (r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Z]", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9 ]{6,10}[A-D]"),
    (
        r"[0-9]{8} ?[A-Z] ?[0-9]{3}|[0-9]{2} [0-9]{6} [A-Z] [0-9]{3}",
        r"[0-9]{2} ?[0-3][0-9][01][0-9]{3} ?[A-Z] ?[0-9]{3}",
    ),
)
"""Numbers without check digits that are tested, the British and German social insurance number: form, valid form."""


def verified(values: pd.Series, kind: PatternName) -> npt.NDArray[np.bool_]:
    """Whether each text holds an identifier of a kind of ``VERIFIED``; False where missing."""
    expression, test = VERIFIED[kind]
    texts = arrow(values)
    rows = np.flatnonzero(found(texts, expression))
    mask = np.zeros(len(texts), dtype=np.bool_)
    tested = rows[:MOST_TESTED]
    evidence = np.array([test(cell) for cell in texts.take(tested).to_pylist()], dtype=np.int64)
    passing = np.count_nonzero(evidence == CheckStrength.WEAK) >= np.count_nonzero(evidence == CheckStrength.FAILED)
    mask[tested] = evidence >= (CheckStrength.WEAK if passing else CheckStrength.CERTAIN)
    mask[rows[MOST_TESTED:]] = mask.any()
    return mask


def _phone(cell: str) -> CheckStrength:
    labelled = _LABELLED.search(cell) is not None
    best = CheckStrength.NONE
    for written in map(str.strip, _IN_PHONE.findall(cell)):
        if _DATE.fullmatch(written):
            continue
        digits = re.sub(r"[^0-9]", "", written)
        if written.startswith("+") or digits.startswith("00"):
            valid = _is_international("+" + digits.removeprefix("00"))
            best = max(best, CheckStrength.CERTAIN if valid else CheckStrength.NONE)
        elif not labelled and _HYPHENED.fullmatch(written):
            weak = digits.startswith("0") and _is_national(digits, *_WITH_ZERO)
            best = max(best, CheckStrength.WEAK if weak else CheckStrength.FAILED)
        elif labelled or (
            digits.startswith("0") and (digits != written or _PLAIN_MOBILE.fullmatch(digits) is not None)
        ):
            valid = _is_national(digits, *_WITH_ZERO, *((_SPAIN, _NORTH_AMERICA) if labelled else ()))
            best = max(best, CheckStrength.CERTAIN if valid else CheckStrength.NONE)
        elif _NINE_DIGITS.fullmatch(written):
            best = max(best, CheckStrength.WEAK if _is_national(digits, _SPAIN) else CheckStrength.FAILED)
    return best


def _is_international(number: str) -> bool:
    phonenumbers: Any = import_module("phonenumbers")
    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(number, "ZZ")))
    except phonenumbers.NumberParseException:
        return False


def _is_national(digits: str, *countries: int) -> bool:
    """Whether digits, with the trunk prefix 0 or without, are assigned in the plan of one of some countries."""
    phonenumbers: Any = import_module("phonenumbers")
    significant = digits.lstrip("0")
    return bool(significant) and any(
        phonenumbers.is_valid_number(
            phonenumbers.PhoneNumber(
                country_code=country,
                national_number=int(significant),
                italian_leading_zero=country == _ITALY and digits.startswith("0"),
            )
        )
        for country in countries
    )


def _account(cell: str) -> CheckStrength:
    written = [re.sub("[ -]", "", one) for one in _runs(_IBAN, cell)]
    # A word that follows the number may have been taken for its end.
    starts = (one[:end] for one in written for end in range(min(34, len(one)), 14, -1))
    if any(_remainder(one) == 1 and _check("iban", one) for one in starts):
        return CheckStrength.CERTAIN
    cards = [_check("luhn", re.sub("[^0-9]", "", one)) for one in _runs(_CARD, cell)]
    return max((CheckStrength.WEAK if passed else CheckStrength.FAILED for passed in cards), default=CheckStrength.NONE)


def _remainder(account: str) -> int:
    """Remainder of an IBAN by 97, which is 1 where its check digits are right (ISO 7064)."""
    return int("".join(str(int(one, 36)) for one in account[4:] + account[:4])) % 97


def _national_id(cell: str) -> CheckStrength:
    best = CheckStrength.NONE
    for name, form in _NATIONAL.items():
        for one in _runs(_bounded(form), cell):
            if name not in _WEAK:
                best = max(best, CheckStrength.CERTAIN if _check(name, one) else CheckStrength.NONE)
            else:
                best = max(best, CheckStrength.WEAK if _check(name, one) else CheckStrength.FAILED)
    for form, narrower in _UNCHECKED:
        for one in _runs(_bounded(form), cell):
            best = max(best, CheckStrength.WEAK if re.fullmatch(narrower, one) else CheckStrength.FAILED)
    return best


_BOUNDS = re.compile(r"^[^0-9A-Za-z]+|[^0-9A-Za-z]+$")


def _bounded(form: str) -> str:
    return rf"(?:^|[^0-9A-Za-z.+-])(?:{form})(?:$|[^0-9A-Za-z-])"


def _runs(expression: str, cell: str) -> Iterator[str]:
    """Parts of a cell that an expression finds, without the characters that bound them."""
    for one in re.finditer(expression, cell, re.ASCII):
        yield _BOUNDS.sub("", one[0])


def _check(name: str, number: str) -> bool:
    return bool(import_module(f"stdnum.{name}").is_valid(number))


VERIFIED: dict[PatternName, tuple[str, Callable[[str], CheckStrength]]] = {
    PatternName.PHONE: (_PHONE, _phone),
    PatternName.ACCOUNT_NUMBER: (f"{_IBAN}|{_CARD}", _account),
    PatternName.NATIONAL_ID: (
        "|".join(map(_bounded, (*_NATIONAL.values(), *(form for form, _ in _UNCHECKED)))),
        _national_id,
    ),
}
"""For each kind the expression of its candidates and the test of a cell that has one."""
