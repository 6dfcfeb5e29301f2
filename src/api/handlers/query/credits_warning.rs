//! `X-Credits-Warning`: announces that a cap of the key or the credits of the account will soon be used up.
//!
//! Never refuses a request.

use crate::api::app::App;
use mercato_ledger::{AccountHandle, CapStanding, Plan};
use mercato_web::Response;

/// Percentage of a key's cap from which responses warn.
const CAP_WARNING_PERCENT: u64 = 80;

/// Adds a warning if the response leaves the key near one of its caps, or a prepaid account with few credits.
pub fn with_credits_warning(
    app: &App,
    response: Response,
    account: &AccountHandle,
    caps: &[CapStanding],
    remaining: u64,
) -> Response {
    let warnings = credits_warnings(app, account, caps, remaining);
    if warnings.is_empty() {
        return response;
    }
    response.with_header("X-Credits-Warning", warnings.join(", "))
}

/// Caps of the key that are nearly used up, and a low balance.
pub fn credits_warnings(
    app: &App,
    account: &AccountHandle,
    caps: &[CapStanding],
    remaining: u64,
) -> Vec<String> {
    let mut warnings: Vec<String> = caps.iter().filter(|cap| is_near(cap)).map(cap_warning).collect();
    if account.plan() == Plan::Prepaid && remaining < app.low_balance_credits {
        warnings.push(format!("low-balance; remaining={remaining}"));
    }
    warnings
}

fn is_near(standing: &CapStanding) -> bool {
    let (spent, cap) = (u128::from(standing.spent), u128::from(standing.cap));
    spent * 100 >= cap * u128::from(CAP_WARNING_PERCENT)
}

/// Periods end at midnight, so the time has whole seconds.
fn cap_warning(standing: &CapStanding) -> String {
    let CapStanding { period, cap, spent, resets_at } = standing;
    let day = resets_at.day();
    format!("{}-cap; spent={spent}; cap={cap}; resetsAt={day}T00:00:00Z", period.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_base::clock::UtcDay;
    use mercato_ledger::CapPeriod;

    #[test]
    fn warns_from_eighty_percent_of_cap() {
        let standing = |spent, cap| CapStanding {
            period: CapPeriod::Month,
            cap,
            spent,
            resets_at: UtcDay::from_civil(2026, 12, 1).start(),
        };
        for (spent, cap, expected) in
            [(0, 10, false), (7, 10, false), (8, 10, true), (10, 10, true), (799, 1_000, false), (0, 0, true)]
        {
            assert_eq!(is_near(&standing(spent, cap)), expected, "{spent} of {cap}");
        }
        assert!(is_near(&standing(u64::MAX, u64::MAX)));
        let told = cap_warning(&standing(8, 10));
        assert_eq!(told, "month-cap; spent=8; cap=10; resetsAt=2026-12-01T00:00:00Z");
    }
}
