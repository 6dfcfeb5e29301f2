//! The words of buying credits, in both languages.

use crate::site::words::words;

words! {
    /// The words of buying credits.
    pub struct BuyingWords {
        // The form.
        choose: "Choose a pack", "Scegli un pacchetto";
        pack: "{} credits for {}", "{} crediti per {}";
        pack_plus_vat: "{} credits for {} plus VAT, {} in total", "{} crediti per {} più IVA, {} in totale";
        free_stays: "Your {} free queries of this month stay, and are used first.", "Le tue {} richieste gratuite di questo mese restano e si usano per prime.";
        pay: "Continue to payment", "Procedi al pagamento";
        pay_said: "You pay at Stripe; this server never sees your card number. Credits do not expire.",
            "Paghi su Stripe: questo server non vede mai il numero della carta. I crediti non scadono.";
        demo_said: "This is a demonstration: no real money is involved.", "Questa è una dimostrazione: non si usa denaro vero.";
        none_chosen: "Choose one of the packs.", "Scegli uno dei pacchetti.";
        too_many: "You have too many unpaid purchases. Pay or cancel one of them.", "Hai troppi acquisti non pagati. Pagane o annullane uno.";
        // Purchases.
        bought: "Your purchases", "I tuoi acquisti";
        none_bought: "You have bought nothing yet.", "Non hai ancora acquistato nulla.";
        when: "Time (UTC)", "Ora (UTC)";
        credits: "Credits", "Crediti";
        to_pay: "Price including VAT", "Prezzo IVA inclusa";
        state: "Status", "Stato";
        open: "not paid yet", "non ancora pagato";
        lapsed: "expired without payment", "scaduto senza pagamento";
        cancelled: "cancelled", "annullato";
        paid: "paid", "pagato";
        partly_refunded: "refunded in part", "rimborsato in parte";
        refunded: "refunded", "rimborsato";
        disputed: "disputed with the bank", "contestato presso la banca";
        show: "Show", "Mostra";
        show_purchase: "Show the purchase of {}", "Mostra l’acquisto del {}";
        older: "Older purchases", "Acquisti precedenti";
        // One purchase.
        purchase_of: "Purchase of {} credits", "Acquisto di {} crediti";
        open_said: "This purchase has not been paid yet. If you have just paid, the credits arrive as soon as the payment is confirmed: open this page again in a moment.",
            "Questo acquisto non è ancora stato pagato. Se hai appena pagato, i crediti arrivano appena il pagamento è confermato: riapri questa pagina tra un momento.";
        click_said: "One click stands in for a payment. No real money is involved.", "Un clic simula il pagamento. Non si usa denaro vero.";
        click: "Simulate the payment", "Simula il pagamento";
        cancel: "Cancel this purchase", "Annulla questo acquisto";
        cancelled_on: "Cancelled on", "Annullato il";
        cancelled_said: "This purchase is cancelled, and there is nothing to pay. If you have paid all the same, the credits arrive as soon as the payment is confirmed.",
            "Questo acquisto è annullato e non c’è nulla da pagare. Se hai pagato comunque, i crediti arrivano appena il pagamento è confermato.";
        taken_back: "Credits reversed", "Crediti stornati";
        refunded_amount: "Refunded", "Rimborsato";
        disputed_amount: "Disputed", "Contestato";
        number: "Number", "Numero";
        payment: "Payment", "Pagamento";
        paid_on: "Paid on", "Pagato il";
        asked_on: "Requested on", "Richiesto il";
        print_receipt: "Printable receipt", "Ricevuta stampabile";
        back: "Back to credits", "Torna ai crediti";
        // Receipt.
        receipt: "Receipt", "Ricevuta";
        receipt_of: "Receipt {}", "Ricevuta {}";
        seller: "Seller", "Venditore";
        buyer: "Customer", "Cliente";
        vat_number: "VAT number {}", "Partita IVA {}";
        item: "Item", "Voce";
        credits_item: "{} credits", "{} crediti";
        amount: "Amount", "Importo";
        net: "Net", "Imponibile";
        vat: "VAT {}", "IVA {}";
        gross: "Total paid", "Totale pagato";
        less_refunds: "Refunded since", "Rimborsato in seguito";
        no_money: "Demonstration: no money has moved, and this is not proof of payment.",
            "Dimostrazione: nessun pagamento reale; questo documento non ha valore di ricevuta.";
        back_to_purchase: "Back to the purchase", "Torna all’acquisto";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::words::check;

    #[test]
    fn translates_every_word_with_its_gaps() {
        check(&BuyingWords::list(), &[]);
    }
}
