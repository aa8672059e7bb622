"""The example, what it means, and every way to get it wrong."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.config import AgentSettings, Config, Http, keyfile, load, refuse_unreadable
from meteragent.config.policy import PolicySettings
from meteragent.config.reference import reference
from meteragent.config.secretfile import SecretFile
from meteragent.config.tree import PREFIX, is_secret, settings, tables, variable
from meteragent.errors import ConfigRefused, KeyRefused
from meteragent.privacy.domain import Domain
from meteragent.privacy.question import per_watt, question
from tests.given import policy

EXAMPLE = Path(__file__).parents[2] / "deploy" / "agent.toml"
MARKER = "hunter2-deadbeef"

POLICY = """
[[policy]]
name = "household"
window = "15m"
interval = "10s"
maximum = "24kW"
epsilon = "1"
budget = "24"
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path


def read(directory: Path, text: str = POLICY, **environ: str) -> Config:
    file = directory / "agent.toml"
    file.write_text(text)
    return load(file, environ)


def refusals(directory: Path, text: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigRefused) as refused:
        read(directory, text, **environ)
    assert MARKER not in str(refused.value)
    assert refused.value.__cause__ is None
    assert str(refused.value).count("\n") + 1 == len(refused.value.problems)
    return [str(problem) for problem in refused.value.problems]


def fields_at_fault(directory: Path, text: str) -> list[str]:
    try:
        read(directory, text)
    except ConfigRefused as refused:
        return [problem.field for problem in refused.problems]
    return []


def one_policy(**settings: str) -> str:
    """The least policy, with other settings: `x=""` leaves one out."""
    lines = dict(line.split(" = ", 1) for line in POLICY.strip().splitlines()[1:]) | settings
    return "[[policy]]\n" + "".join(f"{k} = {v}\n" for k, v in lines.items() if v)


# What the settings mean


def test_a_policy_means_what_it_says(directory: Path) -> None:
    text = one_policy(
        match='"home-"',
        hop='"5m"',
        grace='"1m"',
        idle='"2m"',
        minimum='"-2kW"',
        step='"20W"',
        queries='["avg", { query = "p95", epsilon = "0.5" }]',
        radius='"50W"',
        horizon='"12h"',
        min_coverage='"0.5"',
        on_exhausted='"partial"',
    )
    [assigned] = read(directory, text).assigned
    said = assigned.policy
    assert assigned.prefix == "home-"
    meant = policy(
        domain=Domain("-2000", "24000", "20"),
        questions=(question("avg", 1, 50), question("p95", "0.5", 50)),
        size=900_000,
        interval=10_000,
        hop=300_000,
        grace=60_000,
        idle=120_000,
        budget=per_watt("budget", 24, 50),
        horizon=43_200_000,
        min_coverage=Decimal("0.5"),
        on_exhausted="partial",
    )
    assert said.document() == meant.document()


def test_windows_do_not_overlap_unless_asked_to(directory: Path) -> None:
    assert read(directory).policies[0].hop == 900_000


@pytest.mark.parametrize(("presence", "coverage"), [("public", "0.8"), ("private", "0")])
def test_coverage_is_asked_for_where_presence_is_public(
    directory: Path, presence: str, coverage: str
) -> None:
    config = read(directory, one_policy(presence=f'"{presence}"'))
    assert config.policies[0].min_coverage == Decimal(coverage)


@pytest.mark.parametrize("epsilon", ["0.1", '"0.1"', "1e-1"])
def test_a_decimal_is_exact_however_it_is_written(directory: Path, epsilon: str) -> None:
    assert read(directory, one_policy(epsilon=epsilon)).policy[0].epsilon == Decimal("0.1")


def test_the_longest_match_comes_first(directory: Path) -> None:
    text = "".join(
        one_policy(name=f'"{name}"', match=f'"{match}"')
        for name, match in (("all", ""), ("flats", "home-7"), ("homes", "home-"))
    )
    assert [one.prefix for one in read(directory, text).assigned] == ["home-7", "home-", ""]


def test_the_input_must_be_kept_until_the_last_pane_closes(directory: Path) -> None:
    text = POLICY + one_policy(name='"day"', match='"x"', window='"1d"', idle='"1h"')
    assert read(directory, text).retention == 900_000 + 30_000 + 3_600_000


def test_a_delay_by_habit_is_how_long_windows_wait_for_the_silent(directory: Path) -> None:
    [policy] = read(directory, POLICY + 'delay = "36h"\n').policies
    assert policy.idle == 36 * 3_600_000
    waiting = read(directory, POLICY + 'idle = "36h"\n').policies[0]
    assert policy.document() == waiting.document()
    assert read(directory, POLICY + 'delay = "36h"\n').retention > 36 * 3_600_000


def test_a_delay_beside_idle_is_refused(directory: Path) -> None:
    assert refusals(directory, POLICY + 'delay = "36h"\nidle = "5m"\n') == [
        "policy[0].delay: stands in place of idle; leave out one of the two"
    ]


def test_paths_are_relative_to_the_file(directory: Path) -> None:
    text = '[agent]\nkey_file = "keys/noise.key"\n[http]\ncert_file = "/a"\nkey_file = "b"\n'
    config = read(directory, text + POLICY)
    assert config.agent.key_file
    assert config.agent.key_file.path == directory / "keys" / "noise.key"
    assert (config.http.cert_file, config.http.key_file) == (Path("/a"), directory / "b")


def test_a_credential_is_found_where_the_service_manager_put_it(directory: Path) -> None:
    text = '[agent]\nkey_file = "credential:noise-key"\n' + POLICY
    config = read(directory, text, CREDENTIALS_DIRECTORY="/run/credentials/meteragent")
    assert config.agent.key_file
    assert config.agent.key_file.credential
    assert config.agent.key_file.path == Path("/run/credentials/meteragent/noise-key")


def test_a_configuration_never_changes(directory: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        read(directory).http.port = 1


def test_libraries_may_mention_topics_group_and_hosts(directory: Path) -> None:
    text = '[kafka]\nbootstrap_servers = ["k1:9092", "[::1]:9093"]\n' + POLICY
    names = read(directory, text).kafka.names
    assert {"k1", "[::1]", "meteragent", "meter.readings", "meter.ledger"} <= names


# The environment


def test_the_environment_sets_what_the_file_does_not(directory: Path) -> None:
    config = read(
        directory,
        '[kafka]\ngroup = "a"\n' + POLICY,
        METERAGENT__KAFKA__GROUP="b",
        METERAGENT__KAFKA__BOOTSTRAP_SERVERS="k1:9092, k2:9092",
        METERAGENT__KAFKA__SECURITY__PROTOCOL="SSL",
        METERAGENT__HTTP__PORT="80",
        METERAGENT__AGENT__MAX_SKEW="1m",
        METERAGENT_SERVICE_PORT="that of Kubernetes, not ours",
    )
    assert config.kafka.group == "b"
    assert config.kafka.bootstrap_servers == ("k1:9092", "k2:9092")
    assert config.kafka.security.encrypts
    assert (config.http.port, config.agent.max_skew) == (80, 60_000)


@pytest.mark.parametrize(
    "variable", [variable(path) for path, field in settings() if not is_secret(field)]
)
def test_every_setting_outside_policies_has_its_variable(directory: Path, variable: str) -> None:
    [refusal] = refusals(directory, POLICY, **{variable: "credential:\x01"})
    assert refusal.startswith(variable + ": ")
    assert "sets nothing" not in refusal


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("KAFKA__BOOTSTRAP_SERVER", f"did you mean {PREFIX}KAFKA__BOOTSTRAP_SERVERS?"),
        ("kafka__group", "sets nothing; "),
        ("QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", "sets nothing; unset it"),
        ("POLICY__0__EPSILON", "would change a policy; write it in the configuration file"),
        ("KAFKA__SECURITY", "sets nothing; "),
    ],
)
def test_an_unknown_variable_is_an_error(directory: Path, name: str, problem: str) -> None:
    [refusal] = refusals(directory, POLICY, **{PREFIX + name: MARKER})
    assert refusal.startswith(f"{PREFIX}{name}: ")
    assert problem in refusal


def test_an_error_names_the_variable_that_caused_it(directory: Path) -> None:
    [refusal] = refusals(directory, POLICY, METERAGENT__HTTP__PORT="99999")
    assert refusal.startswith("METERAGENT__HTTP__PORT: is not between 0 and 65535; write")


# Secrets


def test_a_secret_comes_from_the_environment_and_is_never_shown(directory: Path) -> None:
    config = read(
        directory,
        '[kafka.security]\nprotocol = "SASL_SSL"\nmechanism = "PLAIN"\nusername = "u"\n' + POLICY,
        METERAGENT__KAFKA__SECURITY__PASSWORD=MARKER,
        METERAGENT__AGENT__KEY=bytes(range(32)).hex(),
        METERAGENT__HTTP__PASSWORD=MARKER,
        METERAGENT__HTTP__USERNAME="prometheus",
    )
    assert config.kafka.security.read_password() == MARKER
    assert config.http.read_password() == MARKER
    assert config.agent.noise_key().secret == bytes(range(32))
    for shown in (repr(config), str(config), config.model_dump_json(), f"{config.agent}"):
        assert MARKER not in shown
        assert "00010203" not in shown


@pytest.mark.parametrize("path", [path for path, field in settings() if is_secret(field)])
def test_a_secret_in_the_file_is_refused_and_not_shown(
    directory: Path, path: tuple[str, ...]
) -> None:
    text = f'[{".".join(path[:-1])}]\n{path[-1]} = "{MARKER}"\n' + POLICY
    [refusal] = refusals(directory, text)
    assert refusal.startswith(".".join(path) + ": does not belong in a file")
    assert refusal.endswith(f"write {path[-1]}_file, or set {variable(path)}")


def test_a_malformed_key_in_the_environment_is_refused_and_not_shown(directory: Path) -> None:
    config = read(directory, POLICY, METERAGENT__AGENT__KEY=MARKER)
    with pytest.raises(KeyRefused, match="METERAGENT__AGENT__KEY") as refused:
        config.agent.noise_key()
    assert MARKER not in str(refused.value)


def test_a_key_that_is_not_random_is_refused_wherever_it_comes_from(directory: Path) -> None:
    config = read(directory, POLICY, METERAGENT__AGENT__KEY="0" * 64)
    with pytest.raises(KeyRefused, match="METERAGENT__AGENT__KEY: is clearly not random"):
        config.agent.noise_key()


def test_ids_are_normalised_on_request_alone(directory: Path) -> None:
    asked = "[agent]\nnormalise_ids = true\n" + POLICY
    assert not read(directory, POLICY).agent.normalise_ids
    assert read(directory, asked).agent.normalise_ids
    assert read(directory, POLICY, METERAGENT__AGENT__NORMALISE_IDS="true").agent.normalise_ids
    [refusal] = refusals(directory, POLICY, METERAGENT__AGENT__NORMALISE_IDS="yes")
    assert refusal.endswith("is neither true nor false; write true or false")


def test_a_policy_for_ids_that_nobody_has_is_refused(directory: Path) -> None:
    upper = POLICY + '\nmatch = "HOME-"\n'
    assert read(directory, upper).policy[0].match == "HOME-"
    [refusal] = refusals(directory, "[agent]\nnormalise_ids = true\n" + upper)
    assert refusal == (
        'policy[0].match: fits no id, as agent.normalise_ids leaves it; write "home-"'
    )


def test_without_a_key_the_setting_is_named(directory: Path) -> None:
    with pytest.raises(KeyRefused, match=r"agent\.key_file: is not set; write key_file ="):
        read(directory).agent.noise_key()


def test_the_key_is_read_from_its_file(directory: Path) -> None:
    keyfile.create(directory / "noise.key")
    config = read(directory, '[agent]\nkey_file = "noise.key"\n' + POLICY)
    assert config.agent.noise_key().to_hex() == (directory / "noise.key").read_text()


def test_a_program_may_name_files_as_they_are(directory: Path) -> None:
    file = SecretFile(directory / "noise.key")
    assert AgentSettings(key_file=file).key_file is file
    assert Http(cert_file=directory, key_file=directory).cert_file is directory


def test_secrets_are_read_from_their_files_each_time(directory: Path) -> None:
    token = directory / "token"
    token.touch(0o600)
    config = read(
        directory,
        '[kafka.security]\nprotocol = "SASL_SSL"\nmechanism = "OAUTHBEARER"\n'
        'token_file = "token"\n' + POLICY,
    )
    for text in ("one", "two"):
        token.write_text(text)
        assert config.kafka.security.read_token() == text
    assert config.kafka.security.read_password() is None
    assert config.kafka.security.read_key_password() is None


def test_all_files_that_cannot_be_read_are_named_at_once(directory: Path) -> None:
    (directory / "open").write_text(MARKER)
    (directory / "ca").write_text("a certificate may be open")
    config = read(
        directory,
        '[agent]\nkey_file = "none"\n[kafka.security]\nprotocol = "SASL_SSL"\nca_file = "ca"\n'
        'cert_file = "no"\nkey_file = "no"\nmechanism = "PLAIN"\nusername = "u"\n'
        'password_file = "open"\n' + POLICY,
    )
    with pytest.raises(ConfigRefused) as refused:
        refuse_unreadable(config)
    fields = [problem.field for problem in refused.value.problems]
    assert fields == [f"kafka.security.{n}" for n in ("cert_file", "key_file", "password_file")]
    assert MARKER not in str(refused.value)


def test_files_that_can_be_read_are_not_refused(directory: Path) -> None:
    (directory / "ca").write_text("a certificate")
    refuse_unreadable(
        read(directory, '[kafka.security]\nprotocol = "SSL"\nca_file = "ca"\n' + POLICY)
    )


# What is refused

SECURITY = "[kafka.security]\n"


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "policy: is missing; write [[policy]], or [[group]]"),
        ("policy = []", "policy: is missing; write [[policy]], or [[group]]"),
        ("policy = 3", "policy: is not a list of tables; write [[policy]]"),
        ("policy = [3]", "policy[0]: is not a table; write for example [[policy]]"),
        ("agent = 3\n" + POLICY, "agent: is not a table; write for example [agent]"),
        ("kafka = 3\n" + POLICY, "kafka: is not a table; write for example [kafka]"),
        ("[kafkaa]\n" + POLICY, 'kafkaa: is not a setting; did you mean "kafka"?'),
        (
            "[qqqq]\n" + POLICY,
            (
                "qqqq: is not a setting; known are "
                "agent, kafka, mqtt, input, http, log, budget, policy"
            ),
        ),
        (
            "[agent]\nkeyfile = 1\n" + POLICY,
            'agent.keyfile: is not a setting; did you mean "key_file"?',
        ),
        ("[log]\nlevel = 3\n" + POLICY, "log.level: is not one of them; write one of"),
        ("[http]\nhost = 3\n" + POLICY, "http.host: is not a host or address; write"),
        ("[http]\nport = true\n" + POLICY, "http.port: is not a whole number; write"),
        ("[http]\nport = 9108.5\n" + POLICY, "http.port: is not a whole number; write"),
        ("[agent]\nmax_batch = 0\n" + POLICY, "agent.max_batch: is not between 1 and 1000000"),
        ("[agent]\ncommit_interval = '0s'\n" + POLICY, "agent.commit_interval: must be longer"),
        ("[agent]\nkey_file = ''\n" + POLICY, "agent.key_file: is not a path; write"),
        ("[agent]\nkey_file = 3\n" + POLICY, "agent.key_file: is not a path; write"),
        ('[agent]\nkey_file = "a\\u0000"\n' + POLICY, "agent.key_file: is not a path; write"),
        (
            '[agent]\nkey_file = "credential:x"\n' + POLICY,
            "agent.key_file: names a credential, but",
        ),
        ('[agent]\nkey_file = "credential:../x"\n' + POLICY, "agent.key_file: names no credential"),
        ('[agent]\nkey_file = "credential:.."\n' + POLICY, "agent.key_file: names no credential"),
        ("[kafka]\nbootstrap_servers = []\n" + POLICY, "kafka.bootstrap_servers: is not a list"),
        (
            "[kafka]\nbootstrap_servers = [3]\n" + POLICY,
            'kafka.bootstrap_servers: is not "host:port"',
        ),
        (
            "[kafka]\nbootstrap_servers = 'x'\n" + POLICY,
            'kafka.bootstrap_servers: is not "host:port"',
        ),
        ("[kafka]\ninput = 'a b'\n" + POLICY, "kafka.input: is not a topic's name; write"),
        ("[kafka]\ninput = '..'\n" + POLICY, "kafka.input: is not a topic's name; write"),
        ("[kafka]\ngroup = ''\n" + POLICY, "kafka.group: is not a text of one line; write"),
        (
            "[kafka]\noutput = 'meter.readings'\n" + POLICY,
            'kafka.output: is the topic of another stream too; write for example "meter.sanitized"',
        ),
        (
            "[agent]\ncommit_interval = '2m'\n[kafka]\ntransaction_timeout = '5m'\n" + POLICY,
            "agent.commit_interval: must be shorter than agent.progress_deadline, which is 1m",
        ),
        (
            "[agent]\ndrain_deadline = '2m'\n" + POLICY,
            "agent.drain_deadline: must be shorter than kafka.rebalance_timeout, which is 1m",
        ),
        (
            SECURITY + "ca_file = 'x'\n" + POLICY,
            "kafka.security.ca_file: has no effect, because PLAINTEXT does not encrypt; leave",
        ),
        (
            SECURITY + "protocol = 'SSL'\ncert_file = 'x'\n" + POLICY,
            "kafka.security.key_file: is missing, which cert_file needs; write for example",
        ),
        (
            SECURITY + "protocol = 'SSL'\nkey_password_file = 'x'\n" + POLICY,
            "kafka.security.key_file: is missing, which a password needs; write",
        ),
        (
            SECURITY + "protocol = 'SASL_SSL'\n" + POLICY,
            "kafka.security.mechanism: is missing, which SASL_SSL needs; write for example",
        ),
        (
            SECURITY + "mechanism = 'PLAIN'\n" + POLICY,
            "kafka.security.mechanism: has no effect, because PLAINTEXT does not log in; leave",
        ),
        (
            SECURITY + "username = 'x'\n" + POLICY,
            "kafka.security.username: has no effect, without a mechanism; leave it out",
        ),
        (
            SECURITY + "protocol = 'SASL_SSL'\nmechanism = 'OAUTHBEARER'\n" + POLICY,
            "kafka.security.token_file: is missing, which OAUTHBEARER needs; write for example",
        ),
        ("[http]\nusername = 'x'\n" + POLICY, "http.password_file: is missing, which username"),
        (
            "[http]\npassword_file = 'x'\n" + POLICY,
            "http.username: is missing, which password_file",
        ),
        (POLICY + one_policy(match='"x"'), "policy[1].name: is that of policy[0] too; write"),
        (POLICY + one_policy(name='"x"'), "policy[1].match: is that of policy[0] too; write"),
        (one_policy(match="3"), "policy[0].match: is not a string; write for example"),
        (one_policy(name='""'), "policy[0].name: is not a name; write for example"),
        (one_policy(epsilon=""), "policy[0].epsilon: is missing; write for example"),
        (one_policy(epsilon="-1"), "policy[0].epsilon: is below 0.000000001 per watt"),
        (one_policy(epsilon="[1]"), "policy[0].epsilon: list is not an exact decimal; write"),
        (one_policy(epsilon="inf"), "policy[0].epsilon: not a finite decimal"),
        (one_policy(epsilon='"1e-99999999"'), "policy[0].epsilon: has more than 12 decimal"),
        (
            one_policy(epsilon='"1000"', radius='"1W"', budget='"1000"'),
            "policy[0].epsilon: is so large that no noise is left; write a smaller one",
        ),
        (one_policy(radius="0"), "policy[0].radius: must be positive; write"),
        (one_policy(budget="0"), "policy[0].budget: is below 0.000000001 per watt"),
        (
            one_policy(budget='"0.99"'),
            'policy[0].budget: does not cover one window; write at least "1"',
        ),
        (
            one_policy(queries='["reading"]'),
            'policy[0].budget: does not cover one window; write at least "90"',
        ),
        (
            one_policy(queries='["reading", "avg"]', on_exhausted='"partial"'),
            'policy[0].budget: does not cover one window; write at least "90"',
        ),
        (one_policy(interval='"7s"'), "policy[0].interval: does not divide the window; write"),
        (one_policy(window='"15 min"'), "policy[0].window: is not a duration; write for example"),
        (one_policy(hop='"1h"'), "policy[0].hop: must be whole intervals, and no more than"),
        (one_policy(horizon='"1m"'), "policy[0].horizon: is shorter than a window; write at least"),
        (one_policy(maximum='"24KW"'), "policy[0].maximum: is not a power; write for example"),
        (one_policy(step='"7W"'), "policy[0].step: does not divide the range of 24000 W; write"),
        (one_policy(minimum='"25kW"'), "policy[0].minimum: must be below maximum; write"),
        (one_policy(queries="[]"), "policy[0].queries: is empty; write for example"),
        (one_policy(queries='"avg"'), "policy[0].queries: is not a list; write for example"),
        (one_policy(queries="[3]"), "policy[0].queries[0]: is not a table; write for example"),
        (one_policy(queries='["mean"]'), "policy[0].queries[0].query: 'mean' is not one; write"),
        (
            one_policy(queries='["avg", { query = "max", epsilon = "1" }]', noise='"joint"'),
            "policy[0].queries[1].epsilon: is one query's, and joint noise has one for all; leave",
        ),
        (
            one_policy(queries='["avg", "reading"]', noise='"joint"'),
            "policy[0].queries: asks for every reading, where with joint noise a load",
        ),
        (
            one_policy(noise='"joint"', epsilon='"0.01"'),
            "policy[0].step: loses less than 0.002, and for so fine a step there is no joint",
        ),
        (
            one_policy(queries='["avg", "max"]', noise='"joint"', budget='"0.5"'),
            'policy[0].budget: does not cover one window; write at least "1"',
        ),
        (one_policy(queries="[{}]"), "policy[0].queries[0].query: is missing; write for example"),
        (
            one_policy(queries='[{ query = "avg", epsilon = 0 }]'),
            "policy[0].queries[0].epsilon: is below 0.000000001 per watt",
        ),
        (
            one_policy(queries='[{ query = "avg", epsilo = 0 }]'),
            'policy[0].queries[0].epsilo: is not a setting; did you mean "epsilon"?',
        ),
        (one_policy(min_coverage='"1.1"'), "policy[0].min_coverage: must be in [0, 1]; write"),
        (
            one_policy(min_coverage='"0.5"', presence='"private"'),
            "policy[0].min_coverage: would tell of presence, which is private; ",
        ),
        (
            one_policy(readings='"exact"', presence='"private"'),
            "policy[0].readings: is about presence, which is private; leave it out",
        ),
        (
            one_policy(presence='"x"'),
            'policy[0].presence: is not one of them; write one of "public"',
        ),
        ("x = ", "agent.toml: is not TOML: Invalid value"),
        ("x = " + "1" * 5000, "agent.toml: is not TOML: Exceeds the limit"),
    ],
)
def test_an_error_names_the_key_the_problem_and_what_to_write(
    directory: Path, text: str, refusal: str
) -> None:
    [found] = refusals(directory, text)
    assert found.removeprefix(f"{directory}/").startswith(refusal)


def test_a_setting_that_is_fine_as_it_was_told_to_be_written(directory: Path) -> None:
    """`write at least 900000 ms` and `write at least "90"` hold their promise."""
    fixed = one_policy(horizon='"900000 ms"', queries='["reading"]', budget='"90"')
    assert read(directory, fixed).policies[0].horizon == 900_000


def test_a_secret_given_twice_is_refused(directory: Path) -> None:
    text = '[agent]\nkey_file = "x"\n' + POLICY
    [refusal] = refusals(directory, text, METERAGENT__AGENT__KEY=MARKER)
    assert refusal == "agent.key_file: is also set by the environment; leave one out"


def test_all_problems_are_told_at_once(directory: Path) -> None:
    text = "[log]\nlevel = 'loud'\n[http]\nport = -1\n" + one_policy(
        step='"7W"', queries='["mean", "avg", "p100"]', budget='"-1"'
    )
    found = refusals(directory, text + "[[policy]]\n", METERAGENT__X="1")
    assert [refusal.partition(":")[0] for refusal in found] == [
        "METERAGENT__X",
        "http.port",
        "log.level",
        "policy[0].step",
        "policy[0].queries[0].query",
        "policy[0].queries[2].query",
        "policy[0].budget",
        *(f"policy[1].{name}" for name in ("name", "window", "interval", "maximum")),
        "policy[1].epsilon",
        "policy[1].budget",
    ]


def test_a_fault_in_common_is_told_once(directory: Path) -> None:
    [refusal] = refusals(directory, one_policy(radius='"0W"', queries='["avg", "min"]'))
    assert refusal.startswith("policy[0].radius: must be positive")


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_named(directory: Path, name: str) -> None:
    with pytest.raises(ConfigRefused, match=r"cannot be read .*; name a file that can"):
        load(directory / name, {})


def test_a_file_in_another_encoding_is_named(directory: Path) -> None:
    (directory / "latin.toml").write_bytes(b'x = "\xe9"')
    with pytest.raises(ConfigRefused, match="is not UTF-8 text"):
        load(directory / "latin.toml", {})


VALUES = st.recursive(
    st.sampled_from(["true", "3", "-1", "0.5", "inf", "nan", "1e99999", "2026-01-01", "07:32:00"])
    | st.text("ab\\u0000/:.,", max_size=5).map(lambda text: "'" + text.replace("'", "") + "'"),
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda parts: f"[{', '.join(parts)}]")
        | inner.map(lambda value: f"{{ query = {value}, x = {value} }}")
    ),
    max_leaves=3,
)
PLACES = [
    (path, name)
    for path, table in tables()
    for name in table.model_fields
    if path[0] not in {"policy", "group"}
]


@given(place=st.sampled_from(PLACES), value=VALUES)
def test_any_value_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[tuple[str, ...], str], value: str
) -> None:
    path, name = place
    of_account = path == ("budget",)
    policy = POLICY.replace('budget = "24"\n', "") if of_account else POLICY
    text = f"[{'.'.join(path)}]\n{name} = {value}\n" + policy
    found = fields_at_fault(tmp_path_factory.getbasetemp(), text)
    told = (".".join(path), "policy[0].share") if of_account else ".".join(path)
    assert all(field.startswith(told) for field in found)


@given(name=st.sampled_from(sorted(PolicySettings.model_fields)), value=VALUES)
def test_any_value_in_a_policy_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: str
) -> None:
    found = fields_at_fault(tmp_path_factory.getbasetemp(), one_policy(**{name: value}))
    assert all(field.startswith("policy[0].") for field in found)


# The example and the reference


def test_the_example_is_accepted(directory: Path) -> None:
    config = read(directory, EXAMPLE.read_text())
    assert [one.prefix for one in config.assigned] == [""]


def test_the_budget_of_the_example_covers_every_window(directory: Path) -> None:
    terms = read(directory, EXAMPLE.read_text()).policies[0].terms
    assert terms.per_horizon * sum(terms.costs) == terms.budget


def is_default(line: str) -> bool:
    return line.startswith("# ") and " = " in line and line.split()[2] == "="


def test_what_the_example_leaves_out_is_as_it_says(directory: Path) -> None:
    lines = EXAMPLE.read_text().splitlines()
    shown = "\n".join(line[2:] if is_default(line) else line for line in lines)
    assert sum(map(is_default, lines)) > 25
    assert read(directory, shown) == read(directory, EXAMPLE.read_text())


def test_the_example_shows_every_default() -> None:
    shown = EXAMPLE.read_text()
    missing = [
        (*path, name)
        for path, table in tables()
        for name, field in table.model_fields.items()
        if field.default and not field.is_required() and f"\n# {name} = " not in shown
    ]
    written = {("kafka", "bootstrap_servers"), ("policy", "queries")}
    written |= {("group", "home_minimum"), ("group", "min_homes")}  # indented there
    sections = {path for path, _ in tables()}
    assert set(missing) - written - sections == set()


def test_the_example_of_an_encrypted_log_in_is_accepted(directory: Path) -> None:
    lines = EXAMPLE.read_text().splitlines()
    shown = "\n".join(line.removeprefix("#: ") for line in lines)
    security = read(directory, shown, CREDENTIALS_DIRECTORY="/run").kafka.security
    assert (security.encrypts, security.logs_in) == (True, True)


def test_the_reference_tells_of_every_setting() -> None:
    text = reference()
    for path, table in tables():
        for name, field in table.model_fields.items():
            assert f"`{name}`" in text or f"[{'.'.join((*path, name))}]" in text
            assert (field.description or "") in text
    assert "METERAGENT__KAFKA__SECURITY__PASSWORD" in text
    assert all(line.count("|") == 5 for line in text.splitlines() if line.startswith("| `"))
