"""Who watches a run is told everything in order, to the end, whatever the end is."""

import logging
import re
import sys

import pytest
import torch

import cst

SHORT = {"epochs": 3, "steps_per_epoch": 2, "batch_size": 16}


class Diary(cst.Callback):
    """Writes down what it is told, and stops the run at a certain step."""

    def __init__(self, stop_at=None, error=KeyboardInterrupt):
        self.lines, self.stop_at, self.error = [], stop_at, error

    def on_start(self, total):
        self.lines.append(("start", total))

    def on_step(self, step, total):
        self.lines.append(("step", step, total))
        if step == self.stop_at:
            raise self.error

    def on_epoch(self, record):
        self.lines.append(("epoch", record["epoch"], record["step"]))

    def on_end(self):
        self.lines.append(("end",))


def steps(first, last):
    """Steps with the epochs that they end."""
    lines = []
    for step in range(first, last + 1):
        lines.append(("step", step, 6))
        if step % 2 == 0:
            lines.append(("epoch", step // 2, step))
    return lines


def test_callbacks_are_told_in_order(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    first, second = Diary(), Diary()
    cst.adapt((source, labels), target, callbacks=[first, second], **SHORT)
    assert first.lines == second.lines == [("start", 6), *steps(1, 6), ("end",)]


def test_a_callback_may_know_only_what_it_wants(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    told = []

    class Listener(cst.Callback):
        def on_epoch(self, record):
            told.append(record)

    adapted = cst.adapt((source, labels), target, callbacks=[Listener(), cst.Callback()], **SHORT)
    assert told == adapted.history


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError("full")])
def test_the_end_is_told_after_an_exception_too(error, shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    stopping, other = Diary(stop_at=3, error=error), Diary()
    with pytest.raises(type(error) if isinstance(error, Exception) else error):
        cst.adapt((source, labels), target, callbacks=[other, stopping], out=tmp_path, **SHORT)
    assert stopping.lines == other.lines == [("start", 6), *steps(1, 3), ("end",)]
    resumed = Diary()
    cst.adapt((source, labels), target, callbacks=[resumed], out=tmp_path, resume=True, **SHORT)
    assert resumed.lines == [("start", 6), *steps(3, 6), ("end",)], "after the last finished epoch"


def test_the_end_is_told_when_a_term_fails(shifted_blobs):
    source, labels, target, _ = shifted_blobs

    class Failing(cst.Term):
        def forward(self, step):
            if step.epochs >= 1:
                raise ArithmeticError("on purpose")
            return step.target.features.mean()

    diary = Diary()
    with pytest.raises(ArithmeticError, match="on purpose"):
        cst.adapt((source, labels), target, Failing(), callbacks=[diary], **SHORT)
    assert diary.lines == [("start", 6), *steps(1, 2), ("end",)]


def test_the_end_is_told_when_training_diverges(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    diary = Diary()
    with pytest.raises(FloatingPointError, match="diverged in epoch 1"):
        cst.adapt((source, labels), target, backbone=torch.nn.Linear(5, 4), callbacks=[diary], lr=1e30, **SHORT)
    assert diary.lines[0] == ("start", 6)
    assert diary.lines[-1] == ("end",)
    assert [line for line in diary.lines if line[0] in ("epoch", "end")] == [("end",)]


def test_callbacks_change_nothing(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    watched = cst.adapt((source, labels), target, callbacks=[Diary()], progress=True, **SHORT)
    alone = cst.adapt((source, labels), target, **SHORT)
    ours, theirs = watched.model.state_dict(), alone.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_progress_prints_lines_where_there_is_no_terminal(shifted_blobs, capfd):
    source, labels, target, truth = shifted_blobs
    cst.adapt((source, labels), target, "cycle", progress=True, **SHORT)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert "\x1b" not in err
    assert [line.partition("  loss ")[0] for line in lines] == [f"cycle  epoch {number}/3" for number in (1, 2, 3)]
    assert all("oracle" not in line for line in lines)
    cst.adapt((source, labels), target, progress=True, target_labels=truth, **SHORT)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all("accuracy" in line and line.endswith("% (oracle)") for line in lines)


@pytest.mark.parametrize("progress", [None, False])
def test_otherwise_nothing_is_printed_there(progress, shifted_blobs, capfd):
    source, labels, target, _ = shifted_blobs
    cst.adapt((source, labels), target, progress=progress, **SHORT)
    assert capfd.readouterr() == ("", "")


def test_long_runs_print_a_few_lines_only(shifted_blobs, capfd):
    source, labels, target, _ = shifted_blobs
    cst.adapt((source, labels), target, "source-only", progress=True, epochs=25, steps_per_epoch=1, batch_size=8)
    assert len(capfd.readouterr().err.splitlines()) == 5


def test_the_log_gets_a_line_an_epoch(shifted_blobs, caplog):
    source, labels, target, _ = shifted_blobs
    with caplog.at_level(logging.INFO, logger="cst"):
        adapted = cst.adapt((source, labels), target, **SHORT)
    lines = [entry for entry in caplog.records if entry.name == "cst"]
    assert [entry.levelname for entry in lines] == ["INFO"] * 3
    for number, (entry, record) in enumerate(zip(lines, adapted.history, strict=True), start=1):
        losses = ", ".join(f"{name} {value:.4f}" for name, value in record["loss"].items())
        assert entry.getMessage() == f"epoch {number}: {losses}"


def test_the_log_is_silent_by_itself(shifted_blobs, capfd):
    source, labels, target, _ = shifted_blobs
    assert not logging.getLogger("cst").handlers
    cst.adapt((source, labels), target, **SHORT)
    assert capfd.readouterr() == ("", "")


class Screen:
    """A terminal of a certain width whose last live line can be read."""

    def __init__(self, monkeypatch, columns):
        import io

        self.file = io.StringIO()
        self.file.isatty = lambda: True
        monkeypatch.setattr("sys.stderr", self.file)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")

    def lines(self):
        text = re.sub(r"\x1b\[[0-9;]*m", "", self.file.getvalue())  # colours
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", text)  # moves
        return [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]


@pytest.mark.parametrize("columns", [80, 120])
def test_a_bar_has_the_epoch_the_loss_and_the_time_left_at_any_width(columns, shifted_blobs, monkeypatch):
    source, labels, target, truth = shifted_blobs
    screen = Screen(monkeypatch, columns)
    long_name = "cycle+tsallis(alpha=1.5)+entropy"
    options = {"epochs": 3, "steps_per_epoch": 8, "batch_size": 16, "option": {"cycle.l2": 0.1}}
    cst.adapt((source, labels), target, long_name, target_labels=truth, **options)
    lines = screen.lines()
    assert all(len(line) <= columns for line in lines)
    whole = [line for line in lines if "━" in line and "epoch 3/3" in line and "loss" in line]
    assert whole
    assert any(re.search(r"epoch [12]/3  loss \d\.\d+  \d+ s left", line) for line in lines)
    assert any("(oracle)" in line for line in lines) == (columns == 120)


def test_the_first_epoch_shows_its_loss_before_it_ends(shifted_blobs, monkeypatch):
    source, labels, target, _ = shifted_blobs
    told = []

    class Watching(cst.Callback):
        def on_losses(self, losses):
            told.append(losses)

        def on_epoch(self, record):
            told.append(record["loss"])

    monkeypatch.setattr("cst.engine.records.SECONDS", 0.0)
    cst.adapt((source, labels), target, "cycle", epochs=1, steps_per_epoch=3, callbacks=[Watching()])
    assert len(told) >= 4
    assert told[-1]["total"] == pytest.approx(told[-2]["total"], abs=1e-6)  # the means of a whole epoch


def test_long_work_before_training_is_told(photos, capfd, monkeypatch):
    from cst.engine import progress

    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr("cst.data.images.AT_ONCE", 4)
    cst.adapt(*photos, backbone="cnn", image_size=16, workers=0, progress=True, epochs=1, steps_per_epoch=1)
    err = capfd.readouterr().err
    assert re.search(r"checking images: \d+ of 24, \d+ s left", err)


def test_one_quantity_has_one_name():
    """What training batches say of the target head is not what the finished model says on all samples."""
    from cst.engine.metrics import METRICS

    labels = [metric.label for metric in METRICS.values()]
    assert len(set(labels)) == len(labels)
    assert METRICS["batch_target_head_error"].compute is None


@pytest.mark.parametrize("installed", [True, False])
def test_a_notebook_has_a_bar_only_where_it_can_be_drawn(installed, monkeypatch):
    """Without ipywidgets rich draws nothing, and warns."""
    from rich.console import Console

    from cst.engine import progress

    monkeypatch.setitem(sys.modules, "IPython", sys)
    monkeypatch.setattr(Console, "__init__", lambda self: setattr(self, "is_jupyter", True))
    monkeypatch.setattr(progress, "find_spec", lambda name: object() if installed else None)
    assert progress.is_live() is installed
