"""Copies the programs of `python/examples/fleets` into `docs/fleets.md`, each after its marker: `python fleets_page.py`."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "fleets.md"
MARKED = re.compile(r"<!-- (python/examples/fleets/\w+\.py) -->\n\n```python\n.*?```\n", re.DOTALL)


def text() -> str:
    """The page with the programs as they are now."""

    def program(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n\n```python\n{(ROOT / found[1]).read_text()}```\n"

    return MARKED.sub(program, PAGE.read_text())


if __name__ == "__main__":
    PAGE.write_text(text())
