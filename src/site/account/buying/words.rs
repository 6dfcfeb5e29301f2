//! The words of buying credits, in both languages.

use crate::site::words::words;

words! {
    /// The words of buying credits.
    pub struct BuyingWords {
        // The form.
        choose: "Choose how many", "Scegli quanti";
        pack: "{} credits for {}", "{} crediti per {}";
        pack_plus_vat: "{} credits for {} plus VAT, {} in all", "{} crediti per {} più IVA, in tutto {}";
        free_stays: "Your {} free queries of this month stay, and are used first.", "Le tue {} richieste gratuite di questo mese restano e si usano per prime.";
        pay: "Go to the payment", "Vai al pagamento";
        pay_said: "You pay at Stripe. No card number comes to this server. Credits do not expire.",
            "Paghi su Stripe. Nessun numero di carta arriva a questo server. I crediti non scadono.";
        demo_said: "This is a demonstration: no money moves.", "Questa è una dimostrazione: non si muove denaro.";
        none_chosen: "Choose one of the packs.", "Scegli una delle offerte.";
        too_many: "Too many of your purchases wait for payment. Pay or cancel one of them.",
            "Troppi tuoi acquisti attendono il pagamento. Pagane o annullane uno.";
        // Purchases.
        bought: "Your purchases", "I tuoi acquisti";
        none_bought: "You have bought nothing yet.", "Non hai ancora acquistato nulla.";
        when: "Time (UTC)", "Ora (UTC)";
        credits: "Credits", "Crediti";
        to_pay: "Price with VAT", "Prezzo con IVA";
        state: "State", "Stato";
        open: "not paid yet", "non ancora pagato";
        lapsed: "not paid", "non pagato";
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
        open_said: "This purchase is not paid yet. If you have just paid, the credits arrive as soon as the payment is confirmed: open this page again in a moment.",
            "Questo acquisto non è ancora pagato. Se hai appena pagato, i crediti arrivano appena il pagamento è confermato: riapri questa pagina fra un momento.";
        click_said: "One click takes the place of a payment. No money moves.", "Un clic sostituisce il pagamento. Non si muove denaro.";
        click: "Pay without money", "Paga senza denaro";
        cancel: "Cancel this purchase", "Annulla questo acquisto";
        cancelled_on: "Cancelled on", "Annullato il";
        cancelled_said: "This purchase is cancelled, and there is nothing to pay. If you have paid all the same, the credits arrive as soon as the payment is confirmed.",
            "Questo acquisto è annullato e non c’è nulla da pagare. Se hai pagato comunque, i crediti arrivano appena il pagamento è confermato.";
        taken_back: "Credits taken back", "Crediti ripresi";
        refunded_amount: "Refunded", "Rimborsato";
        disputed_amount: "Disputed", "Contestato";
        number: "Number", "Numero";
        payment: "Payment", "Pagamento";
        paid_on: "Paid on", "Pagato il";
        asked_on: "Asked for on", "Richiesto il";
        print_receipt: "Receipt to print", "Ricevuta da stampare";
        back: "To the credits", "Ai crediti";
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
        no_money: "Demonstration: no money has moved, and this is no proof of a payment.",
            "Dimostrazione: non si è mosso denaro, e questa non prova alcun pagamento.";
        back_to_purchase: "To the purchase", "All’acquisto";
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
