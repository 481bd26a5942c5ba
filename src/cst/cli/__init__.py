"""The command line: one small file a command, heavy imports inside."""
