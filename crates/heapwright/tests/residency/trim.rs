//! Trim notifications of the operating system.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use heapwright::ByteSize;
use heapwright_d3d12::trim::*;

use crate::gpu::*;
use crate::scene::{Scene, Thing, budget, until};

const PERIODIC: i32 = D3D12_TRIM_NOTIFICATION_FLAG_PERIODIC_TRIM;
const RESTART: i32 = D3D12_TRIM_NOTIFICATION_FLAG_RESTART_PERIODIC_TRIM;
const TO_BUDGET: i32 = D3D12_TRIM_NOTIFICATION_FLAG_TRIM_TO_BUDGET;

/// Allows background updates, triggered by notifications alone.
fn hearing() -> ResidencyManagerDesc {
    ResidencyManagerDesc {
        flags: ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES,
        refresh_interval: u64::MAX,
        ..budget(1000)
    }
}

/// Sends a trim notification and waits until the manager has handled it.
fn tell(scene: &Scene, flags: i32, bytes: ByteSize) {
    let before = scene.manager.stats().budget_refreshes;
    assert_eq!(scene.instance.trim(flags, bytes).expect("allowed"), 1, "the manager hears it");
    // The manager queries the budgets after it has trimmed.
    until("the thread has heard it", || scene.manager.stats().budget_refreshes > before);
    scene.assert_alive();
}

/// Creates `count` things that the GPU has used, at the beginning of a period.
fn begin(desc: ResidencyManagerDesc, count: u8) -> (Scene, ID3D12CommandQueue, Vec<Thing>) {
    let scene = Scene::simulated(desc);
    let (queue, things) = (scene.queue(), scene.things(count));
    for thing in &things {
        scene.run(&queue, &[&scene.write(thing)]);
    }
    tell(&scene, PERIODIC, ByteSize::ZERO);
    assert_eq!(evicted(&things), [0; 0], "all of it came in that period");
    (scene, queue, things)
}

fn evicted(things: &[Thing]) -> Vec<u8> {
    things.iter().filter(|thing| !thing.is_resident()).map(|thing| thing.key).collect()
}

/// Checks that every eviction evicted a resident heap, then pages everything in and checks its contents.
fn end(scene: Scene, queue: &ID3D12CommandQueue, things: Vec<Thing>) {
    let paged_out = scene.instance.residency().paged_out.objects;
    let calls = scene.instance.residency().evict;
    assert_eq!((calls.objects, calls.refused), (paged_out, 0), "each was evicted when it was resident");
    scene.check_books(&things);
    scene.run(queue, &[&scene.work(&things)]);
    scene.finish(things);
}

#[test]
fn both_kinds_in_one_notification_both_reach_the_device_once() {
    // The second pass of D3DX12Residency overwrites the victims of its first, which are then evicted only
    // in its books.
    let (scene, queue, things) = begin(hearing(), 6);
    scene.run(&queue, &[&scene.work(&things[2..])]);
    // Two are unused. The other half MiB is one of the rest, chosen by the policy.
    tell(&scene, PERIODIC | TO_BUDGET, kib(2560));
    let evicted = evicted(&things);
    assert_eq!((&evicted[..2], evicted.len()), (&[0, 1][..], 3), "{evicted:?}");
    assert_eq!(scene.instance.residency().evict.objects, 3);
    assert_eq!(scene.used(), mib(3));
    end(scene, &queue, things);
}

#[test]
fn a_periodic_trim_evicts_what_was_not_used_since_the_last_and_is_idle() {
    let (scene, queue, things) = begin(hearing(), 5);
    let other = scene.queue();
    let busy = scene.keep_busy(&other, [&things[3]]);
    things[4].heap.lock().expect("it is resident");
    tell(&scene, PERIODIC, ByteSize::ZERO);
    assert_eq!(evicted(&things), [0, 1, 2], "one is in use, and one is locked");

    let again = scene.work(&things[..2]);
    scene.run(&queue, &[&again]);
    tell(&scene, PERIODIC, ByteSize::ZERO);
    assert_eq!(evicted(&things), [2], "one is still in use, for longer than a period");
    scene.finish_work(busy);
    things[4].heap.unlock().expect("it is locked");
    tell(&scene, PERIODIC, ByteSize::ZERO);
    assert_eq!(evicted(&things), [0, 1, 2, 3], "its lock went in that period");
    end(scene, &queue, things);
}

#[test]
fn a_period_begins_anew() {
    let (scene, queue, things) = begin(hearing(), 3);
    tell(&scene, RESTART, ByteSize::ZERO);
    assert_eq!(evicted(&things), [0; 0]);
    scene.run(&queue, &[&scene.work(&things[1..])]);
    tell(&scene, PERIODIC, ByteSize::ZERO);
    assert_eq!(evicted(&things), [0]);
    end(scene, &queue, things);
}

#[test]
fn as_many_bytes_as_asked_for_go_as_far_as_they_are_idle() {
    let (scene, queue, things) = begin(hearing(), 5);
    let busy = scene.keep_busy(&queue, [&things[0]]);
    tell(&scene, TO_BUDGET, ByteSize::new(1));
    assert_eq!(evicted(&things), [1], "a heap is the least that can go");
    tell(&scene, TO_BUDGET, ByteSize::ZERO);
    assert_eq!(evicted(&things), [1]);
    tell(&scene, TO_BUDGET, ByteSize::MAX);
    assert_eq!(evicted(&things), [1, 2, 3, 4]);
    scene.finish_work(busy);
    end(scene, &queue, things);
}

#[test]
fn only_who_may_do_things_in_the_background_hears_and_only_where_there_is_something_to_hear() {
    let scene = Scene::new(budget(1000));
    assert_eq!(scene.instance.trim(PERIODIC, ByteSize::ZERO).expect("allowed"), 0);
    for profile in ["old-ddi", "first-generation"] {
        let scene = Scene::of_profile(profile, hearing());
        assert_eq!(scene.instance.trim(PERIODIC, ByteSize::ZERO).expect("allowed"), 0, "{profile}");
        let (queue, things) = (scene.queue(), scene.things(1));
        scene.run(&queue, &[&scene.write(&things[0]), &scene.work(&things)]);
        scene.end(things);
    }
}

/// On the simulated GPU: no Vulkan driver tells programs to trim, so the Vulkan device has no such notifications
/// (E_NOTIMPL).
#[test]
fn managers_of_a_device_hear_by_themselves_until_they_are_dropped() {
    let scene = Scene::simulated(hearing());
    let told = || scene.instance.trim(PERIODIC, ByteSize::ZERO).expect("allowed");
    // The thread of a dropped manager may still be running, and ends the registration afterwards.
    let hear = |count| until("so many hear it", || told() == count);
    let new = || ResidencyManager::new(&scene.device, Some(&scene.instance.adapter), hearing());
    // D3D12 registers a function only once: each manager needs a function of its own, and there are eight.
    let mut managers: Vec<_> = (1..8).map(|_| new().expect("sound")).collect();
    hear(8);
    let deaf = new().expect("no notifications are no error");
    hear(8);
    drop(deaf);
    let clone = managers[0].clone();
    for left in (1..8).rev() {
        managers.remove(0);
        hear(left + 1); // one has another handle
    }
    drop(clone);
    hear(1);
    // A function that is free again.
    let next = new().expect("sound");
    hear(2);
    drop(next);
    // Without an adapter, the device sends notifications all the same.
    let next = ResidencyManager::new(&scene.device, None, hearing()).expect("sound");
    hear(2);
    scene.end(next);
}

unsafe extern "system" fn drop_a_manager(notification: *const D3D12_TRIM_NOTIFICATION) {
    let context = unsafe { &*notification }.pContext;
    let slot = unsafe { &*context.cast::<Mutex<Option<ResidencyManager>>>().cast_const() };
    drop(slot.lock().expect("no panic").take());
}

#[test]
fn the_last_handle_may_go_in_somebody_elses_callback() {
    let instance = open("discrete");
    let manager = ResidencyManager::new(&instance.device, Some(&instance.adapter), hearing());
    let slot = Mutex::new(Some(manager.expect("sound")));
    let device: ID3D12Device15 = instance.device.cast().expect("the newest device");
    let mut data = D3D12_REGISTER_TRIM_NOTIFICATION {
        pfnCallback: Some(drop_a_manager),
        pContext: std::ptr::from_ref(&slot).cast_mut().cast::<c_void>(),
        CallbackCookie: 0,
    };
    assert_eq!(unsafe { device.RegisterTrimNotificationCallback(&raw mut data) }, S_OK);
    let told = || instance.trim(PERIODIC, ByteSize::ZERO).expect("allowed");
    assert_eq!(told(), 2);
    assert!(slot.lock().expect("no panic").is_none(), "it was dropped there");
    // A registration cannot end in its callback; it ends by itself afterwards.
    until("its registration has ended", || told() == 1);
    assert_eq!(unsafe { device.UnregisterTrimNotificationCallback(data.CallbackCookie) }, S_OK);
}

#[test]
fn managers_come_and_go_while_notifications_arrive() {
    let instance = open("discrete");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                instance.trim(PERIODIC | TO_BUDGET, mib(1)).expect("allowed");
            }
        });
        for _ in 0..50 {
            let manager = ResidencyManager::new(&instance.device, Some(&instance.adapter), hearing());
            let manager = manager.expect("sound");
            instance.trim(PERIODIC, ByteSize::ZERO).expect("allowed");
            drop(manager);
        }
        done.store(true, Ordering::Relaxed);
    });
    until("nobody hears it", || instance.trim(PERIODIC, ByteSize::ZERO).expect("allowed") == 0);
}
