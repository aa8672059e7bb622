"""Spellings of one id are one meter, where that is asked for; the longest prefix has a meter."""

from __future__ import annotations

import random
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meteragent.privacy.ledger import Ledger
from meteragent.stream.meters import longest_prefix, lookalikes, normal
from meteragent.stream.pipeline import Pipeline
from meteragent.stream.readings import Reason
from tests.given import KEY, Record, read, readings, written
from tests.laws.test_pipeline import POLICIES, Published, logs

SPELLINGS = {
    "a": ["a", "A", " a", "a\u00a0", "\uff41", "\uff21 "],
    "b": ["b", "B", "\u212c"],
    "p-1": ["p-1", "P-1", "p-\u00b9", "\uff50\uff0d1"],
    "p-2": ["p-2", "P-2", "p-\u00b2"],
    "h-1": ["h-1", "H-1\t", "\u210e-1"],
    "h-2": ["h-2", "H-2", "h-\u2082"],
    "s-1": ["s-1", "S-1", "s-\u00b9"],
    "s-2": ["s-2", "S-2", "s-\u00b2"],
    "q-1": ["q-1", "Q-1", "q-\u00b9"],
}


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("HOME-1", "home-1"),
        ("home-1\u00a0", "home-1"),
        ("\uff48\uff4f\uff4d\uff45\uff0d\uff11", "home-1"),
        ("caf\u00e9", "caf\u00e9"),
        ("cafe\u0301", "caf\u00e9"),
        ("STRASSE", "strasse"),
        ("Stra\u00dfe", "strasse"),
        (" \u3000", " \u3000"),  # nothing else is in it
        ("home 1", "home 1"),
        ("home-01", "home-01"),
    ],
)
def test_case_width_form_and_spaces_around_do_not_count(spelling: str, meant: str) -> None:
    assert normal(spelling) == meant


@given(st.text())
def test_what_is_normal_stays_so(text: str) -> None:
    assert normal(normal(text)) == normal(text)


def test_every_character_has_one_normal_form() -> None:
    for code in range(sys.maxunicode + 1):
        if not 0xD800 <= code < 0xE000:
            once = normal(chr(code))
            assert normal(once) == once
            assert normal(unicodedata.normalize("NFKD", chr(code))) == once or once.isspace()


def test_lookalikes_are_those_that_are_not_the_first() -> None:
    assert lookalikes(["a", "b", "c"]) == 0
    assert lookalikes(["a", "A", "b"]) == 1
    assert lookalikes(["a", "A", " a", "B", "b", "a"]) == 3


@given(
    st.lists(st.text("ab", max_size=4), max_size=6, unique=True),
    st.text("ab", max_size=6),
)
def test_the_longest_prefix_has_a_meter(prefixes: list[str], meter: str) -> None:
    place = longest_prefix(prefixes, meter)
    fitting = [prefix for prefix in prefixes if meter.startswith(prefix)]
    if place is None:
        assert not fitting
    else:
        assert prefixes[place] in fitting
        assert all(len(prefix) <= len(prefixes[place]) for prefix in fitting)


def pipeline(published: Published, *, normalise: bool) -> Pipeline:
    built = Pipeline(
        POLICIES,
        KEY,
        max_skew=60_000,
        max_meters=100,
        normalise_ids=normalise,
        start=published.position,
    )
    built.restore(published.accounts)
    return built


@given(
    log=logs(),
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(0, 50), max_size=4),
    crash=st.integers(0, 50),
)
@settings(max_examples=max(40, settings().max_examples // 3))
def test_spellings_of_an_id_are_one_meter(
    log: list[Record], seed: int, cuts: list[int], crash: int
) -> None:
    """In any batches, and rebuilt at any moment; all that is published has the normal id."""
    choose = random.Random(seed).choice
    spelled = [r._replace(meter=choose(SPELLINGS[r.meter])) for r in log]
    expected, published = Published(), Published()
    plain = pipeline(expected, normalise=False)
    for place in range(len(log)):
        expected.commit(plain, plain.feed(readings(log[place : place + 1], place)))
    one, fed = pipeline(published, normalise=True), 0
    for until in sorted({*(min(cut, len(log)) for cut in [*cuts, crash]), len(log)}):
        published.commit(one, one.feed(readings(spelled[fed:until], fed)))
        fed = until
        if until == crash:
            one, fed = pipeline(published, normalise=True), published.position.offset
    assert published.by_meter() == expected.by_meter()
    assert len(published.releases) == len(expected.releases)
    assert published.accounts == expected.accounts


def test_without_it_spellings_are_meters_of_their_own_and_are_counted() -> None:
    log = [Record(meter, 10**6, 10**6, (1.0,)) for meter in ("a", "A", "a", "b", " a")]
    built = pipeline(Published(), normalise=False)
    [*built.feed(readings(log))]
    assert built.lookalikes() == 2
    assert sum(holding.meters for holding in built.holdings()) == 4


def test_a_meter_belongs_to_the_policy_of_its_normal_id() -> None:
    log = [Record(meter, 10**6, 10**6, (1.0,)) for meter in ("P-1", "\uff48-1")]
    for normalise, of_policy in ((False, {"": 2}), (True, {"p-": 1, "h-": 1})):
        built = pipeline(Published(), normalise=normalise)
        [*built.feed(readings(log))]
        prefixes = {assigned.policy.id: assigned.prefix for assigned in POLICIES}
        found = {prefixes[h.policy.id]: h.meters for h in built.holdings() if h.meters}
        assert found == of_policy


def test_made_up_spellings_do_not_take_all_memory() -> None:
    log = [Record(meter, 10**6, 10**6, (1.0,)) for meter in ("a", "A", " a", "A ", "b")]
    built = Pipeline(POLICIES, KEY, max_skew=60_000, max_meters=2, normalise_ids=True)
    [*built.feed(readings(log))]
    reasons = [reject.reason for reject in built.counted().rejects]
    assert reasons == [Reason.TOO_MANY_METERS] * 3
    assert not built.counts.rejects


def test_accounts_that_were_kept_under_several_spellings_add_up() -> None:
    policy = POLICIES[0].policy
    records = {}
    for meter, starts in (("A", [0, 30_000]), ("a", [60_000]), ("b", [0])):
        ledger, account = Ledger(policy.terms, 1), np.zeros(1, dtype=np.int64)
        for start in starts:
            ledger.charge(account, np.array([start]))
            ledger.settle(account, np.array([start + policy.size]))
        [records[meter]] = written(ledger, account)
    built = pipeline(Published(accounts=records), normalise=True)
    [holding] = [h for h in built.holdings() if h.meters]
    price = policy.terms.price
    assert (holding.ledger.spent * holding.ledger.unit).tolist()[:2] == [3 * price, price]
    assert holding.ledger.released_until.tolist()[:2] == [90_000, 30_000]
    apart = read(policy.terms, [*records.values()])
    assert (apart.spent * apart.unit).tolist() == [2 * price, price, price]


def test_accounts_of_meters_that_have_no_policy_any_more_are_left_alone() -> None:
    home = POLICIES[0].policy
    ledger, account = Ledger(home.terms, 1), np.zeros(1, dtype=np.int64)
    [kept] = written(ledger, account)
    built = Pipeline(POLICIES[1:], KEY, max_skew=60_000, max_meters=9)
    built.restore({"a": kept, "p-1": kept})
    assert sum(holding.meters for holding in built.holdings()) == 1
