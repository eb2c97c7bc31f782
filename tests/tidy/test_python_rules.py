"""The rules of the Python package find violations."""

import pytest
import source_tree
import test_tidy

QUESTION = '"""What is it?"""\n'
SOUND = {"__init__.py": "", "boot.py": "from robustrun._boot import run\n",
         "_boot/__init__.py": QUESTION, "_progress/__init__.py": QUESTION,
         "_boot/run.py": "def f():\n    from .._progress import progress\n",
         "_progress/progress.py": "import os\n", "_progress/steps.py": "from .progress import a\n"}


@pytest.fixture
def violations(monkeypatch):
    def find(rule, **changed):
        tree = {"python/robustrun/" + name: text for name, text in {**SOUND, **changed}.items()
                if text is not None}
        monkeypatch.setattr(source_tree, "files", lambda: sorted(tree))
        for module in (source_tree, test_tidy):
            monkeypatch.setattr(module, "text", tree.__getitem__)
        return [(name[len("python/robustrun/"):], detail) for name, detail in rule()]

    return find


RULES = (test_tidy.rule_python_layers, test_tidy.rule_python_circles,
         test_tidy.rule_python_packages)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_sound_package_has_no_violations(violations, rule):
    assert violations(rule) == []


@pytest.mark.parametrize("text", [
    "from .._boot import run", "from .._boot.run import f", "import robustrun._boot.run",
    "def f():\n    from robustrun._boot import run", "from .. import boot"])
def test_an_import_against_the_direction_is_found(violations, text):
    found = violations(test_tidy.rule_python_layers, **{"_progress/steps.py": text})
    assert [name for name, _ in found] == ["_progress/steps.py"]


def test_a_sub_package_that_the_table_does_not_have_is_found(violations):
    found = violations(test_tidy.rule_python_layers, **{"_other/one.py": "import os"})
    assert [name for name, _ in found] == ["_other/one.py"]


@pytest.mark.parametrize("text", ["from . import steps", "def f():\n    from .steps import b"])
def test_a_circle_is_found_in_both_its_modules(violations, text):
    found = violations(test_tidy.rule_python_circles, **{"_progress/progress.py": text})
    assert [name for name, _ in found] == ["_progress/progress.py", "_progress/steps.py"]


@pytest.mark.parametrize("text", [None, "", "import os\n", '"""Two\nlines."""\n'])
def test_a_sub_package_without_its_question_is_found(violations, text):
    found = violations(test_tidy.rule_python_packages, **{"_boot/__init__.py": text})
    assert [name for name, _ in found] == ["_boot/__init__.py"]
