//! Uploads the recorded contents of buffers, and compares what the buffers hold with them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use heapwright_d3d12::windows_core;
use heapwright_trace::session::Action;

use super::com::{Creator, is_equal, write};
use super::copies::CopyQueue;
use super::objects::{Failure, Target, refusal};
use super::state::open;
use crate::exit::Failed;

/// Counts and failures of an upload.
#[derive(Debug, Default)]
pub(super) struct Uploaded {
    pub(super) verified_bytes: u64,
    pub(super) failures: Vec<Failure>,
}

/// Uploads the contents in the first records of a session. The file is read as a stream, so that contents may be larger
/// than the memory of this process.
pub(super) fn upload(
    path: &Path,
    record_count: usize,
    targets: &HashMap<u64, Target>,
    creator: &Creator,
) -> Result<Uploaded, Failed> {
    let mut uploaded = Uploaded::default();
    let mut failed = HashSet::new();
    // Created for the first buffer that needs it.
    let mut queue = None;
    for record in open(path)?.take(record_count) {
        let Action::Contents { allocation, offset, bytes } = record?.action else { continue };
        // A buffer without a target does not exist at the moment that is recreated.
        let target = targets.get(&allocation).filter(|_| !bytes.is_empty() && !failed.contains(&allocation));
        let Some(target) = target else { continue };
        let start = target.offset.saturating_add(offset);
        let written = if target.is_mappable {
            write(&target.buffer, start, &bytes)
                .and_then(|()| is_equal(&target.buffer, start, &bytes))
                .map_err(|error| refusal("Map", &error))
        } else {
            let copied = match queue.get_or_insert_with(|| CopyQueue::new(creator)) {
                Ok(queue) => queue.write(&target.buffer, start, &bytes),
                Err(error) => Err(windows_core::Error::clone(error)),
            };
            copied.map_err(|error| refusal("a copy by the GPU", &error))
        };
        let end = offset.saturating_add(bytes.len() as u64);
        let reason = match written {
            Ok(true) => {
                uploaded.verified_bytes += bytes.len() as u64;
                continue;
            }
            Ok(false) => format!("its bytes from {offset} to {end} are not those that were written"),
            Err(reason) => format!("its contents cannot be uploaded: {reason}"),
        };
        failed.insert(allocation);
        uploaded.failures.push(Failure::new("buffer", allocation, target.address, reason));
    }
    Ok(uploaded)
}
