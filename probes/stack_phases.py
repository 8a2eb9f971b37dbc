"""What a thread that trains is doing, judged by its stack: the phase of the step, and the line that leads there.

A method of a tensor is C code and no frame of its own: `loss.item()` shows as the line that calls it. So the text of
the innermost line counts where no frame tells. Frames outside decide first whether data are being fetched, a checkpoint
is being written or the program is still starting; otherwise the innermost frame that tells something decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from gpuwhy.probes.stack_samples import Frame


class Phase(str, Enum):
    """Phases of a step as its host thread goes through them."""

    STARTUP = "startup"
    DATA = "data"
    CHECKPOINT = "checkpoint"
    SYNC = "sync"
    COMMUNICATION = "communication"
    LOGGING = "logging"
    TRANSFER = "transfer"
    OPTIMIZER = "optimizer"
    BACKWARD = "backward"
    FORWARD = "forward"
    WAITING = "waiting"
    OTHER = "other"


RECOGNISED = tuple(one for one in Phase if one not in (Phase.STARTUP, Phase.WAITING, Phase.OTHER))

LineText = Callable[[Frame], str]

Rule = tuple[Phase, "re.Pattern[str]", "frozenset[str] | None"]


def _rule(phase: Phase, files: str, functions: str = "") -> Rule:
    """A phase by file, and by function where names are given."""
    return phase, re.compile(files), frozenset(functions.split()) or None


_OUTER: tuple[Rule, ...] = (
    _rule(Phase.STARTUP, r"<frozen importlib"),
    _rule(Phase.STARTUP, r"/torch/(_dynamo/convert_frame|_inductor/compile_fx|_inductor/async_compile)\.py\Z"),
    _rule(Phase.STARTUP, r"/torch/distributed/distributed_c10d\.py\Z", "init_process_group new_group"),
    _rule(Phase.DATA, r"/torch/utils/data/(dataloader|_utils/\w{1,40})\.py\Z"),
    _rule(Phase.DATA, r"-packages/(torchdata|webdataset|ffcv/loader|nvidia/dali|streaming/base)/"),
    _rule(Phase.DATA, r"/(pytorch_)?lightning/(pytorch/)?loops/fetchers\.py\Z", "__next__ _fetch_next_batch"),
    _rule(Phase.DATA, r"/accelerate/data_loader\.py\Z"),
    _rule(Phase.DATA, r"/tensorflow/python/data/ops/\w{1,40}\.py\Z|-packages/grain/"),
    _rule(Phase.CHECKPOINT, r"/torch/serialization\.py\Z", "save _save _legacy_save"),
    _rule(Phase.CHECKPOINT, r"/torch/distributed/checkpoint/|/orbax/checkpoint/|/safetensors/torch\.py\Z"),
    _rule(Phase.CHECKPOINT, r".", "save_checkpoint _save_checkpoint save_pretrained save_state dump_checkpoint"),
)
_INNER: tuple[Rule, ...] = (
    _rule(Phase.SYNC, r"/torch/(\w{1,40}/){0,3}\w{1,40}\.py\Z", "synchronize"),
    _rule(Phase.SYNC, r"/torch/_tensor_str\.py\Z"),
    _rule(Phase.SYNC, r"/torch/_tensor\.py\Z", "__format__ __repr__ tolist"),
    _rule(Phase.SYNC, r"/torch_xla/", "mark_step sync step wait_device_ops"),
    _rule(Phase.COMMUNICATION, r"/torch/distributed/(distributed_c10d|_functional_collectives|nn/functional)\.py\Z"),
    _rule(Phase.COMMUNICATION, r"/deepspeed/comm/|/horovod/torch/mpi_ops\.py\Z"),
    _rule(Phase.LOGGING, r"/logging/(__init__|handlers)\.py\Z|-packages/(loguru|tensorboardX?)/"),
    _rule(Phase.LOGGING, r"-packages/rich/(console|live)\.py\Z|/torch/utils/tensorboard/"),
    _rule(Phase.LOGGING, r"-packages/(wandb|mlflow|comet_ml|neptune|clearml|aim|swanlab)/"),
    _rule(Phase.LOGGING, r"/tqdm/std\.py\Z", "refresh display sp status_printer fp_write print_status"),
    _rule(Phase.LOGGING, r"/tqdm/std\.py\Z", "set_postfix set_postfix_str write"),
    _rule(Phase.LOGGING, r"/lightning/.{0,60}/(loggers|progress)/|/pytorch_lightning/(loggers|callbacks/progress)/"),
    _rule(Phase.TRANSFER, r"/accelerate/utils/operations\.py\Z", "send_to_device"),
    _rule(Phase.TRANSFER, r".", "move_data_to_device batch_to_device transfer_batch_to_device"),
    _rule(Phase.TRANSFER, r"/torch/nn/modules/module\.py\Z", "to cuda _apply"),
    _rule(Phase.OPTIMIZER, r"/torch/optim/|/apex/optimizers/|/bitsandbytes/optim/|/torch/amp/grad_scaler\.py\Z"),
    _rule(Phase.OPTIMIZER, r"/deepspeed/runtime/zero/", "step"),
    _rule(Phase.OPTIMIZER, r"/torch/nn/utils/clip_grad\.py\Z"),
    _rule(Phase.BACKWARD, r"/torch/autograd/(graph|__init__|function)\.py\Z"),
    _rule(Phase.BACKWARD, r"/torch/_tensor\.py\Z", "backward"),
    _rule(Phase.FORWARD, r"/torch/nn/|/torch/_ops\.py\Z|/torch/_higher_order_ops/"),
    _rule(Phase.FORWARD, r"-packages/(transformers/models|diffusers/models|timm)/"),
    _rule(Phase.FORWARD, r"/torch/(functional|_dynamo/eval_frame|_inductor/cudagraph_trees|_functorch/\w{1,40})\.py\Z"),
)  # fmt: skip

_SYNC_METHODS = ("item", "tolist", "numpy", "cpu", "synchronize", "nonzero", "block_until_ready")
_SYNC_CALL = re.compile(rf"\.({'|'.join(_SYNC_METHODS)})\(")
_SYNC_TEST = re.compile(r"^\s{0,200}(?:if|elif|while|assert)\b.{0,200}\b(?:isnan|isinf|isfinite)\(")
_TO_HOST = re.compile(r"\.to\(\s{0,9}(?:device\s{0,9}=\s{0,9})?['\"]cpu")
_FLOAT = re.compile(r"\bfloat\(")
_OUTPUT = re.compile(r"\bprint\(|\.flush\(\)|\bfsync\(|\.write(?:lines)?\(")
_TO_DEVICE = re.compile(r"\.(?:to|cuda|pin_memory|copy_)\(")
_LEAF: tuple[tuple[Phase, re.Pattern[str]], ...] = (
    (Phase.SYNC, _SYNC_CALL),
    (Phase.SYNC, _TO_HOST),
    (Phase.SYNC, _SYNC_TEST),
    (Phase.LOGGING, _OUTPUT),
    (Phase.TRANSFER, _TO_DEVICE),
    (Phase.SYNC, _FLOAT),
)

_WAITING_FILES = re.compile(
    r"/(threading|queue|selectors|subprocess|multiprocessing/\w{1,40}|concurrent/futures/\w{1,40}|asyncio/\w{1,40})\.py\Z"
)
_SLEEP = re.compile(r"\bsleep\(|\.(?:wait|join|get|acquire|recv|select|poll)\(")
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3\.[0-9]{1,2}/|/gpuwhy/probes/|^<")

WORKER_LOOP = re.compile(r"/torch/utils/data/_utils/worker\.py\Z")
_FETCH = re.compile(r"/torch/utils/data/_utils/fetch\.py\Z")


@dataclass(frozen=True)
class Judgement:
    """The phase of a stack, and the line of the job's own code that leads there."""

    phase: Phase
    site: Frame


def judge(frames: Sequence[Frame], text_of: LineText) -> Judgement:
    """What a thread with this stack, outermost frame first, is doing."""
    for phase, files, functions in _OUTER:
        for place, frame in enumerate(frames):
            if _matches(frame, files, functions):
                return Judgement(phase, _site(frames[: place + 1]))
    found = next(_inner(frames, text_of), None)
    if found is not None:
        return Judgement(found[0], _site(frames[: found[1] + 1]))
    return Judgement(_unrecognised(frames[-1], text_of), _site(frames))


def _inner(frames: Sequence[Frame], text_of: LineText) -> Iterator[tuple[Phase, int]]:
    """What the frames say, and which one says so, innermost first."""
    called: Frame | None = None
    for place in range(len(frames) - 1, -1, -1):
        frame = frames[place]
        if called is None:
            text = text_of(frame)
            yield from ((phase, place) for phase, pattern in _LEAF if pattern.search(text))
        elif called.function in _SYNC_METHODS and f".{called.function}(" in text_of(frame):
            yield Phase.SYNC, place
        yield from ((phase, place) for phase, files, functions in _INNER if _matches(frame, files, functions))
        called = frame


def _unrecognised(leaf: Frame, text_of: LineText) -> Phase:
    waits = _WAITING_FILES.search(leaf.file) or _SLEEP.search(text_of(leaf))
    return Phase.WAITING if waits else Phase.OTHER


def _matches(frame: Frame, files: re.Pattern[str], functions: frozenset[str] | None) -> bool:
    return (functions is None or frame.function in functions) and files.search(frame.file) is not None


def _site(frames: Sequence[Frame]) -> Frame:
    """The innermost line of the job's own code: neither of the standard library nor of an installed package."""
    return next((one for one in reversed(frames) if not _LIBRARY.search(one.file)), frames[0])


def is_worker(frames: Sequence[Frame]) -> bool:
    """True for the stack of a worker process of the DataLoader."""
    return any(WORKER_LOOP.search(one.file) for one in frames)


def fetches(frames: Sequence[Frame]) -> bool:
    """True where samples are being put together, in a worker or in the main process."""
    return any(_FETCH.search(one.file) for one in frames)
