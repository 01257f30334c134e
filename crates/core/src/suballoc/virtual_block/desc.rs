//! Descriptions of requests.

use crate::suballoc::Strategy;
use crate::{Alignment, ByteSize};

/// Describes a request to a virtual block.
///
/// The algorithm decides what is not specified. A feature that the algorithm does not support is an error,
/// not ignored.
///
/// ```
/// use heapwright_core::suballoc::{Algorithm, Strategy, SuballocError, VirtualAllocationDesc, VirtualBlock};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut block = VirtualBlock::new(Algorithm::Tlsf, ByteSize::from_mib(1))?;
/// let desc = VirtualAllocationDesc::new(ByteSize::from_kib(4)).with_alignment(Alignment::new(256).unwrap());
/// let vertices = block.allocate_desc(&desc, "vertices")?;
/// assert_eq!(vertices.range.size(), desc.size);
///
/// // Slabs know one way.
/// let mut slabs = VirtualBlock::new(Algorithm::Slabs, ByteSize::from_mib(1))?;
/// let refused = slabs.allocate_desc(&desc.with_strategy(Strategy::MinOffset), "indices").unwrap_err();
/// assert_eq!(refused.to_string(), "the slabs algorithm does not support strategies");
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VirtualAllocationDesc {
    /// The size in bytes. Zero is an error.
    pub size: ByteSize,
    /// The alignment of the offset. The default is 1.
    pub alignment: Alignment,
    /// The strategy. `None` means that of [`allocate`](super::VirtualBlock::allocate). Requires
    /// [`Feature::Strategies`](super::Feature::Strategies).
    pub strategy: Option<Strategy>,
    /// The end at which to allocate. The default is the lower end. The upper end requires
    /// [`Feature::UpperEnd`](super::Feature::UpperEnd).
    pub end: End,
}

/// An end of the free range of a double stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum End {
    /// The lowest suitable offset. Algorithms without an upper end ignore the distinction.
    #[default]
    Lower,
    /// The highest suitable offset.
    Upper,
}

impl VirtualAllocationDesc {
    /// Creates a request of `size` bytes at alignment 1.
    #[must_use]
    pub const fn new(size: ByteSize) -> Self {
        Self { size, alignment: Alignment::ONE, strategy: None, end: End::Lower }
    }

    /// Sets the alignment.
    #[must_use]
    pub const fn with_alignment(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }

    /// Sets the strategy.
    #[must_use]
    pub const fn with_strategy(self, strategy: Strategy) -> Self {
        Self { strategy: Some(strategy), ..self }
    }

    /// Sets the end.
    #[must_use]
    pub const fn with_end(self, end: End) -> Self {
        Self { end, ..self }
    }
}
