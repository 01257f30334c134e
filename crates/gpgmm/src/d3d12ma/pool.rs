//! Pool.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use heapwright::d3d12::*;
use heapwright::{ByteSize, Pool, ResourceKind};
use windows_core::HRESULT;

use super::allocation::lock;
use super::defragmentation::{self, Description};
use super::descriptors::{PoolDescription, kind_of, store};
use super::host_memory::hosted;
use super::state::State;
use super::statistics::{DetailedStatistics, Snapshot, Statistics, count};
use crate::call::Fallible;
use crate::debug_name::{self, WideChar, address_of, encode};
use crate::object::{Methods, Reference, methods, nothing, refused};

/// What a pool and its allocations share.
pub(super) struct PoolState {
    pub(super) state: Arc<State>,
    pub(super) pool: Pool,
    pub(super) desc: PoolDescription,
    pub(super) kind: ResourceKind,
    /// Number and bytes of its committed resources, which the library does not count with it.
    committed: [AtomicU64; 2],
    pub(super) name: Mutex<Option<Box<[WideChar]>>>,
}

impl PoolState {
    /// The size of heaps that are created with a pool that names none.
    pub(super) const USUAL_BLOCK: ByteSize = ByteSize::from_mib(64);

    pub(super) fn has(&self, flag: u32) -> bool {
        self.desc.flags & flag != 0
    }

    /// Returns whether the program chose the size of the heaps, which then hold all.
    pub(super) fn has_block_size(&self) -> bool {
        self.desc.block_size != 0
    }

    /// Counts a committed resource, or no longer.
    pub(super) fn count_committed(&self, bytes: u64, is_added: bool) {
        for (sum, number) in self.committed.iter().zip([1, bytes]) {
            sum.fetch_add(if is_added { number } else { number.wrapping_neg() }, Ordering::Relaxed);
        }
    }
}

/// The body of a Pool.
pub(super) struct PoolObject(pub(super) Arc<PoolState>);

impl PoolObject {
    /// Creates the object of a pool.
    pub(super) fn create(state: &Arc<State>, pool: Pool, desc: PoolDescription) -> Fallible<Reference<Self>> {
        let (kind, (committed, name)) = (kind_of(desc.heap_flags), Default::default());
        let pool = Arc::new(PoolState { state: Arc::clone(state), pool, desc, kind, committed, name });
        let mut pools = lock(&state.pools);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(&pool));
        drop(pools);
        state.host.create(Self(pool))
    }
}

// D3D12MA's pools are released after what is in them.
hosted!(PoolObject, METHODS, |this| this.0.state.host; |this| {
    let is_used = this.0.committed[0].load(Ordering::Relaxed) + this.0.pool.totals().allocation_count > 0;
    is_used.then(|| (Arc::clone(&this.0.state), RELEASED.as_table()))
});

static RELEASED: Methods<6> = {
    let none = nothing as *const ();
    Methods::of_released([none, none, none, none, none, refused as *const ()])
};

methods!(METHODS, PoolObject, "Pool":
    getter CopyDesc(this, out: *mut PoolDescription) -> () { out.write(this.0.desc.clone()) }
    getter GetStatistics(this, out: *mut Statistics) -> () {
        store(out, || {
            let totals = this.0.pool.totals();
            let [number, bytes] = this.0.committed.each_ref().map(|sum| sum.load(Ordering::Relaxed));
            Statistics {
                block_count: count(totals.heap_count + number),
                allocation_count: count(totals.allocation_count + number),
                block_bytes: totals.reserved.get() + bytes,
                allocation_bytes: totals.used.get() + bytes,
            }
        });
    }
    getter CalculateStatistics(this, out: *mut DetailedStatistics) -> () {
        let number = Some(this.0.pool.number());
        store(out, || Snapshot::of(&this.0.state, false).sum(|block| block.pool == number));
    }
    getter SetName(this, name: *const WideChar) -> () {
        *lock(&this.0.name) = debug_name::text(name).map(|name| encode(&name));
    }
    getter GetName(this) -> usize { address_of(&lock(&this.0.name)) }
    method BeginDefragmentation(this, desc: *const Description, out: *mut *mut c_void) -> HRESULT {
        defragmentation::begin(&this.0.state, Some(&this.0.pool), desc, out)
    }
);
