#!/usr/bin/env python3
"""Runs the tests of the client of object stores beside real servers.

    python tests/cluster/object_stores.py
    python tests/cluster/object_stores.py --only rclone -- cargo test --workspace --test api object_stores -- --ignored

moto knows S3 well and compares no signatures; `rclone serve s3` keeps files, ignores conditions and compares signatures.
Needs the packages of requirements.txt beside this file, in the Python that runs it.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from stores import STORES

COMMAND = ["cargo", "test", "--locked", "--workspace", "--test", "api", "object_stores::", "--", "--ignored"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", choices=sorted(STORES), help="one kind of server instead of all")
    arguments.add_argument("command", nargs="*", help="instead of the tests of the client")
    given = arguments.parse_args()
    for kind in [given.only] if given.only else sorted(STORES):
        with tempfile.TemporaryDirectory(prefix="mercato-store.") as folder:
            store = STORES[kind](folder)
            try:
                print(f"-- beside {kind}", flush=True)
                ended = subprocess.run(given.command or COMMAND, env=os.environ | store.variables(), check=False)
            finally:
                store.kill()
        if ended.returncode:
            print(f"object_stores.py: failed beside {kind}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
