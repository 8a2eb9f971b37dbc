"""How long tokens, first tokens and waits take on a machine: a low and a high side, from first principles.

Decoding is bound by memory bandwidth, prefill by compute (Pope et al. 2022, arXiv 2211.05102, section 2). Continuous
batching puts prefill of new requests between the tokens of those that run (Yu et al. 2022, Orca, OSDI; Agrawal et al.
2024, Sarathi-Serve, arXiv 2403.02310, section 3). The wait in the queue is that of an M/G/k system by the approximation
of Allen and Cunneen (Allen 1990, Probability, Statistics, and Queueing Theory, section 5.3; Whitt 1993, Approximations
for the GI/G/m queue, doi 10.1111/j.1937-5956.1993.tb00094.x). Between the two sides only a load test decides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuwhy.engine.costs import TRAINING_UTILISATION
from gpuwhy.engine.sizing import weight_bytes
from gpuwhy.kb.offers import Machine
from gpuwhy.kb.records import dataclass, replace

if TYPE_CHECKING:
    from gpuwhy.engine.workload import Work

DECODE_LOW_SHARE = 0.5
"""Share of the bandwidth that decoding reaches at worst, kernels and scheduling included: servers on A100 and H100 were
measured at 55 to 60 % (Databricks 2023, LLM Inference Performance Engineering: Best Practices), and the 64 published
medians of `bench/latency.py` lie between the two sides."""

PREFILL_LOW_SHARE = TRAINING_UTILISATION
"""Share of the dense rate that prefill reaches at worst: a forward pass is a third of a training step."""

PREFILL_TOKENS = 2048
"""Tokens of prefill that a server computes in one step at most (vLLM's smaller default of max_num_batched_tokens)."""

EXCHANGE_SECONDS = {"nvlink": 110e-6, "pcie": 250e-6}
"""High side of one exchange of a token's activations among GPUs, with the waits around it; a layer has two (Shoeybi et
al. 2019, arXiv 1909.08053). Over NVLink it is what is left of 21.1 ms that a 32B model took for 16 tokens at once on 8
A100 (https://github.com/vllm-project/vllm/issues/16300); over PCIe it is a rule of thumb, and reports say so."""

LEAST_STEP = 64
"""Tokens of prefill in a step below which a server would hardly get on with its prompts."""

RARE_SHARE = 0.01
"""What happens to fewer tokens than this does not move their 99th percentile."""


@dataclass(frozen=True)
class Latency:
    """Seconds on one machine, low and high side; None where something is not known.

    `load` is the share of its places for requests that are taken: from 1 on, the queue grows without end.
    """

    token_least: float | None = None
    token_most: float | None = None
    first_least: float | None = None
    first_most: float | None = None
    load_least: float | None = None
    load_most: float | None = None


def latency(work: Work, machine: Machine) -> Latency:
    """Time of a token and of the first token, and the load, of a model that is served on a machine.

    A slice shares the card, nobody says how, so it has a low side only; of a partition the high side is that of one of
    seven.
    """
    found = _latency(work, machine)
    if machine.is_slice:
        return replace(found, token_most=None, first_most=None, load_most=None)
    if work.partitions:
        highs = {name: value * PARTITIONS for name in HIGH_SIDES if (value := getattr(found, name)) is not None}
        return replace(found, **highs)
    return found


HIGH_SIDES = ("token_most", "first_most", "load_most")
PARTITIONS = 7
"""Parts of a card, the most there are (NVIDIA, Multi-Instance GPU user guide)."""


def _latency(work: Work, machine: Machine) -> Latency:
    if not work.serves:
        return Latency()
    rate = machine.tensor16_flops or machine.float32_flops
    if machine.bandwidth_bytes_per_second is None or not rate:
        return Latency()
    fill = _prefill_seconds(work, machine.gpus * rate, work.prompt_tokens)
    if work.answer_tokens == 0:
        # nothing is generated: all places may be filled at once, and their requests are computed one after the other
        most = fill / PREFILL_LOW_SHARE * work.concurrency + exchange_seconds(work, machine)
        found = _queued(work, fill, most, fill, most, Latency())
        return replace(found, token_least=found.first_least, token_most=found.first_most)
    step = read_bytes(work) / machine.gpus / machine.bandwidth_bytes_per_second
    slow = held_bytes(work) / machine.gpus / machine.bandwidth_bytes_per_second / DECODE_LOW_SHARE
    slow += exchange_seconds(work, machine)
    before = _prefill_seconds(work, machine.gpus * rate, max(0, work.prompt_tokens - PREFILL_TOKENS))
    # the last step of a long prompt, whose tokens attend to all before; or as many short ones as a step has room for
    prompts = max(1.0, min(PREFILL_TOKENS / work.prompt_tokens, work.concurrency - 1))
    chunk = (fill - before) * prompts / PREFILL_LOW_SHARE
    token = Latency(step, slow + (chunk if _is_interrupted(work) else 0.0))
    most = fill / PREFILL_LOW_SHARE + slow
    answer = work.answer_tokens
    if answer is None:
        return Latency(token.token_least, token.token_most, fill, most)
    others = (work.concurrency - 1) * fill / PREFILL_LOW_SHARE
    return _queued(work, fill, most, fill + answer * step, most + answer * slow + others, token)


def small_steps(work: Work, machine: Machine) -> int | None:
    """Tokens of prefill to which a server must keep its steps for tokens to be in time; None if that does not help."""
    budget = prefill_budget(work, machine) if work.concurrency > 1 else None
    return budget if budget is not None and LEAST_STEP <= budget < PREFILL_TOKENS else None


def prefill_budget(work: Work, machine: Machine) -> int | None:
    """Tokens of prefill that one step may compute for tokens to come in time even so; None where that is not known.

    By the high side of the estimate; 0 where decoding alone may take too long. vLLM's max_num_batched_tokens.
    """
    rate = machine.tensor16_flops or machine.float32_flops
    if work.token_seconds is None or work.answer_tokens == 0 or not work.serves:
        return None
    if machine.bandwidth_bytes_per_second is None or not rate:
        return None
    slow = held_bytes(work) / machine.gpus / machine.bandwidth_bytes_per_second / DECODE_LOW_SHARE
    left = work.token_seconds - slow - exchange_seconds(work, machine)
    shape = work.shape
    # a token at the end of the prompt attends to all of it: twice what its tokens do in the mean
    each = 2.0 * (shape.active_parameters or shape.parameters) + 4.0 * shape.layers * shape.hidden * work.prompt_tokens
    return max(0, int(left * rate * machine.gpus * PREFILL_LOW_SHARE / each))


def read_bytes(work: Work) -> float:
    """Bytes that all GPUs read at least for each token: the weights in use (of some experts, where there are)."""
    weights = weight_bytes(work.shape, work.dtype)
    return weights * min(1.0, (work.shape.active_parameters or work.shape.parameters) / work.shape.parameters)


def held_bytes(work: Work) -> float:
    """Bytes that all GPUs together read at most: all weights, keys and values of all requests at their full length."""
    from gpuwhy.engine.sizing import kv_cache_bytes

    return weight_bytes(work.shape, work.dtype) + kv_cache_bytes(work.shape, float(work.sequence * work.concurrency))


def exchange_seconds(work: Work, machine: Machine) -> float:
    """Seconds of a token that GPUs of a machine spend on exchanging activations; 0 for one GPU."""
    if machine.gpus == 1:
        return 0.0
    each = EXCHANGE_SECONDS["pcie" if machine.nvlink_bytes_per_second is None else "nvlink"]
    return 2 * work.shape.layers * each


def _prefill_seconds(work: Work, rate: float, tokens: int) -> float:
    """Two operations per parameter in use and token, and two per layer, width and pair of tokens for attention."""
    shape = work.shape
    active = shape.active_parameters or shape.parameters
    return (2.0 * active * tokens + 2.0 * shape.layers * shape.hidden * float(tokens) ** 2) / rate


def _is_interrupted(work: Work) -> bool:
    """Whether more than one in a hundred tokens waits for the prefill of another request."""
    if work.concurrency == 1:
        return False
    if work.answer_tokens is None:
        return True
    steps = math.ceil(work.prompt_tokens / PREFILL_TOKENS)
    return (work.concurrency - 1) * steps / work.answer_tokens > RARE_SHARE


def _queued(work: Work, first: float, first_most: float, whole: float, whole_most: float, token: Latency) -> Latency:
    """With the wait in the queue, where the rate of requests is known. `whole`: seconds of a whole request."""
    rate = work.requests_per_second
    if rate is None:
        return Latency(token.token_least, token.token_most, first, first_most)
    load, load_most = (rate * one / work.concurrency for one in (whole, whole_most))
    least, most = (
        wait_seconds(rate, whole, work.concurrency, 0.0),
        wait_seconds(rate, whole_most, work.concurrency, 1.0),
    )
    return Latency(
        token.token_least,
        token.token_most,
        first + least if least is not None else None,
        first_most + most if most is not None else None,
        load,
        load_most,
    )


def wait_seconds(rate: float, service: float, places: int, variation: float, share: float = 0.99) -> float | None:
    """Seconds that this share of requests wait at most in an M/G/k queue; None where it grows without end.

    Allen and Cunneen: the mean wait is that of M/M/k times (1 + variation) / 2, with the squared coefficient of
    variation of the service time (0: all alike, 1: exponential). Those that wait do so for exponential times.
    """
    offered = rate * service
    if offered >= places:
        return None
    waits = erlang_c(offered, places)
    if waits <= 1 - share:
        return 0.0
    of_those = service / (places - offered) * (1 + variation) / 2
    return of_those * math.log(waits / (1 - share))


def erlang_c(offered: float, places: int) -> float:
    """Share of requests that have to wait, with so many places and so much work offered (Erlang 1917).

    By the recurrence of Erlang B, which does not overflow: B(k) = a B(k-1) / (k + a B(k-1)).
    """
    blocked = 1.0
    for place in range(1, places + 1):
        blocked = offered * blocked / (place + offered * blocked)
    return blocked / (1 - offered / places * (1 - blocked))
