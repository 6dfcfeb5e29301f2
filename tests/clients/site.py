"""The site for people in Chromium: every page in both languages, light and dark, on a phone and on a wide screen, looked
through by axe-core; and journeys by clicks with and without JavaScript. The same of the operator's pages.

    python site.py --binaries target/release --modules DIR [--chromium PROGRAM] [--pictures DIR]

`--modules` is a folder in which npm has installed what chromium/package.json names. Exit code 0 only without a fault.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from marketplace import Marketplace

SECONDS_MAX = 1500


def main() -> int:
    """Serves the demo's datasets and visits the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    if arguments.chromium is None:
        raise SystemExit("chromium: not found; name it with --chromium")
    script = Path(__file__).parent / "chromium" / "site.mjs"
    visit = arguments.modules.resolve() / script.name
    shutil.copyfile(script, visit)
    with tempfile.TemporaryDirectory() as name, Marketplace(arguments.binaries.resolve(), Path(name),
                                                            admin="127.0.0.1:0", free_queries=100) as market:
        command = ["node", visit, market.url, arguments.chromium]
        if arguments.pictures is not None:
            command.append(arguments.pictures.resolve())
        environment = os.environ | {"ADMIN_URL": market.admin_url(), "ADMIN_TOKEN": market.admin_token()}
        outcome = subprocess.run(command, cwd=arguments.modules, timeout=SECONDS_MAX, check=False, env=environment)
        errors = market.server_errors()
    for error in errors:
        print(f"FAULT the server: {error}")
    return 1 if outcome.returncode != 0 or errors else 0


if __name__ == "__main__":
    sys.exit(main())
