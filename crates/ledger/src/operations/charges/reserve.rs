//! Sets aside the highest price of a stream, whose size is unknown.

use std::sync::Arc;

use super::claims::Begun;
use super::sell::reads;
use crate::account::Payment;
use crate::codec::Record;
use crate::entry::{Entry, EntryKind};
use crate::error::{ChargeError, Unavailable};
use crate::id::ReservationId;
use crate::key_space;
use crate::limits::OPEN_RESERVATIONS_MAX;
use crate::operation::{Makes, Operation, Reads};
use crate::progress::Progress;
use crate::request::{ChargeRequest, Reserved};
use crate::reservation_record::{ReservationRecord, ReservedFile};
use crate::state::{OpenReservation, State, signed};

pub struct Reserve<'r>(pub &'r ChargeRequest);

impl Operation for Reserve<'_> {
    type Outcome = Reserved;
    type Refusal = ChargeError;

    fn reads(&self) -> Reads {
        reads(self.0).making(Makes::Reservation)
    }

    fn decide(&self, books: &mut State) -> Result<Reserved, ChargeError> {
        let request = self.0;
        books.open(request.account.id())?;
        let paid_before = books.paid_rows_of(request)?;
        let price = books.price(request, paid_before);
        let begun = books.begin_answer(request, paid_before, price)?;
        books.set_aside(request, &begun, None)
    }
}

impl State {
    /// Takes the payment and opens a reservation for it.
    pub fn set_aside(
        &mut self,
        request: &ChargeRequest,
        begun: &Begun,
        file: Option<ReservedFile>,
    ) -> Result<Reserved, ChargeError> {
        if self.reservations.len() >= OPEN_RESERVATIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        let Begun { claim, payment, is_replayed } = *begun;
        // What costs nothing prolongs no payment.
        let view =
            request.view.as_ref().filter(|viewed| viewed.is_remembered && payment != Payment::Credits(0));
        let (account, key, at) = (request.account.id(), request.key, request.at);
        self.check_caps(account, key, payment.credits(), at)?;
        self.latest = self.latest.max(at);
        let sequence = match payment {
            Payment::Credits(0) => 0,
            Payment::Credits(cost) => self.append(Entry {
                request_id: &request.request_id,
                dataset: &request.dataset,
                key,
                ..Entry::new(account, EntryKind::Reserve, -signed(cost), at)
            })?,
            Payment::FreeQuery(month) => {
                self.use_free_query(account, month)?;
                0
            }
        };
        let id = ReservationId::from_number(self.next_reservation);
        self.next_reservation += 1;
        let (request_id, dataset) = (request.request_id.clone(), request.dataset.clone());
        let record = ReservationRecord {
            id,
            account,
            key,
            payment,
            sequence,
            delivered: 0,
            at,
            request_id,
            dataset,
            file,
            claim,
            view: view.map(|viewed| viewed.view),
        };
        let (credits, paid_before) = (record.credits(), record.paid_before());
        let progress = Progress::new(at);
        self.written.changes.put(key_space::reservation(id), record.encode());
        self.reservations.insert(id, OpenReservation { record, progress: Arc::clone(&progress) });
        self.change_account(account, |found| {
            found.reserved = found.reserved.checked_add(credits)?;
            found.open.insert(id);
            Some(())
        })?;
        let remaining = self.account(account)?.record.balance.credits;
        let caps = self.caps(account, key, at)?;
        Ok(Reserved { id, account, key, progress, credits, remaining, is_replayed, paid_before, caps })
    }
}
