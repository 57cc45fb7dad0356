"""Processor time and memory of the engine processes, in the metrics of the HTTP process that started them."""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

CPU, MEMORY = "process_cpu_seconds", "process_resident_memory_bytes"  # as ProcessCollector calls their families


class EngineProcessCollector(Collector):
    """Reads them from /proc at each scrape; without /proc (macOS) the series are empty, as process_* are."""

    def __init__(self) -> None:
        self.process_ids: Callable[[], Sequence[int]] = lambda: ()  # of the current engine processes, in their order

    def collect(self) -> Iterator[Metric]:
        """Yield both families, with one sample for each engine process that runs."""
        cpu = CounterMetricFamily(
            "translucent_engine_process_cpu_seconds", "Processor time of an engine process", labels=["process"]
        )
        memory = GaugeMetricFamily(
            "translucent_engine_process_resident_memory_bytes",
            "Resident memory of an engine process; pages that processes share count in each",
            labels=["process"],
        )
        for number, process_id in enumerate(self.process_ids()):
            values = _standard_values(process_id)
            if CPU in values and MEMORY in values:  # it has not ended
                cpu.add_metric([str(number)], values[CPU])
                memory.add_metric([str(number)], values[MEMORY])
        yield cpu
        yield memory


def _standard_values(process_id: int) -> dict[str, float]:
    """Return the values of prometheus_client's own collector for a process, by the names of their families."""
    families = ProcessCollector(pid=lambda: process_id, registry=None).collect()
    return {family.name: family.samples[0].value for family in families}
