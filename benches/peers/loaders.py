"""Puts the Parquet file into the store of an engine, in a process of its own so that time and memory can be told.

    python loaders.py duckdb|duckdb-indexed|clickhouse|postgresql PARQUET PLACE
"""

import os
import subprocess
import sys

CORES = os.cpu_count() or 1
POSTGRESQL_TABLE = """
CREATE UNLOGGED TABLE lineitem (
  l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity numeric(15, 2),
  l_extendedprice numeric(15, 2), l_discount numeric(15, 2), l_tax numeric(15, 2), l_returnflag text, l_linestatus text,
  l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text)
"""
POSTGRESQL_INDEXES = (
    "CREATE INDEX by_price ON lineitem (l_extendedprice, l_orderkey, l_linenumber)",
    "CREATE INDEX by_order ON lineitem (l_orderkey, l_linenumber)",
    "CREATE INDEX by_ship_date ON lineitem (l_shipdate DESC, l_orderkey, l_linenumber)",
)
CLICKHOUSE_ORDERS = {"lineitem": "(l_orderkey, l_linenumber)", "lineitem_by_price": "(l_extendedprice, l_orderkey, l_linenumber)"}


def duckdb_table(parquet: str, place: str, indexed: bool) -> None:
    """A table in the order of the file, and if wanted an index of the orders' keys."""
    import duckdb
    database = duckdb.connect(place, config={"threads": CORES})
    database.execute(f"CREATE TABLE lineitem AS SELECT * FROM read_parquet('{parquet}')")
    if indexed:
        database.execute("CREATE INDEX by_order ON lineitem (l_orderkey)")
    database.execute("CHECKPOINT")
    database.close()


def clickhouse_tables(parquet: str, place: str, tables: list[str]) -> None:
    """MergeTrees sorted as the pages want them, each merged into one part. Prints how many bytes their parts take."""
    from chdb import session
    database = session.Session(place)
    database.query(f"SET max_threads = {CORES}")
    database.query("CREATE DATABASE IF NOT EXISTS peers ENGINE = Atomic")
    for table in tables:
        database.query(f"CREATE TABLE peers.{table} ENGINE = MergeTree ORDER BY {CLICKHOUSE_ORDERS[table]} AS "
                       f"SELECT * FROM file('{parquet}', Parquet) SETTINGS schema_inference_make_columns_nullable = 0")
        database.query(f"OPTIMIZE TABLE peers.{table} FINAL")
    listed = ", ".join(f"'{table}'" for table in tables)
    print(database.query(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table IN ({listed})", "TSV"), end="")
    database.close()


def postgresql_table(parquet: str, place: str) -> None:
    """A table without a log and three indexes, as many connections as there are indexes."""
    def psql(*statements: str) -> subprocess.Popen[bytes]:
        command = ["psql", place, "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1"]
        return subprocess.Popen(command + [part for each in statements for part in ("--command", each)], stdin=subprocess.PIPE)

    def finish(*processes: subprocess.Popen[bytes]) -> None:
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()
            if process.wait() != 0:
                raise SystemExit("psql failed")

    finish(psql("DROP TABLE IF EXISTS lineitem", POSTGRESQL_TABLE))
    printer = ("import sys, duckdb; duckdb.execute('SET enable_progress_bar = false'); duckdb.execute(\"COPY (SELECT * FROM read_parquet('\" + sys.argv[1] + \"')) "
               "TO '/dev/stdout' (FORMAT csv, HEADER false)\")")
    with subprocess.Popen([sys.executable, "-c", printer, parquet], stdout=subprocess.PIPE) as source:
        outcome = subprocess.run(["psql", place, "--quiet", "--no-psqlrc", "--command", "COPY lineitem FROM STDIN (FORMAT csv)"],
                                 stdin=source.stdout, check=False)
    if outcome.returncode != 0 or source.returncode != 0:
        raise SystemExit("COPY failed")
    finish(*(psql("SET maintenance_work_mem = '1GB'", index) for index in POSTGRESQL_INDEXES))
    finish(psql("VACUUM ANALYZE lineitem"))


def main() -> None:
    """Reads the arguments."""
    name, parquet, place = sys.argv[1:]
    if name.startswith("duckdb"):
        duckdb_table(parquet, place, name == "duckdb-indexed")
    elif name == "clickhouse":
        clickhouse_tables(parquet, place, ["lineitem"])
    elif name == "clickhouse-by-price":
        clickhouse_tables(parquet, place, ["lineitem_by_price"])
    else:
        postgresql_table(parquet, place)


if __name__ == "__main__":
    main()
