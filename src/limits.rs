//! Limits that are documented for clients and operators, or that several modules share. Each has its unit in its name.
//!
//! Constants only, grouped by folder. A limit of a single module stands in that module.

/// Buffers of at least this size are returned to the system when freed.
pub const GIVEN_BACK_BYTES_MIN: usize = 512 * 1024;

/// Bounds of the books (`ledger/`).
pub mod ledger {
    /// Changed records that trigger a checkpoint at once.
    pub const CHECKPOINT_RECORDS_MAX: usize = 65_536;
    /// With process durability: longest time until acknowledged records survive a power loss.
    pub const PROCESS_SYNC_MILLIS_MAX: u64 = 100;
    /// Interval of progress notes of open reservations.
    pub const PROGRESS_NOTE_MILLIS: u64 = 200;
    /// Background settlements in one batch of the log.
    pub const SETTLEMENTS_PER_BATCH_MAX: usize = 1_024;
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

    /// Sessions of one account; one more ends the oldest.
    pub const SESSIONS_PER_ACCOUNT_MAX: usize = 16;
    /// Sessions that one ledger holds.
    pub const SESSIONS_MAX: usize = 1_000_000;
    /// From the sign-in to the end of a session, however much it is used.
    pub const SESSION_SECONDS_MAX: i64 = 30 * 86_400;
    /// A session ends when it was not used for so long.
    pub const SESSION_IDLE_SECONDS_MAX: i64 = 7 * 86_400;
    /// The last use of a session is known to so many seconds.
    pub const SESSION_SEEN_GRAIN_SECONDS: i64 = 600;
    /// One-time tokens of one account; one more takes the place of the oldest.
    pub const TOKENS_PER_ACCOUNT_MAX: usize = 4;
    /// One-time tokens that one ledger holds.
    pub const TOKENS_MAX: usize = 1_000_000;

    /// Credits in one purchase or grant.
    pub const CREDITS_PER_PURCHASE_MAX: u64 = 1_000_000_000_000;
    /// How long a checkout waits for its payment; providers close theirs after as long.
    pub const CHECKOUT_SECONDS: i64 = 86_400;
    /// Checkouts of one account that wait for their payment at one time.
    pub const UNPAID_CHECKOUTS_MAX: usize = 16;
    /// Checkouts of one page.
    pub const CHECKOUTS_PER_PAGE_MAX: usize = 100;
    /// Greatest price of one purchase in cents, tax included: eight digits, as Stripe takes them.
    pub const PRICE_GROSS_MAX: u64 = 99_999_999;
    /// Disputes of one payment.
    pub const DISPUTES_PER_PAYMENT_MAX: usize = 16;
    /// Credits that one account may hold; far below what 63 bits hold.
    pub const BALANCE_CREDITS_MAX: u64 = 1_000_000_000_000_000;
    /// Price of 1,000 credits in cents of a euro, VAT excluded.
    pub const CENTS_PER_THOUSAND_CREDITS: u64 = 500;
    /// Free queries of an account in a calendar month, unless configured otherwise.
    pub const FREE_QUERIES_PER_MONTH: u32 = 100;
    /// Greatest `limit` of one free query, unless configured otherwise.
    pub const FREE_ROWS_PER_QUERY: u64 = 100;
    /// How long an `Idempotency-Key` is remembered.
    pub const IDEMPOTENCY_HOURS: i64 = 24;
    /// How long rows that were paid on the site are not paid again.
    pub const PAID_VIEW_HOURS: i64 = 24;
    /// Rows of a view that are remembered one by one as paid. Beyond them the oldest payments are forgotten.
    pub const PAID_VIEW_ROWS_MAX: usize = 10_000;
    /// How long a paid download may be read again in ranges.
    pub const DOWNLOAD_GRANT_HOURS: i64 = 24;
    /// Expired records removed in one round.
    pub const EXPIRED_PER_ROUND_MAX: usize = 256;

    /// Relations between datasets that one ledger holds.
    pub const RELATIONS_MAX: usize = 100_000;
    /// Relations that begin at one dataset.
    pub const RELATIONS_PER_DATASET_MAX: usize = 1_000;
    /// Greatest weight of a relation; the least is 0.
    pub const RELATION_WEIGHT_MAX: f64 = 1_000_000.0;
    /// Default weight of a relation.
    pub const RELATION_WEIGHT_DEFAULT: f64 = 1.0;

    /// Days that one usage report covers.
    pub const USAGE_DAYS_MAX: u32 = 90;
    /// Entries that one page of an export carries.
    pub const ENTRIES_PER_PAGE_MAX: usize = 10_000;
    /// Segments of the log that one search for the entries of an account reads.
    pub const HISTORY_SEGMENTS_MAX: usize = 2;
    /// Newest records of the log whose entries are added up again at every start; `ledger verify` adds up all of them.
    pub const ENTRIES_CHECKED_AT_START_MAX: u64 = 4_096;
}

/// Bounds of the access control (`access/`).
pub mod access {
    /// Requests of one key or address in any 60 seconds, unless configured otherwise.
    pub const REQUESTS_PER_MINUTE: u32 = 120;
    /// Requests of one key or address in a UTC day, unless configured otherwise.
    pub const REQUESTS_PER_DAY: u32 = 5_000;
    /// Streams and downloads of one key at one time, unless configured otherwise.
    pub const STREAMS_PER_KEY_MAX: usize = 32;
    /// Concurrent requests of one key, by default.
    pub const REQUESTS_IN_FLIGHT_PER_KEY_MAX: usize = 64;
    /// Client addresses whose requests are counted at one time; the longest silent one makes room.
    pub const TRACKED_ADDRESSES_MAX: usize = 65_536;
    /// Fewest characters of a password.
    pub const PASSWORD_CHARS_MIN: usize = 10;
    /// Most characters of a password.
    pub const PASSWORD_CHARS_MAX: usize = 128;
}

/// Bounds of the HTTP layer (`http/`).
pub mod http {
    /// Largest request body: `docs/API.md`, "Limits".
    pub const BODY_SIZE_BYTES_MAX: usize = 1024 * 1024;
    /// Rows of a page at most.
    pub const QUERY_LIMIT_MAX: u64 = 10_000;
    /// Rows of a stream at most.
    pub const STREAM_LIMIT_MAX: u64 = 1_000_000;
    /// Matches that an answer counts which costs nothing; it tells more only as "at least" so many.
    pub const COUNT_TOLD_MAX: u64 = 10_000;
    /// Balance of a prepaid account below which responses warn. `--low-balance-credits`.
    pub const LOW_BALANCE_CREDITS: u64 = 1_000;
    /// Values compared for one free count that no index answers.
    pub const TESTED_VALUES_MAX: u64 = 10_000_000;
    /// Texts searched for one free count: entries of a dictionary, else rows.
    pub const SEARCHED_TEXTS_MAX: u64 = 1_000_000;
    /// Seconds of processor time that one search may take. `--work-seconds`.
    pub const WORK_SECONDS: u64 = 2;
    /// Milliseconds of processor time of a search whose client has ended its sending side; a longer one is stopped.
    pub const HALF_CLOSED_WORK_MILLIS: u64 = 10;
    /// Rows of a sample at most.
    pub const SAMPLE_ROW_COUNT_MAX: u32 = 100;
    /// Datasets of one catalog page at most.
    pub const LIST_LIMIT_MAX: u64 = 100;
    /// Default datasets of one catalog page.
    pub const LIST_LIMIT_DEFAULT: u64 = 20;
    /// Limit of tags in one response.
    pub const TAGS_LIMIT_MAX: u64 = 1_000;
    /// Default tags in one response.
    pub const TAGS_LIMIT_DEFAULT: u64 = 100;
    /// Limit of related datasets in one response.
    pub const RELATED_LIMIT_MAX: u64 = 50;
    /// Default related datasets in one response.
    pub const RELATED_LIMIT_DEFAULT: u64 = 5;
    /// Media ranges examined in one `Accept`.
    pub const ACCEPT_RANGE_COUNT_MAX: usize = 32;

    /// `Retry-After` of a busy response.
    pub const RETRY_AFTER_BUSY_SECONDS: u32 = 1;

    /// Shortest body that is encoded: encoding a shorter one would save no packet.
    pub const ENCODED_BODY_BYTES_MIN: usize = 1400;

    /// Limit of bytes of validation errors in one response, except the first error.
    pub const FAULTS_BYTES_MAX: usize = 64 * 1024;
}

/// Bounds of the Model Context Protocol and of `llms.txt` (`http/handlers/mcp/`, `http/handlers/discovery/`).
pub mod mcp {
    /// Tags that a search names.
    pub const TAGS_MAX: usize = 8;
    /// Datasets that a list passes over.
    pub const OFFSET_MAX: u64 = 1_000_000;
    /// Bytes of a description in a list of datasets.
    pub const SUMMARY_BYTES_MAX: usize = 300;
    /// Default rows of a sample.
    pub const SAMPLE_ROWS_DEFAULT: u64 = 5;
    /// Default rows of a query; `QUERY_LIMIT_MAX` is the most.
    pub const QUERY_ROWS_DEFAULT: u64 = 50;
    /// Bytes of the rows of one result, except that it has at least one row; the cursor leads on.
    pub const ROWS_BYTES_MAX: usize = 1024 * 1024;
    /// Credits that one call may cost, unless `maxCredits` says otherwise.
    pub const CREDITS_DEFAULT: u64 = 1_000;
}

pub mod net;

/// Bounds of the catalog (`catalog/`) that are not tied to one file.
pub mod catalog {
    /// Default rate of the scrubber in bytes per second.
    pub const SCRUB_BYTES_PER_SECOND: u64 = 8 * 1024 * 1024;
}

/// Bounds of rendering (`render/`).
pub mod render {
    /// Bytes that a unit of rows should have: enough to be worth a hand-over, few enough to stay in the caches, and less
    /// than buffers that are returned to the system when freed.
    pub const UNIT_BYTES: u64 = 448 * 1024;
    /// A unit is handed over in pieces of about this size where its rows are longer than expected; one row may be longer.
    pub const UNIT_BYTES_MAX: usize = 1024 * 1024;
    /// Rows of an Arrow record batch at most.
    pub const ARROW_BATCH_ROWS_MAX: usize = 65_536;
    /// Rows of a sheet that are encoded together at most. A row is much longer as XML than as it is sent.
    pub const XLSX_UNIT_ROWS_MAX: usize = 2_048;
    /// Bytes of an Arrow record batch at most, if it has more than one row.
    pub const ARROW_BATCH_BYTES: usize = UNIT_BYTES_MAX;
    /// Entries of a dictionary in an Arrow stream at most. A column with more is sent as plain texts.
    pub const ARROW_DICTIONARY_ENTRIES_MAX: u32 = 65_536;
    /// Bytes of a dictionary in an Arrow stream at most.
    pub const ARROW_DICTIONARY_BYTES_MAX: usize = 1024 * 1024;
    /// Bytes of all dictionaries of an Arrow stream at most; columns behind them are sent as plain texts.
    pub const ARROW_DICTIONARIES_BYTES_MAX: usize = 4 * 1024 * 1024;
}

/// Bounds of the operator's commands (`operator/`).
pub mod operator {
    /// From the sign-in to the operator's pages to its end, however much it is used.
    pub const SIGN_IN_SECONDS: i64 = 8 * 3_600;
    /// Wrong tokens of one client address in `WRONG_TOKENS_WINDOW_SECONDS` at the admin listener.
    pub const WRONG_TOKENS_PER_ADDRESS_MAX: usize = 10;
    /// The time over which wrong tokens count.
    pub const WRONG_TOKENS_WINDOW_SECONDS: i64 = 60;
}

/// Bounds of `site.toml` (`branding`).
pub mod branding {
    /// Length of the name of the place and of a link.
    pub const NAME_CHARS_MAX: usize = 80;
    /// Length of the line below the name.
    pub const TAGLINE_CHARS_MAX: usize = 200;
    /// Length of the text of the home page.
    pub const ABOUT_CHARS_MAX: usize = 4_000;
    /// Packs of credits.
    pub const PACKS_MAX: usize = 12;
    /// Width of the picture that previews of links show.
    pub const CARD_WIDTH_PIXELS: u32 = 1_200;
    /// Height of that picture.
    pub const CARD_HEIGHT_PIXELS: u32 = 630;
}

/// Bounds of the pages for people (`site/`).
pub mod site {
    /// Datasets of one page of the list.
    pub const DATASETS_PER_PAGE: usize = 20;
    /// Newest versions on the home page.
    pub const NEWEST_MAX: usize = 8;
    /// Length of the address to which a sign-in leads back; that of a view may have many conditions.
    pub const NEXT_BYTES_MAX: usize = 3 * 1024;
    /// Rows that one page of a view shows and charges.
    pub const VIEW_ROWS_PER_PAGE: u64 = 50;
    /// Lines of one table of an account.
    pub const ACCOUNT_LINES_MAX: usize = 100;
    /// Lines of one page of the operator's lists.
    pub const OPERATOR_LINES_PER_PAGE: usize = 50;
}

/// Bounds of search (`search/`).
pub mod search {
    /// Fewest characters of a question, without the spaces around it.
    pub const QUESTION_CHARS_MIN: usize = 2;
    /// Most characters of a question.
    pub const QUESTION_CHARS_MAX: usize = 200;
    /// Limit of results on a page.
    pub const RESULTS_MAX: u64 = 50;
    /// Default results on a page.
    pub const RESULTS_DEFAULT: u64 = 10;
    /// Limit of results over all pages.
    pub const RESULTS_REACH_MAX: u64 = LEXICAL_CANDIDATES_MAX as u64;
    /// Datasets found by words that are compared with the question's vector, best first.
    pub const LEXICAL_CANDIDATES_MAX: usize = 500;
    /// `Retry-After` while the first search index is being built.
    pub const RETRY_AFTER_INDEXING_SECONDS: u32 = 2;
}
