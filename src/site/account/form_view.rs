//! A rendered form: fields with labels, hints and faults, tied together for screen readers.
//!
//! Does not depend on the kind of form. Never shows the content of a password field again.

use askama::Template;

use super::dataset_field::DatasetField;
use crate::site::url::Url;

#[derive(Template)]
#[template(path = "account/form.html")]
pub struct FormView {
    action: String,
    /// The name of the form, and the text of its button.
    name: &'static str,
    hidden: Vec<(&'static str, String)>,
    inputs: Vec<Input>,
    problem: Option<String>,
    is_dangerous: bool,
}

pub struct Input {
    id: String,
    name: &'static str,
    label: &'static str,
    kind: &'static str,
    value: String,
    autocomplete: &'static str,
    choices: Vec<Choice>,
    datasets: Option<DatasetField>,
    hint: Option<String>,
    fault: Option<String>,
    is_required: bool,
}

struct Choice {
    value: String,
    text: String,
}

impl FormView {
    /// A form that is sent to `action` by a button with this text.
    pub fn new(action: &Url, name: &'static str) -> Self {
        let (hidden, inputs) = (Vec::new(), Vec::new());
        Self { action: action.to_string(), name, hidden, inputs, problem: None, is_dangerous: false }
    }

    /// Adds a field.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.inputs.push(input);
        self
    }

    /// Adds a hidden value.
    #[must_use]
    pub fn hidden(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.hidden.push((name, value.into()));
        self
    }

    /// States a fault of the form as a whole.
    #[must_use]
    pub fn problem(mut self, problem: Option<String>) -> Self {
        self.problem = problem;
        self
    }

    /// Marks a form that cannot be undone.
    #[must_use]
    pub fn dangerous(mut self) -> Self {
        self.is_dangerous = true;
        self
    }
}

impl Input {
    /// A field of a form. `form` and `name` make its id.
    pub fn new(form: &str, name: &'static str, kind: &'static str, label: &'static str) -> Self {
        Self {
            id: format!("{form}-{name}"),
            name,
            label,
            kind,
            value: String::new(),
            autocomplete: "off",
            choices: Vec::new(),
            datasets: None,
            hint: None,
            fault: None,
            is_required: false,
        }
    }

    /// Sets the text typed before, except in a password field.
    #[must_use]
    pub fn value(mut self, value: &str) -> Self {
        if self.kind != "password" {
            value.clone_into(&mut self.value);
        }
        self
    }

    /// Sets the kind of value that a browser may fill in.
    #[must_use]
    pub fn autocomplete(self, autocomplete: &'static str) -> Self {
        Self { autocomplete, ..self }
    }

    /// Sets the choices: values and texts.
    #[must_use]
    pub fn choices(mut self, choices: &[(&str, &str)]) -> Self {
        let choice =
            |(value, text): &(&str, &str)| Choice { value: (*value).to_owned(), text: (*text).to_owned() };
        self.choices = choices.iter().map(choice).collect();
        self
    }

    /// Offers datasets.
    #[must_use]
    pub fn datasets(self, datasets: DatasetField) -> Self {
        Self { datasets: Some(datasets), ..self }
    }

    /// A sentence below the field.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Sets the fault of the typed text.
    #[must_use]
    pub fn fault(self, fault: Option<String>) -> Self {
        Self { fault, ..self }
    }

    /// Nothing is sent without it.
    #[must_use]
    pub fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Ids of the elements that describe the field.
    fn described_by(&self) -> String {
        let parts = [self.fault.as_ref().map(|_| "fault"), self.hint.as_ref().map(|_| "hint")];
        let ids: Vec<String> =
            parts.into_iter().flatten().map(|part| format!("{}-{part}", self.id)).collect();
        ids.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_field_to_fault_and_hint_and_hides_password() {
        let email =
            Input::new("x", "email", "email", "E-mail").value("\"><script>").fault(Some("no".to_owned()));
        let password = Input::new("x", "password", "password", "Password").value("secret-secret").hint("ten");
        let form = FormView::new(&Url::of_path("/m", "/a"), "Send").input(email).input(password);
        let html = form.render().unwrap();
        assert!(
            html.contains("action=\"/m/a\"") && !html.contains("secret-secret") && !html.contains("<script"),
            "{html}"
        );
        assert!(html.contains("aria-invalid=\"true\" aria-describedby=\"x-email-fault\""), "{html}");
        assert!(
            html.contains("aria-describedby=\"x-password-hint\"") && html.contains("id=\"x-password-hint\""),
            "{html}"
        );
    }
}
