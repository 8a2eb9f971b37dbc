"""The document that comes back from a host, the reasons that ssh gives, and the programs that run on hosts."""

from __future__ import annotations

import ast
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuwhy.kb.facts import HOST
from gpuwhy.kb.load import load
from gpuwhy.probes.collected import facts_of
from gpuwhy.probes.collected_document import Damaged, Document, Section, parse
from gpuwhy.probes.remote_hosts import file_stem, hosts_in
from gpuwhy.probes.ssh_collect import collector_text, problem_with_host
from gpuwhy.probes.ssh_output import Reason, last_words, reason_of

BODY = b"section\tdf\t0\t5\na\tb\nc\nabsent\tlscpu\tnot installed\nlink\t/sys/a\t/sys/b\nsection\tempty\t3\t0\n\n"


def framed(body: bytes = BODY, token: str = "T", digest: str | None = None, size: int | None = None) -> bytes:
    sha = hashlib.sha256(body).hexdigest() if digest is None else digest
    count = len(body) if size is None else size
    return b"<<gpuwhy %s begin sh>>\n%s\n<<gpuwhy %s end bytes=%d sha256=%s>>\n" % (
        token.encode(),
        body,
        token.encode(),
        count,
        sha.encode(),
    )


def test_a_document_is_found_among_what_the_login_printed() -> None:
    noise = b"Welcome!\n<<gpuwhy OTHER begin sh>>\n\xff\x00\n"
    document = parse(noise + framed() + b"\n<<gpuwhy OTHER end bytes=1 sha256=->>\nGoodbye\n", "T")
    assert document.collector == "sh"
    assert document.sections == {"df": Section(b"a\tb\nc", 0), "empty": Section(b"", 3)}
    assert document.absent == {"lscpu": "not installed"}
    assert document.links == {"/sys/a": "/sys/b"}


def test_a_host_without_sha256sum_is_checked_by_length() -> None:
    assert parse(framed(digest="-"), "T").sections["df"].content == b"a\tb\nc"
    with pytest.raises(Damaged):
        parse(framed(digest="-", size=len(BODY) + 1), "T")


@pytest.mark.parametrize(
    "output",
    [
        framed()[: len(BODY)],
        framed(BODY).replace(b"a\tb", b"a\tx"),
        framed(size=3),
        framed(b"section\tdf\t0\t99\nshort"),
        framed(b"neither\tone\nnor\tthe other\n"),
        framed(b"section\tdf\t0\t-1\n"),
        b"<<gpuwhy T begin sh",
    ],
    ids=["cut", "altered", "length", "section-cut", "no-heading", "negative", "first-line"],
)
def test_a_damaged_document_is_refused_and_known_to_have_begun(output: bytes) -> None:
    with pytest.raises(Damaged) as refused:
        parse(output, "T")
    assert refused.value.begun


def test_another_run_of_the_collector_is_not_ours() -> None:
    with pytest.raises(Damaged) as refused:
        parse(framed(token="U"), "T")
    assert not refused.value.begun


# facts


def document(**sections: bytes) -> Document:
    names = {"kernel": "kernel log", "uptime": "before:/proc/uptime", "smi": "nvidia-smi -q -x", "top": "top"}
    return Document("python", {names[key]: Section(content, 0) for key, content in sections.items()})


KILL = b"[%s] Out of memory: Killed process 77 (python) total-vm:9000kB, anon-rss:8000kB, file-rss:0kB, shmem-rss:0kB"


@pytest.mark.parametrize(
    ("at", "told"),
    [(b"899999.000000", True), (b"813600.000000", True), (b"813599.000000", False)],
    ids=["now", "a-day-ago", "longer-ago"],
)
def test_the_kernel_log_of_the_last_day_counts(at: bytes, told: bool) -> None:
    # The host is up for 900000 s: a day ago is 813600 s.
    found = facts_of(document(kernel=KILL % at, uptime=b"900000.00 1.0\n"), load().facts)
    assert any(one.id == "host.out_of_memory_kills" for one in found.facts) is told


def test_an_xid_of_the_last_day_is_a_fact() -> None:
    line = (
        b"[899000.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    )
    told = facts_of(document(kernel=line, uptime=b"900000.00 1.0\n"), load().facts).facts
    assert any("xid" in one.id and one.value == 79 for one in told)


@pytest.mark.parametrize("uptime", [b"", b"soon\n"], ids=["empty", "no-number"])
def test_a_kernel_log_of_unknown_age_says_nothing(uptime: bytes) -> None:
    found = facts_of(document(kernel=KILL % b"1.000000", uptime=uptime), load().facts)
    assert not any(one.id == "host.out_of_memory_kills" for one in found.facts)


@pytest.mark.parametrize(
    ("why", "fact", "value"),
    [
        ("not installed", "host.smi_error", "not-installed"),
        ("did not end within 20 s", "host.nvml_error", "no-answer"),
        ("no time was left for it", None, None),
    ],
)
def test_a_driver_that_did_not_answer_is_a_fact_only_where_it_was_asked(
    why: str, fact: str | None, value: str | None
) -> None:
    found = facts_of(Document("python", absent={"nvidia-smi -q -x": why}), load().facts)
    assert [(one.id, one.value) for one in found.facts] == ([] if fact is None else [(fact, value)])
    assert [(one.id, one.entity) for one in found.absent if one.id == "gpu.count"] == [("gpu.count", HOST)]


def test_a_message_of_nvidia_smi_is_read() -> None:
    text = b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    found = facts_of(document(smi=text), load().facts)
    assert ("host.smi_error", "driver-not-loaded") in {(one.id, one.value) for one in found.facts}


def host_document(**more: str) -> Document:
    """A host of four CPUs, read twice within ten seconds, on which one process computes in a cgroup with a quota."""
    files = {
        "before:/proc/uptime": "1000.00 1.0",
        "after:/proc/uptime": "1010.00 1.0",
        "before:/proc/stat": "cpu  1000 0 200 8000 100 0 0 0 0 0\n",
        "after:/proc/stat": "cpu  1600 0 300 11100 200 0 0 100 0 0\n",
        "before:/proc/pressure/io": "some avg10=1.00 avg60=2.00 avg300=3.00 total=1000000\n",
        "after:/proc/pressure/io": "some avg10=1.00 avg60=2.00 avg300=3.00 total=3000000\n",
        "/proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n",
        "/sys/devices/system/cpu/online": "0-3\n",
        "/proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "/proc/77/status": "Name: python\nCpus_allowed_list:\t0-2\n",
        "/proc/77/cgroup": "0::/job\n",
        "/sys/fs/cgroup/job/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/job/cpu.stat": "nr_periods 100\nnr_throttled 10\nthrottled_usec 0\n",
        "after:/sys/fs/cgroup/job/cpu.stat": "nr_periods 200\nnr_throttled 60\nthrottled_usec 900\n",
    }
    sections = {name: Section(text.encode(), 0) for name, text in (files | more).items()}
    return Document("python", sections)


def host_facts(document: Document) -> dict[str, object]:
    return {one.id: one.value for one in facts_of(document, load().facts).facts}


def test_counters_read_twice_become_shares() -> None:
    found = host_facts(host_document())
    # Of 4000 ticks 600 were of users, 100 of the kernel, 100 waited for I/O, 100 were taken by the hypervisor.
    assert found["host.cpu_user_share"] == pytest.approx(600 / 4000)
    assert found["host.cpu_steal_share"] == pytest.approx(100 / 4000)
    assert found["host.io_pressure_some_share"] == pytest.approx(2e6 / 10e6)  # microseconds
    assert found["host.memory_available_bytes"] == 400 * 1024


def test_the_limits_of_the_one_job_count() -> None:
    found = host_facts(host_document())
    assert found["host.effective_cpu_count"] == 1.5  # a quota of 150 ms in 100 ms, less than 3 allowed of 4
    assert found["host.cpu_throttled_period_share"] == pytest.approx(50 / 100)


def test_of_several_jobs_nobodys_limits_count() -> None:
    several = {"/proc/78/status": "Cpus_allowed_list:\t3\n", "/proc/78/cgroup": "0::/other\n"}
    found = facts_of(host_document(**several), load().facts)
    assert not any(one.id == "host.effective_cpu_count" for one in found.facts)
    assert "processes with different limits use the GPUs" in {one.reason for one in found.absent}
    assert host_facts(host_document(**several))["host.cpu_count"] == 4


def test_links_of_pci_devices_are_followed() -> None:
    bridge = "/sys/devices/pci0000:00/0000:00:01.0"
    files = {
        f"{bridge}/max_link_speed": "8.0 GT/s PCIe\n",
        f"{bridge}/max_link_width": "4\n",
        f"{bridge}/0000:3b:00.0/vendor": "0x10de\n",
        f"{bridge}/0000:3b:00.0/class": "0x030200\n",
        f"{bridge}/0000:3b:00.0/current_link_width": "4\n",
        f"{bridge}/0000:3b:00.0/numa_node": "1\n",
    }
    document = host_document(**files)
    document.links["/sys/bus/pci/devices/0000:3b:00.0"] = f"{bridge}/0000:3b:00.0"
    found = host_facts(document)
    assert found["gpu.link_upstream_width"] == 4
    assert found["gpu.numa_node"] == 1


def test_a_host_that_names_files_elsewhere_writes_nothing_there(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    steps = "/".join([".."] * 12)
    files = {f"/proc/{steps}{victim}": "x", str(victim): "x", f"/sys/../..{victim}": "x", "/sys/away/victim": "x"}
    document = host_document(**files)
    document.links["/sys/away"] = str(tmp_path)
    document.links["/sys/there"] = f"/sys/{steps}{tmp_path}"
    document.links["/proc/inside"] = "/sys/elsewhere"
    document.sections["after:/proc/inside/victim"] = Section(b"x", 0)
    facts_of(document, load().facts)
    assert list(tmp_path.iterdir()) == []


# what ssh says


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("ssh: connect to host a port 22: Connection refused", Reason.DOWN),
        ("ssh: connect to host a port 22: No route to host", Reason.DOWN),
        ("ssh: connect to host a port 22: Connection timed out", Reason.DOWN),
        ("channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed", Reason.DOWN),
        ("ssh: Could not resolve hostname a: Name or service not known", Reason.NAME_UNKNOWN),
        ("Connection timed out during banner exchange", Reason.TIMEOUT),
        ("Timeout, server a not responding.", Reason.TIMEOUT),
        (
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
            Reason.HOST_KEY_CHANGED,
        ),
        ("No ED25519 host key is known for a and you have requested strict checking.", Reason.HOST_KEY_UNKNOWN),
        ("me@a: Permission denied (publickey).", Reason.AUTHENTICATION),
        ("kex_exchange_identification: Connection closed by remote host", Reason.CLOSED),
        ("command-line: line 0: Bad configuration option: nonsense", Reason.SSH_CONFIGURATION),
        ("Can't open user config file x: No such file or directory", Reason.SSH_CONFIGURATION),
        ("", Reason.SSH),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else value[:24].replace(" ", "-") or "nothing",
)
def test_the_reason_is_read_from_what_ssh_says(stderr: str, reason: Reason) -> None:
    assert reason_of(stderr + "\n") is reason
    assert reason.says


def test_last_words_are_one_clean_line() -> None:
    assert last_words("first\n\x1b[31mlast   one\x07\n \n") == "[31mlast one"


# names


def test_names_of_files_are_safe_and_differ() -> None:
    assert file_stem("admin@gpu-01.example.com") == "admin@gpu-01.example.com"
    odd = ["../../etc/passwd", "..", "a/b", "a b", "a:b", "x" * 300, "x" * 301, "gpu\u20ac"]
    stems = [file_stem(host) for host in odd]
    assert len(set(stems)) == len(odd)
    for stem in stems:
        assert "/" not in stem
        assert stem[0] != "."
        assert len(stem) < 120


def test_hosts_are_read_from_lines() -> None:
    assert hosts_in(["# all\n", "b a # c\n", "\n", "a\n"]) == ["b", "a"]
    assert problem_with_host("user@10.0.0.1") is None
    assert problem_with_host("-oProxyCommand=x") is not None
    assert problem_with_host("a\nb") is not None


# the programs that run on hosts


def test_the_collector_is_python_3_6_and_needs_no_package() -> None:
    tree = ast.parse(collector_text("python"), feature_version=(3, 6))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= set(sys.stdlib_module_names) - {"socket", "urllib", "http", "tempfile", "shutil"}


@pytest.mark.parametrize("which", ["python", "sh"])
def test_the_collector_runs_here_as_it_does_there(which: str, tmp_path: Path) -> None:
    program = [sys.executable, "-"] if which == "python" else [str(shutil.which("sh")), "-s", "--"]
    done = subprocess.run(
        [*program, "T", "30"], input=collector_text(which).encode(), capture_output=True, timeout=120, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, b"")
    found = parse(done.stdout, "T")
    assert found.collector == which
    assert found.sections["/proc/meminfo"].content.startswith(b"MemTotal:")
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_hangs_is_given_up_and_said(tmp_path: Path) -> None:
    hangs = tmp_path / "nvidia-smi"
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o755)
    text = collector_text("python").replace("COMMAND_SECONDS = 20.0", "COMMAND_SECONDS = 0.5")
    path = f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(
        [sys.executable, "-", "T", "30"], input=text.encode(), capture_output=True, timeout=120, env={"PATH": path}
    )
    assert parse(done.stdout, "T").absent["nvidia-smi -q -x"] == "did not end within 0 s"
