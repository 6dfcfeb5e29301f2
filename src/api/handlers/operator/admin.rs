//! The books over the operator's listener: one path for commands.
//!
//! `POST /admin/v1/commands` with `{"command":"buyCredits","account":"acc_1","credits":1000}` and the operator's token.
//! `operator` defines and executes the commands; this file transports them.

use crate::api::app::App;
use crate::api::books_errors::from_books;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route};
use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use crate::operator::{CommandError, Context, OperatorCommand};
use mercato_ledger::{BackupError, BooksError};
use mercato_payments::ReconcileError;
use mercato_web::{ApiError, ErrorKind, Method, Response, random_bytes, validation_error};

/// Paths of this file.
pub const ROUTES: &[Route] = &[Route::new(Method::Post, "/admin/v1/commands", Guard::Operator, execute)];

fn execute(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let command: OperatorCommand = request.read_json()?;
    Response::data(&command.execute(&command_context(app, request)?)?)
}

/// The context of a command that came with this request.
pub fn command_context<'a>(app: &'a App, request: &Incoming) -> Result<Context<'a>, ApiError> {
    Ok(Context {
        ledger: &app.ledger,
        payments: Some(&app.payments),
        now: request.now(),
        request_id: request.request_id().to_owned(),
        random: random_bytes()?,
    })
}

impl From<CommandError> for ApiError {
    fn from(error: CommandError) -> Self {
        let message = error.to_string();
        let hint = "see docs/OPERATIONS.md for the fields of a command";
        match error {
            CommandError::Id(_) => validation_error("NOT_AN_ID", "", message, hint),
            CommandError::Range { field, .. } => {
                validation_error("OUT_OF_RANGE", &format!("/{field}"), message, hint)
            }
            CommandError::Ledger(BooksError::Invalid { field, .. }) => {
                validation_error("COMMAND_INVALID", &format!("/{field}"), message, hint)
            }
            CommandError::Ledger(BooksError::UnknownAccount { .. }) => {
                Self::new(ErrorKind::NotFound, message).with_reason("UNKNOWN_ACCOUNT", "list the accounts")
            }
            CommandError::Ledger(BooksError::AccountClosed { .. }) => Self::new(ErrorKind::Conflict, message)
                .with_reason("ACCOUNT_CLOSED", "create another account"),
            CommandError::Login(_) => validation_error("COMMAND_INVALID", "/account", message, hint),
            CommandError::Ledger(error) => from_books(error),
            CommandError::Reconcile(ReconcileError::Books(error)) => from_books(error),
            CommandError::Reconcile(ReconcileError::Provider(_)) => {
                // The message may repeat what the provider said, because only the operator reads this listener.
                Self::unavailable(message, RETRY_AFTER_BUSY_SECONDS)
                    .with_reason("PROVIDER_UNAVAILABLE", "try again later; webhooks go on in the meantime")
            }
            CommandError::Reconcile(_) => Self::new(ErrorKind::Conflict, message)
                .with_reason("NOT_RECONCILED", "see docs/OPERATIONS.md, \"Payments\""),
            CommandError::Backup(BackupError::Ledger(error)) => from_books(error),
            CommandError::Backup(error) => {
                // The message may name files, because only the operator reads this listener.
                Self::new(ErrorKind::Conflict, error.to_string())
                    .with_reason("BACKUP_FAILED", "choose a folder that the server can write to")
            }
        }
    }
}
