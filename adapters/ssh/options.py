"""What a site's ``options`` say about SSH.

Whoever shows what an adapter can do reads these, so this module must never load paramiko.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SshOptions(BaseModel):
    """Which keys are tried besides the named one. Both are off: a key that no one named must not open a device."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow_agent: bool = Field(default=False, description="try the keys of the running SSH agent")
    look_for_keys: bool = Field(default=False, description="try the key files in ~/.ssh")
