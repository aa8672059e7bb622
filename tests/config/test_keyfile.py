import os
import resource
from pathlib import Path

import pytest

from meteragent.config import keyfile
from meteragent.config.secretfile import LONGEST, SecretFile
from meteragent.errors import InvalidSetting, KeyRefused
from meteragent.privacy.entropy import NoiseKey

MARKER = "deadbeefcafef00d" * 4
NOBODY = 65_534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "noise.key"


def written(path: Path, text: str = MARKER + "\n", mode: int = 0o600) -> SecretFile:
    path.write_text(text)
    path.chmod(mode)
    return SecretFile(path)


def refusal(file: SecretFile) -> KeyRefused:
    with pytest.raises(KeyRefused) as refused:
        keyfile.load(file)
    assert MARKER not in str(refused.value)
    assert refused.value.source == str(file.path)
    return refused.value


def test_a_created_key_loads_and_is_the_owners_alone(path: Path) -> None:
    keyfile.create(path)
    assert path.stat().st_mode == 0o100600
    assert len(keyfile.load(SecretFile(path)).secret) == 32


def test_two_created_keys_differ(tmp_path: Path) -> None:
    for name in ("a", "b"):
        keyfile.create(tmp_path / name)
    assert (tmp_path / "a").read_text() != (tmp_path / "b").read_text()


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_a_created_key_has_its_mode_under_any_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        keyfile.create(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode == 0o100600


def test_create_never_replaces_a_key(path: Path) -> None:
    written(path)
    with pytest.raises(KeyRefused, match=r"File exists.*; name a new file"):
        keyfile.create(path)
    assert path.read_text() == MARKER + "\n"


def test_create_follows_no_link_to_a_place_that_others_chose(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyRefused):
        keyfile.create(path)
    assert not (tmp_path / "elsewhere").exists()


def test_create_says_why_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(KeyRefused, match="No such file or directory"):
        keyfile.create(tmp_path / "missing" / "noise.key")


def test_a_full_disk_leaves_no_half_key(path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(KeyRefused, match="cannot be written"):
            keyfile.create(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not path.exists()


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_an_owner_only_key_loads(path: Path, mode: int) -> None:
    assert keyfile.load(written(path, mode=mode)) == NoiseKey(bytes.fromhex(MARKER))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o700, 0o601, 0o4600])
def test_a_key_that_others_may_touch_is_refused(path: Path, mode: int) -> None:
    refused = refusal(written(path, mode=mode))
    assert f"(mode {mode:04o})" in refused.problem
    assert refused.instead == f"run: chmod 600 {path}"


def test_a_key_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(path)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    refused = refusal(file)
    assert "belongs to another user" in refused.problem
    assert "chown" in refused.instead


def test_a_missing_key_names_the_command_that_makes_one(path: Path) -> None:
    assert refusal(SecretFile(path)).instead == f"run: meteragent key create {path}"


def test_a_missing_credential_is_not_for_the_user_to_make(path: Path) -> None:
    assert "key create" not in str(refusal(SecretFile(path, credential=True)))


def test_a_directory_is_no_key(tmp_path: Path) -> None:
    assert "not a regular file" in refusal(SecretFile(tmp_path)).problem


def test_a_pipe_is_refused_without_waiting_for_its_writer(path: Path) -> None:
    os.mkfifo(path, 0o600)
    assert "not a regular file" in refusal(SecretFile(path)).problem


@pytest.mark.parametrize("text", [MARKER[:-2], MARKER + "00", "z" * 64, MARKER + MARKER])
def test_a_malformed_key_is_refused_and_not_shown(path: Path, text: str) -> None:
    refused = refusal(written(path, text))
    assert refused.problem == "does not hold 64 hexadecimal digits"
    assert refused.__cause__ is None


@pytest.mark.parametrize("text", ["00" * 32, "ff" * 32, "deadbeef" * 8, "0123456789abcd" * 5])
def test_a_key_that_is_plainly_not_random_is_refused(path: Path, text: str) -> None:
    refused = refusal(written(path, text[:64]))
    assert refused.problem.startswith("is clearly not random")
    assert "meteragent key create" in refused.instead


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe" * 32, b"a" * (LONGEST + 1)])
def test_what_is_no_secret_text_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    assert "empty, binary or over" in refusal(SecretFile(path)).problem


def test_a_credential_may_be_readable_by_its_group(path: Path) -> None:
    written(path, mode=0o440)
    assert keyfile.load(SecretFile(path, credential=True)).to_hex() == MARKER + "\n"


@pytest.mark.parametrize("mode", [0o460, 0o444, 0o640 | 0o020])
def test_a_credential_open_to_others_is_refused(path: Path, mode: int) -> None:
    written(path, mode=mode)
    refusal(SecretFile(path, credential=True))


@pytest.mark.parametrize(("content", "secret"), [("a b \n", "a b "), ("x\r\n", "x"), ("é", "é")])
def test_a_secret_keeps_all_but_the_end_of_its_line(path: Path, content: str, secret: str) -> None:
    path.write_bytes(content.encode())
    path.chmod(0o600)
    assert SecretFile(path).read("kafka.security.password_file") == secret


def test_a_refused_secret_names_its_setting(path: Path) -> None:
    with pytest.raises(InvalidSetting) as refused:
        SecretFile(path).read("kafka.security.password_file")
    assert refused.value.field == "kafka.security.password_file"


@pytest.fixture
def public(path: Path) -> Path:
    keyfile.create(path)
    public = path.with_name("public")
    written(public, mode=0o644)
    return public


def test_a_path_exchanged_after_the_opening_changes_nothing(
    path: Path, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, real_open = keyfile.load(SecretFile(path)), os.open

    def open_then_exchange(name: Path, flags: int) -> int:
        descriptor = real_open(name, flags)
        public.replace(path)
        return descriptor

    monkeypatch.setattr(os, "open", open_then_exchange)
    assert keyfile.load(SecretFile(path)) == key


def test_a_path_exchanged_just_before_the_opening_is_refused(
    path: Path, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def exchange_then_open(name: Path, flags: int) -> int:
        public.replace(path)
        return real_open(name, flags)

    monkeypatch.setattr(os, "open", exchange_then_open)
    assert "open to others" in refusal(SecretFile(path)).problem
