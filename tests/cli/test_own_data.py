"""A stranger's own files, from inspection to predictions."""

import csv
import json
import os
import re

import numpy as np
import pytest

import cst as package
from conftest import write_csv

SMALL = ["--epochs", "1", "--steps-per-epoch", "2", "--batch-size", "4"]
ACCURACY = re.compile(r"^ *accuracy .*oracle", re.MULTILINE)
TINY_IMAGES = ["--backbone", "cnn", "--image-size", "16", "--workers", "1", *SMALL]


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def tables(tmp_path, reviews):
    (texts, labels), (others, truth) = reviews
    source = write_csv(tmp_path / "train.csv", [["review", "stars"], *zip(texts, labels, strict=True)])
    target = write_csv(tmp_path / "new.csv", [["review"], *([text] for text in others)])
    known = write_csv(tmp_path / "known.csv", [["review", "mood"], *zip(others, truth, strict=True)])
    return source, target, known


def test_folders_of_images_without_any_target_label(cst, photos, tmp_path):
    run = tmp_path / "run"
    code, out, err = cst("train", "--source", photos[0], "--target", photos[1], *TINY_IMAGES, "--out", run)
    assert code == 0, err
    assert "oracle" not in out.replace("uses target labels", "")
    assert json.loads((run / "result.json").read_text())["oracle"] == {}
    code, out, err = cst("predict", run, "--input", photos[1], "--out", tmp_path / "p.csv", "--workers", "0")
    assert code == 0, err
    rows = rows_of(tmp_path / "p.csv")
    assert [row["file"] for row in rows] == sorted(path.name for path in photos[1].iterdir())
    assert {row["prediction"] for row in rows} <= {"bar", "disc"}
    assert all(0.5 <= float(row["probability"]) <= 1 and 0 <= float(row["margin"]) <= 1 for row in rows)
    adapted = package.load(run)
    assert adapted.predict([photos[1] / row["file"] for row in rows]).tolist() == [row["prediction"] for row in rows]


def test_training_goes_on_after_an_interruption_as_if_there_had_been_none(cst, photos, tmp_path, monkeypatch):
    from cst.engine import loop

    words = ["--source", photos[0], "--target", photos[1], *TINY_IMAGES, "--method", "fixmatch+vat"]
    words[words.index("--epochs") + 1] = "2"
    assert cst("train", *words, "--out", tmp_path / "whole")[0] == 0
    begin_epoch = loop.begin_epoch

    def interrupted(training, number, *rest):
        if number == 1:
            raise KeyboardInterrupt
        return begin_epoch(training, number, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "begin_epoch", interrupted)
        code, _, err = cst("train", *words, "--out", tmp_path / "cut")
    assert code == 130
    assert f"interrupted: continue with 'cst train --resume {tmp_path / 'cut'}'." in err
    moved = [folder.rename(tmp_path / f"moved-{folder.name}") for folder in photos]
    places = ["--source", moved[0], "--target", moved[1]]
    assert cst("train", "--resume", tmp_path / "cut", *places, "--workers", "0")[0] == 0  # other workers, the same run
    whole, cut = (package.load(tmp_path / name).model.state_dict() for name in ("whole", "cut"))
    assert all((whole[name] == cut[name]).all() for name in whole)


def test_data_that_changed_are_noticed(cst, shifted_blobs, tmp_path):
    x, y, others, _ = shifted_blobs
    header = [*(f"f{i}" for i in range(5)), "label"]
    rows = [[*row, f"k{c}"] for row, c in zip(x, y, strict=True)]
    source = write_csv(tmp_path / "s.csv", [header, *rows])
    target = write_csv(tmp_path / "t.csv", [header[:5], *others])
    assert cst("train", "--source", source, "--target", target, "--epochs", "1", "--out", tmp_path / "run")[0] == 0
    before = (tmp_path / "run" / "result.json").read_text()
    swapped = write_csv(tmp_path / "sw.csv", [header[::-1], *(row[::-1] for row in rows)])
    code, _, err = cst("evaluate", tmp_path / "run", "--source", swapped, "--json", tmp_path / "e.json")
    assert code == 0, err
    found = json.loads((tmp_path / "e.json").read_text())
    assert found["source_error"] == json.loads(before)["source_error"]
    more = write_csv(tmp_path / "more.csv", [header, *rows, [*rows[0][:5], "another"]])
    code, _, err = cst("evaluate", tmp_path / "run", "--source", more)
    assert code == 2
    assert "classes another, k0" in err
    code, _, err = cst("train", "--resume", tmp_path / "run", "--source", more)
    assert code == 2
    assert "began with other data" in err
    assert cst("evaluate", tmp_path / "run", "--target", source)[0] == 0
    assert (tmp_path / "run" / "result.json").read_text() == before


def test_a_label_of_the_target_cannot_be_an_input(cst, tmp_path):
    rows = [["a", "label", "truth"], [1, 0, 0], [2, 1, 1], [3, 0, 0]]
    source, target = (write_csv(tmp_path / name, rows) for name in ("s.csv", "t.csv"))
    code, _, err = cst("train", "--source", source, "--target", target, "--target-labels", "truth")
    assert code == 2
    assert "the source has this column too, as an input" in err


def test_class_names_may_look_like_markup(cst, tmp_path):
    rows = [["a", "label"], *([i, ("[/x]", "[red]y")[i % 2]] for i in range(8))]
    source = write_csv(tmp_path / "s.csv", rows)
    code, out, _ = cst("inspect", source, source, "--out", tmp_path / "sheet.png")
    assert code == 0
    assert "[/x]" in out
    assert "[red]y" in out


def test_labels_of_the_target_serve_evaluation_only(cst, photos, tmp_path):
    words = ["--source", photos[0], *TINY_IMAGES]
    target = photos[0]  # class folders, so that there are labels to give or to keep
    assert cst("train", *words, "--target", target, "--out", tmp_path / "blind")[0] == 0
    code, out, _ = cst("train", *words, "--target", target, "--target-labels", "folders", "--out", tmp_path / "seeing")
    assert code == 0
    assert ACCURACY.search(out)
    blind, seeing = (package.load(tmp_path / name).model.state_dict() for name in ("blind", "seeing"))
    assert all((blind[name] == seeing[name]).all() for name in blind)
    code, out, _ = cst("evaluate", tmp_path / "blind", "--target-labels", "folders")
    assert code == 0
    assert ACCURACY.search(out)


def test_unreadable_images_are_counted_and_named(cst, photos, tmp_path):
    (photos[1] / "broken.jpg").write_bytes(b"\xff\xd8\xff nonsense")
    words = ["train", "--source", photos[0], "--target", photos[1], *TINY_IMAGES]
    code, _, err = cst(*words, "--out", tmp_path / "run")
    assert code == 0
    assert "1 of the target's files cannot be read and are left out: broken.jpg." in err
    code, out, err = cst(*words, "--strict", "--out", tmp_path / "strict")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "broken.jpg cannot be read as an image" in err
    assert not (tmp_path / "strict").exists()
    code, _, err = cst("predict", tmp_path / "run", "--input", photos[1], "--out", tmp_path / "p.csv")
    assert code == 0
    assert "1 of the input's files cannot be read and are left out: broken.jpg." in err
    assert len(rows_of(tmp_path / "p.csv")) == 24


def test_text_in_tables(cst, tables, tiny_bert, tmp_path, monkeypatch):
    source, target, known = tables
    words = ["--text", "review", "--label", "stars", "--backbone", f"hf:{tiny_bert}", *SMALL]
    code, _, err = cst("train", "--source", source, "--target", target, *words, "--out", tmp_path / "run")
    assert code == 0, err
    assert cst("predict", tmp_path / "run", "--input", target, "--out", tmp_path / "p.csv")[0] == 0
    rows = rows_of(tmp_path / "p.csv")
    assert [row["row"] for row in rows] == [str(i) for i in range(32)]
    assert {row["prediction"] for row in rows} <= {"good", "bad"}
    code, out, _ = cst("evaluate", tmp_path / "run", "--target", known, "--target-labels", "mood")
    assert code == 0
    assert ACCURACY.search(out)
    tiny_bert.rename(tmp_path / "moved")  # the run folder is enough
    try:
        adapted = package.load(tmp_path / "run")
        texts = [row["review"] for row in rows_of(target)]
        assert adapted.predict(texts).tolist() == [row["prediction"] for row in rows]
    finally:
        (tmp_path / "moved").rename(tiny_bert)


@pytest.mark.parametrize("method", ["vat", "fixmatch", "mean-teacher", "sentry", "dann", "mdd", "cst+sam"])
@pytest.mark.parametrize("freeze", [0, 1])
def test_methods_serve_text(reviews, tiny_bert, method, freeze):
    (texts, labels), (others, truth) = reviews
    adapted = package.adapt(
        (texts, labels),
        others,
        method,
        f"hf:{tiny_bert}",
        epochs=1,
        target_labels=truth,
        steps_per_epoch=2,
        batch_size=4,
        freeze=freeze,
    )
    assert adapted.predict_proba(others).shape == (32, 2)
    assert adapted.history[-1]["oracle"]["accuracy"] > 0


def test_a_list_of_paths_is_a_list_of_images(photos):
    files = sorted(photos[0].rglob("*.png"))
    labels = [file.parent.name for file in files]
    others = sorted(map(str, photos[1].iterdir()))
    small = {"epochs": 1, "steps_per_epoch": 2, "batch_size": 4, "image_size": 16}
    adapted = package.adapt((files, labels), others, "source-only", "cnn", **small)
    assert adapted.spec.kind == "images"
    assert adapted.predict(others).shape == (len(others),)
    with pytest.raises(ValueError, match="The source holds text, the target images"):
        package.adapt((["a text"] * 8, labels), others)
    with pytest.raises(ValueError, match=r"There is no image at nowhere\.png"):
        package.adapt((files, labels), [*others, "nowhere.png"])


def test_texts_may_come_as_an_array_or_a_series(reviews, tiny_bert):
    import pandas as pd

    (texts, labels), (others, _) = reviews
    rows = {"epochs": 1, "steps_per_epoch": 2, "batch_size": 4}
    plain = package.adapt((texts, labels), others, "cst", f"hf:{tiny_bert}", **rows).predict_proba(others)
    for kind in (np.asarray, pd.Series):
        adapted = package.adapt((kind(texts), labels), kind(others), "cst", f"hf:{tiny_bert}", **rows)
        np.testing.assert_array_equal(adapted.predict_proba(kind(others)), plain)


def test_mixing_tokens_is_refused(reviews, tiny_bert):
    (texts, labels), (others, _) = reviews
    with pytest.raises(ValueError, match="mixmatch would change the inputs"):
        package.adapt((texts, labels), others, "mixmatch", f"hf:{tiny_bert}", epochs=1)


def test_minilm_learns_a_mood_that_carries_over(reviews):
    (texts, labels), (others, truth) = reviews
    short = {"epochs": 4, "batch_size": 8, "freeze": 4, "max_length": 16}
    adapted = package.adapt((texts, labels), others, "cst", "minilm", lr=0.01, **short)
    assert (adapted.predict(others) == np.asarray(truth)).mean() > 0.9


def test_vectors_in_tables_and_arrays(cst, shifted_blobs, tmp_path):
    x, y, others, truth = shifted_blobs
    names = [f"f{i}" for i in range(5)]
    table = write_csv(tmp_path / "s.csv", [[*names, "kind"], *([*row, f"k{c}"] for row, c in zip(x, y, strict=True))])
    new = write_csv(tmp_path / "t.csv", [["id", *names], *([i, *row] for i, row in enumerate(others))])
    words = ["--epochs", "2", "--label", "kind"]
    assert cst("train", "--source", table, "--target", new, *words, "--out", tmp_path / "a")[0] == 0
    assert cst("predict", tmp_path / "a", "--input", new, "--out", tmp_path / "p.csv")[0] == 0
    assert {row["prediction"] for row in rows_of(tmp_path / "p.csv")} <= {"k0", "k1", "k2"}
    np.savez(tmp_path / "s.npz", x=x, y=y)
    np.save(tmp_path / "t.npy", others)
    np.save(tmp_path / "truth.npy", truth)
    code, out, err = cst(
        *("train", "--source", tmp_path / "s.npz", "--target", tmp_path / "t.npy"),
        *("--target-labels", tmp_path / "truth.npy", "--epochs", "2", "--out", tmp_path / "b"),
    )
    assert code == 0, err
    assert ACCURACY.search(out)


def test_inspect_finds_what_would_spoil_a_result(cst, photos, tmp_path):
    shared = (photos[0] / "disc" / "3.png").read_bytes()
    (photos[1] / "leaked.png").write_bytes(shared)
    (photos[0] / "disc" / "copy.png").write_bytes(shared)
    (photos[1] / "broken.png").write_bytes(b"?")
    code, out, err = cst("inspect", *photos, "--out", tmp_path / "sheet.png", "--json", tmp_path / "i.json")
    assert code == 0, err
    figures = json.loads((tmp_path / "i.json").read_text())
    assert figures["source"]["classes"] == {"bar": 12, "disc": 13}
    assert figures["source"]["duplicates"] == 1
    assert figures["target"]["unreadable"] == ["broken.png"]
    assert [pair[1] for pair in figures["shared"]] == ["leaked.png"]
    assert "1 of the target's samples are in the source too, leaked.png as disc/" in out
    from PIL import Image

    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.size == (804, 644)


def test_inspect_reads_text_and_vectors_too(cst, tables, shifted_blobs, tmp_path):
    source, target, _ = tables
    sheet = tmp_path / "sheet.png"
    code, out, _ = cst("inspect", source, target, "--text", "review", "--label", "stars", "--out", sheet)
    assert code == 0
    assert "words" in out
    assert not sheet.exists()
    x, y, others, _ = shifted_blobs
    np.savez(tmp_path / "s.npz", x=x, y=y)
    np.save(tmp_path / "t.npy", np.concatenate([others, x[:2]]))
    code, out, _ = cst("inspect", tmp_path / "s.npz", tmp_path / "t.npy", "--out", sheet)
    assert code == 0
    assert "2 of the target's samples are in the source too" in out


def test_inspect_says_what_training_would_refuse(cst, tmp_path):
    np.savez(tmp_path / "s.npz", x=np.ones((4, 2)), y=[0, 1, 0, 1])
    np.save(tmp_path / "t.npy", np.full((3, 3), np.nan))
    words = ["inspect", tmp_path / "s.npz", tmp_path / "t.npy", "--out", tmp_path / "sheet.png"]
    code, out, err = cst(*words)
    assert code == 0, err
    assert "Training would refuse these data. The target inputs have NaN" in " ".join(out.split())
    np.savez(tmp_path / "t.npz", x=np.zeros((3, 2)), y=[0.0, 1.0, 7.0])
    code, out, err = cst(*words[:2], tmp_path / "t.npz", *words[3:], "--target-labels", "y")
    assert code == 0, err
    assert "labels that the source does not have (7)" in " ".join(out.split())


def test_inspect_survives_what_training_refuses(cst, tmp_path):
    np.savez(tmp_path / "one-hot.npz", x=np.ones((4, 2)), y=np.eye(2)[[0, 1, 0, 1]])
    np.savez(tmp_path / "words.npz", x=np.array([["a", "b"], ["c", "d"]]), y=[0, 1])
    for name, sentence in (("one-hot", "not one-hot rows"), ("words", "not numbers in a rectangular array")):
        file = tmp_path / f"{name}.npz"
        code, out, err = cst("inspect", file, file, "--out", tmp_path / "sheet.png")
        assert code == 0, err
        assert sentence in " ".join(out.split())


def test_every_copy_of_a_leaked_sample_counts(cst, photos, tmp_path):
    leaked = next(photos[1].iterdir()).read_bytes()
    for number in range(3):
        (photos[0] / "bar" / f"copy{number}.png").write_bytes(leaked)
    code, _, err = cst("inspect", *photos, "--out", tmp_path / "sheet.png", "--json", tmp_path / "figures.json")
    assert code == 0, err
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert (figures["source"]["shared"], figures["target"]["shared"]) == (3, 1)


def test_a_file_name_that_is_not_utf8(cst, photos, tmp_path):
    picture = next((photos[0] / "bar").iterdir())
    try:
        os.rename(picture, os.fsencode(picture.parent) + b"/caf\xe9.png")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    words = ["train", "--source", photos[0], "--target", photos[1], *TINY_IMAGES]
    code, _, err = cst(*words, "--out", tmp_path / "run")
    assert code == 0, err


def test_outputs_never_replace_data(mistake, cst, photos, tables, tmp_path):
    picture = next(photos[1].iterdir())
    before = picture.read_bytes()
    assert "would become a part of the data" in mistake("inspect", *photos, "--out", picture)
    assert "would become a part of the data" in mistake("inspect", *photos, "--out", photos[0] / "sheet.png")
    assert "must end like an image" in mistake("inspect", *photos, "--out", tmp_path / "sheet.txt")
    assert picture.read_bytes() == before
    table = tables[1]
    sentence = mistake("predict", tmp_path / "run", "--input", table, "--out", table)
    assert f"--out {table} is {table}, which holds data: choose another place." in sentence
    assert "lies below a file" in mistake("predict", "run", "--input", table, "--out", table / "p.csv")


def test_one_picture_can_be_predicted(cst, photos, tmp_path):
    words = ["--source", photos[0], "--target", photos[1], *TINY_IMAGES]
    assert cst("train", *words, "--out", tmp_path / "run")[0] == 0
    picture = sorted(photos[1].iterdir())[0]
    code, _, err = cst("predict", tmp_path / "run", "--input", picture, "--out", tmp_path / "p.csv")
    assert code == 0, err
    assert [row["file"] for row in rows_of(tmp_path / "p.csv")] == [picture.name]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--source", "nowhere", "--target", "nowhere"], "There is nothing at nowhere"),
        (["--source", "{photos}"], "--source needs --target"),
        (["--source", "{photos}", "--target", "{scans}", "--task", "visda-2017"], "name two sets of data"),
        (["--text", "review"], "describes data of your own"),
        (
            ["--source", "{photos}", "--target", "{csv}", "--backbone", "cnn"],
            "The source holds images, the target arrays",
        ),
        (["--source", "{scans}", "--target", "{photos}"], "has no class folders"),
        (["--source", "{photos}", "--target", "{photos}", "--backbone", "minilm"], "reads text, but the data are not"),
        (["--source", "{csv}", "--target", "{csv}", "--text", "review", "--backbone", "cnn"], "no column 'review'"),
        (
            ["--source", "{photos}", "--target", "{scans}", "--label", "kind"],
            "labels of {photos} are its class folders",
        ),
        (
            ["--source", "{photos}", "--target", "{scans}", "--max-length", "9"],
            "--max-length is for text, but the data",
        ),
        (["--image-size", "64"], "--image-size is for images, but the data are arrays: leave it out."),
        (["--recipe", "paper/office"], "did you mean 'paper/office-home'"),
    ],
)
def test_mistakes_get_one_line_and_leave_nothing(cst, photos, tmp_path, words, sentence):
    table = write_csv(tmp_path / "t.csv", [["a", "label"], [1, "x"], [2, "y"]])
    places = {"photos": photos[0], "scans": photos[1], "csv": table}
    code, out, err = cst("train", *(word.format(**places) for word in words), "--out", tmp_path / "run")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert sentence.format(**places) in err
    assert not (tmp_path / "run").exists()


def test_predictions_need_data_of_the_same_kind(cst, photos, tmp_path):
    words = ["--source", photos[0], "--target", photos[1], *TINY_IMAGES]
    assert cst("train", *words, "--out", tmp_path / "run")[0] == 0
    table = write_csv(tmp_path / "t.csv", [["a"], [1]])
    code, _, err = cst("predict", tmp_path / "run", "--input", table, "--out", tmp_path / "p.csv")
    assert code == 2
    assert "trained on images" in err


def test_a_model_predicts_what_training_was_given(photos, tables, tiny_bert, shifted_blobs, tmp_path):
    small = {"epochs": 1, "steps_per_epoch": 2, "batch_size": 4}
    (photos[1] / "broken.png").write_bytes(b"?")
    with pytest.warns(UserWarning, match=r"1 of the target's files cannot be read and are left out: broken\.png"):
        adapted = package.adapt(*photos, backbone="cnn", image_size=16, workers=0, **small)
    with pytest.raises(ValueError, match=r"broken\.png cannot be read"):
        adapted.predict(photos[1])
    (photos[1] / "broken.png").unlink()
    assert adapted.predict(photos[1]).tolist() == adapted.predict(sorted(photos[1].iterdir())).tolist()
    with pytest.raises(ValueError, match="takes paths of images, got ndarray"):
        adapted.predict(np.zeros((2, 3, 16, 16)))
    with pytest.raises(ValueError, match="target_labels= must be one too"):
        package.adapt(*photos, target_labels=["bar"])

    source, target, known = tables
    truth = write_csv(tmp_path / "truth.csv", [["label"], *([row["mood"]] for row in rows_of(known))])
    columns = {"text": "review", "label": "stars", "backbone": f"hf:{tiny_bert}"}
    adapted = package.adapt(source, target, target_labels=truth, **columns, **small)
    texts = [row["review"] for row in rows_of(target)]
    assert adapted.predict(str(target)).tolist() == adapted.predict(texts).tolist()
    assert len(adapted.predict(texts[0])) == 1
    with pytest.raises(ValueError, match="Item 1 of the texts or paths is None"):
        package.adapt((texts, ["a", "b"] * 16), [texts[0], None])

    x, y, others, _ = shifted_blobs
    np.save(tmp_path / "others.npy", others)
    adapted = package.adapt((x, y), others, **small)
    assert adapted.predict(tmp_path / "others.npy").tolist() == adapted.predict(others).tolist()


def test_kinds_are_compared_before_anything_is_read(mistake, cst, photos, tables, tmp_path):
    said = mistake("inspect", photos[0], tables[1])
    assert "The source holds images, the target arrays: both must be of one kind." in said
    assert cst("train", "--source", photos[0], "--target", photos[1], *TINY_IMAGES, "--out", tmp_path / "r")[0] == 0
    assert "The model was trained on images, but" in mistake("predict", tmp_path / "r", "--input", tables[1])


def test_predict_says_what_it_does_not_read(cst, photos, tmp_path):
    assert cst("train", "--source", photos[0], "--target", photos[1], *TINY_IMAGES, "--out", tmp_path / "r")[0] == 0
    (photos[1] / "photo.heic").write_bytes(b"?")
    code, _, err = cst("predict", tmp_path / "r", "--input", photos[1], "--out", tmp_path / "p.csv", "--workers", "0")
    assert code == 0
    assert "1 files in" in err
    assert "photo.heic" in err
