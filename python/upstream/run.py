"""Runs the reference's own tests on the native module of `onnx` and on `onnxkit.compat`, and compares the outcomes.

    python python/upstream/run.py --work target/upstream

The tests come from the source package of `onnx`, which pip downloads; nothing of them is kept in this repository. Without a network,
`--sources` names the source package, and pip reads the other packages from the folder that `PIP_FIND_LINKS` names. The tests run in
a separate environment, in which the package `onnxkit` of this interpreter is visible, or that of `--package`. The table has the
passed tests of each file. Tests of inference that fail run again with a comparison that accepts more specific types. Differences
are compared with `expected.toml`, which has a reason for each of them. The exit status is 1 if a test fails that is not listed, or
passes although it is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

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
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], timeout=TIMEOUT, check=False)
        if done.returncode:
            raise SystemExit(
                "the packages cannot be installed; without a network, download them with `pip download` where there is one, and "
                "set PIP_NO_INDEX=1 and PIP_FIND_LINKS to their folder"
            )
        marker.write_text(" ".join(PACKAGES))
    return python


def tests(work: Path, python: Path, sources: Path | None) -> Path:
    """The folder of the tests, which are taken from the source package once."""
    folder = work / f"tests-{ONNX}"
    if folder.exists() and sources is None:
        return folder
    unpacked = work / "download"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(parents=True)
    problem = ""
    if sources is None:
        problem = downloaded(unpacked, python)
    elif sources.is_file():
        with tarfile.open(sources) as archive:
            archive.extractall(unpacked, filter="data")
    found = list((sources if sources is not None and sources.is_dir() else unpacked).glob("**/tests/python"))
    if not found:
        raise SystemExit(
            f"{problem}the sources of onnx {ONNX} are missing; without a network, give the source package onnx-{ONNX}.tar.gz of an index "
            f"of packages, or the folder with its files, as `--sources PATH`"
        )
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(found[0], folder)
    shutil.rmtree(unpacked)
    return folder


def downloaded(folder: Path, python: Path) -> str:
    """Lets pip unpack the source package in a folder, and returns what pip said.

    pip fails to build the metadata, for which nothing is installed. `--no-clean` keeps the files.
    """
    print(f"downloading the source package of onnx {ONNX}", flush=True)
    options = ["--no-binary", ":all:", "--no-deps", "--no-build-isolation", "--no-clean"]
    done = subprocess.run(
        [python, "-m", "pip", "download", f"onnx=={ONNX}", *options], cwd=folder, env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )
    return f"{done.stdout}{done.stderr}\n"


class Runner:
    """Runs tests on a core: `reference` or `onnxkit`."""

    def __init__(self, work: Path, package: Path) -> None:
        self.work, self.package, self.python = work, work / "package", environment(work)
        # Only this package is visible, not what is installed next to it.
        self.package.mkdir(exist_ok=True)
        link = self.package / "onnxkit"
        link.unlink(missing_ok=True)
        link.symlink_to(package / "onnxkit", target_is_directory=True)

    def run(self, core: str, folder: Path, names: list[str], *, refined: bool = False) -> Outcomes:
        """The outcomes of tests by their names."""
        outcomes, home = self.work / f"outcomes-{core}.json", self.work / "home"
        outcomes.unlink(missing_ok=True)
        home.mkdir(exist_ok=True)
        environ = {
            **os.environ, "PYTHONPATH": f"{self.package}{os.pathsep}{HERE}", "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1",
            "UPSTREAM_CORE": core, "UPSTREAM_OUTCOMES": str(outcomes), "UPSTREAM_SLOW": SLOW,
            "UPSTREAM_REFINED": "1" if refined else "",
        }
        options = ["-q", "-p", "plugin", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore"]
        log = self.work / f"log-{core}{'-refined' if refined else ''}.txt"
        with log.open("w") as output:
            subprocess.run(
                [self.python, "-m", "pytest", "--rootdir", folder, *options, *names], cwd=folder, env=environ, stdout=output,
                stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False,
            )
        if not outcomes.exists():
            raise SystemExit(f"the tests did not run on {core}; see {log}")
        return {str(name): str(outcome) for name, outcome in json.loads(outcomes.read_text()).items()}


class Expected:
    """The committed differences: tests, by name or by the beginning of it before `*`, with their reasons."""

    def __init__(self, path: Path) -> None:
        self.entries = tomllib.loads(path.read_text())["difference"]
        self.used: set[str] = set()

    def of(self, test: str) -> tuple[str, str] | None:
        """The kind of a difference, and why a test is expected to fail."""
        for entry in self.entries:
            for pattern in entry["tests"]:
                if test == pattern or (pattern.endswith("*") and test.startswith(pattern[:-1])):
                    self.used.add(pattern)
                    return entry["kind"], entry["reason"]
        return None

    def unused(self, names: set[str]) -> list[str]:
        """The patterns for some of these tests, none of which fails."""
        patterns = {pattern for entry in self.entries for pattern in entry["tests"]} - self.used
        return sorted(pattern for pattern in patterns if any(name.startswith(pattern.rstrip("*")) for name in names))


def table(title: str, passed: list[str], lost: list[str]) -> None:
    """Prints the passed tests of each file."""
    files = Counter(name.split("::")[0] for name in passed)
    failed = Counter(name.split("::")[0] for name in lost)
    width = max(map(len, files), default=20)
    print(f"\n{title}\n{'file':{width}}  reference  onnxkit  differences")
    for file, count in sorted(files.items()):
        print(f"{file:{width}}  {count:9}  {count - failed[file]:7}  {failed[file]:11}")
    print(f"{'total':{width}}  {len(passed):9}  {len(passed) - len(lost):7}  {len(lost):11}  {share(passed, len(lost))}")


def share(passed: list[str], lost: int) -> str:
    """The percentage of tests that pass."""
    return f"{100 * (1 - lost / max(len(passed), 1)):.2f} %"


class Row(NamedTuple):
    """The result of a part of the tests.

    It has how many the reference passes, how many of these fail here, how many of these failures have a reason, and what is unexpected:
    the other failures, and listed ones that pass.
    """

    part: str
    cases: int
    failures: int
    explained: int
    unexpected: int
    seconds: float


def summary(rows: list[Row]) -> None:
    """Prints a table with the columns that all suites have."""
    columns = ("suite", "cases of", "cases", "failures", "with a reason", "without", "seconds")
    print(f"\n{columns[0]:9} {columns[1]:14}" + "".join(f"{name:>15}" for name in columns[2:]))
    for row in rows:
        numbers = (row.cases, row.failures, row.explained, row.unexpected, f"{row.seconds:.1f}")
        print(f"{'upstream':9} {row.part:14}" + "".join(f"{number:>15}" for number in numbers))


def compared(title: str, reference: Outcomes, ours: Outcomes, refined: Outcomes, expected: Expected) -> tuple[int, int, int, int]:
    """Prints the table and the differences, and returns the numbers of a row."""
    passed = [name for name, outcome in reference.items() if outcome in PASSED]
    lost = [name for name in passed if ours.get(name, "missing") not in PASSED]
    stronger = {name for name in lost if refined.get(name) in PASSED}
    table(title, passed, lost)
    if stronger:
        print(f"{len(stronger)} of these pass if more specific types are accepted: {share(passed, len(lost) - len(stronger))}")
    unexpected = 0
    for name in lost:
        kind, reason = expected.of(name) or ("UNEXPECTED", ours.get(name, "missing"))
        if (kind == "more") != (name in stronger):
            kind, reason = "UNEXPECTED", f"the types are {'' if name in stronger else 'not '}more specific"
        unexpected += kind == "UNEXPECTED"
        print(f"  {name}\n      {kind}: {reason}")
    explained = len(lost) - unexpected
    gained = [name for name, outcome in reference.items() if outcome == "failed" and ours.get(name) in PASSED]
    if gained:
        print(f"  {len(gained)} tests fail on the reference and pass on onnxkit:")
        print("".join(f"      {name}\n" for name in gained), end="")
    for pattern in expected.unused(set(reference)):
        unexpected += 1
        print(f"  {pattern}\n      UNEXPECTED: it is listed, and passes")
    return len(passed), len(lost), explained, unexpected


def options() -> argparse.Namespace:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("target/upstream"), help="folder for the environment and the tests")
    parser.add_argument("--package", type=Path, help="folder that holds the package onnxkit")
    parser.add_argument("--sources", type=Path, help=f"the source package onnx-{ONNX}.tar.gz, or the folder with its files")
    parser.add_argument("--only", choices=["tests", "backend"], help="a part of the tests")
    parser.add_argument("names", nargs="*", help="files of tests; all if there are none")
    return parser.parse_args()


def main() -> int:
    """Runs the tests, and returns the exit status."""
    args = options()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    package = args.package
    if package is None:
        import onnxkit

        package = Path(onnxkit.__file__).parent.parent
    runner = Runner(work, package.resolve())
    expected = Expected(HERE / "expected.toml")
    rows = []
    if args.only != "backend":
        start = time.monotonic()
        folder = tests(work, runner.python, args.sources)
        names = args.names or [
            str(path.relative_to(folder)) for path in sorted(folder.glob("**/*_test.py")) if not path.name.startswith("backend")
        ]
        reference, ours = (runner.run(core, folder, names) for core in ("reference", "onnxkit"))
        again = sorted({name.split("::")[0] for name, outcome in ours.items() if outcome == "failed" and "inference" in name})
        refined = runner.run("onnxkit", folder, again, refined=True) if again else {}
        numbers = compared(f"Tests of onnx {ONNX}", reference, ours, refined, expected)
        rows.append(Row("tests", *numbers, time.monotonic() - start))
    if args.only != "tests" and not args.names:
        start = time.monotonic()
        reference, ours = (runner.run(f"{core}-backend", HERE, ["backend_suite.py"]) for core in ("reference", "onnxkit"))
        numbers = compared("Backend tests of the evaluators", reference, ours, {}, expected)
        rows.append(Row("BackendTest", *numbers, time.monotonic() - start))
    summary(rows)
    return 1 if any(row.unexpected for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
