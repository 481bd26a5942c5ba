"""Processes for one run, started and watched: what one of them says is said here, and where one ends, all do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cst.engine.callbacks import Callback, Logging
from cst.ranks.group import Lost
from cst.stages import tell_watchers

JOB, RESULT = "job", "result"
LAST_WORDS = 3.0
"""Seconds in which others may say what went wrong, when one has ended."""
FAREWELL = 15.0
"""Seconds that a process has to end by itself."""
MUCH = 2000
"""Letters of what a process printed before it ended without a word."""


@dataclass
class _Member:
    """One of the processes."""

    number: int
    process: subprocess.Popen[bytes]
    words: Connection
    log: Path
    error: Exception | None = None
    done: bool = False

    @property
    def has_failed(self) -> bool:
        """It has said so, or it ended, and all that it said has been heard."""
        return self.error is not None or (not self.done and self.words.closed and self.process.poll() is not None)


@dataclass
class Launch:
    """A job for several processes of this machine.

    What one of them raises is raised here. A process that ends without a word ends the others, too, and the error is
    `cst.ranks.group.Lost`.

    Args:
        devices: how many processes.
        callbacks: who is told of steps and epochs, here and not in the processes.
        tell: takes sentences that the user should know.
    """

    devices: int
    callbacks: Sequence[Callback] = ()
    tell: Callable[[str], None] = warnings.warn
    members: list[_Member] = field(default_factory=list)

    def run(self, job: Callable[..., Any]) -> Any:
        """Call ``job(callbacks=, tell=)`` in every process; returned is what the first one returns."""
        from torch.distributed import TCPStore  # type: ignore[attr-defined]

        with TemporaryDirectory(prefix="cst-") as folder:
            place = Path(folder)
            pack(job, place / JOB, self.devices)
            store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
            try:
                for number in range(self.devices):
                    self.members.append(self._start(number, place, store.port))
                self._watch()
            finally:
                self._end()
            return unpack(place / RESULT)

    def _start(self, number: int, place: Path, port: int) -> _Member:
        ours, theirs = Pipe()
        log = place / f"{number}.log"
        with theirs, log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "cst.engine.member", str(place), str(theirs.fileno())],
                env=environment(number, self.devices, port),
                stdin=subprocess.DEVNULL,
                stdout=None if number == 0 else subprocess.DEVNULL,
                stderr=output,
                pass_fds=[theirs.fileno()],
            )
        return _Member(number, process, ours, log)

    def _watch(self) -> None:
        """Hear what they say until all are done, or one has failed and the others had time to say why."""
        until = float("inf")
        while not all(member.done for member in self.members) and time.monotonic() < until:
            self._hear()
            if until == float("inf") and any(member.has_failed for member in self.members):
                until = time.monotonic() + LAST_WORDS
            if all(member.done or member.has_failed for member in self.members):
                break
        failed = [member for member in self.members if member.has_failed]
        errors = [member.error for member in failed if member.error and not isinstance(member.error, Lost)]
        if errors:
            raise errors[0]
        if failed:
            silent = next((member for member in failed if member.error is None), failed[0])
            raise Lost(self._last_words(silent))

    def _hear(self) -> None:
        members = {member.words: member for member in self.members if not member.words.closed}
        ready = [words for words in wait(list(members), timeout=0.1) if isinstance(words, Connection)]
        for words in ready:
            try:
                message = words.recv()
            except (EOFError, OSError):
                words.close()
            else:
                self._take(members[words], *message)
        if not members:
            time.sleep(0.1)

    def _take(self, member: _Member, what: str, *words: Any) -> None:
        if what == "done":
            member.done = True
        elif what == "error":
            (member.error,) = words
        elif what == "tell":
            self.tell(*words)
        elif what == "warning":
            sentence, category = words
            warnings.warn(sentence, category, stacklevel=2)
        elif what == "stage":
            tell_watchers(*words)
        else:
            for callback in (Logging(), *self.callbacks):
                getattr(callback, what)(*words)

    def _last_words(self, member: _Member) -> str:
        code = member.process.poll()
        which = f"Process {member.number + 1} of {self.devices}"
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            why = ", as systems do where memory is short" if -code == signal.SIGKILL else ""
            return f"{which} was ended by the signal {name}{why}; the others were stopped."
        printed = member.log.read_text(encoding="utf-8", errors="replace")[-MUCH:].strip()
        last = f" Its last words: {printed}" if printed else ""
        return f"{which} ended without a word; the others were stopped.{last}"

    def _end(self) -> None:
        for member in self.members:
            if member.process.poll() is None and not member.done:
                member.process.terminate()
        for member in self.members:
            try:
                member.process.wait(FAREWELL)
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()
            member.words.close()


def environment(number: int, devices: int, port: int) -> dict[str, str]:
    """What a process is told as torchrun would tell it; its modules are those that this one can import."""
    threads = max(1, (os.cpu_count() or 1) // devices)
    lines = {name for _, name in socket.if_nameindex()}
    usual = {"OMP_NUM_THREADS": str(threads), "TORCH_CPP_LOG_LEVEL": "ERROR"}
    if "lo" in lines:
        usual["GLOO_SOCKET_IFNAME"] = "lo"
    return {
        **usual,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
        "RANK": str(number),
        "LOCAL_RANK": str(number),
        "WORLD_SIZE": str(devices),
        "LOCAL_WORLD_SIZE": str(devices),
        "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "cst",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def pack(thing: Any, file: Path, devices: int) -> None:
    """Write data, modules and terms for other processes, also those that were made in a script or a notebook."""
    import cloudpickle

    try:
        with file.open("wb") as output:
            cloudpickle.dump((_names(), thing), output)
    except OSError:
        raise
    except Exception as error:  # whatever the user's own objects raise
        reason = " ".join(str(error).split())
        raise ValueError(
            f"devices={devices} gives data, backbone and terms to other processes, but something in them cannot be "
            f"sent ({reason}): define it in a module, or start the script with torchrun."
        ) from None


def unpack(file: Path) -> Any:
    """Read what `pack` wrote, from a folder of this user's own."""
    import pickle

    with file.open("rb") as packed:
        names, thing = pickle.load(packed)
    for registry, added in zip(_registries(), names, strict=True):
        registry.take(added)
    return thing


def _names() -> list[dict[str, Any]]:
    """Terms and other things that were given a name in this process."""
    return [registry.added for registry in _registries()]


def _registries() -> Iterable[Any]:
    from cst.kinds import KINDS
    from cst.models.backbones import BACKBONES
    from cst.sampling import SAMPLINGS
    from cst.terms import TERMS
    from cst.updates import UPDATES

    return KINDS, BACKBONES, SAMPLINGS, TERMS, UPDATES
