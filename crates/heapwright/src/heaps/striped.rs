//! References that each thread counts on a cache line of its own.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use heapwright_core::placement::lane_of_thread;

/// The number of stripes, which further threads share. The same as the number of lanes of a [`SharedHeapSet`].
///
/// [`SharedHeapSet`]: heapwright_core::placement::SharedHeapSet
const STRIPES: usize = 16;

/// Owns a `T` to which many threads frequently take and drop references.
///
/// With a single count, two cores that create and drop parts of a resource are slower together than one alone (0.6
/// times the pairs, 2026-11-21), because the count's cache line moves between them. Therefore a reference is one to a
/// *stripe*, and the stripes hold the `T`. They are stored here and not in the `T`, which would otherwise keep itself
/// alive.
pub(crate) struct Striped<T> {
    owned: Arc<T>,
    /// Created when a thread first needs one.
    stripes: [OnceLock<Arc<Stripe<T>>>; STRIPES],
}

/// A counter of references. Its alignment separates it from its neighbors: processors fetch lines of 64 bytes in pairs.
#[repr(align(128))]
pub(crate) struct Stripe<T>(Arc<T>);

impl<T> Striped<T> {
    pub(crate) fn new(owned: Arc<T>) -> Self {
        Self { owned, stripes: Default::default() }
    }

    /// Returns a reference that is counted in the calling thread's stripe. O(1), without a lock except for a stripe's
    /// first.
    #[inline]
    pub(crate) fn reference(&self) -> Arc<Stripe<T>> {
        let stripe = &self.stripes[lane_of_thread() as usize % STRIPES];
        Arc::clone(stripe.get_or_init(|| Arc::new(Stripe(Arc::clone(&self.owned)))))
    }
}

impl<T> Deref for Striped<T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        &self.owned
    }
}

impl<T> Deref for Stripe<T> {
    type Target = Arc<T>;

    #[inline]
    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_live_as_long_as_references_of_any_thread() {
        let owned = Arc::new(7);
        let striped = Striped::new(Arc::clone(&owned));
        let references: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| striped.reference())).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        drop(striped);
        assert!(references.iter().all(|reference| ****reference == 7));
        assert!(Arc::strong_count(&owned) > 1);
        drop(references);
        assert_eq!(Arc::strong_count(&owned), 1);
    }
}
