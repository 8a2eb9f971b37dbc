"""`gpuwhy incident`: what was diagnosed before, kept step by step in journals of this user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpuwhy.tui.exit_codes import ExitCode
from gpuwhy.tui.incident import journal as journals
from gpuwhy.tui.output import out
from gpuwhy.tui.rules_option import fail, knowledge

if TYPE_CHECKING:
    from gpuwhy.tui.incident.events import Event
    from gpuwhy.tui.incident.session import Session


@click.group()
def incident() -> None:
    """List, show, take up again, export and delete incidents of the guided diagnosis."""


@incident.command("list")
def list_incidents() -> None:
    """List incidents, the latest first."""
    for one in journals.listed():
        click.echo(f"{one.name}  {one.began_at[:16].replace('T', ' ')}  {one.title}  {one.steps} steps  {one.state}")


@incident.command()
@click.argument("name")
def show(name: str) -> None:
    """Print the diagnosis of an incident as it stands."""
    from gpuwhy.tui import report_text

    out(report_text.render(_session(name).snapshot().report))


@incident.command()
@click.argument("name")
def resume(name: str) -> None:
    """Take an incident up again in the guided diagnosis."""
    from gpuwhy.tui.app.run import run

    _events(name)
    run(resume=name)


@incident.command()
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["md", "json", "html"]), default="md", show_default=True)
@click.option("--with-names", is_flag=True, help="Keep names of hosts, users, addresses and serial numbers.")
def export(name: str, form: str, with_names: bool) -> None:
    """Print the report of an incident for a ticket; names of machines and people are taken out."""
    from gpuwhy.tui.incident.ticket import ticket

    out(ticket(_session(name).snapshot(), form, hide_names=not with_names))


@incident.command()
@click.argument("name")
def delete(name: str) -> None:
    """Delete an incident."""
    try:
        journals.delete(name)
    except journals.JournalError as error:
        fail(str(error))
    raise SystemExit(ExitCode.NOTHING_TO_FIX)


def _events(name: str) -> list[Event]:
    try:
        return journals.read(name)
    except journals.JournalError as error:
        fail(str(error))


def _session(name: str) -> Session:
    from gpuwhy.tui.incident.session import Session

    made = Session(knowledge(None))
    made.resume(_events(name))
    return made
