"""A shell for each test, and a folder in which processes rehearse."""

from tests.cli.fixtures import make_bench as make_bench
from tests.cli.fixtures import shell as shell
