import csv
import io
import re

import pytest

from cst.bench.suite import Beside, Suite
from cst.bench.tables import by_task, spread, tables_of, with_harm
from cst.bench.writers import comma_separated, fragment, latex, markdown, page


def rows(*cells, **more):
    """(line, column, seed, accuracy) -> rows"""
    plain = {"group": "", "cpu_minutes": 2.0}
    return [{"line": m, "column": t, "seed": s, "accuracy": a, **plain, **more} for m, t, s, a in cells]


def texts(table):
    return [[line.label, *(cell.text for cell in line.cells)] for line in table.lines]


def places(table):
    return [[cell.place for cell in line.cells] for line in table.lines]


PLAIN = Suite("s", "S", ())
HOME = Suite("home", "Home", (), paper=Beside("office-home"))


def test_mean_and_deviation_best_and_second_and_the_average():
    cells = [("cst", "B-D", 0, 0.9), ("cst", "D-B", 0, 0.8), ("cst", "D-B", 1, 0.82)]
    cells += [("dann", "B-D", 0, 0.85), ("mdd", "B-D", 0, 0.8), ("mdd", "D-B", 0, 0.9)]
    table = by_task(PLAIN, rows(*cells))
    assert table.columns == ("method", "B-D", "D-B", "average", "CPU minutes a run")
    assert texts(table) == [
        ["cst", "90.0", "81.0 ± 1.4", "85.5", "2.0"],
        ["dann", "85.0", "", "", "2.0"],
        ["mdd", "80.0", "90.0", "85.0", "2.0"],
    ]
    assert places(table) == [[1, 2, 1, 0], [2, 0, 0, 0], [0, 1, 2, 0]]
    assert spread([0.5], str) == "0.5"


def test_averages_with_as_many_seeds_everywhere_have_a_deviation():
    cells = [("cst", t, s, 0.5 + s / 10) for t in "ab" for s in range(3)]
    assert texts(by_task(PLAIN, rows(*cells)))[0][3] == "60.0 ± 10.0"


def test_the_papers_number_and_the_difference_stand_below():
    table = by_task(HOME, rows(("cst", "Ar-Cl", 0, 0.45), ("mcc", "Ar-Cl", 0, 0.44)))
    assert texts(table) == [
        ["cst", "45.0", "2.0"],
        ["the paper", "59.0", ""],
        ["difference", "-14.0", ""],
        ["mcc", "44.0", "2.0"],  # which the paper has not
    ]
    assert [line.ours for line in table.lines] == [True, False, False, True]


def test_the_average_of_a_part_of_the_tasks_is_compared_with_that_of_the_same_part():
    table = by_task(HOME, rows(("cst", "Ar-Cl", 0, 0.45), ("cst", "Cl-Pr", 0, 0.70)))
    assert texts(table)[1] == ["the paper", "59.0", "77.1", "68.0", ""]
    assert texts(table)[2] == ["difference", "-14.0", "-7.1", "-10.5", ""]


def test_other_data_have_no_difference_and_total_variation_is_a_share_of_which_less_is_better():
    beside = Beside("ablation", {"average accuracy": "accuracy", "average total variation": "total variation"}, False)
    suite = Suite("s", "S", (), figures=("accuracy", "total_variation"), paper=beside)
    lines = {"near": 0.1, "far": 0.2, "cst": 0.3}
    cells = [
        row
        for line, share in lines.items()
        for row in rows((line, "a", 0, 0.5), (line, "b", 0, 0.7), total_variation=share)
    ]
    table = by_task(suite, cells)
    assert table.columns[1:3] == ("a accuracy", "a total variation")
    assert texts(table)[0] == ["near", "50.0", "0.10", "70.0", "0.10", "60.0", "0.10", "2.0"]
    assert [row[1] for row in places(table)] == [1, 2, 0, 0]
    assert texts(table)[-1] == ["the paper", "", "", "", "", "79.9 ± 0.5", "0.12", ""]


def test_without_target_labels_the_verdict_is_shown():
    figures = {"line": "cst", "column": "", "group": "", "cpu_minutes": 1.0, "target_head_source_error": 0.1}
    unlabelled = [{**figures, "seed": s, "verdict": w} for s, w in enumerate(("adapted", "adapted", "harmed"))]
    table = by_task(PLAIN, unlabelled)
    assert table.columns[1] == "verdict"
    assert texts(table)[0][1:3] == ["adapted 2, harmed 1", "10.0 ± 0.0"]


def test_unlabelled_tasks_beside_labelled_ones_have_their_verdict_and_stay_out_of_the_average():
    labelled = rows(("cst", "a", 0, 0.5), ("cst", "b", 0, 0.7))
    unlabelled = {"line": "cst", "column": "c", "group": "", "seed": 0, "cpu_minutes": 1.0}
    table = by_task(PLAIN, [*labelled, {**unlabelled, "verdict": "harmed", "target_head_source_error": 0.1}])
    assert table.columns[1:5] == ("a", "b", "c verdict", "c target head's error on source")
    assert table.columns[5] == "average of 2 with labels"
    assert texts(table)[0][1:6] == ["50.0", "70.0", "harmed", "10.0", "60.0"]


def test_seeds_are_paired_by_number_not_by_place():
    cells = [("cst", "a", 0, 0.5), ("cst", "a", 1, 0.6), ("cst", "b", 1, 0.5), ("cst", "b", 2, 0.7)]
    assert texts(by_task(PLAIN, rows(*cells)))[0][3] == "57.5"  # no deviation: the tasks have other seeds
    apart = rows(("source-only", "a", 0, 0.9), ("cst", "a", 1, 0.1))
    assert texts(with_harm(apart, "half", "source-only"))[-1] == ["most lost against source-only", "0.0", ""]


def test_an_average_over_other_tasks_than_the_papers_is_not_compared_with_its_own():
    table = by_task(HOME, rows(("cst", "Ar-Cl", 0, 0.45), ("cst", "mine", 0, 0.70)))
    assert texts(table)[1] == ["the paper", "59.0", "", "", ""]


def test_the_battery_leaves_out_tasks_without_labels():
    unlabelled = {"line": "cst", "column": "c", "group": "", "seed": 0, "cpu_minutes": 1.0, "verdict": "harmed"}
    suite = Suite("s", "S", (), against="source-only")
    cells = rows(("source-only", "a", 0, 0.5), ("cst", "a", 0, 0.6))
    (table,) = tables_of(suite, [*cells, unlabelled])
    assert [line.label for line in table.lines] == ["a", "average of 1", "most lost against source-only"]


def test_the_oracle_is_a_table_of_its_own_and_marked():
    (row,) = rows(("cst", "a", 0, 0.9), oracle_epoch_accuracy=0.95)
    same, apart = (tables_of(PLAIN, [{**row, "target_accuracy": v}], oracle=True) for v in (0.9, 0.99))
    assert [texts(table)[0][1] for table in same] == ["90.0", "95.0"]
    assert [texts(table)[0][1] for table in apart] == ["90.0", "95.0", "99.0"]
    assert [table.heading.startswith("ORACLE") for table in apart] == [False, True, False]
    assert len(tables_of(PLAIN, [{**row, "target_accuracy": 0.9}])) == 1


def test_a_table_of_the_battery_has_average_and_the_most_lost_at_one_seed():
    cells = [("source-only", "a", 0, 0.5), ("source-only", "a", 1, 0.5), ("source-only", "b", 0, 0.7)]
    cells += [("cst", "a", 0, 0.6), ("cst", "a", 1, 0.46), ("cst", "b", 0, 0.69), ("cst", "c", 0, 0.1)]
    table = with_harm(rows(*cells), "half", "source-only")
    assert table.columns == ("task", "source-only", "cst")
    assert texts(table)[-2:] == [["average of 2", "60.0", "61.0"], ["most lost against source-only", "0.0", "4.0"]]


@pytest.fixture
def strange():
    """A table whose names hold what each form must not take for its own."""
    named = rows(("a|b_c & 50% <i>", "Ar-Cl", 0, 0.5), ("cst", "Ar-Cl", 0, 0.6), ("cst", "Ar-Cl", 1, 0.7))
    return tables_of(HOME, named, ["One <fact> of 100 %."])


def test_markdown(strange):
    text = markdown(strange, "T")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert "| cst | **65.0 ± 7.1** |" in text
    assert "<u>50.0</u>" in text
    assert "| *the paper* | 59.0 |" in text


def test_csv(strange):
    read = list(csv.reader(io.StringIO(comma_separated(strange, "T"))))
    assert read[0] == ["method", "Ar-Cl", "CPU minutes a run"]
    assert read[1] == ["a|b_c & 50% <i>", "50.0", "2.0"]
    assert read[3:] == [["the paper", "59.0", ""], ["difference", "+6.0", ""]]


def test_facts_stay_within_a_comment_of_latex():
    text = latex(tables_of(PLAIN, rows(("cst", "a", 0, 0.5)), ["One line\n\\input{x}"]), "T")
    assert "% One line \\input{x}" in text


def test_latex(strange):
    text = latex(strange, "T")
    assert r"a|b\_c \& 50\% <i> & \underline{50.0}" in text
    assert r"\textbf{65.0 $\pm$ 7.1}" in text
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    assert {line.count(" & ") for line in body.splitlines() if line.endswith(r"\\")} == {2}


def test_html(strange):
    from html.parser import HTMLParser

    class Cells(HTMLParser):
        def __init__(self):
            super().__init__()
            self.texts, self.open = [], 0

        def handle_starttag(self, tag, attrs):
            if tag in ("td", "th", "li"):
                self.open += 1
                self.texts.append("")

        def handle_endtag(self, tag):
            self.open -= tag in ("td", "th", "li")

        def handle_data(self, data):
            if self.open:
                self.texts[-1] += data

    parser = Cells()
    parser.feed(page(strange, "T"))
    assert parser.texts[:6] == ["method", "Ar-Cl", "CPU minutes a run", "a|b_c & 50% <i>", "50.0", "2.0"]
    assert parser.texts[-1] == "One <fact> of 100 %."
    assert "body{" in page(strange, "T")
    assert "body{" not in fragment(strange, "T")  # which goes into pages of others
    assert parser.open == 0


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
