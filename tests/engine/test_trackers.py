"""What TensorBoard, MLflow and Weights & Biases are told of a run, read back from what they wrote."""

import json
import struct

import pytest
import yaml

import cst
from cst.engine.metrics import METRICS
from cst.engine.run import Run
from cst.engine.trackers import figures

SHORT = {"epochs": 2, "steps_per_epoch": 2, "batch_size": 16}


class Stop(cst.Callback):
    """Interrupts a run after its first epoch."""

    def on_step(self, step, total):
        if step == 3:
            raise KeyboardInterrupt


@pytest.fixture
def trained(shifted_blobs, tmp_path, monkeypatch):
    """A function that trains with a tracker, interrupted and resumed if asked, and returns the run."""
    source, labels, target, truth = shifted_blobs
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "WANDB_MODE", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)

    def train(log, interrupted=False, out=tmp_path / "run"):
        words = {"log": log, "out": out, "target_labels": truth, **SHORT}
        if interrupted:
            with pytest.raises(KeyboardInterrupt):
                cst.adapt((source, labels), target, callbacks=[Stop()], **words)
        cst.adapt((source, labels), target, resume=interrupted, **words)
        return Run(out)

    return train


def expected(run):
    """By name and epoch, what the records and the result hold, told anew from the files."""
    rows = {}
    for record in run.history():
        rows |= {(name, record["epoch"]): value for name, value in figures(record) if name != "epoch"}
    rows |= {(name, 2): value for name, value in figures(run.finished, "result/")}
    return rows


def check_names(names):
    """Names are those of the table of metrics; what looked at target labels says so."""
    assert {"loss/total", "weight/cycle", "alpha", "batch_target_head_error", "oracle/accuracy"} <= names
    assert {"result/source_error", "result/target_head_source_error", "result/oracle/accuracy"} <= names
    for name in names:
        groups, last = name.split("/")[:-1], name.split("/")[-1]
        assert not METRICS.get(last) or not METRICS[last].oracle or "oracle" in groups, name


def test_tensorboard_is_told_everything_once(trained):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = trained("tensorboard")
    seen = events.EventAccumulator(str(run.folder / "tensorboard")).Reload()
    rows = {(name, e.step): e.value for name in seen.Tags()["scalars"] for e in seen.Scalars(name)}
    check_names({name for name, _ in rows})
    assert rows == pytest.approx(expected(run), rel=1e-5)
    (verdict,) = seen.Tensors("verdict/text_summary")
    assert verdict.tensor_proto.string_val[0].decode() == run.finished["verdict"]["word"]


def test_mlflow_keeps_one_run_through_an_interruption(trained):
    mlflow = pytest.importorskip("mlflow")
    run = trained(["tensorboard", "mlflow"], interrupted=True)
    client = mlflow.MlflowClient(f"sqlite:///{run.folder / 'mlflow.db'}")
    (experiment,) = client.search_experiments(filter_string="name = 'cst'")
    (there,) = client.search_runs([experiment.experiment_id])
    assert there.info.status == "FINISHED"
    assert there.data.tags["verdict"] == run.finished["verdict"]["word"]
    assert there.data.params["method"] == "cst"
    names = set(there.data.metrics)
    check_names(names)
    rows = {(name, m.step): m.value for name in names for m in client.get_metric_history(there.info.run_id, name)}
    assert rows == pytest.approx(expected(run))
    assert json.loads(run.trackers_file.read_text()) == {"mlflow": there.info.run_id}


def messages(file):
    """What lies in a file of Weights & Biases: parts with a checksum, a length and a type, in blocks of 32 KB."""
    data, place, message = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        left = 2**15 - place % 2**15
        if left < 7:
            place += left
            continue
        length, kind = struct.unpack("<HB", data[place + 4 : place + 7])
        message += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield message
            message = b""


def test_wandb_writes_a_run_here_and_sends_nothing(trained, monkeypatch):
    pytest.importorskip("wandb")
    from wandb.proto.wandb_internal_pb2 import Record

    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # where nobody answers
    run = trained("wandb")
    (file,) = (run.folder / "wandb").glob("offline-run-*/run-*.wandb")
    rows, summary = {}, {}
    for message in messages(file):
        record = Record()
        record.ParseFromString(message)
        cells = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        rows |= {(name, cells["_step"]): value for name, value in cells.items()}
        summary |= {item.key or "/".join(item.nested_key): item.value_json for item in record.summary.update}
    rows = {key: value for key, value in rows.items() if not key[0].startswith("_")}
    final = {name: json.loads(value) for name, value in summary.items() if name.startswith("result/")}
    check_names({name for name, _ in rows} | set(final))
    assert {**rows, **{(name, 2): value for name, value in final.items()}} == pytest.approx(expected(run))
    assert json.loads(summary["verdict"]) == run.finished["verdict"]["word"]


def test_who_is_told_changes_nothing(trained, tmp_path):
    pytest.importorskip("tensorboard")
    alone = trained(None, out=tmp_path / "alone")
    told = trained("tensorboard", out=tmp_path / "told")
    assert alone.weights_file.read_bytes() == told.weights_file.read_bytes()
    assert yaml.safe_load(told.config_file.read_text())["log"] == ["tensorboard"]


def test_a_tracker_that_fails_does_not_end_the_run(trained, monkeypatch):
    from cst.engine.trackers import TensorBoard

    def gone(self, numbers, step):
        raise ConnectionError("the server is gone")

    monkeypatch.setattr(TensorBoard, "write", gone)
    with pytest.warns(UserWarning, match=r"log=tensorboard is told no more \(ConnectionError\); the run goes on\."):
        run = trained("tensorboard")
    assert run.finished


def test_mistakes_are_found_before_training(trained, shifted_blobs, tmp_path, monkeypatch):
    source, labels, target, _ = shifted_blobs
    with pytest.raises(ValueError, match="Unknown tracker 'mlfow': did you mean 'mlflow'"):
        trained("mlfow")
    with pytest.raises(ValueError, match="log= writes into the folder of a run: name one with out="):
        cst.adapt((source, labels), target, log="tensorboard", **SHORT)
    monkeypatch.setattr("cst.engine.trackers.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="log=wandb needs the package wandb: pip install wandb"):
        trained("wandb")
    assert not (tmp_path / "run").exists()


def test_the_earlier_word_for_tensorboard_is_read(tmp_path):
    for written, log in (("true", ("tensorboard",)), ("false", ())):
        (tmp_path / "mine.yaml").write_text(f"epochs: 1\ntensorboard: {written}\n")
        from cst.config import load_config

        assert load_config(tmp_path / "mine.yaml").log == log
