"""Keys and certificates as users of PKI have them: files that fit, and each that does not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from tasks.core.errors import BadInput, ReleasegateError, WorkspaceError
from tasks.signature.credentials import (
    Credentials,
    check_credentials,
    fingerprint,
    read_certificates,
    read_pem,
    read_pkcs12,
)
from tests.support.certificates import EXPERT, SECRET, key_pem, p12, pem, pki, private
from tests.support.determined import NOON


def nobody() -> str:
    raise AssertionError("nothing is encrypted, so nobody is asked")


def asked(*passphrases: str) -> Callable[[], str]:
    left = list(passphrases)
    return lambda: left.pop(0)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    own = pki().credentials()
    private(tmp_path / "expert.p12", p12(own))
    private(tmp_path / "open.p12", p12(own, None))
    private(tmp_path / "key.pem", key_pem(own.key))
    private(tmp_path / "sealed.pem", key_pem(own.key, SECRET))
    private(tmp_path / "cert.pem", pem(own.certificate))
    private(tmp_path / "cert.der", own.certificate.public_bytes(Encoding.DER))
    private(tmp_path / "chain.pem", pem(*own.chain))
    return tmp_path


def test_a_pkcs12_file_holds_everything(files: Path) -> None:
    for name, ask in (("expert.p12", asked(SECRET)), ("open.p12", nobody)):
        read = read_pkcs12(files / name, ask)
        assert fingerprint(read.certificate) == fingerprint(pki().expert.certificate)
        assert set(read.chain) == {pki().middle.certificate, pki().top.certificate}
        check_credentials(read, NOON)
        assert "PRIVATE" not in repr(read)
        assert "key" not in repr(read).split("certificate")[0]


def test_pem_files_are_read_with_or_without_a_passphrase(files: Path) -> None:
    for key, certificate, ask in (("key.pem", "cert.pem", nobody), ("sealed.pem", "cert.pem", asked(SECRET))):
        read = read_pem([files / key, files / certificate, files / "chain.pem"], ask)
        assert read.chain == pki().credentials().chain
        check_credentials(read, NOON)
    together = private(files / "all.pem", pem(pki().expert.certificate, pki().middle.certificate))
    assert read_pem([files / "key.pem", together], nobody).chain == (pki().middle.certificate,)


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (lambda files: read_pkcs12(files / "expert.p12", asked("canary wrong")), "cannot be opened"),
        (lambda files: read_pkcs12(files / "key.pem", asked("canary wrong")), "cannot be opened"),
        (lambda files: read_pkcs12(files / "none.p12", nobody), "cannot be read"),
        (lambda files: read_pem([files / "sealed.pem", files / "cert.pem"], asked("canary wrong")), "be opened"),
        (lambda files: read_pem([files / "expert.p12", files / "cert.pem"], nobody), "one private key"),
        (lambda files: read_pem([files / "key.pem"], nobody), "no certificate"),
        (lambda files: read_pem([files / "key.pem", files / "chain.pem"], nobody), "no certificate"),
        (read_certificates, "cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_and_not_quoted(files: Path, read: Callable[[Path], object], told: str) -> None:
    with pytest.raises(WorkspaceError, match=told) as caught:
        read(files)
    assert "canary" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_key_that_others_may_read_is_refused(files: Path) -> None:
    for name in ("expert.p12", "key.pem"):
        (files / name).chmod(0o640)
    for read in (
        lambda: read_pkcs12(files / "expert.p12", nobody),
        lambda: read_pem([files / "key.pem", files / "cert.pem"], nobody),
    ):
        with pytest.raises(WorkspaceError, match="other users may read"):
            read()


def test_a_pkcs12_file_without_a_key_is_told(files: Path) -> None:
    from cryptography.hazmat.primitives.serialization import NoEncryption, pkcs12

    content = pkcs12.serialize_key_and_certificates(None, None, pki().expert.certificate, None, NoEncryption())
    with pytest.raises(WorkspaceError, match="does not hold what a signature needs"):
        read_pkcs12(private(files / "without.p12", content), nobody)


def test_a_key_of_another_kind_is_refused(files: Path) -> None:
    other = private(files / "dsa.pem", key_pem(dsa.generate_private_key(2048)))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="of a kind that is not used"):
        read_pem([other, files / "cert.pem"], nobody)


def test_key_and_certificate_must_belong_together() -> None:
    other = pki().middle.issue("Somebody else")
    with pytest.raises(BadInput, match="do not belong together"):
        check_credentials(Credentials(other.key, pki().expert.certificate, ()), NOON)


def test_a_refused_certificate_is_named_by_its_file(files: Path) -> None:
    bare = pki().middle.issue("Nothing stated", uses=())
    private(files / "bare-key.pem", key_pem(bare.key))
    private(files / "bare.pem", pem(bare.certificate))
    read = read_pem([files / "bare-key.pem", files / "bare.pem"], nobody)
    with pytest.raises(BadInput, match="digitalSignature or nonRepudiation") as caught:
        check_credentials(read, NOON)
    assert caught.value.where == str(files / "bare.pem")


def test_a_short_key_is_refused() -> None:
    short = pki().middle.issue(EXPERT, key=rsa.generate_private_key(65537, 1024))  # noqa: S505
    with pytest.raises(ReleasegateError, match="too short"):
        check_credentials(pki().credentials(short), NOON)
