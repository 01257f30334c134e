//! Small programs that an earlier version of the tracker judged wrongly.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::stage::{Call, Heap, KIB_4, KIB_64, Kind, Stage};
use crate::aliasing::options::AliasingTracking;
use crate::aliasing::rule::Rule;
use crate::aliasing::{EnhancedBarrier, Note, RenderedView, ResourcePart, Skipped, Subresources};
use crate::ddi::{TextureMemoryLayout, TextureUsage};
use crate::drivers::command::Command;
use crate::drivers::texels::TexelRegion;

const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
const NONE: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_NONE;
const QUEUE: u32 = 1;

fn advanced() -> Stage {
    Stage::new(AliasingTracking::ADVANCED)
}

/// Returns a stage with a heap.
fn with_heap(flags: D3D12_HEAP_FLAGS) -> (Stage, Heap) {
    let stage = advanced();
    let heap = stage.heap(flags);
    (stage, heap)
}

/// Returns a texture of one slice and one mip level.
fn used(layout: TextureMemoryLayout, side: u32, usage: TextureUsage, hidden: u64) -> Kind {
    Kind::Texture { layout, side, mips: 1, slices: 1, usage, hidden }
}

fn target() -> TextureUsage {
    TextureUsage { render_target: true, ..TextureUsage::default() }
}

fn cross_adapter() -> TextureUsage {
    TextureUsage { cross_adapter: true, ..TextureUsage::default() }
}

fn simultaneous() -> TextureUsage {
    TextureUsage { simultaneous_access: true, ..TextureUsage::default() }
}

#[test]
fn a_missing_barrier_message_names_both_resources() {
    let (stage, heap) = with_heap(NONE);
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
fn a_remapped_tile_does_not_hide_its_neighbours() {
    let (stage, heap) = with_heap(NONE);
    let reserved = stage.reserve(Kind::buffer(4 * KIB_64), COMMON);
    stage.map(&reserved, 0, 4, Some((&heap, 0)));
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&reserved, 0, 4 * KIB_64, false)]), []);
    stage.map(&reserved, 3, 1, None);
    let texture = Kind::texture(TextureMemoryLayout::Unknown, 256, 1);
    let texture = stage.place(&heap, 0, texture, COMMON);
    let clear = stage.all_texels(&texture, 0, false);
    assert_eq!(stage.said(QUEUE, &[clear]), []);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&reserved, 0, 16, true)]), [(Rule::I2, Some(1), Some(2))]);
}

#[test]
fn hidden_memory_also_belongs_to_resources_not_used_recently() {
    let (stage, heap) = with_heap(D3D12_HEAP_FLAG_SHARED);
    let layout = TextureMemoryLayout::UndefinedSwizzle64Kib;
    let kind = used(layout, 256, simultaneous(), 1);
    let (one, twin) = (stage.place(&heap, 0, kind, COMMON), stage.place(&heap, 0, kind, COMMON));
    let buffer = stage.place(&heap, 4 * KIB_64, Kind::buffer(KIB_64), COMMON);
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&one, 0, false)]), []);
    // The twin takes over the first tile and the hidden memory; the second tile remains with the first texture.
    assert_eq!(stage.said(QUEUE, &[stage.tile_texels(&twin, 0, 0, true)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, 16, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.tile_texels(&one, 0, 1, true)]), [(Rule::I2, Some(1), Some(3))]);
}

#[test]
fn a_short_buffer_hands_on_no_bytes_beyond_its_end() {
    let (stage, heap) = with_heap(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
    let short = stage.place(&heap, 0, Kind::buffer(100), COMMON);
    let long = stage.place(&heap, 0, Kind::buffer(KIB_64), COMMON);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&short, 0, 100, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&long, 0, 100, true)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&long, 100, 1, true)]), [(Rule::I2, Some(2), None)]);
}

#[test]
fn earlier_losses_do_not_affect_inherited_contents() {
    let (stage, heap) = with_heap(NONE);
    let small = Kind::texture(TextureMemoryLayout::Unknown, 32, 1);
    for (small_at, tight_at) in [(0, KIB_4), (KIB_4, 0)] {
        let small = stage.place(&heap, small_at, small, COMMON);
        let tight = stage.place(&heap, tight_at, Kind::Buffer { width: KIB_4, tight: true }, COMMON);
        let buffer = stage.place(&heap, 0, Kind::buffer(KIB_64), COMMON);
        assert_eq!(stage.said(QUEUE, &[stage.all_texels(&small, 0, false)]), []);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&tight, 0, KIB_4, false)]), []);
        let (found, ranges) = overwritten(&stage, stage.bytes(&buffer, tight_at, KIB_4, true));
        assert_eq!(found, []);
        let is_apart = |&(start, size): &(u64, u64)| start + size <= tight_at || tight_at + KIB_4 <= start;
        assert!(ranges.iter().all(is_apart), "{ranges:?} contains the bytes inherited at {tight_at}");
        let is_lost = |&(start, size): &(u64, u64)| start <= small_at && small_at + KIB_4 <= start + size;
        assert!(ranges.iter().any(is_lost), "{ranges:?} lacks the bytes of the texture");
    }
}

/// Returns the broken rules, and offsets and sizes of the bytes that are overwritten because they are undefined.
fn overwritten(stage: &Stage, call: Call) -> (Vec<Rule>, Vec<(u64, u64)>) {
    let (found, commands) = stage.execute(QUEUE, &[call]);
    let ranges = commands.iter().filter_map(|command| match command {
        Command::Scramble { ranges, .. } => Some(ranges.to_vec()),
        _ => None,
    });
    (found.iter().map(|found| found.rule).collect(), ranges.flatten().collect())
}

#[test]
fn undefined_bytes_are_overwritten_unless_a_write_covers_them() {
    let texture = Kind::texture(TextureMemoryLayout::Unknown, 128, 1);
    let part = TexelRegion { start: [0; 3], size: [64, 64, 1] };
    let all = TexelRegion { start: [0; 3], size: [128, 128, 1] };
    for (region, is_read, broken, expected) in [
        (all, true, vec![Rule::I2], vec![(0, KIB_64)]),
        (part, true, vec![Rule::I2], vec![(0, KIB_64)]),
        (part, false, vec![], vec![(0, KIB_64)]),
        (all, false, vec![], vec![]),
    ] {
        let (stage, heap) = with_heap(NONE);
        let buffer = stage.place(&heap, 0, Kind::buffer(KIB_64), COMMON);
        let texture = stage.place(&heap, 0, texture, COMMON);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, KIB_64, false)]), []);
        let access = stage.texels(&texture, 0, region, is_read);
        assert_eq!(overwritten(&stage, access), (broken, expected), "{region:?}, {is_read}");
    }
}

/// Packed mips are one unit.
#[test]
fn packed_mips_are_inherited_if_all_of_them_are_in_common() {
    let (layout, usage) = (TextureMemoryLayout::UndefinedSwizzle64Kib, TextureUsage::default());
    let kind = Kind::Texture { layout, side: 64, mips: 2, slices: 1, usage, hidden: 0 };
    for (in_common, expected) in [
        (vec![0, 1], vec![]),
        (vec![0], vec![(Rule::I2, Some(2), Some(1))]),
        (vec![1], vec![(Rule::I2, Some(2), Some(1))]),
    ] {
        let (stage, heap) = with_heap(NONE);
        let [one, twin] = [COMMON; 2].map(|state| stage.place(&heap, 0, kind, state));
        let to_common = Note::Transition {
            resource: std::sync::Arc::clone(&one.driver),
            subresources: Subresources::Some(in_common),
            after: COMMON,
        };
        let [first, second] = [0, 1].map(|mip| stage.all_texels(&one, mip, false));
        let calls = [first, second, Call::notes("ResourceBarrier", vec![to_common])];
        assert_eq!(stage.said(QUEUE, &calls), []);
        assert_eq!(stage.said(QUEUE, &[stage.all_texels(&twin, 0, true)]), expected);
    }
}

#[test]
fn a_lost_tile_does_not_invalidate_other_tiles() {
    let (stage, heap) = with_heap(NONE);
    let tiled = Kind::texture(TextureMemoryLayout::StandardSwizzle64Kib, 256, 1);
    let tiled = stage.place(&heap, 0, tiled, D3D12_RESOURCE_STATE_COPY_SOURCE);
    let small = Kind::texture(TextureMemoryLayout::Unknown, 32, 1);
    let [one, two] = [0, 0].map(|_| stage.place(&heap, KIB_64, small, COMMON));
    let buffer = stage.place(&heap, 2 * KIB_64, Kind::buffer(KIB_64), COMMON);
    let of_tile_0 = |is_read| stage.tile_texels(&tiled, 0, 0, is_read);
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&tiled, 0, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&one, 0, false)]), []);
    assert_eq!(stage.said(QUEUE, &[of_tile_0(true)]), [(Rule::I2, Some(1), Some(2))]);
    assert_eq!(stage.said(QUEUE, &[of_tile_0(false)]), []);
    // 60 KiB of tile 1 still belong to the tiled texture, but the tile as a whole does not.
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&two, 0, false)]), []);
    assert_eq!(stage.said(QUEUE, &[of_tile_0(true)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, 16, false)]), []);
    assert_eq!(stage.said(QUEUE, &[of_tile_0(true)]), [(Rule::I2, Some(1), Some(4))]);
}

#[test]
fn a_partially_valid_tile_survives_an_inheriting_buffer() {
    let (stage, heap) = with_heap(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
    let texture = Kind::texture(TextureMemoryLayout::StandardSwizzle64Kib, 128, 2);
    let texture = stage.place(&heap, 0, texture, COMMON);
    let buffer = stage.place(&heap, KIB_64, Kind::buffer(KIB_64), COMMON);
    let block = TexelRegion { start: [0; 3], size: [64, 64, 1] };
    // The first slice is left in COPY_DEST, so an invalidation of the second would affect both.
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, false)]), []);
    let calls = [true, false].map(|is_read| stage.texels(&texture, 1, block, is_read));
    assert_eq!(stage.said(QUEUE, &calls), [(Rule::I2, Some(1), None)]);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, 16, true)]), [(Rule::I2, Some(2), Some(1))]);
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, true)]), []);
}

#[test]
fn unknown_contents_are_overwritten_once() {
    let stage = advanced();
    let kind = used(TextureMemoryLayout::Unknown, 128, target(), 0);
    let target = stage.place(&stage.heap(NONE), 0, kind, D3D12_RESOURCE_STATE_RENDER_TARGET);
    let parts = vec![ResourcePart::Subresource(0)];
    let view = RenderedView { resource: target.driver.clone(), parts, is_depth_stencil: false };
    let skipped = Skipped { draws: true, rendered: vec![view], addressed: vec![], descriptors: None };
    let draw = Call::notes("DrawInstanced", vec![Note::Skipped(skipped)]);
    let scrambles = |calls: &[Call]| {
        let (found, commands) = stage.execute(QUEUE, calls);
        assert_eq!(found, []);
        commands.iter().filter(|command| matches!(command, Command::Scramble { .. })).count()
    };
    let clear = stage.all_texels(&target, 0, false);
    assert_eq!(scrambles(&[clear.clone(), draw.clone(), draw.clone()]), 1);
    assert_eq!(scrambles(std::slice::from_ref(&draw)), 0);
    assert_eq!(scrambles(&[clear, draw]), 1);
}

#[test]
fn a_fence_set_back_drops_its_recorded_order() {
    use crate::fence::Fence;
    let (stage, heap) = with_heap(NONE);
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
fn a_wait_for_the_initial_fence_value_orders_nothing() {
    use crate::fence::Fence;
    let (stage, heap) = with_heap(NONE);
    let [a, b] = [0, 0].map(|offset| stage.place(&heap, offset, Kind::buffer(KIB_64), COMMON));
    let fence = std::sync::Arc::new(Fence::new(0));
    assert_eq!(stage.said(1, &[stage.bytes(&a, 0, KIB_64, false)]), []);
    stage.signal(1, &fence, 1);
    stage.wait(2, &fence, 0);
    let read = [stage.bytes(&b, 0, KIB_64, true)];
    assert_eq!(stage.said(2, &read), [(Rule::B9, Some(2), Some(1))]);
}

/// Returns a buffer of four reserved tiles and one of a single tile, which have no memory yet.
fn reserved_buffers(stage: &Stage) -> [super::stage::Resource; 2] {
    [4, 1].map(|tiles| stage.reserve(Kind::buffer(tiles * KIB_64), COMMON))
}

#[test]
fn memory_of_a_tile_that_left_is_ordered_after_what_used_it() {
    use crate::fence::Fence;
    for (is_waiting, expected) in [(true, vec![]), (false, vec![(Rule::B9, Some(2), Some(1))])] {
        let (stage, heap) = with_heap(NONE);
        let [a, b] = reserved_buffers(&stage);
        stage.map(&a, 0, 4, Some((&heap, 0)));
        assert_eq!(stage.said(1, &[stage.bytes(&a, 0, 4 * KIB_64, false)]), []);
        let fence = std::sync::Arc::new(Fence::new(0));
        stage.signal(1, &fence, 1);
        // Tile 1 loses its memory, and tile 2 moves.
        stage.map(&a, 1, 1, None);
        stage.map(&a, 2, 1, Some((&heap, 7)));
        if is_waiting {
            stage.wait(2, &fence, 1);
        }
        // The rest of the resource is still in use, with what was tile 1 and 2.
        assert_eq!(stage.said(1, &[stage.bytes(&a, 0, 4 * KIB_64, false)]), []);
        for left in [1, 2] {
            stage.map(&b, 0, 1, Some((&heap, left)));
            assert_eq!(stage.said(2, &[stage.bytes(&b, 0, KIB_64, false)]), expected, "tile {left}");
        }
        stage.map(&b, 0, 1, Some((&heap, 7)));
        let write = [stage.bytes(&b, 0, KIB_64, false)];
        assert_eq!(stage.said(2, &write), [(Rule::B9, Some(2), Some(1))], "tile 2 is there");
    }
}

#[test]
fn tiles_are_ordered_by_themselves() {
    use crate::fence::Fence;
    let (stage, heap) = with_heap(NONE);
    let [a, b] = reserved_buffers(&stage);
    stage.map(&a, 0, 4, Some((&heap, 0)));
    assert_eq!(stage.said(1, &[stage.bytes(&a, 0, 2 * KIB_64, false)]), []);
    let fence = std::sync::Arc::new(Fence::new(0));
    stage.signal(1, &fence, 1);
    stage.wait(2, &fence, 1);
    assert_eq!(stage.said(1, &[stage.bytes(&a, KIB_64, 2 * KIB_64, false)]), []);
    for (tile, expected) in [(0, vec![]), (1, vec![(Rule::B9, Some(2), Some(1))]), (3, vec![])] {
        stage.map(&b, 0, 1, Some((&heap, tile)));
        assert_eq!(stage.said(2, &[stage.bytes(&b, 0, KIB_64, false)]), expected, "tile {tile}");
    }
    // A placed resource over all of them.
    let placed = stage.place(&heap, 0, Kind::buffer(4 * KIB_64), COMMON);
    let said = stage.said(2, &[stage.bytes(&placed, 0, 4 * KIB_64, false)]);
    assert_eq!(said, [(Rule::B9, Some(3), Some(1))], "tile 2 is in use");
}

#[test]
fn barriers_concern_tiles_that_are_there() {
    let (stage, heap) = with_heap(NONE);
    let [a, b] = reserved_buffers(&stage);
    stage.map(&a, 0, 4, Some((&heap, 0)));
    assert_eq!(stage.said(1, &[stage.bytes(&a, 0, 4 * KIB_64, false)]), []);
    stage.map(&a, 1, 1, None);
    for (tile, expected) in [(1, vec![]), (2, vec![(Rule::H9, Some(2), Some(1))])] {
        stage.map(&b, 0, 1, Some((&heap, tile)));
        let calls = [stage.bytes(&a, 0, 4 * KIB_64, false), stage.bytes(&b, 0, KIB_64, false)];
        assert_eq!(stage.said(1, &calls), expected, "tile {tile}");
    }
}

#[test]
fn all_tiles_that_shared_memory_are_ordered() {
    let (stage, heap) = with_heap(NONE);
    let [a, b] = reserved_buffers(&stage);
    stage.map(&a, 0, 1, Some((&heap, 0)));
    stage.map(&a, 1, 1, Some((&heap, 0)));
    for (agent, tile) in [(1, 0), (2, 1)] {
        _ = stage.said(agent, &[stage.bytes(&a, tile * KIB_64, KIB_64, false)]);
        stage.map(&a, u32::try_from(tile).expect("small"), 1, None);
    }
    stage.map(&b, 0, 1, Some((&heap, 0)));
    let write = [stage.bytes(&b, 0, KIB_64, false)];
    assert_eq!(stage.said(2, &write), [(Rule::B9, Some(2), Some(1))]);
}

/// Returns a barrier of a buffer, or a global one.
fn barrier(of: Option<&super::stage::Resource>, sync: [D3D12_BARRIER_SYNC; 2]) -> EnhancedBarrier {
    EnhancedBarrier {
        resource: of.map(|of| std::sync::Arc::clone(&of.driver)),
        sync,
        access: [D3D12_BARRIER_ACCESS_COMMON; 2],
        subresources: Subresources::All,
        layout: [D3D12_BARRIER_LAYOUT_UNDEFINED; 2],
        discards: false,
    }
}

#[test]
fn a_second_barrier_keeps_the_waits_of_the_first() {
    let (stage, heap) = with_heap(NONE);
    let [a, b] = [0, 0].map(|offset| stage.place(&heap, offset, Kind::buffer(KIB_64), COMMON));
    let (copy, draw) = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_SYNC_RENDER_TARGET);
    let barriers = |of: Vec<_>| Call::notes("Barrier", vec![Note::Barriers(of)]);
    let calls = [
        stage.bytes(&a, 0, KIB_64, false),
        barriers(vec![barrier(Some(&a), [copy, draw])]),
        barriers(vec![barrier(Some(&a), [draw, copy]), barrier(Some(&b), [draw, copy])]),
        stage.bytes(&b, 0, KIB_64, true),
    ];
    assert_eq!(stage.said(QUEUE, &calls), []);
}

/// A barrier has to wait for the last accesses; they waited for those before them, if a barrier says so.
#[test]
fn a_barrier_waits_for_accesses_that_none_has_waited_for() {
    let notes = |barrier| Call::notes("Barrier", vec![Note::Barriers(vec![barrier])]);
    let (copy, draw) = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_SYNC_RENDER_TARGET);
    let clear = D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW;
    for is_global in [false, true] {
        for (before, after, expected) in [
            (clear, copy, vec![]),
            (D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_SYNC_ALL, vec![]),
            // It does not wait for the clear, or does not block the copy.
            (draw, copy, vec![(Rule::E1, Some(2), Some(1))]),
            (clear, draw, vec![(Rule::E1, Some(2), Some(1))]),
        ] {
            let (stage, heap) = with_heap(NONE);
            let [a, b] = [0, 0].map(|offset| stage.place(&heap, offset, Kind::buffer(KIB_64), COMMON));
            let calls = [
                Call::command(
                    "ClearUnorderedAccessViewUint",
                    Command::FillBuffer {
                        target: (std::sync::Arc::clone(&a.driver), 0),
                        size: KIB_64,
                        value: crate::format::TexelValue { bytes: [0; 16], len: 4 },
                    },
                ),
                notes(barrier(Some(&a).filter(|_| !is_global), [before, after])),
                stage.bytes(&a, 0, KIB_64, true),
                notes(barrier(None, [copy; 2])),
                stage.bytes(&b, 0, KIB_64, false),
            ];
            assert_eq!(stage.said(QUEUE, &calls), expected, "{is_global}, {before:#x}, {after:#x}");
        }
    }
}

#[test]
fn reading_a_tile_of_non_zeroed_memory_is_reported() {
    let stage = advanced();
    for (flags, expected) in [(NONE, vec![]), (D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, vec![Rule::I2])] {
        let heap = stage.heap(flags);
        let reserved = stage.reserve(Kind::buffer(KIB_64), COMMON);
        stage.map(&reserved, 0, 1, Some((&heap, 0)));
        let said = stage.said(QUEUE, &[stage.bytes(&reserved, 0, 16, true)]);
        assert_eq!(said.iter().map(|said| said.0).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn released_objects_are_not_tracked() {
    let (stage, heap) = with_heap(NONE);
    for _ in 0..1_000 {
        let own = stage.heap(NONE);
        let placed = stage.place(&own, 0, Kind::buffer(KIB_64), COMMON);
        let other = stage.place(&heap, 0, Kind::buffer(KIB_64), COMMON);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&placed, 0, 16, false)]), []);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&other, 0, 16, false)]), []);
    }
    let (resources, heaps) = stage.known();
    assert!(resources < 10 && heaps < 10, "{resources} resources and {heaps} heaps are tracked");
}

#[test]
fn the_rest_of_a_resource_does_not_overlap_bytes_it_handed_on() {
    let (stage, heap) = with_heap(NONE);
    let buffer = stage.place(&heap, 0, Kind::buffer(KIB_64), COMMON);
    let tight = [0, 0].map(|at| stage.place(&heap, at, Kind::Buffer { width: 1024, tight: true }, COMMON));
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, KIB_64, false)]), []);
    for tight in &tight {
        assert_eq!(stage.said(QUEUE, &[stage.bytes(tight, 0, 1024, true)]), []);
    }
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, KIB_64, true)]), []);
}

#[test]
fn a_tight_buffer_loses_only_the_granules_that_are_used() {
    let (stage, heap) = with_heap(NONE);
    let tight = Kind::Buffer { width: 8 * KIB_4, tight: true };
    let tight = stage.place(&heap, KIB_64 - 4 * KIB_4, tight, COMMON);
    let texture = stage.place(&heap, KIB_64, Kind::texture(TextureMemoryLayout::Unknown, 32, 1), COMMON);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&tight, 0, 8 * KIB_4, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&tight, 0, 4 * KIB_4, true)]), []);
    let read = stage.bytes(&tight, 4 * KIB_4, 16, true);
    assert_eq!(stage.said(QUEUE, &[read]), [(Rule::I2, Some(1), Some(2))]);
}

#[test]
fn tiles_inherit_from_all_of_their_bytes() {
    let layout = TextureMemoryLayout::StandardSwizzle64Kib;
    let kind = Kind::texture(layout, 256, 1);
    // No tile is valid in a buffer that is too short.
    let (stage, heap) = with_heap(NONE);
    let (texture, short) =
        (stage.place(&heap, 0, kind, COMMON), stage.place(&heap, 0, Kind::buffer(1024), COMMON));
    assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&short, 0, 1024, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.tile_texels(&texture, 0, 0, true)]), [(Rule::I2, Some(1), Some(2))]);
    // A buffer over the ends of two tiles has the contents of both.
    let (stage, heap) = with_heap(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED);
    let kind = used(layout, 256, simultaneous(), 0);
    let texture = stage.place(&heap, 0, kind, COMMON);
    let across = Kind::Buffer { width: 2 * KIB_4, tight: true };
    let across = stage.place(&heap, KIB_64 - KIB_4, across, COMMON);
    assert_eq!(stage.said(QUEUE, &[stage.tile_texels(&texture, 0, 0, false)]), []);
    assert_eq!(stage.said(QUEUE, &[stage.tile_texels(&texture, 0, 1, true)]), [(Rule::I2, Some(1), None)]);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&across, 0, KIB_4, true)]), []);
    let read = stage.bytes(&across, KIB_4, 16, true);
    assert_eq!(stage.said(QUEUE, &[read]).iter().map(|said| said.0).collect::<Vec<_>>(), [Rule::I2]);
}

#[test]
fn a_discard_survives_taking_over_hidden_memory() {
    let (stage, heap) = with_heap(NONE);
    let kind = used(TextureMemoryLayout::UndefinedSwizzle64Kib, 256, target(), 1);
    let target = stage.place(&heap, 0, kind, D3D12_RESOURCE_STATE_RENDER_TARGET);
    let buffer = stage.place(&heap, 4 * KIB_64, Kind::buffer(KIB_64), COMMON);
    assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, KIB_64, false)]), []);
    assert_eq!(stage.said(QUEUE, &[Stage::discard(&target, 0)]), []);
    assert_eq!(stage.contents(&target, 0), HEAPWRIGHT_ALIASING_CONTENTS_DISCARDED);
}

fn rows(hidden: u64) -> Kind {
    used(TextureMemoryLayout::RowMajor, 256, cross_adapter(), hidden)
}

/// *Memory Aliasing and Data Inheritance*: textures with defined layouts, including ROW_MAJOR, may have memory that
/// belongs to the whole texture.
#[test]
fn memory_behind_the_last_row_belongs_to_the_whole_texture() {
    for (place, is_lost) in [(4, true), (5, true), (6, false)] {
        let (stage, heap) = with_heap(D3D12_HEAP_FLAG_SHARED);
        let texture = stage.place(&heap, 0, rows(2), COMMON);
        let buffer = stage.place(&heap, place * KIB_64, Kind::buffer(KIB_64), COMMON);
        assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, false)]), []);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, 16, false)]), []);
        let (found, _) = stage.execute(QUEUE, &[stage.all_texels(&texture, 0, true)]);
        let because: Vec<_> = found.iter().map(|one| (one.rule, one.because)).collect();
        let expected = if is_lost { vec![(Rule::I2, Some(Rule::I11))] } else { Vec::new() };
        assert_eq!(because, expected, "{place}");
    }
}

/// The reverse direction: a write by the owner of hidden memory invalidates the bytes of resources there.
#[test]
fn hidden_memory_invalidates_but_does_not_hand_on_contents() {
    for layout in [TextureMemoryLayout::RowMajor, TextureMemoryLayout::StandardSwizzle64Kib] {
        let kind = used(layout, 256, cross_adapter(), 1);
        for wide in [1, 2] {
            let (stage, heap) = with_heap(NONE);
            let texture = stage.place(&heap, 0, kind, COMMON);
            // The last tile, alone and with the hidden memory after it.
            let buffer = stage.place(&heap, 3 * KIB_64, Kind::buffer(wide * KIB_64), COMMON);
            assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, false)]), []);
            // The bytes of the first tile of the buffer are those of the last of the texture.
            assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, KIB_64, true)]), []);
            let second = if wide == 2 { vec![(Rule::I2, Some(2), Some(1))] } else { Vec::new() };
            let read = stage.bytes(&buffer, (wide - 1) * KIB_64, 16, true);
            assert_eq!(stage.said(QUEUE, &[read]), second, "{layout:?}: hidden memory hands on no contents");
            let whole = if wide == 2 { vec![(Rule::I2, Some(1), Some(2))] } else { Vec::new() };
            assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, true)]), whole, "{layout:?} {wide}");
        }
        let (stage, heap) = with_heap(NONE);
        let texture = stage.place(&heap, 0, kind, COMMON);
        let buffer = stage.place(&heap, 4 * KIB_64, Kind::buffer(KIB_64), COMMON);
        assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, KIB_64, false)]), []);
        assert_eq!(stage.said(QUEUE, &[stage.all_texels(&texture, 0, false)]), []);
        let read = stage.bytes(&buffer, 0, 16, true);
        assert_eq!(stage.said(QUEUE, &[read]), [(Rule::I2, Some(2), Some(1))], "{layout:?}");
    }
}

/// A texture inherits directly what it could inherit through a buffer in between.
#[test]
fn textures_of_defined_layout_inherit_directly_as_through_a_buffer() {
    let layout = TextureMemoryLayout::StandardSwizzle64Kib;
    let [one, four] = [(256, 1), (128, 4)].map(|(side, slices)| Kind::texture(layout, side, slices));
    let pairs = [(one, four), (one, used(layout, 256, target(), 0)), (one, rows(0)), (rows(0), four)];
    for (one, other) in pairs {
        for over_buffer in [true, false] {
            let (stage, heap) = with_heap(NONE);
            let [one, other] = [one, other].map(|kind| stage.place(&heap, 0, kind, COMMON));
            let buffer = stage.place(&heap, 0, Kind::buffer(4 * KIB_64), COMMON);
            let clear = stage.all_texels(&one, 0, false);
            assert_eq!(stage.said(QUEUE, &[clear]), []);
            stage.said(QUEUE, &[Call::notes("ResourceBarrier", vec![to_common(&one)])]);
            if over_buffer {
                assert_eq!(stage.said(QUEUE, &[stage.bytes(&buffer, 0, 4 * KIB_64, true)]), []);
            }
            let read = stage.all_texels(&other, 0, true);
            assert_eq!(stage.said(QUEUE, &[read]), [], "{:?} {over_buffer}", other.kind);
        }
    }
}

fn to_common(resource: &super::stage::Resource) -> Note {
    Note::Transition {
        resource: std::sync::Arc::clone(&resource.driver),
        subresources: Subresources::All,
        after: COMMON,
    }
}
