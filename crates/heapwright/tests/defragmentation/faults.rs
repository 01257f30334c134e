//! Calls of the device that fail during a defragmentation run.

use std::sync::Arc;

use super::faulty_device::{Call, Faults, inject_first};
use super::scene::{Scene, small_buffer};
use crate::gpu::*;

/// Creates 2,000 buffers, of which 30 % stay alive, on a device whose calls fail as `faults` specifies.
fn scene(faults: &Arc<Faults>) -> Scene {
    let instance = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let device = inject_first(&instance.device, faults);
    let mut scene = Scene::on(instance, &device, Default::default());
    let mut random = fastrand::Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2000 {
        scene.create(&small_buffer(&mut random));
        if random.u64(..20) == 0 {
            scene.create(&buffer_desc(kib(100 + random.u64(..900))));
        }
    }
    scene.thin_out(&mut random);
    scene
}

/// Runs to the end and abandons moves that the device refuses. Returns the numbers of refused and of
/// completed moves.
fn defragment(scene: &mut Scene) -> (u64, u64) {
    let mut run = scene.run();
    let mut refused = 0;
    for steps in 0.. {
        assert!(steps < 1000, "it does not end: {run:?}");
        let step = run.step(without_time_limit());
        let mut moves = Vec::new();
        for mut planned in step.moves {
            let thing = &scene.things[&planned.user_data()];
            match planned.create_resource(thing, InitialState::default(), None, &[]) {
                Ok(target) => {
                    scene.gpu.copy(target, thing.resource());
                    moves.push(planned);
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
        scene.gpu.run();
        moves.into_iter().for_each(|planned| scene.complete(planned));
        scene.allocator.audit().expect("consistent after each step");
        if step.state == DefragmentationState::Finished {
            break;
        }
    }
    (refused, run.progress().moves)
}

/// With calls that succeed again, a new run completes the work.
fn complete(mut scene: Scene, faults: &Faults) {
    scene.check_things();
    faults.disarm();
    let live = scene.allocator.stats().used.get();
    defragment(&mut scene);
    let after = scene.allocator.reserved().get();
    assert!(after * 100 <= live * 115, "{after} of {live}");
    scene.check_things();
    scene.end(());
}

#[test]
fn a_heap_that_cannot_be_created_leaves_what_there_is() {
    for hresult in [E_OUTOFMEMORY, E_FAIL] {
        let faults = Faults::new(Some(Call::CreateHeap), hresult);
        let mut scene = scene(&faults);
        let (before, live) = (scene.allocator.reserved().get(), scene.allocator.stats().used.get());
        faults.fail_all();
        let (refused, moves) = defragment(&mut scene);
        assert_eq!(refused, 0);
        assert!(moves > 0, "other heaps have room");
        let after = scene.allocator.reserved().get();
        assert!(after < before);
        assert_eq!(scene.allocator.stats().used.get(), live);
        complete(scene, &faults);
    }
}

#[test]
fn each_heap_of_a_run_may_fail_once() {
    for n in 0..100 {
        let faults = Faults::new(Some(Call::CreateHeap), E_OUTOFMEMORY);
        let mut scene = scene(&faults);
        faults.fail_nth(n);
        defragment(&mut scene);
        let has_failed = faults.has_failed();
        scene.check_things();
        scene.end(());
        if !has_failed {
            assert!(n > 0, "a run without new heaps shows nothing");
            return;
        }
    }
    panic!("a run creates more than 100 heaps");
}

#[test]
fn resources_that_cannot_be_created_stay_where_they_are() {
    for hresult in [E_OUTOFMEMORY, E_FAIL] {
        let faults = Faults::new(Some(Call::CreatePlacedResource), hresult);
        let mut scene = scene(&faults);
        let places: Vec<_> = scene.things.values().map(|thing| thing.id()).collect();
        faults.fail_all();
        let (refused, moves) = defragment(&mut scene);
        assert!(refused > 0);
        assert_eq!(moves, 0);
        assert_eq!(scene.things.values().map(|thing| thing.id()).collect::<Vec<_>>(), places);
        complete(scene, &faults);
    }
}

#[test]
fn every_sixtieth_resource_may_fail() {
    let faults = Faults::new(Some(Call::CreatePlacedResource), E_OUTOFMEMORY);
    for n in (0..300).step_by(60) {
        let mut scene = scene(&faults);
        faults.fail_nth(n);
        let (refused, moves) = defragment(&mut scene);
        assert!(faults.has_failed());
        assert_eq!(refused, 1);
        assert!(moves > n);
        scene.check_things();
        scene.end(());
    }
}
