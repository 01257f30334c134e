//! Pages of this process that the application allocated and over which it opens a heap.

use std::ops::Range;
use std::ptr::NonNull;

use heapwright_core::ByteSize;

/// Pages that this process can read and write.
///
/// # Invariants
///
/// `base` is the first of `len` bytes that were readable and writable when the value was created. The application keeps
/// them so for as long as a heap over them exists (the contract of `OpenExistingHeapFromAddress`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExistingPages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the pages belong to the process, not to a thread, and the type itself never accesses them.
unsafe impl Send for ExistingPages {}
// SAFETY: as above.
unsafe impl Sync for ExistingPages {}

/// The reason why pages cannot be a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PagesError {
    #[error("{address:#x} is not a multiple of {PAGE}, the size of a page")]
    Misaligned { address: usize },
    #[error("{size:#x} bytes are not a whole number of pages of {PAGE} bytes")]
    NotWholePages { size: usize },
    #[error(
        "{address:#x} is not the beginning of an allocated region of memory; the region begins at {start:#x}"
    )]
    NotTheBeginning { address: usize, start: usize },
    #[error("the memory at {address:#x} is not allocated, or cannot be read and written")]
    NotAccessible { address: usize },
    // Windows answers with a region or with none.
    #[cfg(not(windows))]
    #[error("the operating system does not tell which memory is allocated")]
    Unknown,
}

/// Whether heaps can be opened over pages on this operating system.
pub(crate) const SUPPORTED: bool = cfg!(any(windows, target_os = "linux"));

/// The smallest pages of the supported processors.
const PAGE: usize = 4096;

/// A region of memory, as the operating system knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Region {
    addresses: Range<usize>,
    /// Whether it can be read and written.
    is_accessible: bool,
}

impl ExistingPages {
    /// Returns the whole region that begins at an address.
    pub(crate) fn region(address: usize) -> Result<Self, PagesError> {
        check_page(address)?;
        let region = os::region(address)?;
        if region.addresses.start != address {
            return Err(PagesError::NotTheBeginning { address, start: region.addresses.start });
        }
        Self::in_region(address, region.addresses.len(), &region)
    }

    /// Returns `size` bytes from an address on.
    pub(crate) fn range(address: usize, size: usize) -> Result<Self, PagesError> {
        check_page(address)?;
        if size == 0 || !size.is_multiple_of(PAGE) {
            return Err(PagesError::NotWholePages { size });
        }
        let end = address.checked_add(size).ok_or(PagesError::NotAccessible { address: usize::MAX })?;
        let first = os::region(address)?;
        // Adjacent regions may differ in what does not matter here.
        let mut last = first.clone();
        while last.is_accessible && last.addresses.end < end {
            last = os::region(last.addresses.end)?;
        }
        Self::in_region(address, size, &last)
    }

    fn in_region(address: usize, len: usize, last: &Region) -> Result<Self, PagesError> {
        if !last.is_accessible {
            return Err(PagesError::NotAccessible { address: last.addresses.start });
        }
        let base = std::ptr::with_exposed_provenance_mut::<u8>(address);
        NonNull::new(base).map(|base| Self { base, len }).ok_or(PagesError::NotAccessible { address })
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> ByteSize {
        ByteSize::new(self.len as u64)
    }

    /// Returns a pointer to byte `offset`, if `size` bytes follow.
    pub(crate) fn at(&self, offset: u64, size: u64) -> Option<NonNull<u8>> {
        let end = offset.checked_add(size)?;
        if end > self.len as u64 {
            return None;
        }
        let offset = usize::try_from(offset).ok()?;
        // SAFETY: offset <= len was just checked, so the result is within the pages or one past their end.
        Some(unsafe { self.base.add(offset) })
    }
}

fn check_page(address: usize) -> Result<(), PagesError> {
    if address == 0 {
        return Err(PagesError::NotAccessible { address });
    }
    if address.is_multiple_of(PAGE) { Ok(()) } else { Err(PagesError::Misaligned { address }) }
}

#[cfg(target_os = "linux")]
mod os {
    use super::{PagesError, Region};

    /// Returns the mapping that contains an address.
    pub(super) fn region(address: usize) -> Result<Region, PagesError> {
        let maps = std::fs::read_to_string("/proc/self/maps").map_err(|_| PagesError::Unknown)?;
        let found = maps.lines().filter_map(mapping).find(|region| region.addresses.contains(&address));
        found.ok_or(PagesError::NotAccessible { address })
    }

    /// Reads a line such as `7f2c40000000-7f2c40021000 rw-p 00000000 00:00 0`.
    pub(super) fn mapping(line: &str) -> Option<Region> {
        let (addresses, rest) = line.split_once(' ')?;
        let (start, end) = addresses.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(Region { addresses: number(start)?..number(end)?, is_accessible: rest.starts_with("rw") })
    }
}

#[cfg(windows)]
mod os {
    use std::ffi::c_void;

    use heapwright_d3d12::{MEM_COMMIT, PAGE_READWRITE};

    use super::{PagesError, Region};

    /// `MEMORY_BASIC_INFORMATION` of 64-bit Windows.
    #[repr(C)]
    struct Information {
        base: usize,
        allocation_base: usize,
        allocation_protect: u32,
        partition: u16,
        size: usize,
        state: u32,
        protect: u32,
        kind: u32,
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn VirtualQuery(address: *const c_void, information: *mut Information, length: usize) -> usize;
    }

    const PAGE_EXECUTE_READWRITE: u32 = 0x40;

    fn query(address: usize) -> Option<Information> {
        let mut information = std::mem::MaybeUninit::<Information>::uninit();
        let pointer = std::ptr::without_provenance(address);
        // SAFETY: the structure is writable and as large as stated; the address is not accessed.
        let written = unsafe { VirtualQuery(pointer, information.as_mut_ptr(), size_of::<Information>()) };
        // SAFETY: a call that returns the size has written the structure.
        (written == size_of::<Information>()).then(|| unsafe { information.assume_init() })
    }

    fn is_accessible(of: &Information) -> bool {
        of.state == MEM_COMMIT.cast_unsigned()
            && [PAGE_READWRITE.cast_unsigned(), PAGE_EXECUTE_READWRITE].contains(&of.protect)
    }

    /// Returns the allocation that contains an address. It is accessible if all of its pages are.
    pub(super) fn region(address: usize) -> Result<Region, PagesError> {
        let none = PagesError::NotAccessible { address };
        let first = query(address).filter(|found| found.allocation_base != 0).ok_or(none)?;
        let start = first.allocation_base;
        let mut region = Region { addresses: start..start, is_accessible: true };
        while let Some(next) = query(region.addresses.end).filter(|next| next.allocation_base == start) {
            region.is_accessible &= is_accessible(&next);
            region.addresses.end = next.base.checked_add(next.size).ok_or(none)?;
        }
        Ok(region)
    }
}

#[cfg(not(any(windows, target_os = "linux")))]
mod os {
    use super::{PagesError, Region};

    pub(super) fn region(_address: usize) -> Result<Region, PagesError> {
        Err(PagesError::Unknown)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read() {
        let line = "7f2c40000000-7f2c40021000 rw-p 00000000 00:00 0 ";
        let region = Region { addresses: 0x7f2c_4000_0000..0x7f2c_4002_1000, is_accessible: true };
        assert_eq!(os::mapping(line), Some(region));
        let library = "55d0-55d1 r-xp 00002000 08:01 131 /usr/lib/a b.so";
        assert_eq!(os::mapping(library), Some(Region { addresses: 0x55d0..0x55d1, is_accessible: false }));
        for damaged in ["", "1-2", "x-2 rw-p", "12 rw-p", "1ffffffffffffffff-2 rw-p"] {
            assert_eq!(os::mapping(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn addresses_without_memory_are_refused() {
        assert_eq!(ExistingPages::region(0), Err(PagesError::NotAccessible { address: 0 }));
        assert_eq!(ExistingPages::region(PAGE + 1), Err(PagesError::Misaligned { address: PAGE + 1 }));
        assert_eq!(ExistingPages::range(PAGE, 1), Err(PagesError::NotWholePages { size: 1 }));
        assert_eq!(ExistingPages::range(PAGE, 0), Err(PagesError::NotWholePages { size: 0 }));
        let high = usize::MAX - PAGE + 1;
        assert!(matches!(ExistingPages::range(high, PAGE), Err(PagesError::NotAccessible { .. })));
        let code = (addresses_without_memory_are_refused as fn()) as usize & !(PAGE - 1);
        assert!(matches!(ExistingPages::range(code, PAGE), Err(PagesError::NotAccessible { .. })));
    }
}
