"""An application that withstands haste: keys typed ahead, and a terminal whose picture was spoilt."""

from __future__ import annotations

from collections.abc import Mapping

from textual.actions import ActionParseResult
from textual.app import App
from textual.dom import DOMNode

_CLEAR = "\x1b[2J"


class SteadyApp(App[None]):
    """Nothing is done with half a screen."""

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Do what a key means, once the screen on top has all its widgets: it may have been typed ahead of them."""
        if self.screen_stack and not self.screen.is_mounted:
            await self.screen._mounted_event.wait()
        return await super().run_action(action, default_namespace, namespaces)

    def action_repaint(self) -> None:
        """Write the whole picture again, for a terminal that something else has written to."""
        if self._driver is not None:
            self._driver.write(_CLEAR)
        self.refresh(layout=True)
