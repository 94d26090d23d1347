"""Rows of separate processes, which a file may end.

The process gets a line of JSON for each file, and answers with the row. If the bytes are those of an object, which may be an
open connection that another process has not, it asks for ranges before, so that all of the work is done there.

A process serves many files, because starting one takes much longer than most files. A file that ends a process that served
others before is given to a new one: only what happens there is its row.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading

from ._scan import described, is_path, row_of

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    from ._scan import AnySource

# The modules of the process are those of this one, wherever they are.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from onnxkit._isolation import serve; serve(int(sys.argv[2]))"
# What the process may take in addition to `timeout`, to start and to see that it should stop.
_GRACE = 5.0


class _Process:
    """A process that makes rows, with the limit of its memory in bytes, or 0."""

    def __init__(self, memory: int) -> None:
        import tempfile

        self.memory, self.served, self.is_late = memory, 0, False
        # Whether a source is asked for bytes, and whether it was when the time was over.
        self._is_reading = self.was_reading = False
        self._errors = tempfile.TemporaryFile()
        try:
            arguments = [sys.executable, "-P", "-c", _PROGRAM, json.dumps([entry for entry in sys.path if isinstance(entry, str)]), str(memory)]
            # A second arena of the allocator would take 64 MiB of the address space.
            environment = {**os.environ, "RUST_BACKTRACE": "0", "MALLOC_ARENA_MAX": "1"}
            pipe = subprocess.PIPE
            # Signals of a terminal are for the process that asks: one that ends this process, too, would be the row of its file.
            group = 0 if os.name == "posix" else None
            self._process = subprocess.Popen(
                arguments, stdin=pipe, stdout=pipe, stderr=self._errors, env=environment, process_group=group
            )
        except BaseException:
            self._errors.close()
            raise

    def row(self, request: dict[str, Any], source: Any, timeout: float | None) -> dict[str, Any] | None:
        """The row for a request; `None` if the process died, or was killed because it takes too long."""
        timer = None if timeout is None else threading.Timer(timeout + _GRACE, self._stop_late)
        if timer is not None:
            timer.start()
        try:
            answer = self._answer(json.dumps(request).encode() + b"\n")
            while answer is not None and "read" in answer:
                self._is_reading = True
                start, end = answer["read"]
                block = _block(source, start, end, request["size"])
                self._is_reading = False
                answer = self._answer(block)
            return answer
        except (OSError, ValueError):
            # The pipe of a process that died.
            return None
        finally:
            if timer is not None:
                timer.cancel()
                # It may be about to kill the process: whether it has is known when its thread has ended.
                timer.join()

    def _answer(self, message: bytes) -> dict[str, Any] | None:
        """The answer to a message; `None` if the process died."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(message)
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        self.served += 1
        return json.loads(line) if line.endswith(b"\n") else None

    def _stop_late(self) -> None:
        self.is_late, self.was_reading = True, self._is_reading
        self._process.kill()

    def end(self) -> str:
        """Ends the process, and says how it ended."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
        try:
            status = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read(1 << 16).decode(errors="replace").strip().splitlines()
        self._errors.close()
        # An exception of Python is in the last line; other messages are in the first one.
        reason = f": {lines[-1 if lines[0].startswith('Traceback') else 0]}" if lines else ""
        return f"the process ended {_status(status)}{reason}"

    def kill(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self.end()


def _status(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    import signal

    try:
        return f"by {signal.Signals(-status).name}"
    except ValueError:
        return f"by signal {-status}"


class _Idle:
    """Processes that wait for files."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.processes: list[_Process] = []

    def take(self, memory: int) -> _Process | None:
        """A process with this limit, if there is one."""
        with self.lock:
            for index, process in enumerate(self.processes):
                if process.memory == memory:
                    return self.processes.pop(index)
        return None

    def put(self, process: _Process) -> None:
        """Keeps a process for further files, or ends it if there are enough."""
        with self.lock:
            if len(self.processes) < 4 * (os.cpu_count() or 1):
                self.processes.append(process)
                return
        process.end()

    def end(self) -> None:
        """Ends all of them."""
        with self.lock:
            processes, self.processes = self.processes, []
        for process in processes:
            process.end()

    def forget(self) -> None:
        """Leaves them to the parent: a fork cannot share their pipes."""
        self.lock, self.processes = threading.Lock(), []


_idle = _Idle()
atexit.register(_idle.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.forget)


def isolated(path: AnySource, name: str, size: int | None, options: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, as a separate process makes it. `size` is that of a source."""
    work = {"checks": options["checks"], "limits": options["limits"], "timeout": options["timeout"]}
    request: dict[str, Any] = {"name": name, "size": size, **work}
    if size is None:
        try:
            folder = os.getcwd()
        except OSError:
            # It was removed, which does not matter to an absolute path.
            if not os.path.isabs(path):  # type: ignore[arg-type]
                raise
            folder = os.sep
        request = {"path": os.fsdecode(path), "folder": folder, **request}  # type: ignore[arg-type]
    row = _row(request, path, options["timeout"], options["memory"] or 0)
    # It is shown as the caller wrote it.
    row.pop("path", None)
    return row


def _row(request: dict[str, Any], source: Any, timeout: float | None, memory: int) -> dict[str, Any]:
    """The row of the first process that decides: one that gives a row, or a new one that dies."""
    is_new = False
    while True:
        try:
            process = None if is_new else _idle.take(memory)
            process = process or _Process(memory)
        except Exception as error:
            return {"stage": "process", "error_code": "ProcessError", "error": f"no process could be started: {error}"}
        had_served = process.served > 0
        try:
            row = process.row(request, source, timeout)
        except BaseException:
            # The row of this request must not become that of the next one.
            process.kill()
            raise
        if row is not None:
            # A process that was killed just after its row serves no other file.
            if process.is_late:
                process.kill()
            else:
                _idle.put(process)
            if had_served and "memory" in (row["error"] or ""):
                # Files before it may have left too little.
                is_new = True
                continue
            return row
        ended = process.end()
        if process.is_late and process.was_reading:
            return {"stage": "read", "error_code": "Stopped", "error": "the time for the file was exceeded"}
        if process.is_late:
            return {"stage": "process", "error_code": "Stopped", "error": f"the process did not end in {timeout} s"}
        if not had_served:
            return {"stage": "process", "error_code": "ProcessError", "error": ended}
        is_new = True


def _block(source: Any, start: int, end: int, size: int) -> bytes:
    """The bytes of a range as the process gets them, or why there are none."""
    from ._ranges import block_of

    try:
        data = block_of(source, start, end, size)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        return json.dumps({"error": described(error)}).encode() + b"\n"
    return json.dumps({"length": len(data)}).encode() + b"\n" + data


class _Remote:
    """A source of the process that asks for rows."""

    def __init__(self, size: int, name: str, rows: IO[str]) -> None:
        self.size, self.path, self._rows = size, name, rows

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a range."""
        print(json.dumps({"read": (start, end)}), file=self._rows, flush=True)
        answer = json.loads(sys.stdin.buffer.readline() or "null")
        data = sys.stdin.buffer.read(answer["length"]) if answer and "length" in answer else b""
        if answer is None or len(data) < answer.get("length", 0):
            # The process that asks is gone.
            os._exit(0)
        if "error" in answer:
            code, message = answer["error"]
            raise type(code, (Exception,), {})(message)
        return data


def _end_with_caller() -> None:
    """Ends the process when the one that asks is gone, however that ended: it does not wait for the file that is being read."""
    import select

    if hasattr(select, "poll"):
        requests = select.poll()
        requests.register(sys.stdin, 0)
        # Nothing but the end of the pipe is waited for.
        requests.poll()
        os._exit(0)


def serve(memory: int) -> None:
    """Makes a row for each line of standard input: the program of the process."""
    import signal

    # The process that asks decides what Ctrl-C means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if memory:
        import resource

        # The limit that can be raised stays, for the maps of large files.
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (memory if most == resource.RLIM_INFINITY else min(memory, most), most))
    threading.Thread(target=_end_with_caller, daemon=True).start()
    rows, sys.stdout = sys.stdout, sys.stderr
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        options = {"isolate": False, **request}
        if request["size"] is None:
            os.chdir(request["folder"])
            row = row_of(request["path"], options, is_alone=True)
        else:
            row = row_of(_Remote(request["size"], request["name"], rows), options, is_alone=True)
        print(json.dumps(row), file=rows, flush=True)
