"""The lines of nvidia-smi's summary table, in the layouts of all drivers.

Lines are found wherever they stand in a text line, so that quotes, prompts and log prefixes do not matter.
"""

from __future__ import annotations

import re

from gpuwhy.probes.artefacts.contract import Text

BANNER = re.compile(
    r"NVIDIA-SMI\s{1,4}(?P<smi>[0-9][0-9.]{1,20})\s{1,40}(?:KMD|Driver) Version:\s{0,4}(?P<driver>[0-9A-Za-z./!]{1,20})"
    r"(?:\s{1,40}CUDA (?:UMD )?Version:\s{0,4}(?P<cuda>[0-9A-Za-z./!]{1,12}))?"
)
WHEN = re.compile(
    r"\b(?:[A-Z]?[a-z]{1,2}\s)?(?P<when>[A-Z][a-z]{2}\s{1,2}\d{1,2} \d{2}:\d{2}:\d{2} (?:[A-Z]{3,5} )?\d{4})\b"
)
DEVICE = re.compile(
    r"(?:^|\|)\s{0,6}(?P<index>\d{1,3})\s{1,6}(?P<name>\S[^|\n]{0,60}?)\s{1,24}(?P<mode>On|Off|WDDM|TCC|MCDM|N/A|ERR!)"
    r"\s{0,6}\|\s{0,12}(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])"
    r"\s{1,12}(?P<display>On|Off|N/A|ERR!)\s{0,6}(?:\|(?P<ecc>[^|\n]{0,30}))?"
)
LOAD = re.compile(
    r"(?:^|\|)\s{0,6}(?P<fan>N/A|ERR!|\d{1,3}%)\s{1,8}(?P<temperature>N/A|ERR!|\d{1,3}C)"
    r"\s{1,8}(?P<state>P\d{1,2}|N/A|ERR!|P\?|\?)\s{1,24}(?P<power>N/A|ERR!|Unknown Error|\d{1,5}(?:\.\d{1,2})?\s?W)"
    r"\s{0,4}/\s{0,6}(?P<limit>N/A|ERR!|Unknown Error|\d{1,5}(?:\.\d{1,2})?\s?W)\s{0,6}"
    r"(?:\|(?P<memory>[^|\n]{0,40})(?:\|(?P<rest>[^|\n]{0,40}))?)?"
)
MEMORY = re.compile(r"\s{0,12}(?P<used>\d{1,9}\s?MiB|N/A|ERR!)\s{0,4}/\s{0,8}(?P<total>\d{1,9}\s?MiB|N/A|ERR!)")
UTILISATION = re.compile(r"\s{0,24}(?P<share>\d{1,3}\s?%|N/A|ERR!|Unknown Error)(?:\s{1,24}(?P<mode>\S[^|\n]{0,20}))?")
MIG_MODE = re.compile(r"\|\s{10,60}\|\s{10,40}\|\s{1,30}(?P<mig>Enabled|Disabled|N/A)(?P<pending>\*?)\s{0,6}(?:\||$)")
PROCESS = re.compile(
    r"(?:^|\|)\s{0,8}(?P<index>\d{1,3})\s{1,8}(?:(?P<gi>N/A|\d{1,3})\s{1,8}(?P<ci>N/A|\d{1,3})\s{1,24})?"
    r"(?P<pid>\d{1,10})\s{1,12}(?:(?P<kind>C\+G|G\+C|M\+C|C\+M|C|G|M)\s{1,8})?"
    r"(?P<name>[^|\s][^|\n]{0,160}?)?\s{1,100}"
    r"(?P<memory>\d{1,9}\s?MiB|N/A|ERR!|Unknown Error|Insufficient Permissions?)\s{0,12}(?:\||$)"
)
NO_PROCESSES = re.compile(r"\|\s{0,4}No running (?:compute )?processes found")
PARTITION = re.compile(
    r"\|\s{0,4}(?P<index>\d{1,3})\s{1,6}(?P<gi>\d{1,3}|N/A)\s{1,6}(?P<ci>\d{1,3}|N/A)\s{1,6}(?P<device>\d{1,3})\s{1,4}\|"
    r"\s{0,24}(?P<used>\d{1,9}MiB|N/A)\s{0,4}/\s{0,8}(?P<total>\d{1,9}MiB|N/A)\s{0,4}\|"
    r"(?:\s{0,6}(?P<sms>\d{1,4})\s{1,12}(?P<ecc>\d{1,9}|N/A|Off)\s{0,6}\|(?P<shared>[^|\n]{0,40}))?"
)
PARTITION_BAR1 = re.compile(
    r"\|\s{10,30}\|\s{0,24}(?P<used>\d{1,9}MiB|N/A)\s{0,4}/\s{0,8}(?P<total>\d{1,9}MiB|N/A)\s{0,4}\|"
)
PROCESSES_HEADER = re.compile(r"\|\s{0,4}(?:Compute processes|Processes):", re.IGNORECASE)
RULER = re.compile(r"[|+][-=+|]{8,140}[|+]?\s{0,4}$")
TITLE = re.compile(r"\|.{0,60}(?:Bus-Id|Pwr:Usage/Cap|MIG devices:|No MIG devices found|BAR1-Usage|Process name)")
HEADING = re.compile(
    r"\|\s{0,4}(?:GPU  |GPU\s{1,8}(?:GI|PID)|Fan  |\s{1,12}ID\s{1,4}ID|\s{1,20}\|\s{1,24}BAR1-Usage)"
    r"|\|\s{10,60}\|\s{10,40}\|\s{0,30}(?:MIG M\.|ECC)\s{0,8}\|"
    r"|\|\s{60,100}\|\s{0,4}$|\|\s{10,60}\|\s{10,40}\|\s{3,30}\|\s{0,4}$|\|\s{10,30}\|\s{20,40}\|\s{3,20}ECC\|"
)


def bus_key(printed: str) -> str:
    """A PCI bus id in one form, whatever the width of its domain: `00000000:1A:00.0` and `0000:1a:00.0` agree."""
    domain, _, rest = printed.strip().lower().partition(":")
    return f"{domain[-4:].rjust(4, '0')}:{rest}"


def indices_by_bus(text: Text) -> dict[str, int]:
    """The GPU index of each bus id that a summary table in this text shows, by `bus_key`."""
    found: dict[str, int] = {}
    for line in text.lines:
        if "|" in line.text:
            matched = DEVICE.search(line.text)
            if matched:
                found[bus_key(matched["bus"])] = int(matched["index"])
    return found
