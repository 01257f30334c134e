//! Import of resources that the application created.

use std::sync::Arc;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::{IUnknown, Interface};

use super::allocation::{Memory, ResourceAllocation};
use super::inner::Inner;
use super::request::{ResourceAllocationDesc, ResourceRequest};
use crate::Error;
use crate::caps::committed_info;
use crate::desc::{ResourceAllocationFlags, ResourceDesc};
use crate::heaps::OwnResource;
use crate::request::{HeapFamily, Placement, PlacementDecision, PlacementReason};
use crate::source::{Account, Charged};

impl Inner {
    /// Creates an allocation for an existing resource.
    ///
    /// # Safety
    ///
    /// See [`ResourceAllocator::import`](crate::ResourceAllocator::import).
    #[inline]
    pub(crate) unsafe fn import(
        &self,
        allocation: &ResourceAllocationDesc<'_>,
        resource: &ID3D12Resource,
    ) -> Result<ResourceAllocation, Error> {
        let refuse = |field, rule: String| Err(Error::invalid_argument(field, rule));
        self.check_device(resource)?;
        let other = allocation.flags.difference(ResourceAllocationFlags::NEVER_RESIDENT);
        if !other.is_empty() {
            let rule = format!("only NEVER_RESIDENT is allowed for imported resources, not {other:?}");
            return refuse("ResourceAllocationDesc::flags", rule);
        }
        if allocation.pool.is_some() {
            return refuse("ResourceAllocationDesc::pool", "must be None for imported resources".into());
        }
        if allocation.custom_heap.is_some() {
            return refuse(
                "ResourceAllocationDesc::custom_heap",
                "must be None for imported resources".into(),
            );
        }
        if !allocation.extra_required_resource_padding.is_zero() {
            let rule = "must be zero for imported resources".into();
            return refuse("ResourceAllocationDesc::extra_required_resource_padding", rule);
        }
        let (mut properties, mut flags) = Default::default();
        // SAFETY: the resource is a live COM object and both structures are writable.
        let hresult = unsafe { resource.GetHeapProperties(Some(&mut properties), Some(&mut flags)) };
        if hresult.is_err() {
            // A reserved resource has no heap.
            return refuse(
                "resource",
                format!(
                    "GetHeapProperties failed with {:#}; reserved resources cannot be imported",
                    hresult::Named(hresult)
                ),
            );
        }
        let (family, _) = HeapFamily::try_from_d3d12(&properties)?;
        let granted = self.heaps.families.granted(family);
        let heap_type = granted.heap_type;
        if let Some(asked) = allocation.heap_type.filter(|asked| !asked.heap_types().contains(&heap_type)) {
            let rule = format!("{asked} does not match the resource's heap type {heap_type}");
            return refuse("ResourceAllocationDesc::heap_type", rule);
        }
        let missing = allocation.extra_required_heap_flags & !flags;
        if missing != 0 {
            let rule = format!("flags {missing:#x} are not set on the resource's heap, which has {flags:#x}");
            return refuse("ResourceAllocationDesc::extra_required_heap_flags", rule);
        }
        // SAFETY: the resource is a live COM object.
        let desc = unsafe { resource.GetDesc() };
        let (size, alignment) =
            committed_info(&self.heaps.source.devices.device, &desc).unwrap_or_else(|| {
                (ByteSize::new(desc.Width), Alignment::new(desc.Alignment).unwrap_or(Alignment::ONE))
            });
        let source = &self.heaps.source;
        let residency = match source.manager_for(allocation.flags) {
            None => None,
            Some(manager) => {
                Some(source.own_memory.find_or_manage(resource, || manager.manage_resource(resource))?)
            }
        };
        let account = Account { heap_type, group: granted.segment_group };
        let charge = source.ledger.charge(account, Charged::Imported, size).map_err(|obstacle| {
            Error::invalid_argument("resource", format!("cannot be counted in the statistics: {obstacle:?}"))
        })?;
        let desc = ResourceDesc::new(&desc);
        let decision = PlacementDecision::new(Placement::Imported, PlacementReason::Usual);
        let (resource, source) = (resource.clone(), Arc::clone(source));
        let made = OwnResource { residency, resource, size, alignment, _charge: charge, source };
        let width = if desc.is_buffer() { desc.desc.Width } else { 0 };
        let mut made = ResourceAllocation::new(Memory::Standalone(Box::new(made)), width, &granted, decision);
        self.enter(&mut made, &ResourceRequest { allocation, resource: &desc, memory: None, granted });
        self.record_import(&mut made, allocation, &desc);
        Ok(made)
    }

    /// Checks that a resource belongs to this allocator's device.
    #[inline]
    fn check_device(&self, resource: &ID3D12Resource) -> Result<(), Error> {
        let mut owner: Option<ID3D12Device> = None;
        // SAFETY: the resource is a live COM object, and the result is of the interface that is asked for.
        let answered = unsafe { resource.GetDevice(&mut owner) };
        let identity = |device: &ID3D12Device| device.cast::<IUnknown>().ok();
        let ours = identity(&self.heaps.source.devices.device);
        let is_ours = answered.is_ok() && owner.as_ref().and_then(identity) == ours && ours.is_some();
        if is_ours {
            return Ok(());
        }
        Err(Error::invalid_argument("resource", "belongs to another device"))
    }
}
