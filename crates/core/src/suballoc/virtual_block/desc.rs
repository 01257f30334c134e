//! A request in full.

use crate::{Alignment, ByteSize};

/// What to hand out of a virtual block.
///
/// What is left out is up to the algorithm. What an algorithm does not have is refused, not ignored.
///
/// ```
/// use heapwright_core::suballoc::{Algorithm, SuballocError, VirtualAllocationDesc, VirtualBlock};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut block = VirtualBlock::new(Algorithm::Tlsf, ByteSize::from_mib(1))?;
/// let desc = VirtualAllocationDesc::new(ByteSize::from_kib(4)).with_alignment(Alignment::new(256).unwrap());
/// let vertices = block.allocate_desc(&desc, "vertices")?;
/// assert_eq!(vertices.range.size(), desc.size);
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VirtualAllocationDesc {
    /// How many bytes; zero is refused.
    pub size: ByteSize,
    /// What the offset is a multiple of; 1 unless told.
    pub alignment: Alignment,
}

impl VirtualAllocationDesc {
    /// A request of `size` bytes at alignment 1.
    #[must_use]
    pub const fn new(size: ByteSize) -> Self {
        Self { size, alignment: Alignment::ONE }
    }

    /// The same at `alignment`.
    #[must_use]
    pub const fn with_alignment(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }
}
