"""Where an agent is watched: its page and metrics, and what it says of itself."""

from typing import Literal

from pydantic import model_validator

from meteragent.config.fields import (
    FilePath,
    FromEnvironment,
    Host,
    OwnerOnlyFile,
    Port,
    Settings,
    Text,
    refuse,
    setting,
)
from meteragent.config.secrets import once, pair, text_of


class Http(Settings):
    """The status page, the metrics, and the probes of liveness and readiness."""

    host: Host = setting("The address to listen on.", '"0.0.0.0"', default="127.0.0.1")
    port: Port = setting("The port to listen on; 0 takes any free one.", default=9108)
    cert_file: FilePath | None = setting(
        "The server's certificate, to speak HTTPS.", '"server.pem"', default=None
    )
    key_file: FilePath | None = setting(
        "The private key of `cert_file`.", '"server-key.pem"', default=None
    )
    explorer_file: FilePath | None = setting(
        "A page made by `meteragent explore`, shown at `/explorer` beside the status page.",
        '"explorer.html"',
        default=None,
    )
    username: Text | None = setting(
        "Who logs in, if not everybody may read.", '"prometheus"', default=None
    )
    password_file: OwnerOnlyFile | None = setting(
        "Holds the password of `username`.", '"credential:http-password"', default=None
    )
    password: FromEnvironment | None = setting("The same, without a file.", '"…"', default=None)

    def read_password(self) -> str | None:
        """The password of `username`."""
        return text_of("http.password", self.password, self.password_file)

    @model_validator(mode="after")
    def _is_coherent(self) -> "Http":
        refuse(
            pair(self, "cert", "key") + pair(self, "username", "password") + once(self, "password")
        )
        return self


class Log(Settings):
    """What the agent says of itself, on standard error; never a reading, a key or a payload."""

    level: Literal["debug", "info", "warning", "error"] = setting(
        "The least severe level that is logged.", default="info"
    )
    format: Literal["json", "console"] = setting(
        "For machines, one JSON object per line, or for people.", default="json"
    )
