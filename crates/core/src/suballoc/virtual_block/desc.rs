//! A request in full.

use crate::suballoc::Strategy;
use crate::{Alignment, ByteSize};

/// What to hand out of a virtual block.
///
/// What is left out is up to the algorithm. What an algorithm does not have is refused, not ignored.
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
/// assert_eq!(refused.to_string(), "the algorithm slabs has no strategies");
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VirtualAllocationDesc {
    /// How many bytes; zero is refused.
    pub size: ByteSize,
    /// What the offset is a multiple of; 1 unless told.
    pub alignment: Alignment,
    /// What matters most; what [`allocate`](super::VirtualBlock::allocate) does unless told.
    /// For algorithms that have [`Feature::Strategies`](super::Feature::Strategies).
    pub strategy: Option<Strategy>,
    /// Which end of what is free; the lower unless told.
    /// The upper is for algorithms that have [`Feature::UpperEnd`](super::Feature::UpperEnd).
    pub end: End,
}

/// An end of what is free in a double stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum End {
    /// The lowest offset that will do; where an algorithm has but one way, that way.
    #[default]
    Lower,
    /// The highest offset that will do.
    Upper,
}

impl VirtualAllocationDesc {
    /// A request of `size` bytes at alignment 1.
    #[must_use]
    pub const fn new(size: ByteSize) -> Self {
        Self { size, alignment: Alignment::ONE, strategy: None, end: End::Lower }
    }

    /// The same at `alignment`.
    #[must_use]
    pub const fn with_alignment(self, alignment: Alignment) -> Self {
        Self { alignment, ..self }
    }

    /// The same by `strategy`.
    #[must_use]
    pub const fn with_strategy(self, strategy: Strategy) -> Self {
        Self { strategy: Some(strategy), ..self }
    }

    /// The same from `end`.
    #[must_use]
    pub const fn with_end(self, end: End) -> Self {
        Self { end, ..self }
    }
}
