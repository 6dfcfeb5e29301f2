//! Checks the documents against both programs: every named flag exists, and every stated default is right.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

/// Flags by name, with the default in `--help`.
type Flags = BTreeMap<String, Option<String>>;

/// First words of other programs' commands.
const OTHER_PROGRAMS: [&str; 12] = [
    "cargo",
    "claude",
    "python",
    "python3",
    "pip",
    "curl",
    "huggingface-cli",
    "npm",
    "promtool",
    "wrk",
    "postgres.sh",
    "rclone",
];
/// Flags of other programs that documents mention alone.
const OTHER_FLAGS: [&str; 4] = ["reconnect", "large", "d3", "now"];

/// The commands of both programs by name: `mercato serve`, `mercato-tools key rotate`.
struct Programs(BTreeMap<String, Flags>);

impl Programs {
    fn new() -> Self {
        let mut all = Self(BTreeMap::new());
        for mut command in
            [mercato::config::CommandLine::command(), mercato_tools::command_line::Arguments::command()]
        {
            command.build();
            let name = command.get_name().to_owned();
            all.add(&name, &command);
        }
        all
    }

    fn add(&mut self, words: &str, command: &clap::Command) {
        let flags = command.get_arguments().flat_map(|flag| {
            let names = flag.get_long().into_iter().chain(flag.get_visible_aliases().unwrap_or_default());
            names.map(|name| (name.to_owned(), told(flag))).collect::<Vec<_>>()
        });
        self.0.insert(words.to_owned(), flags.collect());
        for below in command.get_subcommands() {
            self.add(&format!("{words} {}", below.get_name()), below);
        }
    }

    /// The command at the start of `words`, with or without the name of the program.
    fn command(&self, words: &[&str]) -> Option<&str> {
        let longest = (1..=words.len().min(3)).rev();
        let mut names = longest.map(|count| words[..count].join(" "));
        names.find_map(|name| {
            let tool = format!("mercato-tools {name}");
            let known = self.0.keys().find(|key| **key == name || **key == tool);
            known.filter(|key| key.contains(' ')).map(String::as_str)
        })
    }

    fn defaults(&self, flag: &str) -> Vec<Option<&str>> {
        self.0.values().filter_map(|flags| flags.get(flag)).map(Option::as_deref).collect()
    }
}

/// The default of a flag: clap's own, or the text in brackets at the end of its help.
fn told(flag: &clap::Arg) -> Option<String> {
    let values: Vec<_> = flag.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let in_help = help.rsplit_once("[default: ").map(|(_, default)| default.trim_end_matches(']').to_owned());
    let takes_a_value = flag.get_action().takes_values();
    in_help.or_else(|| (takes_a_value && !values.is_empty()).then(|| values.join(",")))
}

/// The errors in a document, and the number of compared flags and defaults.
#[derive(Default)]
struct Check {
    errors: Vec<String>,
    flags: usize,
    defaults: usize,
}

impl Check {
    fn document(&mut self, programs: &Programs, name: &str, text: &str) {
        let (mut is_code, mut header): (bool, Vec<String>) = (false, Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{name}:{number}");
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if is_code || !name.ends_with(".md") {
                self.piece(programs, &place, line);
            } else {
                line.split('`').skip(1).step_by(2).for_each(|piece| self.piece(programs, &place, piece));
            }
            self.stated(programs, &place, line);
            match line.strip_prefix('|') {
                None => header.clear(),
                Some(row) => {
                    let row = row.replace("\\|", "/");
                    let cells: Vec<String> =
                        row.split('|').map(|cell| cell.trim().replace('`', "")).collect();
                    if header.is_empty() {
                        header = cells;
                    } else if header[0] == "flag" && header[1] == "default" && cells[0].contains("--") {
                        self.row(programs, &place, &cells);
                    }
                }
            }
        }
    }

    /// Checks that the flags of a code span exist: in its command, or else in any command.
    fn piece(&mut self, programs: &Programs, place: &str, piece: &str) {
        let words: Vec<&str> =
            piece.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
        let program = words
            .iter()
            .position(|word| *word == "mercato-tools" || *word == "mercato" && words.contains(&"serve"));
        let words = match program {
            Some(at) => words[at..].iter().copied().filter(|word| *word != "--").collect(),
            None if words.first().is_some_and(|first| OTHER_PROGRAMS.contains(first)) => return,
            None => words,
        };
        let command = programs.command(&words);
        for flag in flags(&words.join(" ")) {
            let exists = match command {
                Some(command) => programs.0[command].contains_key(&flag),
                None => !programs.defaults(&flag).is_empty() || OTHER_FLAGS.contains(&flag.as_str()),
            };
            self.flags += 1;
            if !exists {
                self.errors.push(format!("{place}: {} has no --{flag}", command.unwrap_or("no command")));
            }
        }
    }

    /// Checks a row of a table of flags and defaults.
    fn row(&mut self, programs: &Programs, place: &str, cells: &[String]) {
        let names = flags(&cells[0]);
        let told = programs.0["mercato serve"].clone();
        let parts: Vec<&str> =
            if names.len() > 1 { cells[1].splitn(names.len(), ", ").collect() } else { vec![&cells[1]] };
        for (name, part) in names.iter().zip(parts) {
            self.defaults += 1;
            let right = match told.get(name).and_then(Option::as_deref) {
                Some(default) => begins_with_word(part, default),
                None => !part.chars().any(|letter| letter.is_ascii_digit()),
            };
            if !right {
                self.errors.push(format!("{place}: --{name} is `{part}`, --help says {:?}", told.get(name)));
            }
        }
    }

    /// Checks numeric defaults in text and usage: `--flag` (VALUE) and [--flag VALUE].
    fn stated(&mut self, programs: &Programs, place: &str, line: &str) {
        let plain = line.replace('`', "");
        for (at, _) in plain.match_indices("--") {
            let rest = &plain[at + 2..];
            let name: String = rest.chars().take_while(|letter| is_flag_letter(*letter)).collect();
            let behind = &rest[name.len()..];
            let bracketed = plain[..at].ends_with('[');
            let value = match behind.strip_prefix(" (") {
                Some(value) => value.split([')', ';', ',']).next(),
                None if bracketed => behind.strip_prefix(' ').and_then(|value| value.split(']').next()),
                None => None,
            };
            let is_value = |value: &&str| {
                value.starts_with(|letter: char| letter.is_ascii_digit()) && !value.ends_with(" or more")
            };
            let Some(value) = value.filter(is_value) else {
                continue;
            };
            let told = programs.defaults(&name);
            self.defaults += 1;
            let value = value.replace(' ', "");
            if !told.is_empty() && !told.contains(&Some(value.as_str())) {
                self.errors.push(format!("{place}: --{name} is `{value}`, --help says {told:?}"));
            }
        }
    }
}

fn is_flag_letter(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
}

/// The names of the flags in a text, in order.
fn flags(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !is_flag_letter(letter));
    let names = words.filter_map(|word| word.strip_prefix("--"));
    names
        .filter(|name| name.starts_with(|letter: char| letter.is_ascii_lowercase()))
        .map(str::to_owned)
        .collect()
}

fn begins_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric()))
}

/// The documents for operators and clients, without the changelog, which describes the past.
fn documents() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "tools/README.md"];
    let mut documents: Vec<PathBuf> = names.iter().map(|name| top.join(name)).collect();
    let mut folders = vec![top.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_text =
                path.extension().is_none_or(|kind| kind != "svg" && kind != "json" && kind != "webp");
            if path.is_dir() {
                folders.push(path);
            } else if is_text {
                documents.push(path);
            }
        }
    }
    documents
}

#[test]
fn documented_flags_and_defaults_exist() {
    let programs = Programs::new();
    let mut check = Check::default();
    for path in documents() {
        check.document(&programs, &path.display().to_string(), &fs::read_to_string(&path).unwrap());
    }
    assert!(check.errors.is_empty(), "{}", check.errors.join("\n"));
    assert!(check.flags >= 100 && check.defaults >= 30, "{} flags, {} defaults", check.flags, check.defaults);
}

#[test]
fn documents_every_flag_of_server() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/OPERATIONS.md")).unwrap();
    let named = flags(&text);
    let programs = Programs::new();
    let serve = programs.0["mercato serve"].keys().filter(|name| *name != "help" && *name != "version");
    let missing: Vec<_> = serve.filter(|name| !named.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn detects_wrong_flags_and_defaults() {
    let programs = Programs::new();
    let text = "\
| flag | default | meaning |
|---|---|---|
| `--streams-per-key N` | 1024 | wrong |
| `--queue-wait-millis`, `--write-seconds` | 3000 ms, 30 | right |
| `--data DIR` | 7 | wrong |

Use `mercato serve --scale 1`, `--colour`, `key rotate --key K [--grace-seconds 7]`, `cargo test --lib`.
Conversion stays inside `--memory-limit` (2 GiB), and `--drain-seconds` (31) is wrong.
";
    let mut check = Check::default();
    check.document(&programs, "a.md", text);
    let places: Vec<&str> = check.errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["a.md:3", "a.md:5", "a.md:7", "a.md:7", "a.md:7", "a.md:8"], "{:#?}", check.errors);
}
