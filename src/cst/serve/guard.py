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
        local: the server listens to this machine only, so that it goes by no other name: a site whose name leads here
            could read the answers otherwise.
    """

    def __init__(self, app: ASGIApp, local: bool) -> None:
        self.app, self.local = app, local
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
        host = headers.get("host", "")
        name = urlsplit(f"//{host}").hostname if host else None
        if self.local and name not in LOCAL:
            return refused(403, "The server answers to 127.0.0.1 and localhost only.")
        origin = headers.get("origin")
        if method == "POST" and origin is not None and urlsplit(origin).netloc != host:
            return refused(403, "Pages of other sites may not ask.")
        if self._under_way >= MOST_AT_ONCE:
            return refused(503, "The server has too many requests at the moment: try again in a second.")
        return None


def refused(status: int, sentence: str) -> JSONResponse:
    """An answer that is one sentence."""
    headers = {"Retry-After": "1"} if status == 503 else None
    return JSONResponse({"error": sentence}, status, headers)
