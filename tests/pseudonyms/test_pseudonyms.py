"""Pseudonyms by hand, apart for each recipient and release, the same within a project, and never two alike."""

import hashlib
import hmac
import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.pseudonyms import pseudonyms as module
from tasks.pseudonyms.pseudonyms import Pseudonyms, PseudonymScope, pseudonyms_of
from tasks.request.model import PseudonymFormat, PseudonymTerms, ReleaseRequest
from tests.support.tiny import tiny_document

KEY = bytes(range(32))
RELEASE = "a" * 64
FORMATS = tuple(PseudonymFormat)
IDENTIFIERS = st.lists(st.text(min_size=1, max_size=12).filter(lambda one: one.isprintable()), min_size=1, unique=True)
NUMBERS = st.lists(st.integers(0, 10**15 - 1).map(str), min_size=1, max_size=60, unique=True)


def terms(form: str = "uuid", project: str | None = None) -> PseudonymTerms:
    return PseudonymTerms(format=PseudonymFormat(form), project=project)


def by_identifier(made: Pseudonyms) -> dict[str, str]:
    return dict(zip(made.identifiers.to_pylist(), made.made.to_pylist(), strict=True))


def texts(values: Sequence[str]) -> pa.Array:
    return pa.array(values, type=pa.large_string())


def assigned(values: Sequence[str], of: PseudonymTerms, key: bytes, column: str) -> dict[str, str]:
    return by_identifier(module.assigned(texts(values), of, key, column))


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_bytes(KEY)
    return path


def own_key(*parts: str) -> bytes:
    """The key of one recipient's pseudonyms, made by hand."""
    return hmac.new(KEY, b"pseudonyms\0" + json.dumps(parts).encode(), hashlib.sha256).digest()


class TestByHand:
    def test_the_key_names_recipient_release_or_project_identifier_and_format(self, key_file: Path) -> None:
        scope = PseudonymScope(key_file, RELEASE, "university")
        assert scope.key(terms(), "patient") == own_key("university", "release", RELEASE, "patient", "uuid")
        assert scope.key(terms("code", "cohort"), "patient") == own_key(
            "university", "project", "cohort", "patient", "code"
        )

    def test_a_uuid_is_of_version_8_with_122_bits_of_the_token(self) -> None:
        """RFC 9562, section 5.8: bits 48 to 51 are 8, bits 64 and 65 are 2; all others are the token's."""
        token = hmac.new(KEY, b"patient 7", hashlib.sha256).digest()
        made = uuid.UUID(assigned(["patient 7"], terms(), KEY, "patient")["patient 7"])
        assert (made.version, made.variant) == (8, uuid.RFC_4122)
        free = ~(0xF << 76 | 0x3 << 62)
        assert made.int & free == int.from_bytes(token[:16]) & free

    def test_a_code_is_p_and_fifteen_symbols_of_five_bits_from_the_first(self) -> None:
        token = int.from_bytes(hmac.new(KEY, b"patient 7", hashlib.sha256).digest())
        digits = [token // 2 ** (256 - 5 * place) % 32 for place in range(1, 16)]
        expected = "P" + "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[one] for one in digits)
        assert assigned(["patient 7"], terms("code"), KEY, "patient") == {"patient 7": expected}

    def test_fresh_integers_are_the_places_of_the_tokens(self) -> None:
        values = ["a", "b", "c", "d"]
        tokens = sorted(values, key=lambda one: hmac.new(KEY, one.encode(), hashlib.sha256).digest())
        made = assigned(values, terms("integer"), KEY, "patient")
        assert [made[one] for one in tokens] == ["1", "2", "3", "4"]


class TestProperties:
    @given(values=NUMBERS, form=st.sampled_from(FORMATS), project=st.sampled_from([None, "cohort"]))
    def test_no_two_values_have_one_pseudonym(self, values: list[str], form: str, project: str | None) -> None:
        made = assigned(values, terms(form, project), KEY, "patient")
        assert set(made) == set(values)
        assert len(set(made.values())) == len(values)

    @given(values=IDENTIFIERS, form=st.sampled_from(FORMATS))
    def test_the_order_in_which_values_come_does_not_matter(self, values: list[str], form: str) -> None:
        assert assigned(values, terms(form), KEY, "p") == assigned(values[::-1], terms(form), KEY, "p")

    @given(values=NUMBERS, more=NUMBERS, form=st.sampled_from(FORMATS))
    def test_those_of_a_project_stay_whoever_joins(self, values: list[str], more: list[str], form: str) -> None:
        kept = terms(form, "cohort")
        first, second = assigned(values, kept, KEY, "p"), assigned([*{*values, *more}], kept, KEY, "p")
        assert {one: second[one] for one in values} == first


@given(values=NUMBERS, others=st.sampled_from([("registry", RELEASE, None), ("university", "b" * 64, None)]))
def test_recipients_and_releases_share_none(values: list[str], others: tuple[str, str, None]) -> None:
    """Fresh numbers from 1 apart, which are the same set and differ in who has which."""
    keys = [own_key("university", "release", RELEASE), own_key(others[0], "release", others[1])]
    for form in ("uuid", "code"):
        one, other = (set(assigned(values, terms(form), key, "p").values()) for key in keys)
        assert not one & other


@pytest.mark.parametrize(("form", "project"), [("integer", None), ("integer", "x"), ("uuid", None), ("code", "x")])
def test_ranks_tell_nothing_of_values_nor_of_another_recipients(form: str, project: str | None) -> None:
    """Of 4,000 values in order: both rank correlations are within five standard errors of 0."""
    values = [str(number) for number in range(1000, 5000)]
    ranks = []
    for key in (KEY, bytes(32)):
        made = assigned(values, terms(form, project), key, "p")
        by_size = sorted(values, key=lambda one, made=made: (len(made[one]), made[one]))  # type: ignore[misc]
        ranks.append([place for _, place in sorted(zip(by_size, range(4000), strict=True))])
    for one, other in ((ranks[0], range(4000)), (ranks[0], ranks[1])):
        mean = 3999 / 2
        product = sum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True))
        assert abs(product / sum((a - mean) ** 2 for a in range(4000))) < 5 / 4000**0.5


def of_columns(
    request: ReleaseRequest, scope: PseudonymScope, values: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, str]]:
    made = pseudonyms_of(request, scope, {name: texts(one) for name, one in values.items()})
    return {name: by_identifier(one) for name, one in made.items()}


class TestColumns:
    def request(self, **columns: dict[str, Any]) -> ReleaseRequest:
        """A request whose further columns have pseudonyms."""
        document = tiny_document()
        document["attributes"] |= {name: {"role": "pseudonym", "pseudonym": one} for name, one in columns.items()}
        return ReleaseRequest.model_validate(document)

    def test_columns_of_one_identifier_have_the_same_and_others_have_not(self, key_file: Path) -> None:
        request = self.request(patient={}, mother={"identifier": "patient"}, doctor={})
        scope = PseudonymScope(key_file, RELEASE, "university")
        values = {"patient": ["1", "2"], "mother": ["2", "3"], "doctor": ["1", "2"]}
        made = of_columns(request, scope, values)
        assert made["patient"]["2"] == made["mother"]["2"]
        assert [set(one) for one in made.values()] == [{"1", "2"}, {"2", "3"}, {"1", "2"}]
        assert len({*made["patient"].values(), *made["mother"].values()}) == 3
        assert not set(made["doctor"].values()) & set(made["patient"].values())

    def test_a_column_of_another_name_joins_by_its_identifier(self, key_file: Path) -> None:
        """Two tables of a project: patients by “id”, visits by “patient”."""
        scope = PseudonymScope(key_file, RELEASE, "university")
        first = of_columns(self.request(patient={"identifier": "person"}), scope, {"patient": ["1", "2"]})
        second = of_columns(self.request(subject={"identifier": "person"}), scope, {"subject": ["2", "3"]})
        assert first["patient"]["2"] == second["subject"]["2"]

    def test_a_collision_blocks_and_shows_no_value(self, monkeypatch: pytest.MonkeyPatch) -> None:
        same = bytes(32)
        monkeypatch.setattr(module, "keyed_digests", lambda _key, texts: bytearray(same * len(texts)))
        values = [f"QUOLL{number}" for number in range(40)]
        with pytest.raises(StageFailed, match="pseudonyms cannot be made") as caught:
            assigned(values, terms("code"), KEY, "patient")
        assert "QUOLL" not in str(caught.value)
        assert caught.value.where == "column patient"

    @pytest.mark.parametrize(
        ("values", "got"),
        [
            (["-1", "7"], "1 others"),
            (["1000000000000000", "12 "], "2 others"),
            (["QUOLL9411"], "1 others"),
            (["7", "07"], "one number in two ways"),
        ],
    )
    def test_numbers_of_a_project_that_cannot_be_permuted_are_refused(self, values: list[str], got: str) -> None:
        with pytest.raises(StageFailed) as caught:
            assigned(values, terms("integer", "cohort"), KEY, "patient")
        assert caught.value.got == got
        assert not any(len(value) > 3 and value in str(caught.value) for value in values)
