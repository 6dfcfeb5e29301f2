//! The options of a publication: from the command line, or else inherited from the previous version.
//!
//! Handles options and column names only.

use std::fmt;
use std::path::Path;

use mercato_catalog::publish::last_choices;
use mercato_catalog::{Choices, DataDirectory, IndexChoice, Manifest};
use semver::Version;
use serde::Serialize;

use super::publish::PublishArguments;
use crate::convert::{Conversion, SortIndex};
use crate::failure::Failure;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OptionsLine {
    /// `all`, `none`, or names separated by commas.
    pub sort_index: String,
    pub drop: Vec<String>,
    /// The version that options were inherited from.
    pub taken_from: Option<String>,
    /// Inherited names that the file does not have.
    pub absent: Vec<String>,
}

impl fmt::Display for OptionsLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dropped = if self.drop.is_empty() { "nothing".to_owned() } else { self.drop.join(",") };
        write!(out, "sort index: {}; dropped: {dropped}", self.sort_index)?;
        if let Some(version) = &self.taken_from {
            write!(out, " (as {version} was made; --sort-index, --drop and --no-drop say otherwise)")?;
        }
        if !self.absent.is_empty() {
            write!(out, "; passed over, not in the file: {}", self.absent.join(","))?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub struct PublicationOptions {
    /// The options that the next publication inherits.
    pub choices: Choices,
    taken_from: Option<Version>,
    inherited_index: bool,
    inherited_drop: bool,
}

impl PublicationOptions {
    fn new(choices: Choices) -> PublicationOptions {
        PublicationOptions { choices, taken_from: None, inherited_index: false, inherited_drop: false }
    }

    /// The options of a conversion, without inherited ones.
    #[must_use]
    pub fn from_conversion(conversion: &Conversion) -> PublicationOptions {
        let choices =
            Choices { sort_index: index_choice(&conversion.sort_index), drop: conversion.drop.clone() };
        PublicationOptions::new(choices)
    }

    /// The options of the command line. Missing ones are inherited from the previous version.
    pub fn from_arguments(
        arguments: &PublishArguments,
        data: &DataDirectory,
        folder: &Path,
    ) -> Result<PublicationOptions, Failure> {
        let last = last_choices(data, &Manifest::load(folder)?.slug)?;
        let typed_index = arguments.options.sort_index.as_ref().map(index_choice);
        let types_drop = arguments.no_drop || !arguments.options.drop.is_empty();
        let typed_drop = types_drop.then(|| arguments.options.drop.clone());
        let Some((version, last)) = last.filter(|_| typed_index.is_none() || typed_drop.is_none()) else {
            let choices = Choices {
                sort_index: typed_index.unwrap_or(IndexChoice::All),
                drop: typed_drop.unwrap_or_default(),
            };
            return Ok(PublicationOptions::new(choices));
        };
        let (inherited_index, inherited_drop) = (typed_index.is_none(), typed_drop.is_none());
        let choices = Choices {
            sort_index: typed_index.unwrap_or(last.sort_index),
            drop: typed_drop.unwrap_or(last.drop),
        };
        Ok(PublicationOptions { choices, taken_from: Some(version), inherited_index, inherited_drop })
    }

    /// Sets the options of a conversion. Inherited names that no file has are passed over.
    pub fn apply(&self, conversion: &mut Conversion) {
        conversion.sort_index = match &self.choices.sort_index {
            IndexChoice::All => SortIndex::All,
            IndexChoice::None => SortIndex::None,
            IndexChoice::Only(names) => SortIndex::Only(names.clone()),
        };
        conversion.drop = self.choices.drop.clone();
        (conversion.inherited_index, conversion.inherited_drop) = (self.inherited_index, self.inherited_drop);
    }

    /// The options for the report, with the inherited names that no file has.
    #[must_use]
    pub fn line(&self, absent: &[String]) -> OptionsLine {
        OptionsLine {
            sort_index: match &self.choices.sort_index {
                IndexChoice::All => "all".to_owned(),
                IndexChoice::None => "none".to_owned(),
                IndexChoice::Only(names) => names.join(","),
            },
            drop: self.choices.drop.clone(),
            taken_from: self.taken_from.as_ref().map(ToString::to_string),
            absent: absent.to_vec(),
        }
    }
}

fn index_choice(index: &SortIndex) -> IndexChoice {
    match index {
        SortIndex::All => IndexChoice::All,
        SortIndex::None => IndexChoice::None,
        SortIndex::Only(names) => IndexChoice::Only(names.clone()),
    }
}
