//! A mutable tree of Thrift's compact protocol for mutations. A list, map or text has a claimed count, independent of
//! its contents. Bytes are parsed into a tree, mutated in one place, and encoded again. Does not depend on Parquet.

/// Largest nesting depth.
const DEPTH_MAX: usize = 32;
/// Counts at the boundaries of encodings.
const COUNTS: [u64; 15] = [
    0,
    1,
    2,
    14,
    15,
    16,
    127,
    128,
    0xffff,
    0x00ff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    u64::MAX >> 1,
    u64::MAX,
];
/// Field numbers: those of page headers, their neighbours, and numbers beyond 16 bits.
const FIELDS: [i64; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 31, 0x7fff, 0x8000, 0x1_0001, -1];

/// A value, by wire type.
#[derive(Clone, Debug)]
pub enum Value {
    /// 1 and 2: booleans in a field header.
    Boolean(bool),
    /// 3.
    Byte(u8),
    /// 4 to 6: the code, and the zigzag-encoded number.
    Number(u8, u64),
    /// 7, and 13: eight or sixteen bytes.
    Fixed(Vec<u8>),
    /// 8.
    Bytes { claimed: u64, bytes: Vec<u8> },
    /// 9 and 10: a list or a set of one wire type.
    List { set: bool, claimed: u64, kind: u8, items: Vec<Value> },
    /// 11: two wire types, one in each half of a byte.
    Map { claimed: u64, kinds: u8, pairs: Vec<Value> },
    /// 12: fields with their numbers.
    Struct(Vec<(i64, Value)>),
}

use Value::{Boolean, Byte, Bytes, Fixed, List, Map, Number, Struct};

/// A random number generator (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// A random number below `bound`, which is above 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }

    /// A random item.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A cursor over bytes. Every read past the end fails.
pub struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// The fields of a struct, up to its end.
    pub fn fields(&mut self, depth: usize) -> Option<Vec<(i64, Value)>> {
        let (mut number, mut fields) = (0_i64, Vec::new());
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(fields);
            }
            number = match head >> 4 {
                0 => signed(self.varint()?),
                step => number.wrapping_add(step.into()),
            };
            let value = match head & 0x0f {
                code @ (1 | 2) => Boolean(code == 1),
                code => self.value(code, depth.checked_sub(1)?)?,
            };
            fields.push((number, value));
        }
    }

    fn value(&mut self, code: u8, depth: usize) -> Option<Value> {
        Some(match code {
            1 | 2 => Boolean(self.byte()? == 1),
            3 => Byte(self.byte()?),
            4..=6 => Number(code, self.varint()?),
            7 => Fixed(self.bytes(8)?),
            13 => Fixed(self.bytes(16)?),
            8 => {
                let claimed = self.varint()?;
                Bytes { claimed, bytes: self.bytes(usize::try_from(claimed).ok()?)? }
            }
            9 | 10 => {
                let head = self.byte()?;
                let claimed = if head >= 0xf0 { self.varint()? } else { (head >> 4).into() };
                let (kind, deeper) = (head & 0x0f, depth.checked_sub(1)?);
                let items = (0..claimed).map(|_| self.value(kind, deeper)).collect::<Option<_>>()?;
                List { set: code == 10, claimed, kind, items }
            }
            11 => {
                let claimed = self.varint()?;
                let (kinds, deeper) = (if claimed > 0 { self.byte()? } else { 0 }, depth.checked_sub(1)?);
                let mut pairs = Vec::new();
                for _ in 0..claimed {
                    pairs.push(self.value(kinds >> 4, deeper)?);
                    pairs.push(self.value(kinds & 0x0f, deeper)?);
                }
                Map { claimed, kinds, pairs }
            }
            12 => Struct(self.fields(depth)?),
            _ => return None,
        })
    }
}

/// Parses a struct at the front of the bytes.
pub fn take_struct(bytes: &mut Cursor<'_>) -> Option<Value> {
    bytes.fields(DEPTH_MAX).map(Struct)
}

fn signed(raw: u64) -> i64 {
    (raw >> 1).cast_signed() ^ -((raw & 1).cast_signed())
}

/// The zigzag encoding of a signed number.
pub fn unsigned(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn push_varint(mut rest: u64, out: &mut Vec<u8>) {
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

impl Value {
    fn code(&self) -> u8 {
        match self {
            Boolean(value) => 2 - u8::from(*value),
            Byte(_) => 3,
            Number(code, _) => *code,
            Fixed(bytes) if bytes.len() == 8 => 7,
            Fixed(_) => 13,
            Bytes { .. } => 8,
            List { set, .. } => 9 + u8::from(*set),
            Map { .. } => 11,
            Struct(_) => 12,
        }
    }

    /// Encodes the value.
    pub fn push(&self, out: &mut Vec<u8>) {
        match self {
            Boolean(value) => out.push(2 - u8::from(*value)),
            Byte(value) => out.push(*value),
            Number(_, raw) => push_varint(*raw, out),
            Fixed(bytes) => out.extend(bytes),
            Bytes { claimed, bytes } => {
                push_varint(*claimed, out);
                out.extend(bytes);
            }
            List { claimed, kind, items, .. } => {
                if *claimed < 15 {
                    out.push((*claimed as u8) << 4 | kind);
                } else {
                    out.push(0xf0 | kind);
                    push_varint(*claimed, out);
                }
                items.iter().for_each(|item| item.push(out));
            }
            Map { claimed, kinds, pairs } => {
                push_varint(*claimed, out);
                if *claimed > 0 {
                    out.push(*kinds);
                }
                pairs.iter().for_each(|value| value.push(out));
            }
            Struct(fields) => push_fields(fields, out),
        }
    }

    /// The encoded number of the first field with this number.
    pub fn number(&self, field: i64) -> Option<u64> {
        let Struct(fields) = self else { return None };
        fields.iter().find_map(|(number, value)| match value {
            Number(_, raw) if *number == field => Some(*raw),
            _ => None,
        })
    }

    /// Sets the number of every such field.
    pub fn set_number(&mut self, field: i64, to: u64) {
        let Struct(fields) = self else { return };
        for (number, value) in fields {
            match value {
                Number(_, raw) if *number == field => *raw = to,
                _ => {}
            }
        }
    }

    /// Mutates one value of the tree, chosen uniformly.
    pub fn change(&mut self, draw: &mut Random) {
        let mut left = draw.below(self.count());
        if let Some(chosen) = self.at(&mut left) {
            chosen.change_here(draw);
        }
    }

    fn inside(&self) -> Vec<&Value> {
        match self {
            List { items, .. } => items.iter().collect(),
            Map { pairs, .. } => pairs.iter().collect(),
            Struct(fields) => fields.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    fn count(&self) -> usize {
        1 + self.inside().into_iter().map(Value::count).sum::<usize>()
    }

    fn at(&mut self, left: &mut usize) -> Option<&mut Value> {
        if *left == 0 {
            return Some(self);
        }
        *left -= 1;
        match self {
            List { items, .. } => items.iter_mut().find_map(|value| value.at(left)),
            Map { pairs, .. } => pairs.iter_mut().find_map(|value| value.at(left)),
            Struct(fields) => fields.iter_mut().find_map(|(_, value)| value.at(left)),
            _ => None,
        }
    }

    fn change_here(&mut self, draw: &mut Random) {
        match self {
            Struct(fields) => change_fields(fields, draw),
            _ if draw.below(8) == 0 => *self = fresh(draw),
            Boolean(value) => *value = !*value,
            Byte(value) => *value = draw.below(256) as u8,
            Fixed(bytes) => bytes.fill(draw.below(256) as u8),
            Number(_, raw) => {
                let step = draw.below(5) as u64;
                *raw = if draw.below(2) == 0 {
                    draw.one(&COUNTS)
                } else {
                    raw.wrapping_add(step).wrapping_sub(2)
                };
            }
            Bytes { claimed, .. } | Map { claimed, .. } => *claimed = draw.one(&COUNTS),
            List { claimed, kind, .. } => {
                if draw.below(2) == 0 {
                    *claimed = draw.one(&COUNTS);
                } else {
                    *kind = draw.below(16) as u8;
                }
            }
        }
    }
}

fn push_fields(fields: &[(i64, Value)], out: &mut Vec<u8>) {
    let mut last = 0_i64;
    for (number, value) in fields {
        match number.wrapping_sub(last) {
            step @ 1..=15 => out.push((step as u8) << 4 | value.code()),
            _ => {
                out.push(value.code());
                push_varint(unsigned(*number), out);
            }
        }
        last = *number;
        if !matches!(value, Boolean(_)) {
            value.push(out);
        }
    }
    out.push(0);
}

fn change_fields(fields: &mut Vec<(i64, Value)>, draw: &mut Random) {
    let place = draw.below(fields.len() + 1);
    match (draw.below(4), fields.get_mut(place)) {
        (0, Some(_)) => drop(fields.remove(place)),
        (1, Some((number, _))) => *number = draw.one(&FIELDS),
        (2, Some(_)) => {
            let other = draw.below(fields.len());
            fields.swap(place, other);
        }
        _ => fields.insert(place, (draw.one(&FIELDS), fresh(draw))),
    }
}

/// A small random value, whose count may be wrong.
fn fresh(draw: &mut Random) -> Value {
    let code = draw.below(13) as u8 + 1;
    match code {
        1 | 2 => Boolean(code == 1),
        3 => Byte(draw.below(256) as u8),
        4..=6 => Number(code, draw.one(&COUNTS)),
        7 => Fixed(vec![0; 8]),
        13 => Fixed(vec![0; 16]),
        8 => Bytes { claimed: draw.one(&COUNTS), bytes: vec![b'x'; draw.below(4)] },
        11 => Map { claimed: draw.one(&COUNTS), kinds: draw.below(256) as u8, pairs: Vec::new() },
        12 => Struct((0..draw.below(3)).map(|_| (draw.one(&FIELDS), fresh(draw))).collect()),
        _ => {
            let items = (0..draw.below(3)).map(|_| Byte(draw.below(256) as u8)).collect();
            List { set: code == 10, claimed: draw.one(&COUNTS), kind: draw.below(16) as u8, items }
        }
    }
}
