//! Compares retirement by fence values in `Ring` and `Linear` with a list of live suballocations and their
//! fence values.

use std::fmt::Debug;

use crate::shadowed::{STEPS, alignment, config};
use heapwright_core::suballoc::{
    FenceOrderError, Linear, RangeUse, Retired, Ring, Suballocation, Suballocator,
};
use heapwright_core::{Alignment, ByteSize, FenceValue};
use proptest::prelude::*;

/// The methods of both types that the trait does not have.
trait Fenced: Suballocator {
    fn submit(&mut self, fence: FenceValue) -> Result<(), FenceOrderError>;
    fn retire(&mut self, completed: FenceValue) -> Retired;
    fn oldest_fence(&self) -> Option<FenceValue>;
}

macro_rules! fenced {
    ($type:ty) => {
        impl Fenced for $type {
            fn submit(&mut self, fence: FenceValue) -> Result<(), FenceOrderError> {
                self.submit(fence)
            }

            fn retire(&mut self, completed: FenceValue) -> Retired {
                self.retire(completed)
            }

            fn oldest_fence(&self) -> Option<FenceValue> {
                self.oldest_fence()
            }
        }
    };
}
fenced!(Ring);
fenced!(Linear);

#[derive(Clone, Debug)]
enum Step {
    Allocate {
        size: u64,
        alignment_log2: u32,
    },
    Free(prop::sample::Index),
    /// Submits this much above or below the last value.
    Submit(i64),
    /// Retires up to this much above or below the last submitted value.
    Retire(i64),
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (1_u64..300, 0_u32..6).prop_map(|(size, alignment_log2)| Step::Allocate { size, alignment_log2 }),
        4 => any::<prop::sample::Index>().prop_map(Step::Free),
        5 => (-1_i64..4).prop_map(Step::Submit),
        3 => (-6_i64..2).prop_map(Step::Retire),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..STEPS)
}

/// The live suballocations in allocation order, with the fence values of those submitted.
struct Model<A> {
    heap: A,
    live: Vec<(Suballocation, Option<u64>)>,
    latest: Option<u64>,
}

impl<A: Fenced> Model<A> {
    fn new(heap: A) -> Self {
        Self { heap, live: Vec::new(), latest: None }
    }

    /// Allocates, retiring as much as needed.
    fn allocate(&mut self, size: u64, at: Alignment) {
        let answer = self.heap.allocate(ByteSize::new(size), at);
        self.live.extend(answer.ok().map(|suballocation| (suballocation, None)));
    }

    fn free(&mut self, at: usize) {
        let (suballocation, _) = self.live.remove(at);
        assert_eq!(self.heap.free(suballocation.id), Ok(suballocation.range));
    }

    fn submit(&mut self, fence: u64) {
        let answer = self.heap.submit(FenceValue::new(fence));
        if let Some(latest) = self.latest
            && fence < latest
        {
            let error = FenceOrderError { fence: FenceValue::new(fence), latest: FenceValue::new(latest) };
            assert_eq!(answer, Err(error));
            return;
        }
        assert_eq!(answer, Ok(()));
        self.latest = Some(fence);
        for (_, submitted) in &mut self.live {
            submitted.get_or_insert(fence);
        }
    }

    fn retire(&mut self, completed: u64) {
        let is_done = |fence: &Option<u64>| fence.is_some_and(|fence| fence <= completed);
        let (done, live): (Vec<_>, Vec<_>) = self.live.iter().partition(|(_, fence)| is_done(fence));
        let expected = Retired {
            suballocations: u64::try_from(done.len()).unwrap(),
            bytes: ByteSize::new(done.iter().map(|(done, _)| done.range.size().get()).sum()),
        };
        self.live = live;
        assert_eq!(self.heap.retire(FenceValue::new(completed)), expected);
        for (done, _) in done {
            assert!(self.heap.free(done.id).is_err(), "it was retired, and is live");
        }
    }

    fn clear(&mut self) {
        self.heap.clear();
        self.live.clear();
        self.latest = None;
    }

    fn check(&self) {
        self.heap.audit().unwrap();
        let used = self.heap.ranges().filter_map(|range| match range {
            RangeUse::Used(suballocation) => Some(suballocation),
            _ => None,
        });
        let mut expected: Vec<_> = self.live.iter().map(|&(live, _)| live).collect();
        expected.sort_by_key(|live| live.range.start());
        assert_eq!(used.collect::<Vec<_>>(), expected);
        let oldest = self.live.iter().find_map(|&(_, fence)| fence);
        assert_eq!(self.heap.oldest_fence(), oldest.map(FenceValue::new));
    }
}

fn run(heap: impl Fenced, steps: &[Step]) {
    let mut model = Model::new(heap);
    for step in steps {
        let from_latest = |by: i64| model.latest.unwrap_or(0).saturating_add_signed(by);
        match *step {
            Step::Allocate { size, alignment_log2 } => model.allocate(size, alignment(alignment_log2)),
            Step::Free(at) if !model.live.is_empty() => model.free(at.index(model.live.len())),
            Step::Free(_) => {}
            Step::Submit(by) => model.submit(from_latest(by)),
            Step::Retire(by) => model.retire(from_latest(by)),
            Step::Clear => model.clear(),
        }
        model.check();
    }
    model.submit(model.latest.unwrap_or(0));
    model.retire(u64::MAX);
    model.check();
    assert!(model.live.is_empty());
    assert_eq!(model.heap.largest_free_range(), model.heap.capacity());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_ring_agrees_with_a_list(capacity in 1_u64..3000, steps in steps()) {
        run(Ring::new(ByteSize::new(capacity)).unwrap(), &steps);
    }

    #[test]
    fn a_stack_agrees_with_a_list(capacity in 1_u64..3000, steps in steps()) {
        run(Linear::new(ByteSize::new(capacity)).unwrap(), &steps);
    }

    /// A renderer with a number of frames in flight, and a maximum number of bytes per frame.
    #[test]
    fn a_ring_for_the_frames_in_flight_never_refuses(
        frames in prop::collection::vec(prop::collection::vec(1_u64..=256, 0..16), 1..STEPS / 4),
        in_flight in 1_u64..4,
    ) {
        // One frame is recorded while the others are in flight, and the end of the ring may be skipped.
        let frame = 16 * 256;
        let mut ring = Ring::new(ByteSize::new((in_flight + 1) * frame + 256)).unwrap();
        for (number, uploads) in (1_u64..).zip(frames) {
            ring.retire(FenceValue::new(number.saturating_sub(in_flight + 1)));
            for size in uploads {
                ring.allocate(ByteSize::new(size), alignment(8)).unwrap();
            }
            ring.submit(FenceValue::new(number)).unwrap();
            ring.audit().unwrap();
        }
    }
}

fn ring() -> Ring {
    Ring::new(ByteSize::from_kib(1)).unwrap()
}

fn put(ring: &mut Ring, size: u64) -> Suballocation {
    ring.allocate(ByteSize::new(size), Alignment::ONE).unwrap()
}

#[test]
fn what_was_not_submitted_stays() {
    let mut ring = ring();
    put(&mut ring, 100);
    ring.submit(FenceValue::new(1)).unwrap();
    let kept = put(&mut ring, 50);
    let retired = ring.retire(FenceValue::DEVICE_REMOVED);
    assert_eq!(retired, Retired { suballocations: 1, bytes: ByteSize::new(100) });
    assert_eq!(ring.range_of(kept.id), Ok(kept.range));
    assert_eq!(ring.oldest_fence(), None);
}

#[test]
fn a_batch_goes_on_without_what_was_freed() {
    let mut ring = ring();
    let freed = put(&mut ring, 100);
    put(&mut ring, 50);
    ring.submit(FenceValue::new(1)).unwrap();
    ring.free(freed.id).unwrap();
    assert_eq!(ring.oldest_fence(), Some(FenceValue::new(1)));
    assert_eq!(ring.retire(FenceValue::new(1)), Retired { suballocations: 1, bytes: ByteSize::new(50) });
}

#[test]
fn a_batch_of_which_all_was_freed_is_waited_for_by_nobody() {
    let mut ring = ring();
    let all: Vec<_> = (0..3).map(|_| put(&mut ring, 10)).collect();
    for (number, _) in (1..).zip(&all) {
        put(&mut ring, 10);
        ring.submit(FenceValue::new(number)).unwrap();
    }
    for suballocation in &all {
        ring.free(suballocation.id).unwrap();
    }
    assert_eq!(ring.oldest_fence(), Some(FenceValue::new(1)));
    let last_of_first = ring.ranges().find_map(|range| match range {
        RangeUse::Used(suballocation) => Some(suballocation),
        _ => None,
    });
    ring.free(last_of_first.unwrap().id).unwrap();
    assert_eq!(ring.oldest_fence(), Some(FenceValue::new(2)));
}

#[test]
fn fence_values_do_not_go_backwards_until_it_is_cleared() {
    let mut ring = ring();
    ring.submit(FenceValue::new(5)).unwrap();
    ring.submit(FenceValue::new(5)).unwrap();
    put(&mut ring, 10);
    let refused = ring.submit(FenceValue::new(4)).unwrap_err();
    assert_eq!((refused.fence, refused.latest), (FenceValue::new(4), FenceValue::new(5)));
    // The submission was refused, so it is still in no batch.
    assert_eq!(ring.retire(FenceValue::new(5)), Retired::default());
    ring.submit(FenceValue::new(5)).unwrap();
    assert_eq!(ring.retire(FenceValue::new(5)).suballocations, 1);
    // It is refused even if nothing is live.
    ring.submit(FenceValue::new(4)).unwrap_err();
    ring.clear();
    ring.submit(FenceValue::new(1)).unwrap();
}

#[test]
fn two_submissions_under_one_value_are_one_batch() {
    let mut ring = ring();
    for _ in 0..2 {
        put(&mut ring, 10);
        ring.submit(FenceValue::new(3)).unwrap();
    }
    assert_eq!(ring.retire(FenceValue::new(2)), Retired::default());
    assert_eq!(ring.retire(FenceValue::new(3)).suballocations, 2);
}

#[test]
fn clear_takes_back_what_is_in_flight() {
    let mut ring = ring();
    put(&mut ring, 10);
    ring.submit(FenceValue::new(3)).unwrap();
    ring.clear();
    assert_eq!(ring.retire(FenceValue::new(3)), Retired::default());
    assert!(ring.is_empty());
}

#[test]
fn a_lower_value_than_before_takes_nothing_back() {
    let mut ring = ring();
    for number in 1..4 {
        put(&mut ring, 10);
        ring.submit(FenceValue::new(number)).unwrap();
    }
    assert_eq!(ring.retire(FenceValue::new(2)).suballocations, 2);
    assert_eq!(ring.retire(FenceValue::new(1)), Retired::default());
    assert_eq!(ring.allocation_count(), 1);
}
