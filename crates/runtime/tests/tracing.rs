//! Events that the runtime sends to `tracing`. This is a test program of its own: callsites are cached for
//! the whole process, so another test's thread without a subscriber could hide the event that this one
//! waits for.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

use std::sync::{Arc, Mutex};

use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use tracing::Level;
use windows_core::Interface;

/// Records the levels of the events on this thread.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Level>>>);

impl tracing::Subscriber for Events {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        self.0.lock().expect("no panics").push(*event.metadata().level());
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn refusals_reach_tracing_by_severity_unless_muted() {
    let events = Events::default();
    tracing::subscriber::with_default(events.clone(), || {
        let gpu =
            Instance::open(HostProfile::find("discrete-2gib").expect("exists")).expect("a fresh instance");
        let queue: ID3D12InfoQueue1 = gpu.device.cast().expect("the debug layer is on");
        let create = |size| {
            let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
            let desc = D3D12_HEAP_DESC { SizeInBytes: size, Properties: properties, ..Default::default() };
            let mut heap: Option<ID3D12Heap> = None;
            unsafe { gpu.device.CreateHeap(&desc, &mut heap) }.expect_err("refused");
        };
        create(0);
        assert_eq!(unsafe { gpu.device.SetStablePowerState(true) }, E_NOTIMPL);
        create(1 << 40);
        unsafe { queue.SetMuteDebugOutput(true) };
        create(0);
        unsafe { queue.SetMuteDebugOutput(false) };
        create(0);
    });
    let seen = events.0.lock().expect("no panics").clone();
    // The muted message is not traced.
    assert_eq!(seen, [Level::ERROR, Level::WARN, Level::INFO, Level::ERROR]);
}
