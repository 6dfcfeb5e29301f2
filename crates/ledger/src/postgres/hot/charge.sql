-- Sells many pages at once. Accounts that cannot pay for all of theirs, or not as they were taken to pay, are left as they are.
-- $1 server, $2 batch; operations: $3 accounts, $4 credits, $5 free queries, $6 keys, $7 rows, $8 moments, $9 days,
-- $10 requests, $11 datasets; accounts: $12 ids, $13 whether they bought credits, $14 whether free queries are left,
-- $15 free queries of a month (zero where no operation may use one), $16 months
WITH op AS MATERIALIZED (
    SELECT * FROM unnest($3::bigint[], $4::bigint[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::integer[],
                         $10::text[], $11::text[])
        WITH ORDINALITY AS op (account, credits, free, key, rows, at, day, request_id, dataset, place)
), locked AS MATERIALIZED (
    SELECT id FROM account WHERE id = ANY ($12::bigint[]) ORDER BY id FOR UPDATE
), numbered AS MATERIALIZED (
    SELECT op.*, nextval('entry_number') AS number
    FROM (SELECT op.* FROM op JOIN locked ON locked.id = op.account ORDER BY op.place) op
), wanted AS MATERIALIZED (
    SELECT plan.id, plan.has_bought, plan.has_free, plan.free_queries, plan.month, sum(op.credits)::bigint AS credits, sum(op.free)::integer AS free,
           count(*) FILTER (WHERE op.credits > 0) AS lines, max(op.number) FILTER (WHERE op.credits > 0) AS last
    FROM unnest($12::bigint[], $13::boolean[], $14::boolean[], $15::integer[], $16::integer[])
        AS plan (id, has_bought, has_free, free_queries, month)
    JOIN numbered op ON op.account = plan.id
    GROUP BY plan.id, plan.has_bought, plan.has_free, plan.free_queries, plan.month
), paid AS (
    UPDATE account AS a
    SET balance = a.balance - w.credits,
        free_used = CASE WHEN w.free = 0 THEN a.free_used
                         WHEN w.month > a.free_month THEN w.free
                         ELSE a.free_used + w.free END,
        free_month = CASE WHEN w.free = 0 THEN a.free_month ELSE greatest(a.free_month, w.month) END,
        last_entry = coalesce(w.last, a.last_entry),
        entries = a.entries + w.lines,
        version = a.version + 1
    FROM wanted w
    WHERE a.id = w.id AND a.closed_at IS NULL AND a.has_bought = w.has_bought AND a.balance >= w.credits
      AND CASE WHEN w.has_free
               THEN CASE WHEN w.month > a.free_month THEN 0 ELSE a.free_used END + w.free <= w.free_queries
               ELSE CASE WHEN w.month > a.free_month THEN 0 ELSE a.free_used END >= w.free_queries END
    RETURNING a.id, a.balance, w.credits AS taken, a.free_month, a.free_used, a.reserved, a.version
), sold AS MATERIALIZED (
    SELECT op.*,
           paid.balance + paid.taken
               - sum(op.credits) OVER (PARTITION BY op.account ORDER BY op.place) AS balance
    FROM numbered op JOIN paid ON paid.id = op.account
), lines AS (
    INSERT INTO entry (number, account, key, kind, amount, balance, at, rows, cents, related, request_id, dataset, note)
    SELECT number, account, nullif(key, 0), 'charge', -credits, balance, at, rows, 0, 0, request_id, dataset, ''
    FROM sold WHERE credits > 0
), used AS (
    INSERT INTO usage AS u (account, day, key, dataset, requests, rows, credits)
    SELECT account, day, key, dataset, count(*), sum(rows), sum(credits)
    FROM sold GROUP BY account, day, key, dataset
    ON CONFLICT (account, day, key, dataset) DO UPDATE
    SET requests = u.requests + excluded.requests, rows = u.rows + excluded.rows, credits = u.credits + excluded.credits
)
INSERT INTO batch (server, number, places, numbers, accounts, balances, months, used, reserved, versions)
SELECT $1::bigint, $2::bigint,
       (SELECT array_agg(place::integer ORDER BY place) FROM sold),
       (SELECT array_agg(number ORDER BY place) FROM sold),
       array_agg(id ORDER BY id), array_agg(balance ORDER BY id), array_agg(free_month ORDER BY id),
       array_agg(free_used ORDER BY id), array_agg(reserved ORDER BY id), array_agg(version ORDER BY id)
FROM paid
RETURNING places, numbers, accounts, balances, months, used, reserved, versions
