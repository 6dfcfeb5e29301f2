//! Every bound of the server that is not tied to one file, with its unit in its name.
//!
//! Knows no code: only numbers, grouped by the folder that holds to them.

/// Buffers of the server of this size are given back to the system when they are freed.
pub const GIVEN_BACK_BYTES_MIN: usize = 512 * 1024;

/// Bounds of the books (`ledger/`).
pub mod ledger {
    use std::time::Duration;

    /// Memory that the store may use for its page cache.
    pub const STORE_CACHE_BYTES: u64 = 32 * 1024 * 1024;
    /// Records that have changed since the last checkpoint and ask for the next one at once.
    pub const CHECKPOINT_RECORDS_MAX: usize = 65_536;
    /// Records that may have changed since the last checkpoint; above that, operations are refused as busy.
    pub const UNWRITTEN_RECORDS_MAX: usize = 1_048_576;
    /// How often a checkpoint is written when less has changed.
    pub const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);
    /// With process durability: the longest time until what was acknowledged is also safe from a power loss.
    pub const PROCESS_SYNC_MILLIS_MAX: u64 = 100;
    /// The longest wait for other operations on the books.
    pub const BOOKS_WAIT_MILLIS_MAX: u64 = 10_000;
    /// The longest silence of the books while work waits; a longer one means that they are stuck.
    pub const STALL_MILLIS_MAX: u64 = 30_000;
    /// How soon books that have failed are opened again; each further try waits twice as long.
    pub const RECOVERY_RETRY_MILLIS: u64 = 250;
    /// The longest pause between two tries.
    pub const RECOVERY_PAUSE_MAX: Duration = Duration::from_secs(30);
    /// How often the progress of open reservations is written down.
    pub const PROGRESS_NOTE_MILLIS: u64 = 200;
    /// Settlements that one batch of the log holds, beside one that is asked for.
    pub const SETTLEMENTS_PER_BATCH_MAX: usize = 1_024;
    /// Notes of progress that one batch of the log holds.
    pub const PROGRESS_NOTES_PER_BATCH_MAX: usize = 16_384;
    /// Reservations that may be open at one time.
    pub const OPEN_RESERVATIONS_MAX: usize = 65_536;

    /// Accounts that one ledger holds.
    pub const ACCOUNTS_MAX: usize = 1_000_000;
    /// Keys of one account, revoked ones included.
    pub const KEYS_PER_ACCOUNT_MAX: usize = 1_000;
    /// Keys that one ledger holds, revoked ones included.
    pub const KEYS_MAX: usize = 1_000_000;
    /// Length of an account's name, of a key's label and of the note of an entry.
    pub const TEXT_BYTES_MAX: usize = 200;
    /// Length of an `Idempotency-Key`.
    pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
    /// Datasets that one key may be limited to.
    pub const DATASETS_PER_KEY_MAX: usize = 256;
    /// Length of the name of a payment provider.
    pub const PROVIDER_BYTES_MAX: usize = 40;
    /// Longest grace of a rotated key.
    pub const KEY_GRACE_SECONDS_MAX: u64 = 30 * 86_400;

    /// Credits in one purchase or grant.
    pub const CREDITS_PER_PURCHASE_MAX: u64 = 1_000_000_000_000;
    /// Credits that one account may hold; far below what 63 bits hold.
    pub const BALANCE_CREDITS_MAX: u64 = 1_000_000_000_000_000;
    /// Price of 1,000 credits in cents of a euro, VAT excluded.
    pub const CENTS_PER_THOUSAND_CREDITS: u64 = 500;
    /// Free queries of an account that never bought credits, in a calendar month.
    pub const FREE_QUERIES_PER_MONTH: u32 = 100;
    /// Rows of one free query.
    pub const FREE_ROWS_PER_QUERY_MAX: u64 = 10_000;
    /// How long an `Idempotency-Key` is remembered.
    pub const IDEMPOTENCY_HOURS: i64 = 24;
    /// How long a paid download may be read again in ranges.
    pub const DOWNLOAD_GRANT_HOURS: i64 = 24;
    /// Expired records that one round of cleaning removes.
    pub const EXPIRED_PER_ROUND_MAX: usize = 256;

    /// Relations between datasets that one ledger holds.
    pub const RELATIONS_MAX: usize = 100_000;
    /// Relations that begin at one dataset.
    pub const RELATIONS_PER_DATASET_MAX: usize = 1_000;
    /// Length of the type of a relation.
    pub const RELATION_TYPE_BYTES_MAX: usize = 64;
    /// Length of the description of a relation.
    pub const RELATION_DESCRIPTION_BYTES_MAX: usize = 1_000;
    /// Greatest weight of a relation; the least is 0.
    pub const RELATION_WEIGHT_MAX: f64 = 1_000_000.0;
    /// Weight of a relation that is entered without one.
    pub const RELATION_WEIGHT_DEFAULT: f64 = 1.0;

    /// Days that one usage report covers.
    pub const USAGE_DAYS_MAX: u32 = 90;
    /// Lines of one usage report (days × datasets, or days × datasets × keys).
    pub const USAGE_LINES_MAX: usize = 100_000;
    /// Entries that one page of an export carries.
    pub const ENTRIES_PER_PAGE_MAX: usize = 10_000;
    /// Newest records of the log whose entries are added up again at every start; `ledger verify` adds up all of them.
    pub const ENTRIES_CHECKED_AT_START_MAX: u64 = 4_096;
    /// Longest record that is read back from the store or from a backup.
    pub const RECORD_BYTES_MAX: usize = 64 * 1024;
    /// Records that a restored checkpoint is given at a time.
    pub const BACKUP_RECORDS_PER_STEP: usize = 4_096;
}

/// Bounds of the access control (`access/`).
pub mod access {
    /// Requests of one key or address in any 60 seconds, unless configured otherwise.
    pub const REQUESTS_PER_MINUTE: u32 = 120;
    /// Requests of one key or address in a UTC day, unless configured otherwise.
    pub const REQUESTS_PER_DAY: u32 = 5_000;
    /// Streams and downloads of one key at one time, unless configured otherwise.
    pub const STREAMS_PER_KEY_MAX: usize = 32;
    /// Requests of one key that are worked on at one time, unless configured otherwise.
    pub const REQUESTS_IN_FLIGHT_PER_KEY_MAX: usize = 64;
    /// Client addresses whose requests are counted at one time; the longest silent one makes room.
    pub const TRACKED_ADDRESSES_MAX: usize = 65_536;
    /// Keys whose requests are counted at one time.
    pub const TRACKED_KEYS_MAX: usize = super::ledger::KEYS_MAX;
    /// Parts of the meter table, each behind its own lock.
    pub const METER_SHARDS: usize = 16;
    /// Meters that are looked at to find one that makes room.
    pub const EVICTION_CANDIDATES: usize = 8;
    /// Requests of one subject closer together than this count as one moment.
    pub const WINDOW_GRAIN_MILLIS: i32 = 100;
    /// How often day counters and times of last use are written down.
    pub const KEEPER_INTERVAL_MILLIS: u64 = 1_000;
    /// Counters that one round of the keeper writes.
    pub const COUNTERS_PER_ROUND_MAX: usize = 4_096;
    /// Trusted proxy networks in the configuration.
    pub const TRUSTED_PROXIES_MAX: usize = 64;
    /// Addresses of an `X-Forwarded-For` header that are looked at, from the right.
    pub const FORWARDED_HOPS_MAX: usize = 16;
    /// Longest header value that is looked at as a key.
    pub const PRESENTED_KEY_BYTES_MAX: usize = 128;
}

/// Bounds of the HTTP layer (`http/`).
pub mod http {
    use std::time::Duration;

    /// Largest request body: `docs/API.md`, "Limits".
    pub const BODY_SIZE_BYTES_MAX: usize = 1024 * 1024;
    /// Largest request target (path and query).
    pub const TARGET_SIZE_BYTES_MAX: usize = 64 * 1024;
    /// Most query parameters of one request.
    pub const PARAMETER_COUNT_MAX: usize = 64;
    /// Most path segments that any route could have.
    pub const PATH_SEGMENT_COUNT_MAX: usize = 16;
    /// Rows of a page at most.
    pub const QUERY_LIMIT_MAX: u64 = 10_000;
    /// Rows of a stream at most.
    pub const STREAM_LIMIT_MAX: u64 = 1_000_000;
    /// From which part of a key's cap on, in percent, answers warn that it will be reached.
    pub const CAP_WARNING_PERCENT: u64 = 80;
    /// Below how many credits answers warn that those of a prepaid account run out. `--low-balance-credits`.
    pub const LOW_BALANCE_CREDITS: u64 = 1_000;
    /// Rows of a sample at most.
    pub const SAMPLE_ROW_COUNT_MAX: u32 = 100;
    /// Rows that are looked at for the examples of a schema.
    pub const EXAMPLE_ROW_COUNT_MAX: u32 = 20;
    /// Datasets of one catalog page at most.
    pub const LIST_LIMIT_MAX: u64 = 100;
    /// Datasets of one catalog page when nothing is asked.
    pub const LIST_LIMIT_DEFAULT: u64 = 20;
    /// Tags of one answer at most.
    pub const TAGS_LIMIT_MAX: u64 = 1_000;
    /// Tags of one answer when nothing is asked.
    pub const TAGS_LIMIT_DEFAULT: u64 = 100;
    /// Related datasets of one answer at most.
    pub const RELATED_LIMIT_MAX: u64 = 50;
    /// Related datasets of one answer when nothing is asked.
    pub const RELATED_LIMIT_DEFAULT: u64 = 5;
    /// Addresses of one file of the site map, as its standard allows.
    pub const SITEMAP_ADDRESSES_MAX: usize = 50_000;
    /// Media ranges of one `Accept` that are looked at.
    pub const ACCEPT_RANGE_COUNT_MAX: usize = 32;
    /// Entity tags of one `If-None-Match` that are looked at.
    pub const ENTITY_TAG_COUNT_MAX: usize = 64;

    /// What a refused client is told to wait.
    pub const RETRY_AFTER_BUSY_SECONDS: u32 = 1;
    /// What the client of a damaged dataset is told to wait.
    pub const RETRY_AFTER_QUARANTINED_SECONDS: u32 = 60;
    /// What the client of a dataset is told to wait whose store file is being verified.
    pub const RETRY_AFTER_VERIFYING_SECONDS: u32 = 2;

    /// Room that an answer buffer keeps free in front of its body for the head.
    pub const HEAD_ROOM_BYTES: usize = 2048;
    /// Bytes of a cell beside the name of its column, as a page answer reserves them before rendering.
    pub const CELL_SIZE_BYTES_GUESS: usize = 20;
    /// Most bytes reserved for a page before rendering.
    pub const PAGE_RESERVE_BYTES_MAX: usize = 1024 * 1024;

    /// A body that is shorter goes out as it is: encoded it would save no packet.
    pub const ENCODED_BODY_BYTES_MIN: usize = 1400;
    /// Level of gzip: the fastest that still finds repetitions.
    pub const GZIP_LEVEL: u32 = 1;
    /// Level of zstd.
    pub const ZSTD_LEVEL: i32 = 1;
    /// Window of zstd, as a power of two: 1 MiB.
    pub const ZSTD_WINDOW_LOG: u32 = 20;
    /// A downloaded file of so many bytes at most is hashed before it is sent.
    pub const DIGEST_BYTES_MAX: u64 = 1024 * 1024;
    /// The length of a download of a table with so many rows at most is counted when somebody asks for it, where the
    /// store file does not keep it.
    pub const COUNTED_AT_ONCE_ROWS_MAX: u32 = 100_000;
    /// Files whose lengths and hashes are remembered.
    pub const EXPORTS_REMEMBERED_MAX: usize = 256;

    /// Rows of the first unit of a stream; each unit is twice as long as the one before, until it has `UNIT_BYTES`.
    pub const STREAM_FIRST_ROWS: usize = 1;
    /// Rows of a unit of a stream at most.
    pub const STREAM_ROWS_MAX: usize = 8_192;
    /// Printed rows are handed to the connection in pieces of so many bytes, and count as delivered with them.
    pub const SENT_PIECE_BYTES: usize = 512 * 1024;
    /// Pieces up to this length are copied behind the length of their chunk, so that one write carries both.
    pub const COPIED_CHUNK_BYTES_MAX: usize = 16 * 1024;
    /// A stream without rows for so long sends a comment.
    pub const STREAM_PING_INTERVAL: Duration = Duration::from_secs(15);
    /// A stream carries an event id on every so many rows.
    pub const STREAM_ID_INTERVAL_ROWS: u64 = 1_000;
    /// Bytes of the faults that one refusal tells, at most, but for the first fault.
    pub const FAULTS_BYTES_MAX: usize = 64 * 1024;
    /// Threads that answer the operator.
    pub const ADMIN_WORKER_COUNT: usize = 4;
}

/// Bounds of the public socket (`net/`). Where a flag exists, this is its default; `docs/OPERATIONS.md` names the flags.
pub mod net {
    use std::time::Duration;

    /// Connections that are open at one time; one more is answered 503. `--max-connections`.
    pub const CONNECTIONS_MAX: usize = 16_384;
    /// Connections of one client address (an IPv6 /64 counts as one); one more is answered 429.
    /// `--max-connections-per-address`.
    pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 4_096;
    /// File descriptors that connections never take, so that datasets, books and private connections can be opened.
    pub const DESCRIPTORS_RESERVED: usize = 512;
    /// Connections that may wait to be accepted.
    pub const LISTEN_BACKLOG: i32 = 4_096;
    /// How long a peer may leave sent bytes unacknowledged.
    pub const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);
    /// Idle time before the kernel probes a connection.
    pub const TCP_KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
    /// Pause after `accept` failed, for instance because descriptors ran out.
    pub const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

    /// Longest request line, so also the longest target. `--max-request-line-bytes`.
    pub const REQUEST_LINE_BYTES_MAX: usize = 64 * 1024;
    /// All header lines of a request together. `--max-header-bytes`.
    pub const HEADER_BYTES_MAX: usize = 32 * 1024;
    /// Header lines of a request. `--max-headers`.
    pub const HEADER_COUNT_MAX: usize = 100;
    /// What `--max-headers` can be set to at most.
    pub const HEADER_COUNT_CEILING: usize = 256;
    /// Empty lines before a request that are overlooked.
    pub const EMPTY_LINES_MAX: usize = 4;
    /// Largest body of a request. `--max-body-bytes`.
    pub const BODY_BYTES_MAX: usize = super::http::BODY_SIZE_BYTES_MAX;
    /// Digits of a `Content-Length` that are read; more are a body above every limit.
    pub const LENGTH_DIGITS_MAX: usize = 15;
    /// One line of chunked coding, with its extensions.
    pub const CHUNK_LINE_BYTES_MAX: usize = 256;
    /// Trailer fields after a chunked body, all together.
    pub const TRAILER_BYTES_MAX: usize = 8 * 1024;
    /// Bodies above `BODY_BYTES_FREE` that are held at one time, over all connections.
    pub const BODY_BYTES_HELD_MAX: usize = 256 * 1024 * 1024;
    /// What each connection may hold of a body without asking.
    pub const BODY_BYTES_FREE: usize = 16 * 1024;

    /// From the first byte of a head to its last. `--head-seconds`.
    pub const HEAD_TIME: Duration = Duration::from_secs(10);
    /// From the end of a head to the end of its body. `--body-seconds`.
    pub const BODY_TIME: Duration = Duration::from_secs(30);
    /// How long a connection may stay open between requests. `--idle-seconds`.
    pub const IDLE_TIME: Duration = Duration::from_secs(60);
    /// How long a client may take to accept one piece of an answer. `--write-seconds`.
    pub const WRITE_TIME: Duration = Duration::from_secs(30);
    /// The piece of an answer that has to be accepted within `WRITE_TIME`.
    pub const WRITE_PIECE_BYTES: usize = 256 * 1024;
    /// How long a request waits for a free worker. `--queue-wait-millis`.
    pub const QUEUE_WAIT: Duration = Duration::from_secs(3);
    /// After a refusal: how long, and how many bytes, the rest of the request is read and dropped, so that the client
    /// sees the answer and not a reset.
    pub const LINGER_TIME: Duration = Duration::from_secs(2);
    /// The bytes of that.
    pub const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;

    /// First size of the buffer that a connection reads into.
    pub const INBOX_BYTES: usize = 4 * 1024;
    /// What is read of a body at a time.
    pub const BODY_READ_BYTES: usize = 64 * 1024;
    /// How long a client may take to accept one piece of a page that is not held, because too much is held already.
    pub const HURRIED_WRITE_TIME: Duration = Duration::from_millis(250);

    /// Workers that answer only health, readiness and metrics.
    pub const VITAL_WORKER_COUNT: usize = 2;
    /// Pause before the private connection is opened anew.
    pub const REOPEN_PAUSE: Duration = Duration::from_millis(100);

    /// Header of the private wire: address of the client. No client can set it.
    pub const CLIENT_HEADER: &str = "X-Edge-Client";
    /// Header of the private wire: microseconds that the request waited for a worker.
    pub const WAITED_HEADER: &str = "X-Edge-Waited";
    /// What all headers of the private wire begin with.
    pub const PRIVATE_PREFIX: &str = "x-edge-";
    /// Header of the private wire: the slot in which the socket of the client lies. No client can set it.
    pub const SLOT_HEADER: &str = "X-Edge-Slot";

    /// Requests of one class that may wait for a worker; those of one client at most three quarters of them.
    /// `--queue-length`.
    pub const QUEUE_LENGTH_MAX: usize = 4_096;
    /// From the hand-over of a request until a worker takes it up; above it the client is told that nobody did.
    pub const ANSWER_WAIT: Duration = Duration::from_secs(120);
    /// Waits for a worker shorter than this are not told to it.
    pub const WAIT_TOLD_FROM: Duration = Duration::from_millis(1);

    /// Events that one turn of the event loop takes.
    pub const EVENTS_PER_TURN: usize = 1024;
    /// Connections that one turn accepts.
    pub const ACCEPTS_PER_TURN: usize = 64;
    /// Steps (a read, a write, a request) that one connection makes in one turn.
    pub const PUMP_STEPS_MAX: usize = 8;
    /// How long the event loop sleeps at most while requests are in service: workers wake it only for what it waits for.
    pub const WORDS_PAUSE: Duration = Duration::from_secs(1);
    /// What is read at a time of what is dropped.
    pub const LINGER_READ_BYTES: usize = 64 * 1024;
    /// Commands that may wait for the event loop.
    pub const COMMANDS_MAX: usize = 16;

    /// The rest of a page up to this size is taken from its worker, however slowly the client reads.
    pub const REST_BYTES_MAX: usize = 16 * 1024 * 1024;
    /// All rests that are held so; beyond it a client has to read quickly (`HURRIED_WRITE_TIME`).
    pub const REST_BYTES_HELD_MAX: usize = 256 * 1024 * 1024;
    /// Small pieces of an answer that wait for a large one.
    pub const SMALL_PIECES_BYTES_MAX: usize = 1024;
}

/// Bounds of the catalog (`catalog/`) that are not tied to one file.
pub mod catalog {
    use std::time::Duration;

    /// Bytes a second at which open store files are compared with their checksums, unless configured otherwise.
    pub const PATROL_BYTES_PER_SECOND: u64 = 8 * 1024 * 1024;
    /// Most mebibytes a second that can be asked for.
    pub const PATROL_MEBIBYTES_MAX: u64 = 4096;
    /// A smaller block costs as much time as one of this size, so that many small files cost no more than few large ones.
    pub const PATROL_COST_BYTES_MIN: u64 = 64 * 1024;
    /// Pause between the start and the first round.
    pub const PATROL_FIRST_PAUSE: Duration = Duration::from_secs(60);
    /// Pause between two rounds.
    pub const PATROL_ROUND_PAUSE: Duration = Duration::from_secs(3600);

    /// Store files that are verified side by side.
    pub const VERIFICATION_FILES_AT_ONCE: usize = 4;
    /// Store files that stand in the line of those to be verified; further ones come in when it is empty.
    pub const VERIFICATION_LINE_FILES_MAX: usize = 1_024;
    /// How often the log hears how far the verification is.
    pub const VERIFICATION_REPORT_PAUSE: Duration = Duration::from_secs(5);
    /// The start waits so long at most for the verification, so that small store files are never seen unverified.
    pub const VERIFICATION_START_WAIT: Duration = Duration::from_secs(2);
    /// How often the start looks whether it is done.
    pub const VERIFICATION_START_POLL: Duration = Duration::from_millis(2);
}

/// Bounds of printing (`render/`).
pub mod render {
    /// Bytes of the first unit of a download; each unit may be twice as long as the one before, until it has `UNIT_BYTES`.
    pub const FIRST_UNIT_BYTES: u64 = 32 * 1024;
    /// Bytes that a unit of rows should have: enough to be worth a hand-over, few enough to stay in the caches.
    pub const UNIT_BYTES: u64 = 512 * 1024;
    /// A unit is handed over in pieces of about this size where its rows are longer than expected; one row may be longer.
    pub const UNIT_BYTES_MAX: usize = 1024 * 1024;
    /// Cells that neighbouring columns may have together to be printed as one.
    pub const JOINED_CELLS_MAX: u32 = 1024;
    /// Bytes that those cells may take; beyond that the columns stay alone.
    pub const JOINED_BYTES_MAX: usize = 128 * 1024;
    /// Fewest rows of a unit that are worth putting such cells together.
    pub const JOINED_ROWS_MIN: usize = 1024;
    /// Units that are printed ahead of one connection, the one being sent included.
    pub const UNITS_AHEAD_EACH: usize = 5;
    /// Units that are printed ahead of all connections together: with `UNIT_BYTES_MAX` the memory that this takes.
    pub const UNITS_AHEAD_MAX: usize = 24;
    /// Characters of a text that stands for a column in its statistics; a longer one is cut.
    pub const STATISTICS_TEXT_CHARACTERS_MAX: usize = 256;
}

/// Bounds of the log (`logging.rs`).
pub mod log {
    use std::time::Duration;

    /// Lines that may wait to be written; further ones are counted and dropped.
    pub const LINES_QUEUED_MAX: usize = 16 * 1024;
    /// How long lines are gathered before they are written together.
    pub const GATHER_PAUSE: Duration = Duration::from_millis(5);
    /// How long the end of the program waits for the last lines.
    pub const FLUSH_WAIT: Duration = Duration::from_secs(1);
}

/// Bounds of the operator's orders (`operator/`).
pub mod operator {
    /// Accounts of one page.
    pub const ACCOUNTS_PER_PAGE_MAX: usize = 1_000;
    /// Entries of one page.
    pub const ENTRIES_PER_PAGE_MAX: usize = 1_000;
    /// Relations of one page.
    pub const RELATIONS_PER_PAGE_MAX: usize = 1_000;
}

/// Bounds of search (`search/`).
pub mod search {
    use std::time::Duration;

    /// Fewest characters of a question, without the spaces around it.
    pub const QUESTION_CHARS_MIN: usize = 2;
    /// Most characters of a question.
    pub const QUESTION_CHARS_MAX: usize = 200;
    /// Words of a question that are looked at.
    pub const QUESTION_WORDS_MAX: usize = 48;
    /// Results of one answer at most.
    pub const RESULTS_MAX: u64 = 50;
    /// Results of one answer when nothing is asked.
    pub const RESULTS_DEFAULT: u64 = 10;
    /// How far into the results pages reach.
    pub const RESULTS_REACH_MAX: u64 = LEXICAL_CANDIDATES_MAX as u64;
    /// Characters of a word that are compared.
    pub const WORD_CHARS_MAX: usize = 48;
    /// Groups of the lexicon.
    pub const CONCEPTS_MAX: usize = 4_096;
    /// Words of one term of the lexicon, stop words not counted.
    pub const PHRASE_WORDS_MAX: usize = 5;
    /// Bytes of a methodology that are searched, from its beginning.
    pub const METHODOLOGY_BYTES_MAX: usize = 16 * 1024;
    /// Columns of a dataset whose names and descriptions are searched.
    pub const COLUMNS_MAX: usize = 1_000;
    /// Bytes of the description of one column that are searched.
    pub const COLUMN_NOTE_BYTES_MAX: usize = 1_024;
    /// Unknown words of one question that are compared with all known ones.
    pub const UNKNOWN_WORDS_MAX: usize = 8;
    /// Known words that may stand in for one unknown word.
    pub const NEIGHBOURS_MAX: usize = 8;
    /// Bytes of a description in which a snippet is looked for.
    pub const SNIPPET_SOURCE_BYTES_MAX: usize = 4 * 1024;
    /// Characters of a snippet.
    pub const SNIPPET_CHARS_MAX: usize = 240;
    /// Datasets found by words that are compared with the question's vector, best first.
    pub const LEXICAL_CANDIDATES_MAX: usize = 500;
    /// Datasets found by vector alone that can be among the results.
    pub const VECTOR_CANDIDATES_MAX: usize = 200;
    /// Best datasets that a cross-encoder looks at.
    pub const RERANKED_MAX: usize = 20;
    /// How long a question waits for its vector.
    pub const VECTOR_WAIT: Duration = Duration::from_millis(100);
    /// How long a cross-encoder may take for one question.
    pub const RERANK_WAIT: Duration = Duration::from_millis(400);
    /// How long a question waits for the first index after the start.
    pub const FIRST_INDEX_WAIT: Duration = Duration::from_secs(2);
    /// How long a question waits for a publication to be indexed, where that is known to be quick.
    pub const FRESH_INDEX_WAIT: Duration = Duration::from_millis(100);
    /// What a client is told to wait while the first index is being made.
    pub const RETRY_AFTER_INDEXING_SECONDS: u32 = 2;
    /// How often the indexer looks by itself whether the catalog changed.
    pub const INDEX_POLL: Duration = Duration::from_millis(200);
    /// After an index was made, the next one waits so many times as long as that took.
    pub const INDEX_REST_FACTOR: u32 = 3;
    /// The longest such rest.
    pub const INDEX_REST_MAX: Duration = Duration::from_secs(5);
}
