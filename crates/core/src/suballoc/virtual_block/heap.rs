//! The suballocator of a virtual block: one of those there are.

use super::{Algorithm, Feature, VirtualAllocationDesc};
use crate::ByteSize;
use crate::suballoc::{Buddy, Slabs, SuballocError, Suballocation, Suballocator, Tlsf};

/// One suballocator of any algorithm. An enum and not a trait object, for the calls that only one of them has; boxed, as
/// their sizes differ by a thousand bytes.
pub(super) enum Heap {
    Tlsf(Box<Tlsf>),
    Slabs(Box<Slabs>),
    Buddy(Box<Buddy>),
}

impl Heap {
    pub(super) fn new(algorithm: Algorithm, capacity: ByteSize) -> Result<Self, SuballocError> {
        Ok(match algorithm {
            Algorithm::Tlsf => Self::Tlsf(Box::new(Tlsf::new(capacity)?)),
            Algorithm::Slabs => Self::Slabs(Box::new(Slabs::new(capacity)?)),
            Algorithm::Buddy => Self::Buddy(Box::new(Buddy::new(capacity)?)),
        })
    }

    pub(super) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Tlsf(_) => Algorithm::Tlsf,
            Self::Slabs(_) => Algorithm::Slabs,
            Self::Buddy(_) => Algorithm::Buddy,
        }
    }

    /// What it has in common with the others.
    pub(super) fn common(&self) -> &dyn Suballocator {
        match self {
            Self::Tlsf(tlsf) => &**tlsf,
            Self::Slabs(slabs) => &**slabs,
            Self::Buddy(buddy) => &**buddy,
        }
    }

    /// What it has in common with the others.
    pub(super) fn common_mut(&mut self) -> &mut dyn Suballocator {
        match self {
            Self::Tlsf(tlsf) => &mut **tlsf,
            Self::Slabs(slabs) => &mut **slabs,
            Self::Buddy(buddy) => &mut **buddy,
        }
    }

    pub(super) fn allocate(&mut self, desc: &VirtualAllocationDesc) -> Result<Suballocation, SuballocError> {
        let VirtualAllocationDesc { size, alignment, strategy } = *desc;
        if strategy.is_some() {
            self.require(Feature::Strategies)?;
        }
        match self {
            Self::Tlsf(tlsf) => match strategy {
                Some(strategy) => tlsf.allocate_with(size, alignment, strategy),
                None => tlsf.allocate(size, alignment),
            },
            Self::Slabs(slabs) => slabs.allocate(size, alignment),
            Self::Buddy(buddy) => buddy.allocate(size, alignment),
        }
    }

    /// An error unless the algorithm has the feature.
    fn require(&self, feature: Feature) -> Result<(), SuballocError> {
        let algorithm = self.algorithm();
        if algorithm.has(feature) { Ok(()) } else { Err(SuballocError::Unsupported { algorithm, feature }) }
    }
}
