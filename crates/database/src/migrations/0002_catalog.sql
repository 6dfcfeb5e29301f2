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

-- The generation of the catalogue that a server has loaded whole; nothing where it serves none.
ALTER TABLE server ADD COLUMN loaded_generation bigint;
