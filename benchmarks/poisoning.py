"""What does a target that somebody has tampered with do to an adapted model, and does cst say so?

    python benchmarks/poisoning.py --out poisoning.jsonl          # trains; goes on where it was interrupted
    python benchmarks/poisoning.py --out poisoning.jsonl --table  # prints what docs/results/robustness.md has

A share of the target is replaced by (letters) pictures that belong to no class; (bridge) mixtures that lead from
samples of one class of the target to samples of another class of the source; (flood) copies of five samples of one
class. Whoever tampers may know the target's labels; training does not. They judge, on the samples that were left alone
(CST_DATA names the folder with MNIST and USPS).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

METHODS = ("source-only", "self-training", "fixmatch", "cst", "mcc")
SHARES = {"synthetic-digits": (0.01, 0.05, 0.1), "digits-small:mnist-usps": (0.1,)}
SETTINGS: dict[str, Any] = {"backbone": "mlp", "epochs": 8, "steps_per_epoch": 32}
SAMPLES = 2000
"""Of each domain at most, so that all of this is an affair of minutes."""
CLEAN, LETTERS, BRIDGE, FLOOD = ATTACKS = ("clean", "letters", "bridge", "flood")
VICTIM, WANTED, FLOODED, COPIED = 4, 9, 1, 5
"""The class whose samples are to be taken for another, that one, the one that floods, and how many of it are copied."""
ALPHABET = "ABCDEFGHJKLMNPRTUVWXYZ"

Images = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """Images [N, 1, H, W] with ink 0..1, and their labels."""

    source: Images
    source_labels: Labels
    target: Images
    target_labels: Labels


def read(name: str) -> Data:
    """Digits at 8 pixels, or at the 16 of USPS."""
    from cst.tasks.catalogue import named_task

    task = named_task(name)
    truth = task.oracle.target_labels
    assert truth is not None
    source, target = (_small(np.asarray(domain.items[:SAMPLES])) for domain in (task.source, task.target))
    return Data(source, task.labels.numpy()[:SAMPLES], target, truth.numpy()[:SAMPLES])


def _small(images: Images) -> Images:
    side = images.shape[-1]
    block = max(side // 16, 1)
    return images.reshape(-1, 1, side // block, block, side // block, block).mean((3, 5)).astype(np.float32)


def poisoned(data: Data, attack: str, share: float, seed: int) -> tuple[Images, Any]:
    """The target with a share of it replaced, and which samples those are."""
    random = np.random.default_rng([seed, ATTACKS.index(attack)])
    places = random.permutation(len(data.target))[: round(share * len(data.target))]
    changed = np.isin(np.arange(len(data.target)), places)
    target, left = data.target.copy(), np.flatnonzero(~changed)
    if attack == LETTERS:
        target[places] = letters(len(places), data.target.shape[-1], random)
    elif attack == BRIDGE:
        ours = random.choice(left[data.target_labels[left] == VICTIM], len(places))
        theirs = random.choice(np.flatnonzero(data.source_labels == WANTED), len(places))
        part = np.linspace(0.05, 0.95, len(places), dtype=np.float32)[:, None, None, None]
        target[places] = (1 - part) * data.target[ours] + part * data.source[theirs]
    elif attack == FLOOD:
        few = random.choice(left[data.target_labels[left] == FLOODED], COPIED, replace=False)
        target[places] = data.target[random.choice(few, len(places))]
    return target, changed


def letters(count: int, side: int, random: np.random.Generator) -> Images:
    """Letters in matplotlib's font, turned a little, as large as the digits."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans-Bold.ttf", 60)
    pictures = []
    for letter in random.choice(list(ALPHABET), count):
        canvas = Image.new("L", (128, 128))
        ImageDraw.Draw(canvas).text((64, 64), str(letter), fill=255, font=font, anchor="mm")
        canvas = canvas.rotate(random.uniform(-20, 20))
        box = canvas.getbbox()
        pictures.append(np.asarray(canvas.crop(box).resize((side, side), Image.Resampling.BOX), dtype=np.float32) / 255)
    return np.stack(pictures)[:, None]


def cases() -> Iterator[tuple[int, str, str, float, str]]:
    """Seed, task, attack, share and method, what says most first."""
    for share in (0.1, 0.05, 0.01):
        for seed in (0, 1):
            for task in (task for task, shares in SHARES.items() if share in shares):
                for attack in ATTACKS if share == 0.1 else ATTACKS[1:]:
                    for method in METHODS:
                        yield seed, task, attack, share if attack != CLEAN else 0.0, method


def run(file: Path) -> None:
    """Train what is not yet in the file."""
    import torch

    torch.set_num_threads(1)
    done = set()
    if file.exists():
        done = {tuple(line[key] for key in ("seed", "task", "attack", "share", "method")) for line in _lines(file)}
    for case in cases():
        if case in done:
            continue
        line = outcome(*case)
        with file.open("a") as lines:
            lines.write(json.dumps(line) + "\n")
        print(*case, line["accuracy"], line["verdict"], line["cpu_seconds"], flush=True)


def outcome(seed: int, task: str, attack: str, share: float, method: str) -> dict[str, Any]:
    """One run from files, as a user has them: accuracy where nobody tampered, and what cst said."""
    from cst.analysis.inspection import inspect
    from cst.config import Config
    from cst.engine.train import train
    from cst.tasks import load_task
    from cst.tasks.own import own_domains

    data = read(task)
    target, changed = poisoned(data, attack, share, seed)
    began, said = time.process_time(), []
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{role}.npz" for role in ("source", "target")]
        np.savez(files[0], x=data.source, y=data.source_labels)
        np.savez(files[1], x=target)
        config = Config(source=files[0], target=files[1], method=method, seed=seed, **SETTINGS)
        warnings = inspect(*own_domains(config)[:2])["warnings"] if method == METHODS[0] else []
        adapted = train(load_task(config), config, tell=said.append)
    probs = adapted.predict_proba(target)
    labels = np.asarray(adapted.classes)[probs.argmax(1)]
    right, victims = labels == data.target_labels, ~changed & (data.target_labels == VICTIM)
    assert adapted.verdict
    return {
        **{"seed": seed, "task": task, "attack": attack, "share": share, "method": method},
        "accuracy": float(right[~changed].mean()),
        "victims_as_wanted": float((labels[victims] == WANTED).mean()),
        "verdict": adapted.verdict.word,
        "sentences": list(adapted.verdict.sentences),
        "said": [*said, *warnings],
        **({} if attack == CLEAN else seen_in_the_report(probs, changed)),
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def seen_in_the_report(probs: NDArray[np.float32], changed: Any) -> dict[str, float]:
    """How many of the report's examples are replaced samples, and whether those are the least certain ones."""
    import torch
    from sklearn.metrics import roc_auc_score

    from cst.analysis.report.gallery import LEAST, chosen
    from cst.functional import margin

    margins = margin(torch.as_tensor(probs))
    examples = chosen(torch.as_tensor(probs).argmax(1), margins, probs.shape[1])
    least = [example.position for example in examples if example.certainty == LEAST]
    return {
        "examples": len(least),
        "examples_replaced": int(changed[least].sum()),
        "uncertain": float(roc_auc_score(changed, -margins.numpy())),
    }


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def table(file: Path) -> None:
    """What docs/results/robustness.md has, as Markdown: means over the seeds."""
    lines = _lines(file)
    seeds = sorted({line["seed"] for line in lines})
    for task, shares in SHARES.items():
        print(f"\n{task}, seeds {', '.join(map(str, seeds))}\n")
        print(f"| target | {' | '.join(f'`{method}`' for method in METHODS)} |\n| --- |{' ---: |' * len(METHODS)}")
        rows = [(CLEAN, 0.0), *((attack, share) for attack in ATTACKS[1:] for share in shares)]
        for what in ("accuracy", "victims_as_wanted"):
            for attack, share in rows if what == "accuracy" else [r for r in rows if r[0] in (CLEAN, BRIDGE)]:
                cells = [_cell(_of(lines, task, attack, share, method), what) for method in METHODS]
                called = attack if attack == CLEAN else f"{attack}, {share:.0%}".replace("%", " %")
                print(f"| {called}{'' if what == 'accuracy' else ': fours called nines'} | {' | '.join(cells)} |")
        print(f"\n| target | {' | '.join(f'`{method}`' for method in METHODS)} |\n| --- |{' --- |' * len(METHODS)}")
        for attack, share in rows:
            words = [", ".join(r["verdict"] for r in _of(lines, task, attack, share, method)) for method in METHODS]
            print(f"| {attack}, {share:.0%} | {' | '.join(words)} |")
        for attack, share in rows[1:]:
            of = _of(lines, task, attack, share, "cst")
            if of:
                print(
                    f"{attack} {share:.0%}: {mean(r['examples_replaced'] for r in of):.1f} of "
                    f"{mean(r['examples'] for r in of):.0f} least certain examples; "
                    f"AUC {mean(r['uncertain'] for r in of):.2f}"
                )
    said: dict[str, list[str]] = {}
    for line in lines:
        for sentence in {*line["said"], *line["sentences"][1:]}:
            said.setdefault(sentence, []).append(f"{line['attack']} {line['share']:g} {line['method']}")
    for sentence, where in said.items():
        print(f"\n{sentence}\n   {len(where)}: {sorted(set(where))[:8]}")


def _of(lines: list[dict[str, Any]], *case: Any) -> list[dict[str, Any]]:
    keys = ("task", "attack", "share", "method")
    return [line for line in lines if tuple(line[key] for key in keys) == case]


def _cell(lines: list[dict[str, Any]], name: str) -> str:
    return f"{100 * mean(line[name] for line in lines):.1f}" if lines else ""


def main() -> None:
    """Train, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    (table if arguments.table else run)(arguments.out)


if __name__ == "__main__":
    main()
