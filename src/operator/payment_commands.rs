//! Commands on payments: list checkouts, and compare the books with the payment provider.

use super::execute::{CommandError, Context, check_range, find};
use super::output::CommandOutput;
use super::payment_output::{FoundPayment, PaymentLine, Payments, Reconciliation, UnexplainedPayment};
use mercato_ledger::PurchasesQuery;
use mercato_ledger::limits::CHECKOUTS_PER_PAGE_MAX;
use mercato_payments::ReconcileError;

pub(super) fn list(
    context: &Context<'_>,
    account: Option<&str>,
    before: Option<u64>,
    limit: Option<usize>,
) -> Result<CommandOutput, CommandError> {
    let limit = limit.unwrap_or(CHECKOUTS_PER_PAGE_MAX);
    check_range("limit", limit as u64, CHECKOUTS_PER_PAGE_MAX as u64)?;
    let account = account.map(|account| find(context.ledger, account)).transpose()?;
    let query = PurchasesQuery { account: account.map(|account| account.id()), before, limit };
    let page = context.ledger.purchases(&query)?;
    let payments = page.purchases.iter().map(|checkout| PaymentLine::of(checkout, context.now)).collect();
    Ok(CommandOutput::Payments(Payments { payments, next_before: page.before }))
}

pub(super) fn reconcile(context: &Context<'_>) -> Result<CommandOutput, CommandError> {
    let payments = context.payments.ok_or(CommandError::Reconcile(ReconcileError::NoProvider))?;
    let report = payments.reconcile(context.ledger, context.now)?;
    Ok(CommandOutput::Reconciliation(Reconciliation {
        listed: report.listed,
        found: report.found.iter().map(FoundPayment::of).collect(),
        found_count: report.found_count,
        unexplained: report.unexplained.iter().map(UnexplainedPayment::of).collect(),
        unexplained_count: report.unexplained_count,
        complete: !report.is_cut,
    }))
}
