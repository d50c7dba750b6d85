"""The project's files, read and parsed once for all checkers."""

from __future__ import annotations

import pytest

from tests.architecture.source import PRODUCT, Source, python_files, text_files


@pytest.fixture(scope="session")
def product() -> list[Source]:
    """The Python files of the product."""
    return python_files(*PRODUCT)


@pytest.fixture(scope="session")
def tests() -> list[Source]:
    """The Python files of the tests."""
    return python_files("tests")


@pytest.fixture(scope="session")
def bench() -> list[Source]:
    """The Python files of the benchmarks."""
    return python_files("bench")


@pytest.fixture(scope="session")
def files() -> list[Source]:
    """Every text file of the project."""
    return text_files()
