"""The paper's tables: suites as data, a runner with several engines, tables beside the paper's numbers."""


class RunError(Exception):
    """Runs of a suite have failed, or one of a command has, not for what the user wrote."""
