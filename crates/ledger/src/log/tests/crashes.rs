//! Losses of power and interrupted openings.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Append {
        count: u64,
        length: usize,
    },
    Sync,
    /// The process ends and another one begins.
    Reopen,
    /// The power fails, and the log goes on from one of the disks that this may leave behind.
    LosePower(prop::sample::Index),
    /// Numbers are skipped.
    Skip(u64),
}

fn steps(length: usize) -> impl Strategy<Value = Vec<Step>> {
    let append = (1_u64..4, 0_usize..90).prop_map(|(count, length)| Step::Append { count, length });
    let step = prop_oneof![
        12 => append,
        5 => Just(Step::Sync),
        1 => Just(Step::Reopen),
        1 => any::<prop::sample::Index>().prop_map(Step::LosePower),
        1 => (1_u64..5).prop_map(Step::Skip),
    ];
    prop::collection::vec(step, 1..length)
}

/// A log with what it should hold.
struct Run {
    disk: SimulatedDisk,
    log: Log,
    appended: Vec<Batch>,
    safe: usize,
    /// No number below is given out again, unless the record that had it is gone.
    next: u64,
}

impl Run {
    fn new() -> Run {
        let disk = SimulatedDisk::default();
        let log = open(&disk).unwrap().log;
        Run { disk, log, appended: Vec::new(), safe: 0, next: 1 }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Append { count, length } => {
                self.appended.push(append(&mut self.log, *count, *length).unwrap());
            }
            Step::Sync => {
                self.log.commits().sync_all().unwrap();
                self.safe = self.appended.len();
            }
            Step::Reopen => self.open(self.disk.clone(), 1),
            Step::LosePower(choice) => {
                let states = self.disk.crash_states();
                self.open(choice.get(&states).clone(), 1);
            }
            Step::Skip(count) => {
                self.next = self.log.next_sequence() + count;
                self.open(self.disk.clone(), self.next);
                assert_eq!(self.log.next_sequence(), self.next);
            }
        }
    }

    fn open(&mut self, disk: SimulatedDisk, next_at_least: u64) {
        self.disk = disk;
        self.log = open_log(self.disk.folder(), &OpenOptions { next_at_least, ..options() }).unwrap().log;
        self.appended = check_kept(&self.log, &self.appended, self.safe);
        self.safe = self.appended.len();
    }
}

/// The log holds a prefix of the appended batches, with every safe batch in it.
fn check_kept(log: &Log, appended: &[Batch], safe: usize) -> Vec<Batch> {
    let found = read(log);
    assert!(found.len() >= safe, "{} of {safe} safe batches are there", found.len());
    assert_eq!(Some(found.as_slice()), appended.get(..found.len()));
    assert!(log.next_sequence() > found.last().map_or(0, |batch| batch.last));
    found
}

/// Opens a disk that a crash left behind, opens it again, and goes on.
pub fn check_disk(disk: &SimulatedDisk, appended: &[Batch], safe: usize) {
    let first = open(disk).unwrap().log;
    let mut found = check_kept(&first, appended, safe);
    // Batches found at the opening are safe: they cannot be told from acknowledged ones.
    let again = open(&SimulatedDisk::with_files(&disk.safe_files())).unwrap();
    assert_eq!((read(&again.log), again.log.next_sequence()), (found.clone(), first.next_sequence()));
    assert_eq!(again.cut, []);
    let mut log = open(disk).unwrap().log;
    assert_eq!(log.next_sequence(), first.next_sequence());
    found.push(append(&mut log, 2, 20).unwrap());
    log.commits().sync_all().unwrap();
    let log = open(&SimulatedDisk::with_files(&disk.safe_files())).unwrap().log;
    assert_eq!(read(&log), found);
}

fn run_histories(cases: u32, length: usize, check: impl Fn(&Run) -> usize) -> usize {
    let mut runner = TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let checked = std::cell::Cell::new(0);
    let result = runner.run(&steps(length), |steps| {
        let mut run = Run::new();
        for step in &steps {
            run.step(step);
        }
        checked.set(checked.get() + check(&run));
        Ok(())
    });
    result.unwrap();
    checked.get()
}

#[test]
fn keeps_synced_batches_after_any_power_loss() {
    let checked = run_histories(1_500, 60, |run| {
        let states = run.disk.crash_states();
        for state in &states {
            check_disk(state, &run.appended, run.safe);
        }
        states.len()
    });
    assert!(checked >= 2_000, "{checked}");
    println!("{checked} losses of power");
}

#[test]
fn repeats_opening_interrupted_anywhere() {
    let checked = run_histories(60, 24, |run| {
        let mut checked = 0;
        for state in run.disk.crash_states().iter().step_by(5) {
            for fault in [Fault::Nothing, Fault::Half, Fault::All] {
                for after in 0.. {
                    let disk = state.fork();
                    disk.fail(after, fault);
                    let opened = open_log(disk.folder(), &OpenOptions { next_at_least: 90, ..options() });
                    if disk.take_fault() {
                        break;
                    }
                    assert!(opened.is_err());
                    for left in disk.crash_states().iter().chain([&disk]) {
                        check_disk(left, &run.appended, run.safe);
                        checked += 1;
                    }
                }
            }
        }
        checked
    });
    assert!(checked >= 2_000, "{checked}");
    println!("{checked} interrupted openings");
}

#[test]
fn removes_unfinished_new_segment() {
    let (disk, batches) = synced_log(20);
    let mut files = disk.files();
    let last = last_name(&files);
    let next = segment::file_name(segment::parse_name(&last).unwrap() + 1);
    for (bytes, saved) in [(vec![], 0), (b"MRCLOG01".to_vec(), 1), (vec![0; 48], 1), (vec![0; 5_000], 1)] {
        files.insert(next.clone(), bytes);
        let disk = SimulatedDisk::with_files(&files);
        let opened = open(&disk).unwrap();
        assert_eq!((read(&opened.log), opened.cut.len()), (batches.clone(), saved));
        assert!(!disk.files().contains_key(&next));
    }
}

#[test]
fn cuts_trailing_zeros_without_saving_them() {
    let (disk, batches) = synced_log(9);
    let mut files = disk.files();
    let name = last_name(&files);
    let whole = files[&name].clone();
    files.get_mut(&name).unwrap().extend([0; 700]);
    let disk = SimulatedDisk::with_files(&files);
    let opened = open(&disk).unwrap();
    assert_eq!((read(&opened.log), opened.cut), (batches, Vec::new()));
    assert_eq!(disk.safe_files()[&name], whole);
}

#[test]
fn overwrites_preallocated_zeros_and_trims_closed_segments() {
    let disk = SimulatedDisk::default();
    let mut log = open(&disk).unwrap().log;
    append(&mut log, 1, 20).unwrap();
    assert_eq!(disk.files()[&last_name(&disk.files())].len() as u64, SMALL_SEGMENT_BYTES);
    for _ in 0..20 {
        append(&mut log, 1, 20).unwrap();
    }
    let files = disk.files();
    for segment in log.reader().unwrap().segments().filter(|segment| segment.number < files.len() as u64) {
        assert_eq!(files[&segment::file_name(segment.number)].len() as u64, segment.bytes);
    }
}

#[test]
fn saves_different_tails_under_different_names() {
    let (disk, _) = synced_log(9);
    let whole = disk.files();
    let name = last_name(&whole);
    let mut files = whole.clone();
    for (tail, expected) in
        [(&b"one!"[..], 1), (b"two!", 2), (b"one!", 2), (b"two!", 2), (b"one", 3), (b"one", 3)]
    {
        files.insert(name.clone(), [whole[&name].as_slice(), tail].concat());
        let disk = SimulatedDisk::with_files(&files);
        open(&disk).unwrap();
        files = disk.safe_files();
        assert_eq!(files.keys().filter(|name| name.ends_with(".broken")).count(), expected);
    }
}

#[test]
fn treats_torn_tail_before_new_segment_as_damage() {
    let (disk, _) = synced_log(20);
    let mut files = disk.files();
    let last = last_name(&files);
    files.insert(segment::file_name(segment::parse_name(&last).unwrap() + 1), Vec::new());
    files.get_mut(&last).unwrap().pop();
    let disk = SimulatedDisk::with_files(&files);
    for error in [open(&disk).err(), LogReader::over(&[disk.folder()]).err()] {
        assert!(matches!(error, Some(LogError::Corrupt { .. })), "{error:?}");
    }
}

/// All that was cut from the segments of `before` lies beside them.
fn check_saved(before: &Files, after: &Files) {
    for (name, bytes) in before {
        let left = after.get(name).map_or(0, Vec::len);
        assert!(left >= bytes.len() || after[&format!("{name}.{left}.broken")] == bytes[left..], "{name}");
    }
}

#[test]
fn repeats_interrupted_cut_of_several_segments() {
    let (disk, batches) = synced_log(24);
    let files = disk.files();
    let keep = batches[7].last;
    let options = OpenOptions { keep_until: Some(keep), ..options() };
    for fault in [Fault::Nothing, Fault::Half, Fault::All] {
        for after in 0.. {
            let disk = disk.fork();
            disk.fail(after, fault);
            let opened = open_log(disk.folder(), &options);
            if disk.take_fault() {
                assert!(after > 8);
                break;
            }
            assert!(opened.is_err());
            for state in disk.crash_states() {
                check_saved(&files, &state.files());
                check_disk(&state, &batches, 8);
            }
            let log = open_log(disk.folder(), &options).unwrap().log;
            assert_eq!((read(&log), log.next_sequence()), (batches[..8].to_vec(), keep + 1));
        }
    }
}
