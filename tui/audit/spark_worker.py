"""What a worker of a Spark cluster does: it judges the rows of a partition as an audit of one machine judges a table.

What it finds goes back as lines of JSON, and `add_told` notes it there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuwhy.engine.fleet_table import ORDER, TableJudge
from gpuwhy.engine.peers import Peers
from gpuwhy.kb.compiled import unpack
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.kb.records import dataclass
from gpuwhy.probes.fleet_tables import whole_hosts
from gpuwhy.tui.audit.model import Finding
from gpuwhy.tui.audit.portions import note_portion
from gpuwhy.tui.audit.run import Collected
from gpuwhy.tui.audit.use import Count, summed

if TYPE_CHECKING:
    from gpuwhy.kb.load import Carried

_COUNTS = ("counted", "others", "possible")


@dataclass(frozen=True)
class Work:
    """What is to be done with every partition of a table with these columns. `with_names`: the names of all hosts are
    wanted."""

    columns: tuple[str, ...]
    rules: Carried
    peers: Peers
    with_names: bool

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The findings about a partition, whose record batches of Arrow these are: one more batch, of JSON."""
        import polars
        import pyarrow

        kb = _knowledge(self.rules)
        found = Collected(kb)
        judge = TableJudge(kb, lambda: self.peers)
        for portion in whole_hosts(self._named(polars.from_arrow(batch)) for batch in batches):
            judged = judge.judge(portion.with_row_index(ORDER))
            note_portion(found, judged)
            if self.with_names:
                found.seen.append(judged.groups.names)
            judge.forget(judged)
        yield pyarrow.RecordBatch.from_pydict({"told": [_told(found)]})

    def _named(self, batch: Any) -> Any:
        batch.columns = list(self.columns)
        return batch


@lru_cache(maxsize=1)
def _knowledge(rules: Carried) -> KnowledgeBase:
    return unpack(json.loads(rules.index), memoryview(rules.texts), rules.digest)


def _told(found: Collected) -> str:
    document: dict[str, Any] = {key: dict(getattr(found, key)) for key in _COUNTS}
    document["hosts"] = [[one.name, one.gpus, one.instance_type, one.gpu_name] for one in found.hosts.values()]
    document["findings"] = found.findings
    document["use"] = [[kind, vars(count)] for kind, count in found.use.items()]
    document["seen"] = [name for names in found.seen for name in names.to_list()]
    return json.dumps(document, separators=(",", ":"))


def add_told(found: Collected, told: str) -> None:
    """Notes what was found in a partition."""
    import polars

    document: Mapping[str, Any] = json.loads(told)
    names = found.add_table_hosts(document["hosts"])
    renamed = dict(zip((one[0] for one in document["hosts"]), names, strict=True))
    for host, conclusion, kind, status, entities, *rest in document["findings"]:
        found.findings.append(Finding(renamed[host], conclusion, kind, status, tuple(entities), *rest))
    for key in _COUNTS:
        getattr(found, key).update(document[key])
    summed(((tuple(kind), Count(**count)) for kind, count in document["use"]), found.use)
    if document["seen"]:
        found.seen.append(polars.Series(document["seen"], dtype=polars.String))
