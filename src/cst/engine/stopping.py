"""Ctrl-C and SIGTERM, held back until the work is at a place where it can stop without loss."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

PATIENCE = 10.0
"""Seconds for which a signal waits; a scheduler gives ten at least before it kills."""
HELD = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Within it a signal that asks the process to end is noted, and takes effect at `hand_on`.

    It takes effect where the work happens to be if that does not come in time, or if Ctrl-C is pressed again. Signals
    that nobody handles or that are ignored stay as they are, as do those of a thread that is not the first.

    Args:
        patience: seconds for which a signal waits.

    >>> stopping, _ = Stopping(), signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> try:
    ...     with stopping:
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("the step is finished")
    ...         stopping.hand_on()
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    the step is finished
    interrupted
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}
        self._process = os.getpid()
        self._timer: threading.Timer | None = None
        self._late = False

    def __enter__(self) -> Stopping:
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in HELD}
            self._before = {n: handler for n, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}
            for number in self._before:
                signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._let_go()
        self.hand_on()  # whatever else has happened, nobody may go on as if nobody had asked

    def wait(self) -> None:
        """What is being done now is worth the time that it takes."""
        if self._timer:
            self._timer.cancel()

    def hand_on(self) -> None:
        """Do what a signal that was held back would have done."""
        if self.asked:
            asked, self.asked = self.asked, None
            self._let_go()
            signal.raise_signal(asked)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:  # one that reads files for this one, which ends it
            return
        if self._late or number == self.asked == signal.SIGINT:
            self.hand_on()
        elif self.asked is None:
            self.asked = signal.Signals(number)
            self._timer = threading.Timer(self.patience, self._lose_patience)
            self._timer.daemon = True
            self._timer.start()

    def _lose_patience(self) -> None:
        self._late = True
        main = threading.main_thread().ident
        if main is not None and self.asked:
            signal.pthread_kill(main, self.asked)

    def _let_go(self) -> None:
        self.wait()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
