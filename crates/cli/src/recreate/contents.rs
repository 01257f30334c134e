//! Uploads the recorded contents of buffers, and compares what the buffers hold with them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use heapwright_d3d12::windows_core::{self, Result};
use heapwright_trace::session::{Action, MAX_CONTENTS_LEN};

use super::com::{Creator, is_equal, write};
use super::copies::{CopyQueue, Part, STAGING_LEN};
use super::objects::{Failure, Target, refusal};
use super::state::{NoState, open};

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
) -> std::result::Result<Uploaded, NoState> {
    let mut upload = Upload {
        targets,
        creator,
        queue: None,
        batch: Batch::default(),
        failed: HashSet::new(),
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
    done: Uploaded,
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
        let len = bytes.len() as u64;
        let reason = match written {
            Ok(true) => {
                self.done.verified_bytes += len;
                return;
            }
            Ok(false) => {
                let end = offset.saturating_add(len);
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
