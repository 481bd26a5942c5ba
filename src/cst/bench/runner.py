"""Bring every run of a suite to its end.

What is finished is never run again and what was interrupted goes on, so a suite may be stopped and started at will; two
commands may share one, each leaves to the other what it trains. A run that fails is tried once more, its message is
kept beside it, and the others go on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from cst.bench.engines import Engine, Handle
from cst.bench.job import Job
from cst.bench.progress import SuiteProgress

ATTEMPTS = 2
PAUSE = 0.2


@dataclass
class Ended:
    """How a suite ended: the labels of runs that another process trains, and of those that failed with why."""

    elsewhere: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def run_suite(jobs: list[Job], engine: Engine, progress: SuiteProgress) -> Ended:
    """Train what is missing."""
    for job in jobs:
        if job.changed and job.run.has_checkpoint:
            raise ValueError(
                f"{job.run.folder} was trained with other settings ({', '.join(job.changed)}): choose another out=, or "
                "remove that folder."
            )
    waiting = [(job, 1) for job in jobs if not job.is_done]
    progress.start(len(jobs), len(jobs) - len(waiting))
    running: list[tuple[Job, int, Handle]] = []
    claims = {}
    ended = Ended()
    try:
        while waiting or running:
            while waiting and len(running) < engine.slots:
                job, attempt = waiting.pop(0)
                if attempt == 1:
                    claims[job.label] = job.claimed()
                    if claims[job.label] is None:
                        ended.elsewhere.append(job.label)
                        progress.left(job.label)
                        continue
                    if job.is_done:  # by another process, since we looked
                        progress.ended(job.label, "")
                        continue
                job.prepare()
                progress.began(job.label, job.share_done)
                running.append((job, attempt, engine.start(job)))
            for entry in list(running):
                job, attempt, handle = entry
                outcome = handle.outcome()
                if outcome is None:
                    progress.moved(job.label, job.share_done)
                    continue
                running.remove(entry)
                if outcome and attempt < ATTEMPTS:
                    progress.again(job.label, outcome)
                    job.record_failure(outcome, attempt)
                    waiting.append((job, attempt + 1))
                    continue
                if outcome:
                    job.record_failure(outcome, attempt)
                    ended.failed[job.label] = outcome
                else:
                    job.forget_failure()
                _release(claims.pop(job.label))
                progress.ended(job.label, outcome)
            if running:
                time.sleep(PAUSE)
    finally:
        for _, _, handle in running:
            handle.stop()
        for claim in claims.values():
            _release(claim)
        engine.close()
        progress.stop()
    return ended


def _release(claim: object) -> None:
    if claim is not None:
        claim.release()  # type: ignore[attr-defined]
