"""`gpuwhy select`: which machine type a piece of work should run on, each rejection with its rule, and the cost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuwhy.tui import amounts, diagnosed
from gpuwhy.tui.cli_size import DTYPES, OFFLOADS, OPTIMIZERS, SHARDINGS
from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import fail, kb_option, knowledge, overlay_option, rules_option, with_overlays

if TYPE_CHECKING:
    from gpuwhy.engine.shapes import Shape
    from gpuwhy.engine.workload import Work
    from gpuwhy.kb.model import KnowledgeBase
    from gpuwhy.tui.diagnosed import Diagnosed

TASKS = ("pretrain", "train", "finetune", "serve", "batch", "gateway")
METHODS = ("full", "half", "lora", "qlora", "inference")


@click.command()
@click.option("--task", type=click.Choice(TASKS), help="What is to be done.")
@click.option("--params", callback=amounts.count, metavar="N", help="Parameters of the model: 7B, 350M.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Its config.json.")
@click.option("--method", type=click.Choice(METHODS), help="How it is trained.  [default: full; inference to serve]")
@click.option("--dtype", type=click.Choice(("tf32", *DTYPES)), help="Number format of the weights.  [default: bf16]")
@click.option(
    "--sequence",
    "--context",
    type=click.IntRange(1, amounts.MOST_TOKENS),
    help="Tokens of a sample, or of prompt and answer.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, amounts.MOST_TOKENS),
    default=1,
    show_default=True,
    help="Samples of one GPU at once.",
)
@click.option("--concurrency", type=click.IntRange(1, amounts.MOST_TOKENS), help="Requests at once.  [default: 1]")
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), default="adamw", show_default=True)
@click.option("--rank", type=click.IntRange(1, amounts.MOST_TOKENS), default=64, show_default=True, help="Of LoRA.")
@click.option("--checkpointing/--no-checkpointing", default=True, show_default=True, help="Recompute activations.")
@click.option("--sharding", type=click.Choice(SHARDINGS), help="Of full training.  [default: zero3 on several GPUs]")
@click.option("--offload", type=click.Choice(OFFLOADS), default="none", show_default=True, help="To host memory.")
@click.option("--activations", callback=amounts.size, metavar="SIZE", help="Measured ones, where it is no transformer.")
@click.option("--resolution", type=click.IntRange(64, 8192), help="Side of the images of a diffusion model, in pixels.")
@click.option("--kv-heads", type=click.IntRange(1, amounts.MOST_TOKENS), help="Heads of keys and values (GQA, MQA).")
@click.option("--hours", type=amounts.Positive(), help="How long the machine is rented.")
@click.option("--tokens", callback=amounts.count, metavar="N", help="Tokens to train on: gives the hours.")
@click.option("--interruptible", is_flag=True, default=None, help="It may be stopped and goes on from a checkpoint.")
@click.option("--interrupted-every", type=amounts.Positive(), metavar="HOURS", help="On spot machines.")
@click.option(
    "--answer",
    type=click.IntRange(0, amounts.MOST_TOKENS),
    metavar="N",
    help="Tokens of an answer; 0: it generates nothing.",
)
@click.option("--rate", type=amounts.Positive(), help="Requests that come per second.")
@click.option("--p99-ms", type=amounts.Positive(), help="Time in which 99 of 100 tokens must come.")
@click.option("--first-token-ms", type=amounts.Positive(), help="The same for the first of an answer.")
@click.option("--budget", type=amounts.Positive(), help="Most that an hour may cost.")
@click.option("--partitions", is_flag=True, default=None, help="Isolated parts of one GPU (MIG) are wanted.")
@click.option(
    "--hosts",
    type=click.IntRange(1, amounts.MOST_TOKENS),
    default=1,
    show_default=True,
    help="Machines that work together.",
)
@click.option(
    "--max-gpus", type=click.IntRange(1, amounts.MOST_TOKENS), help="Most GPUs of a machine that the work can use."
)
@click.option("--data-rate", metavar="RATE", help="Rate at which it reads its data: 500 MB/s.")
@click.option("--local-disk", callback=amounts.size, metavar="SIZE", help="Space wanted on the machine's own disks.")
@click.option("--provider", type=click.Choice(("alicloud", "tencent")), help="Only types of this one.")
@click.option("--region", help="Region of the prices.  [default: cn-beijing]")
@click.option("--currency", metavar="CODE", help="In which prices are compared: CNY, USD.  [default: the region's]")
@click.option("--exchange", multiple=True, metavar="CODE=RATE", help="One unit of a currency in that one: USD=7.1.")
@click.option(
    "--from", "diagnosis", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A diagnosis.json."
)
@click.option("--why", "--why-not", "why", metavar="TYPE", help="The proof for one machine type.")
@click.option("--all", "every", is_flag=True, help="Every type that would do, not the first eight.")
@click.option("--format", "form", type=click.Choice(["text", "json", "md"]), default="text", show_default=True)
@overlay_option
@rules_option
@kb_option
@click.pass_context
def select(
    context: click.Context,
    /,
    rules: Path | None,
    revision: str | None,
    form: str,
    every: bool,
    why: str | None,
    **given: Any,
) -> None:
    """Which machine type should this work run on, and why not another.

    Every type of the catalogue is judged by the selection rules: kept or rejected, each rejection with its reason. What
    was not said has a default, and the default is told. --from takes what `gpuwhy diagnose --format json` wrote: where
    the work waits for data, a bigger GPU does not help.

    Exit status: 0 something fits, 2 unusable arguments, 3 nothing fits.
    """
    from gpuwhy.engine.selection import OtherWords, choose

    kb = with_overlays(knowledge(rules, revision), given["overlays"])
    if not kb.selections or "machines" not in kb.catalogue.sections:
        fail("this pack has no selection rules")
    from_file = given["diagnosis"]
    work = work_of(kb, given, diagnosed.Diagnosed() if from_file is None else diagnosed.read(from_file))
    try:
        if why is not None:
            _why(kb, work, why, form)
            return
        choice = choose(kb, work)
    except OtherWords as error:
        fail(str(error), "rules of another version of gpuwhy choose with that version")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if form == "json":
        from gpuwhy.tui.choice_json import document
        from gpuwhy.tui.report_json import dump

        sys.stdout.write(dump(document(kb, choice)))
    else:
        from gpuwhy.tui import choice_text

        render = choice_text.markdown if form == "md" else choice_text.text
        out(render(kb, choice, every))
    context.exit(0 if choice.kept else ExitCode.CANNOT_TELL)


def _why(kb: KnowledgeBase, work: Work, name: str, form: str) -> None:
    """The proof for the machine type of this name; a family, or a GPU, stands for its smallest type."""
    from gpuwhy.engine.selection import proof
    from gpuwhy.kb.offers import machines
    from gpuwhy.tui.choice_proof import as_data, why
    from gpuwhy.tui.report_json import dump

    wanted = name.lower().removeprefix("ecs.")
    known = machines(kb.catalogue)
    found = [one for one in known if one.name.lower().removeprefix("ecs.") == wanted]
    found = found or [one for one in known if wanted in (one.family.lower(), one.gpu.lower().split(" ", 1)[-1])]
    if not found:
        fail(f"there is no machine type {name!r}", _denied(kb, wanted) or "gpuwhy catalog instances lists them")
    proved = proof(kb, work, found[0])
    text = dump(as_data(proved)) if form == "json" else why(kb, work, proved)
    text = f"```text\n{text}```\n" if form == "md" else text
    out(text)


def _denied(kb: KnowledgeBase, name: str) -> str | None:
    """What is so where a claim that is called wrong speaks of a machine type or a family that does not exist."""
    claims = {one["id"]: one["value"] for one in kb.catalogue.sections.get("claims", ())}
    for one in kb.catalogue.sections.get("denials", ()):
        if name == str(one.get("family") or one.get("machine") or "").removeprefix("ecs.") and len(one) == 2:
            return f"{claims[one['claim']]}; claim {one['claim']}"
    return None


def work_of(kb: KnowledgeBase, given: dict[str, Any], found: Diagnosed) -> Work:
    """The work that the options of `select` describe. Raises `click.UsageError` where they describe none.

    `found`: what a diagnosis tells of it; what was said comes before that.
    """
    from gpuwhy.engine.workload import SERVING_TASKS, Work

    diagnosed_task = given["task"] is None and found.task is not None
    given = given | {"task": given["task"] or found.task}
    _complete(given)
    shape = amounts.shape(given["params"], given["config"], given["kv_heads"], given["resolution"])
    task, assumed = given["task"], [*found.told(), *shape.assumed]

    def default(name: str, value: Any, says: str) -> Any:
        if given[name] is None:
            assumed.append(says)
            return value
        return given[name]

    serves = task in SERVING_TASKS
    method = default("method", "inference" if serves else "full", f"--method {'inference' if serves else 'full'}")
    usual = shape.patches or (4096 if serves else 2048)
    how = f"{usual} tokens{', the patches of an image' if shape.patches else ''} (--sequence)"
    sequence = usual if shape.images is not None else default("sequence", usual, how)
    dtype = default("dtype", "bf16", "weights in bf16 (--dtype)")
    _consistent(given, serves, method, dtype, sequence)
    _of_images(given, shape, serves)
    concurrency = default("concurrency", 1, "one request at a time (--concurrency)") if serves else 1
    if given["p99_ms"] is not None and given["answer"] is None:
        assumed.append("answers so short that prefill of others comes between more than 1 % of tokens (--answer)")
    assumed += _of_region(kb, given)
    assumed += [f"--task {task}, as diagnosed"] if diagnosed_task else []
    same = ("batch", "optimizer", "rank", "checkpointing", "sharding", "offload", "hours", "tokens", "interruptible")
    return Work(
        task=task,
        method=method,
        dtype=dtype,
        shape=shape,
        sequence=sequence,
        concurrency=concurrency,
        activation_bytes=given["activations"],
        token_seconds=given["p99_ms"] / 1000 if given["p99_ms"] else None,
        first_token_seconds=given["first_token_ms"] / 1000 if given["first_token_ms"] else None,
        requests_per_second=given["rate"],
        answer_tokens=given["answer"],
        interruption_hours=given["interrupted_every"],
        scratch_bytes=given["local_disk"],
        budget_per_hour=given["budget"],
        gpu_limit=given["max_gpus"],
        data_bytes_per_second=_rate(given["data_rate"]) or found.data_bytes_per_second,
        region=given["region"],
        currency=_currency(given["currency"]),
        exchange=tuple(_exchange(text) for text in given["exchange"] or ()),
        bound_by=found.bound_by,
        measured_bytes=found.measured_bytes,
        assumed=tuple(assumed),
        **{name: given[name] for name in (*same, "partitions", "hosts", "provider")},
    )


def _complete(given: dict[str, Any]) -> None:
    """End the process where the task or the size of the model is missing; everything else has a default."""
    missing = [] if given["task"] is not None else ["--task"]
    if given["params"] is None and given["config"] is None:
        missing.append("--params (or --config)")
    if missing:
        raise click.UsageError(
            f"{' and '.join(missing)} is needed, for example: --task finetune --params 7B --method lora"
        )


def _consistent(given: dict[str, Any], serves: bool, method: str, dtype: str, sequence: int) -> None:
    """End the process where options contradict one another."""
    answer = given["answer"]
    if (method == "inference") is not serves:
        raise click.UsageError(f"--method {method} does not go with --task {given['task']}")
    if method in ("full", "half") and dtype in ("fp8", "int8", "int4", "nf4"):
        raise click.UsageError(f"{dtype} weights are not trained as a whole; use --method qlora, or bf16, fp16, fp32")
    if given["rate"] is not None and answer is None:
        raise click.UsageError("--rate needs --answer: how long a place is taken depends on the length of the answer")
    if answer is not None and answer >= sequence:
        raise click.UsageError(f"--answer {answer} leaves no prompt in {sequence} tokens (--context)")


def _of_images(given: dict[str, Any], shape: Shape, serves: bool) -> None:
    """End the process where options ask of a diffusion model what is not modelled."""
    if shape.images is None:
        if given["resolution"] is not None:
            raise click.UsageError("--resolution is for the config.json of a diffusion model (--config)")
        return
    if serves:
        raise click.UsageError("how images are generated is not modelled; of diffusion models only training is")
    for name in ("sequence", "tokens"):
        if given[name] is not None:
            other = "--resolution" if name == "sequence" else "--hours"
            raise click.UsageError(f"--{name} does not go with a diffusion model; {other} does")


def _of_region(kb: KnowledgeBase, given: dict[str, Any]) -> Iterator[str]:
    """What is assumed about prices."""
    from gpuwhy.kb.offers import prices

    region = given["region"]
    if region is None and given["provider"] != "tencent":
        yield "prices of cn-beijing (--region)"
    if region is not None and not any(one.region == region for one in prices(kb.catalogue)):
        yield f"no price of the region {region!r} is known: is that its id, like cn-hangzhou?"


def _currency(text: str | None) -> str | None:
    if text is not None and not (len(text) == 3 and text.isascii() and text.isalpha()):
        raise click.BadParameter(f"{text!r} is no code of a currency, like CNY or USD", param_hint="--currency")
    return text.upper() if text is not None else None


def _exchange(text: str) -> tuple[str, float]:
    """`USD=7.1`: what one unit of a currency costs in the one in which prices are compared."""
    code, _, number = text.partition("=")
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf") or not (code.isascii() and code.isalpha() and len(code) == 3):
        raise click.BadParameter(f"{text!r} is no rate, like USD=7.1: what one USD costs", param_hint="--exchange")
    return code.upper(), rate


def _rate(text: str | None) -> float | None:
    from gpuwhy.kb.units import parse_quantity

    rate = parse_quantity(text, "bytes_per_second") if text is not None else None
    if text is not None and (rate is None or rate <= 0):
        raise click.BadParameter(f"{text!r} is no rate, like 500 MB/s", param_hint="--data-rate")
    return rate
