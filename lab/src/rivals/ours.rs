//! Heapwright's own suballocators.

use heapwright_core::suballoc::{
    FreeRangeChoice, Linear, SuballocError, Suballocation, SuballocationId, Tlsf,
};
use heapwright_core::{Alignment, ByteSize, HeapOffset};

use crate::rival::{Rival, Terms};

/// Makes a suballocator of `heapwright_core` a rival, with its own methods instead of a trait object.
macro_rules! ours {
    ($(#[$doc:meta])* $name:ident($type:ty) = $new:expr) => {
        ours! { $(#[$doc])* $name($type) = $new, <$type>::allocate }
    };
    ($(#[$doc:meta])* $name:ident($type:ty) = $new:expr, $allocate:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name($type);

        impl Rival for $name {
            type Handle = SuballocationId;

            fn new(terms: &Terms) -> Self {
                let new: fn(&Terms) -> Result<$type, _> = $new;
                Self(new(terms).expect("a capacity that it takes"))
            }

            #[inline]
            fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(SuballocationId, HeapOffset)> {
                let suballocation = $allocate(&mut self.0, size, alignment).ok()?;
                Some((suballocation.id, suballocation.range.start()))
            }

            #[inline]
            fn free(&mut self, handle: SuballocationId) {
                self.0.free(handle).expect("a workload frees what is live");
            }
        }
    };
}

// To add another algorithm of ours, add one of these and a line to the lists of `rivals/mod.rs`.
ours! {
    /// [`Tlsf`] with its default strategy, for minimum waste.
    OurTlsf(Tlsf) = |terms| Tlsf::new(terms.capacity)
}
ours! {
    /// [`Tlsf`] with the strategy for minimum time.
    OurTlsfMinTime(Tlsf) = |terms| Tlsf::new(terms.capacity), min_time
}
ours! {
    /// [`Tlsf`] with a value for each suballocation, like VMA's virtual block.
    OurTlsfWithValues(Tlsf<u64>) = |terms| Tlsf::with_values(terms.capacity), with_value
}

ours! {
    /// [`Linear`], used as a ring.
    OurLinear(Linear) = |terms| Linear::new(terms.capacity)
}

#[inline]
fn with_value(
    tlsf: &mut Tlsf<u64>,
    size: ByteSize,
    alignment: Alignment,
) -> Result<Suballocation, SuballocError> {
    let suballocation = tlsf.allocate(size, alignment)?;
    tlsf.set_value(suballocation.id, Some(size.get()))?;
    Ok(suballocation)
}

#[inline]
fn min_time(tlsf: &mut Tlsf, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
    tlsf.allocate_with(size, alignment, FreeRangeChoice::MinTime)
}
