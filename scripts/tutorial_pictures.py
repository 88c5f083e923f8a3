"""Makes the tutorials' pictures, docs/images/, from the web app's screenshots.

`make pictures` takes the screenshots (the light ones of `make screenshots`) and runs this; each
picture is a part of one, with few colours, so that it weighs little.
"""

from __future__ import annotations

import sys

from PIL import Image

from scripts.tree import ROOT

_SCREENSHOTS = ROOT / "web/screenshots"
_IMAGES = ROOT / "docs/images"
_PARTS = {
    "chat": (0, 0, 1280, 1600),
    "approval": (288, 1060, 1280, 1470),
    "admin-users": (0, 0, 1280, 800),
    "data-chinook": (0, 0, 1280, 800),
}
"""Left, top, right, bottom of what is shown."""
_COLOURS = 64


def main() -> int:
    """Write the pictures; 1 if a screenshot is missing."""
    _IMAGES.mkdir(exist_ok=True)
    for name, part in _PARTS.items():
        for language in ("en", "zh"):
            screenshot = _SCREENSHOTS / f"{name}-{language}-light.png"
            if not screenshot.exists():
                print(f"{screenshot.relative_to(ROOT)} is missing.\nhint: make screenshots")
                return 1
            with Image.open(screenshot) as whole:
                picture = whole.crop(part).quantize(_COLOURS)
            picture.save(_IMAGES / f"{name}-{language}.png", optimize=True)
    print(f"wrote {_IMAGES.relative_to(ROOT)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
