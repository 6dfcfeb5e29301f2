//! Executes the command of a form, as the admin listener does.

use super::done::Done;
use super::operator_visit::OperatorVisit;
use super::secret::Secret;
use crate::api::{App, Incoming, command_context};
use crate::operator::Command;
use crate::site::url::Url;
use mercato_web::{ApiError, ErrorKind, Response};

/// What the browser gets after a form was carried out.
pub enum FormOutcome {
    /// A redirect to the page, which says this.
    Done(Done),
    /// The page of a secret.
    Secret(Secret),
}

impl FormOutcome {
    /// The answer: back to the page of the form, or the secret, from which `onwards` leads on.
    pub fn answer(
        self,
        request: &Incoming,
        operator: &OperatorVisit,
        page: &Url,
        onwards: &Url,
    ) -> Result<Response, ApiError> {
        match self {
            Self::Done(done) => Ok(operator.done(request, done, page)),
            Self::Secret(secret) => secret.answer(request, operator, onwards),
        }
    }
}

/// Why a form was not carried out.
pub enum FormError {
    /// A fault that the page shows with the form.
    Refused(String),
    Failed(ApiError),
}

pub fn execute<C: Command>(app: &App, request: &Incoming, command: &C) -> Result<C::Outcome, FormError> {
    command.execute(&command_context(app, request)?).map_err(|error| {
        let text = error.to_string();
        let error = ApiError::from(error);
        match error.kind() {
            ErrorKind::Unavailable | ErrorKind::Internal | ErrorKind::NotFound => FormError::Failed(error),
            _ => FormError::Refused(text),
        }
    })
}

impl From<String> for FormError {
    fn from(text: String) -> Self {
        Self::Refused(text)
    }
}

impl From<ApiError> for FormError {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}
