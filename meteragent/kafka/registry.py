"""A schema registry, asked as Confluent's interface has it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from meteragent.config.registry import Registry
from meteragent.formats.registered import Schema
from meteragent.kafka.asked import RegistryCaller

MOST_REFERENCES = 100
"""Of a schema, and of those that it refers to."""
DEEPEST = 16

_NOT_THERE = range(40400, 40500)
"""Codes of a registry that answers, and has no such thing."""

Answer = dict[str, Any]


class RegistryClient(RegistryCaller):
    """Asks one registry."""

    def __init__(self, registry: Registry, *, serialized: bool = False) -> None:
        """`serialized`: schemas are wanted as descriptors, and not as their source."""
        super().__init__(registry)
        self._serialized = serialized

    async def schema(self, number: int) -> Schema | None:
        """The schema of this id, with all that it refers to; or None, if there is none.

        RegistryUnreachable: nobody knows. RegistryRefused: it does not tell.
        """
        answer = await self._get(f"/schemas/ids/{number}")
        return None if answer is None else await self._whole(answer, [MOST_REFERENCES], DEEPEST)

    async def subjects(self) -> list[str]:
        """What it has schemas for: to see whether it answers at all."""
        answer = await self._ask("GET", "/subjects")
        if not isinstance(answer, list):
            raise self._odd()
        return [*map(str, answer)]

    async def latest(self, subject: str) -> tuple[int, Schema]:
        """The newest schema of a subject, and its id."""
        answer = await self._get(f"/subjects/{quote(subject, safe='')}/versions/latest")
        if answer is None:
            raise self._odd()
        return self._number(answer), await self._whole(answer, [MOST_REFERENCES], DEEPEST)

    async def registered(self, subject: str, schema: Schema) -> int:
        """The id of a schema for this subject; registered, if it is not there."""
        path = f"/subjects/{quote(subject, safe='')}"
        body = {"schema": schema.text, "schemaType": schema.kind}
        for known in (path, f"{path}/versions"):
            answer = await self._ask("POST", known, body)
            if answer is not None:
                return self._number(answer)
        raise self._odd()

    async def _whole(self, answer: Answer, room: list[int], depth: int) -> Schema:
        """A schema as it was answered, with those that it refers to."""
        text, kind = answer.get("schema"), answer.get("schemaType") or "AVRO"
        references = answer.get("references") or []
        if not isinstance(text, str) or not isinstance(kind, str) or not depth:
            raise self._odd()
        found = {}
        for reference in references if isinstance(references, list) else ():
            room[0] -= 1
            path = self._path_of(reference)
            its = await self._get(path) if room[0] >= 0 else None
            if its is None:
                raise self._odd()
            found[str(reference["name"])] = await self._whole(its, room, depth - 1)
        return Schema(kind, text, found)

    def _path_of(self, reference: Any) -> str:  # noqa: ANN401 - whatever it answers
        if not isinstance(reference, dict) or not {"name", "subject", "version"} <= set(reference):
            raise self._odd()
        subject = quote(str(reference["subject"]), safe="")
        return f"/subjects/{subject}/versions/{quote(str(reference['version']), safe='')}"

    def _number(self, answer: Any) -> int:  # noqa: ANN401 - whatever it answers
        number = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(number, int) or not 0 <= number < 2**32:
            raise self._odd()
        return number

    async def _get(self, path: str) -> Answer | None:
        answer = await self._ask("GET", f"{path}?format=serialized" if self._serialized else path)
        if answer is not None and not isinstance(answer, dict):
            raise self._odd()
        return answer

    async def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON is anything
        """What it answers, or None: it has no such thing."""
        said = await self._asked(method, path, body)
        answer = said.document
        if said.status == HTTPStatus.NOT_FOUND and _code(answer) in _NOT_THERE:
            return None
        self._refuse_unless_good(said)
        if answer is None:
            raise self._odd()
        return answer


def _code(answer: Any) -> Any:  # noqa: ANN401 - whatever it answers
    return answer.get("error_code") if isinstance(answer, dict) else None
