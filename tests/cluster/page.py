"""A page of docs/ as something to run: its code blocks in the order of the page, and its tables.

    ```yaml          the first line is a comment, `# NAME.yaml`: a file of that name, in the folder where commands run
    ```sh            a script for bash, which must succeed
    ```sh node       the same, on every node
    ```sh fails      the same, but it must fail
    ```sh since=1.36 the same, left out on older Kubernetes
    ```text          what the script before it prints; … is anything in a line, a line of only … any lines
    ```toml          only shown

There is nothing else, so that no command of a page is left out by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_BLOCK = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (?P<name>[a-z0-9-]+\.yaml)\n")
_ANYTHING = "…"


class PageError(Exception):
    """The page breaks the rules above."""


@dataclass(frozen=True)
class File:
    """A manifest or values that the page shows."""

    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Script:
    """Commands that the page gives."""

    line: int
    text: str
    on_nodes: bool = False
    fails: bool = False
    since: str | None = None
    prints: str | None = None  # None: the page does not say.


def steps(page: str) -> list[File | Script]:
    """Everything to do, in order."""
    found: list[File | Script] = []
    for line, words, text in _blocks(page):
        match words:
            case ["sh", *modes]:
                found.append(_script(line, modes, text))
            case ["text"]:
                found.append(_with_output(found.pop() if found else None, line, text))
            case ["yaml"]:
                found.append(_file(line, text))
            case ["toml"]:
                pass
            case _:
                raise PageError(f"line {line}: what is to be done with a block of {' '.join(words) or 'no language'}?")
    return found


def rows(page: str, *header: str) -> list[tuple[str, ...]]:
    """The cells of the one table with this header, both without the marks of code."""
    lines = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in _table_lines(page)]
    starts = [index for index, cells in enumerate(lines) if cells == list(header)]
    if len(starts) != 1:
        raise PageError(f"{len(starts)} tables have the header {header}")
    body = []
    for cells in lines[starts[0] + 2 :]:
        if len(cells) != len(header):
            break
        body.append(tuple(cells))
    return body


def matches(expected: str, printed: str) -> bool:
    """Whether a program printed what the page shows. How many blanks are between words does not matter."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == _ANYTHING:
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in _tidy(line).split(_ANYTHING)) + "\n"
    return re.fullmatch(pattern, "".join(_tidy(line) + "\n" for line in printed.splitlines())) is not None


def _blocks(page: str) -> Iterator[tuple[int, list[str], str]]:
    for found in _BLOCK.finditer(page):
        yield page.count("\n", 0, found.start()) + 1, found["words"].split(), found["text"]


def _file(line: int, text: str) -> File:
    if not (found := _FILE.match(text)):
        raise PageError(f"line {line}: the first line of YAML names its file: # NAME.yaml")
    return File(line, found["name"], text)


def _script(line: int, modes: list[str], text: str) -> Script:
    since = next((mode.removeprefix("since=") for mode in modes if mode.startswith("since=")), None)
    known = {"node", "fails", f"since={since}"}
    if unknown := [mode for mode in modes if mode not in known]:
        raise PageError(f"line {line}: a script has no mode {unknown[0]}")
    return Script(line, text, on_nodes="node" in modes, fails="fails" in modes, since=since)


def _with_output(before: File | Script | None, line: int, text: str) -> Script:
    if not isinstance(before, Script) or before.prints is not None:
        raise PageError(f"line {line}: what prints this?")
    return replace(before, prints=text)


def _table_lines(page: str) -> list[str]:
    """Lines of all tables; one between two tables, empty, keeps them apart."""
    return [line if line.startswith("|") else "" for line in page.splitlines()]


def _tidy(line: str) -> str:
    return " ".join(line.split())
