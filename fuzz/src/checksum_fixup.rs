//! Damages a valid file and recomputes all checksums, so that the checks of the contents are reached. Depends on the layout
//! of FORMAT.md and no query.

use mercato_format::blocks::block_salt;
use mercato_format::checksum::{BLOCK_SIZE_BYTES, checksum, fingerprint, section_checksum};
use mercato_format::layout::{HEADER_SIZE, Header, TRAILER_SIZE};
use mercato_format::section::{RECORD_SIZE, SectionKind, SectionRecord};

/// Bytes of one change: section, operation, two bytes of offset, four of value.
const CHANGE_BYTES: usize = 8;
/// Most changes of one input.
const CHANGES_MAX: usize = 32;

/// Applies the changes in `script` to `file` and recomputes its checksums.
pub fn mutate_below_checksums(file: &[u8], script: &[u8]) -> Vec<u8> {
    let mut header = Header::decode(file).expect("the base file is sound");
    let mut bytes = file.to_vec();
    let directory = usize::try_from(header.directory_offset).expect("small");
    let size = usize::try_from(header.directory_size).expect("small");
    let records: Vec<SectionRecord> =
        bytes[directory..directory + size].chunks_exact(RECORD_SIZE).map(SectionRecord::decode).collect();
    for change in script.chunks_exact(CHANGE_BYTES).take(CHANGES_MAX) {
        let section = usize::from(change[0]) % (records.len() + 2);
        let offset = usize::from(u16::from_le_bytes([change[2], change[3]]));
        let value = [change[4], change[5], change[6], change[7]];
        let place = match records.get(section) {
            Some(record) => record.offset as usize..(record.offset + record.len) as usize,
            None if section == records.len() => directory..directory + size,
            None => {
                header.row_count = u32::from_le_bytes(value).into();
                continue;
            }
        };
        apply(&mut bytes[place], change[1], offset, value);
    }
    update_row_blocks(&mut bytes, &records);
    update_checksums(&mut bytes, header, directory..directory + size);
    bytes
}

fn apply(bytes: &mut [u8], operation: u8, offset: usize, value: [u8; 4]) {
    if bytes.is_empty() {
        return;
    }
    let at = offset % bytes.len();
    match operation % 4 {
        0 => bytes[at] ^= value[0] | 1,
        1 => bytes[at] = value[0],
        2 => bytes[at..].iter_mut().zip(value).for_each(|(target, byte)| *target = byte),
        _ => {
            let other = usize::from(u16::from_le_bytes([value[0], value[1]])) % bytes.len();
            bytes.swap(at, other);
        }
    }
}

/// The checksum in front of each row block.
fn update_row_blocks(bytes: &mut [u8], records: &[SectionRecord]) {
    let of_kind = |kind: SectionKind| records.iter().filter(move |record| record.kind == kind as u16);
    for record in of_kind(SectionKind::RowBlocks) {
        let same = of_kind(SectionKind::BlockPlaces).find(|places| places.column == record.column);
        let places = same.and_then(|places| place(bytes, places));
        let Some((places, blocks)) = places.zip(place(bytes, record)) else { continue };
        let words: Vec<usize> = bytes[places]
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")) as usize)
            .collect();
        for (number, pair) in (0u32..).zip(words.windows(2)) {
            let Some(block) = bytes[blocks.clone()].get_mut(pair[0]..pair[1]) else { continue };
            let Some((sum, body)) = block.split_first_chunk_mut::<8>() else { continue };
            *sum = (checksum(body) ^ block_salt(record.column as usize, number)).to_le_bytes();
        }
    }
}

/// Block checksums, section checksums, directory checksum, fingerprint, header and trailer.
fn update_checksums(bytes: &mut [u8], mut header: Header, directory: std::ops::Range<usize>) {
    let count = (directory.end - directory.start) / RECORD_SIZE;
    let record_at = |number: usize| directory.start + number * RECORD_SIZE;
    let decode = |bytes: &[u8], number: usize| {
        SectionRecord::decode(&bytes[record_at(number)..record_at(number) + RECORD_SIZE])
    };
    let is_table = |record: &SectionRecord| record.kind == SectionKind::BlockChecksums as u16;
    let table = (0..count).map(|number| decode(bytes, number)).find(is_table);
    let table = table.and_then(|record| place(bytes, &record));
    // The table of block checksums comes last, because it is itself a section with a checksum.
    for last in [false, true] {
        for number in 0..count {
            let mut record = decode(bytes, number);
            let Some(place) = place(bytes, &record).filter(|_| is_table(&record) == last) else { continue };
            let blocks: Vec<u64> = bytes[place].chunks(BLOCK_SIZE_BYTES).map(checksum).collect();
            for (block, sum) in (record.first_block..).zip(&blocks).filter(|_| !last) {
                let at = usize::try_from(block).ok().and_then(|block| block.checked_mul(8));
                let slot = table
                    .clone()
                    .zip(at)
                    .and_then(|(table, at)| bytes[table].get_mut(at..at.checked_add(8)?));
                if let Some(slot) = slot {
                    slot.copy_from_slice(&sum.to_le_bytes());
                }
            }
            record.checksum = section_checksum(&blocks);
            bytes[record_at(number) + 40..record_at(number) + 48]
                .copy_from_slice(&record.checksum.to_le_bytes());
        }
    }
    header.directory_checksum = checksum(&bytes[directory.clone()]);
    header.fingerprint = fingerprint(&bytes[directory]);
    bytes[..HEADER_SIZE].copy_from_slice(&header.encode());
    let trailer = bytes.len() - TRAILER_SIZE;
    bytes[trailer..].copy_from_slice(&header.encode_trailer());
}

fn place(bytes: &[u8], record: &SectionRecord) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(record.offset).ok().filter(|start| *start >= HEADER_SIZE)?;
    let end = start.checked_add(usize::try_from(record.len).ok()?)?;
    (end <= bytes.len() - TRAILER_SIZE).then_some(start..end)
}
