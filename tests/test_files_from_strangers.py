"""Files that somebody else made, perhaps with intent: a sentence, no code that runs, no hang, nothing lost."""

import csv
import errno
import json
import os
import struct
import threading
import zipfile
from importlib import import_module

import numpy as np
import pytest
import yaml
from PIL import Image

from cst.files import load_yaml, write_aside, write_text_aside
from cst.spelling import harmless

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(9 * ['*' + old])}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB + "method: *i\n", "it has an alias ('*a'), which is not allowed"),
        ("epochs: " + 5000 * "[" + 5000 * "]", "it is nested too deeply"),
        ("epochs: " + 1_000_001 * "1", "more than 1,000,000"),
        ("epochs: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("epochs: [1", "is not valid YAML"),
    ],
)
def test_yaml_that_would_take_memory_or_run_code(text, says, mistake, tmp_path):
    (tmp_path / "mine.yaml").write_text(text)
    for command in (["train", "--config"], ["bench"], ["table"]):
        assert says in mistake(*command, tmp_path / "mine.yaml")


def test_plain_yaml_is_read_as_before():
    values = {"epochs": 3, "weight": {"cycle": 2.0}, "option": ["cycle.l2=0.1"], "strict": True, "seed": None}
    assert load_yaml(yaml.safe_dump(values)) == values


def test_predictions_carry_no_formulas(cst, tmp_path):
    random = np.random.default_rng(0)
    rows = [["@SUM(1)" if i % 2 else "=cmd|calc", *random.normal(size=2) + 3 * (i % 2)] for i in range(40)]
    for name in ("source.csv", "target.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([["label", "a", "b"], *rows])
    run = tmp_path / "run"
    words = ["--source", tmp_path / "source.csv", "--target", tmp_path / "target.csv", "--epochs", "1", "--out", run]
    assert cst("train", "--method", "source-only", *words)[0] == 0
    code, _, err = cst("predict", run, "--input", tmp_path / "target.csv", "--out", tmp_path / "p.csv")
    assert code == 0, err
    with (tmp_path / "p.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert {"'=cmd|calc", "'@SUM(1)"} & set(cells)
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]


@pytest.mark.parametrize("cell", ["-1", "+2.5e3", "-inf", "a-b", "", 3, None, 2.5])
def test_what_is_no_formula_stays_as_it_is(cell):
    assert harmless(cell) is cell


def test_a_pipe_among_the_pictures_is_left_out_and_nobody_waits_for_it(photos, cst):
    source, target = photos
    os.mkfifo(target / "pipe.jpg")
    done = []
    worker = threading.Thread(target=lambda: done.append(looked_at(target / "pipe.jpg")), daemon=True)
    worker.start()
    worker.join(10)
    assert done
    assert "cannot be read as an image" in done[0]
    code, out, err = cst("inspect", source, target)
    assert code == 0
    assert "pipe.jpg" in out + err


def looked_at(path):
    from cst.data.images import problem

    return problem(path)


def test_a_picture_is_what_its_name_promises_or_one_of_the_known_formats(tmp_path):
    (tmp_path / "evil.jpg").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n")
    assert "cannot be read as an image" in looked_at(tmp_path / "evil.jpg")
    for name, mode in [("a.png", "RGB"), ("a.gif", "P"), ("a.bmp", "RGB"), ("a.tif", "L"), ("a.webp", "RGB")]:
        Image.new(mode, (8, 8)).save(tmp_path / name)
        assert looked_at(tmp_path / name) == ""


def test_code_in_a_folder_of_a_model_is_not_run(tiny_bert, tmp_path, monkeypatch):
    import shutil

    from cst.hub import load_tokenizer
    from cst.models.text import load_transformer

    folder = tmp_path / "model"
    shutil.copytree(tiny_bert, folder)
    trap = tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(trap)!r}, 'w').close()\nclass Evil: pass\n")
    for name, key in (("tokenizer_config.json", "AutoTokenizer"), ("config.json", "AutoModel")):
        values = json.loads((folder / name).read_text())
        reference = ["evil.Evil", None] if key == "AutoTokenizer" else "evil.Evil"
        values |= {
            "auto_map": {key: reference, "AutoConfig": "evil.Evil"},
            "tokenizer_class": "Evil",
            "model_type": "evil",
        }
        (folder / name).write_text(json.dumps(values))
    monkeypatch.setattr("builtins.input", lambda *words: pytest.fail("it asks whether code may run"))
    load_tokenizer.cache_clear()
    for load in (lambda: load_tokenizer(str(folder)), lambda: load_transformer(str(folder), "pretrained", None)):
        with pytest.raises(ValueError, match="cannot be loaded"):
            load()
    assert not trap.exists()


def test_a_full_disk_is_called_that_and_the_old_file_stays(tmp_path, monkeypatch):
    from types import SimpleNamespace

    import cst.files

    write_text_aside(tmp_path / "a.txt", "before")

    def fails(aside):
        raise RuntimeError("[enforce fail at inline_container.cc:603] . unexpected pos 64 vs 0")

    with pytest.raises(RuntimeError, match="unexpected pos"):  # for another reason
        write_aside(tmp_path / "a.txt", fails)
    monkeypatch.setattr(cst.files.shutil, "disk_usage", lambda place: SimpleNamespace(free=0))
    with pytest.raises(OSError, match="the disk is full; what was there before is kept") as error:
        write_aside(tmp_path / "a.txt", fails)
    assert error.value.errno == errno.ENOSPC
    assert (tmp_path / "a.txt").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


SHORT = ["--epochs", "1", "--steps-per-epoch", "2"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--device", "tpu"], 2, "Device 'tpu'"),
        (["--method", "tsallis(alpha=1e308)"], 2, "alpha must be positive, and at most 100"),
        (["--bottleneck", "1000000000"], 2, "--bottleneck must be at most 1,048,576, got 1000000000"),
        (["--epochs", "99999999999"], 2, "--epochs must be a whole number of at most 2,147,483,647, got 99999999999"),
        (["--lr", "1e308"], 2, "--lr must be at most 1e+30, got 1e+308"),
        (["--weight-decay", "1e308"], 2, "--weight-decay must be at most 1e+30"),
        (["--weight", "cycle=" + 400 * "9"], 2, "cycle must be at most 1e+30, got 999"),
        (["--option", "cycle.l2=" + 900 * "["], 2, "is not a setting: write NAME=VALUE with a plain value"),
        (["--method", "+".join(1700 * ["cycle"])], 2, "The method has 10,199 characters, more than 2,000"),
        (["--method", "cycle+entropy+cycle"], 2, "has 'cycle' twice: name it once"),
        (["--backbone", 100_000 * "x"], 2, "xxx...': Known backbones"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(words, code, says, cst, tmp_path):
    ended, out, err = cst("train", *SHORT, "--out", tmp_path / "run", *words)
    assert ended == code
    assert says in err
    assert "Traceback" not in out + err
    assert not (tmp_path / "run").exists()


def test_too_little_memory_is_one_sentence(cst, monkeypatch, tmp_path):
    def allocate(*_):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(import_module("cst.engine.train"), "set_up", allocate)
    code, out, err = cst("train", *SHORT, "--out", tmp_path / "run")
    assert code == 1
    assert "there is not enough memory for this run" in err
    assert "Traceback" not in out + err


@pytest.fixture
def command(cst):
    """`cst` under a name that leaves the package's free."""
    return cst


def test_a_torn_line_in_the_records_does_not_keep_a_model_from_predicting(shifted_blobs, tmp_path, command):
    import cst

    source, labels, target, _ = shifted_blobs
    words = {"epochs": 2, "steps_per_epoch": 3, "out": tmp_path / "run", "progress": False}
    adapted = cst.adapt((source, labels), target, "source-only", **words)
    metrics = tmp_path / "run" / "metrics.jsonl"
    metrics.write_text(metrics.read_text()[:-20])
    with pytest.warns(UserWarning, match=r"metrics\.jsonl is damaged .* loaded without its history"):
        again = cst.load(tmp_path / "run")
    assert again.history == []
    assert (again.predict(target) == adapted.predict(target)).all()
    np.save(tmp_path / "target.npy", target)
    code, _, err = command("predict", tmp_path / "run", "--input", tmp_path / "target.npy", "--out", tmp_path / "p.csv")
    assert code == 0
    assert err.startswith("cst: ")  # one sentence, no line of code
    assert "UserWarning" not in err


@pytest.mark.parametrize(
    "text", ["[]", '{"verdict": {"evidence": {"snd": {"label": "?"}}}}', '{"selected": {"by": 1}}']
)
def test_a_result_of_another_shape_is_damaged(text, tmp_path):
    from cst.engine.run import Run

    (tmp_path / "result.json").write_text(text)
    with pytest.raises(ValueError, match=r"result\.json is damaged or was not written by cst"):
        _ = Run(tmp_path).result


class Evil:
    """Pickled, it makes a file when it is read."""

    def __init__(self, trap):
        self.trap = str(trap)

    def __reduce__(self):
        return open, (self.trap, "w")


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """A finished run on tables, with all files that a run may have."""
    from cst.cli.main import main

    folder = tmp_path_factory.mktemp("strangers")
    random = np.random.default_rng(0)
    for name in ("source.csv", "target.csv"):
        rows = [[i % 2, *random.normal(size=2) + 3 * (i % 2)] for i in range(40)]
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows([["label", "a", "b"], *rows])
    words = [
        "--source",
        folder / "source.csv",
        "--target",
        folder / "target.csv",
        "--epochs",
        "4",
        "--out",
        folder / "run",
    ]
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in ["train", *words, "--select", "certainty", "--keep-checkpoint"]])
    assert end.value.code == 0
    return folder


def test_no_file_of_a_run_can_run_code(whole_run, tmp_path, cst):
    """A pickle in the place of each file in turn, and every command that reads a run."""
    import pickle
    import shutil

    trap = tmp_path / "ran"
    poison = pickle.dumps(Evil(trap))
    files = [path.name for path in (whole_run / "run").iterdir() if path.is_file() and not path.name.startswith(".")]
    assert {"config.yaml", "metrics.jsonl", "checkpoint.pt", "model.json", "model.safetensors"} <= set(files)
    target = whole_run / "target.csv"
    for name in files:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(whole_run / "run", tmp_path / "run")
        (tmp_path / "run" / name).write_bytes(poison)
        commands = [["predict", tmp_path / "run", "--input", target, "--out", tmp_path / "p.csv"]]
        commands += [["evaluate", tmp_path / "run"], ["train", "--resume", tmp_path / "run"]]
        commands += [["report", tmp_path / "run", "--out", tmp_path / "r.html"], ["table", tmp_path / "run"]]
        for words in commands:
            code, out, err = cst(*words)
            assert code in (0, 1, 2), (name, words)
            assert "Traceback" not in out + err, (name, words)
        assert not trap.exists(), name


@pytest.mark.parametrize("place", ["weights", "cache", "npy", "npz"])
def test_no_file_beside_a_run_can_run_code(place, whole_run, tmp_path, cst, monkeypatch):
    import pickle

    import torch

    trap = tmp_path / "ran"
    data = ["--source", whole_run / "source.csv", "--target", whole_run / "target.csv"]
    words = ["train", "--epochs", "1", "--steps-per-epoch", "1", "--out", tmp_path / "run"]
    if place == "weights":
        torch.save({"weight": Evil(trap)}, tmp_path / "weights.pt")
        code, out, err = cst(*words, *data, "--backbone", "mlp", "--weights", tmp_path / "weights.pt")
    elif place == "cache":
        from cst.data.domain import Domain
        from cst.tasks.benchmarks.features import features_of

        monkeypatch.setenv("CST_CACHE", str(tmp_path / "cache"))
        domain = Domain(kind="texts", items=["a", "b"], names=["a", "b"], labels=[0, 1])
        features_of(domain, "mine", "net", lambda items: np.zeros((2, 3)))
        (file,) = (tmp_path / "cache").iterdir()
        np.save(file, np.array([Evil(trap)], dtype=object), allow_pickle=True)
        with pytest.raises(ValueError, match="is damaged or was not written by cst"):
            features_of(domain, "mine", "net", lambda items: np.zeros((2, 3)))
        assert not trap.exists()
        return
    else:
        file = tmp_path / f"evil.{place}"
        if place == "npy":
            file.write_bytes(pickle.dumps(Evil(trap)))
        else:
            np.savez(file, x=np.array([Evil(trap)], dtype=object))
        code, out, err = cst(*words, "--source", file, "--target", file)
    assert code == 2, (code, out, err)
    assert "Traceback" not in out + err
    assert not trap.exists()


ESCAPE = "\x1b]0;owned\x07\x1b[31m"
FORGED = "cst: all is well"


def test_names_do_no_harm_to_a_terminal(cst, tmp_path):
    """Of files, classes, columns and folders, on standard output, standard error and the page."""
    random = np.random.default_rng(0)
    names = (f"a/../../b{ESCAPE}", f"c\n{FORGED}")
    rows = [[names[i % 2], *random.normal(size=2) + 3 * (i % 2)] for i in range(24)]
    for name in ("source.csv", "target.csv"):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([["label", f"p{ESCAPE}", f"q\n{FORGED}"], *rows])
    run, source, target = tmp_path / f"run{ESCAPE}", tmp_path / "source.csv", tmp_path / "target.csv"
    words = ["--source", source, "--target", target, "--target-labels", "label", "--method", "source-only"]
    for command in (
        ["inspect", source, target],
        ["train", *words, "--out", run, *SHORT],
        ["evaluate", run],
        ["predict", run, "--input", target, "--out", tmp_path / "p.csv"],
        ["table", tmp_path],
    ):
        code, out, err = cst(*command)
        assert code == 0, err
        assert not {"\x1b", "\x07"} & set(out + err), command
        assert not [line for line in (out + err).splitlines() if line.strip().startswith(FORGED)], command
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", run.name, "source.csv", "target.csv"]


def test_names_of_pictures_do_no_harm_to_a_terminal(cst, photos, tmp_path):
    source, target = photos
    (target / f"bad{ESCAPE}\n{FORGED}.jpg").write_bytes(b"no picture")
    code, out, err = cst("inspect", source, target, "--out", tmp_path / "sheet.png")
    assert code == 0
    assert "bad\\x1b]0;owned" in out
    assert "\x1b" not in out + err
    assert not [line for line in (out + err).splitlines() if line.startswith(FORGED)]


def test_what_pillow_says_to_programmers_is_not_for_users(cst, photos, tmp_path):
    source, target = photos
    exif = b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01\x03\0\x01\0\0\0\xff\xff"
    Image.new("RGB", (20, 20)).save(target / "notes.jpg", exif=exif)
    with pytest.warns(UserWarning, match="EXIF"):
        assert looked_at(target / "notes.jpg") == ""
    code, out, err = cst("inspect", source, target, "--out", tmp_path / "sheet.png")
    assert code == 0
    assert "EXIF" not in out + err


def picture_of(width, height):
    """A PNG that says it is so large, and holds next to nothing."""
    import zlib

    def part(name, content):
        check = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + check

    head = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(bytes(100))) + part(b"IEND", b"")


@pytest.mark.parametrize("side", [(2**31 - 1, 2**31 - 1), (30_000, 30_000), (10**9, 1), (0, 0)])
def test_a_picture_of_absurd_size_is_left_out(side, tmp_path):
    (tmp_path / "a.png").write_bytes(picture_of(*side))
    assert "cannot be read as an image" in looked_at(tmp_path / "a.png")


def header(shape, kind="<f8"):
    """The beginning of an .npy file."""
    words = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + words.encode()


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"x.npy": header((10**12, 8))}, "holds more numbers than fit into memory, or says so"),
        ({"x.npy": bytes(3_000_000)}, "holds more numbers than fit into memory, or says so"),
        ({"x": b"no array", "y.npy": header((1,)) + bytes(8)}, "is not a NumPy array of numbers"),
        ({"x.npy": header((1, 1), "<U1") + b"\xff\xff\xff\x7f"}, "is not a NumPy array of numbers"),
    ],
)
def test_archives_that_burst_or_hold_something_else(members, says, mistake, monkeypatch, tmp_path):
    monkeypatch.setattr("cst.data.readers.arrays.LARGE", 2_000_000)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert says in mistake("inspect", tmp_path / "a.npz", tmp_path / "a.npz", "--out", tmp_path / "sheet.png")


def test_an_npy_that_promises_more_than_there_is(mistake, tmp_path):
    (tmp_path / "a.npy").write_bytes(header((10**12, 8)))
    np.save(tmp_path / "l.npy", [0, 1])
    words = [tmp_path / "a.npy", tmp_path / "a.npy", "--label", tmp_path / "l.npy", "--out", tmp_path / "sheet.png"]
    assert "a.npy" in mistake("inspect", *words)


def test_an_archive_writes_nothing_outside(cst, tmp_path):
    """Members are read by their names and never written, whatever they are called."""
    place = tmp_path / "in" / "ner"
    place.mkdir(parents=True)
    np.savez(place / "a.npz", **{"x": np.arange(8.0).reshape(4, 2), "y": [0, 1, 0, 1], "../../out": np.zeros(1)})
    assert cst("inspect", place / "a.npz", place / "a.npz", "--out", place / "sheet.png")[0] == 0
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "ner", "a.npz"]


def test_a_file_of_digits_that_bursts(monkeypatch, tmp_path):
    import gzip

    from cst.tasks.benchmarks import digits

    (tmp_path / "MNIST").mkdir()
    (tmp_path / "MNIST" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(5000)))
    monkeypatch.setattr(digits, "LONGEST", 4000)
    with pytest.raises(ValueError, match="has more than 4,000 bytes when it is unpacked"):
        digits.mnist(tmp_path)


@pytest.mark.parametrize("line", [3000 * "[" + 3000 * "]", '{"label": ' + 5000 * "9" + "}"])
def test_json_lines_without_end(line, mistake, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"label": 1, "x": 2}\n' + line + "\n")
    assert "line 2: not a JSON object" in mistake("inspect", tmp_path / "a.jsonl", tmp_path / "a.jsonl")


def test_a_label_or_a_category_that_is_a_text(cst, mistake, tmp_path):
    def write(name, long_label, long_word):
        rows = [["a" if i % 2 else long_label, i % 3, "x" if i % 4 else long_word] for i in range(30)]
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([["label", "n", "word"], *rows])
        return tmp_path / name

    good, words = write("good.csv", "b", 2000 * "w"), ["--out", tmp_path / "sheet.png"]
    code, out, _ = cst("inspect", good, good, *words)
    assert code == 0
    assert "Column 'word' of" in out
    assert "holds texts and is left out" in out
    bad = write("bad.csv", 100_000 * "b", "y")
    sentence = mistake("train", "--source", bad, "--target", good, "--out", tmp_path / "run")
    assert "has 100,000 characters: give names of classes, not texts" in sentence
    code, out, err = cst("inspect", bad, bad, *words)
    assert code == 0
    assert len(out + err) < 20_000


def test_constant_places_of_arrays_are_told(cst, tmp_path):
    random = np.random.default_rng(0)
    inputs = random.normal(size=(24, 3))
    inputs[:, 1] = 7
    np.savez(tmp_path / "a.npz", x=inputs, y=np.arange(24) % 2)
    words = ["inspect", tmp_path / "a.npz", tmp_path / "a.npz"]
    _, out, _ = cst(*words)
    assert "1 places of the inputs hold one value in both domains, 1 first: nothing can be learned of them" in out
    inputs[:, 1] = np.where(np.arange(24) % 2, 1e38, -1e38)
    np.savez(tmp_path / "a.npz", x=inputs, y=np.arange(24) % 2)
    _, out, _ = cst(*words)
    assert "Training would refuse these data. The source inputs hold values of up to 1e+38" in out


@pytest.mark.parametrize(("copies", "told"), [(1, False), (8, False), (30, True)])
def test_a_target_that_is_flooded_with_a_sample_is_told(copies, told, cst, tmp_path):
    random = np.random.default_rng(0)
    source, target = random.normal(size=(60, 3)), random.normal(size=(90, 3))
    np.savez(tmp_path / "source.npz", x=source, y=np.arange(60) % 2)
    np.savez(tmp_path / "target.npz", x=np.concatenate([target, np.tile(target[7], (copies, 1))]))
    _, out, _ = cst("inspect", tmp_path / "source.npz", tmp_path / "target.npz")
    assert ("1 samples of the target are there again and again, 7 as one of 31: take the copies out" in out) == told
