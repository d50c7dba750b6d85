"""A shell or a bench for each test."""

from tests.cli.fixtures import make_bench as make_bench
from tests.cli.fixtures import shell as shell
