"""The noise key on disk: made once, readable by its owner alone, never overwritten.

Losing the key makes a repeated window a second draw on the same secret; showing it lets
anybody take the noise away. So both are refused rather than repaired.
"""

import os
import secrets
import shlex
from pathlib import Path

from meteragent.config.directory import settle
from meteragent.config.secretfile import SecretFile
from meteragent.errors import InvalidSetting, KeyRefused
from meteragent.privacy.entropy import KEY_BYTES, NoiseKey

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def load(file: SecretFile) -> NoiseKey:
    """The key in a file that nobody else can read."""
    source = str(file.path)
    try:
        text = file.read("key_file")
    except InvalidSetting as refused:
        if isinstance(refused.__cause__, FileNotFoundError) and not file.credential:
            raise KeyRefused(
                source,
                "there is no such file",
                f"run: meteragent key create {shlex.quote(source)}",
            ) from None
        raise KeyRefused(source, refused.problem, refused.instead) from None
    return NoiseKey.from_hex(text, source)


def create(path: Path) -> None:
    """Write a new key to `path`, which must not exist.

    Postcondition: on return the key is on the disk, mode 0600; on an error no file is left.
    """
    try:
        descriptor = os.open(path, _CREATE, 0o600)
    except OSError as error:
        raise KeyRefused(
            str(path), f"cannot be made ({error.strerror})", "name a new file"
        ) from error
    try:
        _write(descriptor, NoiseKey(secrets.token_bytes(KEY_BYTES)))
        settle(path.parent)
    except OSError as error:
        path.unlink()
        raise KeyRefused(
            str(path), f"cannot be written ({error.strerror})", "name another place"
        ) from error


def _write(descriptor: int, key: NoiseKey) -> None:
    with open(descriptor, "w", encoding="ascii") as file:
        os.fchmod(descriptor, 0o600)  # whatever the umask took away
        file.write(key.to_hex())
        file.flush()
        os.fsync(descriptor)
