"""The site of the rules: every word has its page, every link leads somewhere, nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from gpuwhy.kb.load import load
from gpuwhy.tui.cli import main
from gpuwhy.tui.rules_commands.svg import drawn
from gpuwhy.tui.rules_site.layout import Links
from gpuwhy.tui.rules_site.site import write as write_site
from tests.engine.rule_pack import write
from tests.kb import team_pack

CATALOGUE = """\
families:
  - {name: f1, provider: alicloud, gpu: NVIDIA X1, status: listed, gpu_memory_gb: 24, rdma: false, source: guide}
machines:
  - {name: ecs.f1.large, family: f1, vcpus: 8, memory_gib: 30, gpus: 1, source: guide}
prices:
  - provider: alicloud
    mode: payg
    currency: CNY
    date: 2026-11-30
    source: guide
    per_hour: {ecs.f1.large: {cn-hangzhou: 12.5}}
instances:
  - {names: ["ecs.f1.*"], provider: alicloud, values: {gpu.power_watts: {value: 72, source: guide}}}
"""


class Reader(HTMLParser):
    """The addresses in a page, and those of what it loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "input", "br", "path", "rect"):
            self.open.append(tag)
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "href"):
                self.loads.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space = tmp_path_factory.mktemp("site")
    folder = write(space / "pack", signatures_oom_pieces=("title: In pieces", 'title: "In <b>pieces</b>"'))
    (folder / "catalogue").mkdir()
    (folder / "catalogue/machines.yaml").write_text(CATALOGUE)
    write_site(load(folder, space / "cache"), (folder,), space / "site")
    return space / "site"


def test_there_is_a_page_for_each_rule_word_reference_and_machine_type(site: Path) -> None:
    found = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert found >= {
        "index.html",
        "rules/sig.oom.pieces.html",
        "rules/derive.oom.slack.html",
        "rules/fix.oom.grow.html",
        "facts/oom.slack_share.html",
        "conclusions/oom.pieces.html",
        "references/guide.html",
        "machines/ecs.f1.large.html",
        "machines/ecs.f1._.html",
    }


def test_every_link_leads_to_a_page_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Reader(path.read_text("utf-8"))
        assert page.open == [], path
        assert [one for one in page.loads if "//" in one] == []
        inside = [one for one in page.links if not one.startswith("https://example.com")] + page.loads
        assert [one for one in inside if not (path.parent / unquote(one)).is_file()] == [], path


def test_pages_are_linked_both_ways_and_texts_of_rules_are_no_html(site: Path) -> None:
    rule = (site / "rules/sig.oom.pieces.html").read_text("utf-8")
    assert "In &lt;b&gt;pieces&lt;/b&gt;" in rule
    assert "<b>pieces" not in rule
    for link in ("facts/oom.slack_share", "conclusions/oom.pieces", "references/guide", "rules/fix.oom.grow"):
        assert f'href="../{link}.html"' in rule
    assert "too little" in rule  # the name of a case
    for page in ("facts/oom.slack_share", "conclusions/oom.pieces", "references/guide"):
        assert 'href="../rules/sig.oom.pieces.html"' in (site / f"{page}.html").read_text("utf-8")
    machine = (site / "machines/ecs.f1.large.html").read_text("utf-8")
    assert ("12.5 CNY" in machine, "72" in machine, "24 GB" in machine or "22.35 GiB" in machine) == (True, True, True)


def test_search_looks_through_every_page(site: Path) -> None:
    text = (site / "search-index.js").read_text("utf-8")
    entries = json.loads(text.removeprefix("window.SEARCH_INDEX=").rstrip().removesuffix(";"))
    assert {path for _, _, path, _ in entries} == {
        path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.name != "index.html"
    }
    assert ["oom.slack_share", "Facts", "facts/oom.slack_share.html", "Unused."] in entries


def test_the_command_replaces_its_own_site_and_leaves_other_folders_alone(tmp_path: Path) -> None:
    pack = team_pack.write(tmp_path / "acme")
    words = ["rules", "docs", str(tmp_path / "site"), "--rules", str(pack)]
    assert CliRunner().invoke(main, words).exit_code == 0
    page = (tmp_path / "site/rules/acme--sig.oom.queued.html").read_text("utf-8")
    assert 'href="../references/acme--runbook.html"' in page
    (tmp_path / "site/rules/old.html").write_text("")
    assert CliRunner().invoke(main, words).exit_code == 0
    assert not (tmp_path / "site/rules/old.html").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/letter.txt").write_text("dear")
    done = CliRunner().invoke(main, ["rules", "docs", str(tmp_path / "other"), "--rules", str(pack)])
    assert (done.exit_code, "holds other files" in done.stderr) == (2, True)


def test_words_and_addresses_in_a_text_become_links() -> None:
    links = Links({"facts": ["oom.free_bytes"]})
    assert links.text("see oom.free_bytes. <i>") == (
        'see <a href="../facts/oom.free_bytes.html"><code>oom.free_bytes</code></a>. &lt;i&gt;'
    )
    assert links.text("https://a.b/oom.free_bytes?x=1&y") == (
        '<a href="https://a.b/oom.free_bytes?x=1&amp;y" rel="noopener">https://a.b/oom.free_bytes?x=1&amp;y</a>'
    )
    assert links.text("pack/oom.free_bytes and oom.other") == "pack/oom.free_bytes and oom.other"


def test_a_drawing_puts_what_leads_to_a_thing_left_of_it_and_ends_where_things_lead_in_a_circle() -> None:
    text = drawn([("a", "b", "read"), ("b", "c", "read"), ("a", "c", "read")])
    left = {name: float(x) for x, name in re.findall(r'<text x="(\d+)" y="\d+">(\w+)</text>', text)}
    assert left["a"] < left["b"] < left["c"]
    assert drawn([("a", "b", "explains"), ("b", "a", "explains")]).count("<rect") == 2
    assert drawn([]) == ""
