"""Section 4 and Appendix A of the paper as code that can be run: the hard case, and the bound of Theorem 1."""
