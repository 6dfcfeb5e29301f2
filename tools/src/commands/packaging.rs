//! `mercato-tools packaging`: the files of a package that come from the definitions of the command lines: man pages,
//! completions and a commented configuration file. Hidden: the scripts of `packaging/` run it.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_complete::{Shell, generate};
use mercato::config::CommandLine;

use crate::command_line::Arguments;
use crate::failure::Failure;

/// Values that differ from the defaults, so that the server of the package works as installed.
const VALUES_OF_PACKAGE: [(&str, &str); 3] = [
    ("data", "\"/var/lib/mercato\""),
    ("admin", "\"unix:/run/mercato/admin.sock\""),
    ("metrics", "\"127.0.0.1:9464\""),
];
/// Width of the comments in the configuration file.
const COMMENT_COLUMNS: usize = 100;

/// Write man pages, completions and a commented configuration file.
#[derive(Debug, Args)]
pub struct PackagingArguments {
    /// Directory for them: `man/`, `completions/` and `mercato.toml`.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub fn run(arguments: &PackagingArguments) -> Result<(), Failure> {
    let (man, completions) = (arguments.directory.join("man"), arguments.directory.join("completions"));
    for directory in [&man, &completions] {
        fs::create_dir_all(directory).map_err(failure(directory, "create"))?;
    }
    for command in [CommandLine::command(), Arguments::command()] {
        write_completions(&command, &completions)?;
        clap_mangen::generate_to(command, &man).map_err(failure(&man, "write"))?;
    }
    let mut server = CommandLine::command();
    server.build();
    let configuration = arguments.directory.join("mercato.toml");
    fs::write(&configuration, configuration_file(&server)).map_err(failure(&configuration, "write"))
}

fn failure(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Failure {
    let file = path.display().to_string();
    move |source| Failure::Io { file, action, source }
}

/// The files under the names with which Debian's packages install them.
fn write_completions(command: &Command, directory: &Path) -> Result<(), Failure> {
    let name = command.get_name();
    let files = [
        (Shell::Bash, format!("{name}.bash")),
        (Shell::Zsh, format!("_{name}")),
        (Shell::Fish, format!("{name}.fish")),
    ];
    for (shell, file) in files {
        let mut script = Vec::new();
        generate(shell, &mut command.clone(), name, &mut script);
        let path = directory.join(file);
        fs::write(&path, script).map_err(failure(&path, "write"))?;
    }
    Ok(())
}

/// Every flag of `mercato serve` with its help and its default, commented out unless the package sets it.
fn configuration_file(server: &Command) -> String {
    let mut text = String::from(
        "# Configuration of mercato. Flags of `mercato serve` win over this file.\n\
         # A line that begins with `#` and a name shows the default, or the form of a value that has none.\n",
    );
    let flags = server.find_subcommand("serve").map(Command::get_arguments).into_iter().flatten();
    let is_setting =
        |flag: &&clap::Arg| !flag.is_hide_set() && !matches!(flag.get_long(), Some("config" | "help"));
    flags.filter(is_setting).for_each(|flag| write_flag(&mut text, flag));
    text
}

fn write_flag(text: &mut String, flag: &clap::Arg) {
    let Some(name) = flag.get_long() else { return };
    text.push('\n');
    write_comment(text, &flag.get_help().map(ToString::to_string).unwrap_or_default());
    let words: Vec<String> =
        flag.get_possible_values().iter().map(|word| format!("`{}`", word.get_name())).collect();
    if !words.is_empty() {
        write_comment(text, &format!("One of {}.", words.join(", ")));
    }
    let _ = match VALUES_OF_PACKAGE.iter().find(|(of, _)| *of == name) {
        Some((_, value)) => writeln!(text, "{name} = {value}"),
        None => writeln!(text, "#{name} = {}", value_of(flag)),
    };
}

/// The default as TOML; where there is none, the form of the value.
fn value_of(flag: &clap::Arg) -> String {
    let value_name = flag.get_value_names().and_then(<[_]>::first).map_or("VALUE", |name| name.as_str());
    let is_number = matches!(value_name, "N" | "ROWS" | "SECONDS" | "MILLISECONDS");
    match flag.get_default_values().first().map(|value| value.to_string_lossy()) {
        Some(number) if is_number => number.into_owned(),
        Some(text) => format!("\"{text}\""),
        None if is_number => value_name.to_owned(),
        None if matches!(flag.get_action(), clap::ArgAction::Append) => format!("[\"{value_name}\"]"),
        None => format!("\"{value_name}\""),
    }
}

fn write_comment(text: &mut String, comment: &str) {
    let mut line = String::from("#");
    for word in comment.split_whitespace() {
        if line.len().saturating_add(word.len()) >= COMMENT_COLUMNS {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        let _ = write!(line, " {word}");
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato::config::Settings;

    fn written() -> String {
        let mut server = CommandLine::command();
        server.build();
        configuration_file(&server)
    }

    fn read(text: &str) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mercato.toml");
        fs::write(&file, text).unwrap();
        Settings::read(["mercato", "serve", "--config", file.to_str().unwrap()])
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn configuration_of_the_package_is_read_by_the_server() {
        let settings = read(&written());
        assert_eq!(settings.data, Path::new("/var/lib/mercato"));
        assert_eq!(settings.admin.to_string(), "unix:/run/mercato/admin.sock");
    }

    /// Forms of values become values; then the server takes every line that shows a flag.
    #[test]
    fn every_flag_has_a_line_of_its_type() {
        let uncommented: String = written()
            .lines()
            .filter_map(|line| match line.strip_prefix('#') {
                Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => Some(rest),
                Some(_) => None,
                None => Some(line),
            })
            .map(|line| match line.split_once(" = ") {
                Some((name, "N")) => format!("{name} = 7\n"),
                Some((name, "\"ADDR:PORT\"")) => format!("{name} = \"127.0.0.1:7\"\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let settings = read(&uncommented);
        let lines = uncommented.lines().filter(|line| line.contains(" = ")).count();
        let mut server = CommandLine::command();
        server.build();
        let shown =
            server.find_subcommand("serve").unwrap().get_arguments().filter(|flag| !flag.is_hide_set());
        // All but --config and --help.
        assert_eq!(lines, shown.count() - 2, "{uncommented}");
        assert_eq!(settings.workers, Some(7));
    }

    #[test]
    fn writes_man_pages_and_completions() {
        let folder = tempfile::tempdir().unwrap();
        run(&PackagingArguments { directory: folder.path().to_owned() }).unwrap();
        for file in [
            "man/mercato-serve.1",
            "man/mercato-tools-key-create.1",
            "completions/_mercato",
            "completions/mercato-tools.fish",
        ] {
            let text = fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(text.contains("mercato"), "{file}");
        }
        let script = fs::read_to_string(folder.path().join("completions/mercato.bash")).unwrap();
        assert!(script.contains("--charge-durability"), "flags are completed");
        let page = fs::read_to_string(folder.path().join("man/mercato-serve.1")).unwrap();
        assert!(page.contains("charge\\-durability"), "flags are in the manual");
    }
}
