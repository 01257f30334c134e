//! Creates pools, also those that the allocator has for allocations with properties of their own.

use std::sync::{Arc, PoisonError};

use heapwright_d3d12::*;
use heapwright_trace::session::Action;

use super::inner::Inner;
use super::pool::Pool;
use super::request::ResourceAllocationDesc;
use crate::Error;
use crate::desc::{PoolDesc, ResourceDesc, ResourceKind};
use crate::heaps::{Nearness, Striped, TypedHeaps, TypedHeapsDesc};
use crate::recording::RecordedOptions;
use crate::request::{GrantedHeaps, HeapFamily, ResourceClass};
use crate::source::next_number;

impl Inner {
    /// Returns the heaps for a pool, if the device supports them.
    fn pool_heaps(&self, desc: &PoolDesc) -> Result<GrantedHeaps, Error> {
        let family = match desc.custom_heap {
            None => self
                .heaps
                .families
                .of(desc.heap_type, true)
                .ok_or_else(|| Error::unsupported(format!("{} heaps on this device", desc.heap_type)))?,
            Some(memory) => {
                let family = custom_family(memory)?;
                family.check(&self.caps)?;
                return Ok(self.heaps.families.granted(family));
            }
        };
        Ok(GrantedHeaps { heap_type: desc.heap_type, ..self.heaps.families.granted(family) })
    }

    /// Calls `make` with the description of an allocation, in which the properties of a CUSTOM heap are replaced by a
    /// pool of such heaps. There is one for each memory and kind of resource.
    pub(crate) fn in_custom_heaps<T>(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ResourceDesc<'_>,
        make: impl FnOnce(&ResourceAllocationDesc<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some((page, memory)) = allocation.custom_heap else { return make(allocation) };
        allocation.check()?;
        let pool = self.custom_pool_for((page, memory), resource)?;
        make(&ResourceAllocationDesc { custom_heap: None, pool: Some(&pool), ..*allocation })
    }

    /// Returns the pool of CUSTOM heaps for a resource.
    fn custom_pool_for(
        &self,
        memory: (D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL),
        resource: &ResourceDesc<'_>,
    ) -> Result<Pool, Error> {
        let flags = resource.desc.Flags | self.desc().extra_required_resource_flags;
        let class =
            ResourceClass::of(&D3D12_RESOURCE_DESC { Flags: flags, ..resource.desc }, &self.heaps.caps);
        let resources = match class {
            ResourceClass::Buffer => ResourceKind::Buffers,
            _ if self.heaps.caps.resource_heap_tier >= 2 => ResourceKind::Any,
            ResourceClass::Texture => ResourceKind::Textures,
            ResourceClass::RenderTarget | ResourceClass::Multisampled => ResourceKind::RenderTargets,
            ResourceClass::Any | ResourceClass::AnyMultisampled => ResourceKind::Any,
        };
        self.custom_pool(memory, resources, class == ResourceClass::Multisampled)
    }

    /// Returns the pool of CUSTOM heaps that the allocator has in addition to its own kinds, which is created if it
    /// does not exist.
    pub(super) fn custom_pool(
        &self,
        memory: (D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL),
        resources: ResourceKind,
        multisampled: bool,
    ) -> Result<Pool, Error> {
        let family = custom_family(memory)?;
        let mut pools = self.custom_pools.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |pool: &&Pool| {
            (pool.granted.family, pool.resources, pool.multisampled) == (family, resources, multisampled)
        };
        if let Some(pool) = pools.iter().find(is_same) {
            return Ok(pool.clone());
        }
        let pool = self.create_pool(self.like_own(PoolDesc {
            name: family.to_string(),
            heap_type: family.nearest_heap_type(),
            custom_heap: Some(memory),
            resources,
            multisampled,
            ..Default::default()
        }))?;
        pools.push(pool.clone());
        Ok(pool)
    }

    /// Adds what the allocator's own heaps have to the description of a pool.
    pub(super) fn like_own(&self, desc: PoolDesc) -> PoolDesc {
        let source = &self.heaps.source;
        PoolDesc {
            extra_heap_flags: desc.extra_heap_flags | source.extra_heap_flags,
            min_alignment: source.desc.min_alignment,
            ..desc
        }
    }

    pub(crate) fn create_pool(&self, desc: PoolDesc) -> Result<Pool, Error> {
        desc.check()?;
        let source = &self.heaps.source;
        if let Some(size) = desc.heap_size.filter(|&size| size > source.max_heap_size) {
            let rule = format!("{size} exceeds the maximum heap size of {}", source.max_heap_size);
            return Err(Error::invalid_argument("PoolDesc::heap_size", rule));
        }
        if desc.resources == ResourceKind::Any && self.heaps.caps.resource_heap_tier < 2 {
            return Err(Error::unsupported("PoolDesc::resources: Any (requires resource heap tier 2)"));
        }
        if desc.protected_session.is_some() && source.devices.device4.is_none() {
            return Err(Error::unsupported("PoolDesc::protected_session (requires ID3D12Device4)"));
        }
        let flags = (desc.extra_heap_flags, "PoolDesc::extra_heap_flags");
        source.devices.check(&self.caps, &ResourceDesc::default(), flags)?;
        let granted = self.pool_heaps(&desc)?;
        let boxed = |(name, value): (&str, String)| (name.into(), value.into());
        let recording = source.recording.as_ref();
        let options = recording.map(|_| desc.options().into_iter().map(boxed).collect::<RecordedOptions>());
        let mut properties = self.heaps.families.properties(granted.family);
        if let Some(nodes) = desc.nodes {
            nodes.check(self.caps.node_count)?;
            (properties.CreationNodeMask, properties.VisibleNodeMask) = (nodes.creation, nodes.visible);
        }
        let flags = match desc.resources {
            ResourceKind::Buffers => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
            ResourceKind::Textures => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
            ResourceKind::RenderTargets => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
            ResourceKind::Any => D3D12_HEAP_FLAG_NONE,
        };
        let alignment = if desc.multisampled { ResourceClass::Multisampled.heap_alignment() } else { 0 };
        let class = match desc.resources {
            ResourceKind::Buffers => ResourceClass::Buffer,
            ResourceKind::Any => ResourceClass::Any,
            ResourceKind::Textures => ResourceClass::Texture,
            ResourceKind::RenderTargets => ResourceClass::RenderTarget,
        };
        let heap = D3D12_HEAP_DESC {
            SizeInBytes: 0,
            Properties: properties,
            Alignment: alignment,
            Flags: flags | source.devices.known_heap_flags(desc.extra_heap_flags),
        };
        let typed = TypedHeapsDesc {
            number: next_number(),
            kind: None,
            pool: Some(Arc::from(desc.name.as_str())),
            family: granted.family,
            heap_type: granted.heap_type,
            segment_group: granted.segment_group,
            class,
            heap,
            protected_session: desc.protected_session,
            residency_priority: desc.residency_priority,
            heap_size: desc.heap_size.unwrap_or_default(),
            min_heap_count: u64::from(desc.min_heap_count),
            max_heap_count: desc.max_heap_count.map_or(0, u64::from),
            min_alignment: desc.min_alignment,
            kept_size: None,
            algorithm: desc.algorithm,
        };
        let heaps = Striped::new(TypedHeaps::new(typed, Arc::clone(source)));
        let size = heaps.desc.heap_size;
        let create_heaps = || {
            self.retried(|| self.heaps.make_room_for_heaps(&heaps, desc.min_heap_count))?;
            let account = heaps.desc.account();
            (0..desc.min_heap_count).try_for_each(|_| {
                let create = || self.heaps.create_empty_heap(&heaps, size);
                let near = || self.heaps.with_device_room(Nearness::FIRST, account, || self.retried(create));
                self.heaps.with_device_room(Nearness::LAST, account, near)
            })
        };
        create_heaps().map_err(|refusal| {
            // Empty heaps of others may have been released for them.
            if let Some((recording, options)) = recording.zip(options.clone()) {
                recording.call(|| Action::RefusePool { options });
            }
            self.refused(desc.heap_type, size, refusal, false)
        })?;
        self.heaps.add_pool(&heaps);
        let recorded = recording.zip(options).and_then(|(recording, options)| recording.pool(options));
        Ok(Pool {
            heaps: Arc::new(heaps),
            granted,
            resources: desc.resources,
            multisampled: desc.multisampled,
            resource_heap_tier: self.heaps.caps.resource_heap_tier,
            recorded,
        })
    }
}

/// Returns CUSTOM heaps with these properties.
pub(super) fn custom_family(
    (cpu_page_property, memory_pool): (D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL),
) -> Result<HeapFamily, Error> {
    let properties = D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: cpu_page_property,
        MemoryPoolPreference: memory_pool,
        ..Default::default()
    };
    HeapFamily::try_from_d3d12(&properties).map(|(family, _)| family)
}
