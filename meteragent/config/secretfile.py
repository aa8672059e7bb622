"""Files that hold a secret: readable by their owner alone, or not read at all."""

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from meteragent.errors import InvalidSetting

LONGEST = 65_536
"""Bytes of the longest secret, a token with its certificates, and then some."""

_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK  # a pipe must not hang us
_OWNER_ONLY = (0o400, 0o600)
_OTHERS_OR_GROUP_WRITE = 0o037


@dataclass(frozen=True, slots=True)
class SecretFile:
    """Where a secret stands; `credential` if a service manager handed it over.

    A credential may be readable by its group: systemd gives the service's user access by an
    access control list, which shows as mode 0440, and Kubernetes does it by the group.
    """

    path: Path
    credential: bool = False

    def read(self, field: str) -> str:
        """The text, without its last line's end; `field` is the setting that errors name.

        Postcondition: what was checked is what was read, even if the path was exchanged in
        between, because both go by one open descriptor.
        """
        try:
            descriptor = os.open(self.path, _OPEN)
        except OSError as error:
            raise InvalidSetting(
                field, f"{self.path} cannot be read ({error.strerror})", "write a path that can"
            ) from error
        try:
            self._refuse_public(field, os.fstat(descriptor))
            content = os.read(descriptor, LONGEST + 1)
        finally:
            os.close(descriptor)
        return self._text(field, content)

    def _refuse_public(self, field: str, status: os.stat_result) -> None:
        path, mode = shlex.quote(str(self.path)), stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidSetting(field, f"{path} is not a regular file", "write the path of one")
        if status.st_uid not in (os.geteuid(), 0):
            raise InvalidSetting(
                field, f"{path} belongs to another user", f'run: chown "$(id -un)" {path}'
            )
        private = not mode & _OTHERS_OR_GROUP_WRITE if self.credential else mode in _OWNER_ONLY
        if not private:
            raise InvalidSetting(
                field, f"{path} is open to others (mode {mode:04o})", f"run: chmod 600 {path}"
            )

    def _text(self, field: str, content: bytes) -> str:
        try:
            # Not chained: the cause quotes what it could not decode.
            text = content.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            text = ""
        if not text or len(content) > LONGEST:
            raise InvalidSetting(
                field,
                f"{self.path} is empty, binary or over {LONGEST} bytes",
                "write the secret alone into it, as text",
            )
        return text
