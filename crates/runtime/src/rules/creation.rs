//! Creation of resources: the rules for placed, committed and reserved ones, in their order.

use std::sync::Arc;

use heapwright_core::{Alignment, GpuVirtualAddress};
use heapwright_d3d12::*;

use super::initial::{self, Initial};
use super::resource::{Additions, Resource};
use super::{Notices, Options, Refusal, allocation_info, clear_value, heap, placement, recreate};
use crate::ddi::umddi::{D3D12DDI_HEAP_FLAG_0115_IMPLICIT, D3D12DDI_HEAP_FLAG_NONE};
use crate::ddi::{
    DDI_IMPLICIT_HEAP, HeapArgs, ResourceAllocation, ResourceArgs, TextureDimension, TextureMemoryLayout,
    TileGrid,
};
use crate::drivers::driver::Driver;
use crate::drivers::heap::DriverHeap;
use crate::residency::PageableKind;

/// The memory that a resource is created in.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// A range of a heap, which was created at an address or not.
    Placed { heap: &'a D3D12_HEAP_DESC, memory: &'a Arc<DriverHeap>, has_address: bool, offset: u64 },
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
    pub(crate) desc: D3D12_RESOURCE_DESC1,
    pub(crate) initial: Initial,
    pub(crate) clear_value: Option<&'a D3D12_CLEAR_VALUE>,
    pub(crate) additions: Additions<'a>,
    /// The address from `SetNextAllocationAddress`.
    pub(crate) create_at: Option<GpuVirtualAddress>,
}

/// A resource that satisfies the rules, in the driver's terms.
pub(crate) struct Plan {
    pub(crate) resource: Resource,
    pub(crate) args: ResourceArgs,
    pub(crate) allocation: ResourceAllocation,
    /// The alignment that `GetDesc` reports. As on Windows it is that of `GetResourceAllocationInfo`, so that the
    /// description is valid again, even where the resource itself is aligned to more.
    pub(crate) described_alignment: Alignment,
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
    let (caps, desc) = (driver.caps(), &request.desc);
    let resource = super::resource::check_with(desc, &request.additions, caps, options)?;
    let (memory, least_alignment, heap_has_address) = match home {
        Home::Placed { has_address, .. } => (None, allocation_info::PLACED_MINIMUM, has_address),
        Home::Committed { properties, flags } => {
            let memory = heap::check_implicit(properties, flags, caps, options)?;
            placement::check_committed(&resource, properties, flags)?;
            #[cfg(feature = "preview")]
            super::resource::layout_guid::check_committed(desc)?;
            heap::check_behaviour(flags)?;
            (Some((memory, flags)), allocation_info::COMMITTED_MINIMUM, true)
        }
        Home::Reserved => {
            check_reserved(&resource, caps.tiled_resources_tier)?;
            (None, allocation_info::PLACED_MINIMUM, true)
        }
    };
    recreate::check(request.create_at, Some(&resource), heap_has_address, caps)?;
    clear_value::check(&resource, request.clear_value, request.additions.castable_formats)?;
    initial::check(&resource, request.initial, home.heap_type(), desc.Flags, caps)?;
    let args = match home {
        Home::Reserved => allocation_info::args_of_reserved(&resource, request.create_at),
        Home::Placed { .. } | Home::Committed { .. } => {
            allocation_info::args(&resource, least_alignment, request.create_at)
        }
    };
    let allocation = driver.check_resource_allocation_info(&args);
    // That of a placed resource, whose size and alignment do not depend on its address.
    let described_alignment = match home {
        Home::Placed { .. } => allocation.alignment,
        Home::Committed { .. } | Home::Reserved => allocation_info::of_placed(&resource, driver).alignment,
    };
    if let Home::Placed { heap, offset, .. } = home {
        placement::check(&resource, allocation, offset, heap)?;
    }
    let implicit_heap = memory.map(|(memory, flags)| HeapArgs {
        flags: if caps.ddi_version >= DDI_IMPLICIT_HEAP {
            D3D12DDI_HEAP_FLAG_0115_IMPLICIT
        } else {
            D3D12DDI_HEAP_FLAG_NONE
        },
        pageable: PageableKind::CommittedResource,
        ..memory.heap(allocation.size, allocation.alignment, flags, request.create_at)
    });
    let notices = super::resource::notices(desc, &request.additions);
    Ok(Plan { resource, args, allocation, described_alignment, implicit_heap, notices })
}

/// Checks that a valid resource can be a reserved one on a device of `tiled_resources_tier` (0 to 4).
///
/// The tight alignment specification, *Validation*, says that reserved resources are not supported with the tight
/// alignment flag. Windows refuses the flag with the layout that reserved textures need, and creates reserved buffers,
/// whose tiles have 64 KiB as without it.
pub(crate) fn check_reserved(resource: &Resource, tiled_resources_tier: u8) -> Result<(), Refusal> {
    if tiled_resources_tier == 0 {
        return Err(Refusal::invalid(
            "reserved resources are not supported: the device's tiled resources tier is NOT_SUPPORTED",
        ));
    }
    let Some(texture) = resource.texture() else { return Ok(()) };
    let args = &texture.args;
    if args.layout != TextureMemoryLayout::UndefinedSwizzle64Kib {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_DESC::Layout of a reserved texture must be \
             D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDLAYOUT));
    }
    if args.dimension == TextureDimension::Texture3D && tiled_resources_tier < 3 {
        return Err(Refusal::invalid("a reserved TEXTURE3D needs tiled resources tier 3"));
    }
    let grid =
        TileGrid::new(args).ok_or_else(|| Refusal::invalid("a reserved texture has more than 2^32 tiles"))?;
    if args.array_size > 1 && grid.packed_mips > 0 && tiled_resources_tier < 4 {
        return Err(Refusal::invalid(
            "D3D12_RESOURCE_DESC::MipLevels of a reserved texture array includes packed mips, which needs tiled \
             resources tier 4",
        ));
    }
    Ok(())
}
