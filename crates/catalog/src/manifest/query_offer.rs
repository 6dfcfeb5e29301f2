//! What a publisher offers to queries: `[query]` in dataset.toml.

use serde::{Deserialize, Deserializer};

/// Whether groups are offered, and how small they may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { groups = \"on\", min_group_rows = 10 }")]
pub struct QueryOffer {
    /// `groups = "on"` or `"off"`: whether group queries are answered. Default: on.
    #[serde(deserialize_with = "on_or_off")]
    pub groups: bool,
    /// Rows that a group must have to be in an answer. Default: 0.
    pub min_group_rows: u32,
}

impl Default for QueryOffer {
    fn default() -> Self {
        Self { groups: true, min_group_rows: 0 }
    }
}

impl QueryOffer {
    /// `groups` as it is written.
    pub const fn groups_word(&self) -> &'static str {
        if self.groups { "on" } else { "off" }
    }
}

fn on_or_off<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let word = String::deserialize(deserializer)?;
    match word.as_str() {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(serde::de::Error::custom(format!("groups: expected \"on\" or \"off\", found `{word}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_offer_and_its_defaults() {
        let read =
            |text: &str| toml::from_str::<QueryOffer>(text).map_err(|error| error.message().to_owned());
        assert_eq!(read(""), Ok(QueryOffer { groups: true, min_group_rows: 0 }));
        let off = QueryOffer { groups: false, min_group_rows: 5 };
        assert_eq!(read("groups = \"off\"\nmin_group_rows = 5\n"), Ok(off));
        assert!(
            read("groups = \"maybe\"").unwrap_err().contains("expected \"on\" or \"off\", found `maybe`")
        );
        assert!(read("min_group_rows = -1").is_err() && read("group = \"on\"").is_err());
    }
}
