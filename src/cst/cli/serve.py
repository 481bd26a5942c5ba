"""`cst serve`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cst.cli.flags import say, tell
from cst.cli.options import POSITIONAL
from cst.extras import missing

if TYPE_CHECKING:
    import socket

PACKAGES = ("fastapi", "uvicorn", "python_multipart")


@dataclass(frozen=True)
class Serve:
    """Answer requests with a finished run, and show people a page where they can ask it."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder, or a saved model."""
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 is every one of this machine."""
    port: int = 8000
    """Port to listen at; 0 takes a free one."""
    name: str | None = None
    """Name that people reach it by, where a proxy passes their requests on."""
    max_megabytes: int = 20
    """Most megabytes of a request."""
    max_count: int = 128
    """Most pictures, texts or rows of a request."""
    max_megapixels: int = 50
    """Most millions of pixels of a picture."""

    def run(self) -> None:
        """Serve until somebody stops it."""
        for name in ("max_megabytes", "max_count", "max_megapixels"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}= must be at least 1, got {getattr(self, name)}.")
        for package in PACKAGES:
            if find_spec(package) is None:
                raise missing(package.replace("_", "-"), "A served model")

        import uvicorn

        from cst.engine.adapted import load
        from cst.kinds.contract import Limits
        from cst.serve.app import application
        from cst.serve.guard import LOCAL

        limits = Limits(self.max_megabytes * 2**20, self.max_count, self.max_megapixels * 1_000_000)
        local = self.host in LOCAL
        names = (*LOCAL, self.name) if self.name else LOCAL if local else ()
        app = application(load(self.run_folder), limits, names)
        place = listening(self.host, self.port)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=5
        )
        shown = f"[{self.host}]" if ":" in self.host else self.host
        tell(f"Serving {self.run_folder} at http://{shown}:{place.getsockname()[1]} (Ctrl+C stops it)")
        if not local:
            say("Everybody who can reach this machine can ask: there is no password.")
        with suppress(KeyboardInterrupt):  # what was asked before it has been answered
            uvicorn.Server(config).run(sockets=[place])
        tell("Stopped.")


def listening(host: str, port: int) -> socket.socket:
    """A socket at an address that is free."""
    import os
    import socket

    if not 0 <= port < 2**16:
        raise ValueError(f"port= must be from 0 to 65535, got {port}.")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        reason = os.strerror(number) if number > 0 else "no such address"
        raise ValueError(f"port={port} of {host} cannot be had ({reason}): choose another port= or host=.") from None
