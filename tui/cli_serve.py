"""`gpuwhy serve`: the guided diagnosis in a browser of this machine."""

from __future__ import annotations

import click

from gpuwhy.tui.rules_option import fail


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free.")
def serve(port: int) -> None:
    """Open the guided diagnosis in a browser of this machine.

    Listens on 127.0.0.1 alone; the address that is printed holds a secret. From elsewhere go through SSH:
    ssh -L 8000:127.0.0.1:8000 HOST. Needs `pip install 'gpuwhy[web]'`.
    """
    try:
        from gpuwhy.tui.serving import LocalServer
    except ImportError:
        fail("textual-serve is not installed", "pip install 'gpuwhy[web]'")
    try:
        LocalServer(port, lambda address: click.echo(f"Open {address}  (Ctrl-C ends it)")).serve()
    except OSError as error:
        fail(f"port {port} cannot be listened on: {error.strerror or error}", "name another with --port")
