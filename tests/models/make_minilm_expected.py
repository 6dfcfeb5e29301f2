"""Writes what sentence-transformers computes for `sentences.json` with all-MiniLM-L6-v2, or compares with a file of ours.

    python3 -m venv /tmp/models && /tmp/models/bin/pip install torch==2.8.0 sentence-transformers==5.7.0 transformers==4.57.6
    /tmp/models/bin/python tests/models/make_minilm_expected.py MODEL_FOLDER            # writes minilm_expected.json
    /tmp/models/bin/python tests/models/make_minilm_expected.py MODEL_FOLDER --compare VECTORS.json
    # VECTORS.json: mercato-tools --json models check MODEL_FOLDER --sentences tests/models/sentences.json
"""

import argparse
import json
import pathlib
import sys

from sentence_transformers import SentenceTransformer

HERE = pathlib.Path(__file__).resolve().parent
DIFFERENCE_MAX = 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--compare", type=pathlib.Path)
    options = parser.parse_args()
    sentences = json.loads((HERE / "sentences.json").read_text())
    model = SentenceTransformer(options.folder, device="cpu")
    vectors = model.encode(sentences, batch_size=1)
    if options.compare is None:
        rows = [[round(float(x), 7) for x in vector] for vector in vectors]
        text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        (HERE / "minilm_expected.json").write_text(f"[{text}]\n")
        return
    ours = json.loads(options.compare.read_text())["vectors"]
    assert len(ours) == len(sentences), (len(ours), len(sentences))
    worst = max(abs(a - float(b)) for left, right in zip(ours, vectors) for a, b in zip(left, right, strict=True))
    print(f"{len(ours)} sentences, largest difference {worst:.2e}")
    sys.exit(worst > DIFFERENCE_MAX)


if __name__ == "__main__":
    main()
