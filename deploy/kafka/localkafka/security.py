"""Certificates and passwords, made afresh for every new cluster and readable by its owner only."""

# ruff: noqa: S603, S607 - fixed commands, found on the PATH as a shell would
from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from typing import TYPE_CHECKING

from localkafka.errors import BrokerError

if TYPE_CHECKING:
    from pathlib import Path

SUPER_USER = "admin"
USERS = (SUPER_USER, "guest")  # a guest may do nothing until an ACL says otherwise
CLIENT = "client"  # the name in the client certificate
_DAYS = "30"
_SERVER_NAMES = "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost"


def write_secret(path: Path, text: str) -> None:
    """Write a file that was never readable by others, not even for a moment."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def make_passwords(directory: Path) -> None:
    """Give every user a random password, one file each."""
    directory.mkdir(mode=0o700, exist_ok=True)
    for user in USERS:
        write_secret(directory / f"{user}.password", secrets.token_urlsafe(18))


def read_passwords(directory: Path) -> dict[str, str]:
    """Return the password of every user."""
    return {user: (directory / f"{user}.password").read_text("utf-8") for user in USERS}


def make_certificates(directory: Path) -> None:
    """Make a CA, and a server and a client certificate signed by it, as PEM files.

    Kafka reads PEM as it is, so that no Java key store (nor its password) is needed.
    """
    if shutil.which("openssl") is None:
        raise BrokerError("--tls needs the `openssl` command: install it, or start without --tls")
    directory.mkdir(mode=0o700, exist_ok=True)
    _self_signed(directory)
    _signed(directory, "server", _SERVER_NAMES)
    _signed(directory, CLIENT, "extendedKeyUsage=clientAuth")


def _self_signed(directory: Path) -> None:
    _openssl(
        directory,
        *("req", "-x509", "-noenc", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-keyout", "ca.key", "-out", "ca.pem", "-days", _DAYS, "-subj", "/CN=meteragent test CA"),
        *("-addext", "keyUsage=critical,keyCertSign"),
    )


def _signed(directory: Path, name: str, extension: str) -> None:
    _openssl(
        directory,
        *("req", "-x509", "-noenc", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-keyout", f"{name}.key", "-out", f"{name}.crt", "-days", _DAYS, "-subj", f"/CN={name}"),
        *("-CA", "ca.pem", "-CAkey", "ca.key", "-addext", extension),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
    )
    parts = (directory / f"{name}.{part}" for part in ("key", "crt"))
    write_secret(directory / f"{name}.pem", "".join(part.read_text("ascii") for part in parts))


def _openssl(directory: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["openssl", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BrokerError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
