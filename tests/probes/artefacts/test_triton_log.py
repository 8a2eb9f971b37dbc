"""The log of Triton: loads, unloads and reloads, options of the start, and single requests of a verbose log."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.triton_log import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

ECHO = "server:this/model:echo"
PLAIN = (
    "I0904 21:21:23.000000 1 model_lifecycle.cc:461] loading: echo:1\n"
    "I0904 21:21:25.500000 1 model_lifecycle.cc:818] successfully loaded 'echo'\n"
)
QUOTED = (
    'I1130 08:06:23.000000 8996 model_lifecycle.cc:472] "loading: echo:1"\n'
    "I1130 08:06:25.500000 8996 model_lifecycle.cc:839] \"successfully loaded 'echo'\"\n"
)
ISO = (
    '2024-05-20T12:00:23Z I 1 model_lifecycle.cc:472] "loading: echo:1"\n'
    "2024-05-20T12:00:25.5Z I 1 model_lifecycle.cc:839] \"successfully loaded 'echo'\"\n"
)


@pytest.mark.parametrize("text", [PLAIN, QUOTED, ISO], ids=["plain", "quoted", "iso"])
@pytest.mark.parametrize(
    "prefix", ["", "triton-0  | ", "2026-11-30T08:06:23Z stdout F "], ids=["bare", "compose", "kubernetes"]
)
def test_a_load_and_its_time(text: str, prefix: str) -> None:
    found = values(scan(FORMAT, "".join(prefix + line for line in text.splitlines(keepends=True))))
    assert found["serve.load_seconds", ECHO] == pytest.approx(2.5)
    assert found["serve.load_count", ECHO] == 1
    assert found["serve.reload_count", ECHO] == 0


def test_loading_a_model_that_was_ready_is_a_reload() -> None:
    unloaded = "I0904 21:30:01.000000 1 model_lifecycle.cc:624] successfully unloaded 'echo' version 1\n"
    found = values(scan(FORMAT, PLAIN + PLAIN.replace("21:21", "21:29") + unloaded))
    assert found["serve.load_count", ECHO] == 2
    assert found["serve.reload_count", ECHO] == 1
    assert found["serve.unload_count", ECHO] == 1


@pytest.mark.parametrize(
    "said",
    [
        "Pinned memory pool is created at '0x7f4c80000000' with size 268435456",
        "Unable to allocate pinned system memory, pinned memory pool will not be available: no CUDA-capable device",
    ],
    ids=["with-gpu", "without"],
)
def test_the_first_load_of_a_server_that_was_started_anew_is_no_reload(said: str) -> None:
    started = f"I0904 21:28:59.000000 1 pinned_memory_manager.cc:277] {said}\n"
    found = values(scan(FORMAT, PLAIN + started + PLAIN.replace("21:21", "21:29")))
    assert found["serve.load_count", ECHO] == 2
    assert found["serve.reload_count", ECHO] == 0


def test_a_load_over_midnight() -> None:
    late = PLAIN.replace("0904 21:21:23", "0904 23:59:59").replace("0904 21:21:25.500000", "0905 00:00:01.500000")
    assert values(scan(FORMAT, late))["serve.load_seconds", ECHO] == pytest.approx(2.5)


def test_a_model_that_could_not_be_loaded_says_why() -> None:
    text = "E0904 21:21:23.0 1 model_lifecycle.cc:621] failed to load 'bad' version 1: Internal: no such file\n"
    found = values(scan(FORMAT, text))
    assert found["serve.load_failed", "server:this/model:bad"] is True
    assert found["serve.load_error", "server:this/model:bad"] == "Internal: no such file"


def test_options_of_the_start_and_what_is_missing() -> None:
    text = (
        "I1130 08:06:08.944530 8996 tritonserver.cc:2598] \n"
        "+----------------------------------+-----------+\n"
        "| Option                           | Value     |\n"
        "+----------------------------------+-----------+\n"
        "| server_version                   | 2.51.0    |\n"
        "| model_control_mode               | MODE_POLL |\n"
        "| rate_limit                       | OFF       |\n"
        "| cache_enabled                    | 1         |\n"
        "+----------------------------------+-----------+\n\n"
        'W1130 08:06:08.9 8996 metrics.cc:798] "DCGM unable to start: DCGM initialization error"\n'
        'W1130 08:06:08.9 1 pinned_memory_manager.cc:273] "Unable to allocate pinned system memory, pinned memory pool '
        'will not be available: no driver"\nwhat now?\n'
    )
    extracts = scan(FORMAT, text)
    found = values(extracts)
    server = "server:this"
    assert found["serve.software_version", server] == "2.51.0"
    assert found["serve.control_mode", server] == "poll"
    assert found["serve.rate_limit", server] == "off"
    assert found["serve.cache_configured", server] is True
    assert found["serve.gpu_metrics_missing", server] is True
    assert found["serve.pinned_pool_missing", server] is True
    assert claimed(extracts) == {*range(1, 10), 11, 12}


def request(second: float, took: float, shape: str, model: str = "echo") -> str:
    begin, end = f"{second:09.6f}", f"{second + took:09.6f}"
    return (
        f'I1130 08:06:{begin} 1 infer_request.cc:905] "[request id: <id_unknown>] prepared: [0x0x7f] request id: , '
        f"model: {model}, requested version: -1, actual version: 1\\noriginal inputs:\\n[0x7f] input: IN, type: FP32, "
        f'original shape: [{shape}], batch + shape: [{shape}], shape: [3]\\noverride inputs:\\ninputs:\\n"\n'
        f'I1130 08:06:{end} 1 infer_response.cc:174] "add response output: output: OUT, type: FP32, shape: [1]"\n'
    )


LOGGED = f"{ECHO}/load:logged requests"


def test_the_first_request_of_every_shape_is_slow() -> None:
    shapes = ["1,2", "1,2", "1,3", "1,3", "1,4", "1,4"]
    text = "".join(request(at, 0.4 if at % 2 == 0 else 0.01, shape) for at, shape in enumerate(shapes))
    found = values(scan(FORMAT, text))
    assert found["serve.shape_count", LOGGED] == 3
    assert found["serve.new_shape_ratio", LOGGED] == pytest.approx(40, rel=0.01)  # 0.4 s over 0.01 s
    assert found["serve.slow_on_new_shape", LOGGED] is True


def test_new_shapes_that_are_as_fast_as_others() -> None:
    shapes = ["1,2", "1,2", "1,3", "1,3", "1,4", "1,4"]
    text = "".join(request(at, 0.4 if at == 0 else 0.01, shape) for at, shape in enumerate(shapes))
    assert values(scan(FORMAT, text))["serve.slow_on_new_shape", LOGGED] is False


def test_requests_that_overlap_are_not_told_apart() -> None:
    lines = [request(at, 5.0, "1,2").splitlines() for at in range(4)]
    text = "\n".join([one[0] for one in lines] + [one[1] for one in lines])
    assert not [key for key in values(scan(FORMAT, text)) if "shape" in key[0]]


def test_other_logs_are_left_alone() -> None:
    assert scan(FORMAT, "I0904 21:21:23.976213 1 train.cc:461] loading: data\n| Model | ms |\n") == []
