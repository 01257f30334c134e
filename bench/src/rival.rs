//! What a suballocator has to do to take part.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use heapwright_core::{Alignment, ByteSize, HeapOffset};

/// What a workload asks of a suballocator before it begins.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The size of the range to hand out.
    pub capacity: ByteSize,
    /// The alignment that every request will have. A rival without alignments may count in units of it.
    pub alignment: Alignment,
    /// At most so many are live at once. A rival that wants to know takes its tables from it.
    pub most_live: u32,
}

/// Why a rival cannot run a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit(pub &'static str);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Hands out ranges of the offsets from zero to a capacity. One thread at a time.
pub trait Rival: Sized {
    /// What a range is freed by.
    type Handle;

    /// A fresh one, with all of its capacity free.
    ///
    /// # Errors
    ///
    /// It cannot serve under these terms; it is left out of the workload then.
    fn new(terms: &Terms) -> Result<Self, Unfit>;

    /// Hands out a range and answers where it starts; `None` when there is no room.
    ///
    /// `alignment` is never above that of the terms, `size` never zero.
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(Self::Handle, HeapOffset)>;

    /// Takes back what [`allocate`](Self::allocate) of the same rival answered.
    fn free(&mut self, handle: Self::Handle);
}

/// As [`Rival`], for several threads at once.
pub trait SharedRival: Sync + Sized {
    /// What a range is freed by.
    type Handle: Send;

    /// As [`Rival::new`].
    ///
    /// # Errors
    ///
    /// As those of [`Rival::new`].
    fn new(terms: &Terms) -> Result<Self, Unfit>;

    /// As [`Rival::allocate`].
    fn allocate(&self, size: ByteSize, alignment: Alignment) -> Option<(Self::Handle, HeapOffset)>;

    /// As [`Rival::free`]; any thread may free what any other was given.
    fn free(&self, handle: Self::Handle);
}

/// A rival behind one mutex, which is what a user has to do with those that are not made for threads.
#[derive(Debug)]
pub struct Locked<R>(Mutex<R>);

impl<R: Rival<Handle: Send> + Send> SharedRival for Locked<R> {
    type Handle = R::Handle;

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        Ok(Self(Mutex::new(R::new(terms)?)))
    }

    #[inline]
    fn allocate(&self, size: ByteSize, alignment: Alignment) -> Option<(R::Handle, HeapOffset)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).allocate(size, alignment)
    }

    #[inline]
    fn free(&self, handle: R::Handle) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).free(handle);
    }
}
