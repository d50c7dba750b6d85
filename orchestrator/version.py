"""The product's version, as recorded with every run."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("failover")
except PackageNotFoundError:  # run from a checkout that was never installed
    VERSION = "0+unknown"
