"""A page of docs/ is read as its author meant it, or refused."""

from __future__ import annotations

import pytest

from page import File, PageError, Script, matches, rows, steps


def block(words: str, text: str) -> str:
    return f"```{words}\n{text}```\n"


def test_files_and_scripts_come_in_the_order_of_the_page() -> None:
    page = "# Title\n" + block("yaml", "# a.yaml\nkind: A\n") + "words\n" + block("sh", "one\ntwo\n") + block("toml", "x = 1\n")
    assert steps(page) == [File(2, "a.yaml", "# a.yaml\nkind: A\n"), Script(7, "one\ntwo\n")]


def test_a_script_has_what_it_prints_and_its_modes() -> None:
    page = block("sh node fails since=1.36", "one\n") + "It says:\n\n" + block("text", "1\n")
    assert steps(page) == [Script(1, "one\n", on_nodes=True, fails=True, since="1.36", prints="1\n")]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(block("", "one\n"), id="no language"),
        pytest.param(block("bash", "one\n"), id="a shell of another name"),
        pytest.param(block("sh sometimes", "one\n"), id="an unknown mode"),
        pytest.param(block("yaml", "kind: A\n"), id="YAML without a name"),
        pytest.param(block("text", "1\n"), id="output of nothing"),
        pytest.param(block("sh", "one\n") + block("text", "1\n") + block("text", "2\n"), id="two outputs"),
    ],
)
def test_what_would_not_be_run_is_refused(page: str) -> None:
    with pytest.raises(PageError, match=r"line \d+:"):
        steps(page)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("a b\n", "a    b\n"),
        ("GPU-… ok\n", "GPU-12 ok\n"),
        ("first\n…\nlast\n", "first\nlast\n"),
        ("first\n…\nlast\n", "first\n1\n2\nlast\n"),
        ("a.b\n", "a.b"),
    ],
)
def test_an_output_matches(expected: str, printed: str) -> None:
    assert matches(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [("a\n", "a\nb\n"), ("a\nb\n", "a\n"), ("GPU-… ok\n", "GPU-12\nok\n"), ("a.b\n", "axb\n"), ("", "a\n"), ("a\n…\n", "b\n")],
)
def test_an_output_does_not_match(expected: str, printed: str) -> None:
    assert not matches(expected, printed)


def test_a_table_is_found_by_its_header_and_ends_where_it_ends() -> None:
    page = "| A | B |\n|---|---|\n| `x` | |\n| y | z |\n\n| A | C |\n|---|---|\n| 1 | 2 |\n"
    assert rows(page, "A", "B") == [("x", ""), ("y", "z")]
    with pytest.raises(PageError, match="0 tables"):
        rows(page, "B", "A")
