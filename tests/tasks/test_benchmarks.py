"""Tiny replicas of the publishers' layouts."""

import numpy as np
import pytest

from conftest import draw
from cst.config import Config
from cst.tasks import load_task
from cst.tasks.benchmarks.folders import BENCHMARKS
from cst.tasks.catalogue import TASKS
from encoded import encoded


def test_every_pair_has_a_name():
    families = [name.partition(":")[0] for name in TASKS]
    counts = {family: families.count(family) for family in families}
    assert counts == {
        "synthetic-digits": 1,
        "digits": 3,
        "office-31": 6,
        "office-home": 12,
        "office-caltech10": 12,
        "visda-2017": 1,
        "domainnet40": 12,
        "amazon-reviews": 12,
        "office-home-features": 12,
        "office-31-features": 6,
        "amazon-features": 12,
        "amazon-mpnet-features": 12,
        "digits-small": 6,
        "tables": 6,
    }


def replica(root, benchmark, per_class=1):
    random = np.random.default_rng(0)
    for names, _ in benchmark.domains.values():
        for number in range(benchmark.classes):
            for image in range(per_class):
                path = root / benchmark.places[0] / names[0] / benchmark.inside / f"class{number:02}" / f"{image}.jpg"
                draw(path, "disc", "black", random)


@pytest.mark.parametrize(
    ("name", "family", "first", "second"),
    [
        ("office-31:A-W", "office-31", "A", "W"),
        ("office-home:Rw-Cl", "office-home", "Rw", "Cl"),
        ("office-caltech10:amazon-webcam", "office-caltech10", "amazon", "webcam"),
        ("visda-2017", "visda-2017", "train", "validation"),
    ],
)
def test_image_folders(tmp_path, name, family, first, second):
    benchmark = BENCHMARKS[family]
    replica(tmp_path, benchmark)
    task = load_task(Config(task=name, data_root=tmp_path, image_size=16))
    assert (len(task.source), len(task.target), task.num_classes) == (benchmark.classes,) * 3
    assert task.oracle.target_labels is not None
    assert task.target.labels is None
    assert f", {benchmark.domains[first][0][0]} are there." in task.notes[0]
    expected = [benchmark.domains[domain][1] for domain in (first, second)]
    assert [f"of the {count:,} images" in note for count, note in zip(expected, task.notes, strict=True)] == [
        True,
        True,
    ]


def test_what_is_missing_is_said_with_its_place_and_origin(tmp_path):
    with pytest.raises(ValueError, match=r"OfficeHomeDataset_10072016/Art is missing: get it from the Office-Home"):
        load_task(Config(task="office-home:Ar-Cl", data_root=tmp_path, image_size=16))
    (tmp_path / "visda-2017" / "train" / "one").mkdir(parents=True)
    draw(tmp_path / "visda-2017" / "train" / "one" / "1.png", "disc", "black", np.random.default_rng(0))
    with pytest.raises(ValueError, match="1 class folders instead of 12"):
        load_task(Config(task="visda-2017", data_root=tmp_path, image_size=16))
    with pytest.raises(ValueError, match=r"books/negative\.review is missing: get it from the Multi-Domain"):
        load_task(Config(task="amazon-reviews:B-D", data_root=tmp_path))
    with pytest.raises(ValueError, match=r"real_train_mini\.txt is missing: get it from the COAL"):
        load_task(Config(task="domainnet40:R-C", data_root=tmp_path, image_size=16))


def test_domainnet_follows_the_lists(tmp_path):
    random = np.random.default_rng(0)
    for domain in ("real", "clipart"):
        for part in ("train", "test"):
            lines = []
            for number in range(40):
                name = f"{domain}/kind{number:02}/{part}.jpg"
                draw(tmp_path / "domainnet" / name, "disc", "black", random)
                lines.append(f"{name} {number}")
            lines.append(f"{domain}/kind39/gone.jpg 39")
            (tmp_path / "domainnet" / f"{domain}_{part}_mini.txt").write_text("\n".join(lines) + "\n")
    task = load_task(Config(task="domainnet40:R-C", data_root=tmp_path, image_size=16))
    assert task.classes == tuple(f"kind{number:02}" for number in range(40))
    assert (len(task.source), len(task.target), len(task.oracle.test.inputs)) == (40, 40, 40)
    assert len(task.oracle.test.labels) == 40
    assert task.target.labels is None
    assert all(path.name == "test.jpg" for path in task.oracle.test.inputs.items)
    assert "40 of the 41 images of real_train_mini.txt are there." in task.notes
    (tmp_path / "domainnet" / "real_train_mini.txt").write_text("real/kind00/train.jpg 0\nreal/kind01/train.jpg 1\n")
    with pytest.raises(ValueError, match=r"real_train_mini\.txt has 2 classes instead of 40"):
        load_task(Config(task="domainnet40:R-C", data_root=tmp_path, image_size=16))


REVIEW = """<review>
<title>
{title}
</title>
<rating>
{stars}
</rating>
<review_text>
{text} & <b>more
</review_text>
</review>
"""


def test_reviews_are_parsed_tolerantly(tmp_path, tiny_bert):
    for domain in ("books", "dvd"):
        for label, stars in (("negative", "1.0"), ("positive", "5.0")):
            path = tmp_path / "sorted_data_acl" / domain / f"{label}.review"
            path.parent.mkdir(parents=True, exist_ok=True)
            one = REVIEW.format(title=f"A {label} title", stars=stars, text="Caf\xe9").encode("latin-1")
            path.write_bytes(one * 3)
    from cst.tasks.benchmarks.reviews import read_reviews

    found, notes = read_reviews(tmp_path, "B")
    assert found.labels == ["negative"] * 3 + ["positive"] * 3
    assert found.items[0].startswith("A negative title. Caf")
    assert found.items[0].endswith("& <b>more")
    assert notes[0] == "3 of the 1,000 reviews of books/negative are there."
    config = Config(task="amazon-reviews:B-D", data_root=tmp_path, backbone=f"hf:{tiny_bert}", max_length=8)
    task = load_task(config)
    assert (len(task.source), len(task.target), task.classes) == (6, 6, ("negative", "positive"))
    assert task.target.labels is None
    assert encoded(task, config).source.take(task.labels[:2]).shape == (2, 8)
