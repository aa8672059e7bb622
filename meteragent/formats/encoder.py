"""Columns -> JSON: the only writer of what leaves the trusted side.

The documents are those of `schema`. Floats are written in the shortest form that reads back as
the same float; all text is ASCII, other characters are escaped.
"""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from meteragent.privacy.arrays import Mask
from meteragent.privacy.domain import Watts
from meteragent.privacy.group import GroupPolicy
from meteragent.privacy.policy import RELEASE_SCHEMA, Policy
from meteragent.privacy.query import Query
from meteragent.stream.readings import Reject
from meteragent.stream.releases import Kind, Releases

REJECT_SCHEMA = "meteragent.reject/1"
CLASSES = ("some", "half", "most", "all")
"""Of a window's slots with a reading: under half, half and more, 0.8 and more, each."""

_HOLE = "\0"
_BETWEEN = b"\n"  # documents, which hold none
_json = json.JSONEncoder(separators=(",", ":")).encode
_shown = lru_cache(maxsize=2**12)(float.__repr__)  # levels are few
_counted = lru_cache(maxsize=2**12)(_json)  # so are classes, and counts
_text = json.encoder.encode_basestring_ascii  # what `_json` does with text, sooner


class Encoder:
    """Encodes releases; what is constant of a policy is worked out once."""

    header = b""

    def __init__(self, policies: Iterable[Policy] = ()) -> None:
        """Prepare for these policies; others are met when their first release is written."""
        self._forms = {policy.id: _Form(policy) for policy in policies}

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
        self._answers = Answers(policy)
        self._templates: dict[Kind, list[str]] = {}

    def fill(self, releases: Releases) -> list[bytes]:
        """The documents; all of one kind are made at once."""
        return by_kind(releases, self._fill)

    def _fill(self, releases: Releases, kind: Kind) -> list[bytes]:
        """Documents that differ in what fills their holes only: joined, and cut apart again."""
        columns = [
            map(_text, releases.meters),
            map(str, releases.starts.tolist()),
            map(str, releases.ends.tolist()),
            *self._answers.cells(releases.values, releases.present, kind),
            *self._answers.cells(releases.unbiased, releases.present, kind),
            *self._readings(releases, kind),
            *homes_of(releases),
        ]
        template = self._templates.get(kind) or self._template(kind)
        pieces = template * len(releases.meters)
        for hole, column in enumerate(columns):
            pieces[2 * hole + 1 :: len(template)] = column
        documents = "".join(pieces).encode().split(_BETWEEN)
        documents.pop()
        return documents

    def _template(self, kind: Kind) -> list[str]:
        """What is the same in all such documents, and between two pieces of it a hole."""
        holes = {self._policy.questions[one].query.name: _HOLE for one in kind.released}
        document: dict[str, object] = {
            "schema": RELEASE_SCHEMA,
            name_of(self._policy): _HOLE,
            "window_start": _HOLE,
            "window_end": _HOLE,
            "status": "released" if kind.released else "suppressed",
            "values": holes,
            "unbiased": holes,
            "unit": self._policy.domain.unit,
            "policy": self._policy.id,
            **tier_of(self._policy),
            "epsilon": {c.name: c.epsilon for c in kind.paid(self._policy)},
        }
        if kind.withheld:
            document["withheld"] = kind.withheld
        if counts_are_told(self._policy, kind):
            slots = self._policy.slots if self._policy.calendar is None else _HOLE
            document |= {"readings": _HOLE, "slots": slots}
        if isinstance(self._policy, GroupPolicy):
            document["homes"] = _HOLE
        first, *others = (_json(document) + _BETWEEN.decode()).split(_json(_HOLE))
        self._templates[kind] = template = [first]
        for other in others:
            template += ["", other]
        return template

    def _readings(self, releases: Releases, kind: Kind) -> list[Iterable[str]]:
        """What is told of how many readings each window had, if anything is."""
        if not counts_are_told(self._policy, kind):
            return []
        readings, slots = map(_counted, readings_of(releases)), releases.slots
        return [readings] if isinstance(slots, int) else [readings, map(str, slots.tolist())]


def name_of(policy: Policy) -> str:
    """What says whose window it is."""
    return "group_id" if isinstance(policy, GroupPolicy) else "meter_id"


def tier_of(policy: Policy) -> dict[str, str]:
    """Which tier of a policy is told, if one is."""
    return {} if policy.tier is None else {"tier": policy.tier.name}


def homes_of(releases: Releases) -> list[Iterable[str]]:
    """How many members each group has; of meters, nothing."""
    return [] if releases.homes is None else [map(str, releases.homes.tolist())]


def counts_are_told(policy: Policy, kind: Kind) -> bool:
    """Whether a document tells how many readings there were: none does that holds no answer.

    Where meters report on change, their number alone would tell what is withheld.
    """
    return policy.presence == "public" and policy.readings != "none" and bool(kind.released)


def readings_of(releases: Releases) -> list[int] | list[str]:
    """How many readings each window had: as a number, or as one of `CLASSES`."""
    slots, counts = releases.slots, releases.held
    if releases.policy.readings == "exact":
        return [*counts.tolist()]
    classes = (2 * counts >= slots).astype(np.int64)
    classes += 5 * counts >= 4 * slots
    classes += counts == slots
    return [CLASSES[which] for which in classes.tolist()]


def is_list(query: Query) -> bool:
    """Whether what it answers is several numbers: of slots, or of layers."""
    return query.per_slot or query.layers > 0


class Answers:
    """Which outputs are whose, and how they are written down."""

    def __init__(self, policy: Policy) -> None:
        self._public = policy.presence == "public"
        queries = [question.query for question in policy.questions]
        outputs = [query.outputs(policy.slots) for query in queries]
        spans = pairwise([0, *np.cumsum(outputs).tolist()])
        many = [is_list(query) for query in queries]
        self._spans = list(zip(spans, many, strict=True))

    def cells(self, outputs: Watts, present: Mask, kind: Kind) -> list[Iterable[str]]:
        """cells[question][window]: what is written for each answer that is released."""
        columns: list[Iterable[str]] = []
        for (first, last), many in (self._spans[one] for one in kind.released):
            answers = outputs[:, first:last]
            if many:
                shown = answers.astype(np.object_)
                if self._public:
                    shown[~present] = None
                columns.append([_json(slots) for slots in shown.tolist()])
            else:
                columns.append(map(_shown, answers[:, 0].tolist()))
        return columns


def by_kind(releases: Releases, write: Callable[[Releases, Kind], list[bytes]]) -> list[bytes]:
    """The documents in their order, though `write` gets all windows of one kind at once."""
    kind = releases.kind_of_all()
    if kind is not None:
        return write(releases, kind)
    kinds = releases.kinds()
    documents = [b""] * len(kinds)
    for kind in set(kinds):
        some = [at for at, its in enumerate(kinds) if its == kind]
        for at, document in zip(some, write(releases.chosen(some), kind), strict=True):
            documents[at] = document
    return documents


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
