//! Empty heaps that no engine keeps.

use std::sync::Arc;

use heapwright_core::placement::{HeapPool, HeapPooling};

use super::accounts::Accounts;
use super::heap::Heap;

/// Empty heaps that no engine keeps, and the accounts of the outermost allocator, to which they are charged.
#[derive(Debug)]
pub(crate) struct SpareHeaps {
    pub(crate) pool: HeapPool<Arc<Heap>>,
    accounts: Arc<Accounts>,
}

impl SpareHeaps {
    pub(crate) fn new(pooling: HeapPooling, accounts: &Arc<Accounts>) -> Arc<Self> {
        Arc::new(Self { pool: HeapPool::new(pooling), accounts: Arc::clone(accounts) })
    }

    /// Keeps a heap if its size is pooled; drops it otherwise.
    pub(crate) fn put(&self, heap: Arc<Heap>) {
        if heap.transfer_to(&self.accounts).is_ok() {
            drop(self.pool.put(heap.size(), heap));
        }
    }

    /// Returns the heaps if they are charged to these accounts, and not to those of an outer allocator.
    pub(crate) fn owned_by(&self, accounts: &Arc<Accounts>) -> Option<&HeapPool<Arc<Heap>>> {
        Arc::ptr_eq(&self.accounts, accounts).then_some(&self.pool)
    }
}
