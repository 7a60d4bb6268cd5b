"""One fake server for the tests of the language-model policy; starting one takes time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairagents.testing import FakeOllama
from tests.agents.toy_council import Stage


@pytest.fixture(scope="session")
def _staged() -> Iterator[tuple[Stage, FakeOllama]]:
    stage = Stage()
    with FakeOllama(script=stage, hang=1) as server:
        yield stage, server


@pytest.fixture
def stage(_staged: tuple[Stage, FakeOllama]) -> Stage:
    """Say how the server answers next: damage nothing unless told to."""
    _staged[0].plan, _staged[0].default = [], "valid"
    return _staged[0]


@pytest.fixture
def server(stage: Stage, _staged: tuple[Stage, FakeOllama]) -> FakeOllama:
    """Return the server without the requests of earlier tests."""
    _staged[1].requests.clear()
    return _staged[1]
