//! What a call asks for: the description of an allocation, the rules between its fields, the heaps that it is granted,
//! and the placements that it may have, in the order in which they are tried.

use heapwright_core::placement::{PlacementRequest, Sharing};
use heapwright_core::suballoc::FreeRangeChoice;
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::inner::Inner;
use super::pool::Pool;
use crate::buffers::{BELOW, canonical_state};
use crate::desc::{
    HEAP_GRANULARITY, ResourceAllocationFlags, ResourceAllocatorFlags, ResourceDesc, ResourceKind,
    SuballocationAlgorithm,
};
use crate::heaps::{Striped, TypedHeaps};
use crate::request::{
    BYTE_OFFSET_VIEW, Creation, GrantedHeaps, HeapFamily, Placement, PlacementDecision, PlacementReason,
    ResourceClass, ResourceRequirements, check_clear_value, check_gpu_writes, check_initial_state,
    infer_heap_type,
};
use crate::{BufferUses, Error, HeapTypePreference, InitialState};

/// The description of an allocation: `RESOURCE_ALLOCATION_DESC` of GPGMM, and fields that D3D12MA adds.
///
/// ```
/// use heapwright::{HeapType, ResourceAllocationDesc, ResourceAllocationFlags};
///
/// let desc = ResourceAllocationDesc {
///     flags: ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP,
///     ..ResourceAllocationDesc::new(HeapType::Upload)
/// };
/// assert_eq!(desc.heap_type, Some(HeapType::Upload.into()));
/// assert_eq!(ResourceAllocationDesc::default().heap_type, None, "inferred from the initial state");
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ResourceAllocationDesc<'a> {
    /// Options of the allocation.
    pub flags: ResourceAllocationFlags,
    /// Heap type. `None` infers it from the initial state: UPLOAD for GENERIC_READ, READBACK for COPY_DEST, otherwise
    /// DEFAULT. With [unified memory](crate::ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY), `None` is unified memory in
    /// each of these cases. Of several types, the first that the device supports and that has memory is granted;
    /// [`ResourceAllocation::heap_type`](crate::ResourceAllocation::heap_type) returns it.
    pub heap_type: Option<HeapTypePreference>,
    /// Heap flags that the heap must have. Flags that the allocator's own heaps do not have make the resource
    /// committed. CREATE_NOT_ZEROED is a hint, ignored on devices without `ID3D12Device8`; CREATE_NOT_RESIDENT is
    /// unsupported there. SHARED heaps keep their type despite unified memory, which the CPU can access.
    pub extra_required_heap_flags: D3D12_HEAP_FLAGS,
    /// Bytes after the resource that no other resource gets. Not for committed resources, nor within a resource.
    pub extra_required_resource_padding: ByteSize,
    /// Places the resource in CUSTOM heaps with these properties, which hold textures, too, and buffers in any state:
    /// WRITE_COMBINE in L0 is UPLOAD's memory on a discrete GPU, and WRITE_BACK in L0 is READBACK's. Not for committed
    /// resources, nor with a pool. `heap_type` is `None` or the closest standard type.
    pub custom_heap: Option<(D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL)>,
    /// Custom pool in which the resource is placed. The pool determines the heap type. A committed resource has the
    /// properties, flags, priority and protected session of the pool's heaps, and is none of them: no limit of their
    /// number applies, and the pool's totals do not count it.
    pub pool: Option<&'a Pool>,
    /// The rule that selects the free range.
    pub strategy: FreeRangeChoice,
    /// The intended uses of a buffer, some of which require a larger alignment than the buffer itself.
    pub uses: BufferUses,
    /// The application's value for the allocation, zero for none. Reports and moves of a defragmentation contain it.
    pub user_data: u64,
}

impl ResourceAllocationDesc<'_> {
    /// Creates a description with a heap type, or with several in order of preference, and defaults for everything
    /// else.
    #[must_use]
    pub fn new(heap_type: impl Into<HeapTypePreference>) -> Self {
        Self { heap_type: Some(heap_type.into()), ..Default::default() }
    }

    /// Checks the rules between the fields.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        let flags = self.flags;
        let error = |field, rule: &str| Err(Error::invalid_argument(field, rule));
        if flags.contains(
            ResourceAllocationFlags::NEVER_ALLOCATE_HEAP | ResourceAllocationFlags::ALWAYS_PREFETCH_HEAP,
        ) {
            return error(
                "ResourceAllocationDesc::flags",
                "NEVER_ALLOCATE_HEAP and ALWAYS_PREFETCH_HEAP are mutually exclusive",
            );
        }
        if let Some(unknown) =
            Some(flags.difference(ResourceAllocationFlags::all())).filter(|f| !f.is_empty())
        {
            let rule = format!("the flag bits {:#x} are unknown", unknown.bits());
            return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
        }
        let commits = flags.intersects(
            ResourceAllocationFlags::ALWAYS_COMMITTED | ResourceAllocationFlags::PREFER_COMMITTED,
        );
        if self.custom_heap.is_some() && self.pool.is_some() {
            return error("ResourceAllocationDesc::custom_heap", "must be None with a pool");
        }
        if commits && self.custom_heap.is_some() {
            return error("ResourceAllocationDesc::custom_heap", "must be None for committed resources");
        }
        if commits && !self.extra_required_resource_padding.is_zero() {
            return error(
                "ResourceAllocationDesc::extra_required_resource_padding",
                "must be zero for committed resources",
            );
        }
        if commits && flags.contains(ResourceAllocationFlags::NEVER_ALLOCATE_HEAP) {
            return error(
                "ResourceAllocationDesc::flags",
                "NEVER_ALLOCATE_HEAP cannot be combined with ALWAYS_COMMITTED or PREFER_COMMITTED",
            );
        }
        if flags.contains(ResourceAllocationFlags::UPPER_ADDRESS) && self.pool.is_none() {
            return error(
                "ResourceAllocationDesc::flags",
                "UPPER_ADDRESS is only supported for pools with the Linear algorithm",
            );
        }
        Ok(())
    }
}

/// A request for a resource, or for memory, in granted heaps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceRequest<'a> {
    pub(crate) allocation: &'a ResourceAllocationDesc<'a>,
    /// For memory, a buffer of its size.
    pub(crate) resource: &'a ResourceDesc<'a>,
    pub(crate) memory: Option<&'a BareMemory>,
    pub(crate) granted: GrantedHeaps,
}

/// Memory without a resource: the resources that its heap must hold, and its alignment.
pub(crate) type BareMemory = (ResourceKind, Alignment);

/// A request that keeps all rules, and what follows from it: where its memory may be, and how much it is.
pub(crate) struct Resolved<'a> {
    pub(crate) request: &'a ResourceRequest<'a>,
    pub(crate) heaps: &'a Striped<TypedHeaps>,
    /// The requirements of the resource if it is placed.
    pub(crate) placed: ResourceRequirements,
    /// The range in a shared heap.
    pub(crate) shared: PlacementRequest,
    pub(crate) order: Order,
}

impl Resolved<'_> {
    /// Returns the range in a heap of its own, which is used once if it is not managed as the others are.
    pub(crate) fn alone(&self) -> PlacementRequest {
        let (source, flags) = (&self.heaps.source, self.request.allocation.flags);
        let reusable = source.residency.is_none() || source.manager_for(flags).is_some();
        PlacementRequest { sharing: Sharing::Alone { reusable }, ..self.shared }
    }
}

impl Inner {
    /// Checks the options of a request, and selects the heaps that are granted to it first.
    #[inline(always)]
    pub(crate) fn request<'a>(
        &self,
        allocation: &'a ResourceAllocationDesc<'a>,
        resource: &'a ResourceDesc<'a>,
        memory: Option<&'a BareMemory>,
    ) -> Result<ResourceRequest<'a>, Error> {
        allocation.check()?;
        let source = &self.heaps.source;
        let within_budget = allocation.flags.contains(ResourceAllocationFlags::WITHIN_BUDGET);
        if within_budget && source.adapter.is_none() && source.residency.is_none() {
            let rule = "WITHIN_BUDGET requires an adapter or a residency manager";
            return Err(Error::invalid_argument("ResourceAllocationDesc::flags", rule));
        }
        let families = &self.heaps.families;
        let granted = match (allocation.pool, &allocation.heap_type) {
            (Some(pool), _) => Some(pool.granted),
            _ if families.has_unified_memory() => self.granted_of_unified(allocation, resource),
            (None, Some(preference)) => families.first_grant(preference, false),
            (None, None) => families.first_grant(&infer_heap_type(resource.initial_state).into(), false),
        };
        let Some(granted) = granted else {
            let preference = self.heap_types_of(allocation, resource);
            return Err(Error::unsupported(format!("{preference} heaps on this device")));
        };
        Ok(ResourceRequest { allocation, resource, memory, granted })
    }

    /// Returns the requested heap types.
    pub(crate) fn heap_types_of(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
    ) -> HeapTypePreference {
        match (allocation.pool, allocation.heap_type) {
            (Some(pool), _) => pool.heap_type().into(),
            (None, Some(preference)) => preference,
            (None, None) => self.inferred_type(allocation, resource).into(),
        }
    }

    /// Checks the rules of a resource that is not a part of a buffer and that require no call of the device.
    #[inline]
    pub(crate) fn check(&self, request: &ResourceRequest<'_>) -> Result<(), Error> {
        let ResourceRequest { allocation, resource, granted, .. } = request;
        let flags = (allocation.extra_required_heap_flags, EXTRA_HEAP_FLAGS);
        self.heaps.source.devices.check(&self.caps, resource, flags)?;
        let asked = match allocation.pool {
            Some(_) => granted.family,
            None => HeapFamily::Type(granted.heap_type),
        };
        check_initial_state(asked, resource.desc.Dimension, resource.initial_state)?;
        let resource_flags = resource.desc.Flags | self.desc().extra_required_resource_flags;
        check_gpu_writes(granted.family, resource.desc.Dimension, resource_flags)?;
        if let Some(clear_value) = &resource.clear_value {
            check_clear_value(clear_value, resource.desc.Dimension, resource_flags)?;
        }
        allocation.pool.map_or(Ok(()), |pool| self.check_pool(allocation, pool))
    }

    /// Checks the rules of an allocation in a pool.
    fn check_pool(&self, allocation: &ResourceAllocationDesc<'_>, pool: &Pool) -> Result<(), Error> {
        if !pool.is_of(&self.heaps.source) {
            let rule = format!("pool \"{}\" belongs to another allocator", pool.name());
            return Err(Error::invalid_argument("ResourceAllocationDesc::pool", rule));
        }
        let foreign = foreign_heap_flags(allocation.extra_required_heap_flags, pool.heaps.desc.heap.Flags);
        if foreign != 0 {
            // Outside of a pool, the resource is committed.
            let rule = format!("flags {foreign:#x} are not set on the pool's heaps");
            return Err(Error::invalid_argument(EXTRA_HEAP_FLAGS, rule));
        }
        let heap_type = pool.heap_type();
        if let Some(asked) = allocation.heap_type.filter(|asked| !asked.heap_types().contains(&heap_type)) {
            let rule =
                format!("{asked} does not match the heap type {heap_type} of pool \"{}\"", pool.name());
            return Err(Error::invalid_argument("ResourceAllocationDesc::heap_type", rule));
        }
        Ok(())
    }

    /// Checks a request that is not for a part of a buffer, and returns what follows from it.
    #[inline(always)]
    pub(crate) fn resolve<'a>(&'a self, request: &'a ResourceRequest<'a>) -> Result<Resolved<'a>, Error> {
        let &ResourceRequest { allocation, resource, memory, ref granted } = request;
        self.check(request)?;
        let placed = match memory {
            None => self.requirements.requirements(resource, allocation.uses, Creation::Placed)?,
            Some(memory) => self.requirements_of_memory(memory, request)?,
        };
        let caps = &self.heaps.caps;
        let class = match memory {
            None => ResourceClass::of(&placed.desc, caps),
            Some(&(resources, alignment)) => ResourceClass::of_memory(resources, alignment, caps),
        };
        let heaps = match allocation.pool {
            None => self.heaps.of(granted.family, class),
            Some(pool) => {
                // A committed resource is in none of its heaps, and memory is not of a class.
                let is_placed = !allocation.flags.contains(ResourceAllocationFlags::ALWAYS_COMMITTED);
                if is_placed && memory.is_none() {
                    pool.check_holds(class)?;
                }
                &pool.heaps
            }
        };
        let padding = allocation.extra_required_resource_padding;
        let mut alignment = placed.alignment.max(heaps.desc.min_alignment);
        // A tightly aligned buffer owns whole ranges of 64 KiB with respect to textures, and so does a buffer that is
        // not. So either the textures take whole ranges, or the buffers, of which some may request the flag themselves.
        // What is placed in memory is not known.
        if heaps.desc.class.holds_everything()
            && (memory.is_some() || resource.is_buffer() != self.requirements.is_tight_by_default())
        {
            alignment = alignment.max(HEAP_GRANULARITY);
        }
        // A multiple of the alignment, as moves of a defragmentation require.
        let size = placed.size.checked_add(padding).and_then(|size| size.align_up(alignment));
        let size = size.ok_or_else(|| {
            let rule = format!("{padding} plus the resource's size of {} exceeds 64 bits", placed.size);
            Error::too_large("ResourceAllocationDesc::extra_required_resource_padding", rule)
        })?;
        let width = ByteSize::new(if resource.is_buffer() { placed.desc.Width } else { u64::MAX });
        let rounding = size.saturating_sub(width.saturating_add(padding));
        let shared = PlacementRequest {
            rounding: if rounding.get() < alignment.get() { rounding } else { ByteSize::ZERO },
            strategy: allocation.strategy,
            upper: allocation.flags.contains(ResourceAllocationFlags::UPPER_ADDRESS),
            cache_size: allocation.flags.contains(ResourceAllocationFlags::ALWAYS_CACHE_SIZE),
            ..PlacementRequest::new(size, alignment)
        };
        let rules = HeapRules {
            placed_only: memory.is_some() | allocation.pool.is_some() | !padding.is_zero(),
            always_committed: self.desc().flags.contains(ResourceAllocatorFlags::ALWAYS_COMMITTED),
            dedicated: heaps.desc.algorithm == SuballocationAlgorithm::Dedicated,
            flags: heaps.desc.heap.Flags,
        };
        Ok(Resolved { request, heaps, placed, shared, order: order(allocation, resource, rules) })
    }
}

const EXTRA_HEAP_FLAGS: &str = "ResourceAllocationDesc::extra_required_heap_flags";

/// Returns the required flags that heaps do not have and that affect their resources.
#[inline]
pub(crate) fn foreign_heap_flags(required: D3D12_HEAP_FLAGS, flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_FLAGS {
    // Hints that need not be honored.
    let permissions = D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
    required & !permissions & !flags
}

/// The minimum alignment of a part, as in GPGMM's library.
const LEAST_ALIGNMENT: u64 = 4;

impl Inner {
    /// Returns size and alignment of a buffer within a resource, or `None` if it must not be placed there.
    ///
    /// Eligible are, if the allocation permits it, buffers below 64 KiB, without flags, in heaps that the CPU can
    /// access and in the canonical state of these heaps (a resource has one state, so a part cannot change its own).
    /// The alignment is the one that the description requests; otherwise the one that the uses need; otherwise 256 in
    /// state GENERIC_READ, because it may become a constant buffer, and in other states the width's next power of two,
    /// 4 to 256, because copies and shader views need whole multiples of 32 bits, and views by elements whole elements.
    /// Where the device has views by byte offsets, which need at most 16 bytes, it is 4 to 16. The size is a multiple
    /// of the alignment, as in GPGMM, so that a constant buffer view, which has multiples of 256 bytes, does not end in
    /// another part.
    #[inline]
    pub(crate) fn part_of(&self, request: &ResourceRequest<'_>) -> Option<(ByteSize, Alignment)> {
        let may_be_part = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
        if request.allocation.flags.contains(may_be_part) { self.part_of_buffer(request) } else { None }
    }

    fn part_of_buffer(&self, request: &ResourceRequest<'_>) -> Option<(ByteSize, Alignment)> {
        let &ResourceRequest { allocation, resource, memory, ref granted } = request;
        let desc = &resource.desc;
        let heap_type = granted.heap_type;
        let state = match resource.initial_state {
            InitialState::State(state) => state,
            // Buffers have no layout.
            InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED) => D3D12_RESOURCE_STATE_COMMON,
            InitialState::Layout(_) => return None,
        };
        let refused = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP
            .union(ResourceAllocationFlags::NEVER_RESIDENT)
            .union(ResourceAllocationFlags::ALWAYS_COMMITTED)
            .union(ResourceAllocationFlags::PREFER_COMMITTED);
        let is_open = memory.is_none()
            && resource.is_buffer()
            && is_sound(resource)
            && desc.Width > 0
            && desc.Width < BELOW
            && desc.Flags | self.desc().extra_required_resource_flags == D3D12_RESOURCE_FLAG_NONE
            && heap_type.is_cpu_accessible()
            && granted.is_cpu_accessible
            && (state == canonical_state(heap_type) || state == D3D12_RESOURCE_STATE_COMMON)
            && !allocation.flags.intersects(refused)
            && allocation.extra_required_heap_flags == D3D12_HEAP_FLAG_NONE
            && allocation.extra_required_resource_padding.is_zero()
            && allocation.pool.is_none();
        if !is_open {
            return None;
        }
        let floor = allocation.uses.floor();
        let alignment = if desc.Alignment != 0 {
            Alignment::new(desc.Alignment).filter(|a| a.get() <= BELOW)?.max(floor)
        } else if floor > Alignment::ONE {
            floor
        } else {
            let most = if self.caps.byte_offset_views { BYTE_OFFSET_VIEW.get() } else { 256 };
            let usual = match state {
                D3D12_RESOURCE_STATE_GENERIC_READ => 256,
                _ => desc.Width.next_power_of_two().clamp(LEAST_ALIGNMENT, most),
            };
            Alignment::new(usual)?
        };
        Some((ByteSize::new(desc.Width).align_up(alignment)?, alignment))
    }
}

/// Checks whether the device would accept the description, so that an invalid buffer is not accepted just because it is
/// small.
#[inline]
fn is_sound(resource: &ResourceDesc<'_>) -> bool {
    let desc = &resource.desc;
    let region = resource.sampler_feedback_mip_region;
    (desc.Height, desc.DepthOrArraySize, desc.MipLevels) == (1, 1, 1)
        && (desc.SampleDesc.Count, desc.SampleDesc.Quality) == (1, 0)
        && (desc.Format, desc.Layout) == (DXGI_FORMAT_UNKNOWN, D3D12_TEXTURE_LAYOUT_ROW_MAJOR)
        && (region.Width, region.Height, region.Depth) == (0, 0, 0)
        && resource.layout_guid.is_null()
        && resource.clear_value.is_none()
        && resource.castable_formats.is_empty()
        && resource.protected_session.is_none()
}

/// The inputs that determine the order of the placements, in addition to the description of the allocation.
#[derive(Debug, Clone, Copy, Default)]
struct HeapRules {
    /// Memory, what is in a pool, and padding are never committed.
    placed_only: bool,
    /// The allocator commits every resource.
    always_committed: bool,
    /// Every resource has a heap of its own.
    dedicated: bool,
    /// The flags of the heaps.
    flags: D3D12_HEAP_FLAGS,
}

/// At most three placements, each with its reason.
pub(crate) type Order = [Option<PlacementDecision>; 3];

/// Returns the placements to try, in order; empty if the flags exclude all of them.
///
/// | case | first | second | third |
/// |---|---|---|---|
/// | as a rule | shared | own heap, if too large to share | committed |
/// | NEVER_SUBALLOCATE_HEAP, NEVER_RESIDENT | own heap | | committed |
/// | ALWAYS_COMMITTED, foreign heap flags | committed | | |
/// | PREFER_COMMITTED | committed | shared | own heap, if too large to share |
/// | PREFER_COMMITTED with NEVER_SUBALLOCATE_HEAP, NEVER_RESIDENT | committed | own heap | |
///
/// The final committed placement is omitted for memory, and with NEVER_ALLOCATE_HEAP, NEVER_FALLBACK, a pool or
/// padding.
// Inlined, what follows the first placement is only determined if that is refused (50 of 700 instructions, 2026-11-29).
#[inline(always)]
fn order(allocation: &ResourceAllocationDesc<'_>, resource: &ResourceDesc<'_>, rules: HeapRules) -> Order {
    use ResourceAllocationFlags as Flags;
    let committed = |reason| Some(PlacementDecision::new(Placement::Committed, reason));
    let own = |reason| Some(PlacementDecision::new(Placement::OwnHeap, reason));
    let (flags, is_in_pool) = (allocation.flags, allocation.pool.is_some());
    if flags.contains(Flags::ALWAYS_COMMITTED) || resource.protected_session.is_some() && !is_in_pool {
        return [committed(PlacementReason::AllocationFlag), None, None];
    }
    if !is_in_pool && foreign_heap_flags(allocation.extra_required_heap_flags, rules.flags) != 0 {
        return [committed(PlacementReason::ExtraHeapFlags), None, None];
    }
    if rules.always_committed && !rules.placed_only {
        return [committed(PlacementReason::AllocatorFlag), None, None];
    }
    let shared = Some(PlacementDecision::new(Placement::SharedHeap, PlacementReason::Usual));
    let too_large = own(PlacementReason::TooLargeToShare);
    let alone = if flags.intersects(Flags::NEVER_SUBALLOCATE_HEAP.union(Flags::NEVER_RESIDENT)) {
        own(PlacementReason::AllocationFlag)
    } else if rules.dedicated {
        own(PlacementReason::Usual)
    } else {
        None
    };
    if flags.contains(Flags::PREFER_COMMITTED) {
        let first = committed(PlacementReason::AllocationFlag);
        return if alone.is_some() { [first, alone, None] } else { [first, shared, too_large] };
    }
    let never_falls_back =
        rules.placed_only || flags.intersects(Flags::NEVER_FALLBACK.union(Flags::NEVER_ALLOCATE_HEAP));
    let last = if never_falls_back { None } else { committed(PlacementReason::OutOfMemory) };
    if alone.is_some() { [alone, last, None] } else { [shared, too_large, last] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_heaps_determine_the_order() {
        use Placement::{Committed, OwnHeap as Own, SharedHeap as Shared};
        use PlacementReason::{
            AllocationFlag, AllocatorFlag, ExtraHeapFlags, OutOfMemory, TooLargeToShare as Large, Usual,
        };
        use ResourceAllocationFlags as Flags;
        let (none, heaps) = (Flags::empty(), HeapRules::default());
        let committing = HeapRules { always_committed: true, ..heaps };
        let dedicated = HeapRules { dedicated: true, ..heaps };
        let by_flag = (Committed, AllocationFlag);
        let (shared, large, last) = ((Shared, Usual), (Own, Large), (Committed, OutOfMemory));
        type Case<'a> = (Flags, u64, HeapRules, &'a [(Placement, PlacementReason)]);
        let cases: [Case<'_>; 13] = [
            (none, 0, heaps, &[shared, large, last]),
            (Flags::ALWAYS_COMMITTED, 0, heaps, &[by_flag]),
            (none, 0, committing, &[(Committed, AllocatorFlag)]),
            (none, 1, committing, &[shared, large]),
            (Flags::PREFER_COMMITTED, 0, heaps, &[by_flag, shared, large]),
            (Flags::PREFER_COMMITTED | Flags::NEVER_RESIDENT, 0, heaps, &[by_flag, (Own, AllocationFlag)]),
            (Flags::PREFER_COMMITTED, 0, dedicated, &[by_flag, (Own, Usual)]),
            (Flags::NEVER_SUBALLOCATE_HEAP, 0, heaps, &[(Own, AllocationFlag), last]),
            (Flags::NEVER_RESIDENT, 0, heaps, &[(Own, AllocationFlag), last]),
            (Flags::NEVER_ALLOCATE_HEAP, 0, heaps, &[shared, large]),
            (Flags::NEVER_FALLBACK, 0, heaps, &[shared, large]),
            (none, 1, heaps, &[shared, large]),
            (none, 0, dedicated, &[(Own, Usual), last]),
        ];
        for (flags, padding, rules, expected) in cases {
            let allocation = ResourceAllocationDesc { flags, ..Default::default() };
            let rules = HeapRules { placed_only: padding > 0, ..rules };
            let found = order(&allocation, &ResourceDesc::default(), rules);
            let found = found.into_iter().flatten().map(|decision| (decision.placement, decision.reason));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{flags:?}, {rules:?}");
        }
        for (flags, is_foreign) in [
            (D3D12_HEAP_FLAG_SHARED, true),
            (D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, true),
            (D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS | D3D12_HEAP_FLAG_CREATE_NOT_ZEROED, false),
        ] {
            let allocation =
                ResourceAllocationDesc { extra_required_heap_flags: flags, ..Default::default() };
            let rules = HeapRules { flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, ..heaps };
            let first = order(&allocation, &ResourceDesc::default(), rules)[0];
            let foreign = PlacementDecision::new(Committed, ExtraHeapFlags);
            assert_eq!(first == Some(foreign), is_foreign, "{flags:#x}");
        }
    }
}
