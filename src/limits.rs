//! Limits that are documented for clients and operators, or that several modules share. Each has its unit in its name.
//!
//! Constants only, grouped by folder. A limit of a single module stands in that module.

/// Buffers of at least this size are returned to the system when freed.
pub const GIVEN_BACK_BYTES_MIN: usize = 512 * 1024;

/// Bounds of the HTTP layer (`api/`).
pub mod api {
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
    pub const WORK_SECONDS: f64 = 2.0;
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

/// Bounds of the Model Context Protocol and of `llms.txt` (`api/handlers/mcp/`, `api/handlers/discovery/`).
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
