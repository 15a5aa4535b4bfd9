"""What the documents say of delivered files is so: keys, names, and the commands that recipients are told."""

import hashlib
import subprocess
from pathlib import Path

import pyrage

from tasks.delivery.bundle_files import delivered_name
from tasks.request.model import DeliveryFormat
from tasks.request.public_key import fingerprint

DOCS = Path(__file__).parents[2] / "docs"
DELIVERY = (DOCS / "delivery.md").read_text(encoding="utf-8")


def test_the_names_of_delivered_files_are_told() -> None:
    for form in DeliveryFormat:
        for encrypted in (False, True):
            assert f"`{delivered_name(form.value, encrypted=encrypted)}`" in DELIVERY


def test_a_fingerprint_is_what_the_command_shown_would_print() -> None:
    """``age-keygen -y`` prints the public key and a line's end, which the command takes away."""
    assert "age-keygen -y key.txt | tr -d '\\n' | sha256sum" in DELIVERY
    public = str(pyrage.x25519.Identity.generate().to_public())
    printed = subprocess.run(
        ["tr", "-d", "\\n"], input=public + "\n", capture_output=True, text=True, check=True
    ).stdout
    assert hashlib.sha256(printed.encode()).hexdigest() == fingerprint(public)
