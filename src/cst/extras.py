"""Packages that only some work needs."""

from __future__ import annotations


def missing(package: str, what: str, note: str = "") -> ValueError:
    """One sentence for a package that is not installed or does not work.

    >>> missing("kornia", "The strong augmentation of photos").args[0]
    'The strong augmentation of photos needs the package kornia: pip install kornia.'
    """
    return ValueError(f"{what} needs the package {package}{note}: pip install {package}.")
