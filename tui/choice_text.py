"""The choice of a machine as a table of at most 80 columns, and as Markdown for a ticket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpuwhy.engine.deployment import Advice, advise
from gpuwhy.engine.pricing import KNOWN_ELSEWHERE, KNOWN_HERE
from gpuwhy.engine.selection import Candidate, Change, Choice, Said
from gpuwhy.engine.workload import Work, memory
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.units import show
from gpuwhy.tui.choice_costs import cost, hourly, whole
from gpuwhy.tui.wording import wrapped

WIDTH = 80
FIRST_ROWS = 8
LABEL = 10
SHOWN_REGIONS = 4


def text(kb: KnowledgeBase, choice: Choice, every: bool = False) -> str:
    """The report for a terminal: the work, the table, why the first, what would change it, cost, start, rejections."""
    lines = [line for label, said in sections(kb, choice) for line in _labelled(label, said)]
    table = _table(choice, every)
    rejected = [line for said in rejections(choice) for line in _labelled("rejected", said)]
    at = sum(len(_labelled(label, said)) for label, said in sections(kb, choice) if label in ABOVE_TABLE)
    return "\n".join([*lines[:at], "", *table, "", *lines[at:], "", *rejected]) + "\n"


def markdown(kb: KnowledgeBase, choice: Choice, every: bool = False) -> str:
    """The same as Markdown."""
    lines = ["# Which machine", ""]
    found = list(sections(kb, choice))
    lines += [f"- **{label}** {said}" for label, said in found if label in ABOVE_TABLE]
    lines += ["", "```text", *_table(choice, every), "```", ""]
    lines += [f"- **{label}** {said}" for label, said in found if label not in (*ABOVE_TABLE, "pod")]
    lines += ["", "```yaml", *[said for label, said in found if label == "pod"], "```", "", "## Rejected", ""]
    return "\n".join([*lines, *[f"- {said}" for said in rejections(choice)]]) + "\n"


ABOVE_TABLE = ("work", "needs", "assumed", "note")


def sections(kb: KnowledgeBase, choice: Choice) -> Iterator[tuple[str, str]]:
    """Everything but the table and the rejections, as labels and sentences."""
    work = choice.work
    yield "work", summary(work)
    yield "needs", need(work, choice.kept[0].machine.gpus if choice.kept else 1)
    yield from (("assumed", said) for said in work.assumed)
    yield from (("note", claimed(one)) for one in choice.notes)
    for currency, number in choice.uncompared.items():
        rate = f"--exchange {currency}=RATE tells what one {currency} costs"
        yield (
            "note",
            f"{number} have prices in {currency}, which are not compared with those in {choice.currency}: {rate}",
        )
    if not choice.kept:
        yield "none", "no machine type of the catalogue does this; every rejection is below"
    else:
        first = choice.kept[0]
        yield "first", reason(choice)
        yield from _for_input(choice)
        yield from about(work, first)
    if choice.change is not None:
        yield "change", change(choice.change)
    if choice.kept:
        yield from _start(work, advise(kb.catalogue, work, choice.kept[0]))


def estimated(work: Work, one: Candidate) -> Iterator[str]:
    """What the times of tokens rest on, where a time is wanted."""
    if work.token_seconds is None and work.first_token_seconds is None:
        return
    told = (
        "nothing is faster than the lower time; the higher was above the median in 64 published measurements of A100 "
    )
    told += "and H200, and above the 99th percentile of long answers (docs/decisions/0006)"
    if one.machine.gpus > 1 and one.machine.nvlink_bytes_per_second is None:
        told += "; what GPUs on PCIe take to exchange is a rule of thumb"
    yield told


def about(work: Work, one: Candidate) -> Iterator[tuple[str, str]]:
    """What to know of a machine type that would do: what is open, warnings, and what it costs."""
    yield from (("open", claimed(said)) for said in one.open)
    if one.small_steps is not None:
        limit = f"vLLM: --max-num-batched-tokens {one.small_steps}"
        yield "serve", f"steps with at most {one.small_steps:,} tokens keep the time ({limit})"
    yield from (("estimate", said) for said in estimated(work, one))
    yield from (("warning", claimed(said)) for said in one.warned)
    yield from (("know", claimed(said)) for said in one.told)
    if one.machine.says:
        yield "know", one.machine.says
    if one.regions:
        more = f" and {len(one.regions) - SHOWN_REGIONS} more" if len(one.regions) > SHOWN_REGIONS else ""
        yield (
            "regions",
            f"prices are known of {', '.join(one.regions[:SHOWN_REGIONS])}{more}; of others nothing is known",
        )
    yield from (("cost", said) for said in cost(work, one))


def brief(choice: Choice, one: Candidate) -> Iterator[tuple[str, str]]:
    """A machine type in a few lines: cost, memory, what is open, what to be warned of, and why it is the first."""
    price = one.price
    if price is None:
        yield "cost", "no price is known"
    else:
        yield "cost", f"{hourly(one, price)}{whole(one)}; list price of {price.date}"
    yield "memory", f"{fit(one)} of each GPU"
    yield from (("open", claimed(said)) for said in one.open)
    yield from (("warning", claimed(said)) for said in one.warned)
    if choice.kept and one is choice.kept[0]:
        yield "first", reason(choice)


def line(number: int, one: Candidate, wide: bool) -> str:
    """A machine type in one line of 49 columns, or of 84."""
    hour = f"{one.price.per_hour:.2f}" if one.price is not None else "?"
    gpus = card(one).replace("NVIDIA ", "").replace("Tesla ", "")
    start = f"{number:3}{mark(one)}"
    if not wide:
        return f"{start}{one.machine.name.removeprefix('ecs.')[:20]:21}{gpus[:16]:17}{hour:>7}"
    return f"{start}{one.machine.name[:28]:29}{gpus[:24]:25}{fit(one):>18}{hour:>8}"


def change(found: Change) -> str:
    """The least change of the work that lets a cheaper or smaller machine do it."""
    one = found.machine
    is_open = ("", "; in time with small steps", "; whether in time is open")[one.doubt]
    priced = _price(one) or ", price not known"
    dear = "; dear for what it computes" if one.lowered else ""
    return f"{found.says} fits {one.machine.name} ({card(one)}, {fit(one)}{priced}){is_open}{dear}"


def start(kb: KnowledgeBase, work: Work, one: Candidate) -> Iterator[tuple[str, str]]:
    """What to start on a machine type: builds, driver, disk, and the part of a pod that asks for it."""
    return _start(work, advise(kb.catalogue, work, one))


def summary(work: Work) -> str:
    """The work in one line."""
    size = f"{work.shape.parameters / 1e9:.3g}B parameters"
    load = f"{work.concurrency} at once" if work.serves else f"batch {work.batch}"
    length = f"{work.sequence:,} tokens" if work.shape.images is None else f"{work.shape.images.pixels} px"
    return f"{work.task}, {work.method}, {work.dtype}, {size}, {length}, {load}"


def need(work: Work, gpus: int) -> str:
    """The memory of one GPU, with its largest parts."""
    estimate = memory(work, gpus)
    largest = sorted(estimate.parts, key=lambda one: -one.size_bytes)[:3]
    parts = ", ".join(f"{one.name} {show(one.size_bytes, 'bytes')}" for one in largest)
    where = f"each of {gpus} GPUs" if gpus > 1 else "one GPU"
    return f"{show(estimate.per_gpu_bytes, 'bytes')} on {where}: {parts}, …"


def reason(choice: Choice) -> str:
    """Why the first stands first, in the terms by which it was ranked."""
    first = choice.kept[0]
    sure = [one for one in choice.kept if one.doubt == first.doubt]
    of = f"of {len(sure)} that {('would do', 'do with small steps (below)', 'may do')[first.doubt]}"
    known, _ = first.standing
    if known == KNOWN_HERE:
        what = "cost of the whole work" if _is_timed(choice) else "known price"
        unpriced = sum(one.price is None for one in sure)
        text = f"the lowest {what} {of}"
        text += f"; {unpriced} of them have no known price here and stand below" if unpriced else ""
    elif known == KNOWN_ELSEWHERE:
        text = f"no price is known here {of}: by the ratio of prices elsewhere it is the cheapest"
    else:
        text = f"no price is compared {of}: it is the closest fit, with {first.spare:.1f} times the memory needed"
    lowered = sum(one.lowered for one in sure)
    text += f"; {lowered} stand below that are dear for what they compute" if lowered and not first.lowered else ""
    if first.doubt == 1:
        cheaper = sum(one.doubt == 2 and one.standing < first.standing for one in choice.kept)
        text += f"; of {cheaper} that cost less it is open whether they do" if cheaper else ""
    elif first.doubt == 2:
        settled = sum(one.doubt == 1 for one in choice.kept)
        text += "; whether it does is open" + (f", and {settled} that cost more do with small steps" if settled else "")
    return f"{first.machine.name}: {text}"


def _for_input(choice: Choice) -> Iterator[tuple[str, str]]:
    """Of work that waits for its data: the same GPUs with more CPUs, which do help."""
    first = choice.kept[0]
    same = (
        one for one in choice.kept[1:] if (one.machine.gpu, one.machine.gpus) == (first.machine.gpu, first.machine.gpus)
    )
    more = next((one for one in same if one.machine.vcpus > first.machine.vcpus and not one.machine.is_slice), None)
    if choice.work.bound_by == "input" and more is not None:
        said = f"{more.machine.name} has {more.machine.vcpus} vCPUs for the same GPUs instead of {first.machine.vcpus}"
        yield "input", said + _price(more)


def _is_timed(choice: Choice) -> bool:
    """Whether machine types take different times for the work, so that the price of an hour does not rank them."""
    return choice.work.tokens is not None and not choice.work.serves


def _start(work: Work, advice: Advice) -> Iterator[tuple[str, str]]:
    if advice.cuda is None:
        yield "start", "which CUDA build runs is not known: the provider does not name the GPU"
    else:
        said = (
            f"builds for CUDA {advice.cuda} (PyTorch cu{advice.cuda.replace('.', '')}), driver {advice.driver} or newer"
        )
        yield "start", f"{said}; a newer driver runs older CUDA (s2-newer-driver-breaks)"
    if advice.framework is not None:
        yield "install", advice.framework
    yield "image", advice.image
    disk = advice.disk
    if disk is not None:
        said = f"ESSD {disk.disk_class} of {disk.size_gib:,} GiB or more"
        yield "disk", said + ("; the machine passes on less than that" if disk.capped_by_machine else "")
    elif work.data_bytes_per_second is not None:
        yield "disk", f"no one cloud disk known here reads {show(work.data_bytes_per_second, 'bytes_per_second')}"
    yield from (("pod", line) for line in advice.snippet.splitlines())


def rejections(choice: Choice) -> Iterator[str]:
    """Every rejection by the rule that did it: its words for the roomiest type, and all families it rejects.

    A type that fails by several rules stands under each of them; `--why TYPE` shows the proof for one.
    """
    groups: dict[str, list[tuple[Candidate, Said]]] = {}
    for one in choice.rejected:
        for said in one.rejected:
            groups.setdefault(said.rule, []).append((one, said))
    for rule, same in sorted(groups.items(), key=lambda group: -len(group[1])):
        roomiest, said = max(same, key=lambda pair: pair[0].machine.gpus * pair[0].machine.gpu_memory_bytes)
        families = Counter(one.machine.family for one, _ in same)
        named = ", ".join(f"{family} ({count})" if count > 1 else family for family, count in families.items())
        example = f" (so {roomiest.machine.name})" if len(same) > 1 else ""
        yield f"{claimed(said, rule)}{example}: {named}"


def mark(one: Candidate) -> str:
    """`?` where it is open whether a machine type does, `!` where there is a warning, else a space."""
    return "?" if one.open else "!" if one.warned else " "


def card(one: Candidate) -> str:
    """`2 x NVIDIA A10`."""
    return f"{one.machine.gpus} x {one.machine.gpu}"


def claimed(said: Said, rule: str = "") -> str:
    """What a rule says, with the rule and the claim that one would otherwise rely on."""
    about = [word for word in (rule, said.claim and f"see claim {said.claim}") if word]
    return f"{said.because} [{', '.join(about)}]" if about else said.because


def fit(one: Candidate) -> str:
    """`19.2 of 22.5 GiB`: of one GPU, needed and there."""
    return f"{one.needed_bytes / 2**30:.1f} of {one.machine.gpu_memory_bytes / 2**30:.1f} GiB"


def _price(one: Candidate) -> str:
    return f", {one.price.per_hour:.2f} {one.price.currency}/h" if one.price is not None else ""


def _table(choice: Choice, every: bool) -> list[str]:
    shown = choice.kept if every else choice.kept[:FIRST_ROWS]
    if not shown:
        return []
    timed = _is_timed(choice)
    lines = [f"{'':3}{'type':28}{'GPUs':25}{'GiB needed/has':>15}{'an hour':>9}"]
    if timed:
        lines = [f"{'':3}{'type':28}{'GPUs':22}{'GiB need/has':>12}{'hours':>7}{'cost':>8}"]
    for number, one in enumerate(shown, 1):
        fits = f"{one.needed_bytes / 2**30:.1f}/{one.machine.gpu_memory_bytes / 2**30:.1f}"
        gpus = card(one).replace("NVIDIA ", "").replace("Tesla ", "")
        start = f"{number:2}{mark(one)}{one.machine.name[:27]:28}"
        if timed:
            lines.append(f"{start}{gpus[:21]:22}{fits:>12}{_short(one.hours):>7}{_short(one.cost):>8}")
        else:
            lines.append(f"{start}{gpus[:24]:25}{fits:>15}{_hour(choice, one):>9}")
    more = len(choice.kept) - len(shown)
    lines += [f"   and {more} more; --all shows them"] if more else []
    marks = [("?", "open whether it does", any(one.open for one in shown))]
    marks.append(("!", "a warning", any(one.warned and not one.open for one in shown)))
    told = ", ".join(f"{sign} {says}" for sign, says, is_there in marks if is_there)
    return [*lines, f"   {told}; --why TYPE tells"] if told else lines


def _hour(choice: Choice, one: Candidate) -> str:
    """The price of an hour; with its currency where that is not the one in which prices are compared."""
    if one.price is None:
        return "?"
    other = one.price.currency != choice.currency
    return f"{one.price.per_hour:.2f} {one.price.currency}"[-9:] if other else f"{one.price.per_hour:.2f}"


def _short(number: float | None) -> str:
    """A number in at most six characters."""
    if number is None:
        return "?"
    scale = next((scale for scale in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if number >= 10 * scale[0]), (1.0, ""))
    value = number / scale[0]
    return f"{value:,.0f}{scale[1]}" if value >= 100 else f"{value:.3g}{scale[1]}"


def _labelled(label: str, said: str) -> list[str]:
    if label == "pod":
        return [f"{'':{LABEL}}{said}"]
    return wrapped(said, f"{label:{LABEL}}", " " * LABEL, WIDTH)
