"""Write the JSON Schemas again, beside this file."""

from __future__ import annotations

from pathlib import Path

from orchestrator.schemas import write

if __name__ == "__main__":
    write(Path(__file__).parent)
