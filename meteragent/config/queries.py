"""What a policy asks of each window, and at what price."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator

from meteragent.config.fields import Exact, Settings, setting
from meteragent.errors import InvalidSetting
from meteragent.privacy.policy import Policy
from meteragent.privacy.query import query
from meteragent.privacy.question import Question, question
from meteragent.privacy.terms import JOINT


class AskedQuery(Settings):
    """One of the `queries`; a name alone means `{ query = NAME }`."""

    query: str = setting(
        '`"avg"`, `"min"`, `"median"`, `"max"`, a percentile such as `"p95"`; all but the '
        'first also of the averages of parts, as `"max(15m)"`; or `"reading"`, which releases '
        "every slot and costs as often. All but the last also of some hours of the week by the "
        'clocks of `timezone`, or of UTC, as `"avg[07:00-23:00]"`, `"avg[weekday 17:00-20:00]"`, '
        '`"avg[mon-fri 07:00-09:00 17:00-20:00, sat]"` or `"avg[not weekend 22:00-06:00]"`: hours '
        "over midnight are of the day on which they begin. A window that holds none of them is not "
        "asked, and pays nothing for it. Of groups whose windows are one pane, such as 15m, also "
        '`"layers(500W)"`: how homes spread over what they draw. The first layer is what of each '
        "home lies up to 500 W above `home_minimum`, added up over all homes; the next is what is "
        "in the 500 W above that, and so on. All of them together lose what one answer does.",
        '"avg"',
    )
    epsilon: Exact | None = setting(
        "The loss of this query's answer; without it, the policy's.", '"0.5"', default=None
    )


def _asked(queries: object) -> object:
    if not isinstance(queries, list | tuple):
        raise InvalidSetting("queries", "is not a list", 'write for example ["avg"]')
    return tuple({"query": q} if isinstance(q, str) else q for q in queries)


Asked = Annotated[tuple[AskedQuery, ...], BeforeValidator(_asked)]
"""In their order; a name alone means `{ query = NAME }`."""


def question_of(
    asked: AskedQuery, where: str, epsilon: Decimal, radius: Decimal, *, own_loss: bool
) -> Question:
    """What is asked. InvalidSetting: what is wrong with it, and where it stands."""
    if asked.epsilon is not None and not own_loss:
        problem = "is one query's, and joint noise has one for all"
        raise InvalidSetting(f"{where}.epsilon", problem, "leave it out")
    try:
        return question(asked.query, epsilon, radius)
    except InvalidSetting as error:
        own = error.field == "query" or asked.epsilon is not None
        field = f"{where}.{error.field}" if own and error.field != "radius" else error.field
        raise InvalidSetting(field, error.problem, error.instead) from None


def afford(policy: Policy, asked: Asked, epsilon: Callable[[AskedQuery], Decimal]) -> None:
    """Refuse a budget that would never release anything."""
    terms = policy.terms
    if terms.least > terms.budget:
        first = asked[:1] if terms.partial or policy.noise == JOINT else asked
        losses = (epsilon(one) * query(one.query).draws(policy.slots) for one in first)
        enough = f'write at least "{sum(losses):f}"'
        raise InvalidSetting("budget", "does not cover one window", enough)
