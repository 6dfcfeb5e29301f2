//! The words of the account area, in both languages.

use crate::site::words::words;

words! {
    /// The words of the account area.
    pub struct AccountWords {
        // Signing up and in.
        sign_in: "Sign in", "Accedi";
        sign_in_said: "With an account you can create API keys and see how they are used.",
            "Con un account puoi creare chiavi API e vedere come vengono usate.";
        sign_up: "Sign up", "Registrati";
        sign_up_said: "An account is free: {} queries per calendar month, up to {} rows each, with no purchase needed.",
            "L’account è gratuito: {} richieste per mese di calendario, fino a {} righe ciascuna, senza acquisti.";
        sign_up_paid: "An account is free; rows cost credits.", "L’account è gratuito; le righe costano crediti.";
        sign_out: "Sign out", "Esci";
        has_account: "Already have an account?", "Hai già un account?";
        no_account: "No account yet?", "Non hai ancora un account?";
        email: "E-mail address", "Indirizzo e-mail";
        password: "Password", "Password";
        new_password: "New password", "Nuova password";
        present_password: "Current password", "Password attuale";
        password_hint: "At least {} characters. A sentence is easier to remember than symbols.",
            "Almeno {} caratteri. Una frase è più facile da ricordare di una serie di simboli.";
        password_short: "Use at least {} characters.", "Usa almeno {} caratteri.";
        password_long: "Use at most {} characters.", "Usa al massimo {} caratteri.";
        password_common: "This is one of the most common passwords. Choose another one.", "È una delle password più comuni. Scegline un’altra.";
        password_address: "Your e-mail address, or the part before the @, cannot be your password. Choose another one.",
            "Il tuo indirizzo e-mail, o la parte prima della @, non può essere la password. Scegline un’altra.";
        password_wrong: "This is not your current password.", "Non è la tua password attuale.";
        email_wrong: "Enter an e-mail address like name@example.com.", "Inserisci un indirizzo e-mail come nome@example.com.";
        credentials_wrong: "The e-mail address or the password is wrong.", "L’indirizzo e-mail o la password non sono corretti.";
        credentials_wrong_mail: "The e-mail address or the password is wrong, or the address is not confirmed yet. In that case, use the link in the e-mail we have sent you.",
            "L’indirizzo e-mail o la password non sono corretti, oppure l’indirizzo non è ancora confermato. In tal caso usa il link nell’e-mail che ti abbiamo inviato.";
        too_often: "Too many attempts. Try again in {} minutes.", "Troppi tentativi. Riprova fra {} minuti.";
        busy: "Too many people are signing in right now. Try again in a moment.", "Troppi accessi in questo momento. Riprova tra poco.";
        no_room: "No new accounts can be opened here at the moment.", "Al momento non è possibile aprire nuovi account.";
        lost: "Forgot your password? Ask {} for a link to set a new one.", "Password dimenticata? Chiedi a {} un link per impostarne una nuova.";
        lost_operator: "Forgot your password? Ask the operator of this site for a link to set a new one.",
            "Password dimenticata? Chiedi al gestore del sito un link per impostarne una nuova.";
        reset: "Set a new password", "Imposta una nuova password";
        reset_said: "You get the token from the operator of this site. It works once, within an hour.",
            "Ricevi il codice dal gestore del sito. Vale una volta sola, entro un’ora.";
        token: "Token", "Codice";
        token_wrong: "This token is invalid, used or expired. Ask for a new one.",
            "Questo codice non è valido, è già stato usato o è scaduto. Chiedine uno nuovo.";
        reset_said_mail: "You get the token by e-mail. It works once, within an hour.",
            "Ricevi il codice per e-mail. Vale una volta sola, entro un’ora.";
        forgot: "Forgot your password?", "Password dimenticata?";
        forgot_said: "If there is an account with this address, we will send it a link to set a new password.",
            "Se esiste un account con questo indirizzo, invieremo un link per impostare una nuova password.";
        forgot_send: "Send the link", "Invia il link";
        confirm: "Confirm your address", "Conferma l’indirizzo";
        confirm_said: "Confirm your e-mail address with one click.", "Conferma il tuo indirizzo e-mail con un clic.";
        confirm_wanted: "Please confirm your e-mail address first, with the link we have sent you. Your free plan and your first key are available after that.",
            "Prima conferma il tuo indirizzo e-mail con il link che ti abbiamo inviato. Subito dopo avrai il piano gratuito e potrai creare la prima chiave.";
        confirm_again: "Send the e-mail again", "Invia di nuovo l’e-mail";
        confirm_wrong: "This link is invalid, used or expired. Sign in with your password, and we will send you a new one if needed.",
            "Questo link non è valido, è già stato usato o è scaduto. Accedi con la tua password e, se serve, te ne invieremo uno nuovo.";
        closed: "Self-registration is disabled. Ask {} for an account.", "La registrazione autonoma è disattivata. Chiedi un account a {}.";
        closed_operator: "Self-registration is disabled. Ask the operator of this site for an account.",
            "La registrazione autonoma è disattivata. Chiedi un account al gestore del sito.";
        // Outcomes of forms.
        done_signed_up: "Now sign in with the password you have just chosen. If it is refused, this address already has an account with another password.",
            "Ora accedi con la password appena scelta. Se viene rifiutata, l’indirizzo ha già un account con un’altra password.";
        done_signed_up_by_mail: "We have sent you an e-mail. Confirm your address with the link in it, then sign in with the password you have just chosen.",
            "Ti abbiamo inviato un’e-mail. Conferma l’indirizzo con il link che contiene, poi accedi con la password appena scelta.";
        done_confirmed: "Your address is confirmed.", "L’indirizzo è confermato.";
        done_confirm_sent: "Another e-mail is on its way.", "Un’altra e-mail è in arrivo.";
        done_forgot_sent: "If there is an account with this address, an e-mail with a link is on its way.",
            "Se esiste un account con questo indirizzo, è in arrivo un’e-mail con un link.";
        done_limited: "The key’s limits have been changed.", "I limiti della chiave sono stati modificati.";
        done_signed_out: "You are signed out.", "Disconnessione effettuata.";
        done_reset: "Your new password is set. Sign in with it.", "La nuova password è impostata. Usala per accedere.";
        done_deleted: "Your account has been deleted.", "L’account è stato eliminato.";
        done_renamed: "The key has been renamed.", "La chiave è stata rinominata.";
        done_revoked: "The key has been revoked and no longer works.", "La chiave è stata revocata e non funziona più.";
        done_password: "Your password has been changed. All other sessions have ended.",
            "La password è stata cambiata. Tutte le altre sessioni sono terminate.";
        done_sessions: "The sessions have ended.", "Le sessioni sono terminate.";
        done_paying: "Thank you. Your purchase is paid, and the credits are in your account.",
            "Grazie. L’acquisto è pagato e i crediti sono nel tuo account.";
        done_cancelled: "Nothing was paid.", "Non è stato pagato nulla.";
        done_given_up: "The purchase is cancelled. Nothing was paid.", "L’acquisto è annullato. Non è stato pagato nulla.";
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
        per_key: "Per key", "Per chiave";
        valid_keys: "Valid keys", "Chiavi valide";
        first_key: "Next, create an API key: programs send it with each query.",
            "Ora crea una chiave API: i programmi la inviano con ogni richiesta.";
        newest_entries: "Latest entries", "Ultimi movimenti";
        all_entries: "All entries", "Tutti i movimenti";
        // Keys.
        keys_said: "Programs send a key in the X-Api-Key header. Give each program its own, so that you can revoke one without the others.",
            "I programmi inviano la chiave nell’intestazione X-Api-Key. Dai a ciascuno la sua: così puoi revocarne una senza toccare le altre.";
        keys_caption: "Your keys", "Le tue chiavi";
        no_keys: "You have no keys yet.", "Non hai ancora chiavi.";
        create_key: "Create a key", "Crea una chiave";
        label: "Name", "Nome";
        label_hint: "For your own use, such as the program that has the key.", "Solo per te, ad esempio il programma che la usa.";
        label_wrong: "At most {} bytes, without control characters.", "Al massimo {} byte, senza caratteri di controllo.";
        cap_day: "Maximum credits per day", "Massimo di crediti al giorno";
        cap_month: "Maximum credits per month", "Massimo di crediti al mese";
        cap_hint: "Leave empty for no limit.", "Lascia vuoto per non porre limiti.";
        cap_wrong: "Enter a whole number of at most {}, or leave it empty.", "Inserisci un numero intero fino a {}, o lascia vuoto.";
        only_datasets: "Only for these datasets", "Solo per questi dataset";
        only_datasets_hint: "Choose none to allow all datasets.", "Se non ne scegli nessuno, valgono tutti.";
        datasets_many: "At most {} datasets.", "Al massimo {} dataset.";
        dataset_unknown: "There is no dataset “{}”.", "Il dataset «{}» non esiste.";
        last_day: "Last valid day", "Ultimo giorno di validità";
        last_day_hint: "In UTC. Leave empty for a key that does not expire.", "In UTC. Lascia vuoto per una chiave senza scadenza.";
        last_day_wrong: "Enter a date from today on, such as 2027-12-31.", "Inserisci una data da oggi in poi, come 2027-12-31.";
        key: "Key", "Chiave";
        key_of: "Key {}", "Chiave {}";
        created: "Created", "Creata";
        last_used: "Last used", "Ultimo uso";
        never: "never", "mai";
        limits: "Limits", "Limiti";
        state: "Status", "Stato";
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
        limit_said: "They apply from the next request on. What was spent today and this month still counts.",
            "Valgono dalla prossima richiesta. Quanto già speso oggi e questo mese continua a contare.";
        rotate: "Replace with a new key", "Sostituisci con una nuova chiave";
        rotate_said: "The new key has the same name and limits.", "La nuova chiave ha lo stesso nome e gli stessi limiti.";
        grace: "The old key stays valid", "La vecchia chiave resta valida";
        grace_none: "not at all", "per niente";
        grace_hour: "for an hour", "per un’ora";
        grace_day: "for a day", "per un giorno";
        grace_week: "for a week", "per una settimana";
        revoke: "Revoke", "Revoca";
        revoke_said: "The key stops working at once and for good.", "La chiave smette di funzionare subito e per sempre.";
        key_full: "No more keys can be created: an account can have at most {}.",
            "Non si possono creare altre chiavi: un account può averne al massimo {}.";
        new_key: "Your new key", "La tua nuova chiave";
        new_key_said: "Copy it now: it is shown only once, and we keep only its hash.",
            "Copiala ora: viene mostrata una sola volta e ne conserviamo soltanto l’hash.";
        try_it: "Try it", "Provala";
        back_to_keys: "Back to the keys", "Torna alle chiavi";
        copy: "Copy", "Copia";
        copied: "Copied", "Copiato";
        // Usage.
        usage_said: "What your keys have read, and you on this site, by UTC day.",
            "Che cosa hanno letto le tue chiavi, e tu su questo sito, per giorno UTC.";
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
        nothing_read: "Nothing was read in this period.", "In questo periodo non è stato letto nulla.";
        as_csv: "Download as CSV", "Scarica come CSV";
        and_more: "and {} more", "e altri {}";
        // Credits.
        entries: "Entries", "Movimenti";
        purchases: "Purchases", "Acquisti";
        everything: "All", "Tutti";
        shown: "Entries shown", "Movimenti mostrati";
        at: "Time (UTC)", "Ora (UTC)";
        what: "Type", "Tipo";
        change: "Change", "Variazione";
        price: "Price excluding VAT", "Prezzo IVA esclusa";
        purchase: "purchase", "acquisto";
        charge: "query", "richiesta";
        reserve: "reserved for a stream", "riservati per un flusso";
        settle: "settled after a stream", "conguaglio dopo un flusso";
        refund: "returned", "restituiti";
        grant: "granted", "concessi";
        take_back: "reversed after a refund or dispute", "stornati dopo un rimborso o una contestazione";
        give_back: "restored after a dispute", "riaccreditati dopo una contestazione";
        older: "Older", "Precedenti";
        newest: "Newest", "Più recenti";
        no_entries: "There are no entries here.", "Qui non ci sono movimenti.";
        no_entries_yet: "None of the latest entries match. Look at older ones.",
            "Nessuno dei movimenti più recenti corrisponde. Guarda quelli precedenti.";
        buy: "Buying credits", "Acquistare crediti";
        buy_ask: "To buy credits, contact {} and mention the address {}.", "Per acquistare crediti, scrivi a {} indicando l’indirizzo {}.";
        buy_operator: "To buy credits, contact the operator of this site and mention the address {}.",
            "Per acquistare crediti, rivolgiti al gestore del sito indicando l’indirizzo {}.";
        prices: "Prices", "Prezzi";
        // Settings.
        change_password: "Change your password", "Cambia la password";
        change_password_said: "All other sessions will end.", "Tutte le altre sessioni verranno terminate.";
        sessions: "Sessions", "Sessioni";
        sessions_caption: "Where you are signed in", "Dove hai effettuato l’accesso";
        opened: "Signed in", "Accesso";
        last_seen: "Last active", "Ultima attività";
        ends_at: "Expires", "Scadenza";
        this_session: "this session", "questa sessione";
        end: "End", "Termina";
        end_session_of: "End the session of {}", "Termina la sessione del {}";
        end_others: "End all other sessions", "Termina tutte le altre sessioni";
        delete_account: "Delete your account", "Elimina l’account";
        delete_said: "This is permanent: your keys stop working, your sessions end, and the address can be used for a new account. The entries stay in the books. Any credits left are lost.",
            "È definitivo: le chiavi smettono di funzionare, le sessioni terminano e l’indirizzo può essere usato per un nuovo account. I movimenti restano nei registri. I crediti rimasti vanno persi.";
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
