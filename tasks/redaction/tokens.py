"""Texts as tokens between white space: which of them an expression finds, and texts with some of them replaced."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tasks.redaction.entities import ENTITIES
from tasks.validation.readings import decoded, found
from tasks.validation.words import Flags, Integers, Words, split

Kinds = NDArray[np.uint8]
"""Kind of each token: 0 for none, else the place in ``ENTITIES`` from 1."""

_BEGIN, _END, _BLANK, _LINE = "\x02", "\x03", "\x04", "\x05"
_CONTROL = r"[\x{0000}-\x{0009}\x{000B}-\x{001F}\x{007F}\x{0085}\x{2028}\x{2029}]+"


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of texts in their order; arrays of shape (n_tokens,) where nothing else is said."""

    written: pa.Array
    text: Integers
    """Position of the text that each is in; ascending."""
    line: Flags
    """Whether each begins a line, the first lines of texts aside."""
    texts: int

    @classmethod
    def of(cls, values: pa.Array) -> "Tokens":
        """The tokens of texts, none of them missing, as a reader would decode them; white space is one space."""
        plain = pc.replace_substring_regex(pc.replace_substring(decoded(values), "\r\n", "\n"), _CONTROL, " ")
        lists = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(pc.replace_substring(plain, "\n", f" {_LINE} ")))
        written, text = _flat(lists)
        breaks = pc.equal(written, _LINE).to_numpy(zero_copy_only=False)
        kept = ~breaks & (pc.utf8_length(written).to_numpy() > 0)
        line, text = np.append(False, breaks)[:-1][kept], text[kept]
        line &= np.append(-1, text)[:-1] == text
        return cls(written.filter(pa.array(kept)), text, line, len(values))

    @cached_property
    def joined(self) -> pa.Array:
        """The texts with one space between tokens."""
        return self._joined(self.written, self.text)

    def _joined(self, tokens: pa.Array, text: Integers) -> pa.Array:
        offsets = np.searchsorted(text, np.arange(self.texts + 1)).astype(np.int32)
        return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), tokens), pa.scalar(" ", pa.large_string()))

    @cached_property
    def words(self) -> tuple[Words, Integers]:
        """The words of the texts, and the token of each."""
        spaced = _glued(self.written, " ")
        words = split(pd.Series(spaced, dtype=pd.StringDtype("pyarrow")))
        token = words.text
        own = Words(self.text[token], words.code, words.vocabulary, words.capital, words.clause, self.texts)
        return own, token

    def found(self, expression: str) -> Flags:
        """Tokens that an expression of RE2 finds, or a part of them, alone or together; overlapping finds as well."""
        marked = np.zeros(len(self.written), dtype=np.bool_)
        rows = np.flatnonzero(found(self.joined, expression))
        while len(rows):
            texts = self.joined.take(pa.array(rows))
            if marked.any():
                blanked = pc.if_else(pa.array(marked), pa.scalar(_BLANK, pa.large_string()), self.written)
                texts = self._joined(blanked, self.text).take(pa.array(rows))
            spans = pc.replace_substring_regex(texts, f"({expression})", f"{_BEGIN}\\1{_END}")
            spans = pc.replace_substring_regex(spans, f"{_BEGIN}( +)", f"\\1{_BEGIN}")
            spans = pc.replace_substring_regex(spans, f"( +){_END}", f"{_END}\\1")
            tokens, _ = _flat(pc.utf8_split_whitespace(spans))
            begins = pc.count_substring(tokens, _BEGIN).to_numpy().astype(np.int64)
            ends = pc.count_substring(tokens, _END).to_numpy().astype(np.int64)
            inside = np.cumsum(begins) - np.append(0, np.cumsum(ends))[:-1] > 0
            places = np.flatnonzero(self._among(rows)[self.text])
            fresh = places[inside]
            fresh = fresh[~marked[fresh]]
            marked[fresh] = True
            rows = np.flatnonzero(self._among(self.text[fresh]))
        return marked

    def _among(self, rows: Integers) -> Flags:
        """Whether each text is one of some."""
        mask = np.zeros(self.texts, dtype=np.bool_)
        mask[rows] = True
        return mask

    def begins(self, kinds: Kinds) -> Flags:
        """Tokens that begin a run of one kind, in one line of a text."""
        begins: Flags = (kinds != np.append(0, kinds)[:-1]) | (np.append(-1, self.text)[:-1] != self.text)
        return begins | self.line

    @cached_property
    def sentences(self) -> Flags:
        """Tokens that begin a sentence, a line or a text."""
        ends = found(self.written, r"[.!?][)\]\"'”’]*$") & ~found(self.written, r"^[(\[\"'“‘]*[A-Z]\.$")
        first = np.append(-1, self.text)[:-1] != self.text
        begins: Flags = first | self.line | np.append(False, ends)[:-1]
        return begins

    def replaced(self, kinds: Kinds) -> pa.Array:
        """The texts with each run of tokens of one kind as the placeholder of the kind, punctuation around it kept."""
        begins = self.begins(kinds)
        last = np.append(begins[1:], True)
        changed = kinds > 0
        names = pa.array(["", *(one.placeholder for one in ENTITIES)], type=pa.large_string()).take(pa.array(kinds))
        before = _part(self.written, r"^[(\[\"'“‘]*")
        after = _part(self.written, r"[)\]\"'”’.,;:!?]*$")
        run_end = np.flatnonzero(last)[np.cumsum(begins) - 1]
        whole = _glued(before, names, after.take(pa.array(run_end)))
        tokens = pc.if_else(pa.array(changed), whole, self.written)
        lined = _glued("\n", tokens)
        tokens = pc.if_else(pa.array(self.line), lined, tokens)
        kept = ~changed | begins
        return pc.replace_substring(self._joined(tokens.filter(pa.array(kept)), self.text[kept]), " \n", "\n")


def _flat(lists: pa.Array) -> tuple[pa.Array, Integers]:
    """The items of lists, and the list of each."""
    text = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return pc.cast(pc.list_flatten(lists), pa.large_string()), text


def _glued(*parts: pa.Array | str) -> pa.Array:
    """Texts put together, one by one; a single text goes to each."""
    texts = (pa.scalar(one, pa.large_string()) if isinstance(one, str) else one for one in parts)
    return pc.binary_join_element_wise(*texts, pa.scalar("", pa.large_string()))


def _part(tokens: pa.Array, expression: str) -> pa.Array:
    """Part of each token that an expression finds; it must find something in every token."""
    return pc.struct_field(pc.extract_regex(tokens, f"(?P<part>{expression})"), "part")
