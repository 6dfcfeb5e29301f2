//! The state of a dataset in words.

use super::words::OperatorWords;
use mercato_catalog::Dataset;

/// How a dataset stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Everything is sound.
    Serving,
    /// Its store file waits for its verification.
    Verifying,
    /// Its store file is not on this machine.
    Away,
    /// An older version is served in place of a damaged one.
    FallenBack,
    /// It is served, and something else about it is wrong.
    Warned,
    /// It is out of service.
    Quarantined,
}

impl State {
    /// The state of a dataset that is not quarantined.
    pub fn of(dataset: &Dataset) -> Self {
        if dataset.current.is_away() {
            Self::Away
        } else if !dataset.current.is_verified() {
            Self::Verifying
        } else if dataset.falls_back() {
            Self::FallenBack
        } else if !dataset.damaged.is_empty() || dataset.record_fault.is_some() {
            Self::Warned
        } else {
            Self::Serving
        }
    }

    pub const fn text(self, words: &'static OperatorWords) -> &'static str {
        match self {
            Self::Serving => words.state_serving,
            Self::Verifying => words.state_verifying,
            Self::Away => words.state_away,
            Self::FallenBack => words.state_fallen_back,
            Self::Warned => words.state_warned,
            Self::Quarantined => words.state_quarantined,
        }
    }

    /// Class of the words.
    pub const fn tone(self) -> &'static str {
        match self {
            Self::Serving => "good",
            Self::Verifying | Self::Away | Self::FallenBack | Self::Warned => "warn",
            Self::Quarantined => "bad",
        }
    }
}
