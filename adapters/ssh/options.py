"""The ``options`` of a site for SSH.

The code that shows what an adapter can do imports this module, so this module must never load paramiko.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SshOptions(BaseModel):
    """The keys that are tried besides the named key. Both are off: a key that is not named must not open a device."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow_agent: bool = Field(default=False, description="try the keys of the running SSH agent")
    look_for_keys: bool = Field(default=False, description="try the key files in ~/.ssh")
