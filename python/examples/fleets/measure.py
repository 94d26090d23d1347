"""Makes a folder of 2,000 files and runs them through the engines: `python measure.py [--models DIR] [--engines NAME,...]`.

Each engine runs in a process of its own with two workers: once as it is, and once with a worker that is killed in the middle.
Both have to give the rows of one process. Then a file that always ends its worker is given to the shortest form of the work in
each engine. Linux only.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import importlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

import corpus
import naive
import worker

import onnxkit as ox

ENGINES = ("futures", "dask", "ray", "daft", "spark")
NAIVE = ("futures", "dask", "ray", "ray_data", "daft", "daft_process", "spark")
HERE = pathlib.Path(__file__).parent
Row = dict[str, Any]


def drive(engine: str, mode: str, paths: list[str]) -> list[Row]:
    """Makes the rows in this process, which `measured` started for it."""
    if mode == "naive":
        found: list[Row] = getattr(naive, engine)(paths, worker.row_or_death)
        return found
    function = worker.row if mode == "clean" else worker.row_of_a_killed_worker
    if engine == "plain":
        return [ox.scan(path) for path in paths]
    if engine == "plain-threads":
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(ox.scan, paths))
    if engine == "one":
        return [worker.row(path) for path in paths]
    if engine == "threads":
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(worker.row, paths))
    made: list[Row] = importlib.import_module(f"with_{engine}").rows(paths, function)
    return made


def reap() -> None:
    """Waits for the processes that an engine left behind, after asking them to end."""
    for attempt in range(100):
        children = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "pid="], capture_output=True, text=True).stdout.split()
        for child in map(int, children):
            try:
                os.kill(child, signal.SIGTERM if attempt < 30 else signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.1)


class Group:
    """A control group of the system, which counts the time of all processes that are started in it, orphans included.

    Without the permission to make one, the time is that of processes that others waited for, which is too little for Ray.
    """

    def __init__(self) -> None:
        root = pathlib.Path("/sys/fs/cgroup")
        self._is_second = (root / "cgroup.controllers").exists()
        self._folder: pathlib.Path | None = (root if self._is_second else root / "cpuacct") / f"fleet-{os.getpid()}-{time.monotonic_ns()}"
        self._before = os.times()
        try:
            self._folder.mkdir()
        except OSError:
            self._folder = None

    @property
    def members(self) -> str:
        """The file that processes write their numbers to."""
        return "" if self._folder is None else os.fspath(self._folder / "cgroup.procs")

    def end(self) -> float:
        """The seconds of all processes, which have ended."""
        if self._folder is None:
            now, before = os.times(), self._before
            return now.children_user + now.children_system - before.children_user - before.children_system
        if self._is_second:
            seconds = int((self._folder / "cpu.stat").read_text().split()[1]) / 1e6
        else:
            seconds = int((self._folder / "cpuacct.usage").read_text()) / 1e9
        self._folder.rmdir()
        return seconds


def measured(engine: str, mode: str, paths: list[str], victim: str, timeout: float) -> dict[str, Any]:
    """Runs an engine in a process: its rows, its time, the time of processors, and how it ended."""
    with tempfile.TemporaryDirectory() as notes:
        request, answer = os.path.join(notes, "request"), os.path.join(notes, "answer")
        pathlib.Path(request).write_text(json.dumps([engine, mode, paths]))
        environment = {
            **os.environ, "FLEET_NOTES": notes, "FLEET_VICTIM": victim, "DO_NOT_TRACK": "true", "DAFT_PROGRESS_BAR": "0",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "PYTHONPATH": os.pathsep.join([os.fspath(HERE), *filter(None, sys.path)]),
        }
        group, start = Group(), time.monotonic()
        environment["FLEET_GROUP"] = group.members
        command = [sys.executable, __file__, "--drive", request, answer]
        result: dict[str, Any] = {"rows": [], "error": "", "is_stopped": False}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        try:
            errors = process.communicate(timeout=timeout)[1]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            errors, result["is_stopped"] = b"", True
            process.wait()
        result["seconds"] = time.monotonic() - start
        reap()
        result["processor"] = group.end()
        result["status"] = process.returncode
        if os.path.exists(answer):
            result.update(json.loads(pathlib.Path(answer).read_text()))
        elif errors.strip():
            result["error"] = errors.decode(errors="replace").strip().splitlines()[-1][:200]
        names = os.listdir(notes)
        result["workers"] = sum(name.startswith("worker-") for name in names)
        deaths = pathlib.Path(notes, "deaths")
        result["deaths"] = len(deaths.read_text()) if deaths.exists() else int("killed" in names)
        return result


def comparable(rows: list[Row]) -> dict[str, tuple[Any, ...]]:
    """What must be equal in every run: all columns but times, and of files that grow, that they are not models."""
    found: dict[str, tuple[Any, ...]] = {}
    for row in rows:
        assert row["path"] not in found, f"two rows for {row['path']}"
        left = {"seconds"} | ({"error"} if row["stage"] == "process" else set())
        values = (row["ok"],) if "growing" in row["path"] else tuple(value for name, value in row.items() if name not in left)
        found[row["path"]] = values
    return found


def grow(paths: list[str], is_over: threading.Event) -> None:
    """Writes to the files that grow until the measurement is over, and begins again when they are large."""
    while not is_over.wait(0.01):
        for path in paths:
            with open(path, "r+b") as file:
                size = file.seek(0, os.SEEK_END)
                file.write(b"\xff" * 997)
                if size > 1 << 20:
                    file.truncate(1000)


def engines(names: list[str], paths: list[str], repeats: int) -> None:
    """The table of the engines."""
    victim = paths[len(paths) // 2]
    good = [path for path in paths if os.path.basename(path).startswith(("small", "model"))]
    for name in ("plain", "plain-threads"):
        plain = min((measured(name, "clean", good, "", 900) for _ in range(repeats)), key=lambda run: float(run["processor"]))
        show(name, "good files", plain, len(plain["rows"]) == len(good), None)
    wanted: dict[str, tuple[Any, ...]] = {}
    base = 0.0
    for name in ("one", "threads", *names):
        for mode in ("clean",) if name in ("one", "threads") else ("clean", "killed"):
            runs = [measured(name, mode, paths, victim, 900) for _ in range(repeats if mode == "clean" else 1)]
            run = min(runs, key=lambda run: float(run["processor"]))
            wanted, base = (comparable(run["rows"]), run["processor"]) if name == "one" else (wanted, base)
            is_same = all(comparable(run["rows"]) == wanted for run in runs)
            show(name, mode, run, is_same and (mode == "clean" or run["deaths"] == 1), base)


def show(name: str, mode: str, run: dict[str, Any], is_same: bool, base: float | None) -> None:
    """A line of the table. `base` is the time of processors that one process needs."""
    files, added = len(run["rows"]), "" if base is None else f"{max(0.0, 1 - base / run['processor']):.0%}"
    cells = (
        name, mode, files, "same" if is_same else f"DIFFERENT {run['error']}", f"{run['seconds']:.1f}", f"{run['making']:.1f}" if files else "-",
        f"{run['processor']:.1f}", f"{files / run['processor']:.0f}", added, run["workers"], run["deaths"],
    )
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def deaths(names: list[str], paths: list[str], timeout: float) -> None:
    """What each engine does if a file ends its worker each time."""
    chosen = [path for path in paths if "small" in path][:200]
    for name in NAIVE:
        if name.split("_")[0] in names:
            run = measured(name, "naive", chosen, chosen[100], timeout)
            ending = f"stopped after {timeout:.0f} s" if run["is_stopped"] else f"status {run['status']}"
            print(f"| {name} | {len(run['rows'])} of {len(chosen)} | {ending} | {run['deaths']} | {run['seconds']:.1f} | {run['error']} |", flush=True)


LARGE_PROGRAM = """
import json, sys, time, onnxkit as ox
from pathlib import Path
def kilobytes(name):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
path, small, isolate = sys.argv[1], sys.argv[2], sys.argv[3] == "isolate"
options = {"isolate": True, "memory": 400 << 20} if isolate else {}
ox.scan(small, **options)
before, times = kilobytes("VmHWM"), []
for _ in range(9):
    start = time.perf_counter()
    row = ox.scan(path, **options)
    times.append(time.perf_counter() - start)
print(json.dumps([row, times, kilobytes("VmHWM"), kilobytes("VmHWM") - before]))
"""


def large(folder: str) -> None:
    """The table of files of 20 GB, which are holes: a model, one that is cut off, and others that are not models."""
    names = ("model", "cut", "zeros", "noise")
    paths = {name: os.path.join(folder, f"{name}.onnx") for name in names}
    for name in ("model", "cut"):
        corpus.large(paths[name], 20 << 30)
    os.truncate(paths["cut"], 19 << 30)
    for name, start in (("zeros", b""), ("noise", os.urandom(1 << 16))):
        pathlib.Path(paths[name]).write_bytes(start)
        os.truncate(paths[name], 20 << 30)
    small = os.path.join(folder, "small.onnx")
    pathlib.Path(small).write_bytes(corpus.small_model(1))
    for name in names:
        for how in ("", "isolate"):
            command = [sys.executable, "-c", LARGE_PROGRAM, paths[name], small, how]
            row, times, peak, growth = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            ending = "ok" if row["ok"] else f"{row['stage']} {row['error_code']}"
            first, middle = times[0] * 1000, sorted(times)[len(times) // 2] * 1000
            print(f"| {name} {how} | {ending} | {row['bytes_read']} | {first:.1f} | {middle:.1f} | {peak} | {growth} |", flush=True)


def main() -> None:
    """Reads the arguments, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", help="a folder of models that are part of the files")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--repeats", type=int, default=1, help="runs of each kind, of which the one that takes least counts")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for an engine with a file that ends its worker")
    parser.add_argument("--only", choices=("rows", "deaths", "large"))
    parser.add_argument("--drive", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        if os.environ["FLEET_GROUP"]:
            pathlib.Path(os.environ["FLEET_GROUP"]).write_text(str(os.getpid()))
        start = time.monotonic()
        rows = drive(*json.loads(pathlib.Path(options.drive[0]).read_text()))
        pathlib.Path(options.drive[1]).write_text(json.dumps({"rows": rows, "making": time.monotonic() - start}))
        return
    # Processes that an engine leaves behind become children of this one, which ends them.
    ctypes.CDLL(None).prctl(36, 1)
    folder = tempfile.mkdtemp(prefix="fleet-")
    is_over = threading.Event()
    try:
        if options.only in (None, "large"):
            print("| file of 20 GB | end | bytes read | first ms | median ms | peak kB | growth kB |")
            large(folder)
        if options.only == "large":
            return
        paths = corpus.make(os.path.join(folder, "files"), options.models)
        growing = [path for path in paths if "growing" in path]
        threading.Thread(target=grow, args=(growing, is_over), daemon=True).start()
        names = options.engines.split(",")
        if options.only in (None, "rows"):
            print("| engine | run | rows | set | s | s without start | processor s | files per processor s | added | workers | killed |")
            engines(names, paths, options.repeats)
        if options.only in (None, "deaths"):
            print("| engine | rows | end | deaths | s | error |")
            deaths(names, paths, options.timeout)
    finally:
        is_over.set()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
