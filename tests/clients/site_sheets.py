"""Puts the screenshots of each page of the site side by side: wide and light, wide and dark, phone and light, phone and dark.

    python site.py --binaries target/debug --modules DIR --pictures PICTURES
    python site_sheets.py PICTURES docs/site

Needs Pillow.
"""

import argparse
from pathlib import Path

from PIL import Image

DRESSES = ("wide-light-en", "wide-dark-it", "phone-light-en", "phone-dark-it")
HEIGHT, GAP = 360, 10
SHOWN = "overview"


def main() -> None:
    """One picture for each page, and one for the README."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    for first in sorted(arguments.pictures.glob(f"*-{DRESSES[0]}.png")):
        page = first.name.removesuffix(f"-{DRESSES[0]}.png")
        dresses = [Image.open(arguments.pictures / f"{page}-{dress}.png").convert("RGB") for dress in DRESSES]
        small = [dress.resize((dress.width * HEIGHT // dress.height, HEIGHT)) for dress in dresses]
        sheet = Image.new("RGB", (sum(dress.width + GAP for dress in small) - GAP, HEIGHT), "gray")
        left = 0
        for dress in small:
            sheet.paste(dress, (left, 0))
            left += dress.width + GAP
        sheet.save(arguments.out / f"{page}.webp", quality=70, method=6)
    Image.open(arguments.pictures / f"{SHOWN}-{DRESSES[0]}.png").save(arguments.out / "dataset.webp", quality=80, method=6)


if __name__ == "__main__":
    main()
