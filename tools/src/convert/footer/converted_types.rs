//! Removes unknown converted types from a footer. The leaf is then read as its physical type, as other readers do. The
//! Parquet library would refuse the whole file. Does not depend on types.

use crate::convert::thrift::{Cursor, ThriftError, WireType};

const FIELD_SCHEMA: i64 = 2;
const FIELD_CONVERTED_TYPE: i64 = 6;
/// `INTERVAL`, the highest known converted type.
const CONVERTED_TYPE_MAX: i64 = 21;

/// The footer without unknown converted types; `None` when it has none.
///
/// # Errors
/// When the bytes are not a footer.
pub fn without_unknown(footer: &[u8]) -> Result<Option<Vec<u8>>, ThriftError> {
    let mut cursor = Cursor { bytes: footer };
    let (mut field, mut out, mut kept_to) = (0, Vec::new(), 0);
    while let Some(wire_type) = cursor.field(&mut field)? {
        if field != FIELD_SCHEMA || wire_type != WireType::List {
            cursor.skip(wire_type)?;
            continue;
        }
        let (count, _) = cursor.list()?;
        for _ in 0..count {
            let start = footer.len() - cursor.bytes.len();
            if let Some(element) = element_without_unknown(&mut cursor)? {
                out.extend_from_slice(footer.get(kept_to..start).unwrap_or_default());
                out.extend(element);
                kept_to = footer.len() - cursor.bytes.len();
            }
        }
    }
    if kept_to == 0 {
        return Ok(None);
    }
    out.extend_from_slice(footer.get(kept_to..).unwrap_or_default());
    Ok(Some(out))
}

/// Skips a schema element. Returns its bytes without the field when the converted type is unknown.
fn element_without_unknown(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>, ThriftError> {
    let (mut field, mut last, mut out, mut unknown) = (0, 0, Vec::new(), false);
    loop {
        let head = cursor.bytes.first().copied().unwrap_or(0);
        let Some(wire_type) = cursor.field(&mut field)? else { break };
        let value = cursor.bytes;
        cursor.skip(wire_type)?;
        if field == FIELD_CONVERTED_TYPE
            && !(0..=CONVERTED_TYPE_MAX).contains(&Cursor { bytes: value }.signed()?)
        {
            unknown = true;
            continue;
        }
        push_head(&mut out, head & 0x0f, last, field);
        out.extend_from_slice(value.get(..value.len() - cursor.bytes.len()).unwrap_or_default());
        last = field;
    }
    out.push(0);
    Ok(unknown.then_some(out))
}

/// Writes a field header: the wire type with the delta from the last field number, or with the full number.
fn push_head(out: &mut Vec<u8>, wire_type: u8, last: i64, field: i64) {
    match u8::try_from(field - last) {
        Ok(step @ 1..=15) => out.push(step << 4 | wire_type),
        _ => {
            out.push(wire_type);
            let mut rest = ((field << 1) ^ (field >> 63)).cast_unsigned();
            while rest >= 0x80 {
                out.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
                rest >>= 7;
            }
            out.push(u8::try_from(rest).unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer of version 1 with a schema of these elements and a number of rows.
    fn footer(elements: &[&[u8]]) -> Vec<u8> {
        let head = [0x15, 0x02, 0x19, (elements.len() as u8) << 4 | 0x0c];
        [&head, elements.concat().as_slice(), &[0x16, 0x08, 0x00]].concat()
    }

    #[test]
    fn removes_only_unknown_converted_types() {
        // Name "a", then converted type 24 and scale 3; the same with 21; the same without.
        let unknown: &[u8] = &[0x48, 1, b'a', 0x25, 48, 0x15, 6, 0];
        let known: &[u8] = &[0x48, 1, b'a', 0x25, 42, 0x15, 6, 0];
        let without: &[u8] = &[0x48, 1, b'a', 0x35, 6, 0];
        assert_eq!(without_unknown(&footer(&[known, without])), Ok(None));
        let repaired = without_unknown(&footer(&[known, unknown, known, unknown]));
        assert_eq!(repaired, Ok(Some(footer(&[known, without, known, without]))));
        // A far field keeps its number.
        let far: &[u8] = &[0x48, 1, b'a', 0x25, 48, 0xf5, 6, 0];
        let repaired = without_unknown(&footer(&[far]));
        assert_eq!(repaired, Ok(Some(footer(&[&[0x48, 1, b'a', 0x05, 42, 6, 0]]))));
        assert!(without_unknown(&footer(&[unknown])[..9]).is_err());
    }
}
