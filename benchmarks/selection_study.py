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
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    table(arguments.out) if arguments.table else run(arguments)


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
                    "changed": record.get("changed_share", 0.0),
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


def table(file: Path) -> None:
    """Rank correlation and regret of each validator, and of means of ranks of two and three of them."""
    import numpy as np
    from scipy.stats import rankdata, spearmanr

    lines = [json.loads(line) for line in file.open()]
    tasks: dict[str, list[dict]] = {}
    for line in lines:
        tasks.setdefault(line["task"], []).append(line)
    tasks = {name: runs for name, runs in tasks.items() if len(runs) >= 6}
    names = [n for n in lines[0]["checkpoints"][0]["scores"] if all(n in r["checkpoints"][0]["scores"] for r in lines)]
    single = {(name,) for name in names}
    pairs = {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}
    triples = {
        (a, b, c) for i, a in enumerate(names) for j, b in enumerate(names[i + 1 :], i + 1) for c in names[j + 1 :]
    }
    figures: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for task, runs in tasks.items():
        half = HALF[task]
        checkpoints = [c for r in runs for c in r["checkpoints"]]
        accuracy = np.array([c["accuracy"] for c in checkpoints])
        ranks = {n: rankdata([c["scores"][n] for c in checkpoints]) for n in names}
        finals = [r["checkpoints"][-1] for r in runs]
        final_accuracy = np.array([c["accuracy"] for c in finals])
        final_ranks = {n: rankdata([round(c["scores"][n], 4) for c in finals]) for n in names}
        for members in single | pairs | triples:
            score = sum(ranks[n] for n in members)
            kept = figures.setdefault(members, {})
            row = kept.setdefault(half, [])
            correlation = spearmanr(score, accuracy).statistic
            final = sum(final_ranks[n] for n in members)
            among = final_accuracy[final >= final.max() - 1e-9].mean()
            row.append(
                (
                    0.0 if np.isnan(correlation) else correlation,
                    100 * (accuracy.max() - accuracy[score >= score.max() - 1e-9].mean()),
                    100 * (final_accuracy.max() - among),
                )
            )
    count = {half: sum(HALF[t] == half for t in tasks) for half in ("deciding", "reporting")}
    print(count, "tasks;", sum(len(r["checkpoints"]) for runs in tasks.values() for r in runs), "checkpoints")

    def show(members: tuple[str, ...]) -> None:
        cells = []
        for half in ("deciding", "reporting"):
            rows = np.array(figures[members].get(half, [(0, 0, 0)]))
            cells.append(
                f"{rows[:, 0].mean():.2f}  {rows[:, 1].mean():5.1f} {rows[:, 1].max():5.1f}  "
                f"{rows[:, 2].mean():5.1f} {rows[:, 2].max():5.1f}"
            )
        print(f"{' + '.join(members):60s} | " + " | ".join(cells))

    print("half: correlation, regret over all checkpoints mean worst, over last epochs mean worst")
    for members in sorted(single):
        show(members)
    for group in (pairs, triples):
        best = sorted(group, key=lambda m: np.array(figures[m]["deciding"])[:, 2].mean())[:12]
        for members in best:
            show(members)
    last = {}
    for half in ("deciding", "reporting"):
        for method in METHODS:
            rows = []
            for task, runs in tasks.items():
                if HALF[task] != half:
                    continue
                finals = {r["method"]: r["checkpoints"][-1]["accuracy"] for r in runs}
                rows.append(100 * (max(finals.values()) - finals[method]))
            last[half, method] = rows
    for method in METHODS:
        print(
            f"always {method:20s}",
            *(f"{np.mean(last[h, method]):5.1f} {np.max(last[h, method]):5.1f}" for h in count if last[h, method]),
        )


if __name__ == "__main__":
    main()
