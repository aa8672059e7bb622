"""Whoever makes a file, or takes one away, has its directory on the disk before going on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from meteragent.config import keyfile
from meteragent.files.sink import File
from meteragent.gateway.disk import RealDisk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def a_key(directory: Path) -> None:
    keyfile.create(directory / "noise.key")


def an_output(directory: Path) -> None:
    File(directory / "out.jsonl", None).cut()


def a_new_journal(directory: Path) -> None:
    RealDisk(directory / "journal")


def a_piece_of_a_journal(directory: Path) -> None:
    RealDisk(directory).sync_directory()


@pytest.mark.parametrize("make", [a_key, an_output, a_new_journal, a_piece_of_a_journal])
def test_a_directory_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    make(tmp_path)
    assert synced[-1] == tmp_path.stat().st_ino
