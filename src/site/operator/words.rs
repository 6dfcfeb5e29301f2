//! The words of the operator's pages, in both languages.

use crate::site::words::words;

words! {
    /// The words of the operator's pages.
    pub struct OperatorWords {
        // Sign-in and frame.
        area: "Operator", "Gestione";
        sign_in: "Sign in", "Accedi";
        sign_in_said: "These pages are for whoever runs this server.", "Queste pagine sono per chi gestisce questo server.";
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
        not_found: "There is no such page here, or what it was about no longer exists.", "Qui non c’è questa pagina, o ciò di cui parlava non esiste più.";
        // Forms.
        confirm: "Yes, although it cannot be undone", "Sì, anche se non si può annullare";
        confirm_missing: "Tick the box to confirm: this cannot be undone.", "Spunta la casella per confermare: non si può annullare.";
        not_a_number: "“{}” is not a whole number.", "«{}» non è un numero intero.";
        search: "Search", "Cerca";
        previous: "Previous", "Precedenti";
        next: "Next", "Successivi";
        first: "From the beginning", "Dall’inizio";
        no: "no", "no";
        // Outcomes of forms.
        done_created: "The account is created.", "L’account è creato.";
        done_granted: "The credits are granted.", "I crediti sono concessi.";
        done_bought: "The purchase is entered.", "L’acquisto è registrato.";
        done_bought_before: "This purchase was entered before under its reference. Nothing was added.", "Questo acquisto era già registrato con il suo riferimento. Non è stato aggiunto nulla.";
        done_limited: "The limits are changed.", "I limiti sono cambiati.";
        done_revoked: "The key is revoked.", "La chiave è revocata.";
        done_sessions_ended: "The sessions have ended.", "Le sessioni sono terminate.";
        done_closed: "The account is closed.", "L’account è chiuso.";
        done_rolled_back: "The version that you chose is served.", "La versione che hai scelto è servita.";
        done_withdrawn: "The dataset is no longer published.", "Il dataset non è più pubblicato.";
        done_looked: "The folders were looked at.", "Le cartelle sono state esaminate.";
        done_repeated: "This form was sent before. It was done once, and not again.", "Questo modulo era già stato inviato. È stato eseguito una volta sola.";
        done_signed_out: "You are signed out.", "Sei uscito.";
        // Overview.
        ready: "Everything works.", "Tutto funziona.";
        ready_verifying: "Everything works. {} datasets wait for their verification.", "Tutto funziona. {} dataset attendono la verifica.";
        ready_faulty: "The server works. {} datasets or versions have faults.", "Il server funziona. {} dataset o versioni hanno difetti.";
        books_down: "The books cannot be written: nothing can be sold. The server tries to open them again.", "I registri non si possono scrivere: non si può vendere nulla. Il server prova a riaprirli.";
        needs_restart: "The books need a restart of the server.", "I registri richiedono un riavvio del server.";
        served_datasets: "Served", "Serviti";
        quarantined_datasets: "Out of service", "Fuori servizio";
        fallen_back_datasets: "Served in an older version", "Serviti in una versione precedente";
        verifying_datasets: "Being verified", "In verifica";
        versions: "Versions", "Versioni";
        rows: "Rows", "Righe";
        scrubber: "Background pass", "Passata in sottofondo";
        scrubber_said: "{} rounds, {} compared", "{} giri, {} confrontati";
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
        memory: "Memory that is no file", "Memoria che non è file";
        panics: "Handlers that panicked", "Gestori andati in panico";
        last_hour: "The last hour", "L’ultima ora";
        last_hour_said: "Counted in memory, one sample every ten seconds; a start begins anew.", "Contato in memoria, un campione ogni dieci secondi; un avvio ricomincia da capo.";
        no_plots: "Plots appear here half a minute after the start.", "I grafici compaiono qui mezzo minuto dopo l’avvio.";
        rates_caption: "Counters", "Contatori";
        counter: "What", "Che cosa";
        in_minute: "Last minute", "Ultimo minuto";
        in_hour: "Last hour", "Ultima ora";
        most_a_minute: "Most in a minute", "Massimo al minuto";
        since_start: "Since the start", "Dall’avvio";
        requests: "Requests", "Richieste";
        refused: "Refused (4xx)", "Rifiutate (4xx)";
        failed: "Failed (5xx)", "Fallite (5xx)";
        rows_delivered: "Rows delivered", "Righe consegnate";
        credits_spent: "Credits spent", "Crediti spesi";
        minutes_ago: "{} min ago", "{} min fa";
        now: "now", "ora";
        a_minute: "{} a minute", "{} al minuto";
        plot_said: "{} in the last hour. Highest: {}.", "{} nell’ultima ora. Massimo: {}.";
        metrics_said: "All metrics for a monitoring system:", "Tutte le metriche per un sistema di monitoraggio:";
        // Datasets.
        which: "Shown datasets", "Dataset mostrati";
        all: "All", "Tutti";
        faulty: "With faults", "Con difetti";
        datasets_found: "{} datasets", "{} dataset";
        no_datasets: "No dataset is published here.", "Qui non è pubblicato alcun dataset.";
        no_faulty: "No dataset has a fault.", "Nessun dataset ha difetti.";
        dataset: "Dataset", "Dataset";
        state: "State", "Stato";
        state_serving: "served", "servito";
        state_verifying: "being verified", "in verifica";
        published_elsewhere: "The versions lie in object storage and belong to all servers. Use mercato-tools with --store and --books.",
            "Le versioni si trovano nello spazio oggetti e appartengono a tutti i server. Usa mercato-tools con --store e --books.";
        state_away: "not in the cache", "non in cache";
        state_fallen_back: "older version served", "servita una versione precedente";
        state_warned: "served, with faults", "servito, con difetti";
        state_quarantined: "out of service", "fuori servizio";
        version: "Version", "Versione";
        size: "Size", "Dimensione";
        updated: "Changed", "Modificato";
        slug: "Name in addresses", "Nome negli indirizzi";
        wanted: "Version that should be served", "Versione che dovrebbe essere servita";
        served: "served", "servita";
        held: "removed, still being read", "rimossa, ancora in lettura";
        faults: "Faults", "Difetti";
        versions_caption: "Versions that can be read", "Versioni leggibili";
        published: "Published", "Pubblicata";
        columns: "Columns", "Colonne";
        rollback: "Serve another version", "Servi un’altra versione";
        rollback_hint: "A kept version, such as 1.2.0. It holds until the next publication.", "Una versione conservata, come 1.2.0. Vale fino alla prossima pubblicazione.";
        version_wrong: "Write a version like 1.2.0.", "Scrivi una versione come 1.2.0.";
        withdraw: "Take the dataset back", "Ritira il dataset";
        withdraw_said: "It is no longer served. Its files stay, and only a new version brings it back.", "Non viene più servito. I file restano, e solo una nuova versione lo riporta.";
        // Accounts.
        accounts_in_all: "{} accounts in all", "{} account in tutto";
        accounts_caption: "Accounts, by id", "Account, per numero";
        accounts_search: "Search by name, e-mail address or id", "Cerca per nome, indirizzo e-mail o numero";
        no_accounts: "No account was found.", "Nessun account trovato.";
        id: "Id", "Numero";
        name: "Name", "Nome";
        name_hint: "For the books; people who sign up have none.", "Per i registri; chi si registra non ne ha.";
        email: "E-mail address", "Indirizzo e-mail";
        plan: "Plan", "Piano";
        credits: "Credits", "Crediti";
        created: "Created", "Creato";
        closed: "Closed", "Chiuso";
        create_account: "Create an account", "Crea un account";
        balance: "Balance", "Saldo";
        confirmed: "Address confirmed", "Indirizzo confermato";
        no_login: "none: no login", "nessuno: nessun accesso";
        no_keys: "The account has no key.", "L’account non ha chiavi.";
        keys_caption: "Keys, newest first", "Chiavi, le più recenti prima";
        key: "Key", "Chiave";
        limits: "Limits", "Limiti";
        last_used: "Last used", "Ultimo uso";
        sequence: "Number", "Numero";
        at: "Time (UTC)", "Ora (UTC)";
        what: "What", "Che cosa";
        account: "Account", "Account";
        change: "Change", "Variazione";
        price: "Price without VAT", "Prezzo senza IVA";
        reference: "Reference", "Riferimento";
        reference_hint: "The number of the invoice or payment. Under one reference a purchase is entered once.", "Il numero della fattura o del pagamento. Con un riferimento un acquisto si registra una volta sola.";
        note: "Remark", "Nota";
        note_hint: "For the books. Customers do not see it.", "Per i registri. I clienti non la vedono.";
        usage: "Usage in 30 days", "Consumo in 30 giorni";
        usage_caption: "Usage by dataset, most rows first", "Consumo per dataset, prima i più letti";
        no_usage: "Nothing was read in 30 days.", "In 30 giorni non è stato letto nulla.";
        sessions: "Sessions", "Sessioni";
        no_sessions: "Nobody is signed in.", "Nessuno ha effettuato l’accesso.";
        sessions_caption: "Open sessions, newest first", "Sessioni aperte, le più recenti prima";
        opened: "Signed in", "Accesso";
        last_seen: "Last seen", "Ultima attività";
        ends: "Ends", "Termina";
        grant: "Grant credits", "Concedi crediti";
        grant_said: "A gift: the plan stays as it is.", "Un regalo: il piano resta com’è.";
        buy: "Enter a purchase", "Registra un acquisto";
        buy_said: "For credits that were paid for. The account is prepaid from then on.", "Per crediti pagati. Da allora l’account è prepagato.";
        cents: "Price in euro cents, without VAT", "Prezzo in centesimi di euro, senza IVA";
        cents_hint: "Empty means the list price.", "Vuoto significa il prezzo di listino.";
        create_key: "Create a key", "Crea una chiave";
        label: "Label", "Etichetta";
        cap_day: "Credits a day at most", "Crediti al giorno al massimo";
        cap_month: "Credits a month at most", "Crediti al mese al massimo";
        cap_hint: "Empty means no limit.", "Vuoto significa senza limite.";
        only_datasets: "Only for these datasets", "Solo per questi dataset";
        only_datasets_hint: "Choose none to allow all datasets.", "Se non ne scegli nessuno, valgono tutti i dataset.";
        end: "End", "Fine";
        end_hint: "A day like 2026-12-31 or a time like 2026-12-31T18:00:00Z. Empty means never.", "Un giorno come 2026-12-31 o un’ora come 2026-12-31T18:00:00Z. Vuoto significa mai.";
        limit: "Change the limits", "Cambia i limiti";
        limit_said: "All of them hold from the next request on. An empty field lifts its limit.", "Valgono tutti dalla prossima richiesta. Un campo vuoto toglie il limite.";
        reset: "Make a link for a new password", "Crea un collegamento per una nuova password";
        reset_form_said: "For an owner who forgot the password. Make sure who asks.", "Per chi ha dimenticato la password. Accertati di chi lo chiede.";
        end_sessions: "End all sessions", "Termina tutte le sessioni";
        close: "Close the account", "Chiudi l’account";
        close_said: "For ever: its keys are refused, its sessions end, and its e-mail address is free again. Entries and balance stay in the books.", "Per sempre: le chiavi vengono rifiutate, le sessioni terminano e l’indirizzo e-mail torna libero. Movimenti e saldo restano nei registri.";
        closed_said: "This account is closed. Nothing about it can be changed.", "Questo account è chiuso. Non si può cambiare nulla.";
        manage: "Manage", "Gestisci";
        manage_key: "Manage the key {}", "Gestisci la chiave {}";
        of_account: "Account of the key:", "Account della chiave:";
        ended_said: "This key is no longer accepted. Nothing about it can be changed.", "Questa chiave non è più accettata. Non si può cambiare nulla.";
        // Secrets.
        secret: "Shown once", "Mostrato una volta sola";
        key_said: "Copy the key now and hand it to its owner: it is shown here once, and only its hash is kept.", "Copia ora la chiave e consegnala: è mostrata qui una volta sola, e se ne conserva soltanto l’impronta.";
        reset_said: "Hand this to the owner of the account alone. It sets a new password, once and within an hour.", "Consegnalo soltanto al titolare dell’account. Imposta una nuova password, una volta sola ed entro un’ora.";
        reset_link: "As a link:", "Come collegamento:";
        back: "Go on", "Continua";
        // Payments.
        payments_said: "Purchases that customers began at the payment provider, paid or not. A purchase that you entered by hand is among the entries of its account.", "Acquisti che i clienti hanno iniziato presso il fornitore dei pagamenti, pagati o no. Un acquisto registrato a mano sta fra i movimenti del suo account.";
        payments_caption: "Purchases, newest first", "Acquisti, i più recenti prima";
        no_payments: "No customer has begun a purchase so far.", "Finora nessun cliente ha iniziato un acquisto.";
        provider: "Provider", "Fornitore";
        // Publications.
        files: "Files being written", "File in scrittura";
        files_said: "A publication runs in another program, which reports to nobody. This is what lies in the data directory now: how far a file is, only its program knows.", "Una pubblicazione è un altro programma, che non riferisce a nessuno. Questo è ciò che si trova ora nella cartella dei dati: a che punto sia un file, lo sa solo il suo programma.";
        files_caption: "Files that are not in their place yet", "File non ancora al loro posto";
        no_files: "No file is being written.", "Nessun file è in scrittura.";
        file: "File", "File";
        written: "Last written", "Ultima scrittura";
        file_written: "being written", "in scrittura";
        file_idle: "idle for 10 minutes: probably left by an interrupted publication; the next one removes it", "fermo da 10 minuti: probabilmente lasciato da una pubblicazione interrotta; la prossima lo rimuove";
        not_whole: "There are too many folders to look into all of them.", "Ci sono troppe cartelle per esaminarle tutte.";
        verification: "Verification of new and changed files", "Verifica di file nuovi e modificati";
        files_waiting: "Waiting", "In attesa";
        files_verified: "Verified since the start", "Verificati dall’avvio";
        files_damaged: "Found damaged", "Trovati danneggiati";
        verifying_now: "Not served before their verification:", "Non serviti prima della verifica:";
        unpublished: "Not published", "Non pubblicati";
        no_unpublished: "Every folder is published.", "Ogni cartella è pubblicata.";
        withdrawn: "taken back by the operator", "ritirato dal gestore";
        incomplete: "without a manifest or a version", "senza manifesto o senza versione";
        newest_versions: "Newest versions", "Versioni più recenti";
        look: "Look at all folders now", "Esamina ora tutte le cartelle";
        look_said: "The server notices publications by itself within a quarter of a second, and files put there by hand within some seconds.", "Il server nota da sé le pubblicazioni entro un quarto di secondo, e i file messi a mano entro qualche secondo.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::words::check;

    #[test]
    fn translates_every_word_with_its_gaps() {
        let same = ["server", "dataset", "account", "no", "file"];
        check(&OperatorWords::list(), &same);
    }
}
