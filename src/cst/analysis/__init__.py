"""Pictures of what happened in a run."""
