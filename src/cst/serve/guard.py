"""What every request passes before it is read, and what every answer says to browsers."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("127.0.0.1", "localhost", "::1")
MOST_AT_ONCE = 32
"""Requests that are read or wait for their turn."""


class Guard:
    """Refuses requests that pages of other sites send, and those beyond what the server can bear.

    Args:
        app: what answers.
        names: what the server goes by, where that is known: a site whose own name leads here could read the answers
            otherwise. Nothing for any name.
    """

    def __init__(self, app: ASGIApp, names: tuple[str, ...] = ()) -> None:
        self.app, self.names = app, names
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cache-Control"] = "no-store"
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope["method"])
        if refusal:
            await refusal(scope, receive, with_headers)
            return
        self._under_way += 1
        try:
            await self.app(scope, receive, with_headers)
        finally:
            self._under_way -= 1

    def _refusal(self, headers: Headers, method: str) -> JSONResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name = urlsplit(f"//{host}").hostname
            asking = None if origin is None else urlsplit(origin).netloc
        except ValueError:
            return refused(400, "The request names no server that can be.")
        if self.names and name not in self.names:
            return refused(403, f"The server goes by {' or '.join(self.names)} only.")
        if method == "POST" and asking is not None and asking != host:
            return refused(403, "Pages of other sites may not ask.")
        if self._under_way >= MOST_AT_ONCE:
            return refused(503, "The server has too many requests at the moment: try again in a second.")
        return None


def refused(status: int, sentence: str) -> JSONResponse:
    """An answer that is one sentence."""
    headers = {"Retry-After": "1"} if status == 503 else None
    return JSONResponse({"error": sentence}, status, headers)
