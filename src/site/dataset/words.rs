//! The words of the pages of a dataset.

use crate::site::words::words;

words! {
    /// The words of the pages of a dataset.
    pub struct DatasetWords {
        // Head.
        sections: "Pages of this dataset", "Pagine di questo dataset";
        tab_overview: "Overview", "Panoramica";
        tab_columns: "Columns", "Colonne";
        tab_preview: "Preview", "Anteprima";
        tab_explore: "Explore", "Esplora";
        tab_relations: "Relations", "Relazioni";
        tab_methodology: "Methodology", "Metodologia";
        tab_changelog: "Changelog", "Modifiche";
        tab_use: "Use it", "Come usarlo";
        all_datasets: "Datasets", "Dataset";
        version_is: "version {}", "versione {}";
        row_is: "{} row", "{} riga";
        rows_are: "{} rows", "{} righe";
        column_is: "{} column", "{} colonna";
        columns_are: "{} columns", "{} colonne";
        updated_on: "updated {}", "aggiornato il {}";
        notice_falls_back: "Version {} is out of service because its file is damaged. Version {} is served in its place.",
            "La versione {} è fuori servizio perché il suo file è danneggiato. Al suo posto è servita la versione {}.";
        notice_retracted: "The publisher has retracted version {}. Version {} is served.",
            "L’editore ha ritirato la versione {}. È servita la versione {}.";
        notice_verifying_newer: "Version {} is being verified. Until then version {} is served.",
            "La versione {} è in corso di verifica. Fino ad allora è servita la versione {}.";
        notice_verifying: "The data are being verified. Rows and statistics will appear once that is done.",
            "I dati sono in corso di verifica. Righe e statistiche saranno disponibili al termine.";
        notice_fetching_newer: "Version {} is being fetched. Until then version {} is served.",
            "La versione {} è in corso di trasferimento. Fino ad allora è servita la versione {}.";
        notice_away: "The data are not on this server yet; they are fetched when someone asks for them. Rows and statistics will appear then.",
            "I dati non sono ancora su questo server e vengono trasferiti alla prima richiesta. Righe e statistiche saranno disponibili allora.";
        // Overview.
        feed_of: "New versions of {} (Atom)", "Nuove versioni di {} (Atom)";
        about: "About", "Informazioni";
        tags: "Tags", "Etichette";
        license: "Licence", "Licenza";
        license_none: "not stated", "non indicata";
        publisher: "Publisher", "Editore";
        contact: "Contact", "Contatti";
        homepage: "Website", "Sito";
        period: "Period", "Periodo";
        period_since: "since {}", "dal {}";
        period_until: "until {}", "fino al {}";
        places: "Places", "Luoghi";
        update_frequency: "Updates", "Aggiornamento";
        frequency_continuous: "continuous", "continuo";
        frequency_hourly: "hourly", "ogni ora";
        frequency_daily: "daily", "ogni giorno";
        frequency_weekly: "weekly", "ogni settimana";
        frequency_fortnightly: "every two weeks", "ogni due settimane";
        frequency_monthly: "monthly", "ogni mese";
        frequency_quarterly: "quarterly", "ogni trimestre";
        frequency_half_yearly: "twice a year", "ogni semestre";
        frequency_yearly: "yearly", "ogni anno";
        frequency_irregular: "irregular", "irregolare";
        frequency_never: "never", "mai";
        price: "Price", "Prezzo";
        price_row: "One row", "Una riga";
        price_whole: "Whole dataset", "Dataset intero";
        price_credit: "1 credit", "1 credito";
        price_said: "{} credits: {}. You pay for the rows you get; a filter makes it cheaper.",
            "{} crediti: {}. Paghi le righe che ricevi; con un filtro costa meno.";
        see_preview: "See the free sample", "Vedi il campione gratuito";
        choose_rows: "Choose rows and see the price", "Scegli le righe e vedi il prezzo";
        formats: "Formats", "Formati";
        format: "Format", "Formato";
        size: "Size", "Dimensione";
        formats_caption: "Download formats", "Formati per il download";
        size_unknown: "shown on download", "indicata al download";
        how_to_read: "How to read it", "Come leggerlo";
        versions: "Versions", "Versioni";
        versions_caption: "Available versions", "Versioni disponibili";
        version: "Version", "Versione";
        published: "Published", "Pubblicata";
        rows: "Rows", "Righe";
        current: "current", "attuale";
        what_changed: "What changed", "Che cosa è cambiato";
        citation: "How to cite", "Come citarlo";
        // Columns.
        statistics_said: "Statistics are exact: they are counted over all {} rows.",
            "Le statistiche sono esatte: sono calcolate su tutte le {} righe.";
        raw_data: "The same for programs:", "Le stesse informazioni per i programmi:";
        pages: "Pages", "Pagine";
        kind_text: "text", "testo";
        kind_integer: "integer", "intero";
        kind_decimal: "decimal", "decimale";
        kind_float: "number", "numero";
        kind_boolean: "true or false", "vero o falso";
        kind_date: "date", "data";
        kind_timestamp: "date and time", "data e ora";
        mark_indexed: "indexed", "indicizzata";
        mark_sortable: "sortable", "ordinabile";
        mark_nullable: "may be missing", "può mancare";
        example: "Example", "Esempio";
        nulls: "Missing", "Mancanti";
        nans: "Not a number", "Non numerici";
        infinities: "Infinite", "Infiniti";
        distinct: "Distinct values", "Valori distinti";
        smallest: "Smallest", "Minimo";
        largest: "Largest", "Massimo";
        first_text: "First", "Primo";
        last_text: "Last", "Ultimo";
        mean: "Mean", "Media";
        shortest: "Shortest (characters)", "Più corto (caratteri)";
        longest: "Longest (characters)", "Più lungo (caratteri)";
        mean_length: "Mean length", "Lunghezza media";
        quantiles: "Quantiles", "Quantili";
        quantiles_of_lengths: "Quantiles of the lengths", "Quantili delle lunghezze";
        median: "median", "mediana";
        histogram_of_values: "Distribution of the values", "Distribuzione dei valori";
        histogram_of_lengths: "Distribution of the lengths in characters", "Distribuzione delle lunghezze in caratteri";
        histogram_said: "{} intervals; the fullest has {} values, from {} to {}.", "{} intervalli; il più numeroso contiene {} valori, da {} a {}.";
        histogram_as_table: "The same as a table", "Lo stesso in tabella";
        from: "From", "Da";
        to: "To", "A";
        count: "Count", "Numero";
        value: "Value", "Valore";
        share: "Share", "Quota";
        frequent: "Most frequent values", "Valori più frequenti";
        empty_text: "(empty text)", "(testo vuoto)";
        word_true: "true", "vero";
        word_false: "false", "falso";
        statistics_incomplete: "This version was converted before statistics were kept; only its smallest and largest values are known.",
            "Questa versione è stata convertita prima che si registrassero le statistiche: sono noti solo il valore minimo e il massimo.";
        // Preview.
        preview_caption: "{} rows, evenly spread over the {} of the dataset. They are free.",
            "{} righe, distribuite uniformemente sulle {} del dataset. Sono gratuite.";
        preview_sorted: "Sorting applies to the rows of the sample only.", "L’ordine riguarda solo le righe del campione.";
        pick_columns: "Columns shown", "Colonne mostrate";
        pick_show: "show", "mostra";
        pick_hide: "hide", "nascondi";
        picker_rest: "and {} more that cannot be chosen here", "e altre {}, che qui non si possono scegliere";
        all_columns: "Back to the first columns", "Torna alle prime colonne";
        file_order: "Original order", "Ordine originale";
        missing_value: "missing", "mancante";
        // Explore.
        explore_said: "Narrow the dataset down, see what the view costs, and copy the command for it. Exploring is free.",
            "Restringi il dataset, guarda quanto costa la vista e copia il comando. Esplorare è gratuito.";
        conditions: "Conditions", "Condizioni";
        conditions_none: "No conditions: the view is the whole dataset.", "Nessuna condizione: la vista è l’intero dataset.";
        test: "Comparison", "Confronto";
        remove: "Remove", "Togli";
        add_condition: "Add a condition on", "Aggiungi una condizione su";
        add: "Add", "Aggiungi";
        add_none: "choose a column", "scegli una colonna";
        order_by: "Order by", "Ordina per";
        order_of_file: "original order", "ordine originale";
        direction: "Direction", "Verso";
        ascending: "ascending", "crescente";
        descending: "descending", "decrescente";
        apply: "Show the price", "Mostra il prezzo";
        reset: "Start over", "Ricomincia";
        test_equal: "is", "è";
        test_not_equal: "is not", "non è";
        test_at_least: "at least", "almeno";
        test_at_most: "at most", "al massimo";
        test_above: "above", "maggiore di";
        test_below: "below", "minore di";
        test_contains: "contains", "contiene";
        test_begins_with: "begins with", "inizia con";
        test_ends_with: "ends with", "finisce con";
        test_missing: "is missing", "manca";
        test_present: "is present", "è presente";
        needs_integer: "This column contains whole numbers, such as 42.", "Questa colonna contiene numeri interi, come 42.";
        needs_number: "This column contains numbers, such as 99.5.", "Questa colonna contiene numeri, come 99,5.";
        needs_date: "This column contains dates, such as 2024-01-31.", "Questa colonna contiene date, come 2024-01-31.";
        needs_moment: "This column contains dates and times, such as 2024-01-31T12:00:00Z.",
            "Questa colonna contiene date e ore, come 2024-01-31T12:00:00Z.";
        needs_column: "This dataset has no such column. Remove the condition.", "Questo dataset non ha questa colonna. Togli la condizione.";
        needs_test: "This comparison is not available for this column. Choose another one.",
            "Questo confronto non è disponibile per questa colonna. Scegline un altro.";
        needs_value: "Choose a value or type one.", "Scegli un valore o scrivilo.";
        needs_shorter: "This value is too long: at most {} characters.", "Questo valore è troppo lungo: al massimo {} caratteri.";
        needs_fewer: "A view has at most {} conditions. Remove one.", "Una vista ha al massimo {} condizioni. Togline una.";
        needs_order: "The rows cannot be sorted like this. Choose another order.", "Le righe non si possono ordinare così. Scegli un altro ordine.";
        values_range: "Values from {} to {}.", "Valori da {} a {}.";
        the_view: "The view", "La vista";
        view_holds_one: "This view has {} row.", "Questa vista contiene {} riga.";
        view_holds: "This view has {} rows.", "Questa vista contiene {} righe.";
        view_holds_many: "This view has more than {} rows.", "Questa vista contiene più di {} righe.";
        view_costs_one: "It costs {} credit ({}).", "Costa {} credito ({}).";
        view_costs: "It costs {} credits ({}).", "Costa {} crediti ({}).";
        view_costs_at_most: "It costs at most {} credits ({}): you pay only for the rows that are sent.",
            "Costa al massimo {} crediti ({}): paghi solo le righe inviate.";
        view_uncounted: "Counting this view takes too long for a public page. Ask the API with your key; the estimate is free.",
            "Contare questa vista richiede troppo tempo per una pagina pubblica. Chiedi all’API con la tua chiave: la stima è gratuita.";
        view_faulty: "No price yet: complete or correct what is marked in the form.",
            "Ancora nessun prezzo: completa o correggi i campi segnalati nel modulo.";
        view_refused: "This view cannot be counted. Remove a condition or the order.",
            "Questa vista non si può contare. Togli una condizione o l’ordine.";
        note_pages: "A page has at most {} rows. The programs below follow its cursor to the end.",
            "Una pagina ha al massimo {} righe. I programmi qui sotto seguono il cursore fino alla fine.";
        note_streams: "A stream has at most {} rows; continue with its cursor.", "Un flusso ha al massimo {} righe; si prosegue con il suo cursore.";
        sample_all: "From the free sample: {} of {} rows match.", "Dal campione gratuito: {} righe su {} corrispondono.";
        sample_first: "From the free sample: {} of {} rows match. These are the first {}.",
            "Dal campione gratuito: {} righe su {} corrispondono. Ecco le prime {}.";
        sample_none: "No row of the free sample matches. The whole dataset may still have some.",
            "Nessuna riga del campione gratuito corrisponde. L’intero dataset può comunque averne.";
        run: "Run this view", "Esegui questa vista";
        run_sign_in: "Sign in to run this view here", "Accedi per eseguire qui questa vista";
        run_sign_up: "Create an account", "Crea un account";
        run_confirm: "Confirm your e-mail address to run this view here", "Conferma il tuo indirizzo e-mail per eseguire qui questa vista";
        run_show_one: "Show the {} row", "Mostra {} riga";
        run_show_all: "Show the {} rows", "Mostra le {} righe";
        run_show_first: "Show the first {} rows", "Mostra le prime {} righe";
        run_costs_one: "This costs {} credit; you have {}.", "Costa {} credito; ne hai {}.";
        run_costs: "This costs {} credits; you have {}.", "Costa {} crediti; ne hai {}.";
        run_costs_at_most: "This costs at most {} credits, one for each row that is sent; you have {}.", "Costa al massimo {} crediti, uno per ogni riga inviata; ne hai {}.";
        run_costs_up_to: "This costs up to {} credits, none for rows you have already paid for; you have {}.", "Costa fino a {} crediti, nulla per le righe già pagate; ne hai {}.";
        run_paid: "You have already paid for these rows, so they cost nothing now.", "Hai già pagato queste righe, quindi ora non costano nulla.";
        run_paid_some: "You have already paid for {} rows of this view.", "Hai già pagato {} righe di questa vista.";
        run_ends: "The file ends after {} rows, as far as your credits go.", "Il file termina dopo {} righe, fin dove bastano i tuoi crediti.";
        run_free: "This uses one of your free queries: you have {} left this month.", "Usa una delle tue richieste gratuite: questo mese ne restano {}.";
        run_once: "Rows you have paid for are shown again free of charge for a day.", "Le righe già pagate si rivedono gratis per un giorno.";
        run_buy: "Buy credits", "Acquista crediti";
        run_download: "The whole view as a file", "L’intera vista in un file";
        run_download_as: "Download as {}", "Scarica in {}";
        problem_credits: "You do not have enough credits for these rows. Nothing was charged.",
            "Non hai crediti sufficienti per queste righe. Non è stato addebitato nulla.";
        problem_faulty: "A condition or the order of this view cannot be applied. Nothing was charged; correct what is marked in the form.",
            "Una condizione o l’ordine di questa vista non si può applicare. Non è stato addebitato nulla: correggi i campi segnalati nel modulo.";
        problem_stale: "The dataset has changed since you saw the price. Nothing was charged; please check it again.",
            "Il dataset è cambiato da quando hai visto il prezzo. Non è stato addebitato nulla: controllalo di nuovo.";
        problem_too_expensive: "Finding these rows takes more work than one request may cause. Nothing was charged: narrow the view, or stream it with your key.",
            "Trovare queste righe richiede più lavoro di quanto possa causarne una singola richiesta. Non è stato addebitato nulla: restringi la vista oppure leggila in streaming con la tua chiave.";
        problem_busy: "This file is already being downloaded. Wait until it is complete.",
            "Questo file è già in fase di download. Aspetta che sia completo.";
        rows_caption: "Rows {} to {} of the view, version {}", "Righe da {} a {} della vista, versione {}";
        rows_none: "The view has no rows", "La vista non contiene righe";
        rows_cost_one: "These rows cost {} credit. You have {} left.", "Queste righe sono costate {} credito. Te ne restano {}.";
        rows_cost: "These rows cost {} credits. You have {} left.", "Queste righe sono costate {} crediti. Te ne restano {}.";
        rows_free: "These rows used one free query. You have {} left this month.", "Queste righe hanno usato una richiesta gratuita. Questo mese ne restano {}.";
        rows_paid_before: "You had already paid for these rows, so they cost nothing now.", "Avevi già pagato queste righe, quindi ora non costano nulla.";
        rows_paid_some: "You had already paid for {} of them.", "Ne avevi già pagate {}.";
        rows_next: "Show the next rows, for up to {} credits", "Mostra le righe successive, per al massimo {} crediti";
        rows_next_free: "Show the next rows, for one free query", "Mostra le righe successive, con una richiesta gratuita";
        rows_columns_rest: "and {} more columns, included in the file", "e altre {} colonne, incluse nel file";
        rows_back: "Back to the view", "Torna alla vista";
        commands: "Commands for this view", "Comandi per questa vista";
        key_said: "Paste one into a terminal, with your API key in place of mk_…. Python needs the package mercato, pandas also pyarrow, R httr2, TypeScript @mercato/client.",
            "Incolla un comando nel terminale, con la tua chiave API al posto di mk_…. Python richiede il pacchetto mercato, pandas anche pyarrow, R httr2, TypeScript @mercato/client.";
        copy: "Copy", "Copia";
        copied: "Copied", "Copiato";
        snippet_estimate: "Estimate (curl)", "Stima (curl)";
        // Relations.
        relations_curated: "Datasets related to this one, strongest relation first.",
            "Dataset collegati a questo, a partire dalla relazione più forte.";
        relations_listed: "Datasets that the publisher lists as related to this one.", "Dataset che l’editore indica come collegati a questo.";
        relations_none: "No related datasets are known.", "Non risultano dataset collegati.";
        relations_rest: "and {} more in the API", "e altre {} nell’API";
        relation: "Relation", "Relazione";
        relation_related: "related", "collegato";
        dataset: "Dataset", "Dataset";
        description: "Description", "Descrizione";
        direction_from: "from this dataset", "da questo dataset";
        direction_to: "to this dataset", "verso questo dataset";
        plot_of_relations: "Datasets related to {}", "Dataset collegati a {}";
        plot_of_relations_said: "The dataset in the middle, with its strongest relations around it; the table lists the same.",
            "Il dataset al centro, circondato dalle sue relazioni più forti; la tabella elenca le stesse.";
        whole_graph: "See the relations of all datasets", "Vedi le relazioni di tutti i dataset";
        relations_caption: "Relations of this dataset", "Relazioni di questo dataset";
        // Texts.
        methodology_none: "The publisher has not provided a methodology.", "L’editore non ha fornito una metodologia.";
        changelog_none: "The publisher has not provided a changelog.", "L’editore non ha fornito un elenco delle modifiche.";
        text_updated: "Last changed {}.", "Ultima modifica: {}.";
        text_cut: "This is the beginning of a long text.", "Questo è l’inizio di un testo lungo.";
        text_raw: "The whole text", "Il testo intero";
        // Use.
        use_said: "Programs read the dataset through the API with a key. Rows cost a credit each; schema, sample and statistics are free.",
            "I programmi leggono il dataset dall’API con una chiave. Ogni riga costa un credito; schema, campione e statistiche sono gratuiti.";
        use_key: "First set your key in the environment: export MERCATO_KEY=mk_…", "Prima imposta la chiave nell’ambiente: export MERCATO_KEY=mk_…";
        use_first: "A first query", "Una prima interrogazione";
        use_first_said: "The first rows with a few columns. Choose others with conditions and order under Explore.",
            "Le prime righe con alcune colonne. In Esplora se ne scelgono altre, con condizioni e ordine.";
        use_all: "All rows, page by page", "Tutte le righe, pagina per pagina";
        use_file: "The whole file", "Il file intero";
        use_file_said: "A download costs one credit per row: {} credits ({}). Reading parts of it again within 24 hours is free.",
            "Il download costa un credito per riga: {} crediti ({}). Rileggerlo a parti entro 24 ore è gratuito.";
        use_free: "Free of charge, without a key", "Gratis, senza chiave";
        use_console: "Try every call in the console", "Prova ogni chiamata nella console";
        link_schema: "Schema (JSON Schema)", "Schema (JSON Schema)";
        link_sample: "Sample", "Campione";
        link_stats: "Statistics", "Statistiche";
        // Missing.
        missing_dataset: "There is no such dataset", "Questo dataset non esiste";
        missing_dataset_said: "No dataset is published under the name “{}”. It may have been withdrawn by its publisher.",
            "Nessun dataset è pubblicato con il nome «{}». L’editore potrebbe averlo ritirato.";
        missing_tab: "There is no such page", "Questa pagina non esiste";
        missing_tab_said: "The dataset has no page “{}”. It has these:", "Il dataset non ha una pagina «{}». Ha queste:";
        quarantined: "This dataset is out of service", "Questo dataset è fuori servizio";
        quarantined_said: "The files of “{}” are damaged, so nothing is served from them. The operator has been notified; other datasets are not affected.",
            "I file di «{}» sono danneggiati e non ne viene servito nulla. Il gestore è stato avvisato; gli altri dataset non sono coinvolti.";
        verifying: "This dataset is being verified", "Questo dataset è in corso di verifica";
        verifying_said: "The data of “{}” are being verified before the first row is shown. Try again in a moment.",
            "I dati di «{}» vengono verificati prima che sia mostrata la prima riga. Riprova fra poco.";
        away: "This dataset is being fetched", "Questo dataset è in corso di trasferimento";
        away_said: "The data of “{}” are being copied to this server. Try again in a moment.",
            "I dati di «{}» vengono trasferiti su questo server. Riprova fra poco.";
        ways_on: "Where to go next", "Come proseguire";
        way_meant: "Did you mean “{}”?", "Intendevi «{}»?";
        way_search: "Search for “{}”", "Cerca «{}»";
        way_list: "All datasets", "Tutti i dataset";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translates_every_word_with_its_gaps() {
        for (key, english, italian) in DatasetWords::list() {
            assert!(!english.is_empty() && !italian.is_empty(), "{key}");
            assert_eq!(english.matches("{}").count(), italian.matches("{}").count(), "{key}");
        }
    }
}
