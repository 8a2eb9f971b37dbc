"""The command `gpuwhy`: a pass over large logs begins before the rest of the program is imported.

The pass runs in a process of its own and takes about as long as the imports and the rules together.
"""

from __future__ import annotations

import sys

from gpuwhy.probes.artefacts.large_scan import Ahead


def main() -> None:
    """Run the command that the arguments of this process name."""
    arguments = sys.argv[1:]
    with Ahead(arguments[1:] if arguments[:1] == ["diagnose"] else ()) as ahead:
        from gpuwhy.tui.cli import main as commands

        commands(obj=ahead)
