"""A schema registry, asked over HTTP as Apicurio's own interface has it, of version 2 or 3.

Only this one knows global ids. A schema is told as it was registered, and what it refers to apart.
"""

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from meteragent.config.registry import Registry
from meteragent.formats.registered import Schema
from meteragent.kafka.asked import MOST_BYTES, HttpAnswer, RegistryCaller
from meteragent.kafka.registry import DEEPEST, MOST_REFERENCES

_NOT_THERE = "NotFoundException"
"""How the names of its errors end that say so."""
_NO_GROUP = "default"


class ApicurioClient(RegistryCaller):
    """Asks one registry."""

    def __init__(self, registry: Registry, version: int, kind: str) -> None:
        """`kind`: of which schemas are; a registry tells them as they are, whatever they are."""
        super().__init__(registry)
        self._of_version = "/content" if version > 2 else ""  # noqa: PLR2004 - the third one's
        self._kind = kind

    async def schema(self, number: int) -> Schema | None:
        """The schema of this id, with all that it refers to; or None, if there is none.

        RegistryUnreachable: nobody knows. RegistryRefused: it does not tell.
        """
        path = f"/ids/{self._registry.ids}Ids/{number}"
        said = await self._told(path)
        if said is None:
            return None
        return await self._whole(said, f"{path}/references", [MOST_REFERENCES], DEEPEST)

    async def entries(self) -> int:
        """How many schemas it has: to see whether it answers at all."""
        said = await self._told("/search/artifacts?limit=1")
        found = said.document if said else None
        count = found.get("count") if isinstance(found, dict) else None
        if not isinstance(count, int):
            raise self._odd()
        return count

    async def _whole(
        self, said: HttpAnswer, references: str, room: list[int], depth: int
    ) -> Schema:
        """A schema with those that it refers to."""
        others = await self._told(references)
        told = others.document if others else None
        if not isinstance(told, list) or not depth or len(said.text) > MOST_BYTES:
            raise self._odd()
        found = {}
        for reference in told:
            room[0] -= 1
            path = self._path_of(reference)
            its = await self._told(path + self._of_version) if room[0] >= 0 else None
            if its is None:
                raise self._odd()
            name = str(reference["name"])
            found[name] = await self._whole(its, f"{path}/references", room, depth - 1)
        try:
            return Schema(self._kind, said.text.decode(), found)
        except UnicodeDecodeError:
            raise self._odd() from None

    def _path_of(self, reference: Any) -> str:  # noqa: ANN401 - whatever it answers
        if not isinstance(reference, dict) or not {"name", "artifactId"} <= set(reference):
            raise self._odd()
        said = (reference.get("groupId") or _NO_GROUP, reference["artifactId"])
        group, artifact = (quote(str(one), safe="") for one in said)
        version = quote(str(reference.get("version")), safe="")
        return f"/groups/{group}/artifacts/{artifact}/versions/{version}"

    async def _told(self, path: str) -> HttpAnswer | None:
        """What it answers, or None: it has no such thing."""
        said = await self._asked("GET", path)
        if said.status == HTTPStatus.NOT_FOUND and _is_missing(said.document):
            return None
        self._refuse_unless_good(said)
        return said


def _is_missing(answer: Any) -> bool:  # noqa: ANN401 - whatever it answers
    name = answer.get("name") if isinstance(answer, dict) else None
    return isinstance(name, str) and name.endswith(_NOT_THERE)
