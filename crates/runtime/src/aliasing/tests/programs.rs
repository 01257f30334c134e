//! Small programs, each of which the tracker once judged wrongly.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::stage::{Call, KIB_4, KIB_64, Kind, Stage};
use crate::aliasing::options::AliasingTracking;
use crate::aliasing::rule::Rule;
use crate::ddi::TextureMemoryLayout;

const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
const NONE: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_NONE;
const QUEUE: u32 = 1;

fn advanced() -> Stage {
    Stage::new(AliasingTracking::ADVANCED)
}

#[test]
fn both_names_are_in_the_message_of_a_missing_barrier() {
    let stage = advanced();
    let heap = stage.heap(NONE);
    let [a, b] = ["a", "b"].map(|name| stage.place_named(&heap, 0, Kind::buffer(KIB_64), COMMON, name));
    let calls = [stage.bytes(&a, 0, KIB_64, false), stage.bytes(&b, 0, KIB_64, false)];
    let (found, _) = stage.execute(QUEUE, &calls);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, Rule::H9);
    let names =
        [&found[0].resource, &found[0].other].map(|subject| subject.clone().and_then(|subject| subject.name));
    assert_eq!(names, [Some("b".to_owned()), Some("a".to_owned())]);
}

#[test]
fn a_fence_that_is_set_back_forgets_what_it_stood_for() {
    use crate::fence::Fence;
    let stage = advanced();
    let heap = stage.heap(NONE);
    let [a, b] = [0, 0].map(|offset| stage.place(&heap, offset, Kind::buffer(KIB_64), COMMON));
    let fence = std::sync::Arc::new(Fence::new(0));
    stage.signal(1, &fence, 100);
    stage.signal(1, &fence, 1);
    assert_eq!(stage.said(1, &[stage.bytes(&a, 0, KIB_64, false)]), []);
    stage.signal(1, &fence, 2);
    stage.wait(2, &fence, 2);
    assert_eq!(stage.said(2, &[stage.bytes(&b, 0, KIB_64, true)]), []);
}

#[test]
fn a_second_barrier_does_not_undo_what_the_first_waited_for() {
    use crate::aliasing::{BarrierTarget, EnhancedBarrier, Note};
    let stage = advanced();
    let heap = stage.heap(NONE);
    let [a, b] = [0, 0].map(|offset| stage.place(&heap, offset, Kind::buffer(KIB_64), COMMON));
    let barrier = |of: &super::stage::Resource, sync_before, sync_after| EnhancedBarrier {
        target: BarrierTarget::Buffer(std::sync::Arc::clone(&of.driver)),
        sync_before,
        sync_after,
        access_before: D3D12_BARRIER_ACCESS_COMMON,
        access_after: D3D12_BARRIER_ACCESS_COMMON,
    };
    let (copy, draw) = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_SYNC_RENDER_TARGET);
    let barriers = |of: Vec<EnhancedBarrier>| Call::notes("Barrier", vec![Note::Barriers(of)]);
    let calls = [
        stage.bytes(&a, 0, KIB_64, false),
        barriers(vec![barrier(&a, copy, draw)]),
        barriers(vec![barrier(&a, draw, copy), barrier(&b, draw, copy)]),
        stage.bytes(&b, 0, KIB_64, true),
    ];
    assert_eq!(stage.said(QUEUE, &calls), []);
}

#[test]
fn what_is_gone_is_forgotten() {
    let stage = advanced();
    let heap = stage.heap(NONE);
    for _ in 0..1_000 {
        let own = stage.heap(NONE);
        let placed = stage.place(&own, 0, Kind::buffer(KIB_64), COMMON);
        let other = stage.place(&heap, 0, Kind::buffer(KIB_64), COMMON);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&placed, 0, 16, false)]), []);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&other, 0, 16, false)]), []);
    }
    let (resources, heaps) = stage.known();
    assert!(resources < 10 && heaps < 10, "{resources} resources and {heaps} heaps are known of 3 and 1");
}
