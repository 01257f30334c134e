//! What all handles of an allocator share.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, PlacementAlgorithm, PlacementRequest};
use heapwright_d3d12::*;

use super::accounts::Accounts;
use super::decision::Decisions;
use super::deferred::Deferred;
use super::desc::{
    HEAP_GRANULARITY, PoolAlgorithm, ResourceAllocationFlags, ResourceAllocatorDesc, ResourceAllocatorFlags,
    SuballocationAlgorithm,
};
use super::devices::Devices;
use super::engine::engine_desc;
use super::heap::Heap;
use super::heap_source::{Refusal, Terms};
use super::notes::{LiveList, next_number};
use super::plan::{GivenBack, HeapSizes};
use super::pool_sums::PoolSums;
use super::prefetch::Prefetcher;
use super::relations::{Relation, Relations};
use super::residency::OwnMemory;
use super::striped::Striped;
use super::typed_heaps::{HeapKind, Recycling, Sharing, TypedHeaps, TypedHeapsDesc};
use super::unified::RefusedInUnified;
use super::within::{BackingBuffers, BackingKind};
use crate::heap_family::{HeapFamilies, HeapFamily};
use crate::requirements::{RequirementsOptions, RequirementsQuery, ResourceClass};
use crate::residency::ResidencyManager;
use crate::{AdapterDesc, DeviceCaps, Error};

/// What all handles of an allocator share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) devices: Devices,
    pub(super) adapter: Option<IDXGIAdapter3>,
    pub(super) vendor_id: Option<u32>,
    pub(super) caps: DeviceCaps,
    /// The caps with what the description says of the device.
    pub(super) effective_caps: DeviceCaps,
    pub(super) desc: ResourceAllocatorDesc,
    pub(super) max_heap_size: ByteSize,
    /// Flags of all heaps.
    pub(super) extra_heap_flags: D3D12_HEAP_FLAGS,
    pub(super) heap_families: HeapFamilies,
    pub(super) requirements: RequirementsQuery,
    /// Those of a kind are made when they are first used: each takes 16 KiB.
    typed_heaps: [OnceLock<Striped<TypedHeaps>>; HeapKind::COUNT],
    pub(super) relations: Arc<Relations>,
    /// As the heaps: made when they are first used.
    within: [OnceLock<Striped<BackingBuffers>>; BackingKind::COUNT],
    pools: Mutex<Vec<Weak<TypedHeaps>>>,
    pub(super) pool_sums: Arc<PoolSums>,
    pub(super) accounts: Arc<Accounts>,
    pub(super) decisions: Decisions,
    pub(super) live: Arc<LiveList>,
    pub(super) deferred: Deferred,
    pub(super) refused_in_unified: RefusedInUnified,
    prefetcher: Option<Prefetcher>,
    /// Who decides which heaps are resident.
    pub(super) residency: Option<ResidencyManager>,
    /// That of all allocators that are nested with this one.
    pub(super) own_memory: Arc<OwnMemory>,
    pub(super) debug_name: Mutex<Option<Arc<str>>>,
    /// For what outlives it.
    this: Weak<Self>,
}

impl Inner {
    /// For a device; nested in another allocator of the same device if there is a `parent`, whose manager it must have then.
    pub(super) fn new(
        device: &ID3D12Device,
        adapter: Option<&IDXGIAdapter3>,
        desc: ResourceAllocatorDesc,
        parent: Option<&Self>,
        residency: Option<&ResidencyManager>,
    ) -> Result<Arc<Self>, Error> {
        let caps = DeviceCaps::query(device)?;
        desc.check(&caps)?;
        let has = |flag| desc.flags.contains(flag);
        if let Some(manager) = residency {
            manager.check_device(device)?;
        }
        if has(ResourceAllocatorFlags::ALWAYS_IN_BUDGET) && adapter.is_none() && residency.is_none() {
            let rule = "ALWAYS_IN_BUDGET needs the adapter, which says what the budget is";
            return Err(Error::invalid_argument("ResourceAllocatorDesc::flags", rule));
        }
        let tier = desc.resource_heap_tier.unwrap_or(caps.resource_heap_tier);
        if tier < caps.resource_heap_tier {
            tracing::warn!(
                tier,
                device = caps.resource_heap_tier,
                "resources are kept apart that need not be"
            );
        }
        let devices = Devices::of(device);
        let unified = has(ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY);
        let heap_families = HeapFamilies::query(device, &caps, desc.nodes, unified)?;
        let options = RequirementsOptions {
            tight_alignment: !has(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT),
            extra_required_resource_flags: desc.extra_required_resource_flags,
        };
        let alignment_beside_tight = desc.alignment_beside_tight;
        let effective_caps = DeviceCaps { resource_heap_tier: tier, alignment_beside_tight, ..caps };
        let max_heap_size = max_heap_size(&desc, &caps);
        let extra_heap_flags = extra_heap_flags(&desc, &devices);
        let accounts = Accounts::new(desc.limits);
        let prefetcher = if has(ResourceAllocatorFlags::ALLOW_PREFETCH) {
            Prefetcher::start(devices.clone())
        } else {
            None
        };
        let vendor_id =
            adapter.and_then(|adapter| AdapterDesc::query(adapter).ok()).map(|desc| desc.vendor_id);
        Ok(Arc::new_cyclic(|this| Self {
            typed_heaps: Default::default(),
            relations: parent.map_or_else(
                || Relations::of_root(&desc, &accounts, this),
                |parent| parent.relations.joined(this),
            ),
            within: Default::default(),
            requirements: RequirementsQuery::new(device, &effective_caps, options),
            adapter: adapter.cloned(),
            vendor_id,
            devices,
            caps,
            effective_caps,
            desc,
            max_heap_size,
            extra_heap_flags,
            heap_families,
            pools: Mutex::default(),
            pool_sums: Arc::default(),
            accounts,
            decisions: Decisions::default(),
            live: Arc::default(),
            deferred: Deferred::default(),
            refused_in_unified: RefusedInUnified::default(),
            prefetcher,
            residency: residency.cloned(),
            own_memory: parent.map_or_else(Arc::default, |parent| Arc::clone(&parent.own_memory)),
            debug_name: Mutex::default(),
            this: Weak::clone(this),
        }))
    }

    /// The allocator's own heaps of a kind.
    #[inline]
    pub(super) fn heaps(&self, family: HeapFamily, class: ResourceClass) -> &Striped<TypedHeaps> {
        let index = HeapKind::index_of(family, class);
        self.typed_heaps[index].get_or_init(|| self.new_heaps(index))
    }

    #[cold]
    fn new_heaps(&self, index: usize) -> Striped<TypedHeaps> {
        let HeapKind { family, heap_type, class } = HeapKind::of(index, &self.heap_families, &self.caps);
        let (desc, max_heap_size) = (&self.desc, self.max_heap_size);
        let alignment = class.heap_alignment();
        let typed = TypedHeapsDesc {
            number: next_number(),
            pool: None,
            pool_sums: None,
            heap_type,
            segment_group: family.segment_group(self.caps.architecture),
            class,
            holds_everything: false,
            heap: D3D12_HEAP_DESC {
                SizeInBytes: 0,
                Properties: self.heap_families.properties(family),
                Alignment: alignment,
                Flags: class.heap_flags(&self.effective_caps) | self.extra_heap_flags,
            },
            protected_session: None,
            residency_priority: None,
            heap_size: ByteSize::ZERO,
            max_heap_size,
            min_heap_count: 0,
            max_heap_count: 0,
            min_alignment: heapwright_core::Alignment::ONE,
            recycling: recycling(desc),
            engine: engine_desc(
                desc,
                retention(desc),
                max_heap_size,
                desc.suballocation_algorithm,
                alignment,
                ByteSize::ZERO,
                0,
            ),
        };
        // The outermost allocator counts what waits in the pool, so it has heaps of each kind that any has.
        if let Some(root) = self.relations.root().filter(|root| !std::ptr::eq(Arc::as_ptr(root), self)) {
            root.typed_heaps[index].get_or_init(|| root.new_heaps(index));
        }
        let Relation { spare, kin } = self.relations.of(index, alignment);
        let (accounts, residency) = (Arc::clone(&self.accounts), self.residency.clone());
        Striped::new(TypedHeaps::new(typed, spare, kin, accounts, residency, Weak::clone(&self.this)))
    }

    /// The allocator's own heaps, as far as any of a kind was ever wanted.
    pub(super) fn own_heaps(&self) -> impl Iterator<Item = &Striped<TypedHeaps>> {
        self.typed_heaps.iter().filter_map(OnceLock::get)
    }

    /// Backing buffers of a kind.
    #[inline]
    pub(super) fn backing_buffers(&self, kind: BackingKind) -> &Striped<BackingBuffers> {
        self.within[kind.index()].get_or_init(|| Striped::new(BackingBuffers::new(kind)))
    }

    /// Backing buffers, as far as any of a kind was ever wanted.
    pub(super) fn all_backing_buffers(&self) -> impl Iterator<Item = &Striped<BackingBuffers>> {
        self.within.iter().filter_map(OnceLock::get)
    }

    /// The pools that there are.
    pub(super) fn pools(&self) -> Vec<Arc<TypedHeaps>> {
        let pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.iter().filter_map(Weak::upgrade).collect()
    }

    /// The allocator's own heaps, and those of its pools.
    pub(super) fn all_heaps(&self) -> Vec<Arc<TypedHeaps>> {
        self.own_heaps().map(|heaps| Arc::clone(heaps)).chain(self.pools()).collect()
    }

    pub(super) fn add_pool(&self, heaps: &Arc<TypedHeaps>) {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        // As often as the list is full, so that a pool costs O(1) however many there are.
        if pools.len() == pools.capacity() {
            pools.retain(|pool| pool.strong_count() > 0);
            let count = pools.len();
            pools.reserve(count + 8);
        }
        pools.push(Arc::downgrade(heaps));
    }

    /// Whether nothing is created beyond the budget: the allocator says so, or the residency manager.
    #[inline]
    pub(super) fn is_always_in_budget(&self) -> bool {
        self.desc.flags.contains(ResourceAllocatorFlags::ALWAYS_IN_BUDGET)
            || self.residency.as_ref().is_some_and(ResidencyManager::is_always_in_budget)
    }

    /// Has the next heap made in advance when it is likely to be needed soon, or if the allocation wants it.
    ///
    /// Likely: the heaps that there are have less free than half of the next one's size, or what slabs say. Nobody asks unless
    /// prefetching is allowed, and nothing is made that the budget has no room for, where it matters.
    #[inline]
    pub(super) fn prefetch_after(
        &self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        request: &PlacementRequest,
        flags: ResourceAllocationFlags,
    ) {
        let Some(prefetcher) = &self.prefetcher else { return };
        if sharing == Sharing::Unmanaged {
            return;
        }
        if flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            return;
        }
        let always = flags.contains(ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP);
        let next = if always || heaps.shared().algorithm() == PlacementAlgorithm::Default {
            let planned = heaps.new_heap_size(sharing, request).ok();
            planned.filter(|next| always || heaps.free_in_heaps() < ByteSize::new(next.get() / 2))
        } else {
            heaps.shared().next_heap(request)
        };
        let Some(next) = next else { return };
        let within_budget =
            self.is_always_in_budget() || flags.contains(ResourceAllocationFlags::WITHIN_BUDGET);
        let terms = Terms { may_create_heap: true, within_budget, never_resident: false };
        if self.may_prefetch(heaps, next, terms) {
            prefetcher.request(heaps, sharing, next, terms);
        }
    }

    /// Returns whether a heap may be made in advance: one that may never be needed evicts nothing and exceeds no budget.
    pub(super) fn may_prefetch(&self, heaps: &TypedHeaps, size: ByteSize, terms: Terms) -> bool {
        let group = heaps.desc.segment_group;
        match &self.residency {
            Some(manager) => {
                let (usage, budget) = manager.usage_and_budget(group);
                usage.saturating_add(size) <= budget
            }
            None => self.check_budget(group, size, terms, GivenBack::Nothing).is_ok(),
        }
    }

    /// A heap that a pool begins with.
    pub(super) fn new_empty_heap(
        &self,
        heaps: &Arc<TypedHeaps>,
        size: ByteSize,
        terms: Terms,
    ) -> Result<(), Refusal> {
        let sizes = HeapSizes { wanted: size, least: size };
        let heap: Arc<Heap> = match self.create_heap(heaps, size, terms) {
            Ok(heap) => heap,
            Err(refusal) if refusal.fatal.is_some() => return Err(refusal),
            Err(mut refusal) => {
                let made = self.create_after_refusal(heaps, sizes, terms, &mut refusal)?;
                made.ok_or(refusal)?
            }
        };
        heaps
            .insert_empty(heap)
            .map_err(|error| Refusal::from(Error::invalid_argument("PoolDesc::heap_size", error.to_string())))
    }

    /// Frees what the GPU is done with.
    pub(super) fn collect_deferred(&self) -> usize {
        self.deferred.collect()
    }

    pub(super) fn audit(&self) -> Result<(), String> {
        for heaps in &self.all_heaps() {
            heaps.audit()?;
        }
        self.all_backing_buffers().try_for_each(|backing| backing.audit())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.deferred.collect();
        if !self.desc.flags.contains(ResourceAllocatorFlags::NEVER_LEAK) {
            return;
        }
        for leaked in self.live.all() {
            let name = leaked.name.as_deref().unwrap_or("without a name");
            let (size, heap_type, placement) = (leaked.size, leaked.heap_type, leaked.placement);
            tracing::warn!(
                %size,
                %heap_type,
                %placement,
                user_data = leaked.user_data,
                "allocation {name} outlives its allocator"
            );
        }
    }
}

/// The largest heap that may be made.
fn max_heap_size(desc: &ResourceAllocatorDesc, caps: &DeviceCaps) -> ByteSize {
    let bits = caps.gpu_va_bits_per_process.saturating_sub(1);
    let addressable = ByteSize::new(1_u64.checked_shl(bits).unwrap_or(u64::MAX).saturating_sub(1));
    let most = if desc.max_heap_size.is_zero() { addressable } else { desc.max_heap_size.min(addressable) };
    // Heaps come in units, so what is left of one is no use.
    ByteSize::new(most.get() & !(HEAP_GRANULARITY.get() - 1))
}

fn extra_heap_flags(desc: &ResourceAllocatorDesc, devices: &Devices) -> D3D12_HEAP_FLAGS {
    let cases = [
        (
            ResourceAllocatorFlags::CREATE_NOT_ZEROED,
            D3D12_HEAP_FLAG_CREATE_NOT_ZEROED,
            "the device does not know CREATE_NOT_ZEROED; heaps are zeroed",
        ),
        (
            ResourceAllocatorFlags::CREATE_NOT_RESIDENT,
            D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT,
            "the device does not know CREATE_NOT_RESIDENT; heaps are created resident",
        ),
    ];
    let mut flags = D3D12_HEAP_FLAG_NONE;
    for (asked, flag, warning) in cases {
        if !desc.flags.contains(asked) {
            continue;
        }
        if devices.known_heap_flags(flag) == 0 {
            tracing::warn!("{warning}");
        }
        flags |= devices.known_heap_flags(flag);
    }
    flags
}

/// How long an engine keeps empty heaps that the pool is not for.
fn retention(desc: &ResourceAllocatorDesc) -> HeapRetention {
    match desc.pool_algorithm {
        PoolAlgorithm::Default => HeapRetention::default(),
        PoolAlgorithm::FixedPool | PoolAlgorithm::SegmentedPool => HeapRetention { decay_log2: 0 },
    }
}

fn recycling(desc: &ResourceAllocatorDesc) -> Recycling {
    let keeps_by_retention = desc.pool_algorithm == PoolAlgorithm::Default
        && desc.suballocation_algorithm == SuballocationAlgorithm::Default;
    if keeps_by_retention || desc.flags.contains(ResourceAllocatorFlags::ALWAYS_ON_DEMAND) {
        Recycling::Never
    } else {
        Recycling::IntoPool
    }
}
