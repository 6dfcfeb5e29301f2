//! Bounds of the books.

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
pub const CHECKOUTS_PER_PAGE_MAX: usize = 100;
/// Greatest price of one purchase in cents, tax included: eight digits, as Stripe takes them.
pub const PRICE_GROSS_MAX: u64 = 99_999_999;
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
/// Client addresses whose requests are counted at one time; the longest silent one makes room.
pub const TRACKED_ADDRESSES_MAX: usize = 65_536;
