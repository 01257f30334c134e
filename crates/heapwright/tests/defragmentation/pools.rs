//! Defragmentation of a pool, and of an allocator that has pools.

use super::scene::{Scene, small_buffer};
use crate::gpu::*;

const HEAP: ByteSize = mib(2);

/// Creates a pool with 3,000 small buffers and 60 of 200 to 400 KiB, of which 30 % stay alive, and a few
/// allocations outside of it.
fn scene(desc: PoolDesc) -> (Scene, Pool) {
    let mut scene = Scene::open("discrete");
    let pool = scene.allocator.create_pool(desc).expect("a sound pool");
    let place = in_pool(&pool);
    let mut random = fastrand::Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3000 {
        scene.try_create(&place, &small_buffer(&mut random)).expect("there is room");
        if random.u64(..50) == 0 {
            let large = buffer_desc(kib(200 + random.u64(..200)));
            scene.try_create(&place, &large).expect("there is room");
            scene.create(&large);
        }
    }
    scene.thin_out(&mut random);
    (scene, pool)
}

fn defragment(scene: &mut Scene, pool: Option<&Pool>) {
    let mut run = scene.allocator.defragment(DefragmentationDesc { pool }).expect("the default algorithm");
    // Which heaps are emptied depends on where steps end, which with a limit of time is another place in each run.
    let budget = without_time_limit();
    scene.defragment(&mut run, budget, 1, 100_000);
    scene.check_things();
}

#[test]
fn a_pool_of_one_heap_size_is_emptied_into_its_own_heaps() {
    let (mut scene, pool) = scene(PoolDesc {
        heap_size: Some(HEAP),
        min_heap_count: 2,
        max_heap_count: Some(40),
        ..Default::default()
    });
    let (before, others) = (pool.totals(), scene.allocator.reserved().get() - pool.totals().reserved.get());
    assert!(before.reserved.get() > 2 * before.used.get());
    defragment(&mut scene, Some(&pool));
    let after = pool.totals();
    assert_eq!(after.used, before.used);
    assert_eq!(after.reserved.get(), after.heap_count * HEAP.get(), "its heaps have one size");
    // One heap of small allocations and one of large ones may be partly empty.
    assert!(after.reserved.get() <= after.used.get() * 115 / 100 + 2 * HEAP.get(), "{before:?} {after:?}");
    assert_eq!(scene.allocator.reserved().get() - after.reserved.get(), others, "the others were left alone");
    let heaps: std::collections::BTreeSet<_> = scene
        .things
        .values()
        .filter_map(|thing| Some(unsafe { thing.heap()?.GetDesc() }.SizeInBytes))
        .collect();
    assert!(heaps.contains(&HEAP.get()));
    scene.end(pool);
}

#[test]
fn a_pool_whose_heaps_have_any_size_comes_as_far_as_the_allocators_own() {
    let (mut scene, pool) = scene(PoolDesc::default());
    let before = pool.totals();
    defragment(&mut scene, Some(&pool));
    let after = pool.totals();
    assert!(before.reserved.get() > 2 * before.used.get());
    assert!(after.reserved.get() * 100 <= after.used.get() * 115, "{after:?}");
    scene.end(pool);
}

#[test]
fn a_pool_keeps_the_heaps_that_it_is_to_have_at_least() {
    let (mut scene, pool) =
        scene(PoolDesc { heap_size: Some(HEAP), min_heap_count: 5, ..Default::default() });
    let before = pool.totals();
    assert!(before.heap_count > 5);
    // Frees all allocations of the heaps.
    let of_pool = |scene: &mut Scene, keep: usize| {
        let keys: Vec<u64> = scene
            .things
            .iter()
            .filter(|(_, thing)| {
                thing.heap().is_some_and(|heap| unsafe { heap.GetDesc() }.SizeInBytes == HEAP.get())
            })
            .map(|(&key, _)| key)
            .collect();
        for key in &keys[keep..] {
            scene.things.remove(key);
        }
    };
    of_pool(&mut scene, 100);
    defragment(&mut scene, Some(&pool));
    assert_eq!(pool.totals().heap_count, 5, "{:?}", pool.totals());
    of_pool(&mut scene, 0);
    defragment(&mut scene, Some(&pool));
    assert_eq!((pool.totals().heap_count, pool.totals().empty_heap_count), (5, 5));
    scene.end(pool);
}

#[test]
fn the_allocators_own_heaps_are_defragmented_without_its_pools() {
    let (mut scene, pool) = scene(PoolDesc { heap_size: Some(HEAP), ..Default::default() });
    let before = pool.totals();
    defragment(&mut scene, None);
    assert_eq!(pool.totals(), before);
    scene.end(pool);
}

#[test]
fn heaps_of_another_algorithm_and_pools_of_another_allocator_are_refused() {
    let scene = Scene::open("discrete");
    for algorithm in [Linear, BuddySystem, Slab, Dedicated] {
        let pool = new_pool(&scene.allocator, PoolDesc { algorithm, ..Default::default() });
        let run = scene.allocator.defragment(DefragmentationDesc { pool: Some(&pool) });
        fails(run, "algorithm other than Default");
    }
    let other = Scene::open("discrete");
    let pool = other.allocator.create_pool(PoolDesc { name: "theirs".into(), ..Default::default() });
    let pool = pool.expect("sound");
    fails(scene.allocator.defragment(DefragmentationDesc { pool: Some(&pool) }), "theirs");
    assert_eq!(pool.heap_type(), HeapType::Default);
}

#[test]
fn memory_is_moved_by_its_owner() {
    let scene = Scene::open("discrete");
    let heap_size = Some(kib(512));
    let pool =
        scene.allocator.create_pool(PoolDesc { heap_size, ..Default::default() }).expect("a sound pool");
    let (size, alignment) = (kib(64), Alignment::new(64 * KIB).expect("a power of two"));
    let allocate =
        |_| scene.allocator.allocate_memory(&in_pool(&pool), ResourceKind::Buffers, size, alignment);
    let mut made: Vec<_> = (0..16).map(|place| allocate(place).expect("there is room")).collect();
    let mut count = 0;
    made.retain(|_| {
        count += 1;
        count % 2 == 0
    });
    let mut run =
        scene.allocator.defragment(DefragmentationDesc { pool: Some(&pool) }).expect("the default algorithm");
    let step = run.step(without_time_limit());
    assert_eq!(step.moves.len(), 4);
    for planned in step.moves {
        let (heap, offset) =
            planned.destination().map(|(heap, offset)| (heap.clone(), offset)).expect("planned");
        let mine = made.iter_mut().find(|memory| memory.id() == planned.allocation()).expect("it is live");
        planned.complete_memory(mine).expect("it is the one to move");
        assert_eq!((mine.heap(), mine.offset(), mine.size()), (&heap, offset, size));
        drop(mine.create_resource(HeapOffset::ZERO, buffer_desc(size)).expect("it fits"));
    }
    assert_eq!(pool.totals().heap_count, 1, "the other one is released");
    assert!(made.iter().all(|memory| memory.heap() == made[0].heap()));
    scene.end((run, made, pool));
}
