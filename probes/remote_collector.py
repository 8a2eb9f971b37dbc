"""Reads what a host tells about its GPUs and itself, and prints it as one framed document. Changes and writes nothing.

`gpuwhy collect` sends this file over SSH to `python3 - TOKEN SECONDS`. It needs Python 3.6 and its standard library, no
package and no privilege; what may not be read is left out with the reason. It runs at low priority, ends by itself
after SECONDS, asks no network, and leaves neither a file nor a process behind.

The document: a line `<<gpuwhy TOKEN begin python>>`, the body, and `<<gpuwhy TOKEN end bytes=N sha256=HEX>>`. The body
is a sequence of sections: `section<TAB>NAME<TAB>EXIT STATUS<TAB>BYTES`, so many bytes, a line end; or
`absent<TAB>NAME<TAB>REASON`; or `link<TAB>NAME<TAB>TARGET`, a symbolic link.
"""

import contextlib
import errno
import glob
import hashlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from typing import Dict, List, Optional, Set, Tuple

SECTION_LIMIT = 1 << 20
BODY_LIMIT = 6 << 20
COMMAND_SECONDS = 20.0
FILE_LIMIT = 1 << 16
MAX_PROCESSES = 16
MAX_KERNEL_LINES = 400
MIN_SNAPSHOT_SECONDS = 3.0

MORE_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/nvidia/bin:/usr/lib/wsl/lib:/opt/bin"

SNAPSHOT = (
    "/proc/uptime",
    "/proc/stat",
    "/proc/vmstat",
    "/proc/diskstats",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/pressure/irq",
)
FILES = (
    "/proc/sys/kernel/hostname",
    "/proc/version",
    "/proc/driver/nvidia/version",
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/self/mountinfo",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
)
PATTERNS = (
    "/sys/devices/system/node/node*/cpulist",
    "/sys/block/*/queue/rotational",
    "/sys/block/*/device/model",
    "/sys/block/*/device/vendor",
)
MAX_FOUND = 256
COMMANDS = ("df -P -l", "lscpu", "top -b -n 2 -d 1 -w 160", "nvidia-smi topo -m")
SMI = "nvidia-smi -q -x"
COMPUTE_APPS = "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory --format=csv"
KERNEL_LOGS = ("dmesg", "journalctl -k -b -q --no-pager -o short-monotonic")
KERNEL_WORDS = re.compile(
    r"NVRM|nvidia|Xid|SXid|AER:|PCIe Bus Error|available PCIe bandwidth|[Oo]ut of memory|oom-kill|oom_kill"
    r"|Machine [Cc]heck|mce:|EDAC|I/O error|temperature above threshold|soft lockup|hung_task|blocked for more than"
)
LINK_FILES = (
    "vendor",
    "device",
    "class",
    "numa_node",
    "current_link_speed",
    "current_link_width",
    "max_link_speed",
    "max_link_width",
)
BUS_ID = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")
PROCESS_FILES = ("comm", "status", "cgroup", "limits")
CGROUP_FILES = (
    "cpu.max",
    "cpu.stat",
    "cpu.pressure",
    "cpuset.cpus.effective",
    "cpuset.effective_cpus",
    "cpuset.cpus",
    "memory.max",
    "memory.high",
    "memory.current",
    "memory.events",
    "memory.pressure",
    "io.pressure",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "memory.oom_control",
)
CGROUP_COUNTERS = ("cpu.stat", "memory.events", "memory.oom_control")


class Body:
    """The sections, bounded in all: what finds no room is named."""

    def __init__(self) -> None:
        self.parts: List[bytes] = []
        self.size = 0

    def section(self, name: str, content: bytes, status: int = 0) -> None:
        content = content[:SECTION_LIMIT]
        if self.size + len(content) > BODY_LIMIT:
            self.absent(name, "no room: the document is as large as it may be")
            return
        head = f"section\t{plain(name)}\t{status}\t{len(content)}\n"
        self.add(head.encode("utf-8", "replace") + content + b"\n")

    def absent(self, name: str, reason: str) -> None:
        self.add(f"absent\t{plain(name)}\t{plain(reason)}\n".encode("utf-8", "replace"))

    def link(self, name: str, target: str) -> None:
        self.add(f"link\t{plain(name)}\t{plain(target)}\n".encode("utf-8", "replace"))

    def add(self, part: bytes) -> None:
        self.parts.append(part)
        self.size += len(part)


def plain(text: str) -> str:
    """A text on one line, without tabs and control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text)[:300]


def run(command: str, seconds: float, environment: Dict[str, str]) -> Tuple[Optional[bytes], int, str]:
    """What a command printed, its exit status, and why there is nothing. One that does not end in time is killed."""
    try:
        process = subprocess.Popen(
            command.split(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return None, 127, "not installed" if error.errno == errno.ENOENT else os.strerror(error.errno or 0)
    deadline = time.monotonic() + max(seconds, 0.1)
    out, err, ended = read_both(process, deadline)
    if not ended:
        kill(process)
        return None, 124, f"did not end within {seconds:.0f} s"
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if process.poll() is None:
        kill(process)
    return out or err, process.returncode if process.returncode is not None else 124, ""


def read_both(process: "subprocess.Popen[bytes]", deadline: float) -> Tuple[bytes, bytes, bool]:
    """Standard output and standard error up to the limit; False if the command had not closed them in time."""
    assert process.stdout is not None
    assert process.stderr is not None
    found = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
    out, err = list(found)
    still = [out, err]
    while still:
        left = deadline - time.monotonic()
        ready = select.select(still, [], [], left)[0] if left > 0 else []
        if not ready:
            return found[out], found[err], False
        for one in ready:
            piece = os.read(one, 65536)
            if not piece:
                still.remove(one)
            elif len(found[one]) < SECTION_LIMIT:
                found[one] += piece
    return found[out], found[err], True


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kills a command and what it started; it is not waited for, as it may hang in the kernel."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def read(path: str, limit: int = FILE_LIMIT) -> Tuple[Optional[bytes], str]:
    """The beginning of a file, or why it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(limit), ""
    except OSError as error:
        return None, "no such file" if error.errno == errno.ENOENT else os.strerror(error.errno or 0)


class Collector:
    """Fills a body until the time is over."""

    def __init__(self, seconds: float) -> None:
        self.body = Body()
        self.deadline = time.monotonic() + seconds
        self.seen: Set[str] = set()
        self.environment = dict(os.environ, LC_ALL="C", LANG="C", HOME="/nonexistent")
        self.environment["PATH"] = os.environ.get("PATH", "") + ":" + MORE_PATH

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def command(self, command: str) -> Optional[bytes]:
        """Runs a command as a section of its own."""
        if self.left() < 1:
            self.body.absent(command, "no time was left for it")
            return None
        out, status, reason = run(command, min(COMMAND_SECONDS, self.left()), self.environment)
        if out is None:
            self.body.absent(command, reason)
        else:
            self.body.section(command, out, status)
        return out if status == 0 else None

    def file(self, path: str, quiet: bool = False) -> Optional[bytes]:
        content, reason = read(path)
        if content is not None:
            self.body.section(path, content)
        elif not quiet:
            self.body.absent(path, reason)
        return content

    def driver(self) -> None:
        """What nvidia-smi says, and about each process that it lists."""
        first, status, reason = run(SMI, min(COMMAND_SECONDS, self.left()), self.environment)
        if first is None:
            self.body.absent(SMI, reason)
            return
        self.body.section(SMI, first, status)
        if not status:
            self.processes(self.command(COMPUTE_APPS) or b"")

    def processes(self, listed: bytes) -> None:
        """Each process that computes on a GPU: its name, limits and cgroup, never its arguments or environment."""
        pids = re.findall(r"(?m)^[^,\n]{1,100},\s*(\d{1,10}),", listed.decode("utf-8", "replace"))
        for pid in list(dict.fromkeys(pids))[:MAX_PROCESSES]:
            for name in PROCESS_FILES:
                content = self.file(f"/proc/{pid}/{name}", quiet=name != "comm")
                if name == "cgroup" and content is not None:
                    self.cgroups(content.decode("utf-8", "replace"))

    def cgroups(self, text: str) -> None:
        """The limits of a cgroup and of those above it: the smallest binds."""
        for line in text.splitlines()[:20]:
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            self.cgroup("/sys/fs/cgroup" + (controllers and "/" + controllers), path)

    def cgroup(self, root: str, path: str) -> None:
        parts = [one for one in path.split("/") if one not in ("", ".", "..")]
        for depth in range(len(parts), -1, -1):
            folder = os.path.join(root, *parts[:depth])
            for name in CGROUP_FILES:
                full = os.path.join(folder, name)
                if full not in self.seen:
                    self.seen.add(full)
                    self.file(full, quiet=True)

    def kernel_log(self) -> None:
        """Lines of the kernel's log about GPUs, PCIe, memory and machine checks; the newest."""
        reasons: List[str] = []
        for command in KERNEL_LOGS:
            out, status, reason = run(command, min(COMMAND_SECONDS, max(self.left(), 0.1)), self.environment)
            if out is not None and status == 0 and out.strip():
                lines = [one for one in out.decode("utf-8", "replace").splitlines() if KERNEL_WORDS.search(one)]
                self.body.section("kernel log", "\n".join(one[:1000] for one in lines[-MAX_KERNEL_LINES:]).encode())
                return
            said = (out or b"").decode("utf-8", "replace").strip().splitlines()
            reasons.append(f"{command.split()[0]}: {reason or (said[0] if said else 'it shows nothing')}")
        self.body.absent("kernel log", "; ".join(dict.fromkeys(reasons)))

    def links(self) -> None:
        """PCIe links of NVIDIA's devices and of the bridges above each, from sysfs."""
        found = 0
        for device in sorted(glob.glob("/sys/bus/pci/devices/*")):
            if (read(device + "/vendor")[0] or b"").strip() != b"0x10de":
                continue
            found += 1
            real = os.path.realpath(device)
            self.body.link(device, real)
            while BUS_ID.match(os.path.basename(real)) and real not in self.seen:
                self.seen.add(real)
                for name in LINK_FILES:
                    self.file(f"{real}/{name}", quiet=True)
                real = os.path.dirname(real)
        if not found:
            self.body.absent("pci links", "no PCI device of NVIDIA in /sys/bus/pci")

    def snapshot(self, which: str) -> None:
        """Counters, read twice: what they rose by says what went on in between."""
        counters = [one for one in sorted(self.seen) if os.path.basename(one) in CGROUP_COUNTERS]
        for path in [*SNAPSHOT, *counters]:
            content, reason = read(path, 4 * FILE_LIMIT)
            if content is not None:
                self.body.section(f"{which}:{path}", content)
            elif which == "before":
                self.body.absent(path, reason)

    def collect(self) -> bytes:
        """All of it; what matters most first, as time and room are bounded."""
        self.body.section("collector", f"python {sys.version.split()[0]}".encode())
        self.snapshot("before")
        began = time.monotonic()
        self.driver()
        self.kernel_log()
        self.links()
        for path in FILES:
            self.file(path)
        for pattern in PATTERNS:
            for path in sorted(glob.glob(pattern))[:MAX_FOUND]:
                self.file(path, quiet=True)
        for command in COMMANDS:
            self.command(command)
        time.sleep(max(0.0, min(began + MIN_SNAPSHOT_SECONDS - time.monotonic(), self.left())))
        self.snapshot("after")
        return b"".join(self.body.parts)


def main() -> None:
    """Collects and prints."""
    token, seconds = sys.argv[1], float(sys.argv[2])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(seconds) + 5)
    with contextlib.suppress(OSError):
        os.nice(10)
    body = Collector(seconds).collect()
    head = f"<<gpuwhy {token} begin python>>\n"
    end = f"\n<<gpuwhy {token} end bytes={len(body)} sha256={hashlib.sha256(body).hexdigest()}>>\n"
    out = sys.stdout.buffer
    out.write(("\n" + head).encode("ascii") + body + end.encode("ascii"))
    out.flush()


if __name__ == "__main__":
    main()
