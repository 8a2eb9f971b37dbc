"""How a job ended, by its Python traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuwhy.probes.artefacts.python_traceback import FORMAT
from tests.probes.artefacts.helpers import claimed, scan, values

TRACEBACK = """loading
Traceback (most recent call last):
  File "/a/train.py", line 12, in <module>
    main()
    ~~~~^^
  File "/a/train.py", line 8, in main
    loss.backward()
RuntimeError: CUDA error: an illegal memory access was encountered
more output
"""


def test_the_exception_and_what_belongs_to_it() -> None:
    facts = values(scan(FORMAT, TRACEBACK))
    assert facts["job.exception_type", "job:this"] == "RuntimeError"
    assert facts["job.exception_message", "job:this"] == "CUDA error: an illegal memory access was encountered"
    assert claimed(scan(FORMAT, TRACEBACK)) == {2, 3, 4, 5, 6, 7, 8}


@pytest.mark.parametrize("prefix", ["[rank0]: ", "(Worker pid=12, ip=1.2.3.4) ", "    "])
def test_prefixes(prefix: str) -> None:
    content = "\n".join(prefix + line for line in TRACEBACK.splitlines()[1:8])
    facts = values(scan(FORMAT, content))
    assert facts["job.exception_type", "job:this"] == "RuntimeError"


def test_the_last_of_chained_exceptions_counts() -> None:
    content = TRACEBACK + "\nDuring handling of the above exception, another exception occurred:\n\n"
    content += (
        'Traceback (most recent call last):\n  File "b.py", line 1\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n'
    )
    assert values(scan(FORMAT, content))["job.exception_type", "job:this"] == "torch.cuda.OutOfMemoryError"


def test_a_quoted_exception_line_alone_counts_and_a_warning_does_not() -> None:
    assert values(scan(FORMAT, "ValueError: bad\n"))["job.exception_message", "job:this"] == "bad"
    assert scan(FORMAT, "UserWarning: this is slow\n") == []


def test_prose_is_no_exception() -> None:
    assert scan(FORMAT, "We saw an Error: it was in line 3, in main.\nGPU 0: Error\n") == []


@settings(max_examples=40, deadline=None)
@given(st.integers(0, len(TRACEBACK)), st.integers(0, len(TRACEBACK)), st.text(max_size=20))
def test_cut_and_spliced_tracebacks_never_raise(start: int, end: int, junk: str) -> None:
    scan(FORMAT, TRACEBACK[start:] + junk + TRACEBACK[:end])
