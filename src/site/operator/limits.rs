//! The limits of a key in a form.

use super::forms::optional_number;
use super::operator_visit::OperatorVisit;
use super::words::OperatorWords;
use crate::operator::NewLimits;
use crate::site::account::dataset_field::{DATASETS, DatasetField, names};
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};

/// Reads the limits of a form. The command checks them.
pub fn read(operator: &OperatorVisit, form: &Form) -> Result<NewLimits, String> {
    let end = form.text("end");
    Ok(NewLimits {
        credits_per_day: optional_number(operator, form.text("day"))?,
        credits_per_month: optional_number(operator, form.text("month"))?,
        datasets: names(form.text(DATASETS)),
        expires_at: (!end.is_empty()).then(|| end.to_owned()),
    })
}

/// A form with the fields of limits.
pub fn add_fields(
    form: FormView,
    words: &'static OperatorWords,
    datasets: DatasetField,
    input: impl Fn(&'static str, &'static str, &'static str) -> Input,
) -> FormView {
    form.input(input("day", "number", words.cap_day).hint(words.cap_hint))
        .input(input("month", "number", words.cap_month).hint(words.cap_hint))
        .input(input(DATASETS, "text", words.only_datasets).datasets(datasets).hint(words.only_datasets_hint))
        .input(input("end", "text", words.end).hint(words.end_hint))
}
