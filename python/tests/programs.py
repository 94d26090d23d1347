"""The programs of `python/examples` and `python/tools` as modules, and the pages of `docs` as doctests."""

import doctest
import importlib.util
import pathlib
import sys

PYTHON = pathlib.Path(__file__).parents[1]
DOCS = PYTHON.parent / "docs"


def program(name, folder=PYTHON / "examples"):
    """A program as a module, by its path without the ending."""
    spec = importlib.util.spec_from_file_location(pathlib.PurePath(name).name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def operators(model):
    """The operators of a model, in its order."""
    return [node.op_type for node in model.nodes()]


def run_page(name):
    """Runs the examples of a page in one session. Returns how many there are and how many failed."""
    path = DOCS / name
    # The fences around code are not output.
    text = "\n".join("" if line.startswith("```") else line for line in path.read_text().split("\n"))
    result = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, {}, name, str(path), 0))
    return result.attempted, result.failed


if __name__ == "__main__":
    attempted, failed = run_page(sys.argv[1])
    print(attempted, "examples,", failed, "failed")
    sys.exit(failed > 0)
