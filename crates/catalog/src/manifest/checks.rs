//! Checks of single fields of a manifest. Errors have the place of the field in the text.

use std::collections::BTreeMap;

use toml::Spanned;

use crate::manifest::column_type::ColumnType;
use crate::manifest::{
    ColumnNote, DESCRIPTION_LENGTH_CHARS_MAX, LIST_LENGTH_MAX, LocalizedText, SpannedError,
    TAG_LENGTH_CHARS_MAX,
};
use crate::slug::Slug;

pub(super) fn check_keep(keep: Spanned<usize>) -> Result<usize, SpannedError> {
    let most = crate::publish::RETAINED_VERSION_COUNT_MAX;
    if (1..=most).contains(keep.get_ref()) {
        return Ok(keep.into_inner());
    }
    Err((keep.span(), format!("keep_versions is 1 to {most}, found {}", keep.get_ref())))
}

pub(super) fn check_tags(tags: Vec<Spanned<String>>) -> Result<Vec<String>, SpannedError> {
    if let Some(extra) = tags.get(LIST_LENGTH_MAX) {
        return Err((extra.span(), format!("more than {LIST_LENGTH_MAX} tags")));
    }
    let mut checked: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags {
        let text = tag.get_ref().trim();
        if text.is_empty() || text.chars().count() > TAG_LENGTH_CHARS_MAX {
            return Err((tag.span(), format!("a tag is 1 to {TAG_LENGTH_CHARS_MAX} characters")));
        }
        if !checked.iter().any(|present| present == text) {
            checked.push(text.to_owned());
        }
    }
    Ok(checked)
}

pub(super) fn check_related(related: Vec<Spanned<String>>) -> Result<Vec<Slug>, SpannedError> {
    if let Some(extra) = related.get(LIST_LENGTH_MAX) {
        return Err((extra.span(), format!("more than {LIST_LENGTH_MAX} related datasets")));
    }
    let check =
        |slug: Spanned<String>| Slug::parse(slug.get_ref()).map_err(|error| (slug.span(), error.to_string()));
    related.into_iter().map(check).collect()
}

pub(super) fn check_text(
    text: Option<Spanned<LocalizedText>>,
    length_max: usize,
) -> Result<LocalizedText, SpannedError> {
    let Some(text) = text else { return Ok(LocalizedText::default()) };
    let span = text.span();
    let text = text.into_inner();
    if text.all().any(|value| value.trim().is_empty() || value.chars().count() > length_max) {
        return Err((span, format!("a text of 1 to {length_max} characters is expected in each language")));
    }
    Ok(text)
}

pub(super) fn check_columns(
    columns: BTreeMap<String, Spanned<ColumnNote>>,
) -> Result<BTreeMap<String, ColumnNote>, SpannedError> {
    let check = |(name, note): (String, Spanned<ColumnNote>)| {
        let span = note.span();
        let note = note.into_inner();
        let too_long = note.description.all().any(|text| text.chars().count() > DESCRIPTION_LENGTH_CHARS_MAX);
        let nested = matches!(note.example, Some(toml::Value::Array(_) | toml::Value::Table(_)));
        let wrong_type = note.r#type.as_deref().and_then(|text| text.parse::<ColumnType>().err());
        match (too_long, nested, wrong_type) {
            (true, ..) => Err((span, format!("column `{name}`: description is too long"))),
            (_, true, _) => Err((span, format!("column `{name}`: example must be a single value"))),
            (.., Some(message)) => Err((span, format!("column `{name}`: type: {message}"))),
            _ => Ok((name, note)),
        }
    };
    columns.into_iter().map(check).collect()
}

/// Line and column, both counted from one. A position behind the end counts as the end.
pub(super) fn line_and_column(text: &str, position: usize) -> (usize, usize) {
    let before = text.get(..position).unwrap_or(text);
    let line = before.matches('\n').count().saturating_add(1);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
    (line, column)
}
