import io
import json
import re
import shutil
from contextlib import redirect_stdout

import pytest

from cst.bench.runner import histories_of, jobs_of, rows_of, run_suite
from cst.bench.suites import SUITES, Suite, Variant, find_suite
from cst.bench.tables import markdown, spread, summary, tables_of
from cst.cli.main import main
from cst.config import config_from
from cst.grammar import adjusted, parse_method

SHORT = {"epochs": 1, "steps_per_epoch": 3}
TINY = Suite(
    "tiny",
    "Two runs",
    (
        Variant("source-only", {"method": "source-only", **SHORT}),
        Variant("cycle, l2=1", {"method": "cycle(l2=1)", **SHORT}),
    ),
)


@pytest.fixture(scope="module")
def by_command(tmp_path_factory):
    """`cst bench tiny` once, as each run is a process that takes seconds to start: what it wrote and what it said."""
    folder = tmp_path_factory.mktemp("bench")
    words = ["bench", "tiny", "--seeds", "1", "--jobs", "2", "--out", folder / "runs"]
    words += ["--markdown", folder / "t.md", "--json", folder / "t.json", "--figure", folder / "t.png"]
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny", TINY)
        with redirect_stdout(said), pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
    return folder, end.value.code, said.getvalue()


@pytest.fixture
def finished(by_command, tmp_path):
    """The runs of the tiny suite in a folder of the test's own, all finished."""
    folder, _, _ = by_command
    shutil.copytree(folder / "runs", tmp_path / "finished")
    return jobs_of(TINY, 1, tmp_path / "finished")


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_every_suite_names_valid_and_different_runs(suite, tmp_path):
    for variant in suite.variants:
        config = config_from(variant.config)
        adjusted(parse_method(config.method), config.weight, config.option)
    folders = {job.run.folder for job in jobs_of(suite, 2, tmp_path)}
    assert len(folders) == sum(min(2, variant.seeds or 2) for variant in suite.variants)


def test_a_suite_runs_once_and_goes_on_after_an_interruption(finished):
    told = []
    rows = rows_of(finished)
    assert [row["variant"] for row in rows] == ["source-only", "cycle, l2=1"]
    assert all(row["milliseconds_per_step"] > 0 for row in rows)
    (finished[1].run.result_file).unlink()
    run_suite(finished, 1, told.append)
    assert "1 of 2 runs were finished before" in told
    assert rows_of(finished)[1]["accuracy"] == rows[1]["accuracy"]


def test_a_run_that_another_process_trains_is_left_to_it(finished):
    for job in finished:
        job.run.result_file.unlink()
    told = []
    with finished[0].run.locked():
        run_suite(finished, 1, told.append)
    assert "source-only  seed 0: left to the process that trains it" in told
    assert [row["variant"] for row in rows_of(finished)] == ["cycle, l2=1"]


def test_a_failing_run_is_named(tmp_path):
    suite = Suite("bad", "A run that cannot be", (Variant("bad", {"method": "cycle(l2=-1)", **SHORT}),))
    with pytest.raises(ValueError, match=r"^bad  seed 0 failed: (?!cst: ).*l2 must be positive"):
        run_suite(jobs_of(suite, 1, tmp_path), 1, print)


def test_tables():
    rows = [
        {"variant": "a", "seed": s, "accuracy": 0.5 + s / 10, "total_variation": 0.1, "target_head_source_error": 0.0}
        | {"milliseconds_per_step": 2.0}
        for s in range(3)
    ]
    columns, lines = summary(rows)
    assert lines == [["a", "60.0 ± 10.0", "10.0 ± 0.0", "0.0 ± 0.0", "2.0"]]
    assert markdown(columns, lines).splitlines()[1] == "| --- | ---: | ---: | ---: | ---: |"
    assert spread([0.5], str) == "0.5"


def test_command(by_command, monkeypatch):
    monkeypatch.setitem(SUITES, "tiny", TINY)
    assert find_suite("tiny") is TINY
    folder, code, said = by_command
    assert code == 0
    assert (folder / "t.png").read_bytes().startswith(b"\x89PNG")
    assert "source-only" in said
    assert len(json.loads((folder / "t.json").read_text())) == 2
    assert "`cst bench tiny --seeds 1`" in (folder / "t.md").read_text()


def test_a_long_run_tells_how_far_it_is(tmp_path):
    long = Suite("long", "One run", (Variant("long", {"method": "cst", "epochs": 10, "steps_per_epoch": 8}),))
    told = []
    run_suite(jobs_of(long, 1, tmp_path), 1, told.append)
    assert any(re.fullmatch(r"long  seed 0: epoch [2-9] of 10", line) for line in told)


def test_a_part_of_a_suite():
    part = find_suite("digits", "cst, cst-official", "digits:mnist-usps")
    assert [variant.name for variant in part.variants] == ["cst mnist-usps", "cst-official mnist-usps"]
    with_options = "source+cycle+confusion(alpha=1.9,temperature=2.5)"
    part = find_suite("digits-parts", f"{with_options},cst-official")
    assert [variant.method for variant in part.variants] == [with_options, "cst-official"]
    with pytest.raises(ValueError, match=r"Suite 'digits': Unknown method 'cts': did you mean 'cst'\?"):
        find_suite("digits", "cts")
    with pytest.raises(ValueError, match=r"Unknown task 'mnist-svhn'.* Known tasks: mnist-usps, svhn-mnist\."):
        find_suite("digits", tasks="mnist-svhn")
    with pytest.raises(ValueError, match=r"Suite 'demo' has one task only: leave out --tasks\."):
        find_suite("demo", tasks="synthetic-digits")


def test_show_runs_nothing(finished, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(SUITES, "tiny", TINY)
    monkeypatch.chdir(tmp_path)
    show = ["bench", "tiny", "--seeds", "1", "--show"]
    with pytest.raises(SystemExit) as end:
        main(show)
    assert end.value.code == 2
    assert "No run in runs/bench/tiny is finished: leave out --show" in capsys.readouterr().err
    source_only = finished[0].run.folder
    shutil.copytree(source_only, tmp_path / "runs/bench/tiny" / source_only.name)
    with pytest.raises(SystemExit) as end:
        main(show)
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "1 of 2 runs" in said
    assert "cycle" not in said
    assert not list(tmp_path.rglob("*.md"))
    with pytest.raises(SystemExit) as end:
        main([*show, "--figure", "curves.txt"])
    assert end.value.code == 2
    assert "--figure curves.txt must end in .png" in capsys.readouterr().err


def test_tasks_as_columns():
    from cst.bench.tables import by_task

    rows = [
        {"method": m, "task": t, "accuracy": a, "cpu_minutes": 2.0}
        for m, t, a in [("cst", "B-D", 0.9), ("cst", "D-B", 0.8), ("cst", "D-B", 0.82), ("dann", "B-D", 0.85)]
    ]
    columns, lines = by_task(rows)
    assert columns == ["method", "B-D", "D-B", "average", "CPU minutes a run"]
    assert lines[0] == ["cst", "90.0", "81.0 ± 1.4", "85.5", "2.0"]
    assert lines[1] == ["dann", "85.0", "", "", "2.0"]
    assert by_task(rows, notes={"dann": "one task"})[1][1][-1] == "one task"


def test_a_table_by_tasks_has_the_oracle_epoch_and_the_transductive_figure_where_it_differs():
    row = {"method": "cst", "task": "a", "cpu_minutes": 1.0, "accuracy": 0.9, "oracle_epoch_accuracy": 0.95}
    suite = Suite("s", "S", (Variant("cst a", {"method": "cst", "task": "x:a"}),), by_task=True)
    same, apart = (tables_of(suite, [row | {"target_accuracy": value}]) for value in (1 - (1 - 0.9), 0.99))
    assert [lines[0][1] for _, _, lines in same] == ["90.0", "95.0"]
    assert [lines[0][1] for _, _, lines in apart] == ["90.0", "95.0", "99.0"]


def test_histories_of_finished_runs_go_by_task_and_method(tmp_path):
    variants = tuple(Variant(f"{m} {t}", {"method": m, "task": f"x:{t}"}) for t in "ab" for m in ("cst", "dann"))
    jobs = jobs_of(Suite("s", "S", variants, by_task=True), 2, tmp_path)
    for number, job in enumerate(jobs[:-1]):
        job.run.folder.mkdir()
        job.run.metrics_file.write_text(json.dumps({"epoch": 1, "number": number}) + "\n")
        job.run.save_result({})
    found = histories_of(jobs)
    numbers = {(t, m): [runs[0]["number"] for runs in found[t][m]] for t in found for m in found[t]}
    assert numbers == {("a", "cst"): [0, 4], ("a", "dann"): [1, 5], ("b", "cst"): [2, 6], ("b", "dann"): [3]}


def test_a_figure_has_a_panel_for_each_task_and_one_for_alpha(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    from cst.analysis.figures import suite_figure

    drawn = []
    savefig = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *words, **more: (drawn.append(self), savefig(self, *words, **more))
    )
    plain = [{"oracle": {"accuracy": 0.5 + e / 10}} for e in range(3)]
    selected = [record | {"alpha": 2 - e / 10} for e, record in enumerate(plain)]
    suite_figure({task: {"dann": [plain], "cst": [selected, selected]} for task in "abcd"}, tmp_path / "f.png")
    titles = {panel.get_title(loc="left"): len(panel.lines) for panel in drawn[0].axes if panel.axison}
    assert titles == {f"{task} target accuracy, % (oracle)": 2 for task in "abcd"} | {"Selected alpha": 4}
    assert drawn[0].axes[0].lines[0].get_ydata().tolist() == pytest.approx([50, 60, 70])


def test_the_halves_of_the_battery_share_no_task_and_have_every_kind():
    from cst.bench.battery import DECIDING, REPORTING
    from cst.tasks.catalogue import TASKS

    halves = [{(config["task"], config.get("resample")) for _, config in half} for half in (DECIDING, REPORTING)]
    assert not halves[0] & halves[1]
    assert min(map(len, halves)) >= 16
    for half in halves:
        families = {task.partition(":")[0] for task, _ in half}
        assert {"office-home-features", "office-31-features", "amazon-features", "digits-small", "tables"} <= families
        assert any(resample == "label-shift" for _, resample in half)
        assert all(task in TASKS for task, _ in half)


def test_a_table_of_the_battery_has_average_and_harm():
    from cst.bench.tables import with_harm

    figures = {("source-only", "a"): 0.5, ("source-only", "b"): 0.7, ("cst", "a"): 0.6, ("cst", "b"): 0.65}
    rows = [{"method": m, "task": t, "accuracy": value} for (m, t), value in figures.items()]
    columns, lines = with_harm([*rows, {"method": "cst", "task": "c", "accuracy": 0.1}])
    assert columns == ["task", "source-only", "cst"]
    assert lines[-2:] == [["average of 2", "60.0", "62.5"], ["most lost against source-only", "0.0", "5.0"]]


def test_a_task_of_the_battery_runs(cst, tmp_path):
    words = ["bench", "battery", "--methods", "source-only", "--tasks", "wine-rescaled", "--seeds", "1"]
    code, out, err = cst(*words, "--out", tmp_path)
    assert code == 0, err
    assert "wine-rescaled" in out
    assert "most lost against source-only" in out
