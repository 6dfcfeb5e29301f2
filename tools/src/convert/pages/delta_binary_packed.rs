//! Decodes DELTA_BINARY_PACKED integers ("Encodings" of the Parquet format), which hold the lengths of texts. Does not
//! depend on pages.

/// Bytes of a 64-bit varint.
const NUMBER_BYTES_MAX: usize = 10;
const CUT: &str = "the lengths of texts are truncated";

/// Calls `visit` with at most `most` numbers in order, and returns the bytes behind them. A negative number, which is
/// not a length, counts as 0.
pub fn visit(bytes: &[u8], most: u64, mut visit: impl FnMut(u64)) -> Result<&[u8], &'static str> {
    let (block, rest) = number(bytes).ok_or(CUT)?;
    let (parts, rest) = number(rest).ok_or(CUT)?;
    let (count, rest) = number(rest).ok_or(CUT)?;
    if count > most {
        return Err("a page has more lengths than values");
    }
    let each = block.checked_div(parts).filter(|each| *each > 0).ok_or("a block of lengths is empty")?;
    let (first, mut rest) = number(rest).ok_or(CUT)?;
    let (mut left, mut value) = (count.saturating_sub(1), signed(first));
    if count > 0 {
        visit(value.max(0).cast_unsigned());
    }
    while left > 0 {
        let (smallest, after) = number(rest).ok_or(CUT)?;
        let parts = usize::try_from(parts).map_err(|_| CUT)?;
        let (widths, after) = after.split_at_checked(parts).ok_or(CUT)?;
        rest = after;
        for width in widths {
            if left == 0 {
                break;
            }
            let length = each.checked_mul(u64::from(*width)).map(|bits| bits / 8);
            let length = length.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(CUT)?;
            let (part, after) = rest.split_at_checked(length).ok_or(CUT)?;
            rest = after;
            for index in 0..each.min(left) {
                let difference = unpack(part, index, *width).wrapping_add(signed(smallest).cast_unsigned());
                value = value.wrapping_add(difference.cast_signed());
                visit(value.max(0).cast_unsigned());
            }
            left = left.saturating_sub(each);
        }
    }
    Ok(rest)
}

/// The number at `index` in bit-packed numbers of `width` bits, lowest bits first. Missing bits are 0.
fn unpack(bytes: &[u8], index: u64, width: u8) -> u64 {
    let bit = index.saturating_mul(u64::from(width));
    let start = usize::try_from(bit / 8).unwrap_or(usize::MAX);
    let window = bytes.get(start..).unwrap_or_default().iter().take(9).rev();
    let window = window.fold(0_u128, |window, byte| window << 8 | u128::from(*byte)) >> (bit % 8);
    let mask = 1_u128.checked_shl(width.into()).map_or(u128::MAX, |bound| bound - 1);
    #[expect(clippy::cast_possible_truncation, reason = "numbers have at most 64 bits")]
    let value = (window & mask) as u64;
    value
}

fn signed(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Decodes a varint: seven bits a byte, lowest first.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(NUMBER_BYTES_MAX).enumerate() {
        value |= u64::from(byte & 0x7F).checked_shl(u32::try_from(index * 7).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_and_counts_lengths() {
        // A block of 128 in four parts, three numbers; the first is 2, the differences are packed into one part of 8 bits.
        let mut packed = vec![0x80, 0x01, 4, 3, 4, 0, 8, 0, 0, 0];
        packed.extend([1; 32]);
        packed.extend(b"behind");
        let mut found = Vec::new();
        assert_eq!(visit(&packed, 3, |length| found.push(length)), Ok(b"behind".as_slice()));
        assert_eq!(found, [2, 3, 4]);
        assert!(visit(&packed, 2, drop).unwrap_err().contains("more lengths than values"));
        for end in 0..packed.len() - b"behind".len() {
            assert!(visit(&packed[..end], 3, drop).is_err(), "{end}");
        }
        assert_eq!(visit(&[0x80, 0x01, 4, 0, 0, 9], 0, drop), Ok([9].as_slice()));
        assert_eq!(visit(&[0, 0, 1, 0], 1, drop), Err("a block of lengths is empty"));
    }

    #[test]
    fn unpacks_odd_bit_widths() {
        // 5, 2, 7 in three bits each: 111_010_101.
        let bytes = [0b1101_0101, 0b1];
        assert_eq!([0, 1, 2].map(|index| unpack(&bytes, index, 3)), [5, 2, 7]);
        assert_eq!(unpack(&[0xff; 16], 1, 63), u64::MAX >> 1);
        assert_eq!(unpack(&[], 9, 64), 0);
    }
}
