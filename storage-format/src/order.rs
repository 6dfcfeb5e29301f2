//! Order keys: an order-preserving encoding of numbers as unsigned integers. Doubles use the usual sign flip; NaN has
//! the largest key, and both zeros have one key.

/// The key of every NaN.
pub const NAN_KEY: u64 = u64::MAX;

/// The key of a signed integer.
#[inline]
#[must_use]
pub fn integer_key(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

/// The integer of a key.
#[inline]
#[must_use]
pub fn integer_of(key: u64) -> i64 {
    (key ^ (1 << 63)).cast_signed()
}

/// The key of a wide integer.
#[inline]
#[must_use]
pub fn wide_key(value: i128) -> u128 {
    value.cast_unsigned() ^ (1 << 127)
}

/// The integer of a key of a column whose integers have `width` bytes; `None` for a key that is too wide.
#[inline]
#[must_use]
pub fn number_of(key: u128, width: u8) -> Option<i128> {
    match width {
        16 => Some((key ^ (1 << 127)).cast_signed()),
        _ => u64::try_from(key).ok().map(|key| integer_of(key).into()),
    }
}

/// The double of a key.
#[inline]
#[must_use]
pub fn float_of(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key ^ (1 << 63) } else { !key })
}

/// The key of a double.
#[inline]
#[must_use]
pub fn float_key(value: f64) -> u64 {
    if value.is_nan() {
        return NAN_KEY;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_keys_preserve_order() {
        let ordered = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            0.0,
            5e-324,
            2.0,
            f64::MAX,
            f64::INFINITY,
        ];
        assert!(ordered.windows(2).all(|pair| float_key(pair[0]) < float_key(pair[1])));
        assert_eq!(float_key(-0.0), float_key(0.0));
        assert!(ordered.iter().all(|value| float_of(float_key(*value)) == *value));
        assert!(float_key(f64::INFINITY) < float_key(f64::NAN));
        assert_eq!(float_key(-f64::NAN), NAN_KEY);
    }

    #[test]
    fn integer_keys_preserve_order() {
        let ordered = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(ordered.windows(2).all(|pair| integer_key(pair[0]) < integer_key(pair[1])));
        assert!(ordered.iter().all(|value| integer_of(integer_key(*value)) == *value));
        assert!(
            ordered.iter().all(|value| number_of(integer_key(*value).into(), 8) == Some((*value).into()))
        );
        assert_eq!(number_of(1 << 64, 8), None);
        assert!(
            [i128::MIN, -1, i128::MAX].iter().all(|value| number_of(wide_key(*value), 16) == Some(*value))
        );
        assert!(
            wide_key(i128::MIN) < wide_key(-1)
                && wide_key(-1) < wide_key(0)
                && wide_key(0) < wide_key(i128::MAX)
        );
    }
}
