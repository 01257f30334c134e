//! Dispatches that are repeated: they cost what has changed, and have the same effects as if all views were visited.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};

use heapwright_d3d12::*;
use proptest::prelude::*;

use super::stage::{Call, KIB_64, Kind, Resource, Stage};
use crate::aliasing::options::AliasingTracking;
use crate::aliasing::{Note, ResourcePart, Skipped, UnorderedViews, ViewedPart};

const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;

/// A descriptor heap: its unordered access views, and those that changed since they were read.
#[derive(Default)]
struct Views(Mutex<Descriptors>);

#[derive(Default)]
struct Descriptors {
    views: BTreeMap<u32, ViewedPart>,
    changed: BTreeSet<u32>,
}

impl Views {
    fn set(&self, index: u32, buffer: &Resource, start: u64, size: u64) {
        let mut descriptors = self.0.lock().expect("no panics");
        let part = ResourcePart::Bytes(start, size);
        descriptors.views.insert(index, (Arc::downgrade(&buffer.driver), part));
        descriptors.changed.insert(index);
    }

    /// Returns a heap with the same views, which was never read.
    fn copy(&self) -> Arc<Self> {
        let views = self.0.lock().expect("no panics").views.clone();
        Arc::new(Self(Mutex::new(Descriptors { views, changed: BTreeSet::new() })))
    }
}

impl UnorderedViews for Views {
    fn changed_views(&self, all: bool) -> Vec<(u32, Vec<ViewedPart>)> {
        let mut descriptors = self.0.lock().expect("no panics");
        let changed = std::mem::take(&mut descriptors.changed);
        let indices = if all { descriptors.views.keys().copied().collect() } else { changed };
        indices.into_iter().map(|index| (index, vec![descriptors.views[&index].clone()])).collect()
    }
}

fn dispatch(views: &Arc<Views>) -> Call {
    let descriptors: Weak<dyn UnorderedViews> =
        Arc::downgrade(&(Arc::clone(views) as Arc<dyn UnorderedViews>));
    let skipped =
        Skipped { draws: false, rendered: vec![], addressed: vec![], descriptors: Some(descriptors) };
    Call::notes("Dispatch", vec![Note::Skipped(skipped)])
}

/// As in vkd3d-proton's test_fence_ping_pong_deadlock_stress.
#[test]
fn a_repeated_dispatch_visits_what_changed() {
    const BUFFERS: u32 = 256;
    const VIEWS: u32 = 256;
    let stage = Stage::new(AliasingTracking::ADVANCED);
    let buffers: Vec<Resource> = (0..BUFFERS).map(|_| stage.commit(Kind::buffer(2 << 20), COMMON)).collect();
    let views = Arc::new(Views::default());
    for (index, buffer) in (0..).zip(&buffers) {
        for view in 0..VIEWS {
            views.set(index * VIEWS + view, buffer, 256 * u64::from(view), 256);
        }
    }
    let dispatch = dispatch(&views);
    let visited = |calls: &[Call]| {
        let before = stage.visits();
        assert_eq!(stage.said(1, calls), []);
        stage.visits() - before
    };
    assert_eq!(visited(std::slice::from_ref(&dispatch)), u64::from(BUFFERS * VIEWS));
    for _ in 0..2048 {
        assert_eq!(visited(std::slice::from_ref(&dispatch)), 0);
    }
    assert_eq!(visited(&vec![dispatch.clone(); 2048]), 0, "in one submission");
    let read = stage.bytes(&buffers[7], 0, 4, true);
    assert_eq!(visited(&[read, dispatch.clone()]), u64::from(VIEWS), "one buffer was used");
    views.set(3, &buffers[9], 0, 4);
    assert_eq!(visited(std::slice::from_ref(&dispatch)), u64::from(VIEWS + 1), "one buffer has a new view");
    assert_eq!(visited(&[dispatch]), 0);
}

#[derive(Debug, Clone)]
enum Step {
    Dispatch(usize),
    /// Sets a descriptor of a heap.
    View {
        heap: usize,
        index: u32,
        buffer: usize,
        start: u64,
        size: u64,
    },
    /// Releases a heap and creates one with the same views.
    Release(usize),
    Access {
        buffer: usize,
        start: u64,
        size: u64,
        is_read: bool,
    },
    Barrier(usize, usize),
    /// Ends the submission.
    Submit,
}

const HEAPS: usize = 2;
/// Placed buffers of 64 to 192 KiB: offset and size in units of 64 KiB.
const BUFFERS: [(u64, u64); 6] = [(0, 3), (1, 1), (1, 2), (2, 1), (0, 1), (4, 1)];

fn step() -> impl Strategy<Value = Step> {
    let part = || {
        (
            0_usize..BUFFERS.len(),
            prop_oneof![Just(0), 0_u64..KIB_64],
            prop_oneof![1_u64..KIB_64, Just(u64::MAX)],
        )
    };
    prop_oneof![
        6 => (0..HEAPS).prop_map(Step::Dispatch),
        3 => (0..HEAPS, 0_u32..4, part())
            .prop_map(|(heap, index, (buffer, start, size))| Step::View { heap, index, buffer, start, size }),
        1 => (0..HEAPS).prop_map(Step::Release),
        4 => (part(), any::<bool>()).prop_map(|((buffer, start, size), is_read)| {
            Step::Access { buffer, start, size: size.min(KIB_64 - start), is_read }
        }),
        3 => (0..BUFFERS.len(), 0..BUFFERS.len()).prop_map(|(before, after)| Step::Barrier(before, after)),
        2 => Just(Step::Submit),
    ]
}

/// What a program finds: violations and contents, after each submission.
fn run(steps: &[Step], visits_all: bool) -> Vec<String> {
    let stage = Stage::new(AliasingTracking { scramble_seed: None, ..AliasingTracking::ADVANCED });
    let heap = stage.heap(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
    let buffers =
        BUFFERS.map(|(at, size)| stage.place(&heap, at * KIB_64, Kind::buffer(size * KIB_64), COMMON));
    let mut heaps = [(); HEAPS].map(|()| Arc::new(Views::default()));
    // Lists do not keep descriptor heaps alive.
    let mut kept = Vec::new();
    let (mut calls, mut found) = (Vec::new(), Vec::new());
    for step in steps.iter().chain([&Step::Submit]) {
        match *step {
            Step::Dispatch(heap) => {
                let used = if visits_all { heaps[heap].copy() } else { Arc::clone(&heaps[heap]) };
                calls.push(dispatch(&used));
                kept.push(used);
            }
            Step::View { heap, index, buffer, start, size } => {
                // D3D12 forbids changes while a submission may use descriptors.
                if kept.is_empty() {
                    heaps[heap].set(index, &buffers[buffer], start, size);
                }
            }
            Step::Release(heap) => heaps[heap] = heaps[heap].copy(),
            Step::Access { buffer, start, size, is_read } => {
                calls.push(stage.bytes(&buffers[buffer], start, size, is_read));
            }
            Step::Barrier(before, after) => {
                calls.push(Call::alias(Some(&buffers[before]), Some(&buffers[after])));
            }
            Step::Submit => {
                let said = stage.said(1, &calls);
                let contents = buffers.iter().map(|buffer| {
                    (0..)
                        .take((buffer.kind.allocation().0 / KIB_64) as usize)
                        .map(|unit| stage.contents(buffer, unit))
                        .collect::<Vec<_>>()
                });
                found.push(format!("{said:?} {:?}", contents.collect::<Vec<_>>()));
                calls.clear();
                kept.clear();
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_not_visited_has_the_same_effect(steps in proptest::collection::vec(step(), 0..60)) {
        prop_assert_eq!(run(&steps, false), run(&steps, true));
    }
}
