"""Readers of folders, tables, arrays and saved datasets, and what they say of bad ones."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from conftest import draw, write_csv
from cst.config import Config
from cst.data.domain import Domain, Reading
from cst.kinds import kind_of_path, read_path
from cst.tasks.own import own_domains

TEXT = Reading(text="review", label="stars")
ROWS = [["review", "stars", "id"], ["Quite good, really", "5", "a"], ['A "bad"\nbook\u2028indeed', "1", "b"]]


def as_jsonl(path, rows):
    header, *body = rows
    path.write_text("".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in body), encoding="utf-8")
    return path


def as_parquet(path, rows):
    import pyarrow as pa
    from pyarrow import parquet

    header, *body = rows
    parquet.write_table(pa.table({name: [row[i] for row in body] for i, name in enumerate(header)}), path)
    return path


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv", write_csv),
        ("t.tsv", lambda path, rows: write_csv(path, rows, "\t")),
        ("t.jsonl", as_jsonl),
        ("t.parquet", as_parquet),
    ],
)
def test_a_table_says_the_same_in_every_format(tmp_path, name, write):
    found = read_path(write(tmp_path / name, ROWS), TEXT)
    assert found.kind == "text"
    assert list(found.items) == [row[0] for row in ROWS[1:]]
    assert found.labels == ["5", "1"]
    assert list(found.names) == ["0", "1"]


def test_the_labels_of_a_target_are_not_looked_at(tmp_path):
    path = write_csv(tmp_path / "t.csv", [["review", "stars"], ["fine", ""]])
    assert read_path(path, Reading("review", "stars", labels=False)).labels is None
    with pytest.raises(ValueError, match="row 0: column 'stars' is empty"):
        read_path(path, TEXT)


def test_numbers_of_a_table_keep_the_order_of_the_source(tmp_path):
    source = write_csv(tmp_path / "s.csv", [["a", "b", "label"], [1, 2, "x"], [3, 4, "y"]])
    target = write_csv(tmp_path / "t.csv", [["name", "b", "a"], ["p", 20, 10]])
    first, second, truth = own_domains(Config(source=source, target=target))
    assert [column.name for column in first.columns] == ["a", "b"]
    np.testing.assert_array_equal(first.items, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(second.items, [[10, 20]])
    assert truth is None


def test_spaces_around_a_label_do_not_make_a_class(tmp_path):
    table = write_csv(tmp_path / "s.csv", [["a", "label"], [1, "x"], [2, " x "], [3, "y"]])
    assert read_path(table, Reading()).labels == ["x", "x", "y"]
    with pytest.raises(ValueError, match=r"row 1: column 'label' is empty"):
        read_path(write_csv(tmp_path / "e.csv", [["a", "label"], [1, "x"], [2, " "]]), Reading())


def test_row_numbers_are_no_input(tmp_path):
    table = write_csv(tmp_path / "s.csv", [["", "a", "label"], [0, 5, "x"], [1, 6, "y"]])
    found = read_path(table, Reading())
    assert [column.name for column in found.columns] == ["a"]
    assert found.notes == (f"Column '' of {table} is taken for row numbers and left out.",)


def test_semicolons_spaces_in_the_header_and_gaps(tmp_path):
    table = tmp_path / "s.csv"
    table.write_text('review; stars\n"good, but; long";1\nbad;0\n')
    found = read_path(table, Reading("review", "stars"))
    assert (list(found.items), found.labels) == (["good, but; long", "bad"], ["1", "0"])
    table.write_text('"length, cm";label\n1;x\n2;y\n')
    assert [column.name for column in read_path(table, Reading()).columns] == ["length, cm"]
    table = tmp_path / "v.jsonl"
    table.write_text(json.dumps({"a": list(range(1, 99)), "label": 0}) + "\n")
    with pytest.raises(ValueError, match=r"holds \[1, 2, 3, 4, 5, 6, \.\.\.\], which is no number"):
        read_path(table, Reading())


def test_files_that_are_no_images_are_noted(photos):
    (photos[1] / "picture.heic").write_bytes(b"?")
    (photos[1] / "Thumbs.db").write_bytes(b"?")
    note = f"1 files in {photos[1]} do not end like images and are left out, picture.heic first."
    assert read_path(photos[1], Reading(labels=False)).notes == (note,)


def test_labels_of_a_target_of_arrays(tmp_path):
    x = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "s.npz", x=x, y=[0, 1, 1])
    np.savez(tmp_path / "t.npz", x=x, y=[1, 0, 1])
    np.save(tmp_path / "y.npy", [1, 0, 1])
    for named in ("y", str(tmp_path / "t.npz"), str(tmp_path / "y.npy")):
        config = Config(source=tmp_path / "s.npz", target=tmp_path / "t.npz", target_labels=named)
        assert own_domains(config)[2] == [1, 0, 1]
    with pytest.raises(ValueError, match=r"no array 'z' \(it has x, y\): name one of them with target_labels="):
        own_domains(Config(source=tmp_path / "s.npz", target=tmp_path / "t.npz", target_labels="z"))


def test_arrays(tmp_path):
    x, y = np.arange(6.0).reshape(3, 2), np.array(["u", "v", "u"])
    np.savez(tmp_path / "both.npz", x=x, y=y)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    both = read_path(tmp_path / "both.npz", Reading())
    apart = read_path(tmp_path / "x.npy", Reading(label=str(tmp_path / "y.npy")))
    for found in (both, apart):
        np.testing.assert_array_equal(found.items, x)
        assert list(found.labels) == ["u", "v", "u"]
    with pytest.raises(ValueError, match=r"inputs alone.*label="):
        read_path(tmp_path / "x.npy", Reading())
    np.savez(tmp_path / "strange.npz", p=x)
    with pytest.raises(ValueError, match="call the array of inputs 'x'"):
        read_path(tmp_path / "strange.npz", Reading())


def test_a_saved_dataset_of_text_and_of_images(tmp_path, photos):
    import datasets

    names = datasets.ClassLabel(names=["bad", "good"])
    texts = datasets.Dataset.from_dict({"text": ["fine", "dull"], "label": [1, 0]})
    texts.cast_column("label", names).save_to_disk(str(tmp_path / "texts"))
    found = read_path(tmp_path / "texts", Reading("text"))
    assert (found.kind, list(found.items), found.labels) == ("text", ["fine", "dull"], ["good", "bad"])

    files = [str(photos[0] / "bar" / "0.png"), str(photos[0] / "disc" / "0.png")]
    images = datasets.Dataset.from_dict({"image": files, "label": ["bar", "disc"]})
    images.cast_column("image", datasets.Image()).save_to_disk(str(tmp_path / "images"))
    assert kind_of_path(tmp_path / "images", Reading()).name == "images"
    found = read_path(tmp_path / "images", Reading())
    assert (found.kind, len(found), found.labels) == ("images", 2, ["bar", "disc"])
    config = Config(source=tmp_path / "images", target=photos[1], label="label")  # the label is the source's alone
    assert len(own_domains(config)[1]) == len(list(photos[1].iterdir()))

    damaged = datasets.Dataset.from_list(
        [
            {"image": None, "label": "bar"},
            {"image": {"bytes": Path(files[1]).read_bytes(), "path": None}, "label": "disc"},
        ]
    )
    damaged.cast_column("image", datasets.Image()).save_to_disk(str(tmp_path / "damaged"))
    found = read_path(tmp_path / "damaged", Reading())
    assert (list(found.names), found.labels, found.left_out) == (["1"], ["disc"], ("row 0",))
    assert list(found.items) == [Path(files[1]).read_bytes()]

    datasets.DatasetDict({"train": texts}).save_to_disk(str(tmp_path / "several"))
    with pytest.raises(ValueError, match=r"several datasets \(train\)"):
        read_path(tmp_path / "several", Reading("text"))


def test_pictures_beside_one_left_out_are_read_when_they_are_asked_for():
    class Shelf(list):
        def __init__(self, books):
            super().__init__(books)
            self.read = []

        def __getitem__(self, place):
            self.read.append(place)
            return super().__getitem__(place)

    shelf = Shelf([b"a", b"", b"c"])
    kept = Domain("images", shelf, ["0", "1", "2"]).without([1], "files cannot be read", "row ")
    assert (len(kept), kept.names, kept.left_out, shelf.read) == (2, ["0", "2"], ("row 1",), [])
    assert kept.items[1] == b"c"
    assert shelf.read == [2]


def test_class_folders_and_loose_images(photos):
    source, target = read_path(photos[0], Reading()), read_path(photos[1], Reading(labels=False))
    assert (len(source), len(target)) == (24, 24)
    assert sorted(set(source.labels)) == ["bar", "disc"]
    assert source.names[0] == "bar/0.png"
    assert target.labels is None


def test_links_are_followed_and_loose_images_noted(photos, tmp_path):
    (tmp_path / "linked").symlink_to(photos[1], target_is_directory=True)
    (photos[1] / "back").symlink_to(photos[1], target_is_directory=True)
    assert len(read_path(tmp_path / "linked", Reading(labels=False))) == 24
    (photos[0] / "bar" / "0.png").rename(photos[0] / "loose.png")
    assert "1 images lie beside the class folders" in read_path(photos[0], Reading()).notes[0]
    for path in (photos[0] / "disc").iterdir():
        path.write_bytes(b"?")
    with pytest.raises(ValueError, match=r"No file of the class folder .*disc can be read"):
        read_path(photos[0], Reading())


def test_unreadable_files_are_left_out_or_refused(photos):
    whole = (photos[0] / "bar" / "0.png").read_bytes()
    (photos[0] / "bar" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (photos[0] / "disc" / "letter.jpg").write_text("Dear Sir,")
    (photos[0] / "disc" / "notes.txt").write_text("not an image at all")
    found = read_path(photos[0], Reading())
    assert found.left_out == ("bar/cut.png", "disc/letter.jpg")
    assert len(found) == 24
    with pytest.raises(ValueError, match=r"cut\.png cannot be read as an image"):
        read_path(photos[0], Reading(strict=True))


@pytest.mark.parametrize("check", ["problem", "cut_short"])
def test_both_checks_find_a_jpeg_that_was_cut(tmp_path, check):
    from PIL import Image

    from cst.data import images

    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "whole.jpg")
    whole = (tmp_path / "whole.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    assert getattr(images, check)(tmp_path / "whole.jpg") == ""
    assert "truncated" in getattr(images, check)(tmp_path / "cut.jpg")


@pytest.mark.parametrize("check", ["problem", "cut_short"])
def test_neither_check_minds_what_follows_a_picture_or_how_it_is_called(tmp_path, check):
    from PIL import Image

    from cst.data import images

    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.jpg")
    (tmp_path / "longer.jpg").write_bytes((tmp_path / "a.jpg").read_bytes() + bytes(500))
    (tmp_path / "jpeg.png").write_bytes((tmp_path / "a.jpg").read_bytes())
    for name in ("longer.jpg", "jpeg.png"):
        assert getattr(images, check)(tmp_path / name) == ""
        assert getattr(images, check)((tmp_path / name).read_bytes()) == ""


def test_pictures_are_checked_one_after_the_other(photos):
    """Of a saved dataset no more lie in memory than are being checked."""
    from cst.data.images import problems

    class Shelf(list):
        def __iter__(self):
            raise AssertionError("all pictures at once")

    assert problems(Shelf(photos[0].rglob("*.png"))) == [""] * 24


def test_a_table_on_disk_gives_the_columns_that_are_asked_for(tmp_path, monkeypatch):
    import datasets
    from pyarrow import parquet

    rows = [["review", "stars", "vector"], ["fine", "5", [0.5] * 8], ["bad", "1", [0.1] * 8]]
    as_parquet(tmp_path / "a.parquet", rows)
    asked, read_table = [], parquet.read_table
    monkeypatch.setattr(
        parquet, "read_table", lambda path, columns: asked.extend(columns) or read_table(path, columns=columns)
    )
    assert list(read_path(tmp_path / "a.parquet", TEXT).items) == ["fine", "bad"]
    assert asked == ["stars", "review"]

    table = datasets.Dataset.from_dict({"review": ["fine", "bad"], "stars": [5, 1], "vector": [[0.5], [0.1]]})
    table.with_format("numpy", columns=["vector"]).save_to_disk(str(tmp_path / "saved"))
    found = read_path(tmp_path / "saved", TEXT)
    assert (list(found.items), found.labels) == (["fine", "bad"], [5, 1])


def test_two_columns_of_one_name_in_a_parquet_file(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    column = pa.array(["fine", "bad"])
    parquet.write_table(pa.Table.from_arrays([column, column], names=["review", "review"]), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="two columns called 'review'"):
        read_path(tmp_path / "a.parquet", TEXT)


def test_half_of_a_character_does_not_stop_a_text(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"review": "good \\ud83d", "stars": "1\\ude00"}\n' * 2)
    found = read_path(tmp_path / "a.jsonl", TEXT)
    assert list(found.items) == ["good \ufffd"] * 2
    assert found.labels == ["1\ufffd"] * 2


def test_text_as_bytes_or_as_a_number(tmp_path):
    table = as_parquet(tmp_path / "a.parquet", [["review", "stars"], ["schön".encode(), "5"], [b"bad", "1"]])
    assert list(read_path(table, TEXT).items) == ["schön", "bad"]
    (tmp_path / "a.jsonl").write_text('{"review": 5, "stars": 1}\n{"review": "good", "stars": 2}\n')
    assert list(read_path(tmp_path / "a.jsonl", TEXT).items) == ["5", "good"]


def test_a_column_of_labels_may_have_empty_lines(tmp_path):
    target = write_csv(tmp_path / "t.csv", [["review"], ["a"], [" "], ["c"], ["d"]])
    (tmp_path / "truth.csv").write_text("label\np\nn\n\np\n\n")
    source = write_csv(tmp_path / "s.csv", [["review", "label"], ["u", "p"], ["v", "n"]])
    config = Config(source=source, target=target, text="review", target_labels=str(tmp_path / "truth.csv"))
    assert own_domains(config)[2] == ["p", None, "p"]
    (tmp_path / "truth.csv").write_text("label\np\nn\np\n")  # as many as there are texts, but of which rows?
    with pytest.raises(ValueError, match="3 labels for 4 samples"):
        own_domains(config)


def test_a_file_has_one_label(photos, tmp_path):
    name = sorted(path.name for path in photos[1].iterdir())[0]
    table = write_csv(tmp_path / "truth.csv", [["file", "label"], [name, "bar"], [name, "disc"]])
    with pytest.raises(ValueError, match=f"names {name} twice, with the labels bar and disc"):
        own_domains(Config(source=photos[0], target=photos[1], target_labels=str(table)))


def test_arrays_of_python_objects_name_themselves(tmp_path):
    x, objects = np.ones((3, 2)), np.array(["u", "v", None], dtype=object)
    np.savez(tmp_path / "a.npz", x=x, y=objects)
    with pytest.raises(ValueError, match=r"array 'y' holds Python objects.*astype\(str\)"):
        read_path(tmp_path / "a.npz", Reading())
    np.savez(tmp_path / "b.npz", x=x, y=[0, 1, 0], other=objects)
    assert list(read_path(tmp_path / "b.npz", Reading()).labels) == [0, 1, 0]
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.array([0, 1, 0]))
    (tmp_path / "y.npy").rename(tmp_path / "Y.NPY")
    assert list(read_path(tmp_path / "x.npy", Reading(label=str(tmp_path / "Y.NPY"))).labels) == [0, 1, 0]
    np.save(tmp_path / "one.npy", np.array(1))
    with pytest.raises(ValueError, match="3 inputs but 1 labels"):
        read_path(tmp_path / "x.npy", Reading(label=str(tmp_path / "one.npy")))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b'{"review": {"body": "fine"}, "stars": 5}\n', "row 0: column 'review' holds .*, which is no text"),
        ("a.csv", b"review,stars\nfine\n", "row 0: 1 fields instead of 2"),
        ("a.csv", b"review,review\nfine,5\n", "two columns called 'review'"),
        ("a.csv", b"review,stars\n", "has no rows"),
        ("a.csv", b'review,stars\n"never closed,5\nfine,4\n', "a quotation mark is not closed"),
        ("a.csv", b"", "has no rows"),
        ("a.csv", "review,stars\ngut,5\nsch\xf6n,4\n".encode("latin-1"), "line 3: not UTF-8"),
        ("a.csv", b"text,stars\nfine,5\n", "no column 'review'.*text, stars.*text="),
        ("a.csv", b"review,rating\nfine,5\n", "no column 'stars'.*label="),
        ("a.csv", b"review,stars\n  ,5\n", "row 0: column 'review' has no text"),
        ("a.jsonl", b'{"review": "fine", "stars": 5}\n[1]\n', "line 2: not a JSON object"),
        ("a.parquet", b"PAR?", "not a Parquet file"),
    ],
)
def test_bad_tables_get_one_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as error:
        read_path(tmp_path / name, TEXT)
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def test_other_mistakes(tmp_path, photos):
    with pytest.raises(ValueError, match="nothing at"):
        read_path(tmp_path / "nowhere", Reading())
    (tmp_path / "thing.xyz").write_text("?")
    with pytest.raises(ValueError, match="of no known kind"):
        read_path(tmp_path / "thing.xyz", Reading())
    words = write_csv(tmp_path / "words.csv", [["a", "label"], ["one", "x"], ["2", "x"], ["3", "x"]])
    with pytest.raises(ValueError, match=r"row 0: column 'a' holds 'one', which is no number; .* drop=a"):
        read_path(words, Reading())
    (photos[0] / "empty").mkdir()
    with pytest.raises(ValueError, match=r"class folder .*empty has no images"):
        read_path(photos[0], Reading())
    (tmp_path / "bare").mkdir()
    with pytest.raises(ValueError, match="has no class folders"):
        read_path(tmp_path / "bare", Reading())
    with pytest.raises(ValueError, match="There are no images in"):
        read_path(tmp_path / "bare", Reading(labels=False))


def test_labels_of_the_target_come_from_folders_columns_or_files(tmp_path, photos):
    source = photos[0]

    def truth(target, named):
        return own_domains(Config(source=source, target=target, target_labels=named))[2]

    assert truth(source, "folders") == ["bar"] * 12 + ["disc"] * 12
    with pytest.raises(ValueError, match="lies in no class folder"):
        truth(photos[1], "folders")
    names = sorted(path.name for path in photos[1].iterdir())
    table = write_csv(tmp_path / "truth.csv", [["file", "label"], *([n, n.split("-")[0]] for n in reversed(names))])
    assert truth(photos[1], str(table)) == [name.split("-")[0] for name in names]
    short = write_csv(tmp_path / "short.csv", [["file", "label"], [names[0], "bar"]])
    assert truth(photos[1], str(short)) == ["bar", *[None] * (len(names) - 1)]
    other = write_csv(tmp_path / "other.csv", [["file", "label"], ["elsewhere.png", "bar"]])
    with pytest.raises(ValueError, match=f"names no file of the target.*like {names[0]}"):
        truth(photos[1], str(other))

    first = write_csv(tmp_path / "a.csv", [["x", "label"], [1, "u"], [2, "v"]])
    second = write_csv(tmp_path / "b.csv", [["x", "truth"], [3, "v"], [4, ""]])
    assert own_domains(Config(source=first, target=second, target_labels="truth"))[2] == ["v", None]


def test_rows_without_text_are_left_out_with_their_labels(tmp_path):
    table = write_csv(tmp_path / "a.csv", [["review", "stars"], ["fine", "5"], ["  ", "1"], ["bad", "2"]])
    found = read_path(table, TEXT)
    assert (list(found.items), found.names, found.labels) == (["fine", "bad"], ["0", "2"], ["5", "2"])
    assert (found.left_out, found.fault) == (("row 1",), "rows have no text")
    with pytest.raises(ValueError, match="row 1: column 'review' has no text"):
        read_path(table, dataclasses.replace(TEXT, strict=True))
    truth = write_csv(tmp_path / "truth.csv", [["label"], ["5"], ["1"], ["2"]])
    config = Config(source=table, target=table, text="review", label="stars", target_labels=str(truth))
    assert own_domains(config)[2] == ["5", "2"]


def test_quotation_marks_of_a_plain_tsv_are_letters(tmp_path):
    table = tmp_path / "a.tsv"
    lines = ["review\tstars", '"good" book\t1', '"He said\t2', 'and left"\t3', '"all of ""it"""\t4', "fine\t5", ""]
    table.write_bytes("\r\n".join(lines).encode())
    found = read_path(table, TEXT)
    assert list(found.items) == ['"good" book', '"He said', 'and left"', 'all of "it"', "fine"]
    assert found.labels == ["1", "2", "3", "4", "5"]
    table.write_text('review\tstars\n"two\nlines\tand a tab"\t1\nfine\t2\n')
    assert list(read_path(table, TEXT).items) == ["two\nlines\tand a tab", "fine"]


def test_labels_go_by_row_as_predictions_do(tmp_path):
    source = write_csv(tmp_path / "a.csv", [["x", "label"], [1, "u"], [2, "v"]])
    target = write_csv(tmp_path / "b.csv", [["x"], [3], [4], [5]])

    def truth(rows):
        table = write_csv(tmp_path / "t.csv", [["row", "label"], *rows])
        return own_domains(Config(source=source, target=target, target_labels=str(table)))[2]

    assert truth([[2, "u"], [0, "v"], [1, "v"]]) == ["v", "v", "u"]
    assert truth([[1, "u"]]) == [None, "u", None]
    with pytest.raises(ValueError, match="names no row of the target"):
        truth([[7, "u"]])
    with pytest.raises(ValueError, match=r"There is no table at .*gone\.parquet"):
        own_domains(Config(source=source, target=target, target_labels=str(tmp_path / "gone.parquet")))


def test_labels_of_images_may_have_backslashes(photos, tmp_path):
    table = write_csv(tmp_path / "t.csv", [["file", "label"], ["bar\\1.png", "bar"]])
    found = own_domains(Config(source=photos[0], target=photos[0], target_labels=str(table)))[2]
    assert [label for label in found if label] == ["bar"]


def test_a_letter_written_in_two_ways_is_one_class(photos, tmp_path):
    import unicodedata

    for domain, form in ((photos[0], "NFC"), (photos[1], "NFD")):
        draw(domain / unicodedata.normalize(form, "Größe") / "1.png", "bar", "black", np.random.default_rng(0))
    source, _, truth = own_domains(Config(source=photos[0], target=photos[1], target_labels="folders"))
    assert {label for label in truth if label} <= set(source.labels)


def test_a_target_within_the_source_is_refused(photos):
    with pytest.raises(ValueError, match="lies in the source, as a class of it"):
        own_domains(Config(source=photos[0], target=photos[0] / "bar"))


def test_parts_of_a_dataset_that_look_like_classes_are_noted(photos, tmp_path):
    (tmp_path / "all").mkdir()
    for part in ("test", "train"):
        (tmp_path / "all" / part).symlink_to(photos[0])
    (note,) = read_path(tmp_path / "all", Reading()).notes
    assert "hold the same folders, bar for one" in note
    assert not read_path(photos[0], Reading()).notes


def test_numbers_with_a_decimal_comma(tmp_path):
    table = write_csv(tmp_path / "a.csv", [["x", "label"], ["0,5", "u"]], delimiter=";")
    with pytest.raises(ValueError, match="holds '0,5', which is no number; write numbers with a decimal point"):
        read_path(table, Reading())
