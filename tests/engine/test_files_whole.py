"""At any moment each file of a run is whole, and its folder belongs to one process until the result is there."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import cst
from cst.engine.run import Run

SHORT = {"epochs": 4, "steps_per_epoch": 5, "batch_size": 16}
LOOK = "import sys; from pathlib import Path; from cst.engine.run import Run; print(Run(Path(sys.argv[1])).is_locked)"


def locked_for_others(folder):
    """Whether another process finds the folder taken."""
    found = subprocess.run([sys.executable, "-c", LOOK, str(folder)], capture_output=True, text=True, check=True)
    return found.stdout.strip() == "True"


class Look(cst.Callback):
    """Asks at the last step whether the folder is taken."""

    def __init__(self, folder):
        self.folder, self.locked = folder, None

    def on_step(self, step, total):
        if step == total:
            self.locked = locked_for_others(self.folder)


def test_the_folder_is_kept_until_the_result_is_there(shifted_blobs, tmp_path, monkeypatch):
    source, labels, target, _ = shifted_blobs
    out, seen = tmp_path / "run", []
    from cst.engine import train

    evaluate, save_result = train.evaluate, Run.save_result

    def looking_evaluate(*arguments, **options):
        seen.append(("evaluate", Run(out).is_locked, locked_for_others(out), Run(out).result_file.exists()))
        return evaluate(*arguments, **options)

    def looking_save(run, result):
        save_result(run, result)
        seen.append(("saved", Run(out).is_locked, locked_for_others(out), Run(out).result_file.exists()))

    monkeypatch.setattr(train, "evaluate", looking_evaluate)
    monkeypatch.setattr(Run, "save_result", looking_save)
    look = Look(out)
    assert not Run(out).is_locked, "there is no folder yet"
    cst.adapt((source, labels), target, out=out, callbacks=[look], **SHORT)
    assert look.locked
    assert seen == [("evaluate", True, True, False), ("saved", True, True, True)]
    assert not Run(out).is_locked
    assert not locked_for_others(out)


def test_a_second_run_is_refused_while_the_first_is_evaluated(shifted_blobs, tmp_path, monkeypatch):
    source, labels, target, _ = shifted_blobs
    from cst.engine import train

    evaluate = train.evaluate

    def intruding(*arguments, **options):
        with pytest.raises(ValueError, match="is being trained by another process: wait for its end"):
            cst.adapt((source, labels), target, out=tmp_path, resume=True, **SHORT)
        return evaluate(*arguments, **options)

    monkeypatch.setattr(train, "evaluate", intruding)
    cst.adapt((source, labels), target, out=tmp_path, **SHORT)
    assert Run(tmp_path).result
    assert len(Run(tmp_path).history()) == 4


def test_the_folder_is_free_after_a_failure(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    with pytest.raises(FloatingPointError):
        cst.adapt((source, labels), target, backbone=torch.nn.Linear(5, 4), lr=1e30, out=tmp_path, **SHORT)
    assert Run(tmp_path).config_file.exists()
    assert not Run(tmp_path).is_locked


class Full(OSError):
    """No space left."""


class Interrupt(cst.Callback):
    """Stops a run in the middle of its third epoch."""

    def on_step(self, step, total):
        if step == 13:
            raise KeyboardInterrupt


def fail_midway(monkeypatch, name, error):
    """Let whoever writes the file of this name write a part of it and fail."""

    def is_it(path):
        return f".{name}." in f".{Path(path).name}."

    def failing(writer, path_of):
        def write(*arguments, **options):
            path = path_of(arguments)
            if not is_it(path):
                return writer(*arguments, **options)
            with open(path, "wb") as file:
                file.write(b"a part of")
            raise error

        return write

    import safetensors.torch

    monkeypatch.setattr(torch, "save", failing(torch.save, lambda a: a[1]))
    monkeypatch.setattr(safetensors.torch, "save_file", failing(safetensors.torch.save_file, lambda a: a[1]))
    monkeypatch.setattr(Path, "write_text", failing(Path.write_text, lambda a: a[0]))


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != ".lock"}


ERRORS = [Full("no space left on device"), KeyboardInterrupt()]
WRITTEN = {
    *("config.yaml", "metrics.jsonl", "checkpoint.pt", "model.safetensors", "model.json", "result.json"),
    *("before.safetensors", "after.safetensors"),
}


@pytest.mark.parametrize("error", ERRORS, ids=["full", "interrupted"])
@pytest.mark.parametrize("name", sorted(WRITTEN - {"checkpoint.pt", "config.yaml", "before.safetensors"}))
def test_a_failed_write_leaves_the_previous_file_and_no_part(name, error, shifted_blobs, tmp_path, monkeypatch):
    """A finished run that is resumed writes its records, its model and its result again."""
    source, labels, target, _ = shifted_blobs
    cst.adapt((source, labels), target, out=tmp_path, **SHORT)
    before = content(tmp_path)
    assert set(before) == WRITTEN
    with monkeypatch.context() as patch:
        fail_midway(patch, name, error)
        with pytest.raises(type(error)):
            cst.adapt((source, labels), target, out=tmp_path, resume=True, **SHORT)
    after = content(tmp_path)
    assert after[name] == before[name]
    assert set(after) == WRITTEN, "nothing partial is left"
    again = cst.adapt((source, labels), target, out=tmp_path, resume=True, **SHORT)
    assert len(again.history) == 4
    assert (cst.load(tmp_path).predict_proba(target) == again.predict_proba(target)).all()


@pytest.mark.parametrize("error", ERRORS, ids=["full", "interrupted"])
@pytest.mark.parametrize("name", ["checkpoint.pt", "metrics.jsonl"])
def test_a_write_that_fails_between_epochs_loses_at_most_an_epoch(name, error, shifted_blobs, tmp_path, monkeypatch):
    source, labels, target, _ = shifted_blobs
    whole = cst.adapt((source, labels), target, out=tmp_path / "whole", **SHORT)
    out = tmp_path / "broken"
    with pytest.raises(KeyboardInterrupt):
        cst.adapt((source, labels), target, out=out, callbacks=[Interrupt()], **SHORT)
    before = content(out)
    assert set(before) == {"config.yaml", "metrics.jsonl", "checkpoint.pt", "checkpoint-1.pt", "before.safetensors"}
    with monkeypatch.context() as patch:
        fail_midway(patch, name, error)
        with pytest.raises(type(error)):
            cst.adapt((source, labels), target, out=out, resume=True, **SHORT)
    after = content(out)
    assert after[name] == before[name]
    assert set(after) == set(before)
    resumed = cst.adapt((source, labels), target, out=out, resume=True, **SHORT)
    ours, theirs = resumed.model.state_dict(), whole.model.state_dict()
    assert all(torch.equal(ours[key], theirs[key]) for key in theirs)
    assert [record["epoch"] for record in Run(out).history()] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["config.yaml", "metrics.jsonl", "model.safetensors", "model.json"])
def test_a_model_that_is_saved_again_is_the_old_one_or_the_new_one(name, shifted_blobs, tmp_path, monkeypatch):
    source, labels, target, _ = shifted_blobs
    adapted = cst.adapt((source, labels), target, **SHORT)
    adapted.save(tmp_path)
    before = content(tmp_path)
    fail_midway(monkeypatch, name, Full("no space left on device"))
    with pytest.raises(Full):
        adapted.save(tmp_path)
    assert content(tmp_path) == before
