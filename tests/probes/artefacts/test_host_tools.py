"""Memory, CPUs, disks and limits of a host as common tools print them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.kb.facts import Value
from gpuwhy.probes.artefacts import host_cpu, host_disk, host_limits, host_memory, host_storage
from gpuwhy.probes.artefacts.contract import Extract, TextFormat
from gpuwhy.probes.artefacts.host_values import binary_size, host_number, percent
from tests.probes.artefacts.helpers import claimed, scan, values

FORMATS: tuple[TextFormat, ...] = (
    *host_memory.FORMATS,
    *host_cpu.FORMATS,
    *host_disk.FORMATS,
    *host_storage.FORMATS,
    *host_limits.FORMATS,
)
MIB, GIB = 1024**2, 1024**3


def extracts(content: str) -> list[Extract]:
    """What all host formats whose hints are in the content make of it."""
    lowered = content.lower()
    return [e for f in FORMATS if any(hint in lowered for hint in f.hints) for e in scan(f, content)]


def facts(content: str) -> dict[tuple[str, str], Value]:
    """Readings by fact and entity path."""
    return values(extracts(content))


def host(content: str) -> dict[str, Value]:
    """Readings about the host."""
    return {fact: value for (fact, path), value in facts(content).items() if path == "host:this"}


FREE = """$ free -m
              total        used        free      shared  buff/cache   available
Mem:          64000       60000         500         100        3500        2500
Swap:          8192        4096        4096
"""


@pytest.mark.parametrize(
    ("content", "total"),
    [
        (FREE, 64000 * MIB),
        (FREE.replace("$ free -m\n", ""), 64000 * MIB),
        (FREE.replace("free -m", "free -g").replace("64000", "62"), 62 * GIB),
        (FREE.replace("$ free -m\n", "").replace("64000", "65536000"), 65536000 * 1024),
        (FREE.replace("64000", "62Gi").replace("-m", "-h"), 62 * GIB),
    ],
)
def test_free_in_any_unit(content: str, total: float) -> None:
    assert host(content)["host.memory_total_bytes"] == total


def test_free_swap_and_claims() -> None:
    found = host(FREE)
    assert found["host.swap_used_bytes"] == 4 * GIB
    assert found["host.memory_available_bytes"] == 2500 * MIB
    assert claimed(extracts(FREE)) == {2, 3, 4}


def test_old_free_counts_cache_apart() -> None:
    found = host(
        """             total       used       free     shared    buffers     cached
Mem:         16000      15000       1000          0        500       9500
-/+ buffers/cache:       5000      11000
Swap:            0          0          0
"""
    )
    assert found["host.memory_used_bytes"] == 5000 * MIB
    assert found["host.memory_available_bytes"] == 11000 * MIB
    assert found["host.memory_cache_bytes"] == 10000 * MIB


def test_meminfo() -> None:
    found = host("MemTotal:  1048576 kB\nMemAvailable: 524288 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n")
    assert found["host.memory_total_bytes"] == GIB
    assert found["host.memory_used_bytes"] == GIB / 2
    assert found["host.swap_used_bytes"] == MIB


def test_vmstat_leaves_out_the_sample_since_boot() -> None:
    found = host(
        """procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 9  9      0 100000   1000  50000   99   99  9999  9999  999  999 99  1  0  0  0
 2  1   1024 100000   1000  50000    0   10  2000    40  500  900 20  5 65 10  0
 4  3   1024 100000   1000  50000    0   30  4000    60  500  900 30  5 55 10  0
"""
    )
    assert found["host.cpu_user_share"] == pytest.approx(0.25)
    assert found["host.cpu_iowait_share"] == pytest.approx(0.10)
    assert found["host.running_tasks"] == 3
    assert found["host.swap_out_bytes_per_second"] == 20 * 1024
    assert found["host.block_read_bytes_per_second"] == 3000 * 1024


TOP_COMMA = """top - 17:04:13 up 7 days, 20:36,  2 users,  load average: 16,24, 9,07, 7,79
Threads: 581 total,  18 running, 561 sleeping,   0 stopped,   2 zombie
%Cpu(s): 50,6 us,  2,6 sy,  0,0 ni, 46,8 id,  1,5 wa,  0,0 hi,  0,0 si,  0,0 st
MiB Mem : 257856,9+total, 168617,4+free, 14159,22+used, 75080,26+buff/cache
MiB Swap: 16383,99+total, 16383,99+free,    0,000 used. 240516,5+avail Mem

  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  941 user      20   0 14,624g 1,500g 276120 R 99,90 4,496   3:23.93 python train.py --workers 8
"""


def test_top_with_decimal_commas_and_threads() -> None:
    found = facts(TOP_COMMA)
    assert found["host.load_1_minute", "host:this"] == 16.24
    assert found["host.running_tasks", "host:this"] == 18
    assert found["host.zombie_tasks", "host:this"] == 2
    assert found["host.cpu_user_share", "host:this"] == pytest.approx(0.506)
    assert found["host.cpu_iowait_share", "host:this"] == pytest.approx(0.015)
    assert found["host.memory_total_bytes", "host:this"] == pytest.approx(257856.9 * MIB)
    assert found["process.cpu_share", "process:941"] == pytest.approx(0.999)
    assert found["process.memory_share", "process:941"] == pytest.approx(0.04496)
    assert found["process.resident_bytes", "process:941"] == 1.5 * GIB
    assert found["process.name", "process:941"] == "python train.py --workers 8"
    assert claimed(extracts(TOP_COMMA)) == {1, 2, 3, 4, 5, 7, 8}


def test_old_top_and_its_first_screen_of_several() -> None:
    screen = (
        "top - 01:00:00 up 1 day,  1 user,  load average: 1.00, 1.00, 1.00\nCpu(s): {}%us,  1.0%sy, 60.0%id,  0.0%wa\n"
    )
    assert host(screen.format("39.0") + screen.format("80.0"))["host.cpu_user_share"] == pytest.approx(0.8)
    assert host(screen.format("39.0"))["host.cpu_user_share"] == pytest.approx(0.39)


def test_ps_rows_keep_the_heaviest_processes() -> None:
    rows = "\n".join(f"root {pid} 0.0 0.0 0 0 ? I< 03:40 0:00 [kworker/{pid}]" for pid in range(2, 60))
    head = "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND"
    content = f"{head}\n{rows}\nme 999 398 12.5 99 2097152 ? Rl 04:00 9:09 python a.py\n"
    found = facts(content)
    assert found["process.cpu_share", "process:999"] == pytest.approx(3.98)
    assert found["process.resident_bytes", "process:999"] == 2 * GIB
    assert sum(1 for fact, _ in found if fact == "process.name") <= 41


def test_mpstat_prefers_averages_and_names_the_busiest_cpu() -> None:
    content = """12:00:01     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
12:00:02     all   90.00    0.00    1.00    1.00    0.00    0.00    0.00    0.00    0.00    8.00
Average:     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
Average:     all   30.00    0.00    2.00    5.00    0.00    0.00    3.00    0.00    0.00   60.00
Average:       0   99.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00
Average:       1   10.00    0.00    1.00    0.00    0.00    0.00    0.00    0.00    0.00   89.00
"""
    found = host(content)
    assert found["host.cpu_user_share"] == pytest.approx(0.3)
    assert found["host.cpu_steal_share"] == pytest.approx(0.03)
    assert found["host.cpu_busiest_share"] == pytest.approx(1.0)
    assert found["host.cpu_count"] == 2


def test_lscpu() -> None:
    found = host(
        "Architecture:   x86_64\nCPU(s):    96\nSocket(s):    2\nModel name:  Intel(R) Xeon(R)\nNUMA node(s): 2\n"
    )
    assert (found["host.cpu_count"], found["host.socket_count"], found["host.numa_node_count"]) == (96, 2, 2)


@pytest.mark.parametrize("prefix", ["", "Filesystem Size Used Avail Use% Mounted on\n"])
def test_df_shows_shared_memory(prefix: str) -> None:
    found = facts(prefix + "shm              64M   60M  4.0M  94% /dev/shm\n/dev/sda1  100G 100G 0 100% /\n")
    assert found["loader.shared_memory_total_bytes", "host:this"] == 64 * MIB
    assert found["loader.shared_memory_used_share", "host:this"] == pytest.approx(0.94)
    assert found["filesystem.used_bytes", "filesystem:/dev/shm"] == 60 * MIB
    assert found["filesystem.available_bytes", "filesystem:/"] == 0


def test_df_in_blocks_and_inodes() -> None:
    found = facts("Filesystem     1K-blocks   Used Available Use% Mounted on\ntmpfs  1024 512 512 50% /dev/shm\n")
    assert found["filesystem.total_bytes", "filesystem:/dev/shm"] == MIB
    found = facts("Filesystem  Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 1000 990 10 99% /data\n")
    assert found == {("filesystem.inode_used_share", "filesystem:/data"): 0.99}


IOSTAT = """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           {user}    0.00    2.00   30.00    0.00   48.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s w_await aqu-sz  %util
nvme0n1        {reads}   2048.00     0.00   0.00    4.00    10.00    5.00     10.00    1.00   1.50  88.00

"""


def test_iostat_leaves_out_the_report_since_boot() -> None:
    found = facts(IOSTAT.format(user="90.00", reads="9999.00") + IOSTAT.format(user="20.00", reads="200.00"))
    assert found["host.cpu_user_share", "host:this"] == pytest.approx(0.2)
    assert found["host.cpu_iowait_share", "host:this"] == pytest.approx(0.3)
    assert found["disk.read_operations_per_second", "disk:nvme0n1"] == 200
    assert found["disk.read_bytes_per_second", "disk:nvme0n1"] == 2 * MIB
    assert found["disk.read_wait_seconds", "disk:nvme0n1"] == pytest.approx(0.004)
    assert found["disk.busy_share", "disk:nvme0n1"] == pytest.approx(0.88)
    assert found["disk.queue_length", "disk:nvme0n1"] == 1.5


def test_old_iostat_with_decimal_commas() -> None:
    found = facts(
        "Device:  rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util\n"
        "sda  0,00 0,00 120,00 0,00 2,50 0,00 8,00 3,20 25,00 5,00 99,90\n"
    )
    assert found["disk.read_bytes_per_second", "disk:sda"] == 2.5 * MIB
    assert found["disk.read_wait_seconds", "disk:sda"] == pytest.approx(0.025)
    assert found["disk.busy_share", "disk:sda"] == pytest.approx(0.999)


def test_iostat_json() -> None:
    report = '{"avg-cpu": {"user": 10.0, "iowait": %s}, "disk": [{"disk_device": "sda", "r/s": %s, "util": 50.0}]}'
    content = f'{{"sysstat": {{"hosts": [{{"statistics": [{report % (1.0, 5.0)}, {report % (40.0, 7.0)}]}}]}}}}'
    found = facts(content)
    assert found["host.cpu_iowait_share", "host:this"] == pytest.approx(0.4)
    assert found["disk.read_operations_per_second", "disk:sda"] == 7.0


FIO = """read-job: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=sync, iodepth=1
fio-3.36
  read: IOPS=50.5k, BW=200MiB/s (210MB/s)(1000MiB/5000msec)
    clat (nsec): min=0, max=2.0k, avg=1500.00, stdev=30.15
   bw (  KiB/s): min=1024, max=4096, per=87.85%, avg=2048.00, stdev=24564.78, samples=8
   iops        : min=36882, max=56598, avg=51221.25, stdev=6141.30, samples=8
"""


def test_fio_text() -> None:
    found = facts(FIO)
    assert found["storage.read_operations_per_second", "host:this"] == 50500
    assert found["storage.read_bytes_per_second", "host:this"] == 200 * MIB
    assert found["storage.read_latency_seconds", "host:this"] == pytest.approx(1.5e-6)
    assert found["reading.seconds", "measurement:read-job read clat most"] == pytest.approx(2e-6)
    assert found["reading.value", "measurement:read-job read iops mean"] == 51221.25
    assert claimed(extracts(FIO)) == set(range(1, 7))


def test_fio_json() -> None:
    content = (
        '{\n "fio version" : "fio-3.16",\n "jobs" : [{"jobname" : "a", "read" : {"total_ios" : 9, "bw_bytes" : 1000, '
        '"iops" : 5.5, "lat_ns" : {"mean" : 2000.0}}, "write" : {"total_ios" : 0, "bw_bytes" : 0}}]\n}\nrest\n'
    )
    found = host(content)
    assert found["storage.read_bytes_per_second"] == 1000
    assert found["storage.read_latency_seconds"] == pytest.approx(2e-6)
    assert "storage.write_bytes_per_second" not in found
    assert claimed(extracts(content)) == {1, 2, 3, 4}


def test_dd_reads_and_writes() -> None:
    done = "1000+0 records in\n1000+0 records out\n1000000000 bytes (1.0 GB, 954 MiB) copied, 4.0 s, 250 MB/s\n"
    assert host("$ dd if=/data/a of=/dev/null bs=1M\n" + done)["storage.read_bytes_per_second"] == 250e6
    assert host("$ dd if=/dev/zero of=/data/a bs=1M\n" + done)["storage.write_bytes_per_second"] == 250e6


def test_pressure_of_each_resource() -> None:
    found = host(
        "==> /proc/pressure/io <==\nsome avg10=45.00 avg60=40.00 avg300=7.79 total=95607287\n"
        "full avg10=30.00 avg60=2.38 avg300=7.79 total=1\n"
        "==> /proc/pressure/cpu <==\nsome avg10=1.00 avg60=2.00 avg300=3.00 total=1\n"
    )
    assert found["host.io_pressure_some_10_seconds_share"] == pytest.approx(0.45)
    assert found["host.io_pressure_full_10_seconds_share"] == pytest.approx(0.30)
    assert found["host.cpu_pressure_some_300_seconds_share"] == pytest.approx(0.03)


def test_limits_that_are_not_set_are_missing() -> None:
    (extract,) = extracts(
        "max locked memory           (kbytes, -l) 64\nopen files                          (-n) 1024\n"
        "max user processes                  (-u) unlimited\n"
    )
    found = values([extract])
    assert found["host.open_files_limit", "host:this"] == 1024
    assert found["host.locked_memory_limit_bytes", "host:this"] == 65536
    assert [(one.fact, one.reason) for one in extract.missing] == [("host.process_limit", "unlimited")]


def test_time_of_a_command() -> None:
    found = facts("real\t2m50.690s\nuser\t9m45.761s\nsys\t1m10.234s\n")
    assert found["job.elapsed_seconds", "job:this"] == pytest.approx(170.69)
    assert found["job.user_cpu_seconds", "job:this"] == pytest.approx(585.761)
    found = facts("1.23user 0.12system 1:01.40elapsed 96%CPU (0avgtext+0avgdata 5000maxresident)k\n")
    assert found["job.elapsed_seconds", "job:this"] == pytest.approx(61.4)


def test_numbers_of_any_locale() -> None:
    assert (host_number("50,6"), host_number("1,234"), host_number("257856,912")) == (50.6, 1234.0, 257856.912)
    assert percent("4,496") == pytest.approx(0.04496)
    assert (binary_size("14,624g"), binary_size("883M"), binary_size("12", 1024)) == (14.624 * GIB, 883 * MIB, 12288)


@pytest.mark.parametrize(
    "content",
    [
        "| Type C COMMAND filesystem device real elapsed 12% /",
        "total used free shared",
        "The device was full: 10G of 12G used, 90% /home I think.",
        "Device 0: NVIDIA A100, compute capability 8.0, VMM: yes",
        "real-time kernel 5m",
    ],
)
def test_prose_and_other_tools_give_nothing(content: str) -> None:
    assert extracts(content) == []


SAMPLE = FREE + TOP_COMMA + IOSTAT + FIO + "some avg10=45.00 avg60=40.00 avg300=7.79 total=9\n"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SAMPLE)), st.integers(0, len(SAMPLE)), st.text(max_size=30))
def test_cut_and_spliced_outputs_never_raise(start: int, end: int, junk: str) -> None:
    extracts(SAMPLE[start:] + junk + SAMPLE[:end])
