"""Runs the reference's own tests on the native module of `onnx` and on `onnxkit.compat`, and compares the outcomes.

    python python/upstream/run.py --work target/upstream

The tests come from the source package of `onnx`, which pip downloads; nothing of them is kept in this repository. They run in a
separate environment, in which the package `onnxkit` of this interpreter is visible, or that of `--package`. The table has the
passed tests of each file. Differences are compared with `expected.toml`, which has a reason for each of them. The exit status is 1
if a test fails that is not listed, or passes although it is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ONNX = "1.23.2"
PACKAGES = [f"onnx=={ONNX}", "pytest>=8", "numpy>=2", "ml_dtypes>=0.5.4", "Pillow>=12.2", "packaging"]
# Runs of these models take the reference minutes each; their expected outputs come with them.
SLOW = "bvlc_alexnet|densenet121|inception_v1|inception_v2|resnet50|shufflenet|squeezenet|vgg19|zfnet512"
TIMEOUT = 3600
PASSED = ("passed", "xpassed")

Outcomes = dict[str, str]


def environment(work: Path) -> Path:
    """The interpreter of an environment with the packages, which is made once."""
    python, marker = work / "venv/bin/python", work / "venv/installed"
    if not (marker.exists() and marker.read_text() == " ".join(PACKAGES)):
        print(f"making an environment with {', '.join(PACKAGES)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", work / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, timeout=TIMEOUT)
        marker.write_text(" ".join(PACKAGES))
    return python


def tests(work: Path, python: Path) -> Path:
    """The folder of the tests, which are taken from the source package once."""
    folder = work / f"tests-{ONNX}"
    if not folder.exists():
        download = work / "download"
        shutil.rmtree(download, ignore_errors=True)
        download.mkdir(parents=True)
        print(f"downloading the source package of onnx {ONNX}", flush=True)
        # pip unpacks the package and fails to build its metadata, for which nothing is installed. `--no-clean` keeps the files.
        command = ["-m", "pip", "download", f"onnx=={ONNX}", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "--no-clean"]
        environ = {**os.environ, "TMPDIR": str(download)}
        done = subprocess.run(
            [python, *command], cwd=download, env=environ, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        found = list(download.glob("**/tests/python"))
        if not found:
            raise SystemExit(f"the source package of onnx {ONNX} has no tests:\n{done.stdout}{done.stderr}")
        shutil.copytree(found[0], folder)
        shutil.rmtree(download)
    return folder


def run(python: Path, work: Path, package: Path, core: str, folder: Path, names: list[str]) -> Outcomes:
    """The outcomes of tests on a core, by their names: `reference` or `onnxkit`."""
    outcomes = work / f"outcomes-{core}.json"
    outcomes.unlink(missing_ok=True)
    home = work / "home"
    home.mkdir(exist_ok=True)
    environ = {
        **os.environ, "PYTHONPATH": f"{package}{os.pathsep}{HERE}", "UPSTREAM_CORE": core, "UPSTREAM_OUTCOMES": str(outcomes),
        "HOME": str(home), "UPSTREAM_SLOW": SLOW, "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [str(python), "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore", *names]
    with (work / f"log-{core}.txt").open("w") as log:
        subprocess.run(command, cwd=folder, env=environ, stdout=log, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    if not outcomes.exists():
        raise SystemExit(f"the tests did not run on {core}; see {log.name}")
    return {str(name): str(outcome) for name, outcome in json.loads(outcomes.read_text()).items()}


class Expected:
    """The committed differences: tests, by name or by the beginning of it before `*`, with their reasons."""

    def __init__(self, path: Path) -> None:
        self.entries = tomllib.loads(path.read_text())["difference"]
        self.used: set[int] = set()

    def reason(self, test: str) -> str | None:
        """Why a test is expected to fail."""
        for index, entry in enumerate(self.entries):
            for pattern in entry["tests"]:
                if test == pattern or (pattern.endswith("*") and test.startswith(pattern[:-1])):
                    self.used.add(index)
                    return f"{entry['kind']}: {entry['reason']}"
        return None

    def unused(self, names: set[str]) -> list[str]:
        """The patterns about these tests that no failed test has."""
        found = []
        for index, entry in enumerate(self.entries):
            about = [pattern for pattern in entry["tests"] if any(name.startswith(pattern.rstrip("*")) for name in names)]
            if index not in self.used and about:
                found += about
        return found


def compared(title: str, reference: Outcomes, ours: Outcomes, expected: Expected) -> int:
    """Prints the table and the differences, and returns the number of unexpected ones."""
    passed = [name for name, outcome in reference.items() if outcome in PASSED]
    lost = [name for name in passed if ours.get(name, "missing") not in PASSED]
    files = Counter(name.split("::")[0] for name in passed)
    failed = Counter(name.split("::")[0] for name in lost)
    width = max(map(len, files), default=20)
    print(f"\n{title}\n{'file':{width}}  reference  onnxkit  differences")
    for file, count in sorted(files.items()):
        print(f"{file:{width}}  {count:9}  {count - failed[file]:7}  {failed[file]:11}")
    share = 100 * (1 - len(lost) / len(passed)) if passed else 0.0
    print(f"{'total':{width}}  {len(passed):9}  {len(passed) - len(lost):7}  {len(lost):11}  {share:.2f} %")
    unexpected = 0
    for name in lost:
        reason = expected.reason(name)
        unexpected += reason is None
        print(f"  {name}\n      {reason or 'UNEXPECTED: ' + ours.get(name, 'missing')}")
    gained = [name for name, outcome in reference.items() if outcome == "failed" and ours.get(name) in PASSED]
    if gained:
        print(f"  {len(gained)} tests fail on the reference and pass on onnxkit:")
        print("".join(f"      {name}\n" for name in gained), end="")
    for pattern in expected.unused(set(reference)):
        unexpected += 1
        print(f"  UNEXPECTED: {pattern} is in expected.toml, and passes")
    return unexpected


def main() -> int:
    """Runs the tests, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("target/upstream"), help="folder for the environment and the tests")
    parser.add_argument("--package", type=Path, help="folder that holds the package onnxkit")
    parser.add_argument("--only", choices=["tests", "backend"], help="a part of the tests")
    parser.add_argument("names", nargs="*", help="files of tests; all if there are none")
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    package = args.package
    if package is None:
        import onnxkit

        package = Path(onnxkit.__file__).parent.parent
    python = environment(work)
    expected = Expected(HERE / "expected.toml")
    unexpected = 0
    if args.only != "backend":
        folder = tests(work, python)
        names = args.names or [
            str(path.relative_to(folder)) for path in sorted(folder.glob("**/*_test.py")) if not path.name.startswith("backend")
        ]
        reference, ours = (run(python, work, package, core, folder, names) for core in ("reference", "onnxkit"))
        unexpected += compared(f"Tests of onnx {ONNX}", reference, ours, expected)
    if args.only != "tests" and not args.names:
        reference, ours = (run(python, work, package, f"{core}-backend", HERE, ["backend_suite.py"]) for core in ("reference", "onnxkit"))
        unexpected += compared("Backend tests: the evaluators", reference, ours, expected)
    print(f"\n{unexpected} unexpected")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
