"""Files that may be gzip: limits, and damage that is told."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from gpuwhy.kb.load import load
from gpuwhy.probes.artefacts.packed import DamagedFile, unpacked
from gpuwhy.probes.artefacts.read import DEFECT, gather

PLAIN = b"".join(b"%d\n" % number for number in random.Random(1).sample(range(10**9), 20_000))
PACKED = gzip.compress(PLAIN, mtime=0)
BROKEN = PACKED[:2000] + bytes(byte ^ 0xFF for byte in PACKED[2000:2100]) + PACKED[2100:]


@pytest.mark.parametrize("content", [PLAIN, PACKED], ids=["plain", "gzip"])
def test_the_content_up_to_the_limit(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    for source in (content, path):
        assert unpacked(source, len(PLAIN)) == (PLAIN, True)
        assert unpacked(source, len(PLAIN) - 1) == (PLAIN[:-1], False)


@pytest.mark.parametrize("content", [BROKEN, PACKED[:5000], b"\x1f\x8b\x07"], ids=["altered", "cut", "no-gzip"])
def test_damage_is_one_error(content: bytes) -> None:
    with pytest.raises(DamagedFile):
        unpacked(content, 10**9)


@pytest.mark.parametrize(
    "head",
    [
        json.dumps({"node": "a", "mem-bw/h2d_bw:0": 25.0}),
        json.dumps({"pg_config": {}, "pg_status": {}, "entries": [{"collective_seq_id": 1}]}),
        json.dumps({"nvbandwidth": {"testcases": []}}),
    ],
    ids=["superbench", "flight-recorder", "nvbandwidth"],
)
def test_a_damaged_file_is_no_defect_of_its_reader(head: str) -> None:
    packed = gzip.compress(head.encode() + b" " * (1 << 17) + PLAIN, mtime=0)
    where = len(packed) - 50_000
    damaged = packed[:where] + bytes(byte ^ 0xFF for byte in packed[where : where + 100]) + packed[where + 100 :]
    gathered = gather([("nccl_trace_rank_0", damaged)], load().facts)
    told = [one.reason for one in gathered.not_understood]
    assert told
    assert not any(DEFECT in one for one in told)
