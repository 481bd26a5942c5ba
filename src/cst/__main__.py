"""`python -m cst`."""

from cst.cli.main import main

main()
