//! What allocators share that are nested with one another.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use heapwright_core::placement::HeapPooling;

use super::Inner;
use super::accounts::Accounts;
use super::desc::{PoolAlgorithm, ResourceAllocatorDesc, ResourceAllocatorFlags};
use super::engine::fixed_heap_size;
use super::typed_heaps::{HeapKind, Kin, SpareHeaps, TypedHeaps};

/// An allocator, those that are nested in it, and what they share.
#[derive(Debug)]
pub(super) struct Relations {
    /// The outermost allocator. How empty heaps are pooled is its decision, and what is pooled is charged to it.
    root: Weak<Inner>,
    root_desc: ResourceAllocatorDesc,
    root_accounts: Arc<Accounts>,
    kinds: [OnceLock<Relation>; HeapKind::COUNT],
    members: Mutex<Vec<Weak<Inner>>>,
}

/// What the heaps of one kind share with those of the other allocators.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) spare: Arc<SpareHeaps>,
    pub(super) kin: Arc<Kin>,
}

impl Relations {
    pub(super) fn of_root(
        desc: &ResourceAllocatorDesc,
        accounts: &Arc<Accounts>,
        root: &Weak<Inner>,
    ) -> Arc<Self> {
        Arc::new(Self {
            root: Weak::clone(root),
            root_desc: desc.clone(),
            root_accounts: Arc::clone(accounts),
            kinds: Default::default(),
            members: Mutex::new(vec![Weak::clone(root)]),
        })
    }

    /// The same with another member.
    pub(super) fn joined(self: &Arc<Self>, member: &Weak<Inner>) -> Arc<Self> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|member| member.strong_count() > 0);
        members.push(Weak::clone(member));
        Arc::clone(self)
    }

    pub(super) fn root(&self) -> Option<Arc<Inner>> {
        self.root.upgrade()
    }

    pub(super) fn of(&self, index: usize, heap_alignment: u64) -> Relation {
        let new = || Relation {
            spare: SpareHeaps::new(pooling(&self.root_desc, heap_alignment), &self.root_accounts),
            kin: Arc::default(),
        };
        self.kinds[index].get_or_init(new).clone()
    }

    /// The heaps of all members but one, and those of their pools.
    pub(super) fn heaps_of_others(&self, but: &Inner) -> Vec<Arc<TypedHeaps>> {
        let members: Vec<Arc<Inner>> = {
            let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
            members
                .iter()
                .filter(|member| member.as_ptr() != std::ptr::from_ref(but))
                .filter_map(Weak::upgrade)
                .collect()
        };
        members.iter().flat_map(|member| member.all_heaps()).collect()
    }
}

/// Which empty heaps wait in the pool that the allocator and those nested in it share. With the default algorithms the allocator's own
/// heaps stay in their sets, and the pool is for nested allocators alone.
fn pooling(desc: &ResourceAllocatorDesc, heap_alignment: u64) -> HeapPooling {
    match desc.pool_algorithm {
        _ if desc.flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND) => HeapPooling::None,
        PoolAlgorithm::Default | PoolAlgorithm::SegmentedPool => HeapPooling::Segmented,
        PoolAlgorithm::FixedPool if desc.preferred_heap_size.is_zero() => HeapPooling::None,
        PoolAlgorithm::FixedPool => HeapPooling::Fixed(fixed_heap_size(desc, heap_alignment)),
    }
}
