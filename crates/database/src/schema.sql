-- The books. Moments are milliseconds since 1970, days are days since 1970, months are months since the year 0, all in UTC.

CREATE TABLE account (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    created_at bigint NOT NULL,
    closed_at bigint,
    balance bigint NOT NULL CHECK (balance >= 0),
    -- Credits of open reservations; the balance is without them.
    reserved bigint NOT NULL CHECK (reserved >= 0),
    has_bought boolean NOT NULL,
    free_month integer NOT NULL,
    free_used integer NOT NULL CHECK (free_used >= 0),
    last_entry bigint NOT NULL,
    -- How many entries it has.
    entries bigint NOT NULL,
    -- How often the row was changed.
    version bigint NOT NULL
) WITH (fillfactor = 50);

-- Written once, never changed. Numbers rise for each account; those of different accounts may be committed in another order.
CREATE TABLE entry (
    number bigint PRIMARY KEY,
    account bigint NOT NULL,
    key bigint,
    kind text NOT NULL,
    amount bigint NOT NULL,
    balance bigint NOT NULL CHECK (balance >= 0),
    at bigint NOT NULL,
    rows bigint NOT NULL,
    cents bigint NOT NULL,
    related bigint NOT NULL,
    request_id text NOT NULL,
    dataset text NOT NULL,
    note text NOT NULL
);
CREATE INDEX entry_of_account ON entry (account, number);

CREATE TABLE usage (
    account bigint NOT NULL,
    day integer NOT NULL,
    -- Zero for none.
    key bigint NOT NULL,
    dataset text COLLATE "C" NOT NULL,
    requests bigint NOT NULL,
    rows bigint NOT NULL,
    credits bigint NOT NULL,
    PRIMARY KEY (account, day, key, dataset)
) WITH (fillfactor = 70);

-- Credits of running streams and downloads.
CREATE TABLE reservation (
    id bigint PRIMARY KEY,
    account bigint NOT NULL,
    server bigint NOT NULL,
    key bigint,
    credits bigint NOT NULL,
    -- Rows that were delivered when that was last noted.
    delivered bigint NOT NULL,
    claim bytea,
    file bytea,
    record bytea NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX reservation_of_account ON reservation (account);
CREATE INDEX reservation_of_server ON reservation (server);

CREATE TABLE api_key (
    id bigint PRIMARY KEY,
    account bigint NOT NULL,
    hash bytea NOT NULL CONSTRAINT api_key_hash UNIQUE,
    prefix text NOT NULL,
    label text NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    -- When a rotated key ends.
    expires_at bigint,
    revoked_at bigint,
    credits_per_day bigint,
    credits_per_month bigint,
    -- When its limits end it.
    limited_until bigint,
    datasets text[] NOT NULL
);
CREATE INDEX api_key_of_account ON api_key (account);

-- What customers asked to buy. Prices are in cents.
CREATE TABLE checkout (
    number bigint PRIMARY KEY,
    random bytea NOT NULL,
    account bigint NOT NULL,
    provider text NOT NULL,
    credits bigint NOT NULL,
    net bigint NOT NULL,
    vat_basis_points integer NOT NULL,
    vat bigint NOT NULL,
    gross bigint NOT NULL,
    currency text NOT NULL,
    created_at bigint NOT NULL,
    payment text,
    entry bigint,
    paid_at bigint,
    refunded bigint NOT NULL,
    disputed bigint NOT NULL,
    taken bigint NOT NULL,
    forgone bigint NOT NULL,
    cancelled_at bigint
);
CREATE INDEX checkout_of_account ON checkout (account, number);

-- Every other record of the books: logins, sessions, one-time tokens, remembered payments, relations, and so on. The first
-- byte of the key is the kind.
CREATE TABLE record (
    key bytea PRIMARY KEY,
    account bigint,
    email text CONSTRAINT record_email UNIQUE,
    -- When it may be removed.
    until bigint,
    value bytea NOT NULL
);
CREATE INDEX record_of_account ON record (account) WHERE account IS NOT NULL;
CREATE INDEX record_until ON record (until) WHERE until IS NOT NULL;

-- Requests of keys and addresses in a day and in the last minute, as each server has counted them. A row is written again and
-- again, and its key never changes.
CREATE TABLE counter (
    subject bytea NOT NULL,
    day integer NOT NULL,
    server bigint NOT NULL,
    count bigint NOT NULL,
    -- The newest second with requests, in seconds since 1970 on the clock of the server that counted them.
    second bigint NOT NULL DEFAULT 0,
    -- Requests of that second and of each of the sixty before it, newest first, four bytes each.
    minute bytea NOT NULL DEFAULT '',
    PRIMARY KEY (subject, day, server)
) WITH (fillfactor = 50);

-- One row for each batch of operations, with what came of it, until nobody can ask any more.
CREATE TABLE batch (
    server bigint NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    places integer[],
    numbers bigint[],
    accounts bigint[],
    balances bigint[],
    months integer[],
    used integer[],
    reserved bigint[],
    versions bigint[],
    -- Takes the place of a batch that was never applied, so that it cannot be any more.
    is_void boolean NOT NULL DEFAULT false,
    CONSTRAINT batch_once PRIMARY KEY (server, number)
);
CREATE INDEX batch_at ON batch (at);

CREATE TABLE server (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz NOT NULL,
    -- The generation of the catalogue that it has loaded whole; nothing where it serves none.
    loaded_generation bigint,
    -- Datasets of the newest generation that the server does not serve yet; nothing where it serves no catalogue.
    lacking integer
);

-- What servers keep in memory changes with the generation. The row is locked until the change is committed, so generations are
-- committed in their order.
CREATE TABLE books (
    id integer PRIMARY KEY CHECK (id = 1),
    generation bigint NOT NULL,
    -- While books are moved into the tables, servers do not open them.
    is_whole boolean NOT NULL DEFAULT true
);
INSERT INTO books (id, generation) VALUES (1, 0);

CREATE TABLE changed (
    generation bigint NOT NULL,
    key bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (generation, key)
);

CREATE SEQUENCE account_id;
CREATE SEQUENCE key_id;
CREATE SEQUENCE checkout_number;
CREATE SEQUENCE reservation_id;
CREATE SEQUENCE server_id;
-- An operation writes two entries at most.
CREATE SEQUENCE entry_number INCREMENT BY 2;

-- The catalogue of several servers: which versions are published, and where their bytes are.

-- The row is locked until a publication is committed, so generations are committed in their order.
CREATE TABLE catalog (
    id integer PRIMARY KEY CHECK (id = 1),
    generation bigint NOT NULL
);
INSERT INTO catalog (id, generation) VALUES (1, 0);

-- One row for each dataset. The head lists its texts and the blobs of its versions.
CREATE TABLE release (
    slug text COLLATE "C" PRIMARY KEY,
    -- The generation of the last publication.
    sequence bigint NOT NULL,
    -- When that was, in milliseconds since 1970.
    at bigint NOT NULL,
    head bytea NOT NULL
);
CREATE INDEX release_sequence ON release (sequence);

-- The blobs that heads name, by their SHA-256.
CREATE TABLE blob_use (
    slug text COLLATE "C" NOT NULL,
    blob text COLLATE "C" NOT NULL,
    PRIMARY KEY (slug, blob)
);
CREATE INDEX blob_use_blob ON blob_use (blob);

-- Blobs that no head names: being uploaded, or named no more. A later publication deletes them after a day.
CREATE TABLE spare_blob (
    blob text COLLATE "C" PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX spare_blob_at ON spare_blob (at);
