"""One small artefact, written by hand, of every text format: the seeds of the fuzz tests."""

from __future__ import annotations

from tests.probes.artefacts.samples_serving import SERVING

SAMPLES = {
    **SERVING,
    "allocator-settings": "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512,garbage_collection_threshold:0.8\n",
    "bandwidth-tests": (
        " Device 0: Tesla T4\n Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
        "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t6.3\n"
        "Device=0 CANNOT Access Peer Device=1\nUnidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
        "   D\\D     0      1\n     0 909.49  11.00\n     1  12.00 922.92\ngpu0_to_gpu1_write_by_dma 279.287\n"
    ),
    "collective-timeouts": (
        "[rank0]:[E1130 02:15:06.1 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=100, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600060 "
        "milliseconds before timing out.\n"
        "[rank2]:[E1130 02:15:06.2 ProcessGroupNCCL.cpp:1664] [PG 1 Rank 2] Exception (either an error or timeout) "
        "detected by watchdog at work: 100, last enqueued NCCL work: 102, last completed NCCL work: 99.\n"
        "[47] joined but didn't finish collective #41207 (count from 1)\n"
        "Timed out after 1801 seconds waiting for clients. 3/4 clients joined.\n"
    ),
    "comparisons": "torch 2.1: 0.40 s/iter\ntorch 2.3: 0.25 s/iter\n",
    "dcgmi-dmon": (
        "#Entity   GPUTL   POWER   SMACT   FBUSD   XIDER\nID\nGPU 0     97      251.2   0.912   30111   0\n"
        "GPU 1     N/A     51.7    0.000   12      0\nGPU-I 3   40      50.0    0.500   10      0\n"
    ),
    "environment-messages": (
        "cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW\n"
        "NVRM: API mismatch: the client has the version 535.161.08, but\n"
        "NVRM: this kernel module has the version 535.129.03.\n"
    ),
    "software-versions": (
        "PyTorch version: 2.5.1+cu124\nCUDA used to build PyTorch: 12.4\nNvidia driver version: 450.51.06\n"
        "nvidia-nccl-cu12          2.21.5\nCuda compilation tools, release 12.4, V12.4.131\n"
    ),
    "fabric-manager-log": (
        "[Mar 04 2026 11:02:33] [INFO] [tid 771] Fabric Manager version 550.90.07 is running with these options\n"
        "[Mar 04 2026 11:02:40] [ERROR] [tid 771] NVLink 4 of GPU 2 is not trained\n"
        "[Mar 04 2026 11:02:41] [ERROR] [tid 771] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci "
        "bus id 00000000:86:00.0 physical id 3 port 61\n"
        "[Mar 04 2026 11:02:42] [ERROR] [tid 771] failed to find the GPU handle 1234567 in the multicast team request "
        "setup 7654321.\n"
        "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager\n"
    ),
    "reported-symptoms": "While training, GPU utilization jumps from 0% to 90% and the GPU waits for data.\n",
    "model-placement": (
        "NAME          ID              SIZE     PROCESSOR          CONTEXT    UNTIL\n"
        "llama3:70b    be39eb53a197    41 GB    42%/58% CPU/GPU    4096       4 minutes from now\n"
        'level=INFO source=types.go:130 msg="inference compute" id=GPU-3f1c library=cuda variant=v12 compute=8.6 '
        'driver=12.4 name="NVIDIA GeForce RTX 3060" total="11.8 GiB" available="10.9 GiB"\n'
        "level=INFO source=server.go:175 msg=offload library=cuda layers.requested=-1 layers.model=65 "
        'layers.offload=31 layers.split="" memory.available="[10.9 GiB]" memory.required.full="21.9 GiB"\n'
        '{"models":[{"name":"gemma4","size":6591830464,"size_vram":5333539264}]}\n'
    ),
    "stated-link": "The GPU runs at PCIe x8 instead of x16.\n",
    "nvidia-smi-bare-rows": "nvidia-smi:\n0  A100  23511MiB / 40536MiB  98%\n1  A100  1203MiB / 40536MiB  0%\n",
    "precision-table": "| dtype | images/s |\n|---|---|\n| fp32 | 212 |\n| tf32 | 300 |\n| bf16 | 410 |\n",
    "stated-first-token": "TTFT is 9 s at 64 concurrent users but 0.2 s with one.\n",
    "stated-figures": "GPU utilisation is ~5 %, num_workers = 8, batch size 16, each step takes 1.2 s.\n",
    "framework-versions": "- TensorFlow version: 2.3.1\n- CUDA/cuDNN version: 10.1 / 7.6.5\n",
    "framework-messages": "GPU available: True (cuda), used: False\nUsing 16bit mixed precision\n",
    "framework-oom": (
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes.\n"
        "OOM when allocating tensor with shape[64,512,1024] and type float on /job:localhost/device:GPU:0\n"
        "CUDA error: out of memory\nRuntimeError: CUDNN_STATUS_ALLOC_FAILED\n"
        "Allocation of size 24.5 G failed, likely due to insufficient memory on device 1.\n"
        "Out of gpu memory. Free: 135266304 Asked: 402653184 !!!\n"
    ),
    "superbench-monitor": (
        '{"time": "2026-11-30 04:19:35", "gpu_usage:0": 56, "gpu_temperature:0": 26, "gpu_uncorrected_ecc:0": 1}\n'
        '{"time": "2026-11-30 04:19:46", "gpu_usage:0": 57, "gpu_temperature:0": 27, "gpu_uncorrected_ecc:0": 1}\n'
    ),
    "gpu-burn": "Freed memory for dev 1\ndone\n\nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: FAULTY\n",
    "gpu-comparisons": (
        "instance        GPU     pp512    tg128\n"
        "aws g6e.xlarge  L40S    9600.0   130.0\ngcp a2          A100    4800.0   150.0\n"
        "V100 box\ntorch==1.12.1+cu102, batch 32\n  epoch time: 212 s\n---\n"
        "A100 box\ntorch==2.1.0+cu121, batch 64\n  epoch time: 240 s\n"
    ),
    "gpu-digest": "run a  kernels 50 busy 2.00 ms span 8.00 ms mean kernel 40 us\n",
    "job-efficiency": (
        "  GPU utilization  [||||||||||||||||     68%]\n      node-a (GPU 0): 65.7%\n"
        "      node-a (GPU 0): 26.5GB/40.0GB (66.2%)\n"
        "     JobID   Cores  GPUs GPU-Util GPU-Mem-Used-Max  Hours\n"
        "    65698718   4     1      8%          4 GB    120\n"
    ),
    "stated-change": "After moving from T4 to A10 instances the training is not faster\n",
    "stated-latency": "In the server the queue takes 160 ms and compute 15 ms\n",
    "stated-model": "I serve Qwen2.5-32B-Instruct on a single A10 and it fails\n",
    "stated-memory": "The data sheet of the A10 says 24 GB but nvidia-smi shows 22.5 GiB of memory\n",
    "gpu-scaling": "GPUs  images/sec\n1     322\n8     561\na speedup with 2 GPUs of 1.17x\n",
    "launcher-failures": (
        "Root Cause (first observed failure):\n  rank      : 10 (local_rank: 2)\n  exitcode  : -9 (pid: 4471)\n"
        "mpirun noticed that process rank 3 with PID 12 on node n7 exited on signal 9 (Killed).\n"
    ),
    "gpustat": (
        "node7                Mon Nov 30 02:15:06 2026  550.90.12\n"
        "[0] NVIDIA A10       | 41°C,  97 % | 20111 / 23028 MB | ana(20100M) root(11M)\n"
        "[1] NVIDIA A10       | 30°C,   0 % |    11 / 23028 MB | root(11M)\n"
    ),
    "top": (
        "top - 02:15:06 up 3 days,  load average: 31.20, 30.11, 12.00\n"
        "Tasks: 400 total,   9 running, 391 sleeping,   0 stopped,   0 zombie\n"
        "%Cpu(s): 92.1 us,  3.0 sy,  0.0 ni,  1.2 id,  3.7 wa,  0.0 hi,  0.0 si,  0.0 st\n"
        "MiB Mem : 257000.1 total,   1200.0 free, 200000.0 used,  55800.1 buff/cache\n"
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
        "   4711 ana       20   0   40.1g  12.0g   1.0g R 399.0   4.7 120:11.30 python\n"
    ),
    "mpstat": (
        "Linux 5.15.0 (node7) \t11/30/26 \t_x86_64_\t(8 CPU)\n\n"
        "02:15:06     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
        "02:15:07     all   12.00    0.00    3.00   40.00    0.00    0.10    0.00    0.00    0.00   44.90\n"
        "02:15:07       0   99.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00\n"
    ),
    "lscpu": (
        "Architecture:                    x86_64\nCPU(s):                          64\n"
        "Thread(s) per core:              2\nCore(s) per socket:              16\n"
        "Socket(s):                       2\nNUMA node(s):                    2\n"
        "Model name:                      Some CPU @ 2.30GHz\nNUMA node0 CPU(s):               0-15,32-47\n"
    ),
    "df": (
        "Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme0n1p1  1.8T  1.7T   50G  98% /data\n"
        "shm              64M   64M     0 100% /dev/shm\n"
    ),
    "iostat": (
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "           5.00    0.00    2.00   45.00    0.00   48.00\n\n"
        "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s  aqu-sz  %util\n"
        "nvme0n1        900.00 115200.00     0.00   0.00   12.00   128.00    5.00    100.00   10.90  99.80\n"
    ),
    "host-memory-kills": (
        "[12345.678901] Out of memory: Killed process 4711 (python) total-vm:41943040kB, anon-rss:33554432kB, "
        "file-rss:1024kB, shmem-rss:2048kB, UID:1000 pgtables:70000kB oom_score_adj:0\n"
    ),
    "pressure": (
        "$ cat /proc/pressure/io\nsome avg10=45.10 avg60=40.00 avg300=12.00 total=123456789\n"
        "full avg10=30.00 avg60=25.00 avg300=9.00 total=98765432\n"
    ),
    "ulimit": (
        "core file size              (blocks, -c) 0\nmax locked memory           (kbytes, -l) 65536\n"
        "open files                          (-n) 1024\nmax user processes                  (-u) 4096\n"
    ),
    "time": "\nreal\t2m3.456s\nuser\t1m1.000s\nsys\t0m4.500s\n",
    "free": (
        "               total        used        free      shared  buff/cache   available\n"
        "Mem:           257000      200000        1200         500       55800       54000\n"
        "Swap:            8191        8000         191\n"
    ),
    "meminfo": (
        "MemTotal:       263168000 kB\nMemFree:         1228800 kB\nMemAvailable:   55296000 kB\n"
        "Cached:         50000000 kB\nSwapTotal:       8388604 kB\nSwapFree:         195000 kB\n"
    ),
    "vmstat": (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        " 9  4 819200 120000   9000 55000    0    0 90000   100 9000 9000 40  5 15 40  0\n"
        " 8  5 819200 110000   9000 55000    0    0 95000   100 9000 9000 38  5 14 43  0\n"
    ),
    "fio": (
        "seqread: (groupid=0, jobs=1): err= 0: pid=99: Mon Nov 30 02:15:06 2026\n"
        "  read: IOPS=1200, BW=150MiB/s (157MB/s)(4500MiB/30001msec)\n"
        "    clat (usec): min=90, max=90100, avg=830.10, stdev=100.00\n"
    ),
    "fio-json": (
        '{\n  "fio version" : "fio-3.28",\n  "jobs" : [\n    {\n      "jobname" : "r",\n      "error" : 0,\n'
        '      "read" : {\n        "bw_bytes" : 157286400,\n        "iops" : 1200.5,\n        "total_ios" : 36000\n'
        "      }\n    }\n  ]\n}\n"
    ),
    "dd": "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 429 MB/s\n",
    "dataloader-errors": (
        "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that dataloader's "
        "workers are out of shared memory. Please try to raise your shared memory limit.\n"
    ),
    "memory-figures": "INFO 11-30 02:15:06 gpu_executor.py:122] # GPU blocks: 7000, # CPU blocks: 2048\n",
    "memory-log": "".join(
        f"2026-11-30 02:15:{10 * n:02} step {n} GPU memory used: {9000 + 500 * n} MB\n" for n in range(6)
    ),
    "pytorch-memory-summary": (
        "|===========================================================================|\n"
        "|                  PyTorch CUDA memory summary, device ID 0                 |\n"
        "|---------------------------------------------------------------------------|\n"
        "|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n"
        "|===========================================================================|\n"
        "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
        "|---------------------------------------------------------------------------|\n"
        "| Allocated memory      |  14000 MiB |  22000 MiB |    712 GiB |    698 GiB |\n"
        "| GPU reserved memory   |  23000 MiB |  23010 MiB |     30 GiB |   8000 MiB |\n"
        "|===========================================================================|\n"
    ),
    "pytorch-memory-stats": (
        "OrderedDict([('active.all.current', 7), ('allocated_bytes.all.current', 1073741824), "
        "('allocated_bytes.all.peak', 2147483648), ('num_alloc_retries', 3), ('num_ooms', 1), "
        "('reserved_bytes.all.current', 3221225472)])\n"
    ),
    "allocator-digest": "segments=12 reserved_MiB=23000 allocated_MiB=14000 active_MiB=14100\n",
    "nccl-log": (
        "node1:100:200 [0] NCCL INFO NET/IB : No device found.\n"
        "node1:100:200 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read\n"
        "node1:100:200 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 12.000000/6.000000, type LOC/PHB\n"
    ),
    "nccl-tests": (
        "#  Rank  0 Group  0 Pid  71 on node1 device  0 [0x10] NVIDIA A100-SXM4-80GB\n"
        "    67108864    16777216   float   sum   -1    500.0  134.20  201.30      0    498.0  134.80  202.20  0\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 115.912\n"
    ),
    "nvbandwidth": (
        "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
        "           0         1\n 0       N/A    267.00\n 1    266.50       N/A\n"
        "device_to_host_memcpy_ce  12.9 8.3\n"
    ),
    "nsight-compute": (
        "  axpy(float*, int) (9, 32, 1)x(384, 1, 1), Context 1, Stream 7, Device 0, CC 8.0\n"
        "    Section: GPU Speed Of Light Throughput\n"
        "    ----------------------- ------------- ------------\n"
        "    Metric Name               Metric Unit Metric Value\n"
        "    ----------------------- ------------- ------------\n"
        "    Memory Throughput                   %        85.70\n"
        "    DRAM Throughput                     %        84.10\n"
        "    Duration                      usecond        12.50\n"
        "    Compute (SM) Throughput             %        12.30\n"
        "    ----------------------- ------------- ------------\n"
    ),
    "network-links": (
        "Aug 17 06:18:01 n1 systemd-networkd[53]: ib6: lost carrier\nCA 'mlx5_0'\n\t\tState: Active\n\t\tRate: 400\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]\n 65536 5000 197.53 196.80 0.375\n"
        "[SUM]   0.00-10.00  sec  10.9 GBytes  9.36 Gbits/sec   30   sender\n"
    ),
    "nsys-stats": (
        " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n"
        " Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)          Name\n"
        " --------  ---------------  ---------  --------  --------  --------  --------  -----------  "
        "---------------\n"
        "    100.0          2000000       1000    2000.0    1900.0      1500      9000        100.0  void "
        "k<float>()\n"
    ),
    "nvprof": (
        "==99== Profiling result:\n"
        "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"
        " GPU activities:   60.00%  6.00000s      1000  6.0000ms  1.0000ms  9.0000ms  void my_kernel<float>(int)\n"
        "                   40.00%  4.00000s       100  40.000ms  1.0000us  90.000ms  [CUDA memcpy HtoD]\n"
        "      API calls:   90.00%  9.00000s      2000  4.5000ms  5.0000us  9.0000ms  cudaLaunchKernel\n"
    ),
    "lightning-profiler": (
        "FIT Profiler Report\n\n"
        "|  Action                       |  Mean duration (s)  |  Num calls  |  Total time (s)  |  Percentage %  |\n"
        "----------------------------------------------------------------------------------------------------\n"
        "|  Total                        |  -                  |  900        |  50.0            |  100 %         |\n"
        "----------------------------------------------------------------------------------------------------\n"
        "|  run_training_epoch           |  40.0               |  1          |  40.0            |  80.0          |\n"
        "|  [_TrainingEpochLoop].train_dataloader_next  |  0.3 |  100        |  30.0            |  60.0          |\n"
    ),
    "python-traceback": (
        'Traceback (most recent call last):\n  File "train.py", line 20, in <module>\n    loss.backward()\n'
        "RuntimeError: something failed\n"
    ),
    "pytorch-oom": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 "
        "GiB of which 411.06 MiB is free. Process 99 has 3.00 GiB memory in use. Of the allocated memory "
        "17.94 GiB is "
        "allocated by PyTorch, and 4.87 GiB is reserved by PyTorch but unallocated.\n"
    ),
    "nvidia-smi-csv": (
        "index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], temperature.gpu\n"
        "0, NVIDIA A10, 97 %, 20111 MiB, 23028 MiB, 148.20 W, 71\n1, NVIDIA A10, [N/A], 11 MiB, 23028 MiB, "
        "[N/A], 30\n"
    ),
    "nvidia-smi-dmon": (
        "# gpu   pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n"
        "# Idx     W      C      C      %      %      %      %    MHz    MHz\n"
        "    0   148     71      -     97     60      0      0   6250   1695\n"
        "    0   150     72      -     35     20      0      0   6250   1695\n"
    ),
    "nvidia-smi-failure": (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
        "NVIDIA driver is installed and running.\n"
    ),
    "nvidia-smi-list": "GPU 0: NVIDIA A10 (UUID: GPU-01234567-89ab-cdef-0123-456789abcdef)\n",
    "nvidia-smi-q": (
        "==============NVSMI LOG==============\n\nDriver Version                            : 550.90.12\n"
        "Attached GPUs                             : 1\nGPU 00000000:1A:00.0\n"
        "    Product Name                          : NVIDIA A10\n    FB Memory Usage\n"
        "        Total                             : 23028 MiB\n        Used                              : "
        "20111 MiB\n"
        "    Utilization\n        Gpu                               : 97 %\n"
        "    Clocks Event Reasons\n        SW Power Cap                      : Active\n"
        "        HW Slowdown                       : Not Active\n"
    ),
    "nvidia-smi": (
        "Mon Nov 30 02:15:06 2026\n"
        "+-----------------------------------------------------------------------------------------+\n"
        "| NVIDIA-SMI 550.90.12              Driver Version: 550.90.12      CUDA Version: 12.4     |\n"
        "|-----------------------------------------+------------------------+----------------------+\n"
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
        "|=========================================+========================+======================|\n"
        "|   0  NVIDIA A10                     On  |   00000000:1A:00.0 Off |                    0 |\n"
        "|  0%   71C    P0            148W /  150W |   20111MiB /  23028MiB |     97%      Default |\n"
        "+-----------------------------------------+------------------------+----------------------+\n"
        "|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |\n"
        "|=========================================================================================|\n"
        "|    0   N/A  N/A      4711      C   python                                      20100MiB |\n"
        "+-----------------------------------------------------------------------------------------+\n"
    ),
    "nvidia-smi-xml": (
        "<?xml version='1.0' ?>\n<nvidia_smi_log>\n  <driver_version>550.90.12</driver_version>\n"
        "  <gpu id='00000000:1A:00.0'>\n    <product_name>NVIDIA A10</product_name>\n"
        "    <fb_memory_usage><total>23028 MiB</total><used>20111 MiB</used></fb_memory_usage>\n"
        "    <utilization><gpu_util>97 %</gpu_util></utilization>\n  </gpu>\n</nvidia_smi_log>\n"
    ),
    "step-log": "".join(
        f"epoch 1 iter {n}/500 loss 2.{n} data_time 0.300 batch_time 0.400 max mem: 22910\n" for n in range(1, 9)
    ),
    "nvidia-smi-topology": (
        "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tNV18\tPXB\t0-47\t0\t\tN/A\nGPU1\tNV18\t X \tSYS\t0-47\t0\t\tN/A\nNIC0\tPXB\tSYS\t X\n"
    ),
    "torch-profiler-table": (
        "-------------------  ------------  ------------  ------------  ------------  ------------\n"
        "               Name    Self CPU %      Self CPU   CPU total %     CPU total    # of Calls\n"
        "-------------------  ------------  ------------  ------------  ------------  ------------\n"
        "        aten::conv2d        10.00%       1.000ms        60.00%       6.000ms           100\n"
        "    cudaLaunchKernel        40.00%       4.000ms        40.00%       4.000ms          1000\n"
        "-------------------  ------------  ------------  ------------  ------------  ------------\n"
        "Self CPU time total: 10.000ms\n"
    ),
    "labelled": "* Mine: **12.5 ms/frame**\npeak memory: 2.5 GiB\n",
    "dcgm-messages": (
        "| GPU Memory                | Pass - GPUs: 0, 1                              |\n"
        "|                           | Fail - GPU: 2                                  |\n"
        "| Warning                   | GPU 2 Thermal violations totaling 1.5 seconds  |\n"
        "|                           |  started at 12.0 seconds into the test         |\n"
        "Detected 42 PCIe replays per minute for GPU 2, dcgm\n"
        "dcgm: Detected 2 volatile double-bit ECC errors in GPU 3\n"
    ),
    "gpu-metrics": (
        "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",modelName="NVIDIA A30",GPU_I_ID="3",GPU_I_PROFILE="1g.6gb"} 97\n'
        'DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",GPU_I_ID="3"} 0.5 1700000000000\n'
        'DCGM_FI_DEV_XID_ERRORS{gpu="0"} 31\nDCGM_FI_DEV_THERMAL_VIOLATION{gpu="0"} 5000000 1000\n'
        'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0"} 4\ndcgm_gpu_temp{gpu="0",uuid="x"} 40\n'
        'nvidia_smi_gpu_info{index="2",name="NVIDIA L40S",uuid="u"} 1\nnvidia_smi_pstate{uuid="u"} 8\n'
    ),
    "hardware-messages": "RuntimeError: CUDA error: uncorrectable ECC error encountered\n",
    "kernel-log-nvidia": (
        "[  100.500000] NVRM: Xid (PCI:0000:0a:00): 31, pid=777, name=train, Ch 00000010, intr 00000000. MMU Fault\n"
        "[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 119, pid=20, name=smi, Timeout after 6s of waiting for "
        "RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC)\n"
        "Jul 23 11:19:46 host kernel: [ 7.2] NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.\n"
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 44 egress PRIV error (First)\n"
        "4,1227,437812449932,c;NVRM: Xid PCI:0000:01:00: 43, pid=18, name=a, Ch 00000018\nXID 48 on GPU 3\n"
    ),
    "kernel-log-pcie": (
        "[ 8124.5] pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0\n"
        "[ 8124.5] nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n"
        "[ 8124.5] nvidia 0000:41:00.0:   device [10de:2204] error status/mask=00000001/0000a000\n"
        "[ 10.7] pci 0000:04:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at "
        "0000:01:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)\n"
    ),
    "machine-type": "instance-type: g6e.xlarge\n",
    "nvidia-smi-nvlink": (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-11111111-2222)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n"
        "\t Link 0: Replay Errors: 1\n\t Link 0: CRC Errors: 40\n"
        "GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-21111111-2222)\n"
        "NVML: Unable to retrieve NVLink information as all links are inactive\n"
    ),
    "pcie-links": (
        "64:01.0 PCI bridge: Intel Corporation Device 347a (rev 06)\n\tBus: primary=64, secondary=65, subordinate=65\n"
        "\t\tLnkCap:\tPort #5, Speed 8GT/s, Width x8, ASPM not supported\n"
        "65:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)\n"
        "/sys/bus/pci/devices/0000:3b:00.0/current_link_speed:2.5 GT/s PCIe\n"
        "Device 1 [GeForce GTX 1080 Ti] PCIe GEN 1@16x RX: 0 KiB/s\n"
    ),
}
