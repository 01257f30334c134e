//! Heaps over memory that the program allocated: `OpenExistingHeapFromAddress`.

use std::ffi::c_void;
use std::ptr::null;

use heapwright_d3d12::*;
use windows_core::HRESULT;

use crate::gpu::*;

const SIZE: usize = 256 << 10;

/// Memory of the process with a region of its own.
struct Pages(*mut c_void);

#[cfg(target_os = "linux")]
impl Pages {
    /// Allocates pages. The kernel merges adjacent mappings, so pages that cannot be accessed are on both sides.
    fn new() -> Self {
        let (protection, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let all = unsafe { libc::mmap(std::ptr::null_mut(), 3 * SIZE, protection, flags, -1, 0) };
        assert_ne!(all, libc::MAP_FAILED);
        let pages = all.wrapping_byte_add(SIZE);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        assert_eq!(unsafe { libc::mprotect(pages, SIZE, access) }, 0);
        Self(pages)
    }

    fn protect(&self) {
        assert_eq!(unsafe { libc::mprotect(self.0, SIZE, libc::PROT_READ) }, 0);
    }
}

#[cfg(target_os = "linux")]
impl Drop for Pages {
    fn drop(&mut self) {
        unsafe { libc::munmap(self.0.wrapping_byte_sub(SIZE), 3 * SIZE) };
    }
}

#[cfg(windows)]
impl Pages {
    fn new() -> Self {
        let (kind, protection) = ((MEM_COMMIT | MEM_RESERVE).cast_unsigned(), PAGE_READWRITE.cast_unsigned());
        let pages = unsafe { VirtualAlloc(None, SIZE, kind, protection) };
        assert!(!pages.is_null());
        Self(pages)
    }

    /// Leaves the pages without memory, which is as little to access as pages that are only read.
    fn protect(&self) {
        // MEM_DECOMMIT.
        assert!(unsafe { VirtualFree(self.0, SIZE, 0x4000) }.as_bool());
    }
}

#[cfg(windows)]
impl Drop for Pages {
    fn drop(&mut self) {
        let _ = unsafe { VirtualFree(self.0, 0, MEM_RELEASE.cast_unsigned()) };
    }
}

impl Pages {
    #[allow(clippy::mut_from_ref, reason = "the pages are shared with the GPU")]
    fn bytes(&self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.0.cast(), SIZE) }
    }
}

fn open_heap(device: &ID3D12Device14, address: *const c_void) -> Result<ID3D12Heap, HRESULT> {
    unsafe { device.OpenExistingHeapFromAddress(address) }.map_err(|error| error.code())
}

fn open_part(device: &ID3D12Device14, address: *const c_void, size: usize) -> Result<ID3D12Heap, HRESULT> {
    unsafe { device.OpenExistingHeapFromAddress1(address, size) }.map_err(|error| error.code())
}

fn shared_buffer(device: &ID3D12Device14, heap: &ID3D12Heap, offset: u64, width: u64) -> ID3D12Resource {
    let desc = buffer_desc(width, D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
    placed(device, heap, offset, &desc, D3D12_RESOURCE_STATE_COMMON).expect("a buffer")
}

/// The GPU and the program see the same bytes, in both directions.
#[test]
fn the_gpu_reads_and_writes_the_pages() {
    let (device, queue) = open_direct();
    let pages = Pages::new();
    for (at, byte) in pages.bytes().iter_mut().enumerate() {
        *byte = u8::try_from(at / 256 % 251).expect("a remainder");
    }
    let heap = open_heap(&device, pages.0).expect("a whole region");
    let desc = unsafe { heap.GetDesc() };
    assert_eq!(desc.SizeInBytes, SIZE as u64);
    assert_eq!(desc.Properties.Type, D3D12_HEAP_TYPE_CUSTOM);
    assert_eq!(desc.Properties.CPUPageProperty, D3D12_CPU_PAGE_PROPERTY_WRITE_BACK);
    assert_eq!(desc.Properties.MemoryPoolPreference, D3D12_MEMORY_POOL_L0);
    assert_eq!(desc.Flags, D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);

    let (half, start) = (SIZE as u64 / 2, 64 << 10);
    let buffer = shared_buffer(&device, &heap, start, half);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, half);
    unsafe { queue.list.CopyBufferRegion(&readback, 0, &buffer, 0, half) };
    queue.run();
    let first = usize::try_from(start).expect("small");
    assert!(bytes(&readback) == &pages.bytes()[first..first + SIZE / 2], "the GPU read the program's bytes");
    assert_eq!(bytes(&buffer).as_ptr().addr(), pages.0.addr() + first, "Map returns the pages");

    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, half);
    bytes(&upload).fill(0x5a);
    unsafe { queue.list.CopyBufferRegion(&buffer, 0, &upload, 0, half) };
    queue.run();
    let (before, after) = pages.bytes().split_at(first);
    assert!(after[..SIZE / 2].iter().all(|&byte| byte == 0x5a), "the program reads the GPU's bytes");
    assert_eq!((before[first - 1], after[SIZE / 2]), (4, 15), "no other bytes were written");

    drop((buffer, heap));
    assert_eq!(pages.bytes()[first], 0x5a, "the pages are the program's still");
}

#[test]
fn other_addresses_are_refused() {
    let device = open();
    let pages = Pages::new();
    for (address, what) in [
        (null(), "null"),
        (pages.0.wrapping_byte_add(1).cast_const(), "no page"),
        (pages.0.wrapping_byte_add(4096).cast_const(), "not the beginning of the region"),
        (pages.0.wrapping_byte_sub(4096).cast_const(), "no memory, or memory that cannot be accessed"),
    ] {
        assert_eq!(open_heap(&device, address).map(drop), Err(E_INVALIDARG), "{what}");
    }
    pages.protect();
    assert_eq!(open_heap(&device, pages.0).map(drop), Err(E_INVALIDARG), "pages that cannot be written");
    assert_eq!(
        open_part(&device, pages.0, SIZE).map(drop),
        Err(E_INVALIDARG),
        "pages that cannot be written"
    );
}

#[test]
fn a_heap_may_be_a_part_of_a_region() {
    let device = open();
    let pages = Pages::new();
    let part = open_part(&device, pages.0.wrapping_byte_add(64 << 10), 64 << 10).expect("a part");
    assert_eq!(unsafe { part.GetDesc() }.SizeInBytes, 64 << 10);
    let buffer = shared_buffer(&device, &part, 0, 64 << 10);
    bytes(&buffer).fill(9);
    assert_eq!(pages.bytes()[(64 << 10) - 1..(64 << 10) + 1], [0, 9]);
    assert_eq!(pages.bytes()[(128 << 10) - 1..(128 << 10) + 1], [9, 0]);
    for (size, what) in [(0, "nothing"), (100, "a part of a page"), (1 << 46, "more than any region")] {
        assert_eq!(open_part(&device, pages.0, size).map(drop), Err(E_INVALIDARG), "{what}");
    }
}

/// Such a heap is shared across adapters, so other resources do not fit in it.
#[test]
fn resources_allow_other_adapters() {
    let device = open();
    let pages = Pages::new();
    let heap = open_heap(&device, pages.0).expect("a whole region");
    let desc = buffer_desc(64 << 10, D3D12_RESOURCE_FLAG_NONE);
    let refused = placed(&device, &heap, 0, &desc, D3D12_RESOURCE_STATE_COMMON);
    assert_eq!(code(refused), E_INVALIDARG);
}

#[test]
fn the_feature_says_so() {
    let data = D3D12_FEATURE_DATA_EXISTING_HEAPS::default();
    let (answer, data) = feature(&open(), D3D12_FEATURE_EXISTING_HEAPS, data);
    assert_eq!((answer, data.Supported.as_bool()), (S_OK, true));
}
