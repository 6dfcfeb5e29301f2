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
            $vis const fn of(language: $crate::catalog::Language) -> &'static Self {
                match language {
                    $crate::catalog::Language::English => &Self::ENGLISH,
                    $crate::catalog::Language::Italian => &Self::ITALIAN,
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

pub(in crate::site) use words;

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
        home_title: "Data to look at, query and buy by the row", "Dati da esplorare, interrogare e acquistare a righe";
        home_text: "Every dataset shows its columns, exact statistics and a free sample. A credit buys a row, and you always see the price first.",
            "Ogni dataset mostra colonne, statistiche esatte e un campione gratuito. Un credito compra una riga, e il prezzo si vede sempre prima.";
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
        no_results: "No dataset fits. Remove a filter, or use other words.", "Nessun dataset corrisponde. Togli un filtro o usa altre parole.";
        ranked_words: "ranked by words", "in ordine di parole";
        ranked_meaning: "ranked by words and meaning", "in ordine di parole e significato";
        found_in: "Found in: {}", "Trovato in: {}";
        in_title: "title", "titolo";
        in_tags: "tags", "etichette";
        in_description: "description", "descrizione";
        in_columns: "columns", "colonne";
        in_slug: "name in addresses", "nome negli indirizzi";
        in_methodology: "methodology", "metodologia";
        in_meaning: "meaning", "significato";
        question_short: "Write at least {} characters.", "Scrivi almeno {} caratteri.";
        question_long: "Write at most {} characters.", "Scrivi al massimo {} caratteri.";
        question_control: "The question holds a character that cannot be typed.", "La domanda contiene un carattere che non si può digitare.";
        search_starting: "The search is still starting. Here is the list in the meantime; try again in a moment.",
            "La ricerca si sta ancora avviando. Intanto ecco l’elenco; riprova tra un momento.";
        filters: "Filters", "Filtri";
        filters_chosen: "Chosen filters", "Filtri scelti";
        remove_filter: "Remove the filter {}", "Togli il filtro {}";
        remove_all: "Remove all", "Togli tutti";
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
        sort: "Order", "Ordine";
        sort_featured: "Featured first", "In evidenza";
        sort_updated: "Last updated", "Più recenti";
        sort_title: "Title", "Titolo";
        sort_rows: "Most rows", "Più righe";
        pages: "Pages", "Pagine";
        page_of: "Page {} of {}", "Pagina {} di {}";
        previous: "Previous", "Precedente";
        next: "Next", "Successiva";
        // Prices.
        pricing_title: "Prices", "Prezzi";
        pricing_description: "What rows and whole datasets cost, and what is free.", "Quanto costano le righe e i dataset interi, e che cosa è gratuito.";
        pricing_text: "One credit buys one row. 1,000 credits cost {}, VAT excluded.", "Un credito compra una riga. 1.000 crediti costano {}, IVA esclusa.";
        credits_title: "How credits work", "Come funzionano i crediti";
        credits_rows: "A query costs one credit for each row that it returns. No row, no credit.", "Una richiesta costa un credito per ogni riga che restituisce. Nessuna riga, nessun credito.";
        credits_first: "The estimate tells the exact number of rows and credits before you pay, and is free.", "Il preventivo indica il numero esatto di righe e crediti prima di pagare, ed è gratuito.";
        credits_failed: "A request that fails costs nothing, and an interrupted stream costs the rows that arrived.", "Una richiesta che fallisce non costa nulla, e un flusso interrotto costa le righe arrivate.";
        credits_whole: "A whole dataset costs as many credits as it has rows. Within {} hours it can be read again in parts at no cost.",
            "Un dataset intero costa tanti crediti quante sono le sue righe. Entro {} ore si può rileggere a parti senza costi.";
        free_title: "The free plan", "Il piano gratuito";
        free_queries: "{} queries in each calendar month, without buying anything.", "{} richieste in ogni mese di calendario, senza acquistare nulla.";
        free_rows: "Up to {} rows for each of them.", "Fino a {} righe per ciascuna.";
        free_not: "It does not cover whole datasets.", "Non comprende i dataset interi.";
        free_catalogue: "Catalogue, search, columns, statistics, samples and relations are free for everybody, without an account.",
            "Catalogo, ricerca, colonne, statistiche, campioni e relazioni sono gratuiti per tutti, senza account.";
        limits_title: "Limits", "Limiti";
        limits_minute: "{} requests in any 60 seconds", "{} richieste in 60 secondi";
        limits_day: "{} requests in a day (UTC)", "{} richieste in un giorno (UTC)";
        limits_none: "none", "nessuno";
        limits_text: "For each key, or for each address without a key:", "Per ogni chiave, o per ogni indirizzo senza chiave:";
        amounts_caption: "Rows and what they cost", "Righe e quanto costano";
        whole_caption: "Whole datasets and what they cost", "Dataset interi e quanto costano";
        rows: "Rows", "Righe";
        credits: "Credits", "Crediti";
        price: "Price without VAT", "Prezzo senza IVA";
        dataset: "Dataset", "Dataset";
        packs_title: "Buying credits", "Acquistare crediti";
        packs_caption: "Packs of credits", "Pacchetti di crediti";
        packs_vat: "VAT is {}.", "L’IVA è del {}.";
        price_with_vat: "Price with VAT", "Prezzo con IVA";
        buy_here: "Buy credits in your account", "Acquista crediti nel tuo account";
        buy_ask: "Keys you make in your account. To buy credits, ask {}.", "Le chiavi le crei nel tuo account. Per acquistare crediti, scrivi a {}.";
        buy_operator: "Keys you make in your account. To buy credits, ask whoever runs this place.", "Le chiavi le crei nel tuo account. Per acquistare crediti, rivolgiti a chi gestisce questo sito.";
        // Status.
        status_title: "Status", "Stato";
        status_description: "Whether everything works right now.", "Se tutto funziona in questo momento.";
        status_good: "Everything works.", "Tutto funziona.";
        status_partly: "The service works. Some datasets are concerned:", "Il servizio funziona. Alcuni dataset sono interessati:";
        status_down: "Paid queries do not work at the moment. The catalogue does.", "Le richieste a pagamento al momento non funzionano. Il catalogo sì.";
        status_caption: "Parts of the service", "Parti del servizio";
        part: "Part", "Parte";
        state: "State", "Stato";
        works: "works", "funziona";
        works_not: "does not work", "non funziona";
        part_catalogue: "Catalogue and samples", "Catalogo e campioni";
        part_search: "Search", "Ricerca";
        part_paid: "Paid queries and downloads", "Richieste e download a pagamento";
        search_words_only: "works by words", "funziona per parole";
        search_with_meaning: "works by words and meaning", "funziona per parole e significato";
        served_datasets: "Datasets served", "Dataset serviti";
        verifying_datasets: "Being verified", "In verifica";
        verifying_text: "Their data are compared with their checksums and are served afterwards.", "I loro dati vengono confrontati con le somme di controllo e serviti in seguito.";
        damaged_datasets: "Out of service", "Fuori servizio";
        damaged_text: "Their files are damaged. The operator has been told.", "I loro file sono danneggiati. Il gestore è stato avvisato.";
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
        bad_request_title: "This address is not understood", "Questo indirizzo non è comprensibile";
        bad_request_text: "Something in the address is not as it should be.", "Qualcosa nell’indirizzo non è come dovrebbe.";
        busy_title: "Too many requests", "Troppe richieste";
        busy_text: "Please wait a moment and try again.", "Attendi un momento e riprova.";
        unavailable_title: "Not available right now", "Al momento non disponibile";
        unavailable_text: "Please try again in a moment. Everything else works.", "Riprova tra un momento. Tutto il resto funziona.";
        failed_title: "Something went wrong", "Qualcosa è andato storto";
        failed_text: "The fault is ours and has been noted.", "L’errore è nostro ed è stato registrato.";
        request_number: "Number of this request: {}", "Numero di questa richiesta: {}";
        refused_title: "This request is not possible", "Questa richiesta non è possibile";
        foreign_text: "The form was not sent from a page of this site, or the browser does not say from where. Open the page here and send it again.",
            "Il modulo non è stato inviato da una pagina di questo sito, o il browser non dice da dove. Apri la pagina qui e invialo di nuovo.";
        form_text: "The form that was sent cannot be read. Open the page again and fill it in anew.",
            "Il modulo inviato non si può leggere. Apri di nuovo la pagina e compilalo da capo.";
        what_was_wrong: "In detail", "In dettaglio";
    }
}

/// Asserts that a list of words is complete, with the same gaps, and translated. `same` lists the keys whose texts may agree.
#[cfg(test)]
pub(in crate::site) fn check(list: &[(&str, &str, &str)], same: &[&str]) {
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
