//! Columns out of the names of folders: `year=2024/month=7` gives every file below it two columns. Does not depend on
//! files.

use crate::failure::Failure;

/// The value of a folder that stands for null, as Hive and Spark write it.
const NULL_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column and its value in every row of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    pub name: String,
    /// The value as text; `None` for null.
    pub value: Option<String>,
}

/// The partition of a folder `key=value`; `None` for other names.
#[must_use]
pub fn parse(folder: &str) -> Option<Partition> {
    let (name, value) = folder.split_once('=')?;
    if name.is_empty() {
        return None;
    }
    let value = (value != NULL_NAME).then(|| decoded(value));
    Some(Partition { name: decoded(name), value })
}

/// Decodes `%2F` and its like. A name that does not decode to text stays as it is.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = pair.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Adds the partition of a folder to those of the folders above it.
pub fn below(above: &[Partition], folder: &str, path: &str) -> Result<Vec<Partition>, Failure> {
    let mut partitions = above.to_vec();
    let Some(partition) = parse(folder) else { return Ok(partitions) };
    if partitions.iter().any(|other| other.name == partition.name) {
        return Err(Failure::refused(
            path,
            format!("column `{}`", partition.name),
            "one folder of this column on the way to a file",
            "two",
            "rename one of the folders",
        ));
    }
    partitions.push(partition);
    Ok(partitions)
}

/// The value as an integer: digits, also with leading zeros, and a sign.
#[must_use]
pub fn integer(value: &str) -> Option<i64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { value.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_folder_names() {
        let parsed = |name| parse(name).map(|partition| (partition.name, partition.value));
        assert_eq!(parsed("year=2024"), Some(("year".into(), Some("2024".into()))));
        assert_eq!(parsed("a=b=c"), Some(("a".into(), Some("b=c".into()))));
        assert_eq!(parsed("city=L%27Aquila%2Fcentro"), Some(("city".into(), Some("L'Aquila/centro".into()))));
        assert_eq!(parsed("p=50%"), Some(("p".into(), Some("50%".into()))));
        assert_eq!(parsed("p=%ff"), Some(("p".into(), Some("%ff".into()))));
        assert_eq!(parsed("p=__HIVE_DEFAULT_PARTITION__"), Some(("p".into(), None)));
        assert_eq!(parsed("p="), Some(("p".into(), Some(String::new()))));
        assert_eq!((parsed("plain"), parsed("=x")), (None, None));
    }

    #[test]
    fn reads_integers_with_leading_zeros() {
        assert_eq!((integer("07"), integer("-3"), integer("0")), (Some(7), Some(-3), Some(0)));
        for other in ["", "-", "+1", "1.0", "1e3", " 1", "99999999999999999999"] {
            assert_eq!(integer(other), None, "{other}");
        }
    }
}
