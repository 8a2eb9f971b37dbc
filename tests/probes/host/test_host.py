"""What the host probe makes of the files of a machine, as differences over a window and as states."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuwhy.kb.facts import HOST, JOB, Entity, gpu
from gpuwhy.probes import host_cpu_live, host_disks_live, host_memory_live, host_topology
from gpuwhy.probes.gathering import Readings
from gpuwhy.probes.host_tree import Tree, Unread, cpu_list
from gpuwhy.probes.host_watch import HostWatch
from tests.probes.host.trees import V2_GROUPS, V2_MOUNTS, reasons, values, write

GROUP = "/sys/fs/cgroup/jobs.slice/job-7.scope"
WINDOW = 10.0


def cpu_window(tmp_path: Path, before: dict[str, str], after: dict[str, str]) -> Readings:
    tree, readings = Tree(write(tmp_path, before)), Readings("host")
    first = host_cpu_live.observe(tree)
    write(tmp_path, after)
    host_cpu_live.fold(tree, first, host_cpu_live.observe(tree), WINDOW, readings)
    return readings


def pressure(some: int, full: int) -> str:
    return (
        f"some avg10=12.50 avg60=2.38 avg300=0.00 total={some}\nfull avg10=1.00 avg60=0.50 avg300=0.00 total={full}\n"
    )


# CPUs


def test_shares_of_the_cpus_are_of_the_window_alone(tmp_path: Path) -> None:
    before = "cpu  1000 0 1000 9000 500 0 0 0 0 0\ncpu0 500 0 500 4500 250 0 0 0\ncpu1 500 0 500 4500 250 0 0 0\n"
    after = "cpu  1900 100 1100 9300 700 0 100 300 0 0\ncpu0 1450 0 550 4500 250 0 0 0\ncpu1 450 0 550 5400 250 0 0 0\n"
    found = values(cpu_window(tmp_path, {"/proc/stat": before}, {"/proc/stat": after}))
    # added: user 900, nice 100, system 100, idle 300, iowait 200, softirq 100, steal 300: 2000 ticks
    assert found["host.cpu_user_share"] == pytest.approx(0.50)
    assert found["host.cpu_system_share"] == pytest.approx(0.10)
    assert found["host.cpu_busy_share"] == pytest.approx(0.60)
    assert found["host.cpu_idle_share"] == pytest.approx(0.15)
    assert found["host.cpu_iowait_share"] == pytest.approx(0.10)
    assert found["host.cpu_steal_share"] == pytest.approx(0.15)
    assert found["host.cpu_busiest_share"] == pytest.approx(1.0)  # cpu0: 950 user and 50 system of 1000


def test_counters_that_stand_still_or_run_backwards_are_no_reading(tmp_path: Path) -> None:
    text = "cpu  1000 0 1000 9000 500 0 0 0 0 0\n"
    found = cpu_window(tmp_path, {"/proc/stat": text}, {"/proc/stat": text})
    assert "host.cpu_busy_share" not in values(found)
    assert reasons(found)["host.cpu_busy_share"] == "the clock of the CPUs did not advance in the window"


def test_pressure_is_the_share_of_the_window(tmp_path: Path) -> None:
    names = [f"/proc/pressure/{one}" for one in ("cpu", "memory", "io")]
    readings = cpu_window(
        tmp_path,
        {name: pressure(1_000_000, 500_000) for name in names},
        {name: pressure(4_000_000, 1_500_000) for name in names},
    )
    found = values(readings)
    assert found["host.io_pressure_some_share"] == pytest.approx(0.3)  # 3 s of 10 s
    assert found["host.memory_pressure_full_share"] == pytest.approx(0.1)
    assert found["host.cpu_pressure_some_10_seconds_share"] == pytest.approx(0.125)
    assert "host.cpu_pressure_full_10_seconds_share" not in found  # of the whole system it is always 0


def test_a_kernel_that_counts_no_pressure_says_so(tmp_path: Path) -> None:
    found = reasons(cpu_window(tmp_path, {}, {}))
    assert "psi=1" in found["host.io_pressure_some_share"]


def stat(periods: int, throttled: int, held: int) -> str:
    return f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {held}\n"


def test_held_back_periods_are_those_of_the_window_in_the_worst_group(tmp_path: Path) -> None:
    base = {
        "/proc/self/mountinfo": V2_MOUNTS,
        "/proc/self/cgroup": V2_GROUPS,
        f"{GROUP}/cpu.max": "400000 100000\n",
        "/sys/fs/cgroup/jobs.slice/cpu.max": "800000 100000\n",
    }
    before = {f"{GROUP}/cpu.stat": stat(1000, 900, 0), "/sys/fs/cgroup/jobs.slice/cpu.stat": stat(500, 0, 0)}
    after = {f"{GROUP}/cpu.stat": stat(1100, 910, 0), "/sys/fs/cgroup/jobs.slice/cpu.stat": stat(600, 40, 2_000_000)}
    found = values(cpu_window(tmp_path, base | before, after))
    assert found["host.cpu_throttled_period_share"] == pytest.approx(0.4)  # 40 of 100, above the job's own 10
    assert found["host.cpu_throttled_seconds"] == pytest.approx(2.0)


def test_no_quota_in_sight_is_not_never_held_back(tmp_path: Path) -> None:
    base = {"/proc/self/mountinfo": V2_MOUNTS, "/proc/self/cgroup": V2_GROUPS, f"{GROUP}/cpu.max": "max 100000\n"}
    found = cpu_window(tmp_path, base, {})
    assert "host.cpu_throttled_period_share" not in values(found)
    assert "no control group that is visible here has a quota" in reasons(found)["host.cpu_throttled_period_share"]


@pytest.mark.parametrize(
    ("online", "allowed", "cpuset", "quota", "usable"),
    [
        ("0-15", "0-15", "0-15", "max", 16.0),
        ("0-15", "0-3", "0-15", "max", 4.0),
        ("0-15", "0-15", "8-9", "max", 2.0),
        ("0-15", "0-15", "0-15", "650000", 6.5),
        ("0-1", "0-1", "0-1", "800000", 2.0),
        ("0-15", "0-3", "2-9", "max", 2.0),
    ],
    ids=["all", "affinity", "cpuset", "quota", "quota above the CPUs", "affinity and cpuset"],
)
def test_usable_cpus_are_the_least_of_all_limits(
    tmp_path: Path, online: str, allowed: str, cpuset: str, quota: str, usable: float
) -> None:
    files = {
        "/sys/devices/system/cpu/online": online + "\n",
        "/proc/self/status": f"Name:\tpython\nCpus_allowed_list:\t{allowed}\n",
        "/proc/self/mountinfo": V2_MOUNTS,
        "/proc/self/cgroup": V2_GROUPS,
        f"{GROUP}/cpuset.cpus.effective": cpuset + "\n",
        f"{GROUP}/cpu.max": f"{quota} 100000\n",
    }
    readings = Readings("host")
    host_cpu_live.read_counts(Tree(write(tmp_path, files)), readings)
    assert values(readings)["host.effective_cpu_count"] == usable


@pytest.mark.parametrize(("text", "cpus"), [("0-2,8", {0, 1, 2, 8}), ("", set()), ("5", {5})])
def test_a_list_of_cpus(text: str, cpus: set[int]) -> None:
    assert cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["0-", "x", "3-1", "0-99999999999", "-1"])
def test_no_list_of_cpus(text: str) -> None:
    with pytest.raises(Unread):
        cpu_list(text)


# memory


def test_memory_now(tmp_path: Path) -> None:
    text = "MemTotal: 1000 kB\nMemFree:  100 kB\nMemAvailable: 400 kB\nBuffers: 5 kB\nCached: 300 kB\n"
    text += "SwapTotal: 50 kB\nSwapFree: 20 kB\nHugePages_Total: 0\n"
    readings = Readings("host")
    host_memory_live.read_memory(Tree(write(tmp_path, {"/proc/meminfo": text})), readings)
    found = values(readings)
    assert found["host.memory_total_bytes"] == 1000 * 1024
    assert found["host.memory_used_bytes"] == 600 * 1024
    assert found["host.swap_used_bytes"] == 30 * 1024
    assert found["host.memory_cache_bytes"] == 305 * 1024
    assert "host.memory_limit_bytes" in reasons(readings)


def memory_window(tmp_path: Path, before: dict[str, str], after: dict[str, str]) -> Readings:
    tree, readings = Tree(write(tmp_path, before)), Readings("host")
    first = host_memory_live.observe(tree)
    write(tmp_path, after)
    host_memory_live.fold(first, host_memory_live.observe(tree), WINDOW, readings)
    return readings


def test_swapping_and_kills_are_those_of_the_window(tmp_path: Path) -> None:
    before = {"/proc/vmstat": "pswpin 1000\npswpout 5\npgmajfault 70\noom_kill 7\n"}
    after = {"/proc/vmstat": "pswpin 3000\npswpout 5\npgmajfault 170\noom_kill 8\n"}
    found = values(memory_window(tmp_path, before, after))
    assert found["host.swap_in_bytes_per_second"] == 200 * host_memory_live.PAGE_BYTES
    assert found["host.swap_out_bytes_per_second"] == 0
    assert found["host.major_page_faults_per_second"] == 10
    assert found["host.out_of_memory_kills"] == found["host.out_of_memory_kills_new"] == 1
    assert found["host.kill_scope"] == "system"


def test_kills_before_the_window_are_no_kills_of_this_job(tmp_path: Path) -> None:
    text = {"/proc/vmstat": "pswpin 0\npswpout 0\npgmajfault 0\noom_kill 7\n"}
    found = values(memory_window(tmp_path, text, text))
    assert found["host.out_of_memory_kills_new"] == 0
    assert "host.out_of_memory_kills" not in found


def test_an_unlimited_limit_is_no_number(tmp_path: Path) -> None:
    text = "Limit                     Soft Limit           Hard Limit           Units     \n"
    text += "Max open files            1024                 524288               files     \n"
    text += "Max locked memory         unlimited            unlimited            bytes     \n"
    readings = Readings("host")
    host_memory_live.read_limits(Tree(write(tmp_path, {"/proc/77/limits": text}), "77"), readings)
    assert values(readings)["host.open_files_limit"] == 1024
    assert "no limit" in reasons(readings)["host.locked_memory_limit_bytes"]


def filesystem(blocks: int, free: int, available: int) -> os.statvfs_result:
    return os.statvfs_result((4096, 4096, blocks, free, available, 0, 0, 0, 0, 255))


def test_shared_memory_is_that_of_the_process(tmp_path: Path) -> None:
    asked = []

    def statvfs(path: str) -> os.statvfs_result:
        asked.append(path)
        return filesystem(16384, 4096, 4096)  # 64 MiB, of which 16 MiB are free

    readings = Readings("host")
    host_memory_live.read_shared_memory(Tree(tmp_path, "77"), readings, statvfs)
    assert asked == [str(tmp_path / "proc/77/root/dev/shm")]
    assert values(readings)["loader.shared_memory_total_bytes"] == 64 << 20
    assert values(readings)["loader.shared_memory_used_share"] == 0.75


# disks


def diskstats(reads: int, sectors: int, read_ms: int, busy_ms: int, weighted: int, name: str = "vda") -> str:
    return f" 254 0 {name} {reads} 0 {sectors} {read_ms} 0 0 0 0 0 {busy_ms} {weighted} 0 0 0 0\n"


def test_disk_rates_are_differences_of_whole_disks(tmp_path: Path) -> None:
    write(tmp_path, {"/sys/block/vda/size": "1\n", "/sys/block/loop0/size": "1\n"})
    tree, readings = Tree(tmp_path), Readings("host")
    write(tmp_path, {"/proc/diskstats": diskstats(100, 8000, 50, 40, 60) + diskstats(1, 1, 1, 1, 1, "vda1")})
    first = host_disks_live.observe(tree)
    more = (
        diskstats(300, 48000, 850, 9040, 20060) + diskstats(9, 9, 9, 9, 9, "vda1") + diskstats(9, 9, 9, 9, 9, "loop0")
    )
    write(tmp_path, {"/proc/diskstats": more})
    host_disks_live.fold(first, host_disks_live.observe(tree), WINDOW, readings)
    found = values(readings, Entity("disk", "vda", HOST))
    assert found["disk.read_bytes_per_second"] == 40000 * 512 / 10
    assert found["disk.read_operations_per_second"] == 20.0
    assert found["disk.read_wait_seconds"] == pytest.approx(0.004)  # 800 ms for 200 reads
    assert found["disk.busy_share"] == pytest.approx(0.9)  # 9 s of 10 s
    assert found["disk.queue_length"] == pytest.approx(2.0)  # 20 s of requests in 10 s
    assert "disk.write_wait_seconds" not in found
    assert values(readings, Entity("disk", "vda1", HOST)) == {}


def machine_with_volumes(root: Path) -> Tree:
    """/data is a logical volume on two partitions of two disks; /home is on the network; /shm in memory."""
    mountinfo = "1 0 253:0 / / rw - ext4 /dev/vda rw\n2 1 252:0 / /data rw - xfs /dev/mapper/vg rw\n"
    mountinfo += "3 1 0:50 / /home rw - nfs4 nas:/home rw\n4 1 0:51 / /with\\040blank rw - fuse.ossfs ossfs rw\n"
    devices = root / "sys" / "devices"
    write(
        root,
        {
            "/proc/self/mountinfo": mountinfo,
            "/sys/devices/nvme0n1/nvme0n1p1/partition": "1\n",
            "/sys/devices/nvme0n1/nvme0n1p1/dev": "259:1\n",
            "/sys/devices/nvme1n1/dev": "259:2\n",
            "/sys/devices/vda/dev": "253:0\n",
            "/sys/devices/dm-0/dev": "252:0\n",
            "/sys/block/nvme0n1/device/model": "SAMSUNG MZWLJ3T8HBLS-00007\n",
            "/sys/block/nvme1n1/device/model": "SAMSUNG MZWLJ3T8HBLS-00007\n",
        },
    )
    (devices / "dm-0" / "slaves").mkdir()
    (devices / "dm-0" / "slaves" / "nvme0n1p1").symlink_to(devices / "nvme0n1" / "nvme0n1p1")
    (devices / "dm-0" / "slaves" / "nvme1n1").symlink_to(devices / "nvme1n1")
    links = root / "sys" / "dev" / "block"
    links.mkdir(parents=True)
    for number, place in (("253:0", "vda"), ("252:0", "dm-0"), ("259:1", "nvme0n1/nvme0n1p1"), ("259:2", "nvme1n1")):
        (links / number).symlink_to(devices / place)
    return Tree(root)


@pytest.mark.parametrize(
    ("path", "point", "disks", "location"),
    [
        ("/data/set/a.tar", "/data", "nvme0n1, nvme1n1", "local-nvme"),
        ("/database", "/", "vda", "cloud-disk"),
        ("/home/x", "/home", None, "network-file-system"),
        ("/with blank/x", "/with blank", None, "object-store"),
    ],
    ids=["logical volume", "root", "network", "object store"],
)
def test_a_path_leads_to_its_disks(tmp_path: Path, path: str, point: str, disks: str | None, location: str) -> None:
    readings = Readings("host")
    tree = machine_with_volumes(tmp_path)
    host_disks_live.read_paths(tree, [path], readings, lambda _: filesystem(100, 40, 40))
    found = values(readings, Entity("filesystem", point, HOST))
    assert found.get("filesystem.disks") == disks
    assert found["filesystem.used_share"] == pytest.approx(0.6)
    assert values(readings, JOB)["job.data_location"] == location


def test_paths_that_disagree_tell_no_location(tmp_path: Path) -> None:
    readings = Readings("host")
    tree = machine_with_volumes(tmp_path)
    host_disks_live.read_paths(tree, ["/data/a", "/home/b"], readings, lambda _: filesystem(100, 40, 40))
    assert "job.data_location" not in values(readings, JOB)


# topology


def machine_with_a_gpu(root: Path, **files: str) -> Tree:
    address, bridge = "0000:3b:00.0", "0000:3a:00.0"
    place = f"/sys/devices/pci0000:3a/{bridge}/{address}"
    own = {
        "vendor": "0x10de\n",
        "class": "0x030200\n",
        "current_link_speed": "16.0 GT/s PCIe\n",
        "current_link_width": "16\n",
        "max_link_speed": "32.0 GT/s PCIe\n",
        "numa_node": "1\n",
    }
    write(root, {f"{place}/{name}": text for name, text in (own | files).items()})
    write(root, {f"/sys/devices/pci0000:3a/{bridge}/max_link_speed": "8 GT/s\n"})
    write(root, {f"/sys/devices/pci0000:3a/{bridge}/max_link_width": "8\n"})
    (root / "sys/bus/pci/devices").mkdir(parents=True)
    (root / "sys/bus/pci/devices" / address).symlink_to(root / place.lstrip("/"))
    return Tree(root)


def test_the_link_of_a_gpu_and_the_narrowest_above_it(tmp_path: Path) -> None:
    readings = Readings("host")
    known = {host_topology.normal("00000000:3B:00.0"): gpu(0)}
    host_topology.read_gpus(machine_with_a_gpu(tmp_path), known, readings)
    found = values(readings, gpu(0))
    assert (found["gpu.link_generation"], found["gpu.link_width"]) == (4, 16)
    assert (found["gpu.link_upstream_generation"], found["gpu.link_upstream_width"]) == (3, 8)
    assert found["gpu.numa_node"] == 1
    assert values(readings)["host.pci_gpu_count"] == 1


def test_fantasy_values_of_a_passed_through_card_are_no_reading(tmp_path: Path) -> None:
    readings = Readings("host")
    files = {"current_link_speed": "Unknown\n", "current_link_width": "63\n", "numa_node": "-1\n"}
    host_topology.read_gpus(machine_with_a_gpu(tmp_path, **files), {}, readings)
    entity = gpu("0000:3b:00.0")
    assert not {"gpu.link_generation", "gpu.link_width", "gpu.numa_node"} & set(values(readings, entity))
    assert {"gpu.link_generation", "gpu.link_width", "gpu.numa_node"} <= set(reasons(readings, entity))


# all of it


def test_a_machine_that_shows_nothing_is_all_reasons(tmp_path: Path) -> None:
    watch = HostWatch(Tree(tmp_path))
    watch.close()
    readings = watch.fold()
    found = values(readings)
    assert set(found) <= {
        "host.pci_gpu_count",
        "host.watched_seconds",
        *(one for one in found if "shared_memory" in one),
    }
    assert {
        "host.cpu_busy_share", "host.cpu_count", "host.effective_cpu_count", "host.memory_total_bytes",
        "disk.read_bytes_per_second", "host.swap_in_bytes_per_second", "host.io_pressure_some_share",
        "host.clock_source", "host.numa_node_count", "host.cpu_throttled_period_share",
    } <= set(reasons(readings))  # fmt: skip


def test_this_machine_fits_the_vocabulary() -> None:
    watch = HostWatch()
    watch.close()
    watch.read_paths(["/", os.getcwd()], watch.readings)
    assert 0 < float(values(watch.fold())["host.effective_cpu_count"]) <= len(os.sched_getaffinity(0))
