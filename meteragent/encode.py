"""Columns -> JSON: the only writer of what leaves the trusted side.

The documents are those of `schema`. Floats are written in the shortest form that reads back as
the same float; all text is ASCII, other characters are escaped.
"""

import json
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from meteragent.columns import Mask, Reject, Releases, Withheld
from meteragent.domain import Watts
from meteragent.policy import RELEASE_SCHEMA, Policy

REJECT_SCHEMA = "meteragent.reject/1"

_HOLE = "\0"
_json = json.JSONEncoder(separators=(",", ":")).encode
_text = json.encoder.encode_basestring_ascii  # what `_json` does with text, sooner


class Encoder:
    """Encodes releases; what is constant of a policy is worked out once."""

    def __init__(self) -> None:
        self._forms: dict[str, _Form] = {}

    def encode(self, releases: Releases) -> list[bytes]:
        """One document per window, in their order.

        Postcondition: a document is a function of its own window and policy alone, and tells
        nothing of answers that were not granted, nor of presence where that is private.
        """
        policy = releases.policy
        form = self._forms.get(policy.id)
        if form is None:
            form = self._forms[policy.id] = _Form(policy)
        return form.fill(releases)


class _Form:
    """A policy's document, with holes for what differs from window to window."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._public = policy.presence == "public"
        queries = [question.query for question in policy.questions]
        outputs = [query.outputs(policy.slots) for query in queries]
        spans = pairwise([0, *np.cumsum(outputs).tolist()])
        self._spans = list(zip(spans, [query.per_slot for query in queries], strict=True))
        self._templates: dict[tuple[int, Withheld], str] = {}

    def fill(self, releases: Releases) -> list[bytes]:
        documents = []
        size, templates = self._policy.size, self._templates
        for meter, start, granted, withheld, values, unbiased, readings in zip(
            releases.meters,
            releases.starts.tolist(),
            releases.granted.tolist(),
            releases.withheld,
            self._cells(releases.values, releases.present),
            self._cells(releases.unbiased, releases.present),
            self._readings(releases.present),
            strict=True,
        ):
            template = templates.get((granted, withheld)) or self._template(granted, withheld)
            filling = (*values[:granted], *unbiased[:granted], *readings)
            documents.append((template % (_text(meter), start, start + size, *filling)).encode())
        return documents

    def _template(self, granted: int, withheld: Withheld) -> str:
        released = self._policy.questions[:granted]
        holes = {question.query.name: _HOLE for question in released}
        document: dict[str, object] = {
            "schema": RELEASE_SCHEMA,
            "meter_id": _HOLE,
            "window_start": _HOLE,
            "window_end": _HOLE,
            "status": "released" if released else "suppressed",
            "values": holes,
            "unbiased": holes,
            "unit": "W",
            "policy": self._policy.id,
            "epsilon": {question.query.name: question.epsilon for question in released},
        }
        if withheld:
            document["withheld"] = withheld
        if self._public:
            document |= {"readings": _HOLE, "slots": self._policy.slots}
        template = _json(document).replace(_json(_HOLE), "%s")
        self._templates[granted, withheld] = template
        return template

    def _readings(self, present: Mask) -> Iterable[tuple[int, ...]]:
        """How many readings each window had, where that is public."""
        if not self._public:
            return [()] * len(present)
        return zip(np.count_nonzero(present, axis=1).tolist(), strict=True)

    def _cells(self, outputs: Watts, present: Mask) -> Iterable[tuple[float | str, ...]]:
        """cells[window][question]: what is written for each answer."""
        columns: list[list[float] | list[str]] = []
        for (first, last), per_slot in self._spans:
            answers = outputs[:, first:last]
            if per_slot:
                shown = answers.astype(np.object_)
                if self._public:
                    shown[~present] = None
                columns.append([_json(slots) for slots in shown.tolist()])
            else:
                columns.append(answers[:, 0].tolist())
        return zip(*columns, strict=True)


def reject_document(topic: str, partition: int, reject: Reject) -> bytes:
    """What is said of a rejected record: where it stands and why, never what it held."""
    return _json(
        {
            "schema": REJECT_SCHEMA,
            "topic": topic,
            "partition": partition,
            "offset": reject.offset,
            "reason": reject.reason,
        }
    ).encode()
