//! The words of the account area, in both languages.

use crate::site::words::words;

words! {
    /// The words of the account area.
    pub struct AccountWords {
        // Signing up and in.
        sign_in: "Sign in", "Accedi";
        sign_in_said: "With an account you make keys for the API and see what they read.",
            "Con un account crei chiavi per l’API e vedi che cosa leggono.";
        sign_up: "Sign up", "Registrati";
        sign_up_said: "An account is free: {} queries in each calendar month, up to {} rows each, without buying anything.",
            "L’account è gratuito: {} richieste in ogni mese di calendario, fino a {} righe ciascuna, senza acquistare nulla.";
        sign_out: "Sign out", "Esci";
        has_account: "You have an account already?", "Hai già un account?";
        no_account: "No account yet?", "Non hai ancora un account?";
        email: "E-mail address", "Indirizzo e-mail";
        password: "Password", "Password";
        new_password: "New password", "Nuova password";
        present_password: "Present password", "Password attuale";
        password_hint: "At least {} characters. A sentence is easier to remember than signs.",
            "Almeno {} caratteri. Una frase si ricorda meglio dei segni.";
        password_short: "Take at least {} characters.", "Usa almeno {} caratteri.";
        password_long: "Take at most {} characters.", "Usa al massimo {} caratteri.";
        password_common: "This is one of the most common passwords. Take another one.",
            "È una delle password più comuni. Scegline un’altra.";
        password_wrong: "This is not your present password.", "Non è la tua password attuale.";
        email_wrong: "Write an e-mail address like name@example.com.", "Scrivi un indirizzo e-mail come nome@example.com.";
        credentials_wrong: "The e-mail address or the password is wrong.", "L’indirizzo e-mail o la password non sono corretti.";
        too_often: "Too many attempts. Try again in {} minutes.", "Troppi tentativi. Riprova fra {} minuti.";
        busy: "Too many people are signing in at this moment. Try again.", "Troppe persone stanno accedendo in questo momento. Riprova.";
        no_room: "No further account can be opened here at the moment.", "Al momento qui non si possono aprire altri account.";
        lost: "Forgot the password? Ask {} for a link to set a new one.", "Password dimenticata? Chiedi a {} un collegamento per impostarne una nuova.";
        lost_operator: "Forgot the password? Ask whoever runs this place for a link to set a new one.",
            "Password dimenticata? Chiedi a chi gestisce questo sito un collegamento per impostarne una nuova.";
        reset: "Set a new password", "Imposta una nuova password";
        reset_said: "The token comes from whoever runs this place. It works once, within an hour.",
            "Il codice viene da chi gestisce questo sito. Vale una volta sola, entro un’ora.";
        token: "Token", "Codice";
        token_wrong: "This token is mistyped, used or too old. Ask for another one.",
            "Questo codice contiene un errore, è già usato o è scaduto. Chiedine un altro.";
        reset_said_mail: "The token comes by mail. It works once, within an hour.", "Il codice arriva per posta elettronica. Vale una volta sola, entro un’ora.";
        forgot: "Forgot the password?", "Password dimenticata?";
        forgot_said: "We send a link to set a new password, if there is an account with this address.",
            "Inviamo un collegamento per impostarne una nuova, se c’è un account con questo indirizzo.";
        forgot_send: "Send the link", "Invia il collegamento";
        confirm: "Confirm the address", "Conferma l’indirizzo";
        confirm_said: "One more click shows that mail to this address arrives.", "Ancora un clic dimostra che la posta a questo indirizzo arriva.";
        confirm_wanted: "Confirm your e-mail address first: the link is in the mail that we have sent you. Your free plan and your first key wait for it.",
            "Prima conferma il tuo indirizzo e-mail: il collegamento è nel messaggio che ti abbiamo inviato. Il piano gratuito e la prima chiave lo aspettano.";
        confirm_again: "Send it again", "Invia di nuovo";
        confirm_wrong: "This link is mistyped, used or too old. Sign in and ask for another one.",
            "Questo collegamento contiene un errore, è già usato o è scaduto. Accedi e chiedine un altro.";
        closed: "Accounts are not opened here by oneself. Ask {} for one.", "Qui gli account non si aprono da soli. Chiedine uno a {}.";
        closed_operator: "Accounts are not opened here by oneself. Ask whoever runs this place for one.",
            "Qui gli account non si aprono da soli. Chiedine uno a chi gestisce questo sito.";
        // Outcomes of forms.
        done_signed_up: "Now sign in with the password that you have just chosen. Where that is refused, the address already has an account with another password.",
            "Ora accedi con la password appena scelta. Se viene rifiutata, l’indirizzo ha già un account con un’altra password.";
        done_signed_up_by_mail: "We have sent you a mail. Sign in with the password that you have just chosen, and confirm the address by the link in the mail.",
            "Ti abbiamo inviato un messaggio. Accedi con la password appena scelta e conferma l’indirizzo con il collegamento nel messaggio.";
        done_confirmed: "The address is confirmed.", "L’indirizzo è confermato.";
        done_confirm_sent: "Another mail is on its way to you.", "Un altro messaggio è in arrivo.";
        done_forgot_sent: "If there is an account with this address, a mail with a link is on its way.",
            "Se c’è un account con questo indirizzo, un messaggio con un collegamento è in arrivo.";
        done_limited: "The key has its new limits.", "La chiave ha i nuovi limiti.";
        done_signed_out: "You are signed out.", "Sei uscito.";
        done_reset: "The new password is set. Sign in with it.", "La nuova password è impostata. Accedi con quella.";
        done_deleted: "The account is deleted.", "L’account è eliminato.";
        done_renamed: "The key has its new name.", "La chiave ha il nuovo nome.";
        done_revoked: "The key is revoked and refused from now on.", "La chiave è revocata e da ora viene rifiutata.";
        done_password: "The password is changed. All other sessions have ended.", "La password è cambiata. Tutte le altre sessioni sono terminate.";
        done_sessions: "The sessions have ended.", "Le sessioni sono terminate.";
        done_paying: "Thank you. The purchase is paid, and the credits are in your account.", "Grazie. L’acquisto è pagato e i crediti sono nel tuo account.";
        done_cancelled: "Nothing was paid.", "Non è stato pagato nulla.";
        // Frame of the area.
        area: "Account", "Account";
        signed_in_as: "Signed in as {}", "Accesso effettuato come {}";
        overview: "Overview", "Panoramica";
        keys: "Keys", "Chiavi";
        usage: "Usage", "Consumo";
        credits: "Credits", "Crediti";
        settings: "Settings", "Impostazioni";
        // Overview.
        balance: "Balance", "Saldo";
        one_credit: "1 credit", "1 credito";
        many_credits: "{} credits", "{} crediti";
        reserved: "Reserved by running streams", "Riservati da flussi in corso";
        plan: "Plan", "Piano";
        plan_free: "free", "gratuito";
        plan_prepaid: "prepaid", "prepagato";
        free_left: "Free queries left", "Richieste gratuite rimaste";
        free_until: "{} until {}", "{} fino al {}";
        per_key: "Each key", "Ogni chiave";
        valid_keys: "Valid keys", "Chiavi valide";
        first_key: "Next, make a key: programs send it with each query.", "Ora crea una chiave: i programmi la inviano con ogni richiesta.";
        newest_entries: "Newest entries", "Movimenti più recenti";
        all_entries: "All entries", "Tutti i movimenti";
        // Keys.
        keys_said: "A program sends a key in the header X-Api-Key. Give each program its own, so that you can revoke one alone.",
            "Un programma invia la chiave nell’intestazione X-Api-Key. Dai a ciascuno la sua, così ne puoi revocare una sola.";
        keys_caption: "Your keys", "Le tue chiavi";
        no_keys: "You have no key yet.", "Non hai ancora chiavi.";
        create_key: "Create a key", "Crea una chiave";
        label: "Name", "Nome";
        label_hint: "For yourself, such as the program that uses it.", "Per te, ad esempio il programma che la usa.";
        label_wrong: "At most {} bytes, without control characters.", "Al massimo {} byte, senza caratteri di controllo.";
        cap_day: "Credits a day at most", "Crediti al giorno al massimo";
        cap_month: "Credits a month at most", "Crediti al mese al massimo";
        cap_hint: "Empty means no limit.", "Vuoto significa senza limite.";
        cap_wrong: "Write a whole number of at most {}, or nothing.", "Scrivi un numero intero di al massimo {}, o niente.";
        only_datasets: "Only for these datasets", "Solo per questi dataset";
        only_datasets_hint: "Choose none to allow all datasets.", "Se non ne scegli nessuno, valgono tutti i dataset.";
        datasets_many: "At most {} datasets.", "Al massimo {} dataset.";
        dataset_unknown: "There is no dataset “{}”.", "Non c’è un dataset «{}».";
        last_day: "Last day", "Ultimo giorno";
        last_day_hint: "In UTC. Empty means that it does not end by itself.", "In UTC. Vuoto significa che non scade da sola.";
        last_day_wrong: "Write a day from today on, such as 2027-12-31.", "Scrivi un giorno da oggi in poi, come 2027-12-31.";
        key: "Key", "Chiave";
        key_of: "Key {}", "Chiave {}";
        created: "Created", "Creata";
        last_used: "Last used", "Ultimo uso";
        never: "never", "mai";
        limits: "Limits", "Limiti";
        state: "State", "Stato";
        valid: "valid", "valida";
        revoked: "revoked", "revocata";
        expired: "expired", "scaduta";
        ends: "valid until {}", "valida fino al {}";
        manage: "Manage", "Gestisci";
        manage_key: "Manage the key {}", "Gestisci la chiave {}";
        spent_day: "{} of {} credits today", "{} di {} crediti oggi";
        spent_month: "{} of {} credits this month", "{} di {} crediti questo mese";
        one_dataset_only: "1 dataset only", "1 solo dataset";
        many_datasets_only: "{} datasets only", "solo {} dataset";
        unlimited: "none", "nessuno";
        rename: "Rename", "Rinomina";
        limit: "Change the limits", "Cambia i limiti";
        limit_said: "They hold from the next request on. What was spent today and this month counts.",
            "Valgono dalla prossima richiesta. Conta quanto già speso oggi e questo mese.";
        rotate: "Replace by a new key", "Sostituisci con una nuova chiave";
        rotate_said: "The new key has the same name and limits.", "La nuova chiave ha lo stesso nome e gli stessi limiti.";
        grace: "The old one stays valid", "Quella vecchia resta valida";
        grace_none: "not at all", "per niente";
        grace_hour: "for an hour", "per un’ora";
        grace_day: "for a day", "per un giorno";
        grace_week: "for a week", "per una settimana";
        revoke: "Revoke", "Revoca";
        revoke_said: "It is refused at once and for ever.", "Viene rifiutata subito e per sempre.";
        key_full: "No further key can be made: an account has at most {}.", "Non si possono creare altre chiavi: un account ne ha al massimo {}.";
        new_key: "Your new key", "La tua nuova chiave";
        new_key_said: "Copy it now: it is shown here once, and only its hash is kept.", "Copiala ora: è mostrata qui una volta sola, e se ne conserva soltanto l’impronta.";
        try_it: "Try it", "Provala";
        back_to_keys: "To the keys", "Alle chiavi";
        copy: "Copy", "Copia";
        copied: "Copied", "Copiato";
        // Usage.
        usage_said: "What your keys read, and you on this site, by UTC day.", "Che cosa hanno letto le tue chiavi, e tu su questo sito, per giorno UTC.";
        on_this_site: "on this site, without a key", "su questo sito, senza chiave";
        days: "Days", "Giorni";
        last_days: "{} days", "{} giorni";
        by_day: "By day", "Per giorno";
        by_dataset: "By dataset", "Per dataset";
        by_key: "By key", "Per chiave";
        day: "Day", "Giorno";
        dataset: "Dataset", "Dataset";
        requests: "Requests", "Richieste";
        rows: "Rows", "Righe";
        total: "Total", "Totale";
        rows_by_day: "Rows by day", "Righe per giorno";
        rows_by_day_said: "{} rows in {} days.", "{} righe in {} giorni.";
        nothing_read: "Nothing was read in this time.", "In questo periodo non è stato letto nulla.";
        as_csv: "Download as CSV", "Scarica come CSV";
        and_more: "and {} more", "e altri {}";
        // Credits.
        entries: "Entries", "Movimenti";
        purchases: "Purchases", "Acquisti";
        everything: "All", "Tutti";
        shown: "Shown entries", "Movimenti mostrati";
        at: "Time (UTC)", "Ora (UTC)";
        what: "What", "Che cosa";
        change: "Change", "Variazione";
        price: "Price without VAT", "Prezzo senza IVA";
        purchase: "purchase", "acquisto";
        charge: "query", "richiesta";
        reserve: "set aside for a stream", "riservati per un flusso";
        settle: "settled after a stream", "conguaglio dopo un flusso";
        refund: "taken back", "restituiti";
        grant: "granted", "concessi";
        take_back: "taken back after a refund or dispute", "ripresi dopo un rimborso o una contestazione";
        give_back: "given again after a dispute", "ridati dopo una contestazione";
        older: "Older", "Precedenti";
        newest: "Newest", "Più recenti";
        no_entries: "There are no entries here.", "Qui non ci sono movimenti.";
        no_entries_yet: "None were found in the newest part of the books. Look at older ones.",
            "Nessuno nella parte più recente dei registri. Guarda quelli precedenti.";
        buy: "Buying credits", "Acquistare crediti";
        buy_ask: "To buy credits, ask {} and name the address {}.", "Per acquistare crediti, scrivi a {} indicando l’indirizzo {}.";
        buy_operator: "To buy credits, ask whoever runs this place, and name the address {}.", "Per acquistare crediti, rivolgiti a chi gestisce questo sito indicando l’indirizzo {}.";
        prices: "Prices", "Prezzi";
        // Settings.
        change_password: "Change the password", "Cambia la password";
        change_password_said: "All other sessions end.", "Tutte le altre sessioni terminano.";
        sessions: "Sessions", "Sessioni";
        sessions_caption: "Where you are signed in", "Dove hai effettuato l’accesso";
        opened: "Signed in", "Accesso";
        last_seen: "Last seen", "Ultima attività";
        ends_at: "Ends", "Termina";
        this_session: "this one", "questa";
        end: "End", "Termina";
        end_session_of: "End the session of {}", "Termina la sessione del {}";
        end_others: "End all others", "Termina tutte le altre";
        delete_account: "Delete the account", "Elimina l’account";
        delete_said: "For ever: its keys are refused, its sessions end, and the address is free again. The entries stay in the books. What is left of the balance can no longer be spent.",
            "Per sempre: le chiavi vengono rifiutate, le sessioni terminano e l’indirizzo torna libero. I movimenti restano nei registri. Quanto resta del saldo non si può più spendere.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::words::check;

    #[test]
    fn translates_every_word_with_its_gaps() {
        check(&AccountWords::list(), &["password", "area", "dataset"]);
    }
}
