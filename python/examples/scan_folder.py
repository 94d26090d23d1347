"""A row for every file of a folder, as lines of JSON: `python scan_folder.py FOLDER ROWS.jsonl`.

A further run goes on where the last one ended, also if that was killed. Each file is read by a separate process.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import sys
from typing import Any

import onnxkit as ox


def known_rows(rows: pathlib.Path) -> list[dict[str, Any]]:
    """The rows of earlier runs. A line that was not finished is removed."""
    if not rows.exists():
        return []
    lines = rows.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        os.truncate(rows, rows.stat().st_size - len(lines.pop()))
    return [json.loads(line) for line in lines]


def scan_folder(folder: str, rows: str) -> list[dict[str, Any]]:
    """The rows of all files in a folder and the folders in it."""
    out = pathlib.Path(rows)
    found = known_rows(out)
    known = {row["path"] for row in found}
    # However the folder is written, its files have one path.
    root = pathlib.Path(folder).resolve()
    paths = [os.fspath(path) for path in sorted(root.rglob("*")) if not path.is_dir()]
    # In a row, the bytes of a name that are not UTF-8 are escapes.
    left = [path for path in paths if os.fsencode(path).decode(errors="backslashreplace") not in known]
    with out.open("a") as file:
        for _, row in ox.scan_iter(left, isolate=True, timeout=300):
            file.write(json.dumps(row) + "\n")
            file.flush()
            found.append(row)
    return found


if __name__ == "__main__":
    reasons = collections.Counter((row["stage"], row["error"] or row["finding"]) for row in scan_folder(*sys.argv[1:]) if not row["ok"])
    for (stage, reason), count in reasons.most_common():
        print(count, stage, reason)
