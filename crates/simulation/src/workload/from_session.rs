//! The submissions of recorded sessions as workloads.
//!
//! - **Heaps** are those that submissions use; others never need to be resident. A heap exists from its creation to its
//!   destruction, and begins resident.
//! - **Submissions** are the recorded ones, on the recorded queues. The GPU works on one until the next is submitted.
//! - **Frames** are the recorded ones. Without any, each submission is a frame.
//! - **Budget.** The recorded budget of the local segment group, if the heaps exceed it at some time. Otherwise, the
//!   session shows no paging, and the budget is [`BUDGET_PERCENT`] of the peak size of the live heaps. The non-local
//!   segment group has room for all of its heaps.

use std::collections::HashMap;
use std::time::Duration;

use heapwright::ByteSize;
use heapwright_core::SegmentGroup;
use heapwright_trace::session::{Action, Counter, Heap, HeapType, Record};

use super::{BUDGET_PERCENT, FRAMES_IN_FLIGHT, Frame, HeapNumber, WorkHeap, Workload};

/// Maximum number of uses of heaps, which bounds the memory for malicious sessions.
const MAX_USES: usize = 1 << 24;

/// Maximum number of heaps, submissions, frames and changes of the budget, for the same reason.
const MAX_EVENTS: usize = 1 << 21;

/// The recorded events, in order.
enum Event {
    Create(HeapNumber),
    Destroy(HeapNumber),
    Submit { time_us: u64, queue: usize, uses: Box<[HeapNumber]> },
    Frame,
    Budget(u64),
}

/// What submissions do with heaps, collected from the records of a session.
#[derive(Default)]
pub(super) struct Recorded {
    /// All heaps, whether they are used or not.
    heaps: Vec<WorkHeap>,
    is_used: Vec<bool>,
    is_live: Vec<bool>,
    /// Number of the last submission that used each heap.
    used_by: Vec<u64>,
    /// Live heaps by id.
    live: HashMap<u64, HeapNumber>,
    sets: HashMap<u64, ResidencySet>,
    submission_count: u64,
    queues: HashMap<u64, usize>,
    events: Vec<Event>,
    use_count: usize,
    has_frames: bool,
    excess: Option<Excess>,
}

/// What a session has too much of, and the limit.
pub(super) type Excess = (&'static str, usize);

#[derive(Default)]
struct ResidencySet {
    heaps: Vec<HeapNumber>,
    /// Number of the last submission that named the set, from 1 on.
    submission: u64,
}

impl Recorded {
    pub(super) fn note(&mut self, record: Record) {
        if self.excess.is_some() {
            return;
        }
        match record.action {
            Action::CreateHeap(heap) => {
                // There are at most `MAX_EVENTS`.
                let number = HeapNumber::try_from(self.heaps.len()).unwrap_or(HeapNumber::MAX);
                self.live.insert(heap.id, number);
                self.heaps.push(work_heap(&heap));
                self.is_used.push(false);
                self.is_live.push(true);
                self.used_by.push(0);
                self.events.push(Event::Create(number));
            }
            Action::DestroyHeap { heap } => {
                if let Some(number) = self.live.remove(&heap) {
                    self.is_live[super::as_index(number)] = false;
                    self.events.push(Event::Destroy(number));
                }
            }
            Action::DefineSet { set, heaps } => {
                let numbers = heaps.iter().filter_map(|heap| self.live.get(heap).copied()).collect();
                self.sets.entry(set).or_default().heaps = numbers;
            }
            Action::Submit { queue, sets, .. } => {
                let next = self.queues.len();
                let queue = *self.queues.entry(queue).or_insert(next);
                let uses = self.uses(&sets);
                self.use_count += uses.len();
                if self.use_count > MAX_USES {
                    self.excess = Some(("uses of heaps", MAX_USES));
                }
                for &heap in &*uses {
                    self.is_used[super::as_index(heap)] = true;
                }
                self.events.push(Event::Submit { time_us: record.time_us, queue, uses });
            }
            Action::Frame => {
                self.has_frames = true;
                self.events.push(Event::Frame);
            }
            Action::Count { counter: Counter::LocalBudget, value } => self.events.push(Event::Budget(value)),
            _ => {}
        }
        if self.events.len() > MAX_EVENTS {
            self.excess = Some(("heaps, submissions, frames and changes of the budget", MAX_EVENTS));
        }
    }

    /// Returns the live heaps of the sets of a submission, each once and in order.
    fn uses(&mut self, sets: &[u64]) -> Box<[HeapNumber]> {
        self.submission_count += 1;
        let number = self.submission_count;
        let mut uses = Vec::new();
        for set in sets {
            let Some(set) = self.sets.get_mut(set) else { continue };
            if std::mem::replace(&mut set.submission, number) == number {
                continue;
            }
            for &heap in &set.heaps {
                let index = super::as_index(heap);
                if self.is_live[index] && std::mem::replace(&mut self.used_by[index], number) != number {
                    uses.push(heap);
                }
            }
        }
        uses.sort_unstable();
        uses.into()
    }

    /// Returns the workload, or nothing if no submission uses a heap.
    pub(super) fn into_workload(self, name: &str) -> Result<Option<Workload>, Excess> {
        match self.excess {
            Some(excess) => return Err(excess),
            None if self.use_count == 0 => return Ok(None),
            None => {}
        }
        let mut workload = Workload::new(name, FRAMES_IN_FLIGHT, self.queues.len());
        // Numbers without the unused heaps.
        let mut numbers: Vec<Option<HeapNumber>> = Vec::with_capacity(self.heaps.len());
        for (heap, is_used) in self.heaps.iter().zip(&self.is_used) {
            numbers.push(is_used.then(|| workload.add_heap(*heap)));
        }
        let number = |heap: HeapNumber| numbers[super::as_index(heap)];
        let times: Vec<u64> = self
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Submit { time_us, .. } => Some(*time_us),
                _ => None,
            })
            .collect();
        let mut frame = empty_frame(0);
        let mut budget = None;
        let mut budgets = Vec::new();
        for event in &self.events {
            match event {
                Event::Create(heap) => frame.born.extend(number(*heap)),
                Event::Destroy(heap) => frame.died.extend(number(*heap)),
                Event::Budget(value) => budget = Some(*value),
                Event::Submit { time_us, queue, uses } => {
                    let next = times.get(workload.submissions.len() + 1).unwrap_or(time_us);
                    let gpu = Duration::from_micros(next - time_us);
                    workload.submit(*queue, gpu, uses.iter().filter_map(|&heap| number(heap)));
                }
                Event::Frame => {}
            }
            let ends = match event {
                Event::Frame => true,
                Event::Submit { .. } => !self.has_frames,
                _ => false,
            };
            if ends {
                let begin = workload.submissions.len();
                frame.submissions.end = begin;
                workload.frames.push(std::mem::replace(&mut frame, empty_frame(begin)));
                budgets.push(budget);
            }
        }
        frame.submissions.end = workload.submissions.len();
        workload.frames.push(frame);
        budgets.push(budget);
        set_budgets(&mut workload, &budgets);
        Ok(Some(workload))
    }
}

fn empty_frame(begin: usize) -> Frame {
    Frame { budget: [ByteSize::ZERO; 2], born: Vec::new(), submissions: begin..begin, died: Vec::new() }
}

/// What a heap takes of video memory is a multiple of 64 KiB, also if it is that of a small committed resource.
const GRANULARITY: u64 = 64 << 10;

fn work_heap(heap: &Heap) -> WorkHeap {
    WorkHeap {
        size: ByteSize::new(heap.size.checked_next_multiple_of(GRANULARITY).unwrap_or(heap.size)),
        group: match heap.heap_type {
            HeapType::Upload | HeapType::Readback => SegmentGroup::NonLocal,
            HeapType::Default | HeapType::GpuUpload | HeapType::Custom | HeapType::Unknown => {
                SegmentGroup::Local
            }
        },
        is_resident: true,
    }
}

/// Sets the budgets from those that were recorded for the local segment group.
fn set_budgets(workload: &mut Workload, recorded: &[Option<u64>]) {
    let mut live = [0_u128; 2];
    let mut peak = [0_u128; 2];
    let mut exceeds = false;
    for (frame, budget) in workload.frames.iter().zip(recorded) {
        let of_group = |heaps: &[HeapNumber], group: SegmentGroup| {
            let sizes = heaps.iter().map(|&heap| workload.heap(heap)).filter(|heap| heap.group == group);
            sizes.map(|heap| u128::from(heap.size.get())).sum::<u128>()
        };
        for group in [SegmentGroup::Local, SegmentGroup::NonLocal] {
            live[group.index()] += of_group(&frame.born, group);
            peak[group.index()] = peak[group.index()].max(live[group.index()]);
        }
        exceeds |= budget.is_some_and(|budget| live[SegmentGroup::Local.index()] > u128::from(budget));
        for group in [SegmentGroup::Local, SegmentGroup::NonLocal] {
            live[group.index()] -= of_group(&frame.died, group);
        }
    }
    let size = |bytes: u128| ByteSize::new(u64::try_from(bytes).unwrap_or(u64::MAX));
    let share = size(peak[SegmentGroup::Local.index()] * u128::from(BUDGET_PERCENT) / 100);
    let non_local = size(peak[SegmentGroup::NonLocal.index()]);
    for (frame, budget) in workload.frames.iter_mut().zip(recorded) {
        let local = budget.filter(|_| exceeds).map_or(share, ByteSize::new);
        frame.budget = [local, non_local];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(id: u64, mib: u64) -> Action {
        let heap_type = HeapType::Default;
        Action::CreateHeap(Heap { id, size: mib << 20, alignment: 65536, heap_type, flags: 0, name: None })
    }

    fn submit(set: u64) -> Action {
        Action::Submit { queue: 7, fence_value: 1, sets: vec![set] }
    }

    fn define(set: u64, heaps: &[u64]) -> Action {
        Action::DefineSet { set, heaps: heaps.to_vec() }
    }

    fn workload(actions: Vec<Action>) -> Option<Workload> {
        let mut recorded = Recorded::default();
        let records = (0..).map(|step| step * 100).zip(actions);
        records.for_each(|(time_us, action)| recorded.note(Record { time_us, action }));
        recorded.into_workload("s").expect("not too much")
    }

    /// The adapter and the planner count the same bytes for a committed resource of 4 KiB.
    #[test]
    fn small_committed_resources_can_be_simulated() {
        let small =
            Heap { id: 1, size: 4096, alignment: 4096, heap_type: HeapType::Default, flags: 0, name: None };
        let actions = vec![Action::CreateHeap(small), heap(2, 1), define(1, &[1, 2]), submit(1), submit(1)];
        let workload = workload(actions).expect("a workload");
        let policy = heapwright_core::residency::policy::PolicyKind::Lru;
        crate::simulate(&workload, &|| policy.create(), ByteSize::ZERO, &mut |_| ()).expect("simulated");
    }

    #[test]
    fn submissions_use_the_heaps_of_their_sets() {
        let actions = vec![
            heap(5, 10),
            heap(6, 20),
            heap(9, 40),
            define(1, &[5, 6]),
            submit(1),
            Action::DestroyHeap { heap: 6 },
            // Set 1 still has the heap that is gone.
            submit(1),
        ];
        let made = workload(actions).unwrap();
        assert_eq!(made.heaps.len(), 2, "heap 9 is not used");
        assert_eq!((made.uses(0), made.uses(1)), (&[0, 1][..], &[0][..]));
        assert_eq!(made.submissions[0].gpu, Duration::from_micros(200));
        assert_eq!(made.frames.len(), 3, "a frame for each submission, and the rest");
        assert_eq!((&made.frames[0].born[..], &made.frames[1].died[..]), (&[0, 1][..], &[1][..]));
        assert_eq!(made.frames[0].budget[0], ByteSize::from_mib(18));
    }

    #[test]
    fn a_set_that_a_submission_names_often_is_used_once() {
        let mut actions: Vec<_> = (0..65_536).map(|id| heap(id, 1)).collect();
        actions.push(define(1, &(0..65_536).collect::<Vec<_>>()));
        actions.push(define(2, &[3, 0, 3]));
        let submit_all = |sets| Action::Submit { queue: 7, fence_value: 1, sets };
        actions.extend([submit_all([[2, 1]; 32_768].concat()), submit_all(vec![2, 2])]);
        let made = workload(actions).unwrap();
        assert_eq!(made.uses(0), (0..65_536).collect::<Vec<_>>());
        assert_eq!(made.uses(1), [0, 3]);
    }

    #[test]
    fn frames_and_budgets_are_as_recorded() {
        let budget = |mib: u64| Action::Count { counter: Counter::LocalBudget, value: mib << 20 };
        let actions = vec![
            budget(12),
            heap(1, 8),
            heap(2, 8),
            define(1, &[1]),
            define(2, &[2]),
            submit(1),
            submit(2),
            Action::Frame,
            budget(9),
            submit(1),
            Action::Frame,
        ];
        let made = workload(actions).unwrap();
        let submissions: Vec<_> = made.frames.iter().map(|frame| frame.submissions.clone()).collect();
        assert_eq!(submissions, [0..2, 2..3, 3..3]);
        let budgets: Vec<_> = made.frames.iter().map(|frame| frame.budget[0]).collect();
        assert_eq!(budgets, [12, 9, 9].map(ByteSize::from_mib));
    }

    #[test]
    fn a_session_without_submissions_has_no_workload() {
        assert!(workload(vec![heap(1, 8)]).is_none());
    }
}
