//! Creation of resources: the rules for placed, committed and reserved ones, in their order.

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;

use super::initial::{self, Initial};
use super::resource::{Resource, reserved};
use super::{Notices, Options, Refusal, allocation_info, clear_value, heap, placement, recreate};
use crate::ddi::{DDI_IMPLICIT_HEAP, Driver, HeapArgs, ResourceAllocation, ResourceArgs};
use crate::residency::PageableKind;

/// The memory that a resource is created in.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// A range of a heap, which was created at an address or not.
    Placed { heap: &'a D3D12_HEAP_DESC, has_address: bool, offset: u64 },
    /// An implicit heap.
    Committed { properties: &'a D3D12_HEAP_PROPERTIES, flags: D3D12_HEAP_FLAGS },
    /// Addresses of its own, whose tiles queues map to heaps.
    Reserved,
}

impl Home<'_> {
    /// Returns the type of the heap. Tiles of reserved resources are in DEFAULT heaps.
    fn heap_type(self) -> D3D12_HEAP_TYPE {
        match self {
            Self::Placed { heap, .. } => heap.Properties.Type,
            Self::Committed { properties, .. } => properties.Type,
            Self::Reserved => D3D12_HEAP_TYPE_DEFAULT,
        }
    }
}

/// The parameters of the newest creation calls. Older calls use defaults for some of them.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) desc: &'a D3D12_RESOURCE_DESC1,
    pub(crate) initial: Initial,
    pub(crate) clear_value: Option<&'a D3D12_CLEAR_VALUE>,
    pub(crate) castable_formats: &'a [DXGI_FORMAT],
    /// The address from `SetNextAllocationAddress`.
    pub(crate) create_at: Option<GpuVirtualAddress>,
}

/// A resource that satisfies the rules, in the driver's terms.
pub(crate) struct Plan {
    pub(crate) resource: Resource,
    pub(crate) args: ResourceArgs,
    pub(crate) allocation: ResourceAllocation,
    /// The heap of a committed resource.
    pub(crate) implicit_heap: Option<HeapArgs>,
    pub(crate) notices: Notices,
}

/// Checks the creation of a resource on a device of `driver`.
pub(crate) fn check(
    request: &Request<'_>,
    home: Home<'_>,
    driver: &Driver,
    options: &Options,
) -> Result<Plan, Refusal> {
    let (caps, desc) = (driver.caps(), request.desc);
    let memory = match home {
        Home::Committed { properties, flags } => {
            Some((heap::check_implicit(properties, flags, caps, options)?, flags))
        }
        Home::Placed { .. } | Home::Reserved => None,
    };
    let resource = super::resource::check_castable(desc, request.castable_formats, caps, options)?;
    recreate::check_resource(request.create_at, &resource, caps)?;
    match home {
        Home::Placed { .. } => {}
        Home::Committed { properties, flags } => {
            placement::check_committed(&resource, properties, flags)?;
            heap::check_behaviour(flags)?;
        }
        Home::Reserved => reserved::check(&resource, desc.Flags, caps.tiled_resources_tier)?,
    }
    clear_value::check(&resource, request.clear_value, request.castable_formats)?;
    initial::check(&resource, request.initial, home.heap_type(), desc.Flags, caps)?;
    let args = match home {
        Home::Committed { .. } => allocation_info::committed_args(&resource),
        Home::Placed { .. } | Home::Reserved => allocation_info::placed_args(&resource),
    };
    let args = ResourceArgs { create_at: request.create_at, ..args };
    let allocation = driver.check_resource_allocation_info(&args);
    if let Home::Placed { heap, has_address, offset } = home {
        placement::check(&resource, allocation, offset, heap)?;
        recreate::check_placed(request.create_at, has_address)?;
    }
    let implicit_heap = memory.map(|(memory, flags)| HeapArgs {
        implicit: caps.ddi_version >= DDI_IMPLICIT_HEAP,
        pageable: PageableKind::CommittedResource,
        ..memory.heap(allocation.size, allocation.alignment, flags, request.create_at)
    });
    Ok(Plan { resource, args, allocation, implicit_heap, notices: super::resource::notices(desc) })
}
