//! Pool.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use heapwright::d3d12::*;
use heapwright::{ByteSize, Pool};
use windows_core::HRESULT;

use super::allocation::lock;
use super::defragmentation::{self, Description};
use super::descriptors::{PoolDescription, store};
use super::state::State;
use super::statistics::{DetailedStatistics, Snapshot, Statistics};
use crate::debug_name::{self, WideChar, address_of, encode};
use crate::failure::Fallible;
use crate::object::{Body, Methods, Object, Reference, methods, nothing, refused};

/// What a pool and its allocations share.
pub(super) struct PoolState {
    pub(super) state: Arc<State>,
    pub(super) pool: Pool,
    pub(super) desc: PoolDescription,
    pub(super) name: Mutex<Option<Box<[WideChar]>>>,
}

impl PoolState {
    /// The size of heaps that are created with a pool that names none.
    pub(super) const USUAL_BLOCK: ByteSize = ByteSize::from_mib(64);

    /// Returns whether the program chose the size of the heaps, which then hold all.
    pub(super) fn has_block_size(&self) -> bool {
        self.desc.block_size != 0
    }

    /// Returns the sum of its blocks.
    fn sum(&self) -> DetailedStatistics {
        let number = Some(self.pool.number());
        Snapshot::of(&self.state, false).sum(|block| block.pool == number)
    }
}

/// The body of a Pool.
pub(super) struct PoolObject(pub(super) Arc<PoolState>);

impl PoolObject {
    /// Creates the object of a pool.
    pub(super) fn create(state: &Arc<State>, pool: Pool, desc: PoolDescription) -> Fallible<Reference<Self>> {
        let (state, name) = (Arc::clone(state), Mutex::default());
        let pool = Arc::new(PoolState { state, pool, desc, name });
        let mut pools = lock(&pool.state.pools);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(&pool));
        drop(pools);
        let host = pool.state.host;
        host.create(Self(pool))
    }

    /// Returns whether there are committed resources, which the library does not count with the pool.
    fn has_committed(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Body for PoolObject {
    fn methods() -> *const c_void {
        METHODS.as_table()
    }

    unsafe fn destroy(object: NonNull<Object<Self>>) {
        // SAFETY: the caller's promise: the object is alive, and nobody uses it any more.
        unsafe {
            let PoolObject(pool) = &object.as_ref().body;
            let is_used = object.as_ref().body.has_committed() || pool.pool.totals().allocation_count > 0;
            let state = Arc::clone(&pool.state);
            object.drop_in_place();
            if is_used {
                // D3D12MA's pools are released after what is in them. A program that releases it again reaches this.
                object.cast().write(RELEASED.as_table());
                state.keep(object.cast());
            } else {
                state.host.free(object.as_ptr().cast());
            }
        }
    }
}

static RELEASED: Methods<6> = {
    let none = nothing as *const ();
    Methods::of_released([none, none, none, none, none, refused as *const ()])
};

methods!(METHODS, PoolObject, "Pool":
    getter CopyDesc(this, out: *mut PoolDescription) -> () { out.write(this.0.desc.clone()) }
    getter GetStatistics(this, out: *mut Statistics) -> () {
        store(out, || match this.has_committed() {
            true => this.0.sum().stats,
            false => Statistics::of(this.0.pool.totals()),
        });
    }
    getter CalculateStatistics(this, out: *mut DetailedStatistics) -> () { store(out, || this.0.sum()) }
    getter SetName(this, name: *const WideChar) -> () {
        *lock(&this.0.name) = debug_name::text(name).map(|name| encode(&name));
    }
    getter GetName(this) -> usize { address_of(&lock(&this.0.name)) }
    method BeginDefragmentation(this, desc: *const Description, out: *mut *mut c_void) -> HRESULT {
        defragmentation::begin(&this.0.state, Some(&this.0.pool), desc, out)
    }
);
