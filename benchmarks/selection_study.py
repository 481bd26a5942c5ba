"""Which score that needs no target label finds the model that is best on the target?

    python benchmarks/selection_study.py --out study.jsonl          # trains; goes on where it was interrupted
    python benchmarks/selection_study.py --out study.jsonl --table  # prints what docs/results/selection.md has

Every epoch from the end of the warm-up on is a checkpoint with its scores (CST_DATA set; a tenth of the source is held
out, so that scores on the source mean something). Accuracies on the target judge the scores and nothing else.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from cst.bench.battery import DECIDING, REPORTING

METHODS = (
    *("source-only", "cst", "mcc", "cdan", "mdd", "dann"),
    *("cst+entropy", "cst-literal", "self-training", "fixmatch"),
)
TASKS = (
    *("breast-cancer-30-60", "breast-cancer-15-60", "wine-rescaled", "iris-rescaled", "breast-cancer-rescaled"),
    *("office-31 D-A", "office-31 W-A", "amazon B-E", "amazon E-B", "embedded", "office-31 D-A, label shift"),
    *("digits usps-svhn", "digits mnist-svhn", "digits mnist-usps", "digits usps-mnist"),
    *("office-home Ar-Cl", "office-home Pr-Cl", "office-31 A-W", "office-31 A-D", "amazon D-K", "amazon K-D"),
    *("digits-shares", "office-home Cl-Pr", "office-home Ar-Pr"),
)
HALF = {name: "deciding" for name, _ in DECIDING} | {name: "reporting" for name, _ in REPORTING}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", default=",".join(name.replace(",", ";") for name in TASKS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--hold-out", type=float, default=0.1)
    arguments = parser.parse_args()
    run(arguments)


def run(arguments: argparse.Namespace) -> None:
    import torch

    from cst.config import Config
    from cst.engine.train import train
    from cst.tasks import load_task

    torch.set_num_threads(1)
    cells = dict(DECIDING) | dict(REPORTING)
    done = set()
    if arguments.out.exists():
        done = {(r["task"], r["method"], r["seed"]) for r in map(json.loads, arguments.out.open())}
    for task in (name.replace(";", ",") for name in arguments.tasks.split(",")):
        for method in arguments.methods.split(","):
            if (task, method, arguments.seed) in done:
                continue
            config = Config(
                **cells[task], method=method, seed=arguments.seed, select="snd", hold_out=arguments.hold_out
            )
            began = time.process_time()
            history = train(load_task(config), config, tell=lambda _: None).history
            checkpoints = [
                {
                    "epoch": record["epoch"],
                    "accuracy": record["oracle"]["accuracy"],
                    "scores": record["scores"],
                    "shares": record["pseudo_label_distribution"],
                }
                for record in history
                if "scores" in record
            ]
            line = {
                "task": task,
                "half": HALF[task],
                "method": method,
                "seed": arguments.seed,
                "held": bool(history[-1].get("held")),
                "first_agreement": history[-1].get("first_agreement"),
                "checkpoints": checkpoints,
                "cpu_seconds": round(time.process_time() - began, 1),
            }
            with arguments.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(task, method, round(100 * history[-1]["oracle"]["accuracy"], 1), line["cpu_seconds"], flush=True)


if __name__ == "__main__":
    main()
