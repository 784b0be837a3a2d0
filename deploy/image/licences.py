"""Licences of Debian packages as SPDX expressions, where the copyright file lets a machine read them."""

from __future__ import annotations

import re

NOASSERTION = "NOASSERTION"

# Debian's short names (copyright format 1.0, and what maintainers made of it) that mean one SPDX licence.
_SPDX = {
    "Apache-2.0": "Apache-2.0",
    "BSD-2-clause": "BSD-2-Clause",
    "BSD-3-clause": "BSD-3-Clause",
    "BSD-3-Clause~Google": "BSD-3-Clause",
    "BSD-3-google": "BSD-3-Clause",
    "BSL-1.0": "BSL-1.0",
    "Expat": "MIT",
    "GPL-2": "GPL-2.0-only",
    "GPL-2+": "GPL-2.0-or-later",
    "GPL-3+": "GPL-3.0-or-later",
    "ISC": "ISC",
    "LGPL-2.1+": "LGPL-2.1-or-later",
    "MPL-2.0": "MPL-2.0",
    "Zlib": "Zlib",
}
_FORMAT = re.compile(r"\AFormat: https?://www\.debian\.org/doc/packaging-manuals/copyright-format/1\.0/")
_COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9]+(?:-[0-9](?:\.[0-9])?)?)")


def declared(copyright_text: str) -> str:
    """What holds for the package as a whole (`Files: *`), or NOASSERTION: a guess would be worse."""
    if not _FORMAT.match(copyright_text):
        return NOASSERTION
    for paragraph in re.split(r"\n\s*\n", copyright_text):
        if not re.search(r"^Files: *\*\s*$", paragraph, re.MULTILINE):
            continue
        found = re.search(r"^License: *(.+)$", paragraph, re.MULTILINE)
        return _expression(found.group(1)) if found else NOASSERTION
    return NOASSERTION


def _expression(text: str) -> str:
    """`A or B`, `A and B`. Debian's commas and free text have no counterpart."""
    words = text.split()
    names, operators = words[::2], words[1::2]
    if not all(name in _SPDX for name in names) or len(set(operators)) > 1 or len(names) == len(operators):
        return NOASSERTION
    if operators and operators[0] not in ("and", "or"):
        return NOASSERTION
    return f" {operators[0].upper()} ".join(_SPDX[name] for name in names) if operators else _SPDX[names[0]]


def common(copyright_text: str) -> set[str]:
    """Names of the full texts that a copyright file refers to instead of repeating them."""
    return set(_COMMON.findall(copyright_text))
