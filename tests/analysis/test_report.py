"""`cst report`: all that a reader needs, nothing that comes from elsewhere, and user data as text only."""

import base64
import hashlib
import json
import os
import re
import shutil
from html.parser import HTMLParser
from importlib.resources import files

from made_up import NASTY, SHORT, add_snapshots, write_tables

import cst as package
from conftest import write_csv
from cst.analysis.report.markup import Html, details, joined, table, tag, text

pytest_plugins = ["looked_at"]


class Page(HTMLParser):
    """What a browser would make of a page: elements, their attributes, scripts, and text."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.elements, self.scripts, self.words, self.inside = [], [], [], []
        self.feed(self.source)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        self.inside.append(name)

    def handle_endtag(self, name):
        while self.inside and self.inside.pop() != name:
            pass

    def handle_data(self, data):
        kind = self.inside[-1] if self.inside else ""
        {"script": self.scripts, "style": []}.get(kind, self.words).append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def of(self, name):
        return [attributes for element, attributes in self.elements if element == name]


def check_harmless(page):
    """One script, our own; no handlers; nothing loaded from anywhere."""
    script = files("cst.analysis.report").joinpath("page.js").read_text()
    assert page.scripts == [script]
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("src", "srcset", "href", "action"):
            assert attributes.get(name, "#").startswith(("data:image/", "#"))
    policy = page.of("meta")[1]["content"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert re.findall(r"https?://", page.source) == []


def report(cst, run, path, *words):
    code, out, err = cst("report", run, "--out", path, *words)
    assert code == 0, err
    page = Page(path)
    check_harmless(page)
    return page, out, err


def test_the_page_of_a_run_with_labels(labelled, tmp_path, cst):
    run = shutil.copytree(labelled, tmp_path / "run")
    add_snapshots(run)
    page, out, _ = report(cst, run, tmp_path / "r.html")
    assert (tmp_path / "r.html").as_uri() in out
    assert [attributes["lang"] for attributes in page.of("html")] == ["en"]
    assert {name for name, _ in page.elements} >= {"header", "nav", "main", "footer", "h1", "h2", "h3", "figure"}
    targets = {attributes["href"][1:] for attributes in page.of("a")}
    assert targets == {attributes["id"] for name, attributes in page.elements if attributes.get("id") in targets}
    assert all(attributes["alt"] for attributes in page.of("img"))
    assert len(page.of("figure")) == 7
    assert len(page.of("source")) == 7
    assert "source + cycle + tsallis" in page.text
    assert "Confusion matrix" in page.text
    assert "cst train --config" in page.text
    assert len(page.source) < 3_000_000


def test_a_run_of_an_earlier_version_has_no_verdict(labelled, tmp_path, cst):
    run = shutil.copytree(labelled, tmp_path / "run")
    result = json.loads((run / "result.json").read_text())
    del result["verdict"]
    (run / "result.json").write_text(json.dumps(result))
    page, _, _ = report(cst, run, tmp_path / "r.html")
    assert "There is no verdict." in page.text


def test_the_verdict_and_its_evidence(labelled, tmp_path, cst):
    run = shutil.copytree(labelled, tmp_path / "run")
    result = json.loads((run / "result.json").read_text())
    evidence = {"risk": {"label": f"cycle risk {NASTY}", "before": 0.25, "after": 0.5}}
    verdict = {"word": "harmed", "sentences": ["Four signs of five fell."], "evidence": evidence}
    auto = {"name": "mcc", "why": "Verdicts: adapted: mcc."}
    result |= {"verdict": {**verdict, "reliability": "It was right in 9 of 10 runs."}, "auto": auto}
    (run / "result.json").write_text(json.dumps(result))
    page, _, _ = report(cst, run, tmp_path / "r.html")
    for words in ("Harmed", "Four signs of five fell.", "0.25 0.5 +0.25", "It was right in 9 of 10", "source + mcc"):
        assert words in page.text
    assert NASTY in page.text
    (run / "result.json").write_text(json.dumps({**result, "verdict": {"word": "collapsed"}}))
    assert "Collapsed" in report(cst, run, tmp_path / "r.html")[0].text


def test_names_of_classes_and_columns_stay_text(tmp_path, cst):
    tables = write_tables(tmp_path / "data", (NASTY, "plain", "</style><b>"), (f"a{NASTY}", "b", "c"))
    package.adapt(*tables, target_labels="truth", out=tmp_path / "run", **SHORT)
    page, _, _ = report(cst, tmp_path / "run", tmp_path / "r.html")
    assert f"a{NASTY}" in page.text
    assert page.text.count(NASTY) > 10
    assert any(NASTY[:20] in attributes.get("alt", "") for attributes in page.of("img"))  # in the words of a figure


def test_names_of_files_stay_text(photo_run, tmp_path, cst):
    page, _, _ = report(cst, photo_run, tmp_path / "r.html", "--workers", "0")
    assert "'\"><script>alert(3)&lt;.png" in page.text
    thumbnails = [attributes for attributes in page.of("img") if "width" in attributes]
    assert len(thumbnails) == 24
    assert {attributes["width"] for attributes in thumbnails} == {"96"}
    assert not any(attributes.get("src") == "x" for attributes in page.of("img"))


def test_reviews_stay_text_and_are_cut(tmp_path, cst, tiny_bert):
    rows = [[f"pan {i % 3} is {'fine' if i % 2 else 'bad'} {NASTY} " + "long " * 200, "12"[i % 2]] for i in range(12)]
    source = write_csv(tmp_path / "s.csv", [["review", "label"], *rows])
    target = write_csv(tmp_path / "t.csv", [["review"], *([row[0]] for row in rows)])
    settings = {"text": "review", "backbone": f"hf:{tiny_bert}", "batch_size": 4, "epochs": 1, "steps_per_epoch": 2}
    package.adapt(source, target, out=tmp_path / "run", **settings)
    page, _, _ = report(cst, tmp_path / "run", tmp_path / "r.html")
    assert f"is fine {NASTY}" in page.text
    assert page.of("blockquote")
    assert max(len(word) for word in page.words if "pan" in word) <= 400


def test_without_labels_it_says_what_is_missing(unlabelled, tmp_path, cst):
    page, _, _ = report(cst, unlabelled, tmp_path / "r.html")
    assert "Labels of the target not given" in page.text
    assert "Against the labels" not in page.text
    assert "recorded in training with --target-labels only" in page.text
    assert "Confusion" not in page.text
    assert "judged" not in {attributes.get("name") for attributes in page.of("input")}
    assert "Against the labels" in report(cst, unlabelled, tmp_path / "r.html", "--target-labels", "truth")[0].text


def test_without_data_it_shows_what_the_run_kept(labelled, tmp_path, cst):
    run = shutil.copytree(labelled, tmp_path / "run")
    (run / "config.yaml").write_text((run / "config.yaml").read_text().replace("target.csv", "gone.csv"))
    page, _, err = report(cst, run, tmp_path / "r.html")
    assert "its data are not read" in err
    assert "The data are not read, so there are no examples" in page.text
    assert page.of("figure")
    assert not page.of("form")


def test_a_page_replaces_neither_data_nor_the_run(labelled, tables, tmp_path, mistake, cst):
    link = tmp_path / "link.html"
    os.link(tables[1], link)
    before = tables[1].read_bytes()
    assert "which holds data" in mistake("report", labelled, "--out", link)
    assert "must end in .html" in mistake("report", labelled, "--out", labelled / "config.yaml")
    assert "is a folder" in mistake("report", labelled, "--out", _folder(tmp_path / "page.html"))
    assert "is not a run" in mistake("report", tmp_path, "--out", tmp_path / "r.html")
    assert tables[1].read_bytes() == before
    run = shutil.copytree(labelled, tmp_path / "run")
    assert cst("report", run)[0] == 0
    assert (run / "report.html").is_file()  # a natural place


def _folder(path):
    path.mkdir()
    return path


def test_markup_escapes_whatever_is_not_markup():
    assert text(NASTY) == "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;"
    assert tag("a", "x", title='"><b>', hidden=True, id=None) == '<a title="&quot;&gt;&lt;b&gt;" hidden>x</a>'
    assert tag("img", alt="a") == '<img alt="a">'
    assert joined(Html("<b>"), "<b>", None) == "<b>&lt;b&gt;"
    assert "<td>&lt;i&gt;</td>" in table("<c>", ["h"], [["r", "<i>"]])
    assert "<summary>&lt;s&gt;</summary>" in details("<s>")
    assert text("\x1b[31m \udcff \u202e") == "\\x1b[31m \\udcff \\u202e"
    text("\udcff").encode("utf-8")
