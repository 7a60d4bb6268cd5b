"""Use cases that ship with fairagents."""
