"""Tables as suites of runs: what to run, a runner that can be interrupted, and the table that comes out."""


class RunError(Exception):
    """A run of a suite ended with an error."""
