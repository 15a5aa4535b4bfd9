"""How a recipient is to get its file: formats, public keys, and private keys that were pasted in their place."""

import subprocess
from pathlib import Path
from typing import Any

import pyrage
import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tasks.request.model import DeliveryFormat, ReleaseRequest
from tasks.request.public_key import canonical, fingerprint, kind_of, usable

PLACE = "    stakes: {benefit: 1200, loss: 300, cost: 4}\n"
SECRET = pyrage.x25519.Identity.generate()
AGE_KEY = str(SECRET.to_public())
ZEROS = "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z"
"""A well-formed key of zeros: with it everybody has the shared secret."""
SSH_ZEROS = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43


def ssh_key(folder: Path, kind: str, *options: str) -> tuple[str, str]:
    """A public and a private key by ssh-keygen."""
    path = folder / f"id_{kind}{''.join(options)}"
    line = ["ssh-keygen", "-q", "-t", kind, *options, "-N", "", "-C", "jo@example", "-f", str(path)]
    subprocess.run(line, check=True, stdin=subprocess.DEVNULL)
    return path.with_name(path.name + ".pub").read_text(), path.read_text()


def asked(good: str, terms: str) -> str:
    return good.replace(PLACE, PLACE + "".join(f"    {line}\n" for line in terms.splitlines()))


@pytest.fixture
def loaded(tmp_path: Path, good: str) -> Any:
    def load(terms: str, top: str = "") -> ReleaseRequest:
        path = tmp_path / "asked.yaml"
        path.write_text(asked(good, terms) + top, encoding="utf-8")
        return load_request(path).request

    return load


def test_a_recipient_takes_the_request_s_format_or_its_own(loaded: Any) -> None:
    request = loaded("delivery_format: parquet")
    assert [request.format_for(one) for one in request.recipients] == [DeliveryFormat.PARQUET, DeliveryFormat.CSV]
    request = loaded("delivery_format: csv", "delivery_format: parquet\n")
    assert [request.format_for(one) for one in request.recipients] == [DeliveryFormat.CSV, DeliveryFormat.PARQUET]


def test_keys_of_age_and_ssh_are_taken_without_their_comments(loaded: Any, tmp_path: Path) -> None:
    ed25519, rsa = (ssh_key(tmp_path, kind)[0] for kind in ("ed25519", "rsa"))
    (first, second) = loaded(f"encrypt_to:\n- {ed25519.strip()}\n- {rsa.strip()}\n- {AGE_KEY.upper()}").recipients
    assert first.encrypt_to == (" ".join(ed25519.split()[:2]), " ".join(rsa.split()[:2]), AGE_KEY)
    assert [kind_of(key) for key in first.encrypt_to] == ["ssh-ed25519", "ssh-rsa", "age"]
    assert second.encrypt_to == ()


def test_fingerprints_are_what_others_show(tmp_path: Path) -> None:
    for kind in ("ed25519", "rsa"):
        public, _ = ssh_key(tmp_path, kind)
        shown = subprocess.run(
            ["ssh-keygen", "-l", "-f", str(tmp_path / f"id_{kind}.pub")], capture_output=True, text=True, check=True
        ).stdout
        assert fingerprint(public) == shown.split()[1]
    told = subprocess.run(["sha256sum"], input=AGE_KEY, capture_output=True, text=True, check=True).stdout
    assert fingerprint(AGE_KEY.upper()) == told.split()[0]


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (AGE_KEY[:-3], "cut short"),
        (ZEROS, "keeps no secret"),
        (SSH_ZEROS, "keeps no secret"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5", "cut short"),
        ("ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAI", "unsupported kind"),
        ("ssh-dss AAAAB3NzaC1kc3MAAACBAP", "unsupported kind"),
        ("Zvlxq-unknown", "not repeated here"),
        (" ", "not repeated here"),
    ],
    ids=["age, cut short", "age, zeros", "ssh, zeros", "ssh, cut short", "ecdsa", "dss", "unknown", "blank"],
)
def test_another_key_is_refused_by_its_kind_and_not_repeated(loaded: Any, key: str, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        loaded(f'encrypt_to: ["{AGE_KEY}", "{key}"]')
    error = caught.value
    assert len(error.problems) == 1
    assert error.problems[0].path == "recipients[0].encrypt_to[1]"
    assert error.expected.startswith("a public key of age (age1…) or SSH")
    assert told in error.got
    assert key == " " or key[4:] not in str(error)


def test_a_short_rsa_key_is_refused(loaded: Any, tmp_path: Path) -> None:
    public, _ = ssh_key(tmp_path, "rsa", "-b", "1024")
    with pytest.raises(RequestError, match="too short"):
        loaded(f"encrypt_to: [{public.strip()}]")


@pytest.mark.parametrize(
    "terms",
    [f"encrypt_to: {AGE_KEY}", "encrypt_to:", "encrypt_to: []", f"encrypt_to: {{{AGE_KEY}: x}}"],
    ids=["one key", "nothing", "no key", "a mapping"],
)
def test_nothing_that_is_no_list_of_keys_goes_for_none(loaded: Any, terms: str) -> None:
    """Above all not a key that was forgotten, which would send the file in clear."""
    with pytest.raises(RequestError) as caught:
        loaded(terms)
    assert caught.value.problems[0].path == "recipients[0].encrypt_to"
    assert AGE_KEY not in str(caught.value)


def test_a_key_is_named_once(loaded: Any) -> None:
    with pytest.raises(RequestError, match="each is named once"):
        loaded(f"encrypt_to: [{AGE_KEY}, {AGE_KEY.upper()}]")


@pytest.mark.parametrize(
    "place", ["encrypt_to:\n- ", "encrypt_to: ", "encrypt_to:\n- |\n  ", "purpose: ", "key ", ": : "]
)
def test_a_private_key_is_refused_wherever_it_stands_and_never_repeated(
    loaded: Any, tmp_path: Path, place: str
) -> None:
    ssh = ssh_key(tmp_path, "ed25519")[1]
    bare = "".join(ssh.splitlines()[1:-1])
    for key in (str(SECRET), str(SECRET).lower(), ssh.replace("\n", "\n  "), bare):
        with pytest.raises(RequestError) as caught:
            loaded(place + key)
        error = caught.value
        assert error.what == "the request holds a private key"
        assert "new pair" in error.fix
        told = str(error) + repr(error) + str(error.problems)
        assert not any(part in told for part in (key[16:40], key[-20:], key[:30]))


def test_the_place_of_a_private_key_is_told(tmp_path: Path, good: str) -> None:
    path = tmp_path / "asked.yaml"
    path.write_text(asked(good, f"encrypt_to:\n- {SECRET}"), encoding="utf-8")
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "AGE-SECRET" in text)
    with pytest.raises(RequestError) as caught:
        load_request(path)
    assert caught.value.where == f"{path}:{line}:7"


@pytest.mark.parametrize("text", ["age1", "ssh-rsa", "ssh-ed25519", "ssh-ed25519 \u00e4", "age1\u2603"])
def test_what_is_hardly_a_key_is_no_fault_of_the_program(text: str) -> None:
    with pytest.raises(ValueError, match="a public key of age"):
        usable(text)


def test_equal_keys_are_equal_texts() -> None:
    assert canonical(f" {AGE_KEY.upper()}\n") == AGE_KEY
    assert canonical("ssh-rsa  AAAA  me@here\n") == canonical("ssh-rsa AAAA")
