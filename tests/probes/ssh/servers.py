"""Real `sshd` processes on the loopback address, with keys, hosts and an ssh configuration of their own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.ports import free_port

XML = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<timestamp>Mon Nov 30 02:15:06 2026</timestamp>
<driver_version>535.104.05</driver_version>
<cuda_version>12.2</cuda_version>
<attached_gpus>1</attached_gpus>
<gpu id="00000000:3B:00.0">
<product_name>NVIDIA A10</product_name>
<minor_number>0</minor_number>
<performance_state>P8</performance_state>
<fb_memory_usage><total>23028 MiB</total><reserved>512 MiB</reserved><used>20 MiB</used>
<free>22496 MiB</free></fb_memory_usage>
<utilization><gpu_util>0 %</gpu_util><memory_util>0 %</memory_util></utilization>
<temperature><gpu_temp>31 C</gpu_temp></temperature>
<gpu_power_readings><power_draw>15.90 W</power_draw><current_power_limit>150.00 W</current_power_limit>
</gpu_power_readings>
<processes><process_info><pid>{pid}</pid><type>C</type><process_name>python</process_name>
<used_memory>11 MiB</used_memory></process_info></processes>
</gpu>
</nvidia_smi_log>
"""
SMI = """\
#!/bin/sh
case "$*" in
  "-q -x") cat {folder}/smi.xml ;;
  --query-compute-apps*) echo 'gpu_uuid, pid, process_name, used_gpu_memory [MiB]'
    echo 'GPU-1, {pid}, python, 11 MiB' ;;
  *) exit 2 ;;
esac
"""


def sshd() -> str:
    """The server's program; skips the test where there is none."""
    found = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if found is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no sshd, ssh or ssh-keygen here (Debian: apt-get install openssh-server openssh-client)")
    return found


class Servers:
    """Servers by host name, and the file for `ssh -F` that knows them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = sshd()
        self._stack = ExitStack()
        self.configuration = folder / "ssh_config"
        self.known = folder / "known_hosts"
        self.known.touch()
        self._key(folder / "user")
        shutil.copy(folder / "user.pub", folder / "authorized_keys")
        self.configuration.write_text(
            f"Host *\n  HostName 127.0.0.1\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {self.known}\n  GlobalKnownHostsFile /dev/null\n"
        )
        if os.getuid() == 0:  # the server of root separates its privileges there
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)

    def close(self) -> None:
        self._stack.close()

    def serve(self, host: str, wrapper: str, *lines: str) -> None:
        """Starts a server for a host; `wrapper` is the shell program that each login runs instead of a shell."""
        port = self._name(host)
        self._key(self.folder / f"{host}.key")
        program = self.folder / f"{host}.sh"
        program.write_text(wrapper)
        config = self.folder / f"{host}.conf"
        options = (
            f"Port {port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/{host}.key",
            f"AuthorizedKeysFile {self.folder}/authorized_keys",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "PidFile none",
            f"ForceCommand /bin/sh {program}",
            *lines,
        )
        config.write_text("\n".join(options) + "\n")
        with open(self.folder / f"{host}.log", "wb") as log:
            process = subprocess.Popen(
                [self.program, "-D", "-e", "-f", str(config)], stderr=log, stdin=subprocess.DEVNULL
            )
        self._stack.callback(_end, process)
        for _ in range(600):
            if process.poll() is not None:
                raise AssertionError((self.folder / f"{host}.log").read_text())
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the server does not listen")

    def hang(self, host: str) -> None:
        """A host whose port takes connections, and from which nothing ever comes."""
        listening = self._stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        self._write_port(host, listening.getsockname()[1])

    def down(self, host: str) -> None:
        """A host on whose port nobody listens."""
        self._name(host)

    def know(self, host: str, key: str) -> None:
        """The key of `key` is the one that is known for `host`."""
        kind, text = (self.folder / f"{key}.key.pub").read_text().split()[:2]
        with open(self.known, "a") as file:
            file.write(f"{host} {kind} {text}\n")

    def _name(self, host: str) -> int:
        port = free_port()
        self._write_port(host, port)
        return port

    def _write_port(self, host: str, port: int) -> None:
        """Puts the host before the rest: ssh takes the first value."""
        own = f"Host {host}\n  Port {port}\n  HostKeyAlias {host}\n"
        self.configuration.write_text(own + self.configuration.read_text())

    def _key(self, path: Path) -> None:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=30)


def fake_driver(folder: Path) -> Path:
    """A folder with an `nvidia-smi` that knows one idle GPU, used by this very process."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "smi.xml").write_text(XML.format(pid=os.getpid()))
    program = folder / "nvidia-smi"
    program.write_text(SMI.format(folder=folder, pid=os.getpid()))
    program.chmod(0o755)
    return folder
