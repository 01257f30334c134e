use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface;

use crate::{Intercepted, intercept};

fn newest(gpu: &Instance) -> ID3D12Device14 {
    gpu.device.cast().expect("the newest interface of its chain")
}

/// Adds `nodes` to the number of nodes of a device.
fn add_nodes(gpu: &Instance, nodes: &'static AtomicU64) {
    // SAFETY: this is the newest interface, and one thread uses the device. The replacement has no contract.
    unsafe {
        intercept(&newest(gpu), nodes, |methods| {
            methods.of::<ID3D12Device>().replace(method!(GetNodeCount), |call, ()| {
                let count = (call.original.GetNodeCount)(call.this);
                count + u32::try_from(call.data.load(Ordering::Relaxed)).expect("few")
            });
        });
    }
}

fn nodes(device: &ID3D12Device) -> u32 {
    // SAFETY: a live COM object.
    unsafe { device.GetNodeCount() }
}

fn leak(nodes: u64) -> &'static AtomicU64 {
    Box::leak(Box::new(AtomicU64::new(nodes)))
}

fn open() -> Instance {
    Instance::open(HostProfile::default_profile()).expect("a fresh instance")
}

#[test]
fn one_object_is_intercepted_through_all_its_interfaces() {
    let (gpu, other) = (open(), open());
    let more = leak(1);
    add_nodes(&gpu, more);
    assert_eq!(
        (nodes(&gpu.device), nodes(&newest(&gpu).cast().expect("it is one")), nodes(&other.device)),
        (2, 2, 1)
    );
    more.store(5, Ordering::Relaxed);
    assert_eq!(nodes(&gpu.device), 6, "the data is shared with the test");
}

#[test]
fn a_second_interception_replaces_the_first() {
    let gpu = open();
    add_nodes(&gpu, leak(1));
    add_nodes(&gpu, leak(10));
    assert_eq!(nodes(&gpu.device), 11);
    let again = leak(100);
    add_nodes(&gpu, again);
    add_nodes(&gpu, again);
    assert_eq!(nodes(&gpu.device), 101);
}

#[test]
fn objects_with_the_same_data_share_a_table() {
    let (first, second) = (open(), open());
    let more = leak(1);
    add_nodes(&first, more);
    // SAFETY: as in `add_nodes`; the table exists already.
    unsafe { intercept(&newest(&second), more, |_| unreachable!("a second table")) };
    assert_eq!(nodes(&second.device), 2);
}

#[test]
fn a_method_that_returns_a_structure_is_replaced() {
    let gpu = open();
    let data = leak(0);
    // SAFETY: as in `add_nodes`; the original gets the arguments that its caller passed.
    unsafe {
        intercept(&newest(&gpu), data, |methods| {
            methods.of::<ID3D12Device>().replace(
                method!(GetCustomHeapProperties),
                |call, (out, mask, heap_type)| {
                    call.data.fetch_add(1, Ordering::Relaxed);
                    let out = (call.original.GetCustomHeapProperties)(call.this, out, mask, heap_type);
                    (*out).VisibleNodeMask = 77;
                    out
                },
            );
        });
        let properties = gpu.device.GetCustomHeapProperties(0, D3D12_HEAP_TYPE_UPLOAD);
        assert_eq!(
            (properties.VisibleNodeMask, properties.CPUPageProperty),
            (77, D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE)
        );
        let call = Intercepted::<ID3D12Device, AtomicU64>::new(gpu.device.as_raw());
        assert_eq!((call.data.load(Ordering::Relaxed), call.object()), (1, &gpu.device));
        assert_eq!((call.original.GetNodeCount)(call.this), 1);
    }
}
