"""The paper's benchmarks, read from their publishers' own files."""
