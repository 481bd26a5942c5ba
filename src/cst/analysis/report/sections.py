"""The parts of the page that are words and tables: verdict, what was done, confusion, how to reproduce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cst.analysis.report.markup import Html, details, joined, scrolled, table, tag
from cst.engine.metrics import metric
from cst.grammar import adjusted, parse_method

if TYPE_CHECKING:
    from cst.analysis.subject import Subject

TONES = {"adapted": "good", "no clear gain": "even", "harmed": "bad", "collapsed": "bad"}
MOST_CLASSES = 20
"""Classes of a confusion matrix; of more, the most frequent confusions are listed."""
MOST_PAIRS = 20


def verdict(run: Subject) -> Html:
    """Did it help? In a word, in sentences, in numbers."""
    said = run.result.get("verdict")
    parts: list[Any] = []
    if said:
        word = str(said.get("word", ""))
        parts.append(tag("p", tag("strong", word.capitalize()), class_=f"verdict {TONES.get(word, 'even')}"))
        parts += [tag("p", sentence) for sentence in said.get("sentences", ())]
        evidence = said.get("evidence") or {}
        rows = [[e.get("label", name), *_change(e.get("before"), e.get("after"))] for name, e in evidence.items()]
        if rows:
            head = ["sign", "before", "after", "change"]
            parts.append(table("The evidence, none of which needs a label of the target", head, rows))
        if said.get("reliability"):
            parts.append(tag("p", said["reliability"], class_="note"))
    else:
        unfinished = "The run is not finished." if not run.result else "The run was written without one."
        parts.append(tag("p", f"There is no verdict. {unfinished} Figures and examples below are for you to judge."))
    return joined(*parts, _figures(run))


def _change(before: Any, after: Any) -> list[str]:
    """Two numbers and their difference; a dash for what is not known."""
    both = before is not None and after is not None
    return [_number(before), _number(after), f"{after - before:+.3g}" if both else "–"]  # noqa: RUF001


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:.3g}"  # noqa: RUF001


def _figures(run: Subject) -> Html | None:
    """The figures of the finished model."""
    rows = []
    for figures, oracle in ((run.result, "no"), (run.result.get("oracle", {}), "yes (oracle)")):
        for name, value in figures.items():
            if isinstance(value, int | float):
                described = metric(name)
                rows.append([described.label, f"{described.show(value)} {described.unit}".strip(), oracle])
    if not rows:
        return None
    return table("The finished model", ["figure", "value", "uses target labels"], rows)


def facts(run: Subject) -> Html:
    """A few large numbers at the top."""
    settings = run.settings
    values: list[tuple[str, str]] = []
    if run.data is not None:
        task = run.data.task
        values += [(f"{len(task.source):,}", "source samples"), (f"{len(task.target):,}", "target samples")]
    values += [(str(len(run.classes)), "classes"), (f"{len(run.history)} of {settings.epochs}", "epochs")]
    accuracy = run.result.get("oracle", {}).get("accuracy")
    if accuracy is not None:
        values.append((f"{100 * accuracy:.1f} %", "accuracy (oracle)"))
    return tag("ul", *(tag("li", tag("strong", value), " ", word) for value, word in values), class_="facts")


def what_was_done(run: Subject) -> Html:
    """Data, method and settings."""
    settings = run.settings
    entries: list[tuple[str, Any]] = [("Data", run.task_name)]
    for role in ("source", "target"):
        place = settings.data[role]
        count = f"{len(getattr(run.data.task, role)):,} samples" if run.data is not None else None
        if place or count:
            entries.append((role.capitalize(), ", ".join(filter(None, [str(place or ""), count]))))
    labels = "not given" if not _has_labels(run) else "given, for evaluation only; training never sees them"
    entries += [
        ("Labels of the target", labels),
        ("Classes", _listed(run.classes)),
        ("Method", settings.method),
        *_chosen(run),
        ("As a sum of terms", tag("code", _formula(run))),
        ("Backbone", run.data.adapted.spec.backbone if run.data is not None else settings.backbone),
        ("Training", f"{settings.epochs} epochs of {settings.steps_per_epoch} steps, {settings.batch_size} a batch"),
        ("Seed", settings.seed),
    ]
    rows = [[name, _plain(value)] for name, value in settings.to_dict().items() if name not in settings.data]
    return joined(
        tag("dl", *(joined(tag("dt", name), tag("dd", value)) for name, value in entries), class_="done"),
        details("All settings", table("Settings", ["setting", "value"], rows, class_="settings")),
    )


def _has_labels(run: Subject) -> bool:
    predictions = run.predictions
    return bool(run.result.get("oracle")) or (predictions is not None and predictions.labels is not None)


def _listed(names: Sequence[str], most: int = 40) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _chosen(run: Subject) -> list[tuple[str, Any]]:
    """Which candidate and which epoch were chosen, where there was a choice."""
    auto, selected = run.result.get("auto"), run.result.get("selected")
    rows: list[tuple[str, Any]] = [("Chosen", f"{auto['name']}. {auto['why']}")] if auto else []
    if selected:
        rows.append(("Epoch", f"{selected['epoch']:g} of {selected['last']}, selected by {selected['by']}"))
    return rows


def _formula(run: Subject) -> str:
    settings = run.settings
    name = (run.result.get("auto") or {}).get("name", settings.method)
    try:
        return adjusted(parse_method(name), settings.weight, settings.option).formula
    except ValueError:  # a term that another program registered
        return str(name)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "as usual"
    return "" if value is None else str(value)


def confusion_counts(predicted: Tensor, labels: Tensor, num_classes: int) -> list[list[int]]:
    """How many samples of each class (rows) were predicted as each (columns).

    >>> confusion_counts(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]), 2)
    [[1, 1], [0, 1]]
    """
    places = labels * num_classes + predicted
    counts: list[list[int]] = torch.bincount(places, minlength=num_classes**2).reshape(num_classes, -1).tolist()
    return counts


def confusion(run: Subject) -> Html | None:
    """What is taken for what, where labels of the target are known (oracle)."""
    predictions = run.predictions
    if predictions is None or predictions.labels is None:
        return None
    known, classes = predictions.known, run.classes
    labels = predictions.labels[known]
    counts = confusion_counts(predictions.pseudo_labels[known], labels, len(classes))
    lead = tag("p", f"{len(labels):,} target samples have a label. Rows are labels, columns predictions.")
    if len(classes) > MOST_CLASSES:
        pairs = [(n, a, b) for a, row in enumerate(counts) for b, n in enumerate(row) if a != b and n]
        pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
        rows = [[classes[a], classes[b], n, f"{100 * n / sum(counts[a]):.0f} %"] for n, a, b in pairs[:MOST_PAIRS]]
        lead = tag("p", f"{len(labels):,} target samples have a label.")
        columns = ["label", "predicted", "samples", "of the class"]
        return joined(lead, table("The most frequent confusions", columns, rows))
    head = tag("tr", tag("td"), *(tag("th", name, scope="col") for name in classes))
    body = [
        tag("tr", tag("th", name, scope="row"), *(_cell(n, sum(row), place == column) for column, n in enumerate(row)))
        for place, (name, row) in enumerate(zip(classes, counts, strict=True))
    ]
    caption = "Confusion matrix: samples of each label (rows) by prediction (columns)"
    whole = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_="confusion")
    return joined(lead, scrolled(whole, caption))


def _cell(count: int, total: int, diagonal: bool) -> Html:
    """Darker where more of the class went."""
    shade = -(-9 * count // total) if total else 0
    word = f"{'d' if diagonal else 'o'}{shade}"
    return tag("td", count if count else tag("span", "0", class_="zero"), class_=word)


def reproduce(run: Subject, commands: Sequence[str]) -> Html:
    """Commands, configuration, versions."""
    written = run.run.config_file.read_text(encoding="utf-8")
    versions = [line for line in written.splitlines() if line.split(":")[0] in ("format", "cst", "torch")]
    return joined(
        tag("p", "The settings are complete in the run's config.yaml; with them a run on the CPU repeats."),
        scrolled(tag("pre", tag("code", "\n".join(commands))), "Commands"),
        tag("p", f"Written by {', '.join(line.replace(': ', ' ') for line in versions) or 'an earlier version'}."),
        details("config.yaml", scrolled(tag("pre", tag("code", written)), "config.yaml")),
    )
