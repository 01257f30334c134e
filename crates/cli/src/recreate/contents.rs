//! Uploads the recorded contents of buffers, and compares what the buffers hold with them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use heapwright_d3d12::windows_core::{self, Result};
use heapwright_trace::session::{Action, MAX_CONTENTS_LEN};

use super::com::{Creator, is_equal, write};
use super::copies::{CopyQueue, Part, STAGING_LEN};
use super::objects::{Failure, Target, refusal};
use super::state::open;
use crate::exit::Failed;

/// Counts and failures of an upload.
#[derive(Debug, Default)]
pub(super) struct Uploaded {
    pub(super) verified_bytes: u64,
    pub(super) failures: Vec<Failure>,
}

/// Uploads the contents in the first records of a session. The file is read as a stream, so that contents may be larger than the
/// memory of this process.
pub(super) fn upload(
    path: &Path,
    record_count: usize,
    targets: &HashMap<u64, Target>,
    creator: &Creator,
) -> std::result::Result<Uploaded, Failed> {
    let mut upload = Upload {
        targets,
        creator,
        queue: None,
        batch: Batch::default(),
        failed: HashSet::new(),
        verified: HashMap::new(),
        done: Uploaded::default(),
    };
    for record in open(path)?.take(record_count) {
        let Action::Contents { allocation, offset, bytes } = record?.action else { continue };
        upload.contents(allocation, offset, bytes);
    }
    upload.copy_batch();
    Ok(upload.done)
}

struct Upload<'a> {
    targets: &'a HashMap<u64, Target>,
    creator: &'a Creator,
    /// Created for the first buffer that needs it.
    queue: Option<Result<CopyQueue>>,
    batch: Batch,
    /// Buffers that have been reported.
    failed: HashSet<u64>,
    /// Bytes that have been found in each buffer.
    verified: HashMap<u64, Ranges>,
    done: Uploaded,
}

/// Ranges of bytes that do not touch each other: the end of each by its start.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range, and returns the number of its bytes that are new.
    fn add(&mut self, start: u64, end: u64) -> u64 {
        let (mut first, mut last, mut known) = (start, end, 0);
        while let Some((&other, &other_end)) =
            self.0.range(..=last).next_back().filter(|(_, it)| **it >= first)
        {
            self.0.remove(&other);
            known += other_end.min(end).saturating_sub(other.max(start));
            (first, last) = (first.min(other), last.max(other_end));
        }
        self.0.insert(first, last);
        (end - start) - known
    }
}

/// Contents that the GPU copies together.
#[derive(Default)]
struct Batch {
    contents: Vec<Contents>,
    len: usize,
    /// The end of the last contents of each buffer.
    ends: HashMap<u64, u64>,
}

struct Contents {
    allocation: u64,
    offset: u64,
    bytes: Vec<u8>,
}

const _: () = assert!(MAX_CONTENTS_LEN <= STAGING_LEN, "a record must fit in the staging buffers");

impl Batch {
    /// Returns whether contents can be added. Copies of one submission may be executed in any order, so contents of a buffer are
    /// only added behind each other.
    fn has_room_for(&self, contents: &Contents) -> bool {
        self.len + contents.bytes.len() <= STAGING_LEN
            && self.ends.get(&contents.allocation).is_none_or(|&end| contents.offset >= end)
    }

    fn push(&mut self, contents: Contents) {
        let len = contents.bytes.len();
        self.len += len;
        self.ends.insert(contents.allocation, contents.offset.saturating_add(len as u64));
        self.contents.push(contents);
    }
}

impl Upload<'_> {
    fn contents(&mut self, allocation: u64, offset: u64, bytes: Vec<u8>) {
        // It does not exist at the moment that is recreated, or has been reported.
        let target = self.targets.get(&allocation).filter(|_| !self.failed.contains(&allocation));
        let Some(target) = target else { return };
        if bytes.is_empty() {
            return;
        }
        let contents = Contents { allocation, offset, bytes };
        if target.is_mappable {
            let start = target.offset.saturating_add(offset);
            let bytes = &contents.bytes;
            let written = write(&target.buffer, start, bytes)
                .and_then(|()| is_equal(&target.buffer, start, bytes))
                .map_err(|error| refusal("Map", &error));
            self.note(&contents, written);
            return;
        }
        if !self.batch.has_room_for(&contents) {
            self.copy_batch();
        }
        self.batch.push(contents);
    }

    /// Has the GPU copy the batch.
    fn copy_batch(&mut self) {
        let Batch { contents, .. } = std::mem::take(&mut self.batch);
        if contents.is_empty() {
            return;
        }
        let parts: Vec<Part<'_>> = contents
            .iter()
            .map(|it| {
                let target = &self.targets[&it.allocation];
                Part {
                    buffer: &target.buffer,
                    offset: target.offset.saturating_add(it.offset),
                    bytes: &it.bytes,
                }
            })
            .collect();
        let copied = match self.queue.get_or_insert_with(|| self.creator.copy_queue()) {
            Ok(queue) => queue.write(&parts),
            Err(error) => Err(error.clone()),
        };
        let of_error = |error: &windows_core::Error| refusal("a copy by the GPU", error);
        for (index, it) in contents.iter().enumerate() {
            if !self.failed.contains(&it.allocation) {
                self.note(it, copied.as_ref().map(|are_equal| are_equal[index]).map_err(of_error));
            }
        }
    }

    /// Takes notice of whether a buffer holds its contents.
    fn note(&mut self, contents: &Contents, written: std::result::Result<bool, String>) {
        let &Contents { allocation, offset, ref bytes } = contents;
        let end = offset.saturating_add(bytes.len() as u64);
        let reason = match written {
            Ok(true) => {
                // Later contents may replace earlier ones.
                self.done.verified_bytes += self.verified.entry(allocation).or_default().add(offset, end);
                return;
            }
            Ok(false) => {
                format!("its bytes from {offset} to {end} are not those that were written")
            }
            Err(reason) => format!("its contents cannot be uploaded: {reason}"),
        };
        self.failed.insert(allocation);
        let address = self.targets[&allocation].address;
        self.done.failures.push(Failure::new("buffer", allocation, address, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(allocation: u64, offset: u64, len: usize) -> Contents {
        Contents { allocation, offset, bytes: vec![0; len] }
    }

    /// A bitmap counts the same.
    #[test]
    fn each_byte_counts_once() {
        let (mut ranges, mut bitmap) = (Ranges::default(), [false; 40]);
        let mut random = 1_u32;
        for round in 0..2000 {
            if round % 20 == 0 {
                (ranges, bitmap) = (Ranges::default(), [false; 40]);
            }
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [start, len, ..] = random.to_be_bytes().map(usize::from);
            let (start, end) = (start % 32, start % 32 + 1 + len % 8);
            let added = bitmap[start..end].iter().filter(|is_in| !**is_in).count();
            bitmap[start..end].fill(true);
            assert_eq!(ranges.add(start as u64, end as u64), added as u64, "{start} {end}");
            let ends: Vec<_> = ranges.0.iter().flat_map(|(&start, &end)| [start, end]).collect();
            assert!(ends.is_sorted_by(|one, next| one < next), "{ranges:?}");
        }
    }

    #[test]
    fn a_batch_has_no_overlap_and_fits_in_the_staging_buffers() {
        let mut batch = Batch::default();
        let mut push = |contents: Contents| {
            let has_room = batch.has_room_for(&contents);
            if has_room {
                batch.push(contents);
            }
            has_room
        };
        assert!(push(contents(1, 10, 20)));
        // Later contents replace earlier ones, and must be copied after them.
        assert!(!push(contents(1, 29, 5)));
        assert!(push(contents(2, 29, 5)));
        assert!(push(contents(1, 30, STAGING_LEN - 26)));
        assert!(push(contents(2, 34, 1)));
        assert!(!push(contents(3, 0, 1)));
    }
}
