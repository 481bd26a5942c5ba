import pytest

from cst.bench.job import jobs_of
from cst.bench.suite import suite_names, with_seeds
from cst.bench.suite_file import find_suite, read_suite
from cst.tasks.catalogue import TASKS

PAPERS = {"office-home", "sentiment", "visda", "ablation", "batch-size", "digits", "domainnet40"}


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_names_valid_and_different_runs(name, tmp_path):
    suite = find_suite(name)  # which checks every run
    folders = [job.run.folder for job in jobs_of(with_seeds(suite, 2), tmp_path)]
    assert len(set(folders)) == len(folders)
    assert len(folders) == sum(min(2, v.seeds) if v.seeds < suite.seeds else 2 for v in suite.variants)


def test_the_papers_tables_have_suites_with_its_lines_and_columns():
    from cst.bench.paper import paper_table

    assert set(suite_names()) >= PAPERS | {"demo", "battery"}
    for name in PAPERS - {"ablation", "batch-size", "digits"}:
        suite, table = find_suite(name), paper_table(name)
        columns = {v.column for v in suite.variants}
        assert columns == set(table.columns) - {"average"}
        printed = {(m, c) for m in table.lines for c in columns if table.cell(m, c)}
        assert printed <= {(v.line, v.column) for v in suite.variants}, name
    assert [v.line for v in find_suite("ablation").variants] == list(paper_table("ablation").lines)
    assert [v.config["batch_size"] for v in find_suite("batch-size").variants] == [32, 64, 128, 256]


def test_a_part_of_a_suite_and_methods_and_tasks_that_it_has_not():
    part = find_suite("digits", "cst, cst-official", "digits:mnist-usps")
    assert [variant.name for variant in part.variants] == ["cst mnist-usps", "cst-official mnist-usps"]
    with_options = "source+cycle+confusion(alpha=1.9,temperature=2.5)"
    lines = [v.line for v in find_suite("digits-parts", f"{with_options},cst-official").variants]
    assert lines == [with_options, "cst-official"]
    more = find_suite("office-home", "cst,mcc", "Ar-Cl,office-31:A-W")
    assert [v.name for v in more.variants] == ["cst Ar-Cl", "mcc Ar-Cl", "cst A-W", "mcc A-W"]
    assert more.variants[-1].config["recipe"] == "paper/office-home"
    # A family's name is part of a task's: another family has pairs of the same short name.
    other = find_suite("office-home", "cst", "office-home-features:Ar-Cl")
    assert [v.config["task"] for v in other.variants] == ["office-home-features:Ar-Cl"]
    assert len(find_suite("digits", "cst", "office-31:*").variants) == 6
    assert len({v.line for v in find_suite("demo", "*").variants}) > 30
    both = find_suite("battery", "cst+fixmatch").variants
    assert {v.group for v in both} == {"the deciding half", "the reporting half"}
    with pytest.raises(ValueError, match="'method' is not for all runs to share"):
        find_suite("digits", settings={"method": "cst"})
    with pytest.raises(ValueError, match=r"digits: Unknown term 'cts': did you mean 'cst'\?"):
        find_suite("digits", "cts")
    with pytest.raises(ValueError, match=r"Unknown task 'mnist-svhn'.* Known tasks: mnist-usps, svhn-mnist\."):
        find_suite("digits", tasks="mnist-svhn")


def test_a_file_of_ones_own(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        """
title: My scanners
settings: {epochs: 5}
methods: [source-only, {name: long, method: cst, epochs: 40}, {method: cst, weight: cycle=2, lr: 0.01}]
tasks: ["office-31:*", {source: photos, target: scans}, {name: shifted, task: synthetic-digits, resample: label-shift}]
seeds: 2
"""
    )
    suite = find_suite(str(file))
    assert (suite.name, suite.title, suite.seeds) == ("mine", "My scanners", 2)
    assert len(suite.variants) == 3 * 8
    assert [v.line for v in suite.variants[:3]] == ["source-only", "long", "cst, cycle=2, lr=0.01"]
    assert [v.config["epochs"] for v in suite.variants[:3]] == [5, 40, 5]
    assert suite.variants[-4].column == "photos-scans"
    assert find_suite(str(file), settings={"epochs": 1}).variants[1].config["epochs"] == 1


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"metods": ["cst"]}, "mine: Unknown key 'metods': did you mean 'methods'?"),
        ({"methods": [3]}, "mine: methods must be names"),
        ({"methods": ["cst"], "settings": {"epoch": 3}}, "Unknown option 'epoch': did you mean 'epochs'?"),
        ({"methods": ["cst"], "settings": [3]}, "mine: settings must be options with values"),
        ({"methods": ["cts"]}, "did you mean 'cst'"),
        ({"methods": ["cst"], "tasks": ["digits:svhn-mnits"]}, "Unknown task 'digits:svhn-mnits'"),
        ({"methods": ["cst"], "tasks": ["nothing:*"]}, "Unknown task 'nothing:*'"),
        ({"methods": ["cst"], "seeds": 0}, "seeds must be a whole number of at least 1"),
        ({"methods": ["cst"], "seeds": "many"}, "seeds must be a whole number of at least 1"),
        ({"methods": [{"method": "cst", "option": "tsallis.alhpa=1"}]}, "alhpa"),
        ({"methods": [{"name": "a", "method": "cst"}, {"name": "a", "method": "mcc"}]}, "two runs are called 'a'"),
        ({"methods": ["cst"], "paper": "office-hoem"}, "Unknown paper table 'office-hoem'"),
        ({"methods": ["cst"], "paper": {"tabel": "visda"}}, "mine: Unknown key 'tabel'"),
        ({"methods": ["cst"], "figures": ["acuracy"]}, "Unknown figure 'acuracy': did you mean 'accuracy'?"),
        ({"methods": ["cst"], "figures": ["pseudo_label_distribution"]}, "Unknown figure"),
        ({"methods": ["cst"], "paper": {"table": "visda", "columns": 5}}, "columns must name columns"),
        ({"methods": ["cst"], "paper": ["visda"]}, "paper must be the name of one of its tables"),
        ({"methods": ["cst"], "against": "sorce-only"}, "mine, against: Unknown method 'sorce-only'"),
        ({"methods": ["cst"], "settings": {"seed": 3}}, "'seed' is not for all runs to share"),
        (
            {"methods": [{"name": "long", "method": "cst", "epochs": "abc"}]},
            "mine, long: epochs must be a whole number",
        ),
        ({}, "mine names no methods"),
        ({"parts": "all"}, "parts must be a list"),
    ],
)
def test_mistakes_in_a_file_are_said_before_anything_runs(values, says):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        read_suite("mine", values, "mine")
    assert says in str(error.value)


def test_an_unknown_suite(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "Unknown suite 'ofice-home': did you mean 'office-home'?" in mistake("bench", "ofice-home")
    assert "There is no configuration file at mine.yaml" in mistake("bench", "mine.yaml")
    (tmp_path / "mine.yaml").write_text("- a\n- b\n")
    assert "mine.yaml must hold one option a line" in mistake("bench", "mine.yaml")
    assert not (tmp_path / "runs").exists()


def test_the_halves_of_the_battery_share_no_task_and_have_every_kind():
    halves = {}
    for variant in find_suite("battery").variants:
        data = variant.config["task"], variant.config.get("resample")
        halves.setdefault(variant.group, set()).add(data)
    deciding, reporting = halves["the deciding half"], halves["the reporting half"]
    assert not deciding & reporting
    assert min(len(deciding), len(reporting)) >= 16
    for half in (deciding, reporting):
        families = {task.partition(":")[0] for task, _ in half}
        assert {"office-home-features", "office-31-features", "amazon-features", "digits-small", "tables"} <= families
        assert any(resample == "label-shift" for _, resample in half)
        assert all(task in TASKS for task, _ in half)
