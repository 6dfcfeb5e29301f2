//! The forms of one page: numbered, filled in again after a refusal, and confirmed by a tick where they are irreversible.
//!
//! Does not depend on the work of a form.

use std::cell::Cell;

use super::operator_visit::{ACTION, CONFIRM, ONCE, OperatorVisit};
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::url::Url;
use crate::site::words::fill;

/// The value of a tick.
const YES: &str = "yes";

/// A form that was refused.
pub struct Refused<'f> {
    /// The fields as they were sent.
    pub form: &'f Form,
    /// The fault, in the language of the visit.
    pub text: String,
}

/// The forms of one page.
pub struct Forms<'d> {
    operator: &'d OperatorVisit,
    to: Url,
    refused: Option<Refused<'d>>,
    is_shown: Cell<bool>,
}

impl<'d> Forms<'d> {
    /// Forms that are sent to a page.
    pub fn new(operator: &'d OperatorVisit, to: Url, refused: Option<Refused<'d>>) -> Self {
        Self { operator, to, refused, is_shown: Cell::new(false) }
    }

    /// The status of the page.
    pub fn status(&self) -> u16 {
        if self.refused.is_some() { 422 } else { 200 }
    }

    /// A form with this text on its button.
    pub fn form(&self, action: &'static str, name: &'static str) -> FormView {
        let refused = self.refused_of(action).map(|refused| refused.text.clone());
        self.is_shown.set(self.is_shown.get() || refused.is_some());
        FormView::new(&self.to, name)
            .hidden(ACTION, action)
            .hidden(ONCE, self.number(action))
            .problem(refused)
    }

    /// The fault of a refused form that the page no longer shows. Call it after the forms are made.
    pub fn unplaced_problem(&self) -> Option<String> {
        let refused = self.refused.as_ref().filter(|_| !self.is_shown.get());
        refused.map(|refused| refused.text.clone())
    }

    /// The number of a form of this page.
    pub fn number(&self, action: &str) -> String {
        format!("{}-{action}", self.operator.once)
    }

    /// A field of a form, with what was typed before.
    pub fn input(
        &self,
        action: &'static str,
        name: &'static str,
        kind: &'static str,
        label: &'static str,
    ) -> Input {
        Input::new(action, name, kind, label).value(self.typed(action, name))
    }

    /// What was typed into a field of a refused form.
    pub fn typed(&self, action: &str, name: &str) -> &str {
        self.refused_of(action).map_or("", |refused| refused.form.raw(name))
    }

    /// The tick that confirms an irreversible form.
    pub fn confirmation(&self, action: &'static str) -> Input {
        Input::new(action, CONFIRM, "checkbox", self.operator.words.confirm).value(YES).required()
    }

    /// Whether a form was refused.
    pub fn is_refused(&self, action: &str) -> bool {
        self.refused_of(action).is_some()
    }

    fn refused_of(&self, action: &str) -> Option<&Refused<'d>> {
        self.refused.as_ref().filter(|refused| refused.form.raw(ACTION) == action)
    }
}

/// Checks that an irreversible form was ticked; the error is a text for the form.
pub fn confirmed(operator: &OperatorVisit, form: &Form) -> Result<(), String> {
    if form.raw(CONFIRM) == YES { Ok(()) } else { Err(operator.words.confirm_missing.to_owned()) }
}

/// A whole number, or why there is none.
pub fn number(operator: &OperatorVisit, text: &str) -> Result<u64, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let shown = || text.chars().take(40).collect::<String>();
    text.parse().ok().filter(|_| is_plain).ok_or_else(|| fill(operator.words.not_a_number, shown()))
}

/// A whole number, or nothing where nothing was typed.
pub fn optional_number(operator: &OperatorVisit, text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() { Ok(None) } else { number(operator, text).map(Some) }
}
