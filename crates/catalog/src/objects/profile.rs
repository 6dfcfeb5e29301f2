//! The files in which the tools of AWS keep regions and keys: sections with `name = value` lines. Reads no variables by
//! itself. Does not depend on stores.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::address::StoreAddressError;

/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What the files say about one profile.
#[derive(Default)]
pub(super) struct Profile {
    values: HashMap<String, String>,
}

impl Profile {
    /// The profile that `AWS_PROFILE` names, else `default`. What stands in the file of credentials goes before what
    /// stands in the other one. A file that no variable names need not be there.
    pub(super) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Profile, StoreAddressError> {
        let name = variable("AWS_PROFILE");
        let profile = name.as_deref().unwrap_or("default");
        let (mut found, mut is_known) = (Profile::default(), false);
        let files = [
            ("AWS_CONFIG_FILE", "config", format!("profile {profile}")),
            ("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile.to_owned()),
        ];
        for (named_by, file, section) in files {
            let Some(text) = text_of(variable, named_by, file)? else { continue };
            for (key, value) in values_of(&text, &[&section, profile]).into_iter().flatten() {
                found.values.insert(key, value);
            }
            is_known |= values_of(&text, &[&section, profile]).is_some();
        }
        if name.is_some() && !is_known {
            return Err(StoreAddressError::NoProfile(profile.to_owned()));
        }
        Ok(found)
    }

    /// A value that is not empty.
    pub(super) fn get(&self, key: &str) -> Option<String> {
        self.values.get(key).filter(|value| !value.is_empty()).cloned()
    }
}

/// The text of the file that a variable names, else of that in `~/.aws`.
fn text_of(
    variable: &dyn Fn(&str) -> Option<String>,
    named_by: &'static str,
    file: &str,
) -> Result<Option<String>, StoreAddressError> {
    if let Some(path) = variable(named_by) {
        let failed =
            |source| StoreAddressError::File { variable: named_by, path: PathBuf::from(&path), source };
        return read(Path::new(&path)).map(Some).map_err(failed);
    }
    let Some(home) = variable("HOME") else { return Ok(None) };
    let path = Path::new(&home).join(".aws").join(file);
    match read(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreAddressError::File { variable: named_by, path, source }),
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// The values of the sections with one of these names; `None` where there is no such section.
fn values_of(text: &str, sections: &[&str]) -> Option<Vec<(String, String)>> {
    let (mut found, mut is_ours) = (None, false);
    for line in text.lines() {
        // An indented line belongs to the value above it, which is none of those that are looked for.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(header) = line.trim_end().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_ours = sections.contains(&header.trim());
            if is_ours {
                found.get_or_insert_with(Vec::new);
            }
        } else if is_ours && let (Some(values), Some((key, value))) = (&mut found, line.split_once('=')) {
            values.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    found
}
