"""`gpuwhy rules docs`."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import fail, kb_option, packs, rules_option


@click.command("docs")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@rules_option
@kb_option
def docs_command(folder: Path, rules: Path | None, revision: str | None) -> None:
    """Write a site into FOLDER: a page for each rule, fact, conclusion, reference and machine type, with search.

    It needs no server and loads nothing from elsewhere. An earlier site in FOLDER is replaced.
    """
    from gpuwhy.tui.rules_site.site import NotASite, write

    kb, folders = packs(rules, revision)
    try:
        count = write(kb, folders, folder)
    except NotASite as error:
        fail(str(error), "name an empty folder, or one that this command wrote")
    except OSError as error:
        fail(f"the site cannot be written: {error}")
    out(f"{count} pages; open {folder / 'index.html'}\n")
