//! Memory that this process allocates from the operating system, as a region of its own.

use std::ffi::c_void;
use std::ptr::NonNull;

/// Zeroed memory that begins at a multiple of 64 KiB. Its neighbours are no memory, so it is a whole region.
///
/// # Invariants
///
/// `start` is the first of `len` readable and writable bytes, which live as long as the value.
pub(crate) struct Pages {
    start: NonNull<u8>,
    len: usize,
    /// What the system returned, and its size.
    allocation: (*mut c_void, usize),
}

impl Pages {
    /// Allocates `len` bytes, a multiple of 64 KiB, or returns `None` if the system has none or its calls are unknown
    /// here.
    pub(crate) fn new(len: usize) -> Option<Self> {
        let (start, allocation) = system::allocate(len)?;
        Some(Self { start: NonNull::new(start.cast())?, len, allocation })
    }

    /// Returns the address of the byte at an offset, which may lie beyond the end.
    pub(crate) fn address(&self, offset: usize) -> *const c_void {
        self.start.as_ptr().wrapping_add(offset).cast()
    }

    /// Returns a copy of all bytes.
    pub(crate) fn read(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        // SAFETY: both have len bytes, and the target is new. Checks read after the queue has finished.
        unsafe { self.start.as_ptr().copy_to_nonoverlapping(bytes.as_mut_ptr(), self.len) };
        bytes
    }

    /// Overwrites the first bytes.
    pub(crate) fn write(&self, bytes: &[u8]) {
        assert!(bytes.len() <= self.len, "the bytes fit");
        // SAFETY: the pages have as many bytes, as was just checked. Checks write before the queue begins.
        unsafe { self.start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        system::free(self.allocation);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::c_void;
    use std::ptr::null_mut;

    const KIB_64: usize = 64 << 10;

    /// Returns the beginning of `len` bytes, and the mapping that contains them and memory without access on both
    /// sides, without which the kernel could merge the region with its neighbours.
    pub(super) fn allocate(len: usize) -> Option<(*mut c_void, (*mut c_void, usize))> {
        let total = len.checked_add(3 * KIB_64)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: an anonymous mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap(null_mut(), total, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let start = base.map_addr(|address| (address + 1).next_multiple_of(KIB_64));
        // SAFETY: the mapping just made contains these pages, and they begin and end at multiples of 64 KiB.
        let accessible = unsafe { libc::mprotect(start, len, libc::PROT_READ | libc::PROT_WRITE) } == 0;
        if !accessible {
            free((base, total));
            return None;
        }
        Some((start, (base, total)))
    }

    pub(super) fn free((base, total): (*mut c_void, usize)) {
        // SAFETY: the mapping is that of allocate, and its owner is gone.
        unsafe { libc::munmap(base, total) };
    }
}

#[cfg(windows)]
mod system {
    use std::ffi::c_void;

    use heapwright_d3d12::{MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree};

    /// Returns the beginning of `len` bytes, twice. Windows allocates at multiples of 64 KiB.
    pub(super) fn allocate(len: usize) -> Option<(*mut c_void, (*mut c_void, usize))> {
        let (kind, protection) = ((MEM_COMMIT | MEM_RESERVE).cast_unsigned(), PAGE_READWRITE.cast_unsigned());
        // SAFETY: new memory at an address that the system chooses.
        let start = unsafe { VirtualAlloc(None, len, kind, protection) };
        (!start.is_null()).then_some((start, (start, len)))
    }

    pub(super) fn free((base, _): (*mut c_void, usize)) {
        // SAFETY: the memory is that of allocate, and its owner is gone.
        let _ = unsafe { VirtualFree(base, 0, MEM_RELEASE.cast_unsigned()) };
    }
}

#[cfg(not(any(windows, target_os = "linux")))]
mod system {
    use std::ffi::c_void;

    pub(super) fn allocate(_len: usize) -> Option<(*mut c_void, (*mut c_void, usize))> {
        None
    }

    pub(super) fn free(_allocation: (*mut c_void, usize)) {}
}
