"""What a policy asks of each window, and at what price."""

from typing import Annotated

from pydantic import BeforeValidator

from meteragent.config.fields import Exact, Settings, setting
from meteragent.errors import InvalidSetting


class AskedQuery(Settings):
    """One of the `queries`; a name alone means `{ query = NAME }`."""

    query: str = setting(
        '`"avg"`, `"min"`, `"median"`, `"max"`, a percentile such as `"p95"`; all but the '
        'first also of the averages of parts, as `"max(15m)"`; or `"reading"`, which releases '
        "every slot and costs as often.",
        '"avg"',
    )
    epsilon: Exact | None = setting(
        "The loss of this query's answer; without it, the policy's.", '"0.5"', default=None
    )


def _asked(queries: object) -> object:
    if not isinstance(queries, list | tuple):
        raise InvalidSetting("queries", "is no list", 'write for example ["avg"]')
    return tuple({"query": q} if isinstance(q, str) else q for q in queries)


Asked = Annotated[tuple[AskedQuery, ...], BeforeValidator(_asked)]
"""In their order; a name alone means `{ query = NAME }`."""
