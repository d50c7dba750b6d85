"""What `failover runs show --json` prints is what its published JSON Schema says, wherever a run stands."""

from __future__ import annotations

import json

import jsonschema
import pytest

from tests.cli.shell import VPN, Shell


@pytest.fixture
def validator(shell: Shell) -> jsonschema.Draft202012Validator:
    """Of the schema as a user gets it."""
    schema = json.loads(shell("runs", "schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "typed",
    [
        ("controlled", "--all", "--yes"),
        ("controlled", "--vpn", VPN, "--yes", "--xa", "stop"),
        ("controlled", "--vpn", VPN, "--yes", "--fault", "drain: bridge down", "--on-bridge-loss", "revert"),
        ("controlled", "--vpn", VPN, "--yes", "--fault", "at 0s: role nj active"),
        (
            "uncontrolled",
            "--all",
            "--site",
            "ny",
            "--yes",
            "--attest",
            "x",
            "--fault",
            "at 0s: node ny/NY_Appliance1 down",
        ),
    ],
)
def test_every_end_fits(shell: Shell, validator: jsonschema.Draft202012Validator, typed: tuple[str, ...]) -> None:
    """Law: done, stopped, taken back, refused: the document fits the schema, and has every field it names."""
    shell(*typed)
    [document] = shell("runs", "show", "last", "--json").values
    validator.validate(document)
    assert set(document) == set(validator.schema["properties"]) == set(validator.schema["required"])


def test_a_field_that_is_not_known_does_not_fit(shell: Shell, validator: jsonschema.Draft202012Validator) -> None:
    """Law: a field more or less is a change of the schema, which is kept with the code."""
    shell.move("--yes")
    [document] = shell("runs", "show", "last", "--json").values
    assert not validator.is_valid({**document, "extra": 1})
    assert not validator.is_valid({key: value for key, value in document.items() if key != "outcome"})
