"""A suite whose runs take a second."""

from cst.bench.suite_file import read_suite

VALUES = {
    "title": "Two methods",
    "settings": {"epochs": 1, "steps_per_epoch": 3},
    "methods": ["source-only", {"name": "strong ridge", "method": "cycle(l2=1)"}],
    "seeds": 1,
}


def small_suite(**more):
    return read_suite("small", {**VALUES, **more}, "small")
