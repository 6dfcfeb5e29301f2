"""What the database holds beside what customers were told. Knows no faults."""

import json
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import psycopg

from load import Account, Known

# The entries of one account follow each other: each balance is the one before it with the amount, and none is negative.
CHAIN = """
    SELECT account, number, amount, balance, before FROM (
        SELECT account, number, amount, balance,
               coalesce(lag(balance) OVER (PARTITION BY account ORDER BY number), 0) AS before
        FROM entry) AS e
    WHERE balance <> before + amount OR balance < 0 LIMIT 5"""
COUNTS = """
    SELECT a.id, a.entries, count(e.number), a.last_entry, coalesce(max(e.number), 0), a.balance,
           coalesce(sum(e.amount), 0)
    FROM account a LEFT JOIN entry e ON e.account = a.id GROUP BY a.id
    HAVING a.entries <> count(e.number) OR a.last_entry <> coalesce(max(e.number), 0)
        OR a.balance <> coalesce(sum(e.amount), 0) LIMIT 5"""
USAGE = """
    SELECT a.id, coalesce(u.credits, 0), coalesce(e.credits, 0) FROM account a
    LEFT JOIN (SELECT account, sum(credits) AS credits FROM usage GROUP BY account) u ON u.account = a.id
    LEFT JOIN (SELECT account, -sum(amount) AS credits FROM entry
               WHERE kind IN ('charge', 'reserve', 'settle', 'refund') GROUP BY account) e ON e.account = a.id
    WHERE coalesce(u.credits, 0) <> coalesce(e.credits, 0) LIMIT 5"""
RESERVATIONS = "SELECT id, account, server, credits, delivered FROM reservation LIMIT 5"
RESERVED = "SELECT id, reserved FROM account WHERE reserved <> 0 LIMIT 5"


def of_sessions(connection: "psycopg.Connection[Any]", most: int) -> list[str]:
    """The database keeps no connection of which nobody is left. The load is over."""
    row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mercato'").fetchone()
    return [f"the database has {row[0]} connections, the servers have {most} at most"] if row and row[0] > most else []


def of_tables(connection: "psycopg.Connection[Any]") -> list[str]:
    """What must hold whatever customers know. The servers are idle."""
    faults = []
    for name, text in (("an entry does not follow the one before", CHAIN), ("an account is not its entries", COUNTS),
                       ("usage is not what was taken", USAGE), ("a reservation outlives its stream", RESERVATIONS),
                       ("credits stay reserved", RESERVED)):
        faults += [f"{name}: {row}" for row in connection.execute(text).fetchall()]
    return faults


def of_requests(connection: "psycopg.Connection[Any]", known: Known) -> list[str]:
    """Every answer that came whole is paid once; what was refused is not paid, unless a repetition got the rows for it."""
    entries: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for request, kind, amount in connection.execute("SELECT request_id, kind, amount FROM entry WHERE request_id <> ''"):
        entries[request].append((kind, amount))
    faults = []
    for request, credits in known.paid.items():
        found = entries.get(request, [])
        kinds = [kind for kind, _ in found]
        if -sum(amount for _, amount in found) != credits or kinds.count("charge") + kinds.count("reserve") > 1:
            faults.append(f"{request}: {credits} credits were acknowledged, the books have {found}")

    def sold(request: str) -> int:
        return -sum(amount for _, amount in entries.get(request, []))

    for attempts, credits in known.replayed:
        among = sum(sold(request) for request in attempts if request is not None)
        if among != credits and not (among == 0 and None in attempts):
            faults.append(f"{attempts}: a repetition was answered for {credits} credits, they cost {among}")
    paid_before = {request for attempts, _ in known.replayed for request in attempts}
    for request in known.refused - paid_before:
        if sold(request) != 0:
            faults.append(f"{request}: it was refused, the books have {entries[request]}")
    for request, most in known.broken.items():
        if request not in paid_before and not 0 <= sold(request) <= most:
            faults.append(f"{request}: it broke off and costs {most} at most, the books have {entries[request]}")
    return faults


def of_accounts(connection: "psycopg.Connection[Any]", known: Known, accounts: list[Account]) -> list[str]:
    """Accounts paid what their customers saw, and no more than they asked for beside it; purchases were entered once."""
    balances = dict(connection.execute("SELECT id, balance FROM account").fetchall())
    given: defaultdict[str, int] = defaultdict(int)
    for account, credits in known.bought.values():
        given[account] += credits
    faults = []
    for account in accounts:
        number = int(account.id.removeprefix("acc_"))
        spent = account.bought + given[account.id] - balances[number]
        least, most = known.spent[account.id], known.spent[account.id] + known.doubtful[account.id]
        if not least <= spent <= most:
            faults.append(f"{account.id} spent {spent}, its customer knows of {least} to {most}")
        if account.is_exact and spent != least:
            faults.append(f"{account.id} spent {spent} on what costs {least}, told exactly")
    found = connection.execute("SELECT account, amount, count(*) FROM entry WHERE kind = 'purchase' AND amount < 1000"
                               " GROUP BY account, amount").fetchall()
    entered = sum(count * amount for _, amount, count in found)
    ordered = sum(credits for _, credits in known.bought.values())
    if entered != ordered:
        faults.append(f"purchases of {ordered} credits were ordered, {entered} were entered")
    return faults


def of_ledger(binaries: Path, url: str) -> list[str]:
    """What the operator's own audit says."""
    command = [str(binaries / "mercato-tools"), "ledger", "verify", "--books", url, "--json"]
    outcome = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    print(f"ledger verify: {outcome.stdout.strip()[:600]}")
    if outcome.returncode != 0 or not json.loads(outcome.stdout).get("balanced"):
        return [f"ledger verify: {outcome.returncode} {outcome.stdout[:1000]} {outcome.stderr[:1000]}"]
    return []
