//! Host address space that is committed only where it is used.

use std::ptr::NonNull;

use heapwright_core::ByteSize;

/// A range of host addresses, zero-filled on first use and released when dropped.
///
/// Unix allocates pages when they are first touched. Windows requires an explicit commit and counts it against the
/// commit limit, so [`commit`](Self::commit) commits only the range that is about to be used.
///
/// # Invariants
///
/// `base` is the start of a live mapping of exactly `len` bytes that nothing else unmaps.
#[derive(Debug)]
pub(super) struct Reservation {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and the type itself never reads or writes it.
unsafe impl Send for Reservation {}
// SAFETY: as above; `commit` only calls the operating system, which synchronises.
unsafe impl Sync for Reservation {}

/// The pages that a reservation prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// Small ones, as few of the bytes may ever be used.
    Small,
    /// Huge ones, as all of the bytes will be used.
    #[cfg_attr(
        not(feature = "vulkan"),
        expect(dead_code, reason = "a simulated GPU allocates little by little")
    )]
    Huge,
}

impl Reservation {
    /// Reserves `size` bytes. Returns `None` if the address space or the system's limits do not allow it.
    pub(super) fn new(size: ByteSize, pages: Pages) -> Option<Self> {
        let len = usize::try_from(size.get()).ok()?;
        os::reserve(len, pages).map(|base| Self { base, len })
    }

    /// Has child processes not inherit the bytes. If the system does not support that, they inherit copies.
    #[cfg_attr(
        not(feature = "vulkan"),
        expect(dead_code, reason = "only devices that access the bytes need that")
    )]
    pub(super) fn keep_from_children(&self) {
        os::keep_from_children(self.base, self.len);
    }

    /// Returns a pointer to byte `offset`, with `size` bytes from there ready for use. Returns `None` outside of the
    /// reservation or if the system cannot commit more memory.
    pub(super) fn commit(&self, offset: u64, size: u64) -> Option<NonNull<u8>> {
        let end = offset.checked_add(size)?;
        if end > u64::try_from(self.len).ok()? {
            return None;
        }
        let offset = usize::try_from(offset).ok()?;
        let size = usize::try_from(size).ok()?;
        // SAFETY: offset <= len was just checked, so the result is within the mapping or one past its end.
        let start = unsafe { self.base.add(offset) };
        os::commit(start, size).then_some(start)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: base and len are a live mapping that this value owns (type invariant), and pointers into it
        // are valid only as long as the value lives (contract of `DriverHeap::map`).
        unsafe { os::release(self.base, self.len) };
    }
}

#[cfg(unix)]
mod os {
    use std::ptr::NonNull;

    use super::Pages;

    pub(super) fn reserve(len: usize, pages: Pages) -> Option<NonNull<u8>> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the system's choice touches no existing memory.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if base == libc::MAP_FAILED {
            return None;
        }
        #[cfg(target_os = "linux")]
        {
            let advice = match pages {
                Pages::Small => libc::MADV_NOHUGEPAGE,
                Pages::Huge => libc::MADV_HUGEPAGE,
            };
            // SAFETY: base and len are the mapping made above; the advice changes no contents. Systems without huge
            // pages may refuse it.
            unsafe { libc::madvise(base, len, advice) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = pages;
        NonNull::new(base.cast())
    }

    /// `base` and `len` are a mapping made by `reserve`.
    pub(super) fn keep_from_children(base: NonNull<u8>, len: usize) {
        #[cfg(target_os = "linux")]
        // SAFETY: the advice changes no contents of this process, whatever the range is.
        unsafe {
            libc::madvise(base.as_ptr().cast(), len, libc::MADV_DONTFORK)
        };
        #[cfg(not(target_os = "linux"))]
        let _ = (base, len);
    }

    pub(super) fn commit(_start: NonNull<u8>, _size: usize) -> bool {
        true
    }

    /// # Safety
    ///
    /// `base` and `len` must be a mapping made by `reserve` that is no longer in use.
    pub(super) unsafe fn release(base: NonNull<u8>, len: usize) {
        // SAFETY: the caller's promise.
        let result = unsafe { libc::munmap(base.as_ptr().cast(), len) };
        debug_assert_eq!(result, 0, "munmap of a mapping from `reserve` cannot fail");
    }
}

#[cfg(windows)]
mod os {
    use std::ptr::NonNull;

    use heapwright_d3d12::{
        MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc, VirtualFree,
    };

    use super::Pages;

    /// Large pages require a privilege that few programs have.
    pub(super) fn reserve(len: usize, _pages: Pages) -> Option<NonNull<u8>> {
        // SAFETY: reserving at an address of the system's choice touches no existing memory.
        let base =
            unsafe { VirtualAlloc(None, len, MEM_RESERVE.cast_unsigned(), PAGE_NOACCESS.cast_unsigned()) };
        NonNull::new(base.cast())
    }

    /// Child processes never inherit memory.
    pub(super) fn keep_from_children(_base: NonNull<u8>, _len: usize) {}

    pub(super) fn commit(start: NonNull<u8>, size: usize) -> bool {
        let start = start.as_ptr().cast_const().cast();
        // SAFETY: the range lies in a reservation that the caller borrows; committing pages that are committed
        // already keeps their contents.
        let committed = unsafe {
            VirtualAlloc(Some(start), size, MEM_COMMIT.cast_unsigned(), PAGE_READWRITE.cast_unsigned())
        };
        size == 0 || !committed.is_null()
    }

    /// # Safety
    ///
    /// `base` must be a reservation made by `reserve` that is no longer in use.
    pub(super) unsafe fn release(base: NonNull<u8>, _len: usize) {
        // SAFETY: the caller's promise; releasing requires size 0 and frees the whole reservation.
        let result = unsafe { VirtualFree(base.as_ptr().cast(), 0, MEM_RELEASE.cast_unsigned()) };
        debug_assert!(result.as_bool(), "VirtualFree of a reservation from `reserve` cannot fail");
    }
}
