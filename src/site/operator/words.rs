//! The words of the operator's pages, in both languages.

use crate::site::words::words;

words! {
    /// The words of the operator's pages.
    pub struct OperatorWords {
        // Sign-in and frame.
        area: "Operator", "Gestione";
        sign_in: "Sign in", "Accedi";
        sign_in_text: "These pages are for the operator of this server.", "Queste pagine sono riservate al gestore del server.";
        token: "Operator’s token", "Codice del gestore";
        token_hint: "The content of admin.token in the data directory.", "Il contenuto di admin.token nella cartella dei dati.";
        token_wrong: "This is not the content of admin.token.", "Non è il contenuto di admin.token.";
        sign_out: "Sign out", "Esci";
        overview: "Overview", "Panoramica";
        datasets: "Datasets", "Dataset";
        accounts: "Accounts", "Account";
        payments: "Payments", "Pagamenti";
        publications: "Publications", "Pubblicazioni";
        above: "Back to:", "Torna a:";
        not_found: "There is no such page, or what it showed no longer exists.", "Questa pagina non esiste, o ciò che mostrava non c’è più.";
        // Forms.
        confirm: "Yes, although this cannot be undone", "Sì, anche se non si può annullare";
        confirm_missing: "Tick the box to confirm: this cannot be undone.", "Spunta la casella per confermare: non si può annullare.";
        not_a_number: "“{}” is not a whole number.", "«{}» non è un numero intero.";
        search: "Search", "Cerca";
        previous: "Previous", "Precedenti";
        next: "Next", "Successivi";
        first: "From the beginning", "Dall’inizio";
        no: "no", "no";
        // Outcomes of forms.
        done_created: "The account has been created.", "L’account è stato creato.";
        done_granted: "The credits have been granted.", "I crediti sono stati concessi.";
        done_bought: "The purchase has been recorded.", "L’acquisto è stato registrato.";
        done_bought_before: "A purchase with this reference was already recorded. Nothing was added.",
            "Un acquisto con questo riferimento era già registrato. Non è stato aggiunto nulla.";
        done_limited: "The limits have been changed.", "I limiti sono stati modificati.";
        done_revoked: "The key has been revoked.", "La chiave è stata revocata.";
        done_sessions_ended: "The sessions have ended.", "Le sessioni sono terminate.";
        done_closed: "The account has been closed.", "L’account è stato chiuso.";
        done_rolled_back: "The version you chose is now served.", "Ora è servita la versione che hai scelto.";
        done_withdrawn: "The dataset is no longer published.", "Il dataset non è più pubblicato.";
        done_republished: "The dataset is published again.", "Il dataset è di nuovo pubblicato.";
        done_scanned: "All folders have been checked.", "Tutte le cartelle sono state controllate.";
        done_repeated: "This form had already been sent. It was carried out once.",
            "Questo modulo era già stato inviato. È stato eseguito una volta sola.";
        done_signed_out: "You are signed out.", "Disconnessione effettuata.";
        // Overview.
        ready: "Everything works.", "Tutto funziona.";
        ready_verifying: "Everything works. {} datasets are waiting to be verified.", "Tutto funziona. {} dataset attendono la verifica.";
        ready_faulty: "The server works. {} datasets or versions have faults.", "Il server funziona. {} dataset o versioni presentano problemi.";
        books_down: "The books cannot be written, so nothing can be sold. The server is trying to reopen them.",
            "Non è possibile scrivere nei registri: non si può vendere nulla. Il server sta provando a riaprirli.";
        needs_restart: "The books need the server to be restarted.", "Per i registri serve un riavvio del server.";
        served_datasets: "Served", "Serviti";
        quarantined_datasets: "Out of service", "Fuori servizio";
        fallen_back_datasets: "Served in an older version", "Serviti in una versione precedente";
        verifying_datasets: "Being verified", "In verifica";
        versions: "Versions", "Versioni";
        rows: "Rows", "Righe";
        scrubber: "Background checks", "Controlli in background";
        scrubber_text: "{} rounds, {} checked", "{} cicli, {} controllati";
        damaged_found: "Damage found since the start", "Danni trovati dall’avvio";
        books: "Books", "Registri";
        keys: "Keys", "Chiavi";
        entries: "Entries", "Movimenti";
        reservations: "Running streams", "Flussi in corso";
        server: "Server", "Server";
        program: "Version", "Versione";
        started: "Started", "Avviato";
        uptime: "Running for", "In funzione da";
        days_hours_minutes: "{} d {} h {} min", "{} g {} h {} min";
        memory: "Memory, without mapped files", "Memoria, senza i file mappati";
        panics: "Handlers that panicked", "Gestori andati in panic";
        last_hour: "The last hour", "L’ultima ora";
        last_hour_text: "Kept in memory, one sample every ten seconds; a restart begins anew.",
            "In memoria, un campione ogni dieci secondi; un riavvio ricomincia da capo.";
        no_plots: "Charts appear here half a minute after the start.", "I grafici compaiono qui mezzo minuto dopo l’avvio.";
        rates_caption: "Counters", "Contatori";
        counter: "Counter", "Contatore";
        in_minute: "Last minute", "Ultimo minuto";
        in_hour: "Last hour", "Ultima ora";
        most_a_minute: "Busiest minute", "Massimo in un minuto";
        since_start: "Since the start", "Dall’avvio";
        requests: "Requests", "Richieste";
        refused: "Refused (4xx)", "Rifiutate (4xx)";
        failed: "Failed (5xx)", "Fallite (5xx)";
        rows_delivered: "Rows delivered", "Righe consegnate";
        credits_spent: "Credits spent", "Crediti spesi";
        minutes_ago: "{} min ago", "{} min fa";
        now: "now", "ora";
        a_minute: "{} a minute", "{} al minuto";
        plot_text: "{} in the last hour. Highest: {}.", "{} nell’ultima ora. Massimo: {}.";
        metrics_text: "All metrics for a monitoring system:", "Tutte le metriche per un sistema di monitoraggio:";
        // Datasets.
        which: "Datasets shown", "Dataset mostrati";
        all: "All", "Tutti";
        faulty: "With faults", "Con problemi";
        datasets_found: "{} datasets", "{} dataset";
        no_datasets: "No datasets are published here.", "Qui non è pubblicato alcun dataset.";
        no_faulty: "No dataset has faults.", "Nessun dataset presenta problemi.";
        dataset: "Dataset", "Dataset";
        state: "Status", "Stato";
        state_serving: "served", "servito";
        state_verifying: "being verified", "in verifica";
        published_elsewhere: "The versions are in object storage and shared by all servers. Use mercato-tools with --store and --books.",
            "Le versioni sono in uno storage a oggetti e condivise da tutti i server. Usa mercato-tools con --store e --books.";
        state_away: "not in the cache", "non in cache";
        state_fallen_back: "older version served", "servita una versione precedente";
        state_warned: "served, with faults", "servito, con problemi";
        state_quarantined: "out of service", "fuori servizio";
        version: "Version", "Versione";
        size: "Size", "Dimensione";
        updated: "Changed", "Modificato";
        slug: "Identifier", "Identificativo";
        wanted: "Version to be served", "Versione da servire";
        served: "served", "servita";
        held: "removed, still being read", "rimossa, ancora in lettura";
        faults: "Faults", "Problemi";
        versions_caption: "Available versions", "Versioni disponibili";
        published: "Published", "Pubblicata";
        columns: "Columns", "Colonne";
        rollback: "Serve another version", "Servi un’altra versione";
        rollback_hint: "A version that is still kept, such as 1.2.0. It is served until the next publication.",
            "Una versione ancora conservata, come 1.2.0. È servita fino alla prossima pubblicazione.";
        version_wrong: "Enter a version like 1.2.0.", "Inserisci una versione come 1.2.0.";
        withdraw: "Unpublish the dataset", "Ritira il dataset";
        withdraw_text: "It is no longer served. Its files stay, and it can be published again under Publications.",
            "Non viene più servito. I file restano, e si può pubblicare di nuovo in Pubblicazioni.";
        // Accounts.
        accounts_in_all: "{} accounts in all", "{} account in tutto";
        accounts_caption: "Accounts, by ID", "Account, per ID";
        accounts_search: "Search by name, e-mail address or ID", "Cerca per nome, indirizzo e-mail o ID";
        no_accounts: "No accounts found.", "Nessun account trovato.";
        id: "ID", "ID";
        name: "Name", "Nome";
        name_hint: "For your records; people who sign up have none.", "Per i tuoi registri; chi si registra da sé non ne ha.";
        email: "E-mail address", "Indirizzo e-mail";
        plan: "Plan", "Piano";
        credits: "Credits", "Crediti";
        created: "Created", "Creato";
        closed: "Closed", "Chiuso";
        create_account: "Create an account", "Crea un account";
        balance: "Balance", "Saldo";
        confirmed: "Address confirmed", "Indirizzo confermato";
        no_login: "none (no login)", "nessuno (senza accesso)";
        no_keys: "The account has no key.", "L’account non ha chiavi.";
        keys_caption: "Keys, newest first", "Chiavi, le più recenti prima";
        key: "Key", "Chiave";
        limits: "Limits", "Limiti";
        last_used: "Last used", "Ultimo uso";
        sequence: "Number", "Numero";
        at: "Time (UTC)", "Ora (UTC)";
        what: "Type", "Tipo";
        account: "Account", "Account";
        change: "Change", "Variazione";
        price: "Price excluding VAT", "Prezzo IVA esclusa";
        reference: "Reference", "Riferimento";
        reference_hint: "The number of the invoice or payment. Each reference can be recorded only once.",
            "Il numero della fattura o del pagamento. Ogni riferimento si può registrare una volta sola.";
        note: "Note", "Nota";
        note_hint: "For your records. Customers do not see it.", "Per i tuoi registri. I clienti non la vedono.";
        usage: "Usage in the last 30 days", "Consumo negli ultimi 30 giorni";
        usage_caption: "Usage by dataset, most rows first", "Consumo per dataset, dal più letto";
        no_usage: "Nothing was read in the last 30 days.", "Negli ultimi 30 giorni non è stato letto nulla.";
        sessions: "Sessions", "Sessioni";
        no_sessions: "Nobody is signed in.", "Nessuno ha effettuato l’accesso.";
        sessions_caption: "Open sessions, newest first", "Sessioni aperte, le più recenti prima";
        opened: "Signed in", "Accesso";
        last_seen: "Last active", "Ultima attività";
        ends: "Expires", "Scadenza";
        grant: "Grant credits", "Concedi crediti";
        grant_text: "A gift: the plan does not change.", "Un regalo: il piano non cambia.";
        buy: "Record a purchase", "Registra un acquisto";
        buy_text: "For credits that were paid for. The account is prepaid from then on.",
            "Per crediti già pagati. Da quel momento l’account è prepagato.";
        cents: "Price in euro cents, excluding VAT", "Prezzo in centesimi di euro, IVA esclusa";
        cents_hint: "Leave empty for the list price.", "Lascia vuoto per il prezzo di listino.";
        create_key: "Create a key", "Crea una chiave";
        label: "Label", "Etichetta";
        cap_day: "Maximum credits per day", "Massimo di crediti al giorno";
        cap_month: "Maximum credits per month", "Massimo di crediti al mese";
        cap_hint: "Leave empty for no limit.", "Lascia vuoto per non porre limiti.";
        only_datasets: "Only for these datasets", "Solo per questi dataset";
        only_datasets_hint: "Choose none to allow all datasets.", "Se non ne scegli nessuno, valgono tutti.";
        end: "Expires", "Scadenza";
        end_hint: "A date like 2026-12-31 or a time like 2026-12-31T18:00:00Z. Leave empty for a key that does not expire.",
            "Una data come 2026-12-31 o un’ora come 2026-12-31T18:00:00Z. Lascia vuoto per una chiave senza scadenza.";
        limit: "Change the limits", "Cambia i limiti";
        limit_text: "All of them apply from the next request on. An empty field removes its limit.",
            "Valgono tutti dalla prossima richiesta. Un campo vuoto toglie il limite.";
        reset: "Create a link for a new password", "Crea un link per una nuova password";
        reset_form_text: "For owners who have forgotten their password. Make sure you know who is asking.",
            "Per chi ha dimenticato la password. Accertati di chi lo chiede.";
        end_sessions: "End all sessions", "Termina tutte le sessioni";
        close: "Close the account", "Chiudi l’account";
        close_text: "This is permanent: its keys stop working, its sessions end, and its e-mail address can be used again. Entries and balance stay in the books.",
            "È definitivo: le chiavi smettono di funzionare, le sessioni terminano e l’indirizzo e-mail torna utilizzabile. Movimenti e saldo restano nei registri.";
        closed_text: "This account is closed and can no longer be changed.", "Questo account è chiuso e non si può più modificare.";
        manage: "Manage", "Gestisci";
        manage_key: "Manage the key {}", "Gestisci la chiave {}";
        of_account: "Account of the key:", "Account della chiave:";
        ended_text: "This key no longer works and can no longer be changed.", "Questa chiave non funziona più e non si può più modificare.";
        // Secrets.
        secret: "Shown only once", "Mostrato una volta sola";
        key_text: "Copy the key now and give it to its owner: it is shown only once, and only its hash is kept.",
            "Copia ora la chiave e consegnala: viene mostrata una sola volta e se ne conserva soltanto l’hash.";
        reset_text: "Give this only to the owner of the account. It sets a new password, once and within an hour.",
            "Consegnalo soltanto al titolare dell’account. Imposta una nuova password, una volta sola ed entro un’ora.";
        reset_link: "As a link:", "Come link:";
        back: "Continue", "Continua";
        // Payments.
        payments_text: "Purchases that customers started at the payment provider, paid or not. A purchase that you recorded by hand is among the entries of its account.",
            "Acquisti che i clienti hanno iniziato presso il fornitore dei pagamenti, pagati o no. Un acquisto registrato a mano è tra i movimenti del suo account.";
        payments_caption: "Purchases, newest first", "Acquisti, i più recenti prima";
        no_payments: "No customer has started a purchase yet.", "Nessun cliente ha ancora iniziato un acquisto.";
        provider: "Provider", "Fornitore";
        // Publications.
        files: "Files being written", "File in scrittura";
        files_text: "Publications run in another program, which does not report its progress. This is what is in the data directory now; how far along a file is, only that program knows.",
            "Le pubblicazioni sono eseguite da un altro programma, che non comunica il suo avanzamento. Questo è ciò che si trova ora nella cartella dei dati: a che punto sia un file, lo sa solo quel programma.";
        files_caption: "Files that are not in their place yet", "File non ancora al loro posto";
        no_files: "No file is being written.", "Nessun file è in scrittura.";
        file: "File", "File";
        written: "Last written", "Ultima scrittura";
        file_written: "being written", "in scrittura";
        file_idle: "idle for 10 minutes: probably left behind by an interrupted publication; the next one removes it",
            "fermo da 10 minuti: probabilmente lasciato da una pubblicazione interrotta; la prossima lo rimuove";
        not_whole: "There are too many folders to check all of them.", "Le cartelle sono troppe per controllarle tutte.";
        verification: "Verification of new and changed files", "Verifica di file nuovi e modificati";
        files_waiting: "Waiting", "In attesa";
        files_verified: "Verified since the start", "Verificati dall’avvio";
        files_damaged: "Found damaged", "Trovati danneggiati";
        verifying_now: "Not served until verified:", "Non serviti fino alla verifica:";
        unpublished: "Not published", "Non pubblicati";
        no_unpublished: "Every folder is published.", "Ogni cartella è pubblicata.";
        withdrawn: "unpublished by the operator", "ritirato dal gestore";
        republish: "Publish again", "Pubblica di nuovo";
        incomplete: "without a manifest or a version", "senza manifesto o senza versione";
        newest_versions: "Newest versions", "Versioni più recenti";
        scan: "Check all folders now", "Controlla ora tutte le cartelle";
        scan_text: "The server notices publications by itself within a quarter of a second, and files copied by hand within a few seconds.",
            "Il server si accorge da sé delle pubblicazioni entro un quarto di secondo, e dei file copiati a mano entro qualche secondo.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::words::check;

    #[test]
    fn translates_every_word_with_its_gaps() {
        let same = ["server", "dataset", "account", "no", "file", "id"];
        check(&OperatorWords::list(), &same);
    }
}
