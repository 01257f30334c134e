//! The suballocator of a virtual block.

use super::{Algorithm, End, Feature, VirtualAllocationDesc};
use crate::suballoc::{
    Buddy, DoubleStack, Linear, Ring, Slabs, SuballocError, Suballocation, Suballocator, Tlsf,
};
use crate::{ByteSize, FenceValue};

/// A suballocator of any algorithm. It is an enum, not a trait object, because some calls exist in one
/// algorithm only. The variants are boxed because their sizes differ by a thousand bytes.
pub(super) enum Heap {
    Tlsf(Box<Tlsf>),
    Slabs(Box<Slabs>),
    Buddy(Box<Buddy>),
    Linear(Box<Linear>),
    DoubleStack(Box<DoubleStack>),
    Ring(Box<Ring>),
}

impl Heap {
    pub(super) fn new(algorithm: Algorithm, capacity: ByteSize) -> Result<Self, SuballocError> {
        Ok(match algorithm {
            Algorithm::Tlsf => Self::Tlsf(Box::new(Tlsf::new(capacity)?)),
            Algorithm::Slabs => Self::Slabs(Box::new(Slabs::new(capacity)?)),
            Algorithm::Buddy => Self::Buddy(Box::new(Buddy::new(capacity)?)),
            Algorithm::Linear => Self::Linear(Box::new(Linear::new(capacity)?)),
            Algorithm::DoubleStack => Self::DoubleStack(Box::new(DoubleStack::new(capacity)?)),
            Algorithm::Ring => Self::Ring(Box::new(Ring::new(capacity)?)),
        })
    }

    pub(super) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Tlsf(_) => Algorithm::Tlsf,
            Self::Slabs(_) => Algorithm::Slabs,
            Self::Buddy(_) => Algorithm::Buddy,
            Self::Linear(_) => Algorithm::Linear,
            Self::DoubleStack(_) => Algorithm::DoubleStack,
            Self::Ring(_) => Algorithm::Ring,
        }
    }

    /// Returns the common interface.
    pub(super) fn common(&self) -> &dyn Suballocator {
        match self {
            Self::Tlsf(tlsf) => &**tlsf,
            Self::Slabs(slabs) => &**slabs,
            Self::Buddy(buddy) => &**buddy,
            Self::Linear(linear) => &**linear,
            Self::DoubleStack(stack) => &**stack,
            Self::Ring(ring) => &**ring,
        }
    }

    /// Returns the common interface.
    pub(super) fn common_mut(&mut self) -> &mut dyn Suballocator {
        match self {
            Self::Tlsf(tlsf) => &mut **tlsf,
            Self::Slabs(slabs) => &mut **slabs,
            Self::Buddy(buddy) => &mut **buddy,
            Self::Linear(linear) => &mut **linear,
            Self::DoubleStack(stack) => &mut **stack,
            Self::Ring(ring) => &mut **ring,
        }
    }

    pub(super) fn allocate(&mut self, desc: &VirtualAllocationDesc) -> Result<Suballocation, SuballocError> {
        let VirtualAllocationDesc { size, alignment, strategy, end } = *desc;
        if strategy.is_some() {
            self.require(Feature::Strategies)?;
        }
        if end == End::Upper {
            self.require(Feature::UpperEnd)?;
        }
        match self {
            Self::Tlsf(tlsf) => match strategy {
                Some(strategy) => tlsf.allocate_with(size, alignment, strategy),
                None => tlsf.allocate(size, alignment),
            },
            Self::Slabs(slabs) => slabs.allocate(size, alignment),
            Self::Buddy(buddy) => buddy.allocate(size, alignment),
            Self::Linear(linear) => linear.allocate(size, alignment),
            Self::DoubleStack(stack) => match end {
                End::Lower => stack.allocate_lower(size, alignment),
                End::Upper => stack.allocate_upper(size, alignment),
            },
            Self::Ring(ring) => ring.allocate(size, alignment),
        }
    }

    /// Closes a batch.
    pub(super) fn submit(&mut self, fence: FenceValue) -> Result<(), SuballocError> {
        match self {
            Self::Linear(linear) => linear.submit(fence)?,
            Self::Ring(ring) => ring.submit(fence)?,
            _ => self.require(Feature::Fences)?,
        }
        Ok(())
    }

    /// Frees the oldest suballocation of the batches whose fence value is reached.
    pub(super) fn retire_next(&mut self, completed: FenceValue) -> Option<Suballocation> {
        match self {
            Self::Linear(linear) => linear.retire_next(completed),
            Self::Ring(ring) => ring.retire_next(completed),
            _ => None,
        }
    }

    /// Returns the fence value of the oldest batch.
    pub(super) fn oldest_fence(&self) -> Option<FenceValue> {
        match self {
            Self::Linear(linear) => linear.oldest_fence(),
            Self::Ring(ring) => ring.oldest_fence(),
            _ => None,
        }
    }

    /// Returns an error unless the algorithm supports the feature.
    pub(super) fn require(&self, feature: Feature) -> Result<(), SuballocError> {
        let algorithm = self.algorithm();
        if algorithm.has(feature) { Ok(()) } else { Err(SuballocError::Unsupported { algorithm, feature }) }
    }
}
