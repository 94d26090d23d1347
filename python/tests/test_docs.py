"""The examples of the docstrings and of the guide."""

import doctest
import importlib
import os
import pathlib

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


@pytest.mark.parametrize("name", ["onnxkit", "onnxkit._api", "onnxkit._passes", "onnxkit._scan"])
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0


@pytest.mark.skipif(not DOCS.exists(), reason="the guide is in the repository")
def test_guide(tmp_path, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    # The fences around code are not output.
    text = "\n".join("" if line.startswith("```") else line for line in DOCS.read_text().split("\n"))
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", os.fspath(DOCS), 0)
    result = doctest.DocTestRunner().run(test)
    assert result.attempted > 20 and result.failed == 0


TOOLS = pathlib.Path(__file__).parents[1] / "tools"


@pytest.mark.skipif(not TOOLS.exists(), reason="the generator is in the repository")
def test_the_stub_of_operators_is_current(monkeypatch):
    monkeypatch.syspath_prepend(os.fspath(TOOLS))
    stub = importlib.import_module("ops_stub")
    assert stub.STUB.read_text() == stub.text()
