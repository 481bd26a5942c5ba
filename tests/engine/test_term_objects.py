"""Terms as objects: alone, in a list, beside names; the same run as by name."""

import copy
import re

import pytest
import torch

import cst
from cst.engine.run import Run
from cst.terms.cycle import Cycle
from cst.terms.mdd import MDD
from cst.terms.mean_teacher import MeanTeacher
from cst.terms.tsallis import Tsallis

SHORT = {"epochs": 2, "steps_per_epoch": 3, "batch_size": 16}


class Length(cst.Term):
    """A term of the user's own, with an option, a parameter and a buffer."""

    def __init__(self, scale=0.1):
        super().__init__()
        self.scale = scale

    def setup(self, problem):
        super().setup(problem)
        self.factor = torch.nn.Parameter(torch.ones(problem.feature_dim))
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, step):
        return self.scale * (self.factor * step.target.features).square().mean()

    def after_step(self, network):
        self.steps += 1

    def metrics(self):
        return {"steps_seen": int(self.steps)}


def outcome(adapted):
    history = [{k: v for k, v in record.items() if k not in ("seconds", "cpu_seconds")} for record in adapted.history]
    return adapted.model.state_dict(), history


def same(first, second):
    (ours, records), (theirs, others) = outcome(first), outcome(second)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours) and records == others


@pytest.fixture
def run(shifted_blobs):
    source, labels, target, truth = shifted_blobs
    return lambda method, **more: cst.adapt((source, labels), target, method, target_labels=truth, **SHORT, **more)


@pytest.mark.parametrize(
    ("objects", "name"),
    [
        (lambda: Cycle(l2=0.5), "cycle(l2=0.5)"),
        (lambda: [Cycle(l2=0.5)], "cycle(l2=0.5)"),
        (lambda: [Cycle(), Tsallis()], "cycle+tsallis"),
        (lambda: [Cycle(normalize=True), "tsallis(alpha=1.5)"], "cycle(normalize=true)+tsallis(alpha=1.5)"),
        (lambda: ["cycle+sam", Tsallis()], "cycle+tsallis+sam"),
        (lambda: ["source", "cst"], "cst"),
        (lambda: ["balanced", MDD(margin=3.0)], "balanced+mdd(margin=3)"),
        (lambda: (part for part in ("cycle", Tsallis(alpha=1.5))), "cycle+tsallis(alpha=1.5)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_terms_as_objects_make_the_same_run_as_by_name(objects, name, run):
    assert same(run(objects()), run(name))


def test_different_options_make_another_run(run):
    assert not same(run(Cycle(l2=0.5)), run(Cycle(l2=5.0)))


def test_a_weight_counts_for_an_object_too(run):
    assert same(run([Cycle(), "tsallis"], weight={"cycle": 2}), run("cycle+tsallis", weight={"cycle": 2}))
    assert not same(run([Cycle(), "tsallis"], weight={"cycle": 2}), run("cycle+tsallis"))
    with pytest.raises(ValueError, match="'cycle' is an object; give it 'l2' where you make it"):
        run(Cycle(), option={"cycle.l2": 0.5})


@pytest.mark.parametrize("make", [lambda: MDD(), lambda: MeanTeacher(), lambda: Tsallis(), lambda: Length()])
def test_the_users_object_is_left_alone(make, run):
    term = make()
    before = copy.deepcopy(vars(term))
    first = run([term, "cycle"])
    assert repr(vars(term)) == repr(before)
    assert not list(term.parameters()), "what depends on the problem belongs to the copy"
    assert same(run([term, "cycle"]), first), "so the object serves again"


def test_a_term_of_ones_own(run):
    adapted = run([Length(scale=0.5), "cycle"])
    assert adapted.settings.method == "Length(scale=0.5)+cycle"
    assert [record["steps_seen"] for record in adapted.history] == [3, 6]
    assert set(adapted.history[0]["loss"]) == {"source", "Length", "cycle", "total"}
    assert not same(run([Length(scale=5.0), "cycle"]), adapted)


def test_a_run_with_objects_is_saved_loaded_and_resumed(run, shifted_blobs, tmp_path):
    class Stop(cst.Callback):
        def on_step(self, step, total):
            if step == 4:
                raise KeyboardInterrupt

    whole = run([Length(), "cycle"], out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run([Length(), "cycle"], out=tmp_path / "broken", callbacks=[Stop()])
    assert len(Run(tmp_path / "broken").history()) == 1
    resumed = run([Length(), "cycle"], out=tmp_path / "broken", resume=True)
    assert same(resumed, whole)
    target = shifted_blobs[2]
    assert (cst.load(tmp_path / "broken").predict_proba(target) == whole.predict_proba(target)).all()


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ([], "method is empty: name a method, or give at least one term."),
        (Cycle, "method must be a name, a sum, or terms, got type."),
        ([Cycle(), 3], "method must be a name, a sum, or terms, got int."),
        ([torch.nn.Linear(2, 2)], "method must be a name, a sum, or terms, got Linear."),
        (["cycle", "tsalis"], "Unknown term 'tsalis': did you mean 'tsallis'?"),
        ([MDD(), "mcd", "sam"], "asks for alternating and sam at once: leave one of them out."),
    ],
)
def test_mistakes_get_one_sentence(method, sentence, run):
    with pytest.raises(ValueError, match=re.escape(sentence)) as error:
        run(method)
    assert "\n" not in str(error.value)


def test_two_terms_of_one_name_are_refused_and_none_is_dropped(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    with pytest.raises(ValueError, match="Two terms are called 'cycle'"):
        cst.adapt((source, labels), target, [Cycle(l2=1.0), Cycle(l2=2.0)], **SHORT)


def test_what_a_term_reports_as_a_tensor_is_a_number_in_the_metrics(shifted_blobs, tmp_path):
    class Reports(cst.Term):
        def forward(self, step):
            return step.target.features.square().mean()

        def metrics(self):
            return {"level": torch.tensor(0.5), "levels": torch.tensor([1.0, 2.0])}

    source, labels, target, _ = shifted_blobs
    adapted = cst.adapt((source, labels), target, [Reports()], out=tmp_path / "run", **SHORT)
    assert adapted.history[-1]["level"] == 0.5
    assert '"levels": [1.0, 2.0]' in (tmp_path / "run" / "metrics.jsonl").read_text()


def test_a_run_goes_on_with_the_object_it_began_with(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    cst.adapt((source, labels), target, [Length(scale=0.5)], out=tmp_path / "run", **SHORT)
    with pytest.raises(ValueError, match=r"method was Length\(scale=0.5\), now Length\(scale=0.25\)"):
        cst.adapt((source, labels), target, [Length(scale=0.25)], out=tmp_path / "run", resume=True, **SHORT)
