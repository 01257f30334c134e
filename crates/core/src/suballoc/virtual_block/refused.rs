//! Errors of refused requests.

use std::error::Error;
use std::fmt;

use crate::suballoc::SuballocError;

/// The error of a request that a virtual block refused, and the value passed to it.
///
/// `?` converts it to a plain [`SuballocError`] if the value is not needed.
///
/// ```
/// use heapwright_core::suballoc::{Algorithm, SuballocError, VirtualBlock};
/// use heapwright_core::{Alignment, ByteSize};
///
/// fn push(blocks: &mut [VirtualBlock<String>], mut name: String) -> Result<usize, SuballocError> {
///     for (at, block) in blocks.iter_mut().enumerate() {
///         match block.allocate(ByteSize::new(60), Alignment::ONE, name) {
///             Ok(_) => return Ok(at),
///             // The next block may have room for it.
///             Err(refused) if refused.error.is_out_of_space() => name = refused.user_data,
///             Err(refused) => return Err(refused.into()),
///         }
///     }
///     panic!("no block has room for {name}")
/// }
/// let block = || VirtualBlock::new(Algorithm::Tlsf, ByteSize::new(100));
/// let mut blocks = [block()?, block()?];
/// assert_eq!(push(&mut blocks, "first".to_owned())?, 0);
/// assert_eq!(push(&mut blocks, "second".to_owned())?, 1);
/// # Ok::<(), SuballocError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Refused<T> {
    /// The reason.
    pub error: SuballocError,
    /// The value that was to be stored.
    pub user_data: T,
}

impl<T> From<Refused<T>> for SuballocError {
    fn from(refused: Refused<T>) -> Self {
        refused.error
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> fmt::Debug for Refused<T> {
    /// Omits the value, so that `T` need not be `Debug`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<T> Error for Refused<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // `Display` already formats the inner error.
        None
    }
}
