//! Reads single fields of Thrift's compact protocol, for the few facts that the Parquet library does not give. What
//! cannot be read is `None`: the library reads the same bytes afterwards and reports the error.

/// Values inside one another.
const DEPTH_MAX: usize = 64;

/// A field number and the wire type of its value.
pub struct FieldHead {
    pub number: i64,
    pub wire_type: u8,
}

pub const I32: u8 = 5;
pub const LIST: u8 = 9;
pub const STRUCT: u8 = 12;

pub struct Cursor<'a> {
    bytes: &'a [u8],
    pub position: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, position: 0 }
    }

    /// Calls `visit` with every field of a struct; it reads or skips the value. Stops at the first `None`.
    pub fn each_field(&mut self, mut visit: impl FnMut(&mut Self, &FieldHead) -> Option<()>) -> Option<()> {
        let mut number = 0_i64;
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                return Some(());
            }
            number = match head >> 4 {
                0 => self.signed()?,
                step => number.checked_add(step.into())?,
            };
            visit(self, &FieldHead { number, wire_type: head & 0x0f })?;
        }
    }

    /// The number of elements of a list and their wire type. Every element takes a byte or more.
    pub fn list(&mut self) -> Option<(usize, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { (head >> 4).into() };
        let count = usize::try_from(count).ok()?;
        (count <= self.bytes.len().checked_sub(self.position)?).then_some((count, head & 0x0f))
    }

    pub fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    pub fn skip(&mut self, wire_type: u8) -> Option<()> {
        // The header of a field holds its boolean.
        if matches!(wire_type, 1 | 2) { Some(()) } else { self.skip_value(wire_type, DEPTH_MAX) }
    }

    fn skip_value(&mut self, wire_type: u8, depth: usize) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        match wire_type {
            1..=3 => self.advance(1),
            4..=6 => self.varint().map(drop),
            7 => self.advance(8),
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.advance(length)
            }
            9 | 10 => {
                let (count, wire_type) = self.list()?;
                (0..count).try_for_each(|_| self.skip_value(wire_type, deeper))
            }
            STRUCT => self.each_field(|cursor, field| match field.wire_type {
                1 | 2 => Some(()),
                other => cursor.skip_value(other, deeper),
            }),
            13 => self.advance(16),
            // Parquet has no maps in its metadata.
            _ => None,
        }
    }

    fn advance(&mut self, count: usize) -> Option<()> {
        self.position = self.position.checked_add(count).filter(|end| *end <= self.bytes.len())?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}
