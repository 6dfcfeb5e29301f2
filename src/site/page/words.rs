//! The words of the pages, in every language side by side, so that none can lack a translation.
//!
//! Does not depend on pages. A text with `{}` is completed by [`fill`].

use std::fmt::Display;

/// Makes a struct of texts: a key, the English text and the Italian text on each line.
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis struct $name:ident { $($key:ident: $english:literal, $italian:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        $vis struct $name { $(#[doc = $english] pub $key: &'static str,)* }

        impl $name {
            const ENGLISH: Self = Self { $($key: $english,)* };
            const ITALIAN: Self = Self { $($key: $italian,)* };

            /// The words of a language.
            $vis const fn of(language: mercato_catalog::Language) -> &'static Self {
                match language {
                    mercato_catalog::Language::English => &Self::ENGLISH,
                    mercato_catalog::Language::Italian => &Self::ITALIAN,
                }
            }

            /// Every key with its texts.
            #[cfg(test)]
            $vis fn list() -> Vec<(&'static str, &'static str, &'static str)> {
                vec![$((stringify!($key), $english, $italian),)*]
            }
        }
    };
}

pub(crate) use words;

/// A text with a value in the place of its next `{}`.
pub fn fill(text: &str, value: impl Display) -> String {
    text.replacen("{}", &value.to_string(), 1)
}

words! {
    /// The words of the layout and of the pages that are not about one dataset.
    pub struct Words {
        // Layout.
        skip: "Skip to the content", "Vai al contenuto";
        main_navigation: "Main", "Principale";
        home: "Home", "Pagina iniziale";
        datasets: "Datasets", "Dataset";
        graph: "Relations", "Relazioni";
        pricing: "Pricing", "Prezzi";
        status: "Status", "Stato";
        account: "Account", "Account";
        api: "API", "API";
        search: "Search", "Cerca";
        search_label: "Search the datasets", "Cerca fra i dataset";
        search_hint: "air quality, bus stops, hospital beds…", "qualità dell’aria, fermate, posti letto…";
        language: "Language", "Lingua";
        footer_links: "Further links", "Altri collegamenti";
        contact: "Contact", "Contatti";
        feed_of_all: "New versions (Atom)", "Nuove versioni (Atom)";
        machine_readable: "OpenAPI document", "Documento OpenAPI";
        // Lists of datasets.
        one_dataset: "1 dataset", "1 dataset";
        many_datasets: "{} datasets", "{} dataset";
        one_row: "1 row", "1 riga";
        many_rows: "{} rows", "{} righe";
        whole_for: "whole for {}", "per intero {}";
        version: "version {}", "versione {}";
        updated_on: "updated {}", "aggiornato il {}";
        featured: "Featured", "In evidenza";
        tags: "Tags", "Etichette";
        // Home page.
        home_title: "Explore, query and buy data by the row", "Esplora, interroga e acquista dati, riga per riga";
        home_text: "Every dataset comes with its columns, exact statistics and a free sample. One credit buys one row, and you always see the price first.",
            "Di ogni dataset vedi colonne, statistiche esatte e un campione gratuito. Con un credito acquisti una riga, e il prezzo lo vedi sempre prima.";
        home_counts: "{} with {} so far.", "Finora {} con {}.";
        featured_datasets: "Featured datasets", "Dataset in evidenza";
        newest_versions: "Newest versions", "Versioni più recenti";
        all_datasets: "All datasets", "Tutti i dataset";
        nothing_published: "No dataset has been published yet.", "Non è ancora stato pubblicato alcun dataset.";
        // List and search.
        list_description: "All datasets, with free samples and exact statistics.", "Tutti i dataset, con campioni gratuiti e statistiche esatte.";
        results_for: "Results for “{}”", "Risultati per «{}»";
        one_result: "1 result", "1 risultato";
        many_results: "{} results", "{} risultati";
        no_results: "No datasets match. Remove a filter or try other words.",
            "Nessun dataset corrisponde. Togli un filtro o prova con altre parole.";
        ranked_words: "ranked by keywords", "in ordine di pertinenza delle parole";
        ranked_meaning: "ranked by keywords and meaning", "in ordine di pertinenza di parole e significato";
        found_in: "Found in: {}", "Trovato in: {}";
        in_title: "title", "titolo";
        in_tags: "tags", "etichette";
        in_description: "description", "descrizione";
        in_columns: "columns", "colonne";
        in_slug: "identifier", "identificativo";
        in_methodology: "methodology", "metodologia";
        in_meaning: "meaning", "significato";
        question_short: "Enter at least {} characters.", "Inserisci almeno {} caratteri.";
        question_long: "Enter at most {} characters.", "Inserisci al massimo {} caratteri.";
        question_control: "Your search contains an invalid character.", "La ricerca contiene un carattere non valido.";
        search_starting: "Search is still starting up. Here is the list in the meantime; try again in a moment.",
            "La ricerca è in fase di avvio. Intanto ecco l’elenco; riprova tra un momento.";
        filters: "Filters", "Filtri";
        filters_chosen: "Active filters", "Filtri attivi";
        remove_filter: "Remove the filter {}", "Rimuovi il filtro {}";
        remove_all: "Clear all", "Rimuovi tutti";
        tag: "Tag", "Etichetta";
        licence: "Licence", "Licenza";
        size: "Size", "Dimensione";
        updated: "Updated", "Aggiornamento";
        size_small: "up to 10,000 rows", "fino a 10.000 righe";
        size_medium: "10,000 to 1 million rows", "da 10.000 a 1 milione di righe";
        size_large: "1 to 10 million rows", "da 1 a 10 milioni di righe";
        size_huge: "more than 10 million rows", "più di 10 milioni di righe";
        updated_week: "in the last 7 days", "negli ultimi 7 giorni";
        updated_month: "in the last 30 days", "negli ultimi 30 giorni";
        updated_year: "in the last 365 days", "negli ultimi 365 giorni";
        sort: "Sort by", "Ordina per";
        sort_featured: "Featured first", "Prima in evidenza";
        sort_updated: "Last updated", "Ultimo aggiornamento";
        sort_title: "Title", "Titolo";
        sort_rows: "Most rows", "Più righe";
        pages: "Pages", "Pagine";
        page_of: "Page {} of {}", "Pagina {} di {}";
        previous: "Previous", "Precedente";
        next: "Next", "Successiva";
        // Prices.
        pricing_title: "Pricing", "Prezzi";
        pricing_description: "What rows and whole datasets cost, and what is free.", "Quanto costano le righe e i dataset interi, e che cosa è gratuito.";
        pricing_text: "One credit buys one row. 1,000 credits cost {}.", "Un credito compra una riga. 1.000 crediti costano {}.";
        net: "{} excluding VAT", "{} IVA esclusa";
        net_and_gross: "{} excluding VAT, {} including VAT", "{} IVA esclusa, {} IVA inclusa";
        credits_title: "How credits work", "Come funzionano i crediti";
        credits_rows: "A query costs one credit for each row it returns. No rows, no charge.",
            "Una richiesta costa un credito per ogni riga restituita. Nessuna riga, nessun costo.";
        credits_first: "The estimate is free and tells you the exact number of rows and credits before you pay.",
            "Il preventivo è gratuito e indica il numero esatto di righe e crediti prima del pagamento.";
        credits_failed: "A failed request costs nothing. An interrupted stream costs only the rows already sent.",
            "Una richiesta non riuscita non costa nulla. Un flusso interrotto costa solo le righe già inviate.";
        credits_whole: "A whole dataset costs one credit per row. Within {} hours you can read parts of it again at no cost.",
            "Un dataset intero costa un credito per riga. Entro {} ore puoi rileggerne delle parti senza costi.";
        free_title: "The free plan", "Il piano gratuito";
        free_queries: "Every account has {} free queries per calendar month. They stay when you buy credits, and are used first.",
            "Ogni account ha {} richieste gratuite per mese di calendario. Restano anche dopo l’acquisto di crediti e si usano per prime.";
        free_rows: "A free query returns up to {} rows. Larger ones cost credits.",
            "Una richiesta gratuita restituisce fino a {} righe. Quelle più grandi costano crediti.";
        free_not: "Free queries do not cover whole datasets.", "Le richieste gratuite non comprendono i dataset interi.";
        free_catalogue: "Catalogue, search, columns, statistics, samples and relations are free for everyone, no account needed.",
            "Catalogo, ricerca, colonne, statistiche, campioni e relazioni sono gratuiti per tutti, anche senza account.";
        limits_title: "Limits", "Limiti";
        limits_minute: "{} requests in any 60 seconds", "{} richieste ogni 60 secondi";
        limits_day: "{} requests per day (UTC)", "{} richieste al giorno (UTC)";
        limits_none: "none", "nessuno";
        limits_text: "Per API key, or per IP address without a key:", "Per chiave API, o per indirizzo IP senza chiave:";
        amounts_caption: "What rows cost", "Quanto costano le righe";
        whole_caption: "What whole datasets cost", "Quanto costano i dataset interi";
        rows: "Rows", "Righe";
        credits: "Credits", "Crediti";
        price: "Price excluding VAT", "Prezzo IVA esclusa";
        dataset: "Dataset", "Dataset";
        packs_title: "Buying credits", "Acquistare crediti";
        packs_caption: "Packs of credits", "Pacchetti di crediti";
        packs_vat: "VAT is {}.", "L’IVA è al {}.";
        price_with_vat: "Price including VAT", "Prezzo IVA inclusa";
        buy_here: "Buy credits in your account", "Acquista crediti nel tuo account";
        buy_ask: "You create API keys in your account. To buy credits, contact {}.",
            "Le chiavi API si creano nel proprio account. Per acquistare crediti, scrivi a {}.";
        buy_operator: "You create API keys in your account. To buy credits, contact the operator of this site.",
            "Le chiavi API si creano nel proprio account. Per acquistare crediti, rivolgiti al gestore del sito.";
        // Status.
        status_title: "Status", "Stato";
        status_description: "The current state of the service.", "Lo stato attuale del servizio.";
        status_good: "Everything works.", "Tutto funziona.";
        status_partly: "The service works. Some datasets are affected:", "Il servizio funziona. Alcuni dataset presentano problemi:";
        status_down: "Paid queries are unavailable at the moment. The catalogue still works.",
            "Al momento le richieste a pagamento non sono disponibili. Il catalogo funziona.";
        status_caption: "Components of the service", "Componenti del servizio";
        part: "Component", "Componente";
        state: "Status", "Stato";
        works: "works", "funziona";
        works_not: "does not work", "non funziona";
        part_catalogue: "Catalogue and samples", "Catalogo e campioni";
        part_search: "Search", "Ricerca";
        part_paid: "Paid queries and downloads", "Richieste e download a pagamento";
        search_words_only: "works (keywords only)", "funziona (solo parole chiave)";
        search_with_meaning: "works (keywords and meaning)", "funziona (parole chiave e significato)";
        served_datasets: "Datasets served", "Dataset serviti";
        verifying_datasets: "Being verified", "In verifica";
        verifying_text: "Their data are checked against their checksums before they are served.",
            "I dati vengono confrontati con le somme di controllo prima di essere serviti.";
        damaged_datasets: "Out of service", "Fuori servizio";
        damaged_text: "Their files are damaged. The operator has been notified.", "I file sono danneggiati. Il gestore è stato avvisato.";
        fallen_back: "Served in an older version", "Serviti in una versione precedente";
        status_checked: "As of {} UTC.", "Aggiornato alle {} UTC.";
        and_more: "and {} more", "e altri {}";
        // Feeds.
        feed_title: "New versions at {}", "Nuove versioni su {}";
        feed_of: "Versions of {}", "Versioni di {}";
        feed_entry: "Version {} with {}.", "Versione {} con {}.";
        // Refusals.
        not_found_title: "This page does not exist", "Questa pagina non esiste";
        not_found_text: "The address may be mistyped, or the dataset is no longer published.", "L’indirizzo potrebbe contenere un errore, o il dataset non è più pubblicato.";
        did_you_mean: "Did you mean {}?", "Cercavi {}?";
        bad_request_title: "Invalid address", "Indirizzo non valido";
        bad_request_text: "The address of this page contains an error.", "L’indirizzo di questa pagina contiene un errore.";
        busy_title: "Too many requests", "Troppe richieste";
        busy_text: "Please wait a moment and try again.", "Attendi un momento e riprova.";
        unavailable_title: "Temporarily unavailable", "Temporaneamente non disponibile";
        unavailable_text: "Please try again in a moment. Everything else works.", "Riprova tra un momento. Tutto il resto funziona.";
        failed_title: "Something went wrong", "Qualcosa è andato storto";
        failed_text: "The error is on our side and has been logged.", "L’errore è nostro ed è stato registrato.";
        request_number: "Request ID: {}", "ID della richiesta: {}";
        refused_title: "Request refused", "Richiesta rifiutata";
        foreign_text: "The form was not sent from this site, or your browser did not say where it came from. Open the page here and send it again.",
            "Il modulo non è stato inviato da questo sito, o il browser non ne indica la provenienza. Apri la pagina qui e invialo di nuovo.";
        form_text: "The form could not be read. Open the page again and fill it in once more.",
            "Non è stato possibile leggere il modulo. Riapri la pagina e compilalo di nuovo.";
        what_was_wrong: "Details", "Dettagli";
    }
}

/// Asserts that a list of words is complete, with the same gaps, and translated. `same` lists the keys whose texts may agree.
#[cfg(test)]
pub fn check(list: &[(&str, &str, &str)], same: &[&str]) {
    for (key, english, italian) in list {
        assert!(!english.trim().is_empty() && !italian.trim().is_empty(), "{key} is empty");
        assert_eq!(english.matches("{}").count(), italian.matches("{}").count(), "{key}: gaps");
        assert_eq!(english == italian, same.contains(key), "{key}: translated?");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translates_every_word_with_its_gaps() {
        check(&Words::list(), &["account", "api", "dataset", "one_dataset"]);
    }

    #[test]
    fn fills_one_gap_at_once() {
        assert_eq!(fill(&fill("Page {} of {}", 2), 9), "Page 2 of 9");
        assert_eq!(fill("{}", "{}"), "{}");
    }
}
