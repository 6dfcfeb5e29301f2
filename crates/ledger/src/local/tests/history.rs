//! The newest entries of an account, against a naive twin that reads the whole log.

use proptest::prelude::*;

use super::super::reading::search;
use super::*;
use crate::limits::HISTORY_SEGMENTS_MAX;
use crate::log::{LogReader, OpenOptions, open_log};
use crate::state::Written;
use crate::{AccountId, Entry, EntryKind, History, HistoryQuery};

const KINDS: [EntryKind; 3] = [EntryKind::Purchase, EntryKind::Charge, EntryKind::Grant];

/// A log of small segments in which three accounts take turns, and its entries in their order.
fn log_of(batches: &[Vec<(u64, usize)>]) -> (LogReader, Vec<Entry>) {
    let options = OpenOptions { segment_bytes: 600, ..OpenOptions::default() };
    let mut log = open_log(SimulatedDisk::default().folder(), &options).unwrap().log;
    let mut all: Vec<Entry> = Vec::new();
    for batch in batches {
        let mut written = Written::default();
        for (place, (account, kind)) in batch.iter().enumerate() {
            let sequence = log.next_sequence() + place as u64;
            let account = AccountId::from_number(*account);
            let entry = Entry { sequence, ..Entry::<String>::new(account, KINDS[*kind], 1, noon()) };
            written.push(&entry);
            all.push(entry);
        }
        let mut payload = Vec::new();
        written.encode(&mut payload).unwrap();
        log.append(written.count(), &payload).unwrap();
    }
    (log.reader().unwrap(), all)
}

fn query(only_credited: bool, before: Option<u64>, limit: usize) -> HistoryQuery {
    let account = AccountId::from_number(1);
    HistoryQuery { account, created_at: noon(), only_credited, before, limit }
}

proptest! {
    #[test]
    fn finds_every_entry_once_newest_first(
        batches in prop::collection::vec(prop::collection::vec((0..3_u64, 0..3_usize), 1..4), 1..120),
        only_credited: bool,
        limit in 1..20_usize,
    ) {
        let (log, all) = log_of(&batches);
        let first = query(only_credited, None, limit);
        let is_wanted = |entry: &&Entry| {
            entry.account == first.account && (!only_credited || entry.kind != EntryKind::Charge)
        };
        let expected: Vec<&Entry> = all.iter().rev().filter(is_wanted).collect();
        let (mut found, mut before, mut looks) = (Vec::new(), None, 0);
        loop {
            let History { entries, before: next } =
                search(Path::new(""), &log, &HistoryQuery { before, ..first }).unwrap();
            prop_assert!(entries.len() <= limit);
            found.extend(entries);
            looks += 1;
            let Some(next) = next else { break };
            prop_assert!(before.is_none_or(|before| next < before), "it goes on");
            before = Some(next);
        }
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        let segments = log.segments().count();
        prop_assert!(looks <= found.len() + segments.div_ceil(HISTORY_SEGMENTS_MAX) + 1);
    }
}

#[test]
fn bounds_segments_read_and_stops_at_account_creation() {
    let of_another = vec![vec![(2, 1), (2, 1)]; 200];
    let (log, _) = log_of(&of_another);
    let firsts: Vec<u64> = log.segments().map(|segment| segment.first).collect();
    assert!(firsts.len() > 2 * HISTORY_SEGMENTS_MAX);
    let look = search(Path::new(""), &log, &query(false, None, 5)).unwrap();
    assert_eq!((look.entries.len(), look.before), (0, Some(firsts[firsts.len() - HISTORY_SEGMENTS_MAX])));
    let young = HistoryQuery { created_at: noon().plus_seconds(2 * 86_400), ..query(false, None, 5) };
    assert_eq!(search(Path::new(""), &log, &young).unwrap(), History::default());
    assert_eq!(search(Path::new(""), &log, &query(false, Some(0), 5)).unwrap(), History::default());
}
