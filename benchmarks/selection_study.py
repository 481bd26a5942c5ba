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
from statistics import median

from cst.bench.suite_file import find_suite
from cst.selection.verdict import BAD, WORDS, judge

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
CELLS = {variant.column: variant for variant in find_suite("battery", methods="source-only").variants}
HALF = {name: variant.group.split()[1] for name, variant in CELLS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", default=",".join(name.replace(",", ";") for name in TASKS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--hold-out", type=float, default=0.1)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    if arguments.table:
        table(arguments.out, arguments.figure)
    else:
        run(arguments)


def run(arguments: argparse.Namespace) -> None:
    import torch

    from cst.config import Config
    from cst.engine.train import train
    from cst.tasks import load_task

    torch.set_num_threads(1)
    settings = {name: variant.config for name, variant in CELLS.items()}
    cells = {name: {k: v for k, v in config.items() if k != "method"} for name, config in settings.items()}
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


def table(file: Path, figure: Path | None) -> None:
    """What docs/results/selection.md has, as Markdown."""
    lines = [json.loads(line) for line in file.open()]
    counts = {task: sum(line["task"] == task for line in lines) for task in {line["task"] for line in lines}}
    lines = [line for line in lines if counts[line["task"]] == len(METHODS)]
    names = list(lines[0]["checkpoints"][0]["scores"])
    tasks = {half: sorted({r["task"] for r in lines if r["half"] == half}) for half in HALVES}
    checkpoints = sum(len(line["checkpoints"]) for line in lines)
    print(f"{len(lines)} runs, {checkpoints} checkpoints;", *(f"{half}: {', '.join(tasks[half])}." for half in HALVES))

    rows = {name: [figures_of(name, lines, half) for half in HALVES] for name in names}
    print("\n| score | correlation | best of all checkpoints, regret | best epoch of a run, regret |")
    print("| --- | ---: | ---: | ---: |")
    for name in sorted(rows, key=lambda name: rows[name][0]["epoch"][0]):
        cells = [" / ".join(row[key] for row in map(shown, rows[name])) for key in ("correlation", "all", "epoch")]
        print(f"| `{name}` | {' | '.join(cells)} |")
    for rule in ("last", "verdict"):
        cells = " / ".join(spread(regrets(lines, half, rule)) for half in HALVES)
        print(f"| `--select {rule}` | | | {cells} |")
    of_cst = " / ".join(spread(regrets(lines, half, "last", ("cst",))) for half in HALVES)
    print(f"| `--select last`, `cst` alone | | | {of_cst} |")

    print("\n| verdict | runs | gained half a point or more | lost a point or more | median change |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for half in HALVES:
        for word in WORDS:
            gains = [gain(line) for line in lines if line["half"] == half and verdict(line) == word]
            if gains:
                better, worse = sum(g >= 0.5 for g in gains), sum(g <= -1 for g in gains)
                print(f"| {word}, {half} | {len(gains)} | {better} | {worse} | {median(gains):+.1f} |")
    if figure:
        draw(rows, figure)


HALVES = ("deciding", "reporting")
JUDGED = tuple(method for method in METHODS if method not in ("source-only", "cst-literal"))
"""Methods with a source model of the same run to compare with."""


def figures_of(name: str, lines: list[dict], half: str) -> dict[str, tuple[float, float]]:
    """Mean and worst over tasks, or over runs, of one score on one half."""
    from scipy.stats import spearmanr

    correlations, over_all = [], []
    for task in sorted({line["task"] for line in lines if line["half"] == half}):
        points = [c for line in lines if line["task"] == task for c in line["checkpoints"]]
        accuracy, score = [c["accuracy"] for c in points], [c["scores"][name] for c in points]
        correlation = float(spearmanr(score, accuracy).statistic) if len(set(score)) > 1 else 0.0
        best = [a for a, s in zip(accuracy, score, strict=True) if s == max(score)]
        correlations.append(correlation)
        over_all.append(100 * (max(accuracy) - sum(best) / len(best)))
    epochs = regrets(lines, half, name)
    return {
        "correlation": (sum(correlations) / len(correlations), min(correlations)),
        "all": (sum(over_all) / len(over_all), max(over_all)),
        "epoch": (sum(epochs) / len(epochs), max(epochs)),
    }


def regrets(lines: list[dict], half: str, rule: str, methods: tuple[str, ...] = ()) -> list[float]:
    """Points lost against the best epoch of each run, of those methods, or of all that have a source model."""
    losses = []
    for line in lines:
        if line["half"] != half or line["method"] not in (methods or JUDGED):
            continue
        points = line["checkpoints"]
        if rule in ("last", "verdict"):
            goes_back = rule == "verdict" and verdict(line) in BAD
            chosen = points[0] if goes_back else points[-1]
        else:
            chosen = max(points, key=lambda point: point["scores"][rule])
        losses.append(100 * (max(p["accuracy"] for p in points) - chosen["accuracy"]))
    return losses


def verdict(line: dict) -> str:
    """Of a run, from its first checkpoint, the source model, and its last."""
    if line["method"] not in JUDGED:
        return ""
    first, last = line["checkpoints"][0], line["checkpoints"][-1]
    changed = round(1000 * last["changed"])
    before, after = (
        {"scores": point["scores"], "shares": point["shares"], "labels": labels, "heads_agree": 1.0}
        for point, labels in ((first, [0] * 1000), (last, [1] * changed + [0] * (1000 - changed)))
    )
    return judge(before, after, range(len(first["shares"])), line["held"]).word


def gain(line: dict) -> float:
    """Points by which the last epoch is above the source model."""
    return 100 * (line["checkpoints"][-1]["accuracy"] - line["checkpoints"][0]["accuracy"])


def shown(row: dict[str, tuple[float, float]]) -> dict[str, str]:
    return {
        "correlation": f"{row['correlation'][0]:+.2f}",
        **{key: f"{row[key][0]:.1f}, at most {row[key][1]:.1f}" for key in ("all", "epoch")},
    }


def spread(losses: list[float]) -> str:
    return f"{sum(losses) / len(losses):.1f}, at most {max(losses):.1f}"


def draw(rows: dict[str, list[dict]], file: Path) -> None:
    """Mean regret of each score, both halves, with the worst as a mark."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    order = sorted(rows, key=lambda name: rows[name][0]["all"][0])
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True)
    titles = ("best of all methods' checkpoints", "best epoch of one run")
    for axis, key, title in zip(axes, ("all", "epoch"), titles, strict=True):
        for place, (half, colour) in enumerate(zip(HALVES, ("#0072b2", "#d55e00"), strict=True)):
            heights = [rows[name][place][key] for name in order]
            at = [i + 0.38 * place - 0.19 for i in range(len(order))]
            axis.barh(at, [mean for mean, _ in heights], 0.36, color=colour, label=f"{half}, mean")
            axis.plot([worst for _, worst in heights], at, "|", color=colour, markersize=9, label=f"{half}, worst")
        axis.set_title(title, loc="left")
        axis.set_xlabel("points lost against the best by labels")
        axis.set_yticks(range(len(order)), order)
        axis.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    axes[1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
