"""Damaged files: real ones of every format that is read, changed at random, and the readers that must bear them.

A reader may return, or raise a ``ValueError`` or an ``OSError``, which the command line turns into one sentence.
"""

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np

WORDS = (
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1b[31m", b"\r", b"\n", b"\n\n", b"\t", b'"', b"'", b",", b";"),
    *(
        b"1e999",
        b"-1e38",
        b"1e18",
        400 * b"9",
        5000 * b"9",
        b"-1",
        b"0",
        b"NaN",
        b"Infinity",
        b"null",
        b"true",
        b"0x10",
    ),
    *(b"[", b"{", b"]", b"}", 2000 * b"[", b"&a [*a]", b"!!python/object/apply:os.system [x]", b": ", b"- ", b"# "),
    *(b"../../../etc/passwd", b"=1+1", b"%s%n", b"\\u0000", b"\\ud800", "\u202e\u0130\ud7ff".encode(), b"\xc3\x28"),
    *(b"<review>", b"</review>", b"2 300:1", b"1:1e400", b"qid:1"),
)
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
ENCODINGS = ("utf-16", "utf-32", "latin-1", "utf-7", "cp037")


def mutated(content, random):
    """The bytes with one to four changes."""
    if content[:2] == b"PK" and random.random() < 0.6:
        return _member_changed(content, random)
    for _ in range(random.randint(1, 4)):
        content = random.choice(CHANGES)(content, random)
    return content


def _place(content, random):
    return random.randint(0, max(len(content) - 1, 0))


def _flip(content, random):
    changed = bytearray(content or b"\0")
    for _ in range(random.randint(1, 8)):
        changed[_place(changed, random)] ^= 1 << random.randint(0, 7)
    return bytes(changed)


def _cut(content, random):
    return content[: _place(content, random)]


def _part(content, random):
    start = _place(content, random)
    return start, start + random.randint(1, max(1, min(200, len(content))))


def _lose(content, random):
    start, end = _part(content, random)
    return content[:start] + content[end:]


def _repeat(content, random):
    start, end = _part(content, random)
    return content[:end] + content[start:end] * random.randint(1, 50) + content[end:]


def _insert(content, random):
    place = _place(content, random)
    return content[:place] + random.choice(WORDS) + content[place:]


def _replace(content, random):
    start, end = _part(content, random)
    return content[:start] + random.choice(WORDS) + content[end:]


def _number(content, random):
    form = random.choice(("<H", ">H", "<I", ">I"))
    number = struct.pack(form, random.choice(NUMBERS) & (0xFFFF if form[1] == "H" else 0xFFFFFFFF))
    place = random.randint(0, min(len(content), 64)) if random.random() < 0.5 else _place(content, random)
    return content[:place] + number + content[place + len(number) :]


def _digits(content, random):
    """Another number in the place of one that is written in digits."""
    spans = [match.span() for match in re.finditer(rb"-?\d+(\.\d+)?", content[:20_000])]
    if not spans:
        return _insert(content, random)
    start, end = random.choice(spans)
    number = random.choice(
        (b"-1", b"0", b"1e999", b"NaN", b"99999999999999999999", 400 * b"9", b'"x"', b"[1]", b"null")
    )
    return content[:start] + number + content[end:]


def _splice(content, random):
    """The beginning of it, and another part of it."""
    return content[: _place(content, random)] + content[_place(content, random) :]


def _encode(content, random):
    return content.decode("utf-8", "replace").encode(random.choice(ENCODINGS), "replace")


CHANGES = (_flip, _flip, _cut, _lose, _repeat, _insert, _replace, _number, _number, _digits, _digits, _splice, _encode)


def _member_changed(content, random):
    """A zip archive of which one member is changed, whole in itself."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        names = old.namelist()
        chosen = random.choice(names)
        for name in names:
            member = old.read(name)
            new.writestr(name, mutated(member, random) if name == chosen else member)
    return packed.getvalue()


@dataclass(frozen=True)
class Reader:
    """What reads a file.

    Attributes:
        file: a whole one.
        read: takes the folder in which the file lies, damaged.
    """

    file: Path
    read: Callable[[Path], None]

    def bears(self, content):
        """Read the file with this content; the error that stands for a sentence, or nothing. Others go on."""
        whole = self.file.read_bytes()
        self.file.write_bytes(content)
        try:
            self.read(self.file)
        except (ValueError, OSError) as error:
            return error
        finally:
            self.file.write_bytes(whole)
        return None


def readers(folder):
    """A reader for each sort of file, by name; the files are made in ``folder``."""
    return {
        **_tables(folder),
        **_arrays(folder),
        **_pictures(folder),
        **_publishers(folder),
        **_settings(folder),
        **_run(folder),
    }


def _rows(count=24):
    random = np.random.default_rng(0)
    names = ("ant", "bee")
    return [
        {
            "label": names[i % 2],
            "width": round(float(random.normal()) + 2 * (i % 2), 3),
            "colour": ("red", "blue", "green")[int(random.integers(3))],
            "text": f"row {i} is {names[i % 2]}, \u00fc \u4e2d",
        }
        for i in range(count)
    ]


def _tables(folder):
    import csv

    import pyarrow
    from pyarrow import parquet

    rows = _rows()
    for name, separator in (("a.csv", ","), ("a.tsv", "\t")):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            lines = csv.DictWriter(file, list(rows[0]), delimiter=separator)
            lines.writeheader()
            lines.writerows(rows)
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    parquet.write_table(pyarrow.table({name: [row[name] for row in rows] for name in rows[0]}), folder / "a.parquet")
    whole = folder / "whole.csv"
    whole.write_bytes((folder / "a.csv").read_bytes())
    made = {name: Reader(folder / f"a.{name}", lambda path: _inspected(path, whole)) for name in ("csv", "tsv")}
    made |= {name: Reader(folder / f"a.{name}", lambda path: _inspected(path, whole)) for name in ("jsonl", "parquet")}
    return made | {"csv of texts": Reader(folder / "a.csv", lambda path: _inspected(path, whole, text="text"))}


def _inspected(source, target, **more):
    """What `cst inspect` and the beginning of training do, both ways round."""
    from cst.analysis.inspection import inspect
    from cst.config import Config
    from cst.tasks.own import own_domains, own_task

    errors = []
    for one, other in ((source, target), (target, source)):
        config = Config(source=one, target=other, **more)
        try:
            inspect(*own_domains(config))
            own_task(config)
        except (ValueError, OSError) as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _arrays(folder):
    random = np.random.default_rng(0)
    inputs, labels = random.normal(size=(12, 3)).astype(np.float32), np.array(["ant", "bee"] * 6)
    np.savez(folder / "whole.npz", x=inputs, y=labels)
    np.savez(folder / "a.npz", x=inputs, y=labels)
    np.save(folder / "a.npy", inputs)
    np.save(folder / "labels.npy", np.arange(12) % 2)
    whole = folder / "whole.npz"
    return {
        "npz": Reader(folder / "a.npz", lambda path: _inspected(path, whole)),
        "npy": Reader(folder / "a.npy", lambda path: _alone(path, whole, folder / "labels.npy")),
        "npy of labels": Reader(folder / "labels.npy", lambda path: _alone(folder / "a.npy", whole, path)),
    }


def _alone(source, target, labels):
    from cst.config import Config
    from cst.tasks.own import own_task

    own_task(Config(source=source, target=target, label=str(labels)))


def _pictures(folder):
    import torch
    from PIL import Image

    from cst.data.images import ImageFiles, problem

    def seen(path):
        if trouble := problem(path):
            raise ValueError(trouble)
        ImageFiles([path], 16).take(torch.tensor([0]))
        ImageFiles([path], 16).take(torch.tensor([0]), seed=0)

    random = np.random.default_rng(0)
    picture = Image.fromarray(random.integers(0, 255, (24, 20, 3), dtype=np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    made = {}
    for ending, picked, words in (
        *(("png", picture, {}), ("jpg", picture, {"exif": exif}), ("bmp", picture, {}), ("webp", picture, {})),
        *(("gif", picture.convert("P"), {}), ("tif", picture, {"compression": "tiff_lzw"}), ("ppm", picture, {})),
    ):
        picked.save(folder / f"a.{ending}", **words)
        made[ending] = Reader(folder / f"a.{ending}", seen)
    return made


def _publishers(folder):
    from scipy.io import savemat

    from cst.tasks.benchmarks import digits
    from cst.tasks.benchmarks.reviews import read_reviews

    random = np.random.default_rng(0)
    places = {name: folder / name for name in ("MNIST", "USPS", "SVHN", "amazon-reviews/books")}
    for place in places.values():
        place.mkdir(parents=True)
    images, labels = random.integers(0, 255, (3, 28, 28), dtype=np.uint8), np.arange(3, dtype=np.uint8)
    for name, values in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
        head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
        (places["MNIST"] / f"train-{name}").write_bytes(head + values.tobytes())
    lines = [f"{i + 1} " + " ".join(f"{j}:{random.uniform(-1, 1):.3f}" for j in range(1, 257, 3)) for i in range(4)]
    (places["USPS"] / "usps").write_text("\n".join(lines) + "\n")
    savemat(places["SVHN"] / "train_32x32.mat", {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.array([[1], [10]])})
    review = "<review>\n<title>\n{0}\n</title>\n<review_text>\nIt is {0}, really.\n</review_text>\n</review>\n"
    for label in ("negative", "positive"):
        text = "".join(review.format(f"{label} {i}") for i in range(5))
        (places["amazon-reviews/books"] / f"{label}.review").write_text(text)
    return {
        "idx of images": Reader(
            places["MNIST"] / "train-images-idx3-ubyte", lambda _: digits.read_digits(folder, "mnist")
        ),
        "idx of labels": Reader(
            places["MNIST"] / "train-labels-idx1-ubyte", lambda _: digits.read_digits(folder, "mnist")
        ),
        "LIBSVM": Reader(places["USPS"] / "usps", lambda _: digits.read_digits(folder, "usps")),
        "mat": Reader(places["SVHN"] / "train_32x32.mat", lambda _: digits.read_digits(folder, "svhn")),
        "reviews": Reader(places["amazon-reviews/books"] / "negative.review", lambda _: read_reviews(folder, "B")),
    }


def _settings(folder):
    from cst.bench.suite_file import find_suite
    from cst.config.options import load_config
    from cst.grammar import adjusted, parse_method

    (folder / "mine.yaml").write_text(
        "method: cycle+tsallis(alpha=1.5)\nepochs: 3\nlr: 1e-3\nweight: {cycle: 2.0}\noption: [cycle.l2=0.1]\n"
        "drop: a,b\nseed: 1\nguard: 0.3\nhold_out: 0.1\nsource: a.csv\ntarget: b.csv\ncolumns: [x, y]\n"
    )
    (folder / "suite.yaml").write_text(
        "title: Mine\nagainst: source-only\nseeds: 2\nmethods: [source-only, cst, {name: mine, method: cycle+sam}]\n"
        "settings: {epochs: 2, lr: 0.01}\nparts:\n  - name: one\n    tasks: [synthetic-digits, 'tables:wine-rescaled']"
        "\n  - tasks:\n      - {name: again, task: synthetic-digits, batch_size: 16}\n    settings: {epochs: 1}\n"
        "figures: [accuracy]\n"
    )

    def configured(path):
        config = load_config(path)
        adjusted(parse_method(config.method), config.weight, config.option)

    return {
        "configuration": Reader(folder / "mine.yaml", configured),
        "suite": Reader(folder / "suite.yaml", lambda path: find_suite(str(path))),
    }


def _run(folder):
    """A finished run, all files of which are read as predict, evaluate, report, table and --resume read them."""
    from cst.config import Config
    from cst.engine.setup import set_up, settle
    from cst.engine.train import train
    from cst.tasks import load_task

    place = folder / "run"
    whole = folder / "whole.csv"
    config = Config(
        source=whole,
        target=whole,
        method="cst",
        epochs=4,
        steps_per_epoch=1,
        batch_size=8,
        hold_out=0.1,
        select="certainty",
        keep_checkpoint=True,
        out=place,
    )
    train(load_task(config), config, tell=lambda _: None)
    training = set_up(load_task(config), *settle(config, load_task(config)))
    files = sorted(path for path in place.iterdir() if path.is_file() and not path.name.startswith("."))
    return {f"run: {path.name}": Reader(path, lambda _: _looked_into(place, whole, training)) for path in files}


def _looked_into(place, table, training):
    import warnings

    from cst.analysis.report import sections
    from cst.analysis.subject import Subject
    from cst.bench.rows import rows_below
    from cst.cli.verdict import print_evidence, print_selection, print_verdict
    from cst.engine.adapted import load
    from cst.engine.checkpoint import Checkpoints
    from cst.engine.run import Run

    errors = []

    def attempt(what):
        try:
            what()
        except (ValueError, OSError) as error:
            errors.append(error)

    def predict():
        adapted = load(place)
        adapted.probs(adapted.read(table).items)

    def look():
        subject = Subject(place)
        for name in ("data", "classes", "predictions", "before", "after", "predicted_shares", "source_shares"):
            getattr(subject, name)
        for section in (sections.verdict, sections.facts, sections.what_was_done, sections.confusion):
            section(subject)
        print_verdict(subject.result)
        print_evidence(subject.result)
        print_selection(subject.result, subject.history)

    def resume():
        run = Run.open(place)
        records = run.metrics_file.read_bytes()
        try:
            run._check_same(training.settings)
            Checkpoints(run, training).restore()
        finally:
            run.metrics_file.write_bytes(records)

    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for what in (predict, look, lambda: rows_below(place), resume):
            attempt(what)
    if errors:
        raise errors[0]
