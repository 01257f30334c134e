//! The rules of moves and runs, call by call.

use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{
    Defragmentation, DefragmentationBudget, DefragmentationDesc, DefragmentationState, Move,
};
use heapwright::*;

use super::scene::{Scene, texture_desc, usage};
use crate::gpu::*;

const BUDGET: DefragmentationBudget =
    DefragmentationBudget { moves: 64, bytes: ByteSize::from_mib(64), time: Duration::from_secs(3600) };

/// Creates 400 buffers of 64 KiB and keeps every fourth.
fn thin(desc: ResourceAllocatorDesc) -> Scene {
    let mut scene = Scene::with("discrete", desc);
    for _ in 0..400 {
        scene.create(&buffer_desc(ByteSize::from_kib(64)));
    }
    scene.gpu.run();
    scene.things.retain(|key, _| key % 4 == 0);
    scene
}

fn run_of(scene: &Scene) -> Defragmentation {
    scene.allocator.defragment(DefragmentationDesc::default()).expect("heaps to defragment")
}

/// Returns the moves of the first step that has any.
fn some_moves(run: &mut Defragmentation) -> Vec<Move> {
    for _ in 0..100 {
        let step = run.step(BUDGET);
        if !step.moves.is_empty() {
            return step.moves;
        }
    }
    panic!("nothing moves: {run:?}")
}

fn finish(scene: &mut Scene, mut run: Defragmentation) {
    scene.defragment(&mut run, BUDGET, 0, 1000);
    scene.check_contents();
    scene.check_places([]);
}

#[test]
fn moves_runs_and_steps_go_from_thread_to_thread() {
    fn sent<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    sent::<Move>();
    shared::<Defragmentation>();
}

#[test]
fn a_step_without_a_budget_plans_nothing() {
    let mut scene = thin(Default::default());
    let mut run = run_of(&scene);
    for budget in [
        DefragmentationBudget { moves: 0, ..BUDGET },
        DefragmentationBudget { time: Duration::ZERO, ..BUDGET },
    ] {
        for _ in 0..20 {
            let step = run.step(budget);
            assert!(step.moves.is_empty());
            assert_eq!(step.state, DefragmentationState::Planning);
        }
    }
    // Every move exceeds a budget of zero bytes.
    let mut steps = 0;
    while run.progress().moves == 0 {
        let step = run.step(DefragmentationBudget { bytes: ByteSize::ZERO, ..BUDGET });
        assert!(step.moves.len() <= 1);
        for planned in step.moves {
            let planned = scene.begin(planned).expect("its owner knows it");
            scene.gpu.run();
            scene.complete(planned);
        }
        steps += 1;
        assert!(steps < 100);
    }
    finish(&mut scene, run);
    scene.end();
}

#[test]
fn another_allocation_is_refused_and_the_move_abandoned() {
    let mut scene = thin(Default::default());
    let mut run = run_of(&scene);
    let used = scene.allocator.stats().used;
    let mut moves = some_moves(&mut run);
    let mut planned = moves.pop().expect("there are some");
    assert_eq!(
        scene.allocator.stats().used,
        used.checked_add(ByteSize::from_kib(64 * (moves.len() as u64 + 1))).unwrap()
    );
    let own = planned.user_data();
    let other = *scene.things.keys().find(|&&key| key != own).expect("there are others");
    let error = planned.create_resource(&scene.things[&other], InitialState::default(), None).unwrap_err();
    assert!(error.to_string().starts_with("allocation: "), "{error}");
    planned.create_resource(&scene.things[&own], InitialState::default(), None).expect("its own");
    let place = |scene: &Scene, key: u64| (scene.things[&key].id(), scene.things[&key].offset());
    let before = (place(&scene, own), place(&scene, other));
    let error = planned.complete(scene.things.get_mut(&other).expect("it lives")).unwrap_err();
    assert!(error.to_string().starts_with("allocation: "), "{error}");
    assert_eq!((place(&scene, own), place(&scene, other)), before);

    // A move without a resource at its target cannot be completed, either.
    let planned = moves.pop().expect("there are some");
    let own = planned.user_data();
    let error = planned.complete(scene.things.get_mut(&own).expect("it lives")).unwrap_err();
    assert!(error.to_string().contains("no resource"), "{error}");
    drop(moves);
    assert_eq!(scene.allocator.stats().used, used, "all places are free again");
    scene.allocator.audit().expect("consistent");
    finish(&mut scene, run);
    scene.end();
}

#[test]
fn a_resource_that_does_not_fit_in_the_place_is_refused() {
    let mut scene = thin(Default::default());
    let mut run = run_of(&scene);
    let mut moves = some_moves(&mut run);
    let planned = &mut moves[0];
    let thing = &scene.things[&planned.user_data()];
    for desc in [
        buffer_desc(ByteSize::from_kib(65)),
        buffer_desc(ByteSize::new(u64::MAX)),
        buffer_desc(ByteSize::ZERO),
        texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, 256, 256, 1),
    ] {
        let made = planned.create_resource_as(thing, &ResourceDesc::new(&desc));
        assert!(made.is_err(), "{desc:?}");
    }
    // A description that takes no more memory is accepted.
    let desc = buffer_desc(ByteSize::from_kib(63));
    let made = planned.create_resource_as(thing, &ResourceDesc::new(&desc)).expect("it is smaller");
    assert_eq!(unsafe { made.GetDesc() }.Width, 63 << 10);
    drop(moves);
    scene.allocator.audit().expect("consistent");
    finish(&mut scene, run);
    scene.end();
}

/// A mapping covers the bytes of the resource that the allocation has now, even if a move ended with a
/// smaller one.
#[test]
fn a_mapping_is_as_long_as_the_resource_that_a_move_ended_with() {
    let scene = Scene::with("discrete", Default::default());
    let upload =
        |key| ResourceAllocationDesc { user_data: key, ..ResourceAllocationDesc::new(HeapType::Upload) };
    let large = buffer_desc(ByteSize::from_kib(64));
    let state = D3D12_RESOURCE_STATE_GENERIC_READ;
    let mut things: Vec<_> = (0..400)
        .map(|key| scene.allocator.create_resource(&upload(key), &large, state, None).expect("there is room"))
        .collect();
    things.retain(|thing| thing.user_data() % 4 == 0);
    let mut run = run_of(&scene);
    let mut moves = some_moves(&mut run);
    let mut planned = moves.swap_remove(0);
    let key = planned.user_data();
    let thing = things.iter_mut().find(|thing| thing.user_data() == key).expect("it lives");
    thing.keep_mapped().expect("mapped");
    thing.map().expect("mapped").write(0, &[1]).expect("inside");
    let mut small = ResourceDesc::new(&buffer_desc(ByteSize::from_kib(1)));
    small.initial_state = InitialState::State(state);
    planned.create_resource_as(thing, &small).expect("it is smaller");
    planned.complete(thing).expect("it is the one");
    assert_eq!(unsafe { thing.resource().GetDesc() }.Width, 1 << 10);
    let mut mapping = thing.map().expect("mapped");
    assert_eq!(mapping.len(), ByteSize::from_kib(1));
    assert!(mapping.write(1 << 10, &[1]).is_err(), "behind the end");
    // The resource is mapped at its present place, and stays mapped.
    mapping.write(0, &[2]).expect("inside");
    drop(mapping);
    let mut mapped = std::ptr::null_mut();
    unsafe { thing.resource().Map(0, None, &mut mapped) }.ok().expect("mapped once more");
    assert_eq!(unsafe { mapped.cast::<u8>().read() }, 2);
    unsafe { thing.resource().Unmap(0, None) };
    let mut byte = [0];
    thing.map().expect("mapped").read(0, &mut byte).expect("inside");
    assert_eq!(byte, [2]);
}

#[test]
fn names_numbers_and_the_list_of_the_living_follow_a_move() {
    let flags = ResourceAllocatorFlags::NEVER_LEAK;
    let mut scene = thin(flagged(flags));
    for (key, thing) in &mut scene.things {
        thing.set_debug_name(&format!("buffer {key}")).expect("named");
    }
    let listed = scene.allocator.live_allocations();
    assert_eq!(listed.len(), 100);
    let mut run = run_of(&scene);
    let moves = some_moves(&mut run);
    for planned in &moves {
        let key = planned.user_data();
        assert_eq!(planned.debug_name(), Some(&*format!("buffer {key}")));
        assert_eq!(planned.allocation(), scene.things[&key].id());
        assert_eq!(planned.size(), ByteSize::from_kib(64));
    }
    let moves: Vec<_> = moves.into_iter().filter_map(|planned| scene.begin(planned)).collect();
    scene.gpu.run();
    moves.into_iter().for_each(|planned| scene.complete(planned));
    assert!(run.progress().moves > 0);
    finish(&mut scene, run);
    for (&key, thing) in &scene.things {
        assert_eq!((thing.user_data(), thing.debug_name()), (key, Some(&*format!("buffer {key}"))));
        let (mut name, mut size) = ([0_u16; 64], 128);
        let kind = names::WKPDID_D3DDebugObjectNameW;
        let data = Some(name.as_mut_ptr().cast());
        unsafe { thing.resource().GetPrivateData(&kind, &mut size, data) }
            .ok()
            .expect("D3D12 knows the name");
        let name = String::from_utf16_lossy(&name[..size as usize / 2]);
        assert_eq!(name.trim_end_matches('\0'), format!("buffer {key}"));
    }
    assert_eq!(scene.allocator.live_allocations(), listed);
    // A second run finds each allocation by its user data again.
    scene.things.retain(|key, _| key % 16 == 0);
    let run = run_of(&scene);
    let before = scene.allocator.reserved();
    finish(&mut scene, run);
    assert!(scene.allocator.reserved() < before);
    scene.end();
}

#[test]
fn heaps_are_open_again_once_the_run_is_dropped_and_its_moves_can_be_completed() {
    let mut scene = thin(Default::default());
    let mut run = run_of(&scene);
    let moves = some_moves(&mut run);
    assert!(moves.len() > 4);
    let mut moves: Vec<_> = moves.into_iter().filter_map(|planned| scene.begin(planned)).collect();
    scene.gpu.run();
    let reserved = scene.allocator.reserved();
    drop(run);
    // All free ranges are used again: 300 allocations were freed, and the targets of the moves take some of
    // the space.
    let free = 300 - moves.len();
    let filled: Vec<u64> = (0..free).map(|_| scene.create(&buffer_desc(ByteSize::from_kib(64)))).collect();
    let more = scene.allocator.reserved().get() - reserved.get();
    assert!(more <= 1 << 20, "{more} bytes of new heaps, although {free} times 64 KiB were free");
    let abandoned = moves.split_off(moves.len() / 2);
    let ids: Vec<_> = abandoned.iter().map(Move::allocation).collect();
    drop(abandoned);
    for planned in moves {
        scene.complete(planned);
    }
    assert!(ids.iter().all(|id| scene.things.values().any(|thing| thing.id() == *id)), "they stay");
    scene.allocator.audit().expect("consistent");
    scene.check_contents();
    scene.check_places([]);
    assert_eq!(filled.len(), free);
    scene.end();
}

#[test]
fn an_allocation_may_be_dropped_while_it_moves() {
    let mut scene = thin(Default::default());
    let mut run = run_of(&scene);
    let moves = some_moves(&mut run);
    let fence: ID3D12Fence =
        unsafe { scene.instance.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence");
    let mut moves: Vec<_> = moves.into_iter().filter_map(|planned| scene.begin(planned)).collect();
    scene.gpu.run();
    let at_once = scene.things.remove(&moves[0].user_data()).expect("it lives");
    drop(at_once);
    let later = scene.things.remove(&moves[1].user_data()).expect("it lives");
    scene.allocator.free_after(later, &fence, FenceValue::new(7));
    scene.allocator.audit().expect("consistent");
    // They cannot be completed, as their allocation is gone.
    for gone in moves.drain(..2) {
        let mut other = scene.things.pop_first().expect("there are others");
        gone.complete(&mut other.1).unwrap_err();
        scene.things.insert(other.0, other.1);
    }
    moves.into_iter().for_each(|planned| scene.complete(planned));
    scene.allocator.audit().expect("consistent");
    // The allocation that waits for its fence keeps its heap alive: the run waits for it, or leaves the
    // heap alone.
    for _ in 0..50 {
        let step = run.step(BUDGET);
        let moves: Vec<_> = step.moves.into_iter().filter_map(|planned| scene.begin(planned)).collect();
        scene.gpu.run();
        moves.into_iter().for_each(|planned| scene.complete(planned));
        scene.allocator.audit().expect("consistent");
    }
    unsafe { fence.Signal(7) }.ok().expect("signalled");
    assert_eq!(scene.allocator.collect(), 1);
    finish(&mut scene, run);
    scene.end();
}

#[test]
fn a_run_and_its_moves_outlive_the_allocators_handles() {
    let mut scene = thin(Default::default());
    let mut run = run_of(&scene);
    let moves = some_moves(&mut run);
    let mut moves: Vec<_> = moves.into_iter().filter_map(|planned| scene.begin(planned)).collect();
    scene.gpu.run();
    let Scene { instance, allocator, gpu, mut things, .. } = scene;
    drop(allocator);
    // The run keeps the allocator alive.
    let step = run.step(BUDGET);
    let mut planned = step.moves;
    if let Some(planned) = planned.first_mut() {
        let thing = &things[&planned.user_data()];
        planned.create_resource(thing, InitialState::default(), None).expect("created");
    }
    drop(run);
    if let Some(planned) = planned.first_mut() {
        let thing = &things[&planned.user_data()];
        planned.create_resource(thing, InitialState::default(), None).expect_err("the allocator is gone");
    }
    let last = moves.pop();
    for planned in moves {
        let thing = things.get_mut(&planned.user_data()).expect("it lives");
        planned.complete(thing).expect("what is begun can be completed");
    }
    drop(things);
    drop((last, planned));
    drop(gpu);
    assert_eq!(usage(&instance), ByteSize::ZERO);
}

#[test]
fn buffers_that_others_are_parts_of_are_never_offered() {
    let mut scene = Scene::open("discrete");
    let placed = ResourceAllocationDesc::new(HeapType::Upload);
    let within = ResourceAllocationDesc { flags: WITHIN, ..placed };
    let create = |scene: &Scene, place: &ResourceAllocationDesc<'_>, key: u64, size: u64| {
        let place = ResourceAllocationDesc { user_data: key, ..*place };
        let desc = buffer_desc(ByteSize::new(size));
        let state = D3D12_RESOURCE_STATE_GENERIC_READ;
        let mut made = scene.allocator.create_resource(&place, &desc, state, None).expect("there is room");
        let bytes = key.to_le_bytes();
        made.map().expect("mappable").write(0, &bytes).expect("inside");
        made
    };
    // A new backing buffer after every few parts, with placed buffers between them.
    for key in 1..=600 {
        let made = create(&scene, if key % 3 == 0 { &within } else { &placed }, key, 20_000 + key * 16);
        scene.things.insert(key, made);
    }
    scene.things.retain(|key, _| key % 3 == 0 && key % 6 != 0 || key % 8 == 1);
    let mut run = run_of(&scene);
    for steps in 0.. {
        assert!(steps < 1000);
        let step = run.step(BUDGET);
        for mut planned in step.moves {
            let key = planned.user_data();
            let thing = scene.things.get_mut(&key).expect("what is offered is somebody's");
            assert_eq!(planned.allocation(), thing.id());
            assert_ne!(key % 3, 0, "a part of a resource is no range of a heap");
            let target =
                planned.create_resource(thing, InitialState::State(D3D12_RESOURCE_STATE_GENERIC_READ), None);
            let target = target.expect("created");
            let mut start = std::ptr::null_mut();
            unsafe {
                target.Map(0, None, &mut start).ok().expect("mapped");
                start.cast::<u64>().write_unaligned(key);
                target.Unmap(0, None);
            }
            planned.complete(thing).expect("it is the one");
        }
        scene.allocator.audit().expect("consistent");
        if step.state == DefragmentationState::Finished {
            break;
        }
    }
    assert!(run.progress().moves > 0);
    scene.check_places([]);
    for (key, thing) in &mut scene.things {
        let mut bytes = [0; 8];
        thing.map().expect("mappable").read(0, &mut bytes).expect("inside");
        assert_eq!(u64::from_le_bytes(bytes), *key);
    }
    drop(run);
    scene.end();
}

#[test]
fn two_runs_at_once_share_the_work() {
    let mut scene = thin(Default::default());
    let before = scene.allocator.reserved().get();
    let mut runs = [run_of(&scene), run_of(&scene)];
    let mut open: Vec<Move> = Vec::new();
    for round in 0.. {
        assert!(round < 500, "they do not end");
        let mut finished = 0;
        for run in &mut runs {
            let step = run.step(DefragmentationBudget { moves: 7, ..BUDGET });
            finished += u32::from(step.state == DefragmentationState::Finished);
            open.extend(step.moves);
        }
        scene.check_places(&open);
        for planned in std::mem::take(&mut open) {
            // An allocation that one run moves may have a planned move in the other: by now it is freed, or
            // at another place.
            if scene.things.get(&planned.user_data()).is_none_or(|thing| thing.id() != planned.allocation()) {
                continue;
            }
            let planned = scene.begin(planned).expect("it lives");
            scene.gpu.run();
            scene.complete(planned);
        }
        scene.allocator.audit().expect("consistent");
        if finished == 2 {
            break;
        }
    }
    assert!(scene.allocator.reserved().get() * 2 < before);
    scene.check_contents();
    scene.check_places([]);
    drop(runs);
    scene.end();
}
