r"""Patterns of direct identifiers, as regular expressions with a stated scope.

The scan looks for identifiers that slipped into a column, not for ones that were hidden: it errs on the side of
finding, and a column where it finds wrongly opts out with ``scan: false``, which is recorded.

All expressions mean the same to RE2 (linear in the length of a cell) and to Python's ``re``, between which pandas
chooses by the data: no look-around, no back-references, no classes that depend on Unicode, no capturing groups, ``\Z``
for the end. A boundary is therefore a character that is consumed.

============================  =========================================================  ===============================
pattern                       found                                                      left alone
============================  =========================================================  ===============================
e-mail address                ``local@host.domain``, also in other scripts               no dot in the host; a handle
phone number                  North American numbers with area code, with or without     seven digits without a word
                              separators and +1; any number that starts with + and has   such as “phone” before them;
                              8 to 15 digits; seven digits after a word such as “phone”  decimals
social security number        SSN and ITIN with -, space or dot; nine bare digits that   areas 000, 666; group 00;
                              a valid SSN can have                                       serial 0000; ZIP+4
IP address                    four octets up to 255; IPv6 in full, or shortened with ::  versions of 3 or 5 parts or
                              in 2000::/3, fc00::/7 and fe80::/10                        after a letter; clock times
web address                   with a scheme; ``www.``; a common domain with a path       “and/or”; a domain alone
medical record number         MRN and at least 3 digits; record, chart, patient,         such words without a number
                              account and like numbers with at least 5 digits
full date                     day, month and year in the common orders and separators,   year; month and year; day and
                              month names in English, ``YYYYMMDD``                       month without a year
============================  =========================================================  ===============================
"""

from tasks.request.model import PatternName

_HYPHEN = r"\-‐‑‒–—"
_NO_BREAK = "\u00a0"
_SPACE = f" \\t\\n\\r\\f\\v{_NO_BREAK}"
_SEPARATOR = f"(?: ?[{_HYPHEN}./] ?|[ {_NO_BREAK}])"
_NOT_IN_NUMBER_BEFORE = "(?:^|[^0-9A-Za-z.,]|(?:^|[^0-9])[.,])"
_NOT_IN_NUMBER_AFTER = "(?:\\Z|[^0-9A-Za-z.,]|[.,](?:\\Z|[^0-9]))"
_NO_DIGIT_BEFORE = "(?:^|[^0-9])"
_NO_DIGIT_AFTER = "(?:\\Z|[^0-9])"
_NO_WORD_BEFORE = "(?:^|[^0-9A-Za-z])"


def _any(*alternatives: str) -> str:
    return "(?:" + "|".join(alternatives) + ")"


_EMAIL = rf"[^{_SPACE}@]@(?:[^{_SPACE}@.,;:/]+\.)+[^{_SPACE}@.,;:/0-9]{{2,}}"

_AREA = "[2-9][0-9]{2}"
_BARE_PHONE = f"1?{_AREA}{_AREA}[0-9]{{4}}"
_PHONE = "(?i)" + _any(
    f"{_NOT_IN_NUMBER_BEFORE}(?:1{_SEPARATOR}?)?"
    + _any(rf"\({_AREA}\) ?{_AREA}{_SEPARATOR}?", f"{_AREA}{_SEPARATOR}{_AREA}{_SEPARATOR}")
    + f"[0-9]{{4}}{_NO_DIGIT_AFTER}",
    f"{_NOT_IN_NUMBER_BEFORE}{_BARE_PHONE}{_NOT_IN_NUMBER_AFTER}",
    rf"{_NO_WORD_BEFORE}\+(?:[0-9][ ().{_HYPHEN}{_NO_BREAK}]{{0,3}}){{7,14}}[0-9]{_NO_DIGIT_AFTER}",
    "(?:^|[^A-Za-z])(?:tel|(?:tele|cell ?)?phone|ph|mobile|fax|call(?:ed)?)[^0-9A-Za-z]{0,3}(?:no|number|at|on)?"
    f"[^0-9A-Za-z]{{0,3}}{_AREA}{_SEPARATOR}?[0-9]{{4}}{_NO_DIGIT_AFTER}",
)

_SSN_AREA = "(?:00[1-9]|0[1-9][0-9]|[1-578][0-9]{2}|6[0-57-9][0-9]|66[0-57-9])"
_SSN_GROUP = "(?:0[1-9]|[1-9][0-9])"
_SSN_SERIAL = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_BARE_SSN = f"{_SSN_AREA}{_SSN_GROUP}{_SSN_SERIAL}"
_SSN_SEPARATOR = f"[{_HYPHEN} .{_NO_BREAK}]"
_ITIN = f"9[0-9]{{2}}{_SSN_SEPARATOR}(?:5[0-9]|6[0-5]|7[0-9]|8[0-8]|9[0-24-9]){_SSN_SEPARATOR}[0-9]{{4}}"
_SSN = _any(
    f"{_NO_DIGIT_BEFORE}"
    + _any(f"{_SSN_AREA}{_SSN_SEPARATOR}{_SSN_GROUP}{_SSN_SEPARATOR}{_SSN_SERIAL}", _ITIN)
    + _NO_DIGIT_AFTER,
    f"{_NOT_IN_NUMBER_BEFORE}{_BARE_SSN}{_NOT_IN_NUMBER_AFTER}",
)

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_HEX = "[0-9A-Fa-f]{1,4}"
_IP = _any(
    rf"(?:^|[^0-9A-Za-z.]|(?:^|[^0-9])\.)(?:{_OCTET}\.){{3}}{_OCTET}(?:\Z|[^0-9A-Za-z.]|\.(?:\Z|[^0-9]))",
    "(?:^|[^0-9A-Za-z:])"
    + _any(
        f"(?:{_HEX}:){{7}}{_HEX}",
        f"(?:[23][0-9A-Fa-f]{{3}}|[fF][cCdD][0-9A-Fa-f]{{2}}|[fF][eE][89aAbB][0-9A-Fa-f])"
        f"(?::{_HEX}){{0,6}}::(?:{_HEX}(?::{_HEX}){{0,6}})?",
    )
    + "(?:\\Z|[^0-9A-Za-z:])",
)

_URL = (
    "(?i)"
    + _NO_WORD_BEFORE
    + _any(
        r"(?:https?|s?ftp|file)://[^ ]",
        r"www\.[0-9a-z-]+\.[a-z]{2,}",
        r"(?:[0-9a-z-]+\.)+(?:com|org|net|edu|gov|mil|info|io|me|us|co)/[^ ]",
    )
)

_MEDICAL_RECORD_NUMBER = (
    "(?i)"
    + _NO_WORD_BEFORE
    + _any(
        rf"m\.?r\.?n\.?(?: ?(?:no|number|id)\.?)?(?: is)?[{_SPACE}:#.=-]*[a-z]{{0,4}}-?[0-9]{{3}}",
        _any(
            r"med(?:ical)?\.? ?rec(?:ord)?s?\.?(?: ?(?:no|num|number|nr|id|#)\.?)?",
            r"(?:chart|patient|hospital|encounter|account|member|health plan)\.? ?(?:no|num|number|nr|id|#)\.?",
        )
        + f"(?: is)?[{_SPACE}:#.=-]*[a-z]{{0,4}}-?[0-9](?:-?[0-9]){{4}}",
    )
)

_YEAR = "(?:1[89]|20)[0-9]{2}"
_MONTH = "(?:0?[1-9]|1[0-2])"
_DAY = "(?:0?[1-9]|[12][0-9]|3[01])"
_DATE_SEPARATOR = f"[{_HYPHEN}/.]"
_MONTH_NAME = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_ORDINAL = "(?:st|nd|rd|th)?"
_BARE_DATE = "(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = "(?:T?[0-2][0-9][0-5][0-9](?:[0-5][0-9])?Z?)?"
_FULL_DATE = "(?i)" + _any(
    f"{_NO_DIGIT_BEFORE}{_YEAR}{_DATE_SEPARATOR}{_MONTH}{_DATE_SEPARATOR}{_DAY}{_NO_DIGIT_AFTER}",
    _NO_DIGIT_BEFORE
    + _any(f"{_MONTH}{_DATE_SEPARATOR}{_DAY}", f"{_DAY}{_DATE_SEPARATOR}{_MONTH}")
    + f"{_DATE_SEPARATOR}{_YEAR}{_NO_DIGIT_AFTER}",
    "(?:^|[^0-9/])" + _any(f"{_MONTH}/{_DAY}", f"{_DAY}/{_MONTH}") + "/[0-9]{2}(?:\\Z|[^0-9/])",
    f"{_NO_DIGIT_BEFORE}{_DAY}{_ORDINAL}[ ,.{_HYPHEN}/]{{0,3}}(?:of )?{_MONTH_NAME}[ ,.'{_HYPHEN}/]{{0,3}}{_YEAR}"
    f"{_NO_DIGIT_AFTER}",
    f"{_NO_DIGIT_BEFORE}{_DAY}[.{_HYPHEN}/]?{_MONTH_NAME}[.'{_HYPHEN}/]?[0-9]{{2}}{_NO_DIGIT_AFTER}",
    f"(?:^|[^A-Za-z]){_MONTH_NAME}[ .{_HYPHEN}/]{{0,3}}{_DAY}{_ORDINAL}[ ,.{_HYPHEN}/]{{1,3}}{_YEAR}{_NO_DIGIT_AFTER}",
    f"{_NOT_IN_NUMBER_BEFORE}{_BARE_DATE}{_CLOCK}{_NOT_IN_NUMBER_AFTER}",
)

TEXT_PATTERNS: dict[PatternName, str] = {
    PatternName.EMAIL: _EMAIL,
    PatternName.PHONE: _PHONE,
    PatternName.SSN: _SSN,
    PatternName.IP: _IP,
    PatternName.URL: _URL,
    PatternName.MEDICAL_RECORD_NUMBER: _MEDICAL_RECORD_NUMBER,
    PatternName.FULL_DATE: _FULL_DATE,
}
"""Patterns that a cell of a text column must not contain."""

NUMBER_PATTERNS: dict[PatternName, str] = {
    PatternName.PHONE: rf"^\+?{_BARE_PHONE}(?:\.0*)?\Z",
    PatternName.SSN: rf"^\+?{_BARE_SSN}(?:\.0*)?\Z",
    PatternName.FULL_DATE: rf"^\+?{_BARE_DATE}(?:\.0*)?\Z",
}
"""Patterns that a whole cell of an integer or number column must not match.

Only the whole cell counts and only 8, 9, 10 or 11 digits in a valid arrangement, so that weights, incomes and codes of
up to seven digits never match. ``.0`` is what a spreadsheet adds to a number.
"""

PATTERN_TITLES: dict[PatternName, str] = {
    PatternName.EMAIL: "no e-mail address",
    PatternName.PHONE: "no phone number",
    PatternName.SSN: "no social security number",
    PatternName.IP: "no IP address",
    PatternName.URL: "no web address",
    PatternName.MEDICAL_RECORD_NUMBER: "no medical record number",
    PatternName.FULL_DATE: "no full date",
}
"""The check in plain words."""

WHOLE_NUMBER = r"^[+-]?[0-9]{1,18}\Z"
"""Cell of an integer column: fits 64 bits."""

NUMBER = r"^[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?\Z"
"""Cell of a number column: a finite decimal number; no thousands separator, no NaN or infinity."""

DATE_AND_TIME = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-2][0-9]:?[0-5][0-9])?)?\Z"
)
"""Cell of a date column: ISO 8601, with or without a time of day; that the day exists is checked apart."""
