"""The guided diagnosis in a browser of this machine: on loopback alone, and for whoever has the address printed alone.

The page drives a program that opens files as this user. So the address holds a secret, which other users of the machine
do not know, and requests that a page of another site has made are refused, whatever name that site resolved to this
address.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable
from hmac import compare_digest

from aiohttp import web
from textual_serve.server import Server

HOST = "127.0.0.1"
COOKIE = "gpuwhy"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class LocalServer(Server):
    """Serves the application to this machine. `told` is handed the address once it can be opened."""

    def __init__(self, port: int, told: Callable[[str], None]) -> None:
        self._secret = secrets.token_urlsafe(24)
        self._told = told
        port = port or _free_port()
        super().__init__(shlex.join([sys.executable, "-m", "gpuwhy"]), HOST, port, title="gpuwhy")

    @property
    def address(self) -> str:
        """What to open."""
        return f"{self.public_url}/?key={self._secret}"

    def initialize_logging(self) -> None:
        """Nothing is logged: a log of requests would hold the secret."""

    async def on_startup(self, app: web.Application) -> None:  # noqa: ARG002 - as the library calls it
        """Tell the address once it answers."""
        self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        while True:
            try:
                _, writer = await asyncio.open_connection(HOST, self.port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                self._told(self.address)
                return

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        app.middlewares.append(guard)
        return app

    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuses whoever does not have the secret, and pages of other sites."""
        names = {f"{HOST}:{self.port}", f"localhost:{self.port}"}
        origin = request.headers.get("Origin")
        if request.host not in names or (origin is not None and origin.removeprefix("http://") not in names):
            raise web.HTTPForbidden(text="This is served to this machine alone.\n")
        given = request.query.get("key") or request.cookies.get(COOKIE, "")
        if not compare_digest(given.encode(), self._secret.encode()):
            raise web.HTTPForbidden(text="Open the whole address that `gpuwhy serve` printed.\n")
        response = await handler(request)
        if "key" in request.query and not response.prepared:
            response.set_cookie(COOKIE, self._secret, httponly=True, samesite="Strict")
            response.headers["Referrer-Policy"] = "no-referrer"
        return response


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port
