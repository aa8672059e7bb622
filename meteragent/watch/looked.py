"""Series of a gateway alone, looked at when somebody asks."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric


class GatewayDisk:
    """What a gateway keeps on its disk."""

    def __init__(self, journal_bytes: Callable[[], int], unsent: Callable[[], int]) -> None:
        self._journal_bytes, self._unsent = journal_bytes, unsent

    def collect(self) -> Iterator[Metric]:
        """As it is now."""
        yield GaugeMetricFamily(
            "meteragent_gateway_journal_bytes",
            "Size of the journal of readings that open windows need.",
            value=self._journal_bytes(),
        )
        yield GaugeMetricFamily(
            "meteragent_gateway_unsent_messages",
            "Releases that are charged but not yet with the broker.",
            value=self._unsent(),
        )
