//! Memory that one thread is releasing while another releases everything.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use heapwright_d3d12::ID3DDestructionNotifier;

use crate::gpu::*;

/// Where a thread is while a resource is destroyed.
struct Pause {
    begins: Sender<()>,
    /// Whether the other thread did what it does meanwhile.
    ends: Mutex<Receiver<()>>,
}

unsafe extern "system" fn pause(data: *mut c_void) {
    // SAFETY: the test passes a pause that outlives the resource.
    let pause = unsafe { &*data.cast::<Pause>() };
    pause.begins.send(()).expect("the test waits for it");
    // A thread that waits for this one never does it.
    let _ = pause.ends.lock().expect("not poisoned").recv_timeout(Duration::from_millis(300));
}

#[test]
fn a_heap_that_becomes_empty_in_another_threads_release_is_released_too() {
    type Pass = fn(&ResourceAllocator);
    let passes: [Pass; 2] = [
        |allocator| allocator.on_time(Duration::from_secs(10)),
        |allocator| (0..200).for_each(|_| allocator.end_frame()),
    ];
    for (pass, is_nested) in passes.into_iter().flat_map(|pass| [false, true].map(|nested| (pass, nested))) {
        let gpu = open("discrete");
        let desc = of_policy(LeastMemory);
        let parent = allocator(&gpu, desc.clone());
        let nested = nested_in(&parent, desc);
        let (begins, begun) = channel();
        let (end, ends) = channel();
        let state = Pause { begins, ends: Mutex::new(ends) };
        let of = if is_nested { &nested } else { &parent };
        let part = create(of, &place(HeapType::Upload, WITHIN), &buffer_of(1000));
        {
            let notifier: ID3DDestructionNotifier = part.resource().cast().expect("every object has it");
            // SAFETY: the state outlives the resource, which the allocator releases below.
            unsafe {
                notifier.RegisterDestructionCallback(Some(pause), (&raw const state).cast_mut().cast())
            }
            .expect("a callback");
        }
        drop(part);
        std::thread::scope(|scope| {
            scope.spawn(|| pass(&parent));
            begun.recv().expect("the buffer is released");
            for one in [&parent, &nested] {
                one.release_empty_heaps();
            }
            end.send(()).expect("the thread waits, or has waited");
        });
        assert_eq!([parent.reserved(), nested.reserved()], [ByteSize::ZERO; 2]);
    }
}
