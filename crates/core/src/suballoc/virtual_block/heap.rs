//! The suballocator of a virtual block: one of those there are.

use super::{Algorithm, VirtualAllocationDesc};
use crate::ByteSize;
use crate::suballoc::{SuballocError, Suballocation, Suballocator, Tlsf};

/// One suballocator of any algorithm. An enum and not a trait object, for the calls that only one of them has.
pub(super) enum Heap {
    Tlsf(Tlsf),
}

impl Heap {
    pub(super) fn new(algorithm: Algorithm, capacity: ByteSize) -> Result<Self, SuballocError> {
        Ok(match algorithm {
            Algorithm::Tlsf => Self::Tlsf(Tlsf::new(capacity)?),
        })
    }

    pub(super) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Tlsf(_) => Algorithm::Tlsf,
        }
    }

    /// What it has in common with the others.
    pub(super) fn common(&self) -> &dyn Suballocator {
        match self {
            Self::Tlsf(tlsf) => tlsf,
        }
    }

    /// What it has in common with the others.
    pub(super) fn common_mut(&mut self) -> &mut dyn Suballocator {
        match self {
            Self::Tlsf(tlsf) => tlsf,
        }
    }

    pub(super) fn allocate(&mut self, desc: &VirtualAllocationDesc) -> Result<Suballocation, SuballocError> {
        match self {
            Self::Tlsf(tlsf) => tlsf.allocate(desc.size, desc.alignment),
        }
    }
}
