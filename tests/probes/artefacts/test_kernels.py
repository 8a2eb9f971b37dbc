"""What names of kernels and API calls tell."""

from __future__ import annotations

import pytest

from gpuwhy.probes.artefacts.kernels import (
    CallKind,
    CopyKind,
    MatrixKind,
    call_kind,
    copy_kind,
    is_collective,
    matrix_kind,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ampere_sgemm_128x64_nn", MatrixKind.FLOAT32),
        ("volta_sgemm_64x64_tn", MatrixKind.FLOAT32),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_ffma_cublas", MatrixKind.FLOAT32),
        ("void gemmSN_TN_kernel<float, float, float, 128, 16, 2>(int)", MatrixKind.FLOAT32),
        ("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)", MatrixKind.FLOAT32),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_tn", MatrixKind.TENSOR_CORE),
        ("volta_fp16_s884gemm_fp16_64x128_ldg8_f2f_nn", MatrixKind.TENSOR_CORE),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16", MatrixKind.TENSOR_CORE),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", MatrixKind.TENSOR_CORE),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>",
            MatrixKind.TENSOR_CORE,
        ),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", MatrixKind.TENSOR_CORE),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", MatrixKind.TENSOR_CORE),
        ("void at::native::vectorized_elementwise_kernel<4, float>", None),
        ("ncclDevKernel_AllReduce_Sum_f16_RING_LL", None),
    ],
)
def test_matrix_kernels(name: str, kind: MatrixKind | None) -> None:
    """Tensor-core kernels carry the shape of an MMA instruction or a small type; FP32 ones say sgemm or ffma."""
    assert matrix_kind(name) is kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernel", CallKind.LAUNCH),
        ("cudaLaunchKernel_v7000", CallKind.LAUNCH),
        ("cudaLaunchKernelExC_v11060", CallKind.LAUNCH),
        ("cuLaunchKernelEx", CallKind.LAUNCH),
        ("cudaLaunch", CallKind.LAUNCH),
        ("hipExtModuleLaunchKernel", CallKind.LAUNCH),
        ("cudaGraphLaunch_v10000", CallKind.LAUNCH),
        ("cudaLaunchHostFunc", CallKind.OTHER),
        ("cudaStreamSynchronize_v3020", CallKind.WAIT),
        ("cudaDeviceSynchronize", CallKind.WAIT),
        ("cudaMemcpy", CallKind.BLOCKING_COPY),
        ("hipMemcpyWithStream", CallKind.BLOCKING_COPY),
        ("cudaMemcpyAsync_v3020", CallKind.ASYNC_COPY),
        ("cuMemcpyHtoDAsync_v2", CallKind.ASYNC_COPY),
        ("cudaMemsetAsync", CallKind.OTHER),
        ("cudaStreamIsCapturing", CallKind.OTHER),
    ],
)
def test_calls(name: str, kind: CallKind) -> None:
    """CUDA and HIP calls, with the version suffix that Nsight Systems prints."""
    assert call_kind(name) is kind


def test_copies_and_collectives() -> None:
    """Directions as PyTorch, nvprof and Nsight Systems print them."""
    assert copy_kind("Memcpy HtoD (Pageable -> Device)") is CopyKind.HOST_TO_DEVICE
    assert copy_kind("[CUDA memcpy Host-to-Device]") is CopyKind.HOST_TO_DEVICE
    assert copy_kind("[CUDA memcpy DtoH]") is CopyKind.DEVICE_TO_HOST
    assert copy_kind("Memcpy DtoD (Device -> Device)") is CopyKind.DEVICE_TO_DEVICE
    assert is_collective("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)")
    assert not is_collective("volta_sgemm_64x64_tn")
