"""One place that turns events into log lines and metrics."""

import structlog

from meteragent import events as e

_log = structlog.get_logger()


class Monitor:
    """Listens to the agent."""

    def tell(self, event: e.Event) -> None:
        """One event, one line."""
        match event:
            case e.PartitionMoved(partition, state):
                _log.info("partition moved", partition=partition, state=state.value)
            case e.PartitionFailed(partition, error, retry_in):
                _log.error(
                    "partition failed", partition=partition, exc_info=error, retry_in=retry_in
                )
            case e.AgentFailed(error, retry_in):
                _log.error("agent failed", exc_info=error, retry_in=retry_in)
            case e.PartitionRestored(partition, meters, seconds, lost):
                _log.info(
                    "partition restored",
                    partition=partition,
                    meters=meters,
                    seconds=seconds,
                    records=lost,
                )
            case e.Rebalanced(partitions):
                _log.info("rebalanced", partitions=partitions)
            case _:
                pass
