"""Formats of figures, times and hashes in a report; nothing is measured here."""

from datetime import UTC, date, datetime
from decimal import ROUND_CEILING, Context, Decimal

_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGEST_SHORT = "0.9999"
_HALF, _ROUNDING = 0.5, 1e-9
_LONG = 1e6
_LONG_WHOLE = 1e15
_WIDE = Context(prec=400)
"""Room for every number, whatever its size."""


_GRAINS = (0.001, 0.005, 0.01, 0.05, 0.1)


def grain(least: float) -> float | None:
    """The finest step of shares that is no finer than a share; None where every step is.

    >>> grain(11 / 32561), grain(0.02), grain(0.2)
    (0.001, 0.05, None)
    """
    return next((step for step in _GRAINS if step >= least), None)


def integer(value: int) -> str:
    """A whole number with thousands separators.

    >>> integer(32561)
    '32,561'
    """
    return f"{value:,d}"


def risk(value: float) -> str:
    """A probability with four significant digits; never rounded up to a certainty or down to an impossibility.

    >>> risk(1 / 75), risk(0.09), risk(0.99999), risk(0.0000123)
    ('0.01333', '0.09', '>0.9999', '1.23 × 10⁻⁵')
    """
    if 0 < value < 1 and float(f"{value:.4g}") == 1:
        return ">0.9999"
    text = f"{value:.4g}"
    if "e" not in text:
        return text.replace("-", "−")
    mantissa, exponent = text.split("e")
    return f"{mantissa.replace('-', '−')} × 10{str(int(exponent)).translate(_SUPERSCRIPT)}"


def one_in(value: float) -> str:
    """A small probability as one case in so many, in brackets after it; not fewer cases than it has, but for rounding.

    >>> one_in(1 / 75), one_in(0.09), one_in(0.7), one_in(0.0)
    (' (1 in 75)', ' (1 in 11)', '', '')
    """
    return f" (1 in {integer(int(1 / value + _ROUNDING))})" if 0 < value <= _HALF else ""


def percent(share: float) -> str:
    """A share between 0 and 1 as a percentage, two decimals or two significant digits, whichever says more.

    >>> percent(0.11523), percent(0.9), percent(0.000012), percent(0.99999)
    ('11.52%', '90%', '0.0012%', '>99.99%')
    """
    if share in (0, 1):
        return f"{share * 100:.0f}%"
    if share < 0.0001:
        text = f"{share * 100:.2g}"
        return f"{risk(share * 100)}%" if "e" in text else f"{text}%"
    if share > 0.9999:
        return ">99.99%"
    return f"{share * 100:.2f}".removesuffix(".00") + "%"


def percent_range(low: float, high: float) -> str:
    """Two shares between 0 and 1 as a range of percentages.

    >>> percent_range(0.4296, 0.4731), percent_range(0, 0.0001)
    ('42.96–47.31%', '0–0.01%')
    """
    return f"{percent(low).removesuffix('%')}–{percent(high)}"


def amount(value: float) -> str:
    """An amount of the request's currency, which the request does not name: two decimals, separators, no sign.

    >>> amount(1146.8249), amount(4), amount(-3.5)
    ('1,146.82', '4.00', '−3.50')
    """
    return f"{value:,.2f}".replace("-", "−")


def plain(value: float) -> str:
    """A weight or a size that may be fractional: at most four significant digits after the point, no exponent.

    >>> plain(75.0), plain(0.5), plain(1200.25)
    ('75', '0.5', '1,200.25')
    """
    return f"{value:,.4f}".rstrip("0").rstrip(".").replace("-", "−")


def fixed(value: float, decimals: int = 3) -> str:
    """A figure without a unit in a column of others: as many decimals each, no sign before a zero.

    >>> fixed(0.12345), fixed(-0.5), fixed(-0.00001)
    ('0.123', '−0.500', '0.000')
    """
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def fixed_or_dash(value: float | None, decimals: int = 3) -> str:
    """The same, or a dash where there is no figure."""
    return "–" if value is None else fixed(value, decimals)


def setting(value: float | str) -> str:
    """The value of a parameter: whole numbers in full, others to four significant digits, words as they are.

    >>> setting(3256), setting(10.0), setting(0.125), setting("pair")
    ('3,256', '10', '0.125', 'pair')
    """
    if isinstance(value, str):
        return value
    return integer(int(value)) if float(value).is_integer() and abs(value) < _LONG_WHOLE else risk(value)


def amount_up(value: float) -> str:
    """An amount that is not to fall short of the value: two decimals, rounded up.

    >>> amount_up(12.341), amount_up(12.34), amount_up(0)
    ('12.35', '12.34', '0.00')
    """
    return amount(float(Decimal(repr(value)).quantize(Decimal("0.01"), ROUND_CEILING, _WIDE)))


def risk_up(value: float) -> str:
    """A probability that is not to fall short of the value: four significant digits, rounded up.

    >>> risk_up(0.0123441), risk_up(0.01), risk_up(0.99999)
    ('0.01235', '0.01', '>0.9999')
    """
    if value > float(_LARGEST_SHORT):
        return f">{_LARGEST_SHORT}"
    return risk(float(Context(prec=4, rounding=ROUND_CEILING).plus(Decimal(repr(value)))))


def tick(value: float) -> str:
    """A figure on an axis, as short as it can be.

    >>> tick(0.00001), tick(0.05), tick(100.0), tick(20000.0), tick(1e7), tick(0)
    ('10⁻⁵', '0.05', '100', '20,000', '10⁷', '0')
    """
    if value == 0 or 1 <= abs(value) < _LONG:
        return plain(value)
    return risk(value).removeprefix("1 × ")


def utc(moment: datetime) -> datetime:
    """A moment in UTC; one without a zone is assumed to be in UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def day(value: date) -> str:
    """A date in words, so that nobody mistakes the month.

    >>> day(date(2026, 3, 9))
    '9 March 2026'
    """
    return f"{value.day} {_MONTHS[value.month - 1]} {value.year}"


def minute(value: datetime) -> str:
    """A moment to the minute, in UTC."""
    moment = utc(value)
    return f"{day(moment)}, {moment:%H:%M} UTC"


def short(digest: str) -> str:
    """The first twelve digits of a hash, enough to recognize it by."""
    return digest[:12]
