"""Damaged files by the thousand: does any reader end in a traceback, hang, or take all memory?

    python benchmarks/fuzz.py --inputs 10000 --out fuzz.json

Real files of every format that is read (tests/fuzzed.py) are changed at random and read, each reader in a process of
its own with a bound on memory and a limit of time for each input. The inputs follow from the seed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

SECONDS = 20
"""For one input; a thousand times what one needs."""
MEMORY = 2 * 2**30
"""Bytes that a reader may take beyond what it has when it begins."""


class Hangs(BaseException):
    """An input takes longer than it may."""


def _alarm(number: int, frame: Any) -> None:
    raise Hangs


def fuzz(name: str, reader: Any, inputs: int, seed: int) -> dict[str, Any]:
    """What became of so many inputs."""
    from fuzzed import mutated

    whole = reader.file.read_bytes()
    assert reader.bears(whole) is None
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    signal.signal(signal.SIGALRM, _alarm)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts: Counter[str] = Counter()
    found: dict[str, Any] = {}
    slowest, began = 0.0, time.process_time()
    for number in range(inputs):
        content = mutated(whole, random.Random(f"{seed} {name} {number}"))
        start = time.process_time()
        signal.alarm(SECONDS * 10)
        try:
            counts["refused" if reader.bears(content) else "read"] += 1
        except (Exception, Hangs) as error:
            counts["found"] += 1
            place = traceback.extract_tb(error.__traceback__)
            ours = [f for f in place if "/cst/" in f.filename][-1:] or place[-1:]
            key = f"{type(error).__name__} {Path(ours[0].filename).name}:{ours[0].lineno} {str(error)[:80]}"
            found.setdefault(key, {"number": number, "times": 0})["times"] += 1
        finally:
            signal.alarm(0)
        slowest = max(slowest, time.process_time() - start)
    return {
        **{"inputs": inputs, "read": counts["read"], "refused": counts["refused"], "found": found},
        "slowest_cpu_seconds": round(slowest, 2),
        "cpu_seconds": round(time.process_time() - began, 1),
        "more_memory_mb": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
    }


def main() -> None:
    """Each reader in its own process, which may die."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=10_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--readers", help="only those whose name begins so; several with commas")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from fuzzed import readers

    lines: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    with TemporaryDirectory() as folder:
        made = readers(Path(folder))
        few = arguments.inputs // 100
        many = sum(not name.startswith("run") for name in made)
        rest = -(-(arguments.inputs - few * (len(made) - many)) // many)
        for name, reader in made.items():
            share = few if name.startswith("run") else rest  # to look into a run takes longest
            asked = not arguments.readers or any(name.startswith(word) for word in arguments.readers.split(","))
            if not asked or lines.get(name, {}).get("inputs", 0) >= share:
                continue
            context = multiprocessing.get_context("fork")
            ours, theirs = context.Pipe(duplex=False)
            worker = context.Process(
                target=lambda end, *words: end.send(fuzz(*words)), args=(theirs, name, reader, share, arguments.seed)
            )
            worker.start()
            theirs.close()
            try:
                lines[name] = ours.recv()
            except EOFError:
                worker.join()
                lines[name] = {"inputs": 0, "found": {f"the process died with {worker.exitcode}": {}}}
            worker.join()
            arguments.out.write_text(json.dumps(lines, indent=1) + "\n")
            print(name, lines[name], flush=True)
    table(lines)


def table(lines: dict[str, Any]) -> None:
    """What docs/results/robustness.md has, as Markdown."""
    print("| file | inputs | read all the same | one sentence | anything else | slowest, CPU s | more memory, MB |")
    print("| --- |" + " ---: |" * 6)
    for name, line in lines.items():
        found = sum(what.get("times", 1) for what in line["found"].values())
        cells = (line["inputs"], line.get("read"), line.get("refused"), found)
        cells += (line.get("slowest_cpu_seconds"), line.get("more_memory_mb"))
        print(f"| {name} | {' | '.join(map(str, cells))} |")
    print(f"| all | {sum(line['inputs'] for line in lines.values()):,} |")


if __name__ == "__main__":
    main()
