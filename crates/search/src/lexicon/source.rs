//! Parses the text files of the lexicon and reports all errors.
//!
//! Does not depend on the use of the groups.

use std::collections::HashMap;

use super::PHRASE_WORDS_MAX;
use super::{Concept, GENERAL, Group, Lexicon};
use crate::stop_words::Stop;
use crate::text;

/// Groups of the lexicon.
const CONCEPTS_MAX: usize = 4_096;

/// An error in a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("lexicon/{file}.txt:{line}: {message}")]
pub struct LexiconError {
    pub file: String,
    pub line: usize,
    /// The expected and the found text.
    pub message: String,
}

/// Reads files given by name and content. `keep` decides on each term whether it is used; measurements of how far the
/// lexicon carries leave terms out.
pub fn parse(files: &[(&str, &str)], keep: &mut dyn FnMut(&str) -> bool) -> (Lexicon, Vec<LexiconError>) {
    let mut reader = Reader::default();
    for (file, content) in files {
        for (line, text) in (1_usize..).zip(content.lines()) {
            reader.place = (file, line);
            if !text.trim().is_empty() {
                reader.read_line(text, keep);
            }
        }
    }
    reader.connect();
    (Lexicon { groups: reader.groups }, reader.errors)
}

#[derive(Default)]
struct Reader<'f> {
    groups: Vec<Group>,
    errors: Vec<LexiconError>,
    names: HashMap<String, Concept>,
    /// Broader names by group, with the place of the line for errors.
    wanted: Vec<(Concept, String, (&'f str, usize))>,
    /// Terms by language, with the group that has them.
    terms: [HashMap<Vec<String>, String>; 2],
    place: (&'f str, usize),
}

impl Reader<'_> {
    fn read_line(&mut self, line: &str, keep: &mut dyn FnMut(&str) -> bool) {
        let (terms, broader) = line.split_once('>').unwrap_or((line, ""));
        let Some((english, italian)) = terms.split_once('|') else {
            return self.error("`english | italian` is expected".to_owned());
        };
        let name = english.split(',').next().unwrap_or_default().trim().to_owned();
        let concept = match Concept::try_from(self.groups.len()) {
            Ok(concept) if self.groups.len() < CONCEPTS_MAX => concept,
            _ => return self.error(format!("more than {CONCEPTS_MAX} groups")),
        };
        if self.names.insert(text::key(&name), concept).is_some() {
            self.error(format!("a group named `{name}` stands above"));
        }
        for wanted in broader.split(';').map(str::trim).filter(|wanted| !wanted.is_empty()) {
            self.wanted.push((concept, wanted.to_owned(), self.place));
        }
        let english = self.read_terms(0, english, &name, keep);
        let italian = self.read_terms(1, italian, &name, keep);
        let general = self.place.0 == GENERAL;
        self.groups.push(Group {
            name,
            english,
            italian,
            broader: Vec::new(),
            narrower: Vec::new(),
            general,
        });
    }

    fn read_terms(
        &mut self,
        language: usize,
        list: &str,
        group: &str,
        keep: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<Vec<String>> {
        let mut terms = Vec::new();
        for term in list.split(',').map(str::trim) {
            let words: Vec<String> = text::words(term)
                .into_iter()
                .map(|word| word.folded)
                .filter(|word| !is_stop(word, language))
                .collect();
            if words.is_empty() || words.len() > PHRASE_WORDS_MAX {
                self.error(format!("`{term}` has {} words besides stop words", words.len()));
                continue;
            }
            let owner = self.terms.get(language).and_then(|terms| terms.get(&words)).cloned();
            if let Some(owner) = owner {
                self.error(format!("`{term}` of `{group}` stands in `{owner}` already"));
                continue;
            }
            if let Some(known) = self.terms.get_mut(language) {
                known.insert(words.clone(), group.to_owned());
            }
            if keep(term) {
                terms.push(words);
            }
        }
        terms
    }

    fn connect(&mut self) {
        for (concept, name, place) in std::mem::take(&mut self.wanted) {
            self.place = place;
            let broader = self.names.get(&text::key(&name)).copied();
            match broader.filter(|broader| *broader != concept) {
                Some(broader) => {
                    if let Some(group) = self.group(concept) {
                        group.broader.push(broader);
                    }
                    if let Some(group) = self.group(broader) {
                        group.narrower.push(concept);
                    }
                }
                None => self.error(format!("no other group is named `{name}`")),
            }
        }
    }

    fn group(&mut self, concept: Concept) -> Option<&mut Group> {
        self.groups.get_mut(usize::try_from(concept).ok()?)
    }

    fn error(&mut self, message: String) {
        let (file, line) = self.place;
        self.errors.push(LexiconError { file: file.to_owned(), line, message });
    }
}

fn is_stop(word: &str, language: usize) -> bool {
    let stop = Stop::of(word);
    if language == 0 { stop.english } else { stop.italian }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::SOURCES;

    const GROUPS_MIN: usize = 400;

    #[test]
    fn builtin_lexicon_has_no_errors() {
        let (lexicon, errors) = parse(SOURCES, &mut |_| true);
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
        assert!((GROUPS_MIN..=CONCEPTS_MAX).contains(&lexicon.len()), "{} groups", lexicon.len());
        for (_, group) in lexicon.groups() {
            assert!(!group.english.is_empty() && !group.italian.is_empty(), "{}", group.name);
        }
    }

    #[test]
    fn broader_concepts_form_no_cycle() {
        let (lexicon, _) = parse(SOURCES, &mut |_| true);
        for (concept, group) in lexicon.groups() {
            let mut above = group.broader.clone();
            let mut steps = 0;
            while let Some(next) = above.pop() {
                assert_ne!(next, concept, "{}", group.name);
                above.extend(lexicon.group(next).iter().flat_map(|group| &group.broader));
                steps += 1;
                assert!(steps < 100, "{}", group.name);
            }
        }
    }

    #[test]
    fn errors_name_file_line_and_reason() {
        let content =
            "car, auto | auto, macchina > vehicle\nbus\ntruck, car | camion\nvehicle, the | veicolo\n";
        let (lexicon, errors) = parse(&[("x", content)], &mut |_| true);
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "lexicon/x.txt:2: `english | italian` is expected",
                "lexicon/x.txt:3: `car` of `truck` stands in `car` already",
                "lexicon/x.txt:4: `the` has 0 words besides stop words",
            ]
        );
        assert_eq!((lexicon.len(), &lexicon.group(0).unwrap().broader), (3, &vec![2]));
        assert_eq!(lexicon.group(2).unwrap().narrower, [0]);
    }

    #[test]
    fn omits_filtered_terms() {
        let (lexicon, _) = parse(&[("x", "car, auto | macchina\n")], &mut |term| term != "auto");
        assert_eq!(lexicon.group(0).unwrap().english, [["car"]]);
    }
}
