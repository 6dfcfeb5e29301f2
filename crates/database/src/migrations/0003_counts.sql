-- Requests of the last minute beside those of the day, so that servers share limits a minute, too. The row of a subject is written
-- again and again, and its key never changes.
ALTER TABLE counter
    -- The newest second with requests, in seconds since 1970 on the clock of the server that counted them.
    ADD COLUMN second bigint NOT NULL DEFAULT 0,
    -- Requests of that second and of each of the sixty before it, newest first, four bytes each.
    ADD COLUMN minute bytea NOT NULL DEFAULT '';
ALTER TABLE counter SET (fillfactor = 50);

-- While books are moved into the tables, servers do not open them.
ALTER TABLE books ADD COLUMN is_whole boolean NOT NULL DEFAULT true;
