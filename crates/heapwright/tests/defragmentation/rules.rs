//! The rules of moves and runs, call by call.

use super::scene::Scene;
use crate::gpu::*;

const BUDGET: DefragmentationBudget =
    DefragmentationBudget { moves: 64, bytes: mib(64), time: Duration::from_secs(3600) };

/// Creates 400 buffers of 64 KiB and keeps every fourth.
fn thin(desc: ResourceAllocatorDesc) -> Scene {
    let mut scene = Scene::with("discrete", desc);
    for _ in 0..400 {
        scene.create(&buffer_desc(kib(64)));
    }
    scene.gpu.run();
    scene.things.retain(|key, _| key % 4 == 0);
    scene
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

/// Begins a run, and returns the moves of its first step that has any.
fn moving(desc: ResourceAllocatorDesc) -> (Scene, Defragmentation, Vec<Move>) {
    let scene = thin(desc);
    let mut run = scene.run();
    let moves = some_moves(&mut run);
    (scene, run, moves)
}

fn finish(scene: &mut Scene, mut run: Defragmentation) {
    scene.defragment(&mut run, BUDGET, 0, 1000);
    scene.check_things();
}

fn finish_and_end(mut scene: Scene, run: Defragmentation) {
    finish(&mut scene, run);
    scene.end(());
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
    let mut run = scene.run();
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
    finish_and_end(scene, run);
}

#[test]
fn another_allocation_is_refused_and_the_move_abandoned() {
    let mut scene = thin(Default::default());
    let mut run = scene.run();
    let used = scene.allocator.stats().used;
    let mut moves = some_moves(&mut run);
    let mut planned = moves.pop().expect("there are some");
    assert_eq!(scene.allocator.stats().used, used.checked_add(kib(64 * (moves.len() as u64 + 1))).unwrap());
    let own = planned.user_data();
    let other = *scene.things.keys().find(|&&key| key != own).expect("there are others");
    let error =
        planned.create_resource(&scene.things[&other], InitialState::default(), None, &[]).unwrap_err();
    assert!(error.to_string().starts_with("allocation: "), "{error}");
    planned.create_resource(&scene.things[&own], InitialState::default(), None, &[]).expect("its own");
    let place = |scene: &Scene, key: u64| (scene.things[&key].id(), scene.things[&key].offset());
    let before = (place(&scene, own), place(&scene, other));
    let error = planned.complete(scene.things.get_mut(&other).expect("it lives")).unwrap_err();
    assert!(error.to_string().starts_with("allocation: "), "{error}");
    assert_eq!((place(&scene, own), place(&scene, other)), before);

    // A move without a resource at its target cannot be completed, either.
    let planned = moves.pop().expect("there are some");
    let own = planned.user_data();
    fails(planned.complete(scene.things.get_mut(&own).expect("it lives")), "no resource");
    drop(moves);
    assert_eq!(scene.allocator.stats().used, used, "all places are free again");
    scene.allocator.audit().expect("consistent");
    finish_and_end(scene, run);
}

/// What `GetDesc` does not return is passed to the device: a buffer can have neither of these.
#[test]
fn a_clear_value_and_castable_formats_are_passed_on() {
    let (scene, run, mut moves) = moving(Default::default());
    let planned = &mut moves[0];
    let thing = &scene.things[&planned.user_data()];
    let format = DXGI_FORMAT_R8G8B8A8_UNORM;
    let clear_value = Some(ClearValue::Color { format, color: [0.0; 4] });
    let layout = InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED);
    for (state, clear_value, formats) in
        [(InitialState::default(), clear_value, &[][..]), (layout, None, &[format][..])]
    {
        planned.create_resource(thing, state, clear_value, formats).expect_err("it is a buffer");
    }
    planned.create_resource(thing, layout, None, &[]).expect("the layout of a buffer");
    drop(moves);
    finish_and_end(scene, run);
}

#[test]
fn a_mapping_is_of_the_resource_that_a_move_ended_with() {
    let scene = Scene::with("discrete", Default::default());
    let upload = |key| ResourceAllocationDesc { user_data: key, ..in_upload() };
    let mut things: Vec<_> = (0..400).map(|key| buffer(&scene.allocator, &upload(key), 64 * KIB)).collect();
    things.retain(|thing| thing.user_data() % 4 == 0);
    let mut run = scene.run();
    let mut moves = some_moves(&mut run);
    let mut planned = moves.swap_remove(0);
    let key = planned.user_data();
    let thing = things.iter_mut().find(|thing| thing.user_data() == key).expect("it lives");
    thing.keep_mapped().expect("mapped");
    thing.map().expect("mapped").write(0, &[1]).expect("inside");
    planned.create_resource(thing, InitialState::default(), None, &[]).expect("created");
    planned.complete(thing).expect("it is the one");
    // The resource is mapped at its present place, and stays mapped.
    thing.map().expect("mapped").write(0, &[2]).expect("inside");
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
    let in_order = |allocator: &ResourceAllocator| {
        let mut all = everything_in(allocator);
        all.sort();
        all
    };
    let listed = in_order(&scene.allocator);
    assert_eq!(listed.len(), 100);
    let mut run = scene.run();
    let moves = some_moves(&mut run);
    for planned in &moves {
        let key = planned.user_data();
        assert_eq!(planned.debug_name(), Some(&*format!("buffer {key}")));
        assert_eq!(planned.allocation(), scene.things[&key].id());
        assert_eq!(planned.size(), kib(64));
    }
    let moves: Vec<_> = moves.into_iter().filter_map(|planned| scene.begin(planned)).collect();
    scene.gpu.run();
    moves.into_iter().for_each(|planned| scene.complete(planned));
    assert!(run.progress().moves > 0);
    finish(&mut scene, run);
    for (&key, thing) in &scene.things {
        assert_eq!((thing.user_data(), thing.debug_name()), (key, Some(&*format!("buffer {key}"))));
        assert_eq!(name_of(thing.resource()), Ok(format!("buffer {key}")), "D3D12 knows the name");
    }
    assert_eq!(in_order(&scene.allocator), listed);
    // A second run finds each allocation by its user data again.
    scene.things.retain(|key, _| key % 16 == 0);
    let run = scene.run();
    let before = scene.allocator.reserved();
    finish(&mut scene, run);
    assert!(scene.allocator.reserved() < before);
    scene.end(());
}

#[test]
fn two_runs_at_once_share_the_work() {
    let mut scene = thin(Default::default());
    let before = scene.allocator.reserved().get();
    let mut runs = [scene.run(), scene.run()];
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
    scene.check_things();
    scene.end(runs);
}

/// The heaps of an unfinished run serve calls for which memory is short.
#[test]
fn an_unfinished_run_blocks_no_memory() {
    let limits = HeapLimits { default: Some(mib(32)), ..Default::default() };
    let scene = thin(with_limits(limits));
    let mut run = scene.run();
    // The moves are abandoned, or planned and not completed.
    for kept in [false, true] {
        let moves = some_moves(&mut run);
        let moves = kept.then_some(moves);
        let alone = place(HeapType::Default, NEVER_FALLBACK);
        let more = as_many_as_fit(&scene.allocator, &alone, 64 * KIB);
        let used = scene.allocator.stats().used;
        assert!(used >= mib(32), "{used} of 32 MiB are used with {} more", more.len());
        drop((more, moves));
        scene.allocator.audit().expect("consistent");
    }
    drop(run);
}

#[test]
fn a_heap_whose_last_resource_is_freed_while_it_moves_is_released() {
    let (mut scene, _run, moves) = moving(Default::default());
    scene.things.clear();
    // The moves hold the memory of their targets, and not that of their sources, which no report would list.
    let report = scene.allocator.report();
    let listed: u64 = report.heaps.iter().map(|heap| heap.size.get()).sum();
    assert_eq!(listed, scene.allocator.reserved().get());
    let stats = scene.allocator.stats();
    assert_eq!(stats.empty_heap_count, report.totals.empty_heap_count, "{stats:?}");
    drop(moves);
}

/// A request that may not create a heap uses the heaps that a run is emptying, which the run then leaves alone.
#[test]
fn every_free_range_of_a_heap_that_is_being_emptied_serves_before_a_request_fails() {
    let (scene, run, moves) = moving(Default::default());
    let held = place(HeapType::Default, NEVER_ALLOCATE_HEAP);
    let made = as_many_as_fit(&scene.allocator, &held, 64 * KIB);
    let stats = scene.allocator.stats();
    assert_eq!(stats.used, stats.reserved, "{} buffers were created", made.len());
    scene.end((moves, run, made));
}
