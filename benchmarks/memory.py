"""Where the memory goes when the target is large: a memory-mapped array of small rows, 1, 2 and 4 million of them.

    python benchmarks/memory.py --millions 1 2 4 --methods cst cbst

Each run is a process of its own. Printed are the most that it held of its own (anonymous pages; those of the mapped
file, which the system takes back when it likes, are not counted) while reading, training, and afterwards, in MB over
what it held when everything was imported; and the CPU seconds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

WIDTH = 16
COLUMNS = ("reading", "training", "after", "predict", "seconds")


def held() -> float:
    """Anonymous memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


class Most:
    """The most that was held in each phase."""

    def __init__(self) -> None:
        self.phase, self.most, self.before = "reading", {}, held()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            self.most[self.phase] = max(self.most.get(self.phase, 0.0), held() - self.before)
            time.sleep(0.01)


def one(file: Path, method: str) -> None:
    import torch

    import cst

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    source = random.normal(size=(2000, WIDTH)).astype(np.float32)
    labels = (source[:, 0] > 0).astype(int) + (source[:, 1] > 0)
    short = {"epochs": 2, "steps_per_epoch": 20, "warmup_epochs": 0}
    small = (source, labels), source[:500]
    cst.adapt(*small, method, **short)  # imports what a run imports
    target, most = np.load(file, mmap_mode="r"), Most()

    class Phases(cst.Callback):
        def on_start(self, total: int) -> None:
            most.phase = "training"

        def on_end(self) -> None:
            most.phase = "after"

    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        adapted = cst.adapt((source, labels), target, method, callbacks=[Phases()], out=Path(folder) / "run", **short)
    most.phase = "predict"
    adapted.predict(target)
    print(json.dumps({**most.most, "seconds": time.process_time() - began}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 2, 4])
    parser.add_argument("--methods", nargs="+", default=["cst", "cbst"])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.one:
        one(Path(words.one[0]), words.one[1])
        return
    print("| method | million rows | reading | training | after | predict | CPU seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for millions in words.millions:
        rows = round(millions * 1e6)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "target.npy"
            array = np.lib.format.open_memmap(file, "w+", np.float32, (rows, WIDTH))
            for start in range(0, rows, 100_000):
                random = np.random.default_rng(start)
                array[start : start + 100_000] = random.normal(0.3, 1, (min(100_000, rows - start), WIDTH))
            array.flush()
            del array
            for method in words.methods:
                process = [sys.executable, __file__, "--one", str(file), method]
                figures = json.loads(subprocess.run(process, check=True, capture_output=True, text=True).stdout)
                cells = [
                    f"{figures.get(name, 0):.0f}" for name in ("reading", "training", "after", "predict", "seconds")
                ]
                print(f"| `{method}` | {millions:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
