"""Votes: sealed at one length, bound by a commitment, and opened only as they were."""

import pytest
from cryptography.fernet import Fernet

from tasks.core.canonical import digest
from tasks.core.errors import BadInput, TamperingFound
from tasks.decision.votes import Ballot, checked_reason, new_nonce, open_ballot, seal_ballot

KEY, OTHER = b"k" * 32, b"o" * 32


def ballot(**changes: str) -> Ballot:
    parts = {
        "release_id": "a" * 64,
        "recipient": "university",
        "record_sha256": "b" * 64,
        "reviewer": "M. Okafor",
        "vote": "approve",
        "reason": "Risks are low.",
        "nonce": "c" * 64,
    }
    return Ballot.model_validate(parts | changes)


def test_a_vote_comes_back_as_it_was() -> None:
    one = ballot()
    assert open_ballot(seal_ballot(one, KEY), KEY, one.commitment) == one
    assert one.commitment == digest(one)


@pytest.mark.parametrize(
    "changes",
    [
        {"vote": "reject"},
        {"reason": "Risks are low"},
        {"nonce": "d" * 64},
        {"reviewer": "J. Brandt"},
        {"recipient": "clinic"},
        {"record_sha256": "d" * 64},
        {"release_id": "d" * 64},
    ],
)
def test_the_commitment_covers_everything(changes: dict[str, str]) -> None:
    one, other = ballot(), ballot(**changes)
    assert one.commitment != other.commitment
    with pytest.raises(TamperingFound, match="not the one that was cast"):
        open_ballot(seal_ballot(other, KEY), KEY, one.commitment)


def test_the_size_tells_nothing() -> None:
    lengths = {
        len(seal_ballot(ballot(vote=vote, reason=reason), KEY))
        for vote in ("approve", "reject")
        for reason in ("x", "𝄞" * 2000)
    }
    assert len(lengths) == 1


def test_other_bytes_and_other_keys_open_nothing() -> None:
    one = ballot()
    sealed = seal_ballot(one, KEY)
    foreign = Fernet(Fernet.generate_key()).encrypt(b"{}")
    for content, key in ((sealed, OTHER), (sealed[:-4], KEY), (b"", KEY), (foreign, KEY)):
        with pytest.raises(TamperingFound):
            open_ballot(content, key, one.commitment)


def test_a_vote_with_too_long_a_name_is_refused() -> None:
    with pytest.raises(BadInput, match="too long"):
        seal_ballot(ballot(reviewer="n" * 20_000), KEY)


def test_nonces_differ() -> None:
    assert len({new_nonce() for _ in range(50)}) == 50


def test_reasons_are_kept_without_the_spaces_around_them() -> None:
    assert checked_reason("  Zwölf Gründe,\nbeide gut. ") == "Zwölf Gründe,\nbeide gut."
