"""The `[kafka.registry]` table: where schemas are, and how to prove who asks for them."""

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import model_validator

from meteragent.config.fields import (
    FilePath,
    FromEnvironment,
    Many,
    OwnerOnlyFile,
    Settings,
    SomeTime,
    Text,
    refuse,
    setting,
)
from meteragent.config.secrets import needed, once, pair, text_of, useless
from meteragent.errors import InvalidSetting
from meteragent.formats.framing import Framing, Ids

_URL = re.compile(
    r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?"
)
_OF_APICURIO = re.compile(r"/apis/registry/v([23])/?$")
_EXAMPLE = 'write for example "https://registry.example.net:8081"'


class Registry(Settings):
    """A schema registry: Confluent's, others with its interface, or Apicurio's own interface.

    It is asked where `[input]` has `format = "avro"`, `"protobuf"` or `"json-schema"`, and told the
    schema of releases where `kafka.output_format` is `"avro"`.
    """

    url: Text | None = setting(
        "Its address, including what comes before `/schemas` in its paths. Apicurio answers as "
        "Confluent's does under `/apis/ccompat/v7`, and in its own way under `/apis/registry/v2` "
        "or `/apis/registry/v3`.",
        '"https://registry.example.net:8081"',
        default=None,
    )
    framing: Framing = setting(
        "How a message names its schema. `confluent`: by an id of four bytes before it. "
        "`apicurio-4`: likewise, except that Protobuf gives the name of a message, as Apicurio's "
        "clients do from version 3 on. `apicurio-8`: by an id of eight bytes. "
        "`apicurio-headers`: in Kafka's headers, as they did before.",
        '"apicurio-headers"',
        default="confluent",
    )
    ids: Ids = setting(
        "Which kind of ids Apicurio's clients write: `content`, as from version 3 on, or "
        "`global`, as before (`apicurio.registry.use-id`). Only Apicurio's own interface knows "
        "global ones.",
        '"global"',
        default="content",
    )
    unknown: Literal["wait", "reject"] = setting(
        "What happens to a record whose schema is unavailable, because the registry does not "
        "know it or does not answer. `wait`: its partition waits, and says so. `reject`: the "
        "record is rejected as `unknown_schema`; what is taken in then depends on when the "
        "registry answers, also when records are read again after a failure.",
        '"reject"',
        default="wait",
    )
    cache: Many = setting("How many schemas are kept; they never change.", default=1000)
    request_timeout: SomeTime = setting("How long to wait for one answer.", default="5s")
    ca_file: FilePath | None = setting(
        "The authority that signed the registry's certificate; without it, those that the system "
        "trusts.",
        '"ca.pem"',
        default=None,
    )
    cert_file: FilePath | None = setting(
        "The agent's own certificate, for a registry that asks for one.",
        '"agent.pem"',
        default=None,
    )
    key_file: FilePath | None = setting(
        "The private key of `cert_file`.", '"agent-key.pem"', default=None
    )
    key_password_file: OwnerOnlyFile | None = setting(
        "Holds the password of `key_file`, if it has one.",
        '"credential:registry-key-password"',
        default=None,
    )
    key_password: FromEnvironment | None = setting("The same, without a file.", '"…"', default=None)
    username: Text | None = setting(
        "Who logs in, if not everybody may ask.", '"agent"', default=None
    )
    password_file: OwnerOnlyFile | None = setting(
        "Holds the password of `username`.", '"credential:registry-password"', default=None
    )
    password: FromEnvironment | None = setting("The same, without a file.", '"…"', default=None)

    def read_password(self) -> str | None:
        """The password of `username`."""
        return text_of("kafka.registry.password", self.password, self.password_file)

    def read_key_password(self) -> str | None:
        """The password of `key_file`."""
        return text_of("kafka.registry.key_password", self.key_password, self.key_password_file)

    @property
    def host(self) -> str:
        """Of its address."""
        return urlsplit(self.url or "").hostname or ""

    @property
    def apicurio(self) -> int | None:
        """Which version of Apicurio's own interface it has, if it has that."""
        found = _OF_APICURIO.search(self.url or "")
        return int(found[1]) if found else None

    def refuse_apicurio(self, field: str) -> None:
        """Refuse what is registered by Confluent's interface alone. InvalidSetting."""
        if self.apicurio:
            problem = f"is in Apicurio's own interface, and {field} registers by Confluent's"
            raise InvalidSetting(
                "kafka.registry.url", problem, "write /apis/ccompat/v7 as its path"
            )

    def refuse_absence(self, field: str) -> None:
        """Refuse what needs a registry, where none is named. InvalidSetting."""
        if self.url is None:
            raise InvalidSetting("kafka.registry.url", f"is missing, which {field} needs", _EXAMPLE)

    @model_validator(mode="after")
    def _is_coherent(self) -> "Registry":
        refuse([*self._address(), *self._encryption(), *self._login(), *self._ids()])
        return self

    def _address(self) -> list[InvalidSetting]:
        if self.url is None:
            given = [
                name
                for name in ("username", "ca_file", "cert_file", "key_file")
                if getattr(self, name)
            ]
            return [
                InvalidSetting("url", f"is missing, which {name} needs", _EXAMPLE) for name in given
            ]
        if _URL.fullmatch(self.url):
            return []
        return [InvalidSetting("url", "is not the address of a server, and nothing more", _EXAMPLE)]

    def _encryption(self) -> list[InvalidSetting]:
        if self.url is not None and self.url.startswith("http://"):
            why = "because http does not encrypt"
            return [r for n in ("ca", "cert", "key", "key_password") for r in useless(self, n, why)]
        locked = needed(self, "key", "which a password needs") if self.key_password_file else []
        return [*pair(self, "cert", "key"), *once(self, "key_password"), *locked]

    def _ids(self) -> list[InvalidSetting]:
        if self.ids == "global" and self.url is not None and not self.apicurio:
            problem = "is global, and url is not of Apicurio's own interface"
            instead = "write a url that ends with /apis/registry/v2 or /apis/registry/v3"
            return [InvalidSetting("ids", problem, instead)]
        return []

    def _login(self) -> list[InvalidSetting]:
        return [*pair(self, "username", "password"), *once(self, "password")]
