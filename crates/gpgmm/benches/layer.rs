//! The cost of the C++ layer: create and release of a placed buffer, by the methods that C++ calls and by the Rust calls behind
//! them, in one run.
//!
//! `cargo bench -p heapwright-gpgmm`. Batches of the two alternate, so that the machine's other load affects both, and each batch uses
//! another allocator, because where an allocator is in memory matters as much. The result is the median of each, and the median of
//! the differences of neighbouring batches.
#![allow(clippy::print_stdout, reason = "the result")]
#![allow(unused_crate_dependencies, reason = "of the tests")]

use std::ffi::c_void;
use std::time::{Duration, Instant};

use gpgmm_d3d12::exports::GpgmmCreateResourceAllocator;
use heapwright::d3d12::*;
use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{HRESULT, Interface};

/// Number of allocators of each kind.
const ALLOCATORS: usize = 32;
const BATCHES: usize = 4000;
const PAIRS: u32 = 500;

/// `RESOURCE_ALLOCATION_DESC`.
#[repr(C)]
struct AllocationDesc {
    flags: u32,
    heap_type: D3D12_HEAP_TYPE,
    extra_required_heap_flags: D3D12_HEAP_FLAGS,
    extra_required_resource_padding: u64,
}

type CreateResource = unsafe extern "system" fn(
    *mut c_void,
    *const AllocationDesc,
    *const D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_STATES,
    *const c_void,
    *mut *mut c_void,
) -> HRESULT;
type Release = unsafe extern "system" fn(*mut c_void) -> u32;

/// CreateResource's place in the table of methods of IResourceAllocator.
const CREATE_RESOURCE: usize = if cfg!(windows) { 6 } else { 5 };
const RELEASE: usize = 2;

/// Returns a method of an object.
///
/// # Safety
///
/// The object has this method, of type `M`, a function pointer.
unsafe fn method<M>(object: *mut c_void, index: usize) -> M {
    // SAFETY: the caller's promise.
    unsafe { object.cast::<*const usize>().read().add(index).cast::<M>().read() }
}

fn main() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a simulated GPU");
    let buffer = buffer_desc(ByteSize::from_kib(4));
    let state = D3D12_RESOURCE_STATE_COMMON;
    let desc = ResourceAllocationDesc::new(HeapType::Default);
    let create_rust =
        || ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default()).expect("an allocator");
    let create_cpp = || {
        let mut cpp = std::ptr::null_mut();
        // All members are zero, the defaults.
        let zeros = [0_u64; 32];
        // SAFETY: the description is larger than the structure, and the objects are alive.
        let created = unsafe {
            let (device, adapter) = (gpu.device.as_raw(), gpu.adapter.as_raw());
            GpgmmCreateResourceAllocator(
                zeros.as_ptr().cast(),
                device,
                adapter,
                std::ptr::null_mut(),
                &mut cpp,
            )
        };
        assert_eq!(created, S_OK);
        cpp
    };
    let pairs: Vec<_> = (0..ALLOCATORS).map(|_| (create_rust(), create_cpp())).collect();
    let cpp_desc = AllocationDesc {
        flags: 0,
        heap_type: D3D12_HEAP_TYPE_DEFAULT,
        extra_required_heap_flags: 0,
        extra_required_resource_padding: 0,
    };
    let by_methods = |cpp| {
        let mut made = std::ptr::null_mut();
        // SAFETY: IResourceAllocator has this method, with valid parameters.
        unsafe {
            let create: CreateResource = method(cpp, CREATE_RESOURCE);
            let result = create(cpp, &cpp_desc, &buffer, state, std::ptr::null(), &mut made);
            assert_eq!(result, S_OK);
        }
        made
    };
    let release = |object: *mut c_void| {
        // SAFETY: every object has Release.
        unsafe { method::<Release>(object, RELEASE)(object) }
    };
    // Keep the heaps.
    let create =
        |rust: &ResourceAllocator| rust.create_resource(&desc, &buffer, state, None).expect("a buffer");
    let first: Vec<_> = pairs.iter().map(|(rust, cpp)| (create(rust), by_methods(*cpp))).collect();

    let mut times: Vec<(Duration, Duration)> = Vec::with_capacity(BATCHES);
    for (rust, cpp) in pairs.iter().cycle().take(BATCHES) {
        let start = Instant::now();
        for _ in 0..PAIRS {
            drop(create(rust));
        }
        let by_rust = start.elapsed();
        let start = Instant::now();
        for _ in 0..PAIRS {
            assert_eq!(release(by_methods(*cpp)), 0);
        }
        times.push((by_rust, start.elapsed()));
    }
    for ((_, first), (_, cpp)) in first.into_iter().zip(pairs) {
        assert_eq!(release(first), 0);
        assert_eq!(release(cpp), 0);
    }

    let nanoseconds = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(PAIRS);
    let median = |of: &dyn Fn(&(Duration, Duration)) -> f64| {
        let mut values: Vec<f64> = times[BATCHES / 10..].iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!("create and release of a placed buffer of 4 KiB, median of {BATCHES} batches of {PAIRS}:");
    println!("  Rust        {:7.1} ns", median(&|times| nanoseconds(times.0)));
    println!("  C++ methods {:7.1} ns", median(&|times| nanoseconds(times.1)));
    println!("  difference  {:7.1} ns", median(&|times| nanoseconds(times.1) - nanoseconds(times.0)));
}
