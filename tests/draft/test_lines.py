"""Folded lines say what the long line says, and are short wherever a space allows it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tasks.draft.lines import WIDTH, folded
from tasks.request.document import read_document

WORDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30), max_size=40
)
TEXTS = st.builds(
    lambda words, gap: gap.join(words), WORDS, st.sampled_from([" ", "  ", " # ", ", ", ": ", '" ', "\\ "])
)
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)


def rows(line: str) -> list[str]:
    return list(folded(line))


def test_short_lines_stay_as_they_are() -> None:
    for line in ("", "title: # fill in: what", f"# {'x' * 118}", "a: {b: c} # d"):
        assert rows(line) == [line]


def test_a_mapping_is_cut_between_its_terms_with_the_comment_beside_the_first() -> None:
    line = "  age: {role: quasi-identifier, type: integer, hierarchy: {intervals: {minimum: 0, maximum: 99}}"
    line += ", description: " + json.dumps("years at the first visit") + "} # “age”; 77 values"
    assert rows(line) == [
        "  age: {role: quasi-identifier, type: integer, hierarchy: {intervals: {minimum: 0, maximum: 99}}, # “age”; "
        "77 values",
        '      description: "years at the first visit"}',
    ]


def test_a_comment_without_room_goes_above() -> None:
    line = f"  age: {{role: direct identifier, description: {'y' * 40}}} # {'reason ' * 10}"
    assert rows(line) == [f"  # {'reason ' * 9}reason", f"  age: {{role: direct identifier, description: {'y' * 40}}}"]


def test_a_comment_never_becomes_part_of_a_text_cut_beside_it() -> None:
    line = f"age: {{role: direct identifier, description: {json.dumps('y' * 40 + ' ' + 'z' * 100)}}} # reason"
    made = rows(line)
    assert made[0] == "# reason"
    assert len(made) == 3
    assert read_document("\n".join(made)).data == read_document(line).data


@given(NAMES, st.one_of(NAMES, TEXTS), TEXTS, TEXTS, TEXTS)
def test_what_is_read_is_the_same(key: str, name: str, text: str, other: str, comment: str) -> None:
    quoted = [json.dumps(one, ensure_ascii=False) for one in (name, text, other)]
    comment = " ".join(comment.split())
    for line in (
        f"{key}: {quoted[1]} # {comment}",
        f"{key}: {{role: direct identifier, of: {quoted[1]}, levels: [{quoted[2]}, {quoted[1]}]}} # {comment}",
        f"{quoted[0]}: [{quoted[1]}, {quoted[2]}]",
    ):
        made = rows(line)
        assert read_document("\n".join(made)).data == read_document(line).data


@given(st.lists(st.text("abc", min_size=1, max_size=20), min_size=1, max_size=60))
def test_no_line_is_long(words: list[str]) -> None:
    text = " ".join(words)
    for line in (f"# {text}", f"    key: {json.dumps(text)}", f"  key: {{a: {json.dumps(text)}, b: [c, d]}} # {text}"):
        assert max(map(len, rows(line))) <= WIDTH
