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

    /// Length of an e-mail address.
    pub const EMAIL_BYTES_MAX: usize = 254;
    /// Length of the part of an e-mail address before its `@`.
    pub const EMAIL_LOCAL_BYTES_MAX: usize = 64;
    /// Length of a password hash, as a PHC string.
    pub const PASSWORD_HASH_BYTES_MAX: usize = 128;
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
    /// How long a token confirms an e-mail address.
    pub const CONFIRM_EMAIL_SECONDS: i64 = 2 * 86_400;
    /// How long a token resets a password.
    pub const RESET_PASSWORD_SECONDS: i64 = 3_600;

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
    /// Free queries of an account that never bought credits, in a calendar month.
    pub const FREE_QUERIES_PER_MONTH: u32 = 100;
    /// Rows of one free query.
    pub const FREE_ROWS_PER_QUERY_MAX: u64 = 10_000;
    /// How long an `Idempotency-Key` is remembered.
    pub const IDEMPOTENCY_HOURS: i64 = 24;
    /// How long a paid download may be read again in ranges.
    pub const DOWNLOAD_GRANT_HOURS: i64 = 24;
    /// Expired records removed in one round.
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
    /// Default weight of a relation.
    pub const RELATION_WEIGHT_DEFAULT: f64 = 1.0;

    /// Days that one usage report covers.
    pub const USAGE_DAYS_MAX: u32 = 90;
    /// Entries that one page of an export carries.
    pub const ENTRIES_PER_PAGE_MAX: usize = 10_000;
    /// Segments of the log that one look for the entries of an account reads.
    pub const HISTORY_SEGMENTS_MAX: usize = 2;
    /// How long a look for the entries of an account waits for another one.
    pub const HISTORY_WAIT: std::time::Duration = std::time::Duration::from_millis(1_000);
    /// Newest records of the log whose entries are added up again at every start; `ledger verify` adds up all of them.
    pub const ENTRIES_CHECKED_AT_START_MAX: u64 = 4_096;
}

/// Bounds of payments (`payments/`).
pub mod payments {
    use std::time::Duration;

    /// Largest notification of a provider; those of Stripe have a few KiB.
    pub const NOTIFICATION_BYTES_MAX: usize = 256 * 1024;
    /// How far from now a notification may have been signed.
    pub const SIGNATURE_TOLERANCE_SECONDS: u64 = 300;
    /// Signatures of one notification that are compared.
    pub const SIGNATURES_MAX: usize = 8;
    /// Time of one call to a provider.
    pub const CALL_SECONDS_MAX: u64 = 10;
    /// Calls to a provider at one time for which customers wait.
    pub const CALLS_MAX: usize = 4;
    /// Largest answer of a provider.
    pub const ANSWER_BYTES_MAX: u64 = 8 * 1024 * 1024;
    /// How far back a comparison with the provider looks.
    pub const RECONCILE_SECONDS: i64 = 30 * 86_400;
    /// Pages of one list that a comparison reads, of 100 objects each.
    pub const RECONCILE_PAGES_MAX: usize = 100;
    /// Findings of a comparison that are named; the others are counted.
    pub const RECONCILE_TOLD_MAX: usize = 100;
    /// From one comparison to the next.
    pub const RECONCILE_EVERY: Duration = Duration::from_secs(3_600);
    /// The same after one that failed.
    pub const RECONCILE_RETRY: Duration = Duration::from_secs(300);
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
    /// E-mail addresses whose sign-ins are counted at one time; the longest silent one makes room.
    pub const TRACKED_EMAILS_MAX: usize = 65_536;
    /// The time over which failed sign-ins count.
    pub const SIGN_IN_WINDOW_SECONDS: i64 = 15 * 60;
    /// Failed sign-ins of one client address in that time.
    pub const SIGN_INS_PER_ADDRESS_MAX: usize = 50;
    /// Failed sign-ins with one e-mail address in that time, from all client addresses together.
    pub const SIGN_INS_PER_EMAIL_MAX: usize = 10;
    /// Sign-ups of one client address in any 24 hours.
    pub const SIGN_UPS_PER_ADDRESS_MAX: usize = 5;
    /// Mails that one client address may have sent in any 24 hours.
    pub const MAILS_PER_ADDRESS_MAX: usize = 20;
    /// Mails to one e-mail address in any 24 hours.
    pub const MAILS_PER_EMAIL_MAX: usize = 5;
    /// Fewest characters of a password.
    pub const PASSWORD_CHARS_MIN: usize = 10;
    /// Most characters of a password.
    pub const PASSWORD_CHARS_MAX: usize = 128;
    /// Memory of one computation of a password hash, in KiB.
    pub const PASSWORD_HASH_KIB: u32 = 19 * 1024;
    /// Password hashes that are computed at one time.
    pub const PASSWORD_HASHES_MAX: usize = 4;
    /// How long a computation waits for another one to end, before it is refused.
    pub const PASSWORD_WAIT: std::time::Duration = std::time::Duration::from_millis(500);
    /// Trusted proxy networks in the configuration.
    pub const TRUSTED_PROXIES_MAX: usize = 64;
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
    /// Rows of a page at most.
    pub const QUERY_LIMIT_MAX: u64 = 10_000;
    /// Rows of a stream at most.
    pub const STREAM_LIMIT_MAX: u64 = 1_000_000;
    /// Percentage of a key's cap from which responses warn.
    pub const CAP_WARNING_PERCENT: u64 = 80;
    /// Balance of a prepaid account below which responses warn. `--low-balance-credits`.
    pub const LOW_BALANCE_CREDITS: u64 = 1_000;
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
    /// Addresses of one file of the site map, as its standard allows.
    pub const SITEMAP_ADDRESSES_MAX: usize = 50_000;
    /// Media ranges examined in one `Accept`.
    pub const ACCEPT_RANGE_COUNT_MAX: usize = 32;

    /// `Retry-After` of a busy response.
    pub const RETRY_AFTER_BUSY_SECONDS: u32 = 1;
    /// `Retry-After` for a damaged dataset.
    pub const RETRY_AFTER_QUARANTINED_SECONDS: u32 = 60;
    /// `Retry-After` for a dataset whose store file is being verified.
    pub const RETRY_AFTER_VERIFYING_SECONDS: u32 = 2;

    /// Shortest body that is encoded: encoding a shorter one would save no packet.
    pub const ENCODED_BODY_BYTES_MIN: usize = 1400;
    /// Largest downloaded file that is hashed before it is sent.
    pub const DIGEST_BYTES_MAX: u64 = 1024 * 1024;

    /// Rows of a unit of a stream at most.
    pub const STREAM_ROWS_MAX: usize = 8_192;
    /// A stream without rows for so long sends a comment.
    pub const STREAM_PING_INTERVAL: Duration = Duration::from_secs(15);
    /// Rows between two event ids of a stream.
    pub const STREAM_ID_INTERVAL_ROWS: u64 = 1_000;
    /// Limit of bytes of validation errors in one response, except the first error.
    pub const FAULTS_BYTES_MAX: usize = 64 * 1024;
}

/// Bounds of the Model Context Protocol and of `llms.txt` (`http/handlers/mcp/`, `http/handlers/discovery/`).
pub mod mcp {
    /// Messages of one batch, which only the revision 2025-03-26 has. Each counts as a request.
    pub const BATCH_MESSAGES_MAX: usize = 8;
    /// Brackets inside brackets of a body.
    pub const DEPTH_MAX: usize = 64;
    /// Length of the id of a request, as written.
    pub const ID_BYTES_MAX: usize = 256;
    /// Arguments of one call.
    pub const ARGUMENTS_MAX: usize = 32;
    /// Faults of one call that its result names.
    pub const FAULTS_TOLD_MAX: usize = 10;
    /// Names that one fault lists.
    pub const NAMES_TOLD_MAX: usize = 50;
    /// Tags that a search names.
    pub const TAGS_MAX: usize = 8;
    /// Datasets that a list passes over.
    pub const OFFSET_MAX: u64 = 1_000_000;
    /// Bytes of a description in a list of datasets.
    pub const SUMMARY_BYTES_MAX: usize = 300;
    /// Bytes of the description of a dataset.
    pub const DESCRIPTION_BYTES_MAX: usize = 4_000;
    /// Columns of one description; `columnOffset` leads on.
    pub const COLUMNS_TOLD_MAX: usize = 100;
    /// Versions of one description, newest first.
    pub const VERSIONS_TOLD_MAX: usize = 10;
    /// Rows of a sample, unless asked for otherwise.
    pub const SAMPLE_ROWS_DEFAULT: u64 = 5;
    /// Rows of a query, unless asked for otherwise. At most `QUERY_LIMIT_MAX` can be.
    pub const QUERY_ROWS_DEFAULT: u64 = 50;
    /// Bytes of the rows of one result, except that one row is always told; the cursor leads on.
    pub const ROWS_BYTES_MAX: usize = 1024 * 1024;
    /// Credits that one call may cost, unless `maxCredits` says otherwise.
    pub const CREDITS_DEFAULT: u64 = 1_000;
    /// Values that are compared to count matches for a caller without a key.
    pub const TESTED_VALUES_MAX: u64 = 10_000_000;
    /// Texts that are searched to count matches for a caller without a key.
    pub const SEARCHED_TEXTS_MAX: u64 = 1_000_000;
    /// How long a client may keep the list of tools.
    pub const TOOLS_TTL_MILLIS: u64 = 3_600_000;
    /// Datasets that `llms.txt` names.
    pub const LLMS_DATASETS_MAX: usize = 100;
}

pub mod net;

/// Bounds of the catalog (`catalog/`) that are not tied to one file.
pub mod catalog {
    /// Default rate of the scrubber in bytes per second.
    pub const SCRUB_BYTES_PER_SECOND: u64 = 8 * 1024 * 1024;
}

/// Bounds of rendering (`render/`).
pub mod render {
    /// Bytes that a unit of rows should have: enough to be worth a hand-over, few enough to stay in the caches.
    pub const UNIT_BYTES: u64 = 512 * 1024;
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
    use std::time::Duration;

    /// Browsers that are signed in to the operator's pages at one time; one more ends the oldest.
    pub const SIGN_INS_MAX: usize = 16;
    /// From the sign-in to the operator's pages to its end, however much it is used.
    pub const SIGN_IN_SECONDS: i64 = 8 * 3_600;
    /// Sent forms that one sign-in remembers, so that none is done twice.
    pub const FORMS_REMEMBERED_MAX: usize = 256;
    /// Length of the number that a form carries for that.
    pub const FORM_NUMBER_BYTES_MAX: usize = 64;
    /// Time between two samples of the history of metrics.
    pub const HISTORY_INTERVAL: Duration = Duration::from_secs(10);
    /// Samples that are kept: those of an hour and its first moment.
    pub const HISTORY_SAMPLES_MAX: usize = 361;
    /// Accounts of one page.
    pub const ACCOUNTS_PER_PAGE_MAX: usize = 1_000;
    /// Entries of one page.
    pub const ENTRIES_PER_PAGE_MAX: usize = 1_000;
    /// Relations of one page.
    pub const RELATIONS_PER_PAGE_MAX: usize = 1_000;
}

/// Bounds of `site.toml` (`branding`).
pub mod branding {
    /// Size of the file.
    pub const SITE_FILE_BYTES_MAX: u64 = 64 * 1024;
    /// Length of the name of the place and of a link.
    pub const NAME_CHARS_MAX: usize = 80;
    /// Length of the line below the name.
    pub const TAGLINE_CHARS_MAX: usize = 200;
    /// Length of the text of the home page.
    pub const ABOUT_CHARS_MAX: usize = 4_000;
    /// Length of an address.
    pub const ADDRESS_CHARS_MAX: usize = 2_000;
    /// Links at the foot of every page.
    pub const LINKS_MAX: usize = 12;
    /// Packs of credits.
    pub const PACKS_MAX: usize = 12;
    /// Lowest price of a pack in cents, without tax; providers take no less.
    pub const PACK_CENTS_MIN: u64 = 50;
    /// Highest price of a pack in cents, without tax: with a tax of 100 % it is below `ledger::PRICE_GROSS_MAX`.
    pub const PACK_CENTS_MAX: u64 = 49_999_999;
    /// Length of the address of the seller, all lines together.
    pub const SELLER_ADDRESS_CHARS_MAX: usize = 400;
    /// Lines of the address of the seller.
    pub const SELLER_ADDRESS_LINES_MAX: usize = 8;
    /// Length of the number of the seller for the value added tax.
    pub const VAT_NUMBER_CHARS_MAX: usize = 40;
    /// Size of the picture.
    pub const LOGO_BYTES_MAX: u64 = 256 * 1024;
}

/// Bounds of the pages for people (`site/`).
pub mod site {
    /// Bytes of the query of a page that its links repeat.
    pub const QUERY_BYTES_MAX: usize = 4 * 1024;
    /// Ranges of one `Accept-Language` that are looked at.
    pub const LANGUAGE_RANGE_COUNT_MAX: usize = 32;
    /// Cookies of one request that are looked at.
    pub const COOKIE_COUNT_MAX: usize = 64;
    /// Datasets of one page of the list.
    pub const DATASETS_PER_PAGE: usize = 20;
    /// Results of a search over which facets are counted, where there are no more.
    pub const RESULTS_COUNTED_MAX: usize = 60;
    /// Tags that one question may name.
    pub const TAGS_CHOSEN_MAX: usize = 8;
    /// Values of one facet that are shown.
    pub const FACET_VALUES_MAX: usize = 15;
    /// Featured datasets on the home page.
    pub const FEATURED_MAX: usize = 6;
    /// Newest versions on the home page.
    pub const NEWEST_MAX: usize = 8;
    /// Tags on the home page.
    pub const HOME_TAGS_MAX: usize = 30;
    /// Datasets in the table of prices.
    pub const PRICED_MAX: usize = 10;
    /// Size of a form of the account area.
    pub const FORM_BYTES_MAX: usize = 16 * 1024;
    /// Length of one field of such a form; lists of datasets need the most.
    pub const FIELD_BYTES_MAX: usize = 12 * 1024;
    /// Length of the address to which a sign-in leads back.
    pub const NEXT_BYTES_MAX: usize = 1024;
    /// Entries of one page of an account.
    pub const ENTRIES_PER_PAGE: usize = 50;
    /// Purchases of one page of an account.
    pub const PURCHASES_PER_PAGE: usize = 20;
    /// Newest entries on the first page of an account.
    pub const NEWEST_ENTRIES_MAX: usize = 5;
    /// Rows that one page of a view shows and charges.
    pub const VIEW_ROWS_PER_PAGE: u64 = 50;
    /// Columns that such a page shows; files have all of them.
    pub const VIEW_COLUMNS_MAX: usize = 20;
    /// Characters of a value on such a page; files have all of them.
    pub const VIEW_CELL_CHARS_MAX: usize = 80;
    /// Lines of one table of an account.
    pub const ACCOUNT_LINES_MAX: usize = 100;
    /// Lines of one page of the operator's lists.
    pub const OPERATOR_LINES_PER_PAGE: usize = 50;
    /// Folders of datasets that the page on publications looks into.
    pub const FOLDERS_LOOKED_AT_MAX: usize = 20_000;
    /// Slugs that one list of the status page names.
    pub const STATUS_SLUGS_MAX: usize = 50;
    /// Entries of a feed.
    pub const FEED_ENTRIES_MAX: usize = 50;
    /// Characters of a description in a list.
    pub const SUMMARY_CHARS_MAX: usize = 240;
    /// Characters of the text of an entry of a feed.
    pub const FEED_TEXT_CHARS_MAX: usize = 2_000;
}

/// Bounds of mail (`mail/`).
pub mod mail {
    use std::time::Duration;

    /// Mails that may wait to be written and sent; one more is dropped and counted.
    pub const MAILS_QUEUED_MAX: usize = 256;
    /// Mails that wait for another attempt; one more is given up.
    pub const MAILS_RETRIED_MAX: usize = 256;
    /// Pauses before a mail is tried again. After the last attempt it is given up.
    pub const RETRY_PAUSES: [Duration; 4] =
        [Duration::from_secs(1), Duration::from_secs(15), Duration::from_secs(120), Duration::from_secs(600)];
    /// Longest wait for the server of mail to connect or to answer.
    pub const SMTP_WAIT: Duration = Duration::from_secs(10);
    /// How long the end of the server waits for mails that are on their way.
    pub const END_WAIT: Duration = Duration::from_secs(5);
    /// Size of the file with the password of the server of mail.
    pub const PASSWORD_FILE_BYTES_MAX: u64 = 4 * 1024;
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
    /// Columns of a dataset whose names and descriptions are searched.
    pub const COLUMNS_MAX: usize = 1_000;
    /// Datasets found by words that are compared with the question's vector, best first.
    pub const LEXICAL_CANDIDATES_MAX: usize = 500;
    /// `Retry-After` while the first search index is being built.
    pub const RETRY_AFTER_INDEXING_SECONDS: u32 = 2;
}
