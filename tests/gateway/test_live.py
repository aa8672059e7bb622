"""The whole gateway with a real mosquitto: TLS, logins, refusals, the clock, memory, the page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.commands.exit_codes import Exit
from tests.files.given import write_key
from tests.gateway import mosquitto
from tests.gateway.given import Sent

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_MEGABYTES = 100
SETTINGS = """
[agent]
key_file = "noise.key"
[mqtt]
{mqtt}
topics = ["tele/{{meter}}/SENSOR"]
discovery = "homeassistant"
[input]
format = "tasmota"
timezone = "UTC"
[http]
port = 0
[[policy]]
name = "homes"
window = "4s"
interval = "1s"
grace = "1s"
idle = "1s"
maximum = "24kW"
epsilon = "1"
budget = "1000"
min_coverage = "0.1"
"""
PLAIN = "port = {port}"
LOGIN = PLAIN + '\nusername = "gate"\npassword_file = "password"'
TLS = LOGIN + '\nhost = "localhost"\ntls = true\nca_file = "ca.pem"'
LISTENS = """listener {port} 127.0.0.1
allow_anonymous false
password_file {directory}/passwords
acl_file {directory}/acl
"""
LISTENS_TLS = LISTENS + "certfile {directory}/server.pem\nkeyfile {directory}/server.key\n"
ALLOWED = (
    *("read tele/#", "readwrite meteragent/echo", "write meteragent/homes/+"),
    "write homeassistant/#",
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_key(tmp_path)
    (tmp_path / "password").write_text("right\n")
    (tmp_path / "password").chmod(0o600)
    return tmp_path


@contextmanager
def broker(
    directory: Path, listener: str = mosquitto.ANONYMOUS, allowed: tuple[str, ...] = ALLOWED
) -> Iterator[mosquitto.Broker]:
    place = directory / "broker"
    place.mkdir()
    for user, password in (("gate", "right"), ("all", "all")):
        made = ["-c"] if user == "gate" else []
        words = ["mosquitto_passwd", *made, "-b", str(place / "passwords"), user, password]
        subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - our own command
    rights = "\n".join(f"topic {one}" for one in allowed)
    (place / "acl").write_text(f"user gate\n{rights}\nuser all\ntopic readwrite #\n")
    for name in ("passwords", "acl"):
        (place / name).chmod(0o600)
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    keys = ["-keyout", str(place / "server.key"), "-out", str(place / "server.pem")]
    subprocess.run([*new, *keys], check=True, capture_output=True)  # noqa: S603 - our own command
    (directory / "ca.pem").write_bytes((place / "server.pem").read_bytes())
    with mosquitto.running(place, listener) as one:
        yield one


def configure(directory: Path, mqtt: str, port: int) -> None:
    (directory / "gateway.toml").write_text(SETTINGS.format(mqtt=mqtt.format(port=port)))


def command(directory: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "meteragent", *words, "-c", "gateway.toml"],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def ended(directory: Path, *words: str) -> tuple[int, str]:
    """Its exit code, and all that it has said."""
    process = command(directory, *words)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


def reading(meter: str) -> Sent:
    now = time.time()
    said = {
        "Time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)),
        "ENERGY": {"Power": 400},
    }
    return Sent(int(now * 1000), f"tele/{meter}/SENSOR", json.dumps(said).encode())


def listening(process: subprocess.Popen[str]) -> str:
    """The address of its page."""
    assert process.stderr
    for line in process.stderr:
        if found := re.search(r"http://127.0.0.1:\d+", line):
            return found[0]
    raise AssertionError("it does not listen")


def page(address: str, path: str) -> str:
    with urllib.request.urlopen(f"{address}/{path}") as answer:  # noqa: S310 - our own
        return str(answer.read().decode())


def test_windows_close_by_the_clock_and_home_assistant_finds_them(directory: Path) -> None:
    with broker(directory) as one, closing(mosquitto.Reader(one.port, "#")) as reader:
        configure(directory, PLAIN, one.port)
        process = command(directory, "gateway")
        address = listening(process)
        mosquitto.until(lambda: "running" in page(address, "status.json"))
        mosquitto.until(lambda: '"word":"running"' in page(address, "status.json"))
        with closing(mosquitto.Sender(one.port)) as sender:
            sender.send([reading(f"home-{n}") for n in range(20)])
        wanted = {f"meteragent/homes/home-{n}" for n in range(20)}
        mosquitto.until(lambda: wanted <= {topic for topic, _ in reader.messages})
        found = [json.loads(m) for t, m in reader.messages if t.startswith("homeassistant/")]
        assert {one["state_topic"] for one in found} == wanted
        status = Path(f"/proc/{process.pid}/status").read_text()
        [resident] = re.findall(r"VmHWM:\s+(\d+) kB", status)
        assert int(resident) / 1000 <= MOST_MEGABYTES
        mosquitto.until(lambda: "gateway_unsent_messages 0.0" in page(address, "metrics"))
        shown = page(address, "metrics") + page(address, "status.json")
        assert "home-1" not in shown
        assert "Running: the broker answers." in shown
        assert re.search(r"gateway_journal_bytes [1-9]", shown)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == Exit.OK
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stderr.close()
    with mosquitto.running(directory / "other") as one:
        configure(directory, PLAIN, one.port)
        process = command(directory, "gateway")
        assert process.stderr
        assert any("the broker kept nothing" in line for line in process.stderr), (
            "and it was not said"
        )
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def test_what_is_retained_is_there_for_who_comes_later(directory: Path) -> None:
    with broker(directory) as one:
        configure(directory, PLAIN, one.port)
        process = command(directory, "gateway")
        address = listening(process)
        mosquitto.until(lambda: '"word":"running"' in page(address, "status.json"))
        with closing(mosquitto.Sender(one.port)) as sender:
            sender.send([reading("home-1")])
        mosquitto.until(lambda: 'released_total{policy="homes"} 1.0' in page(address, "metrics"))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        with closing(mosquitto.Reader(one.port, name="late")) as late:
            mosquitto.until(lambda: [t for t, _ in late.messages] == ["meteragent/homes/home-1"])


def test_it_checks_encrypts_and_logs_in(directory: Path) -> None:
    with broker(directory, LISTENS_TLS) as one:
        configure(directory, TLS, one.port)
        code, said = ended(directory, "check")
        assert code == Exit.OK, said
        assert "broker and disk: good" in said
        configure(directory, TLS.replace('"ca.pem"', '"noise.key"'), one.port)
        code, said = ended(directory, "check")
        assert code == Exit.CONFIGURATION, said
        assert "mqtt.ca_file: holds no certificate" in said
        configure(directory, TLS.replace('\nca_file = "ca.pem"', ""), one.port)
        code, said = ended(directory, "check")
        assert code == Exit.UNAVAILABLE, said
        assert "certificate verify failed" in said


REFUSED = (
    (LOGIN.replace('"gate"', '"nobody"'), ALLOWED, Exit.DENIED, "refuses us"),
    (LOGIN, ("read tele/#",), Exit.DENIED, "does not let us"),
    (LOGIN, ("read tele/#", "write meteragent/#"), Exit.DENIED, "meteragent/echo"),
)


@pytest.mark.parametrize(("mqtt", "allowed", "code", "why"), REFUSED)
def test_what_the_broker_refuses_is_said_and_not_tried_again(
    mqtt: str, allowed: tuple[str, ...], code: Exit, why: str, directory: Path
) -> None:
    with broker(directory, LISTENS, allowed) as one:
        configure(directory, mqtt, one.port)
        found, said = ended(directory, "check")
        assert (found, why in said) == (code, True), said


def test_a_release_that_the_broker_does_not_take_ends_it(directory: Path) -> None:
    """A broker may drop in silence what it does not let us write: MQTT 5 makes it say so."""
    with broker(directory, LISTENS, ALLOWED[:2]) as one:
        configure(directory, LOGIN, one.port)
        process = command(directory, "gateway")
        address = listening(process)
        mosquitto.until(lambda: '"word":"running"' in page(address, "status.json"))
        words = ["mosquitto_pub", "-p", str(one.port), "-u", "all", "-P", "all", "-q", "1"]
        sent = reading("home-1")
        subprocess.run(  # noqa: S603 - our own command
            [*words, "-t", sent.topic, "-m", sent.message.decode()], check=True
        )
        _, said = process.communicate(timeout=60)
        assert process.returncode == Exit.DENIED
        assert "does not let us publish" in said
        assert "home-1" not in said


def test_a_broker_that_is_not_there_may_come(directory: Path) -> None:
    configure(directory, PLAIN, mosquitto.free_port())
    code, said = ended(directory, "check")
    assert code == Exit.UNAVAILABLE
    assert "mqtt.host: localhost does not answer" in said


def test_a_pipe_does_without_the_gateway(directory: Path) -> None:
    """As the guide shows it."""
    text = SETTINGS.format(mqtt="").partition("[mqtt]")[0]
    text += '[input]\nmeter = "meter"\ntime = "time"\nvalue = "payload.power"\n[[policy]]'
    text += SETTINGS.format(mqtt="").partition("[[policy]]")[2]
    (directory / "gateway.toml").write_text(text)
    with broker(directory) as one, closing(mosquitto.Reader(one.port, "meteragent/homes")) as read:
        form = '{"meter":"%t","time":%U,"payload":%p}'
        pipe = (
            f"mosquitto_sub -p {one.port} -i pipe -c -q 1 -t 'tele/+/SENSOR' -F '{form}'"
            f" | {sys.executable} -m meteragent sanitize - --follow -c gateway.toml"
            f" --ledger spend.db | mosquitto_pub -p {one.port} -q 1 -l -t meteragent/homes"
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        process = subprocess.Popen(  # noqa: S602 - our own pipe
            pipe, shell=True, cwd=directory, env=environment, start_new_session=True
        )
        mosquitto.until(lambda: "(QoS 1)" in (directory / "broker" / "log").read_text())
        with closing(mosquitto.Sender(one.port)) as sender:
            end = time.monotonic() + 60
            while not read.messages:
                assert time.monotonic() < end
                sender.send([Sent(0, "tele/home-1/SENSOR", b'{"power": 400}')])
                time.sleep(0.5)
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
    assert json.loads(read.messages[0][1])["meter_id"] == "tele/home-1/SENSOR"
