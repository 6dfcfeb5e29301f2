//! Steps of payments that the books and a plain model take side by side, with spending between them. Does not depend on where
//! histories come from.

use mercato_ledger::{
    AccountId, CancelCheckout, Checkout, EntryKind, Ledger, PaidCheckout, ReversalEvent, Reversed,
};

use crate::desk::{Desk, charge, noon};
use crate::payments::{ask, closed, disputed, payment_of, refunded, tell};

/// Accounts of every history, numbered from 1.
pub const ACCOUNTS: u64 = 2;
/// Disputes that a payment may have.
pub const DISPUTES: u8 = 3;

/// A step of a history. `which` chooses a checkout.
#[derive(Clone, Debug)]
pub enum Step {
    Ask {
        account: u64,
        credits: u64,
        net: u64,
    },
    /// A customer gives a checkout up.
    Cancel {
        which: usize,
    },
    Pay {
        which: usize,
    },
    Refund {
        which: usize,
        thousandths: u64,
    },
    Dispute {
        which: usize,
        dispute: u8,
        thousandths: u64,
    },
    Close {
        which: usize,
        dispute: u8,
        thousandths: u64,
        is_won: bool,
    },
    Spend {
        account: u64,
        credits: u64,
    },
    Grant {
        account: u64,
        credits: u64,
    },
    Restart,
}

/// A checkout as the model has it.
struct Bought {
    checkout: Checkout,
    account: u64,
    is_paid: bool,
    is_cancelled: bool,
    refunded: u64,
    /// By number: the amount, and whether it was won, once it is closed.
    disputes: Vec<(u8, u64, Option<bool>)>,
    taken: u64,
    forgone: u64,
}

/// The books and the model, side by side.
pub struct World {
    desk: Desk,
    ledger: Option<Ledger>,
    balances: [u64; ACCOUNTS as usize],
    entries: Vec<(u64, EntryKind, i64, u64)>,
    bought: Vec<Bought>,
}

impl Bought {
    fn payment(&self) -> String {
        format!("pi_{}", self.checkout.id.number())
    }

    fn cents(&self, thousandths: u64) -> u64 {
        self.checkout.price.gross * thousandths / 1_000
    }

    fn owed(&self) -> u64 {
        let held = self.disputes.iter().filter(|(.., won)| *won != Some(true));
        let amount = self.refunded + held.map(|(_, amount, _)| amount).sum::<u64>();
        let gross = self.checkout.price.gross;
        self.checkout.credits * amount.min(gross) / gross
    }
}

impl World {
    pub fn new() -> World {
        let desk = Desk::new();
        let ledger = desk.open();
        for _ in 0..ACCOUNTS {
            ledger.create_account("model", noon()).unwrap();
        }
        World { desk, ledger: Some(ledger), balances: [0; 2], entries: Vec::new(), bought: Vec::new() }
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    fn place(&self, which: usize) -> Option<usize> {
        which.checked_rem(self.bought.len())
    }

    /// Does a step to both.
    pub fn take(&mut self, step: &Step) {
        match *step {
            Step::Ask { account, credits, net } => {
                let asked = ask(self.ledger(), AccountId::from_number(account), credits, net, noon());
                // Too many wait.
                let Ok(checkout) = asked else { return };
                self.bought.push(Bought {
                    checkout,
                    account,
                    is_paid: false,
                    is_cancelled: false,
                    refunded: 0,
                    disputes: Vec::new(),
                    taken: 0,
                    forgone: 0,
                });
            }
            Step::Cancel { which } => {
                let Some(place) = self.place(which) else { return };
                let bought = &mut self.bought[place];
                bought.is_cancelled |= !bought.is_paid;
                let (account, id) = (AccountId::from_number(bought.account), bought.checkout.id);
                self.ledger().commit(&CancelCheckout { account, id, at: noon() }).unwrap().unwrap();
            }
            Step::Pay { which } => self.pay(which),
            Step::Refund { which, thousandths } => {
                let Some(place) = self.place(which) else { return };
                let total = self.bought[place].cents(thousandths);
                let is_news = total > self.bought[place].refunded;
                self.bought[place].refunded = self.bought[place].refunded.max(total);
                self.tell(place, refunded(total), is_news);
            }
            Step::Dispute { which, dispute, thousandths } => {
                let Some(place) = self.place(which) else { return };
                let amount = self.bought[place].cents(thousandths);
                let disputes = &mut self.bought[place].disputes;
                let is_news = disputes.iter().all(|(known, ..)| *known != dispute);
                if is_news {
                    disputes.push((dispute, amount, None));
                }
                self.tell(place, disputed(&dispute.to_string(), amount), is_news);
            }
            Step::Close { which, dispute, thousandths, is_won } => {
                self.close(which, dispute, thousandths, is_won);
            }
            Step::Spend { account, credits } => {
                let handle = self.ledger().account(AccountId::from_number(account)).unwrap();
                let has_bought = self.bought.iter().any(|bought| bought.account == account && bought.is_paid);
                let affords = has_bought && credits <= self.balances[account as usize - 1];
                if affords {
                    charge(self.ledger(), &handle, credits, noon()).unwrap();
                    self.change(account, EntryKind::Charge, -(credits as i64));
                }
            }
            Step::Grant { account, credits } => {
                self.ledger().grant(AccountId::from_number(account), credits, "", "", noon()).unwrap();
                self.change(account, EntryKind::Grant, credits as i64);
            }
            Step::Restart => {
                self.ledger = None;
                self.ledger = Some(self.desk.open());
            }
        }
    }

    /// Pays a purchase in both, perhaps again.
    fn pay(&mut self, which: usize) {
        let Some(place) = self.place(which) else { return };
        let bought = &self.bought[place];
        let outcome = self.ledger().commit(&payment_of(&bought.checkout, &bought.payment()));
        let (account, credits) = (bought.account, bought.checkout.credits);
        let of = AccountId::from_number(account);
        if bought.is_paid {
            assert_eq!(outcome, Ok(PaidCheckout::Replayed));
            return;
        }
        assert_eq!(outcome, Ok(PaidCheckout::Granted { account: of, credits }));
        self.bought[place].is_paid = true;
        self.change(account, EntryKind::Purchase, credits as i64);
        self.settle(place);
    }

    /// Ends a dispute in both.
    fn close(&mut self, which: usize, dispute: u8, thousandths: u64, is_won: bool) {
        let Some(place) = self.place(which) else { return };
        let amount = self.bought[place].cents(thousandths);
        let disputes = &mut self.bought[place].disputes;
        // Open, lost, won: never backwards.
        let rank = |won: Option<bool>| won.map_or(0, |won| 1 + u8::from(won));
        let is_news = match disputes.iter_mut().find(|(known, ..)| *known == dispute) {
            Some((.., outcome)) => {
                let is_news = rank(Some(is_won)) > rank(*outcome);
                if is_news {
                    *outcome = Some(is_won);
                }
                is_news
            }
            None => {
                disputes.push((dispute, amount, Some(is_won)));
                true
            }
        };
        self.tell(place, closed(&dispute.to_string(), amount, is_won), is_news);
    }

    /// Tells the books, and settles in the model what they should have settled.
    fn tell(&mut self, place: usize, event: ReversalEvent, is_news: bool) {
        let outcome = tell(self.ledger(), &self.bought[place].payment(), event);
        match (is_news, self.bought[place].is_paid) {
            (false, _) => assert_eq!(outcome, Reversed::Unchanged),
            (true, false) => assert_eq!(outcome, Reversed::Kept),
            (true, true) => {
                assert!(matches!(outcome, Reversed::Settled { .. }), "{outcome:?}");
                self.settle(place);
            }
        }
    }

    fn settle(&mut self, place: usize) {
        let bought = &mut self.bought[place];
        let (owed, account) = (bought.owed(), bought.account);
        let balance = self.balances[account as usize - 1];
        if owed > bought.taken + bought.forgone {
            let wanted = owed - bought.taken - bought.forgone;
            let taken = wanted.min(balance);
            bought.taken += taken;
            bought.forgone += wanted - taken;
            self.change(account, EntryKind::TakeBack, -(taken as i64));
        } else if owed < bought.taken + bought.forgone {
            let mut falls = bought.taken + bought.forgone - owed;
            let forgotten = falls.min(bought.forgone);
            bought.forgone -= forgotten;
            falls -= forgotten;
            bought.taken -= falls;
            self.change(account, EntryKind::GiveBack, falls as i64);
        }
    }

    fn change(&mut self, account: u64, kind: EntryKind, amount: i64) {
        let balance = &mut self.balances[account as usize - 1];
        *balance = balance.checked_add_signed(amount).unwrap();
        self.entries.push((account, kind, amount, *balance));
    }

    /// Balances and checkouts.
    pub fn compare(&self) {
        for (place, balance) in self.balances.iter().enumerate() {
            let handle = self.ledger().account(AccountId::from_number(place as u64 + 1)).unwrap();
            assert_eq!(handle.credits(), *balance);
        }
        for bought in &self.bought {
            let found = self.ledger().checkout(bought.checkout.id).unwrap().unwrap();
            assert_eq!(
                (found.paid.is_some(), found.cancelled_at.is_some()),
                (bought.is_paid, bought.is_cancelled)
            );
            assert_eq!((found.taken, found.forgone), (bought.taken, bought.forgone));
        }
    }

    /// Every entry and the sums.
    pub fn finish(&self) {
        let (entries, _) = self.ledger().entries(None, 1, 10_000).unwrap();
        let found: Vec<_> = entries
            .iter()
            .map(|entry| (entry.account.number(), entry.kind, entry.amount, entry.balance))
            .collect();
        assert_eq!(found, self.entries);
        let report = self.ledger().verify().unwrap();
        assert!(report.is_balanced(), "{report:?}");
    }
}
