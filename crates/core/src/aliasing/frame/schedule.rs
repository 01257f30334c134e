//! Which passes are executed together, and where queues wait for each other.

use std::collections::BTreeSet;

use super::{Frame, PassId, QueueId};

/// Passes of a queue that one `ExecuteCommandLists` executes, in one or several command lists.
///
/// Submissions are in an order in which they can be passed to the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The queue.
    pub queue: QueueId,
    /// The passes, in their order.
    pub passes: Vec<PassId>,
    /// Submissions of other queues, by their index, for which the queue waits first.
    pub after: Vec<usize>,
    /// Other queues that must have finished the frame before; the queue waits for them first.
    pub after_previous_frame: Vec<QueueId>,
}

/// Divides the passes of a frame. A queue waits only in front of a submission, and signals only behind one.
pub(super) fn submissions(frame: &Frame, frame_fences: &[(QueueId, QueueId)]) -> Vec<Submission> {
    let queue_of = |pass: PassId| frame.passes[pass.0].queue;
    let awaited: BTreeSet<PassId> = (frame.passes.iter())
        .flat_map(|pass| pass.after.iter().filter(|&&before| queue_of(before) != pass.queue))
        .copied()
        .collect();
    let mut submissions: Vec<Submission> = Vec::new();
    let mut submission_of: Vec<usize> = Vec::with_capacity(frame.passes.len());
    // The submission of each queue that takes further passes.
    let mut open: Vec<Option<usize>> = vec![None; frame.queues.len()];
    let mut has_begun = vec![false; frame.queues.len()];
    for (number, pass) in frame.passes.iter().enumerate() {
        let (id, queue) = (PassId::new(number), pass.queue.0);
        let waits: BTreeSet<usize> = (pass.after.iter())
            .filter(|&&before| queue_of(before) != pass.queue)
            .map(|before| submission_of[before.0])
            .collect();
        let submission = match open[queue].filter(|_| waits.is_empty()) {
            Some(submission) => submission,
            None => {
                let is_first = !std::mem::replace(&mut has_begun[queue], true);
                let fences = frame_fences.iter().filter(|(_, after)| is_first && *after == pass.queue);
                submissions.push(Submission {
                    queue: pass.queue,
                    passes: Vec::new(),
                    after: waits.into_iter().collect(),
                    after_previous_frame: fences.map(|&(before, _)| before).collect(),
                });
                submissions.len() - 1
            }
        };
        submissions[submission].passes.push(id);
        submission_of.push(submission);
        open[queue] = Some(submission).filter(|_| !awaited.contains(&id));
    }
    submissions
}
