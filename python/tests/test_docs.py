"""The examples of the docstrings and of the guide, and the files that are generated."""

import doctest
import importlib

import pytest
from programs import DOCS, PYTHON, program, run_page


@pytest.mark.parametrize("name", ["onnxkit", "onnxkit._api", "onnxkit._formats", "onnxkit._passes", "onnxkit._scan", "onnxkit.backend"])
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0


def test_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    attempted, failed = run_page("python.md")
    assert attempted > 70 and failed == 0


def test_the_stub_of_operators_is_current():
    stub = program("ops_stub", PYTHON / "tools")
    assert stub.STUB.read_text() == stub.text()


def test_the_page_of_fleets_has_the_programs_as_they_are():
    page = program("fleets_page", PYTHON / "tools")
    assert page.PAGE == DOCS / "fleets.md" and page.PAGE.read_text() == page.text()
    recipes = (PYTHON / "examples" / "fleets").glob("with_*.py")
    assert {found[1] for found in page.MARKED.finditer(page.text())} == {f"python/examples/fleets/{path.name}" for path in recipes}
