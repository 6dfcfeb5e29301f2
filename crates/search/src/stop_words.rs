//! Stop words of English and Italian.
//!
//! Depends on folded words only.

use std::collections::HashMap;
use std::sync::LazyLock;

/// English words without a topic.
const ENGLISH: &str = "a about above after again against all also am an and any are aren as at be because been before \
being below between both but by can cannot could did do does doing don done down during each either else every few find \
for from further get gets give given go got had has have having he help her here hers him his how i if in into is isn it its \
itself just know let like ll looking made make makes many may me might more much must my no nor not now of \
off often on once one only or other others our ours over own per please put rather re s same see shall she should \
show shown since so some someone something still such t tell than that the their theirs them then there these they \
this those through thus to too toward towards under until up upon us ve very via want was way we \
were what whatever when whenever where whether which while who whom whose why will with within would you your \
yours";

/// Italian words without a topic, without accents.
const ITALIAN: &str = "a abbia abbiamo ad agli ai al alcun alcuna alcune alcuni all alla alle allo altra altre altri altro \
anche ancora andare avere aveva c che chi ci cio cioe coi col come con contro cui d da dagli dai dal dall dalla dalle \
dallo degli dei del dell della delle dello di dopo dove dovrebbe due durante e ed egli ella entro era erano essa esse \
essendo esser essere essi esso fa fai fanno far fare fatto fino fra gli ha hai hanno ho i il in io l la le lei lo loro \
lui ma me mediante meno mentre mi mia mie miei mio molta molte molti molto ne negli nei nel nell nella nelle nello no noi \
non nostra nostre nostri nostro o od ogni oltre oppure per pero piu poi possiamo posso possono presso prima puo qual \
quale quali qualche quando quanta quanti quanto quante quel quella quelle quelli quello quest questa queste questi questo \
qui quindi sara saranno se secondo sei si sia siamo siano sono sopra sotto sta stata sto su sua \
sue sugli sui sul sull sulla sulle sullo suo suoi tale tali tanto te ti tra tramite tu tua tue tuo tuoi tutta tutte tutti \
tutto un una uno v va vai vanno verso vi voi voglio vorrei vostra vostre vostri vostro trovare sapere cerco cercare vedere";

/// Words that every question to a catalog of datasets could hold.
const OF_CATALOGS: &str = "dataset datasets data dati";

/// Whether a word is a stop word, by language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stop {
    /// In English texts.
    pub english: bool,
    /// In Italian texts.
    pub italian: bool,
    /// In a question to a catalog.
    pub of_catalogs: bool,
}

/// All lists at once: a start of the server asks for some ten thousand words.
static STOPS: LazyLock<HashMap<&'static str, Stop>> = LazyLock::new(|| {
    let mut stops: HashMap<&str, Stop> = HashMap::new();
    ENGLISH.split(' ').for_each(|word| stops.entry(word).or_default().english = true);
    ITALIAN.split(' ').for_each(|word| stops.entry(word).or_default().italian = true);
    OF_CATALOGS.split(' ').for_each(|word| stops.entry(word).or_default().of_catalogs = true);
    stops
});

impl Stop {
    /// The stop-word languages of a folded word.
    pub fn of(folded: &str) -> Self {
        STOPS.get(folded).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_folded_and_unique() {
        for list in [ENGLISH, ITALIAN, OF_CATALOGS] {
            let words: Vec<&str> = list.split(' ').collect();
            let distinct: std::collections::BTreeSet<&str> = words.iter().copied().collect();
            assert_eq!(distinct.len(), words.len());
            for word in words {
                assert_eq!(crate::text::key(word), word);
            }
        }
    }

    #[test]
    fn stop_words_belong_to_one_language() {
        assert_eq!(Stop::of("the"), Stop { english: true, ..Stop::default() });
        assert_eq!(Stop::of("della"), Stop { italian: true, ..Stop::default() });
        assert_eq!(Stop::of("a"), Stop { english: true, italian: true, of_catalogs: false });
        assert_eq!(Stop::of("dati"), Stop { of_catalogs: true, ..Stop::default() });
        assert_eq!(Stop::of("hospital"), Stop::default());
    }
}
