"""Licences are read where a machine can, and never guessed."""

from __future__ import annotations

import pytest

import licences

FORMAT = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        (FORMAT + "Files: *\nLicense: Expat\n", "MIT"),
        (FORMAT + "Files: debian/*\nLicense: GPL-2+\n\nFiles: *\nLicense: Apache-2.0\n", "Apache-2.0"),
        (FORMAT + "Files: *\nLicense: GPL-2+ or MPL-2.0\n", "GPL-2.0-or-later OR MPL-2.0"),
        (FORMAT + "Files: *\nLicense: GPL-2+ or MPL-2.0 and ISC\n", "NOASSERTION"),  # Which binds first?
        (FORMAT + "Files: *\nLicense: Expat with embedded exception\n", "NOASSERTION"),
        (FORMAT + "Files: *\nLicense: GPL-2+ or\n", "NOASSERTION"),
        (FORMAT + "Files: src/*\nLicense: Expat\n", "NOASSERTION"),
        ("This package was debianized by hand.\n\nFiles: *\nLicense: Expat\n", "NOASSERTION"),
    ],
)
def test_licence_of_the_whole_package(text: str, expression: str) -> None:
    assert licences.declared(text) == expression


def test_names_of_common_licences_end_where_the_sentence_does() -> None:
    folder = "/usr/share/common-licenses"
    text = f"see {folder}/GPL-2. Or `{folder}/LGPL-2.1', or {folder}/BSD."
    assert licences.common(text) == {"GPL-2", "LGPL-2.1", "BSD"}
