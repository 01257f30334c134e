//! GPU virtual addresses.

use std::fmt;
use std::num::NonZeroU64;

use super::{Alignment, ByteSize};

/// An address in the GPU's virtual address space (`D3D12_GPU_VIRTUAL_ADDRESS`), in bytes; never zero.
///
/// D3D12 returns zero for a resource without an address, such as a texture; here that is `None`. Addresses
/// are formatted in hexadecimal.
///
/// ```
/// use heapwright_core::{ByteSize, GpuVirtualAddress};
///
/// let address = GpuVirtualAddress::new(0x1_0000).unwrap();
/// assert_eq!(address.checked_add(ByteSize::new(16)).unwrap().to_string(), "0x10010");
/// assert_eq!(GpuVirtualAddress::new(0), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct GpuVirtualAddress(NonZeroU64);

impl GpuVirtualAddress {
    /// Creates an address. Returns `None` for zero.
    #[must_use]
    pub const fn new(address: u64) -> Option<Self> {
        match NonZeroU64::new(address) {
            Some(address) => Some(Self(address)),
            None => None,
        }
    }

    /// Returns the address as D3D12's number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the address `size` bytes higher, or `None` if it does not fit in 64 bits.
    #[must_use]
    pub const fn checked_add(self, size: ByteSize) -> Option<Self> {
        match self.0.checked_add(size.get()) {
            Some(address) => Some(Self(address)),
            None => None,
        }
    }

    /// Returns whether the address is a multiple of `alignment`.
    #[must_use]
    pub const fn is_aligned(self, alignment: Alignment) -> bool {
        self.0.get() & alignment.mask() == 0
    }
}

impl fmt::Display for GpuVirtualAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:#x}", self.0))
    }
}

impl fmt::Debug for GpuVirtualAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuVirtualAddress({:#x})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_none_and_the_end_of_the_space_is_checked() {
        assert_eq!(size_of::<Option<GpuVirtualAddress>>(), size_of::<u64>());
        let last = GpuVirtualAddress::new(u64::MAX).unwrap();
        assert_eq!(last.checked_add(ByteSize::ZERO), Some(last));
        assert_eq!(last.checked_add(ByteSize::new(1)), None);
        assert!(GpuVirtualAddress::new(512).unwrap().is_aligned(Alignment::new(256).unwrap()));
        assert!(!last.is_aligned(Alignment::new(2).unwrap()));
    }
}
