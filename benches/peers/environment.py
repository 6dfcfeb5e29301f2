"""What a comparison needs before it can begin: a Python environment with pinned versions, programs of the system, data.
Uses nothing but the standard library. Knows no server."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
POSTGRESQL_ROOT = Path("/usr/lib/postgresql")


def say(text: str) -> None:
    """A line about what goes on."""
    print(text, file=sys.stderr, flush=True)


def enter(folder: Path, script: str) -> None:
    """Goes on inside the environment of this folder, which is made when it is missing or when the versions changed."""
    home = folder / "venv"
    python = home / "bin" / "python"
    if Path(sys.prefix).resolve() == home.resolve():
        return
    stamp = home / "requirements.sha256"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        say(f"making the Python environment {home}")
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS], check=True)
        stamp.write_text(wanted)
    os.execv(python, [str(python), script, *sys.argv[1:]])


def postgresql_programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl` of the newest PostgreSQL, if there is one."""
    found = (path.parent for path in POSTGRESQL_ROOT.glob("*/bin/initdb"))
    return max(found, key=lambda path: float(path.parent.name), default=None)


def install_programs(peers: list[str], load: bool) -> None:
    """Installs what is missing with apt, which only root may do."""
    missing = []
    if load and not shutil.which("wrk"):
        missing.append("wrk")
    if "postgresql" in peers and (postgresql_programs() is None or not shutil.which("psql")):
        missing.append("postgresql")
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise SystemExit(f"missing: {', '.join(missing)}. Install them, run this as root where apt-get exists, or leave "
                         "the works and peers out that need them (wrk: W8, postgresql: --peers)")
    say(f"installing {', '.join(missing)}")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True, env=environment, stdout=subprocess.DEVNULL)


def lineitem(folder: Path, scale: float) -> Path:
    """TPC-H `lineitem` at that scale factor as one Parquet file, generated once."""
    home = folder / f"data-{scale:g}"
    parquet = home / "lineitem.parquet"
    if not parquet.exists():
        say(f"generating lineitem at scale {scale:g}")
        fresh = folder / f"data-{scale:g}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        subprocess.run([Path(sys.prefix) / "bin" / "tpchgen-cli", "parquet", "--scale-factor", f"{scale:g}", "--tables",
                        "lineitem", "--output-dir", fresh, "--compression", "ZSTD(1)", "--no-progress"], check=True)
        fresh.rename(home)
    return parquet
