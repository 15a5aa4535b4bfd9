r"""Cells as a reader would decode them: compatibility forms, escapes, hidden characters, base64.

The scans look at a cell as written and, where decoding changes it, at its decoded form on a further line. Decoding goes
three layers deep. It covers what software leaves behind by accident: percent and HTML escapes, ``\u`` and ``\x``
escapes, digits of other scripts, full-width letters, zero-width and soft-hyphen characters, base64 of text. It does not
undo encryption, compression or letters exchanged on purpose.
"""

import base64
import binascii
import html
import re
import unicodedata
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.coded_frame import coded_texts

_LAYERS = 3
_HIDDEN = (
    r"[\x{00AD}\x{034F}\x{061C}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180E}\x{200B}-\x{200F}\x{202A}-\x{202E}"
)
_HIDDEN += r"\x{2060}-\x{2064}\x{2066}-\x{206F}\x{FE00}-\x{FE0F}\x{FEFF}\x{E0000}-\x{E007F}]+"
_ESCAPED = (
    r"%[0-9A-Fa-f]{2}|&(?:#[0-9]{2,7}|#[xX][0-9A-Fa-f]{2,6}|[A-Za-z]{2,31}[0-9]{0,2});|"
    r"\\(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2})|=[0-9A-F]{2}=[0-9A-F]{2}"
)
_OTHER_DIGIT = r"[\x{0660}-\x{0669}\x{06F0}-\x{06F9}\x{0966}-\x{096F}\x{09E6}-\x{09EF}\x{0E50}-\x{0E59}]"
_BASE64 = r"[0-9A-Za-z+/_-]*(?:[a-z][0-9+/_-]*[A-Z]|[0-9A-Z][A-Z][0-9]*[a-z])[0-9A-Za-z+/_-]*[0-9A-Za-z+/_-]{3}"
_TOKEN = re.compile(r"[0-9A-Za-z+/_-]{10,}={0,2}")
_CODE_POINT = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2}))")
_QUOTED_PRINTABLE = re.compile(r"(?:=[0-9A-F]{2}){2,}")
_LAST_CODE_POINT = 0x10FFFF


def readable(values: pd.Series) -> pd.Series:
    r"""Texts for the scans: each value, and on a further line its decoded form where that differs.

    `values` is of string dtype; missing values stay missing.

    >>> cells = pd.Series(["plain", "Jos%C3%A9&#64;x.org", "１２", "SmFuZSBEb2U="], dtype="string[pyarrow]")
    >>> readable(cells).tolist()
    ['plain', 'Jos%C3%A9&#64;x.org\nJosé@x.org', '１２\n12', 'SmFuZSBEb2U=\nJane Doe']
    """
    written = arrow(values)
    plain = decoded(written)
    same = pc.fill_null(pc.equal(plain, written), True)
    if pc.all(same).as_py() in (True, None):
        return values
    both = pc.binary_join_element_wise(written, plain, pa.scalar("\n", pa.large_string()))
    return pd.Series(pc.if_else(same, written, both), index=values.index, dtype=pd.StringDtype("pyarrow"))


def decoded(written: pa.Array) -> pa.Array:
    """Texts as a reader would decode them; missing ones stay missing."""
    plain = _without_hidden(written)
    coded = np.flatnonzero(found(plain, _ESCAPED) | found(plain, _OTHER_DIGIT) | found(plain, _BASE64))
    if len(coded):
        cells = [_decoded(cell) for cell in plain.take(coded).to_pylist()]
        mask = np.zeros(len(plain), dtype=np.bool_)
        mask[coded] = True
        plain = pc.replace_with_mask(plain, mask, pa.array(cells, type=plain.type))
    return plain


def found(texts: pa.Array, expression: str) -> npt.NDArray[np.bool_]:
    """Whether an expression of RE2 is found in each text; False where missing."""
    return flags(pc.match_substring_regex(texts, expression))


def flags(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Truth values as an array; False where missing."""
    mask: npt.NDArray[np.bool_] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return mask


def arrow(values: pd.Series) -> pa.Array:
    """A column of strings or categories as one Arrow array of text."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return coded_texts(values).dictionary_decode()
    array = pa.array(values, type=pa.large_string(), from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def folded(texts: pa.Array) -> pa.Array:
    """Texts with Latin letters reduced to a–z, in the case they have: no accents, ß as ss."""
    if pc.all(pc.string_is_ascii(texts)).as_py() in (True, None):
        return texts
    plain = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKD"), r"\p{Mn}+", "")
    for letter, base in _LETTERS.items():
        plain = pc.replace_substring(plain, letter, base)
    return plain


_LETTERS = dict(zip("ßẞøØłŁæÆđĐıœŒ", ("ss", "SS", *"oOlL", "ae", "AE", *"dDi", "oe", "OE"), strict=True))


def _without_hidden(written: pa.Array) -> pa.Array:
    if pc.all(pc.string_is_ascii(written)).as_py() in (True, None):
        return written
    return pc.utf8_normalize(pc.replace_substring_regex(written, _HIDDEN, ""), form="NFKC")


def _decoded(cell: str) -> str:
    for _ in range(_LAYERS):
        once = _one_layer(cell)
        if once == cell:
            break
        cell = once
    return cell


def _one_layer(cell: str) -> str:
    plain = _CODE_POINT.sub(_character, unquote(html.unescape(cell), errors="replace"))
    plain = _QUOTED_PRINTABLE.sub(_quoted, plain)
    plain = _TOKEN.sub(_text_of, plain)
    if plain.isascii():
        return plain
    plain = unicodedata.normalize("NFKC", "".join(one for one in plain if unicodedata.category(one) != "Cf"))
    return "".join(str(unicodedata.digit(one, one)) for one in plain)


def _character(escape: re.Match[str]) -> str:
    point = int(next(digits for digits in escape.groups() if digits), 16)
    return chr(point) if point <= _LAST_CODE_POINT and not 0xD800 <= point <= 0xDFFF else escape[0]


def _quoted(escape: re.Match[str]) -> str:
    return bytes.fromhex(escape[0].replace("=", "")).decode("utf-8", errors="replace")


def _text_of(token: re.Match[str]) -> str:
    """The text that base64 stands for; the token itself where that is no printable text."""
    written = token[0].rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = base64.b64decode(written + "=" * (-len(written) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return token[0]
    return text if text.isprintable() else token[0]
