"""What is asked about rights is answered in the form in which it is read."""

from __future__ import annotations

import pytest
from aiokafka.protocol.types import Schema

from meteragent.kafka.rights import _GroupRights, _GroupRightsRequest, _RightsRequest, _TopicRights


@pytest.mark.parametrize("kind", [_RightsRequest, _GroupRightsRequest])
def test_a_question_and_its_answer_are_of_one_version(
    kind: type[_RightsRequest | _GroupRightsRequest],
) -> None:
    answer = kind.RESPONSE_TYPE
    assert (kind.API_KEY, kind.API_VERSION) == (answer.API_KEY, answer.API_VERSION)
    assert isinstance(answer.SCHEMA, Schema)


def test_a_question_is_written_with_what_it_is_about() -> None:
    topics = _TopicRights(["a", "b"]).build(_RightsRequest)
    assert topics.encode() == b"\0\0\0\2\0\1a\0\1b\0\0\1"
    group = _GroupRights("g").build(_GroupRightsRequest)
    assert group.encode() == b"\0\0\0\1\0\1g\1"
