"""``python -m cst.engine.member PLACE HANDLE``: one of the processes that `cst.engine.launch` starts."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from cst.engine.callbacks import Callback
from cst.engine.launch import JOB, RESULT, pack, unpack
from cst.ranks import group
from cst.stages import watched_by

Send = Callable[..., None]


def _telling(name: str) -> Callable[..., None]:
    def method(self: Any, *words: Any) -> None:
        self.send(name, *words)

    return method


class Reporting(Callback):
    """Tells the process that started this one, where those who watch are."""

    def __init__(self, send: Send) -> None:
        self.send = send


for _name in vars(Callback):
    if _name.startswith("on_"):
        setattr(Reporting, _name, _telling(_name))


def main(folder: str, handle: str) -> None:
    """Do the job, and say how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one hears it too, and ends it
    words, lock, place = Connection(int(handle)), threading.Lock(), Path(folder)
    threading.Thread(target=_end_with_parent, args=[words], daemon=True).start()

    def send(*message: Any) -> None:
        with lock:
            words.send(message)

    try:
        job = unpack(place / JOB)
        elsewhere = group.started_elsewhere()
        if elsewhere is not None and elsewhere[0] > 0:
            warnings.simplefilter("ignore")
            job(callbacks=[], tell=lambda sentence: None)
        else:
            warnings.showwarning = lambda message, category, *_, **__: send("warning", str(message), category)
            with watched_by(lambda *stage: send("stage", *stage)):
                result = job(callbacks=[Reporting(send)], tell=lambda sentence: send("tell", sentence))
            pack(result, place / RESULT, 1)
        send("done")
    except Exception as error:
        error.add_note(f"In process {os.environ['RANK']}:\n{traceback.format_exc()}")
        _send_error(send, error)
        sys.exit(1)


def _send_error(send: Send, error: Exception) -> None:
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
        send("error", error)
    except Exception:  # an error of the user's own that cannot be sent
        send("error", RuntimeError(f"{type(error).__name__}: {error}"))


def _end_with_parent(words: Connection) -> None:
    """Nobody is left behind where the process that started this one was killed."""
    try:
        words.recv()
    except (EOFError, OSError):
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
