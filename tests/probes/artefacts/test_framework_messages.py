"""What frameworks say of how they run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts.framework_messages import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values


def job(content: str) -> dict[str, Value]:
    """Facts about the job."""
    return {fact: value for (fact, path), value in values(scan(FORMAT, content)).items() if path == "job:this"}


@pytest.mark.parametrize(
    ("line", "on_cpu"),
    [
        ("GPU available: True (cuda), used: False", True),
        ("GPU available: True, used: True", False),
        ("Ultralytics 8.1.0 Python-3.11.4 torch-2.2.0 CPU (Some Processor 2.1GHz)", True),
        ("Ultralytics 8.1.0 Python-3.11.4 torch-2.2.0+cu121 CUDA:0 (Some GPU, 24210MiB)", False),
        ("Using device: cpu", True),
        ("device: cpu", True),
        ("Using device: device(type='cpu')", True),
        ("Training on CPU", True),
        ("2020-01-01 I gpu_device.cc:1850] Skipping registering GPU devices...", True),
        ("session.get_providers() -> ['CPUExecutionProvider']", True),
        ("`sess.get_providers()` returns ['CPUExecutionProvider']", True),
        ("Applied providers: ['CPUExecutionProvider'], with options: {}", True),
        ("[V:onnxruntime:] All nodes placed on [CPUExecutionProvider]. Number of nodes: 12", True),
    ],
)
def test_the_device_that_is_used(line: str, on_cpu: bool) -> None:
    assert job(line) == {"job.device_is_cpu": on_cpu}


@pytest.mark.parametrize(
    "line",
    [
        "GPU available: False, used: False",
        "Using device: cuda:0",
        "expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        "Using CPU Adam for offloaded parameters",
        "Using CPU threads: 8",
        "tensor.to(device='cpu').numpy()",
        "    device = 'cpu'",
        "ort.get_available_providers() -> ['CPUExecutionProvider']",
        "session.get_providers() -> ['CUDAExecutionProvider', 'CPUExecutionProvider']",
        "ort.InferenceSession(path, providers=['CPUExecutionProvider'])",
        "[V:onnxruntime:] Node placements: 3 on [CPUExecutionProvider]",
    ],
)
def test_other_words_on_devices_say_nothing_of_the_model(line: str) -> None:
    assert "job.device_is_cpu" not in job(line)


@pytest.mark.parametrize(
    "line",
    [
        "export CUDA_LAUNCH_BLOCKING=1",
        "CUDA_LAUNCH_BLOCKING=1 python train.py",
        "os.environ['CUDA_LAUNCH_BLOCKING'] = '1'",
    ],
)
def test_blocking_launches(line: str) -> None:
    assert job(line)["job.launch_blocking"] is True


def test_the_tip_of_an_error_message_sets_nothing() -> None:
    assert job("For debugging consider passing CUDA_LAUNCH_BLOCKING=1.") == {}
    assert job("For debugging consider passing CUDA_LAUNCH_BLOCKING=1") == {}


def test_offloading_in_a_configuration() -> None:
    assert job('"offload_optimizer": {\n    "device": "cpu",\n    "pin_memory": true\n}')["job.offload"] is True
    assert job('"offload_param": {"device": "nvme"}')["job.offload"] is True
    assert job('"offload_param": {"device": "none"}') == {}
    assert job('"cpu_offload": true')["job.offload"] is True
    assert job('"cpu_offload": false') == {}


def test_a_device_far_below_the_offload_block_is_another_one() -> None:
    assert job('"offload_optimizer": {\na\nb\nc\nd\n"device": "cpu"') == {}


def test_tensor_cores_on_offer() -> None:
    warning = "UserWarning: TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled."
    assert job(warning) == {"job.tensor_cores_offered": True}
    tip = (
        "You are using a CUDA device ('X') that has Tensor Cores. To properly utilize them, you should set a precision"
    )
    assert job(tip) == {"job.tensor_cores_offered": True}


def test_grids_that_do_not_fill_the_gpu() -> None:
    warning = "Grid size (6) < 2 * SM count (216) will likely result in GPU under utilization due to low occupancy."
    assert job(warning) == {"step.warned_grid_blocks": 6, "step.warned_grid_blocks_wanted": 216}
    newer = "Grid size 6 will likely result in GPU under-utilization due to low occupancy."
    assert job(newer) == {"step.warned_grid_blocks": 6}


def test_few_workers() -> None:
    line = (
        "The dataloader, train_dataloader, does not have many workers which may be a bottleneck. Consider increasing "
    )
    older = job(line + "the value of the `num_workers` argument` (try 12 which is the number of cpus on this machine)")
    assert older == {"loader.few_workers_warned": True, "loader.suggested_workers": 12}
    newer = job(line + "the value of the `num_workers` argument` to `num_workers=15` in the `DataLoader`")
    assert newer["loader.suggested_workers"] == 15


def test_the_last_of_several_statements_holds_and_its_line_is_claimed() -> None:
    found = scan(FORMAT, "Using device: cpu\nx\nGPU available: True, used: True\n")
    assert values(found)["job.device_is_cpu", "job:this"] is False
    assert claimed(found) == {1, 3}


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_survived(content: str) -> None:
    scan(FORMAT, content)
