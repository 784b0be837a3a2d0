"""What Helm prints after an installation."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from chart import CHART, Values, one, render

Notes = Callable[..., str]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notes:
    """Renders NOTES.txt. `helm template` leaves it out, so a copy of the chart shows it as an object."""
    copy = tmp_path / "tessera"
    shutil.copytree(CHART, copy)
    (copy / "templates/NOTES.txt").rename(copy / "notes.txt")
    (copy / "templates/notes.yaml").write_text(
        'kind: Notes\nmetadata: {name: notes}\ntext: {{ tpl (.Files.Get "notes.txt") . | toJson }}\n'
    )
    monkeypatch.setattr("chart.CHART", copy)

    def shown(values: Values = None) -> str:
        return one(render(values), "Notes")["text"]

    return shown


def test_notes_warn_before_an_uninstall(notes: Notes) -> None:
    text = notes()
    assert "nothing waits for claims" in text
    assert "stay Terminating" in text
    assert "kubectl get resourceclaims -A" in text


def test_notes_show_how_to_look(notes: Notes) -> None:
    text = notes({"namespaceOverride": "gpu", "nameOverride": "dra"})
    assert "kubectl -n gpu get pods -o wide -l app.kubernetes.io/name=dra\n" in text
    assert "kubectl get resourceslices --field-selector spec.driver=gpu.nvidia.com\n" in text
    assert "kubectl -n gpu logs ds/tessera-dra-kubelet-plugin -c gpus\n" in text


def test_notes_say_what_was_left_out(notes: Notes) -> None:
    text = notes({"serviceAccount": {"create": False, "name": "a"}, "deviceClasses": {"create": False}})
    assert "the account a-kubeletplugin and its rights are yours to make" in text
    assert "deviceClasses.create=false" in text


def test_notes_say_where_the_image_is_looked_for_until_it_has_a_registry(notes: Notes) -> None:
    assert "localhost/tessera:0.1.0 is looked for on the nodes" in notes()
    assert "looked for on the nodes" not in notes({"image": {"repository": "example.com/tessera"}})
