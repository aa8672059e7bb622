"""Releases, ledger records and policy ids are, byte for byte, what they were.

Where a change is meant, `python -m tests.same_bytes.digests` writes the digests anew: the lines
that differ say what it changed, and the commit says why. Here partitions are fed as Kafka's are,
without Kafka; `tests/integration/test_same_as_files.py` compares files with the agent on a broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.same_bytes.digests import CASES, digests, kept

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_are_those_of_before(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    now = digests(case)
    before = {name: digest for name, digest in kept().items() if name in now}
    inputs = f"{case}: inputs"
    assert now[inputs] == before[inputs], "other inputs: their digests say nothing"
    assert now == before


def test_every_digest_is_of_a_case() -> None:
    assert {name.rpartition(": ")[0] for name in kept()} == {*CASES}
