//! `ID3D12DescriptorHeap`, and the handles of descriptors.
//!
//! A handle is a number on which applications do arithmetic; it is never dereferenced. The device looks up the
//! descriptor of a handle, or reports that there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_d3d12::*;
use windows_core::{ComObject, implement};

use super::command_queue::check_node_mask;
use super::device::Device;
use super::object::{Child, implement_pageable};
use crate::aliasing::{ResourcePart, UnorderedViews, ViewedPart};
use crate::debug::ObjectKind;
use crate::residency::PageableKind;
use crate::rules::Refusal;
use crate::rules::views::Descriptor;

/// Size of a descriptor in units of handles. The same for all heap types.
pub(super) const INCREMENT: u32 = 32;

/// The lowest handle. Zero is never a valid handle.
const FIRST_HANDLE: usize = 0x10000;

/// Difference between the GPU handles and the CPU handles of a shader-visible heap.
const GPU_HANDLES: u64 = 1 << 60;

/// Maximum number of descriptors in a shader-visible sampler heap.
const MAX_SHADER_VISIBLE_SAMPLERS: u32 = 2048;

/// Maximum number of descriptors in a shader-visible CBV/SRV/UAV heap; every binding tier supports it.
const MAX_SHADER_VISIBLE_VIEWS: u32 = 1_000_000;

/// The COM object of a descriptor heap.
#[implement(ID3D12DescriptorHeap, ID3DDestructionNotifier)]
pub(super) struct DescriptorHeap {
    child: Child,
    table: Arc<DescriptorTable>,
}

/// The descriptors of one heap.
pub(super) struct DescriptorTable {
    desc: D3D12_DESCRIPTOR_HEAP_DESC,
    first_handle: usize,
    contents: Mutex<Contents>,
}

#[derive(Default)]
struct Contents {
    /// Descriptors that were written, by index.
    written: BTreeMap<u32, Descriptor>,
    /// Indices of descriptors that changed since the aliasing tracker read them; `None` if it has not read any.
    changed: Option<BTreeSet<u32>>,
}

/// The descriptor heaps of a device, by handle.
#[derive(Default)]
pub(super) struct DescriptorHeaps {
    state: Mutex<Heaps>,
}

#[derive(Default)]
struct Heaps {
    /// Tables by first handle.
    tables: BTreeMap<usize, Weak<DescriptorTable>>,
    /// Length of `tables` at which released tables are removed from it.
    sweep_at: usize,
    /// The first handle of the next heap. Handles are never reused.
    next: usize,
}

/// Checks the description of a descriptor heap.
pub(super) fn check_desc(desc: &D3D12_DESCRIPTOR_HEAP_DESC) -> Result<&D3D12_DESCRIPTOR_HEAP_DESC, Refusal> {
    let refuse = |message: String| {
        Err(Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_INVALID_DESC))
    };
    check_type(desc.Type)?;
    if desc.NumDescriptors == 0 {
        return refuse("NumDescriptors is 0".to_owned());
    }
    if desc.Flags & !D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE != 0 {
        return refuse(format!("Flags {:#x} has unknown bits; only SHADER_VISIBLE is allowed", desc.Flags));
    }
    if desc.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE != 0 {
        let limit = match desc.Type {
            D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV => MAX_SHADER_VISIBLE_VIEWS,
            D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER => MAX_SHADER_VISIBLE_SAMPLERS,
            _ => return refuse("heaps of type RTV and DSV cannot be shader-visible".to_owned()),
        };
        if desc.NumDescriptors > limit {
            return refuse(format!(
                "NumDescriptors {} exceeds the limit of {limit} for a shader-visible heap of this type",
                desc.NumDescriptors
            ));
        }
    }
    check_node_mask(desc.NodeMask).map(|()| desc)
}

/// Checks a descriptor heap type.
pub(super) fn check_type(heap_type: D3D12_DESCRIPTOR_HEAP_TYPE) -> Result<(), Refusal> {
    if !(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV..D3D12_DESCRIPTOR_HEAP_TYPE_NUM_TYPES).contains(&heap_type) {
        return Err(Refusal::invalid(format!("{heap_type} is not a valid D3D12_DESCRIPTOR_HEAP_TYPE"))
            .with_id(D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_INVALID_DESC));
    }
    Ok(())
}

impl DescriptorHeaps {
    /// Creates the table of a new heap. O(log heaps), amortized.
    fn create(&self, desc: &D3D12_DESCRIPTOR_HEAP_DESC) -> Result<Arc<DescriptorTable>, Refusal> {
        let none = || Refusal::out_of_memory("the device has no descriptor handles left");
        let size =
            usize::try_from(u64::from(desc.NumDescriptors) * u64::from(INCREMENT)).map_err(|_| none())?;
        let mut heaps = self.lock();
        if heaps.tables.len() >= heaps.sweep_at {
            heaps.tables.retain(|_, table| table.strong_count() != 0);
            heaps.sweep_at = (heaps.tables.len() * 2).max(16);
        }
        let first_handle = heaps.next.max(FIRST_HANDLE);
        // Leaves a gap of one increment between heaps, so that the handle one past the end of a heap is not valid in
        // the next.
        let next = first_handle.checked_add(size).and_then(|end| end.checked_add(INCREMENT as usize));
        heaps.next = next.ok_or_else(none)?;
        // A mask of 0 means the only node, and is reported as 1.
        let desc = D3D12_DESCRIPTOR_HEAP_DESC { NodeMask: 1, ..*desc };
        let table = Arc::new(DescriptorTable { desc, first_handle, contents: Mutex::default() });
        heaps.tables.insert(first_handle, Arc::downgrade(&table));
        Ok(table)
    }

    /// Returns the heap and the index that a CPU handle refers to.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG if the handle is not in a live heap of the device.
    pub(super) fn find(
        &self,
        handle: D3D12_CPU_DESCRIPTOR_HANDLE,
        name: &str,
    ) -> Result<(Arc<DescriptorTable>, u32), Refusal> {
        let found = || {
            let heaps = self.lock();
            let (_, table) = heaps.tables.range(..=handle.ptr).next_back()?;
            let table = table.upgrade()?;
            let offset = u64::try_from(handle.ptr.checked_sub(table.first_handle)?).ok()?;
            let index = u32::try_from(offset / u64::from(INCREMENT)).ok()?;
            let is_one = offset.is_multiple_of(INCREMENT.into()) && index < table.desc.NumDescriptors;
            is_one.then_some((table, index))
        };
        found().ok_or_else(|| {
            Refusal::invalid(format!(
                "{name} {:#x} is not in a live descriptor heap of this device",
                handle.ptr
            ))
            .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE)
        })
    }

    /// Same as [`find`](Self::find), for a heap of the given type.
    pub(super) fn find_in(
        &self,
        handle: D3D12_CPU_DESCRIPTOR_HANDLE,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
        name: &str,
    ) -> Result<(Arc<DescriptorTable>, u32), Refusal> {
        let (table, index) = self.find(handle, name)?;
        if table.desc.Type != heap_type {
            return Err(Refusal::invalid(format!(
                "{name} is in a descriptor heap of type {}; must be of type {heap_type}",
                table.desc.Type
            ))
            .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE));
        }
        Ok((table, index))
    }

    /// Returns the heap and the index that a GPU handle refers to.
    ///
    /// # Errors
    ///
    /// Same as [`find`](Self::find). Also returns E_INVALIDARG for a heap that is not shader-visible.
    pub(super) fn find_shader_visible(
        &self,
        handle: D3D12_GPU_DESCRIPTOR_HANDLE,
        name: &str,
    ) -> Result<(Arc<DescriptorTable>, u32), Refusal> {
        let cpu = handle.ptr.checked_sub(GPU_HANDLES).and_then(|ptr| usize::try_from(ptr).ok()).unwrap_or(0);
        let found = self.find(D3D12_CPU_DESCRIPTOR_HANDLE { ptr: cpu }, name);
        match found {
            Ok((table, index)) if table.is_shader_visible() => Ok((table, index)),
            _ => Err(Refusal::invalid(format!(
                "{name} {:#x} is not in a live shader-visible descriptor heap of this device",
                handle.ptr
            ))
            .with_id(D3D12_MESSAGE_ID_DESCRIPTOR_HEAP_NOT_SHADER_VISIBLE)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heaps> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DescriptorTable {
    pub(super) fn desc(&self) -> &D3D12_DESCRIPTOR_HEAP_DESC {
        &self.desc
    }

    pub(super) fn is_shader_visible(&self) -> bool {
        self.desc.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE != 0
    }

    /// Returns a descriptor, or `None` if it was never written.
    pub(super) fn get(&self, index: u32) -> Option<Descriptor> {
        self.lock().written.get(&index).cloned()
    }

    /// Replaces a descriptor, by one that was never written if there is none.
    pub(super) fn set(&self, index: u32, descriptor: Option<Descriptor>) {
        let mut contents = self.lock();
        if let Some(changed) = &mut contents.changed {
            changed.insert(index);
        }
        match descriptor {
            Some(descriptor) => contents.written.insert(index, descriptor),
            None => contents.written.remove(&index),
        };
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnorderedViews for DescriptorTable {
    fn changed_views(&self, all: bool) -> Vec<(u32, Vec<ViewedPart>)> {
        let mut contents = self.lock();
        let changed = contents.changed.replace(BTreeSet::new()).filter(|_| !all);
        match changed {
            Some(changed) => {
                changed.into_iter().map(|index| (index, viewed(contents.written.get(&index)))).collect()
            }
            None => contents
                .written
                .iter()
                .map(|(&index, descriptor)| (index, viewed(Some(descriptor))))
                .collect(),
        }
    }
}

/// Returns the parts of resources that a descriptor refers to. Of the views that shaders use, only unordered access
/// views are stored in descriptors.
fn viewed(descriptor: Option<&Descriptor>) -> Vec<ViewedPart> {
    let Some(Descriptor::View(view)) = descriptor else { return Vec::new() };
    let parts = ResourcePart::of_view(view, view.plane());
    let counter = view.counter.iter();
    let counter = counter.map(|(buffer, offset)| (buffer.clone(), ResourcePart::Bytes(*offset, 4)));
    parts.into_iter().map(|part| (view.resource.clone(), part)).chain(counter).collect()
}

impl DescriptorHeap {
    pub(super) fn new(device: ComObject<Device>, desc: &D3D12_DESCRIPTOR_HEAP_DESC) -> Result<Self, Refusal> {
        let table = device.descriptor_heaps().create(desc)?;
        let residency = Some(device.counted_only(PageableKind::DescriptorHeap));
        let child = Child { residency, ..Child::new(device).counted(ObjectKind::DescriptorHeap) };
        Ok(Self { child, table })
    }

    pub(super) fn table(&self) -> &Arc<DescriptorTable> {
        &self.table
    }
}

implement_pageable!(DescriptorHeap_Impl);

impl ID3D12DescriptorHeap_Impl for DescriptorHeap_Impl {
    fn GetDesc(&self) -> D3D12_DESCRIPTOR_HEAP_DESC {
        self.table.desc
    }

    fn GetCPUDescriptorHandleForHeapStart(&self) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        D3D12_CPU_DESCRIPTOR_HANDLE { ptr: self.table.first_handle }
    }

    /// Returns zero for a heap that is not shader-visible.
    fn GetGPUDescriptorHandleForHeapStart(&self) -> D3D12_GPU_DESCRIPTOR_HANDLE {
        let first = u64::try_from(self.table.first_handle).unwrap_or(0);
        D3D12_GPU_DESCRIPTOR_HANDLE {
            ptr: if self.table.is_shader_visible() { GPU_HANDLES + first } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_tables_are_removed_and_live_ones_found() {
        let heaps = DescriptorHeaps::default();
        let desc = D3D12_DESCRIPTOR_HEAP_DESC { NumDescriptors: 2, ..Default::default() };
        let live: Vec<_> = (0..100).map(|_| heaps.create(&desc).expect("handles are left")).collect();
        for _ in 0..10_000 {
            let gone = heaps.create(&desc).expect("handles are left").first_handle;
            assert!(heaps.find(D3D12_CPU_DESCRIPTOR_HANDLE { ptr: gone }, "gone").is_err());
        }
        assert!(heaps.lock().tables.len() <= 2 * live.len() + 1);
        for table in &live {
            let second = table.first_handle + INCREMENT as usize;
            let found = heaps.find(D3D12_CPU_DESCRIPTOR_HANDLE { ptr: second }, "live");
            assert!(found.is_ok_and(|(found, index)| Arc::ptr_eq(&found, table) && index == 1));
        }
    }
}
