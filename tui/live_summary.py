"""What was seen of this machine, as a table: the host, a block for each GPU, then what was not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from gpuwhy.kb.facts import HOST, Entity, Fact, Value
from gpuwhy.kb.units import show
from gpuwhy.probes.gathering import Gathering
from gpuwhy.tui.host_summary import rows
from gpuwhy.tui.wording import visible, wrapped

WIDTH = 80
COLUMN = 15
ENOUGH_SECONDS = 30.0
"""A window shorter than this shows what there is, and may miss what comes and goes."""

MAX_PROCESSES = 8
MAX_REASONS = 6
_MIN_SHARE = 0.01

_CUTS = (
    ("gpu.event_hardware_power_brake_sample_share", "power brake"),
    ("gpu.event_hardware_thermal_slowdown_sample_share", "heat (hardware)"),
    ("gpu.event_hardware_slowdown_sample_share", "hardware slowdown"),
    ("gpu.event_software_thermal_slowdown_sample_share", "heat (software)"),
    ("gpu.event_software_power_cap_sample_share", "power cap"),
    ("gpu.event_sync_boost_sample_share", "sync boost"),
    ("gpu.event_application_clocks_sample_share", "application clocks"),
)
_TIMES = (
    ("gpu.power_violation_share", "for power"),
    ("gpu.thermal_violation_share", "for heat"),
    ("gpu.hardware_power_brake_violation_share", "by the power brake"),
)
_FAULTS = (
    ("gpu.lost", "the GPU is lost"),
    ("gpu.reset_required", "the GPU needs a reset"),
    ("gpu.remap_pending", "a row remap waits for a reset"),
    ("gpu.remap_failed", "a row remap failed"),
    ("gpu.retired_pages_pending", "a page retirement waits for a reset"),
    ("gpu.inforom_corrupted", "the InfoROM is corrupted"),
)


def render(seen: Gathering) -> str:
    """The table, in lines of at most 80 columns."""
    return "\n".join(_Writer(seen).lines()) + "\n"


class _Writer:
    def __init__(self, seen: Gathering) -> None:
        self.seen = seen
        self.facts: dict[tuple[str, Entity], Fact] = {(one.id, one.entity): one for one in seen.facts}
        self.out: list[str] = []

    def lines(self) -> list[str]:
        self.head()
        self.host()
        for entity in self.entities("gpu", HOST):
            self.gpu(entity)
        self.not_read()
        return self.out

    def entities(self, kind: str, parent: Entity) -> list[Entity]:
        """Entities of a kind that belong to another, in the order they were noted."""
        every = [*(one.entity for one in self.seen.facts), *(one.entity for one in self.seen.absent)]
        found = (above for one in every for above in one.lineage() if above.kind == kind and above.parent == parent)
        return sorted(dict.fromkeys(found), key=lambda one: (len(one.name), one.name))

    def value(self, fact: str, entity: Entity) -> Value | None:
        found = self.facts.get((fact, entity))
        return None if found is None else found.value

    def shown(self, fact: str, entity: Entity) -> str | None:
        found = self.facts.get((fact, entity))
        return None if found is None else show(found.value, found.unit)

    def block(self, label: str, text: str) -> None:
        lines = wrapped(visible(text), "", "", WIDTH - COLUMN)
        self.out.append((label.ljust(COLUMN) + lines[0]).rstrip())
        self.out.extend(" " * COLUMN + line for line in lines[1:])

    def head(self) -> None:
        error = self.facts.get(("host.nvml_error", HOST))
        if error is not None:
            self.block("NO ANSWER", f"{error.value}: {error.origin.text or 'the driver cannot be asked'}")
        if self.value("host.nvml_binding_shadowed", HOST):
            self.block("NOTE", "an old `pynvml` package stands in front of nvidia-ml-py: remove it")
        if error is not None:
            if self.value("host.pci_gpu_count", HOST) == 0:
                self.block("", "no GPU: none of NVIDIA's is visible on the PCI bus either")
            return
        driver = self.shown("host.driver_version", HOST)
        count = self.shown("gpu.count", HOST)
        text = f"{show(self.seen.seconds, 'seconds')}, {count} GPU(s)" + (f", driver {driver}" if driver else "")
        if self.seen.interrupted:
            text += "; ended early"
        elif self.seen.seconds < ENOUGH_SECONDS:
            text += f"; short: what comes and goes shows from {ENOUGH_SECONDS:.0f} s on"
        self.block("WATCHED", text)

    def host(self) -> None:
        found = list(rows(self.facts))
        if found:
            seconds = self.shown("host.watched_seconds", HOST)
            self.out.append("")
            self.block("HOST", f"watched {seconds}" if seconds else "")
        for label, text in found:
            self.block(label, text)

    def gpu(self, entity: Entity) -> None:
        self.out.append("")
        self.block(f"GPU {entity.name}", self.shown("gpu.name", entity) or "cannot be asked")
        error = self.facts.get(("gpu.nvml_error", entity))
        if error is not None:
            self.block("  error", f"{error.value}: {error.origin.text or ''}".rstrip(": "))
        for label, row in _ROWS:
            text = row(self, entity)
            if text:
                self.block(f"  {label}", text)
        for part in self.entities("partition", entity):
            self.block(f"  MIG {part.name}", self.partition(part))
        self.processes(entity)

    def partition(self, part: Entity) -> str:
        parts = [
            self.shown("partition.profile", part),
            self.of("partition.memory_used_bytes", "partition.memory_total_bytes", part),
            self.after("partition.sm_active_share", part, "of its multiprocessors busy"),
        ]
        return ", ".join(one for one in parts if one)

    def processes(self, entity: Entity) -> None:
        found = self.entities("process", entity)
        for one in found[:MAX_PROCESSES]:
            busy = self.after("process.sm_share", one, "busy")
            parts = [self.shown("process.name", one), self.shown("process.gpu_memory_bytes", one), busy]
            if self.value("process.exited", one):
                parts.append("ended while watched")
            elif self.value("process.running", one) is False:
                parts.append("no such process on this host")
            self.block(f"  {one.name}", ", ".join(part for part in parts if part) or "nothing more is told")
        if len(found) > MAX_PROCESSES:
            self.block("", f"and {len(found) - MAX_PROCESSES} more processes")
        if found and self.value("host.process_ids_foreign", HOST):
            self.block("", "process ids are the host's, not this container's")

    def of(self, fact: str, whole: str, entity: Entity) -> str | None:
        """`39.06 GiB of 80.00 GiB`, or as much of it as is known."""
        own, of = self.shown(fact, entity), self.shown(whole, entity)
        return own if own is None or of is None else f"{own} of {of}"

    def after(self, fact: str, entity: Entity, words: str) -> str | None:
        own = self.shown(fact, entity)
        return None if own is None else f"{own} {words}"

    def shares(self, entity: Entity, facts: tuple[tuple[str, str], ...]) -> Iterator[str]:
        for fact, words in facts:
            value = self.value(fact, entity)
            if isinstance(value, float) and value >= _MIN_SHARE:
                yield f"{words} {show(value, 'share')}"

    def not_read(self) -> None:
        reasons: Counter[str] = Counter(one.reason for one in self.seen.absent)
        if not reasons:
            return
        self.out.append("")
        label = "NOT READ"
        for reason, count in reasons.most_common(MAX_REASONS):
            self.block(label, f"{count} x {reason}")
            label = ""
        if len(reasons) > MAX_REASONS:
            self.block("", f"and {len(reasons) - MAX_REASONS} more reasons; --json lists all")


def _busy(writer: _Writer, gpu: Entity) -> str:
    text = writer.shown("gpu.utilization_share", gpu) or ""
    low, high = writer.shown("gpu.utilization_p10_share", gpu), writer.shown("gpu.utilization_p90_share", gpu)
    if text and low and high:
        text += f" (10th percentile {low}, 90th {high})"
    active = writer.after("gpu.sm_active_share", gpu, "of the multiprocessors busy")
    return ", ".join(one for one in (text, active) if one)


def _memory(writer: _Writer, gpu: Entity) -> str | None:
    return writer.of("gpu.memory_used_bytes", "gpu.memory_total_bytes", gpu)


def _power(writer: _Writer, gpu: Entity) -> str | None:
    return writer.of("gpu.power_watts", "gpu.power_limit_watts", gpu)


def _clock(writer: _Writer, gpu: Entity) -> str | None:
    loaded = writer.of("gpu.sm_clock_loaded_megahertz", "gpu.sm_clock_max_megahertz", gpu)
    if loaded:
        return f"{loaded} under load"
    return writer.of("gpu.sm_clock_megahertz", "gpu.sm_clock_max_megahertz", gpu)


def _heat(writer: _Writer, gpu: Entity) -> str | None:
    text = writer.shown("gpu.temperature_celsius", gpu)
    slowdown = writer.shown("gpu.temperature_slowdown_celsius", gpu)
    return text if text is None or slowdown is None else f"{text}, slows down at {slowdown}"


def _link(writer: _Writer, gpu: Entity) -> str | None:
    loaded = writer.value("gpu.link_width_loaded", gpu) is not None
    suffix = "_loaded" if loaded else ""
    generation = writer.of(f"gpu.link_generation{suffix}", "gpu.link_generation_max", gpu)
    width = writer.of(f"gpu.link_width{suffix}", "gpu.link_width_max", gpu)
    if generation is None or width is None:
        return None
    judged = "under load" if loaded else "not seen under load; at rest it may be slower"
    return f"generation {generation}, {width} lanes, {judged}"


def _traffic(writer: _Writer, gpu: Entity) -> str:
    received = writer.after("gpu.link_receive_bytes_per_second", gpu, "in")
    sent = writer.after("gpu.link_transmit_bytes_per_second", gpu, "out")
    return ", ".join(one for one in (received, sent) if one)


def _cut(writer: _Writer, gpu: Entity) -> str:
    samples = "; ".join(writer.shares(gpu, _CUTS))
    times = "; ".join(writer.shares(gpu, _TIMES))
    parts = [f"{samples} of the samples" if samples else "", f"{times} of the time" if times else ""]
    unknown = writer.shown("gpu.event_unknown_bits", gpu)
    if unknown:
        parts.append(f"unknown reasons {unknown}")
    return "; ".join(part for part in parts if part)


def _faults(writer: _Writer, gpu: Entity) -> str:
    found = [words for fact, words in _FAULTS if writer.value(fact, gpu) is True]
    for fact, words in (
        ("gpu.ecc_uncorrected_count", "uncorrected memory errors"),
        ("gpu.ecc_corrected_new_count", "corrected memory errors while watched"),
        ("gpu.link_fatal_errors", "fatal PCIe errors"),
    ):
        if writer.value(fact, gpu):
            found.append(f"{writer.shown(fact, gpu)} {words}")
    codes = writer.shown("gpu.xid_event_codes", gpu)
    if codes:
        found.append(f"Xid {codes} while watched")
    return "; ".join(found)


_ROWS: tuple[tuple[str, Callable[[_Writer, Entity], str | None]], ...] = (
    ("faults", _faults),
    ("busy", _busy),
    ("memory", _memory),
    ("power", _power),
    ("SM clock", _clock),
    ("clocks cut", _cut),
    ("heat", _heat),
    ("PCIe link", _link),
    ("PCIe traffic", _traffic),
)
