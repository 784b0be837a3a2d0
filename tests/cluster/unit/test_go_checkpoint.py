"""The Go driver's rules for its checkpoint, as the stand-in knows them, against files in the format of its releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.places import TOP
from neighbours import go_checkpoint, go_releases
from neighbours.go_releases import HEAD

FILES = TOP / "tests" / "testdata" / "checkpoints"
BOOT = "4d444444-4444-4444-8444-444444444444"


def text_of(name: str) -> str:
    return (FILES / f"{name}.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "release"),
    [("v25.3.2", "v25.3.2"), ("v25.8.1", "v25.8.1"), ("v25.12.0", "v25.12.0"), ("head", HEAD.name), ("empty", HEAD.name)],
)
def test_a_release_reads_its_own_file_and_writes_it_again_byte_for_byte(name: str, release: str) -> None:
    chosen = go_releases.find(release)
    claims, boot_id = go_checkpoint.read(chosen, text_of(name))
    assert boot_id == (BOOT if chosen.knows_boots else "")
    assert go_checkpoint.write(chosen, claims, boot_id) == text_of(name)


@pytest.mark.parametrize("file", sorted((FILES / "written").iterdir()), ids=lambda file: file.stem)
def test_what_tessera_writes_is_read_by_the_newest_source(file: Path) -> None:
    claims, boot_id = go_checkpoint.read(HEAD, file.read_text("utf-8"))
    assert claims and boot_id == BOOT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('"checksum":2682240976', '"checksum":2682240977', id="sum"),
        pytest.param('"checksum":1941092082', '"checksum":1941092083', id="sum of v2"),
        pytest.param('"node-1"', '"node-2"', id="value"),
        pytest.param('"configState":{}', '"configState":{"timeSliceApplied":false}', id="one field more"),
        pytest.param('"giId":7', '"giId":"7"', id="type"),
        pytest.param('"nodeBootID"', '"nodeBootID', id="no JSON"),
    ],
)
def test_a_file_that_was_changed_is_refused(before: str, after: str) -> None:
    assert before in text_of("head")
    with pytest.raises(go_checkpoint.Refused):
        go_checkpoint.read(HEAD, text_of("head").replace(before, after))


def test_releases_refuse_each_others_files_over_an_empty_field() -> None:
    """Which is why Tessera does not believe their checksums."""
    with pytest.raises(go_checkpoint.Refused):
        go_checkpoint.read(HEAD, text_of("v25.12.0"))
