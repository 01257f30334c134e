//! The cost of the C++ layers: create and release of a placed buffer, by the methods of GPGMM's and of D3D12MA's API
//! that C++ calls, and by the Rust calls behind them, in one run.
//!
//! `cargo bench -p heapwright-gpgmm`. Batches of the three alternate, so that the machine's other load affects all, and
//! each batch uses another allocator, because where an allocator is in memory matters as much. The result is the median
//! of each, and the median of the differences of neighbouring batches.
#![allow(clippy::print_stdout, reason = "the result")]
#![allow(unused_crate_dependencies, reason = "of the tests")]

use std::ffi::c_void;
use std::time::{Duration, Instant};

use gpgmm_d3d12::exports::{GpgmmCreateResourceAllocator, HeapwrightCreateD3D12MAAllocator};
use heapwright::d3d12::*;
use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{GUID, HRESULT, Interface};

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
/// `D3D12MA::ALLOCATOR_DESC`.
#[repr(C)]
struct MaAllocatorDesc {
    flags: u32,
    device: *mut c_void,
    preferred_block_size: u64,
    callbacks: *const c_void,
    adapter: *mut c_void,
}

/// `D3D12MA::ALLOCATION_DESC`.
#[repr(C)]
struct MaAllocationDesc {
    flags: u32,
    heap_type: D3D12_HEAP_TYPE,
    extra_heap_flags: D3D12_HEAP_FLAGS,
    pool: *mut c_void,
    private_data: *mut c_void,
}

type MaCreateResource = unsafe extern "system" fn(
    *mut c_void,
    *const MaAllocationDesc,
    *const D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_STATES,
    *const c_void,
    *mut *mut c_void,
    *const GUID,
    *mut *mut c_void,
) -> HRESULT;

type Release = unsafe extern "system" fn(*mut c_void) -> u32;

/// CreateResource's place in the table of methods of IResourceAllocator.
const CREATE_RESOURCE: usize = if cfg!(windows) { 6 } else { 5 };
/// In that of D3D12MA's Allocator.
const MA_CREATE_RESOURCE: usize = 9;
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
    let create_ma = || {
        let mut ma = std::ptr::null_mut();
        let (device, adapter, callbacks) = (gpu.device.as_raw(), gpu.adapter.as_raw(), std::ptr::null());
        // Small buffers are placed.
        let desc = MaAllocatorDesc { flags: 0x10, device, preferred_block_size: 0, callbacks, adapter };
        // SAFETY: the structures have the same layout, and the objects are alive.
        let created =
            unsafe { HeapwrightCreateD3D12MAAllocator((&raw const desc).cast(), std::ptr::null(), &mut ma) };
        assert_eq!(created, S_OK);
        ma
    };
    let allocators: Vec<_> = (0..ALLOCATORS).map(|_| (create_rust(), create_cpp(), create_ma())).collect();
    let cpp_desc = AllocationDesc {
        flags: 0,
        heap_type: D3D12_HEAP_TYPE_DEFAULT,
        extra_required_heap_flags: 0,
        extra_required_resource_padding: 0,
    };
    let by_gpgmm = |cpp| {
        let mut made = std::ptr::null_mut();
        // SAFETY: IResourceAllocator has this method, with valid parameters.
        unsafe {
            let create: CreateResource = method(cpp, CREATE_RESOURCE);
            let result = create(cpp, &cpp_desc, &buffer, state, std::ptr::null(), &mut made);
            assert_eq!(result, S_OK);
        }
        made
    };
    let ma_desc = MaAllocationDesc {
        flags: 0,
        heap_type: D3D12_HEAP_TYPE_DEFAULT,
        extra_heap_flags: 0,
        pool: std::ptr::null_mut(),
        private_data: std::ptr::null_mut(),
    };
    let by_d3d12ma = |ma| {
        let mut made = std::ptr::null_mut();
        let (none, no_id) = (std::ptr::null_mut(), GUID::zeroed());
        // SAFETY: Allocator has this method, with valid parameters.
        unsafe {
            let create: MaCreateResource = method(ma, MA_CREATE_RESOURCE);
            let result = create(ma, &ma_desc, &buffer, state, std::ptr::null(), &mut made, &no_id, none);
            assert_eq!(result, S_OK);
        }
        made
    };
    let release = |object: *mut c_void| {
        // SAFETY: every object has Release.
        unsafe { method::<Release>(object, RELEASE)(object) }
    };
    let create =
        |rust: &ResourceAllocator| rust.create_resource(&desc, &buffer, state, None).expect("a buffer");
    // Keep the heaps.
    let first: Vec<_> =
        allocators.iter().map(|(rust, cpp, ma)| (create(rust), by_gpgmm(*cpp), by_d3d12ma(*ma))).collect();

    let mut times: Vec<[Duration; 3]> = Vec::with_capacity(BATCHES);
    for (rust, cpp, ma) in allocators.iter().cycle().take(BATCHES) {
        let batch = |pair: &dyn Fn()| {
            let start = Instant::now();
            (0..PAIRS).for_each(|_| pair());
            start.elapsed()
        };
        times.push([
            batch(&|| drop(create(rust))),
            batch(&|| assert_eq!(release(by_gpgmm(*cpp)), 0)),
            batch(&|| assert_eq!(release(by_d3d12ma(*ma)), 0)),
        ]);
    }
    for ((_, gpgmm, d3d12ma), (_, cpp, ma)) in first.into_iter().zip(allocators) {
        for object in [gpgmm, d3d12ma, cpp, ma] {
            assert_eq!(release(object), 0);
        }
    }

    let nanoseconds = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(PAIRS);
    let median = |of: &dyn Fn(&[Duration; 3]) -> f64| {
        let mut values: Vec<f64> = times[BATCHES / 10..].iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!("create and release of a placed buffer of 4 KiB, median of {BATCHES} batches of {PAIRS}:");
    println!("  Rust          {:7.1} ns", median(&|times| nanoseconds(times[0])));
    for (name, index) in [("GPGMM's API  ", 1), ("D3D12MA's API", 2)] {
        let (all, more) = (
            median(&|times| nanoseconds(times[index])),
            median(&|times| nanoseconds(times[index]) - nanoseconds(times[0])),
        );
        println!("  {name} {all:7.1} ns, {more:+.1} ns");
    }
}
