"""Saving for the Hugging Face hub, against local folders."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import cst

SHORT = {"epochs": 4, "steps_per_epoch": 3, "progress": False}


@pytest.fixture
def adapted(shifted_blobs):
    source, labels, target, truth = shifted_blobs
    names = np.array(["ant", "bee", "cow"])[labels]
    return cst.adapt((source, names), target, "cst", target_labels=np.array(["ant", "bee", "cow"])[truth], **SHORT)


def test_a_folder_comes_back_and_has_a_card(adapted, shifted_blobs, tmp_path):
    target = shifted_blobs[2]
    adapted.save_pretrained(tmp_path / "model", "Insects")
    again = cst.Adapted.from_pretrained(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(target), adapted.predict_proba(target))
    card = (tmp_path / "model" / "README.md").read_text()
    header = yaml.safe_load(card.split("---")[1])
    assert header == {
        "library_name": "cst",
        "pipeline_tag": "tabular-classification",
        "tags": ["domain-adaptation", "self-training"],
    }
    assert "# Insects" in card
    assert "`cst`" in card
    assert "3 classes (ant, bee, cow)" in card
    assert adapted.verdict.word.capitalize() in card
    accuracy = adapted.history[-1]["oracle"]["accuracy"]
    first = 100 * adapted.history[0]["oracle"]["accuracy"]
    assert f"by labels that training never saw: {accuracy:.1%}" in card
    assert "## Limits" in card
    assert "Task: data in memory. Adapted" in card
    assert f"| accuracy, % (by labels of the target) | {first:.1f} | {100 * accuracy:.1f} |" in card
    for sign in adapted.verdict.evidence.values():  # scores that need no label of the target
        assert f"| {sign['label']} |" in card


def test_a_page_that_somebody_wrote_is_left_alone(adapted, tmp_path):
    adapted.save_pretrained(tmp_path / "model")
    adapted.save_pretrained(tmp_path / "model", "Another title")  # ours is written anew
    assert "# Another title" in (tmp_path / "model" / "README.md").read_text()
    (tmp_path / "model" / "README.md").write_text("My own words.")
    adapted.save_pretrained(tmp_path / "model")
    assert (tmp_path / "model" / "README.md").read_text() == "My own words."


def test_publishing_and_loading_by_name(adapted, shifted_blobs, tmp_path, monkeypatch):
    """The client's two ends, with a folder in the place of the hub."""
    import huggingface_hub

    shelf = tmp_path / "hub"

    class Api:
        def __init__(self, token=None):
            assert token == "secret"

        def create_repo(self, name, private, exist_ok):
            assert (private, exist_ok) == (True, True)
            (shelf / name).mkdir(parents=True)

        def upload_folder(self, repo_id, folder_path):
            shutil.copytree(folder_path, shelf / repo_id, dirs_exist_ok=True)
            return f"hub/{repo_id}"

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, revision: str(shelf / name))
    assert adapted.push_to_hub("me/insects", private=True, token="secret") == "hub/me/insects"
    assert "# insects" in (shelf / "me/insects/README.md").read_text()
    again = cst.Adapted.from_pretrained("me/insects", revision="main")
    assert (again.predict(shifted_blobs[2]) == adapted.predict(shifted_blobs[2])).all()
    assert not Path("me").exists()
