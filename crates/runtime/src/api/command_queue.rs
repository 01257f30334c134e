//! `ID3D12CommandQueue`.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use heapwright_d3d12::*;
use windows_core::{ComObject, Ref, implement};

use super::call;
use super::command_list::{CommandList, Recorded, read_array};
use super::device::Device;
use super::fence::Fence;
use super::heap::Heap;
use super::methods::{calls, methods};
use super::object::{Child, implement_pageable, own};
use super::resource::Resource;
use super::tile_mappings::{self, TileRanges};
use crate::aliasing::{AliasingTracker, SubmittedList};
use crate::debug::ObjectKind;
use crate::drivers::command::Work;
use crate::drivers::queue::DriverQueue;
use crate::drivers::removal_sink::RemovalSink;
use crate::fence::Fence as FenceValue;
use crate::rules::Refusal;
use crate::rules::tile_regions::{ResourceTiles, TileRun, indices, one_tile};
use crate::timestamps;

/// The COM object of a command queue.
#[implement(ID3D12CommandQueue, ID3DDestructionNotifier)]
pub(super) struct CommandQueue {
    child: Child,
    desc: D3D12_COMMAND_QUEUE_DESC,
    /// The device's aliasing tracker. `agent` is the queue's number in it.
    aliasing: Arc<AliasingTracker>,
    agent: u32,
    /// `None` only while the queue is being dropped.
    driver: Option<DriverQueue>,
    /// State of the submissions. Locked while a submission is handed to the driver, to keep submissions in order.
    submissions: Mutex<Submissions>,
    /// Reaches a submission's number when that submission has completed.
    progress: Arc<FenceValue>,
}

/// The number of submissions so far, and a buffer for the current one.
#[derive(Default)]
struct Submissions {
    count: u64,
    /// The lists of the current call. Kept to reuse its capacity.
    lists: Vec<Arc<Recorded>>,
}

/// Checks the description of a queue.
pub(super) fn check_desc(desc: &D3D12_COMMAND_QUEUE_DESC) -> Result<&D3D12_COMMAND_QUEUE_DESC, Refusal> {
    if desc.Type == D3D12_COMMAND_LIST_TYPE_BUNDLE {
        return Err(Refusal::invalid("Type is BUNDLE; bundles are executed by command lists, not by queues"));
    }
    super::command_allocator::check_list_type(desc.Type)?;
    match desc.Priority {
        D3D12_COMMAND_QUEUE_PRIORITY_NORMAL | D3D12_COMMAND_QUEUE_PRIORITY_HIGH => {}
        D3D12_COMMAND_QUEUE_PRIORITY_GLOBAL_REALTIME => {
            return Err(Refusal::not_implemented("D3D12_COMMAND_QUEUE_PRIORITY_GLOBAL_REALTIME"));
        }
        other => {
            return Err(Refusal::invalid(format!(
                "Priority {other} is not a valid D3D12_COMMAND_QUEUE_PRIORITY"
            )));
        }
    }
    if desc.Flags & !D3D12_COMMAND_QUEUE_FLAG_DISABLE_GPU_TIMEOUT != 0 {
        return Err(Refusal::invalid(format!(
            "Flags {:#x} has unknown bits; only DISABLE_GPU_TIMEOUT is allowed",
            desc.Flags
        )));
    }
    check_node_mask(desc.NodeMask).map(|()| desc)
}

/// Checks a node mask. The device has one node.
pub(super) fn check_node_mask(mask: u32) -> Result<(), Refusal> {
    if mask > 1 {
        return Err(Refusal::invalid(format!("NodeMask {mask:#x} is out of range; the device has one node")));
    }
    Ok(())
}

impl CommandQueue {
    pub(super) fn new(device: ComObject<Device>, desc: &D3D12_COMMAND_QUEUE_DESC) -> Result<Self, Refusal> {
        let removal = Arc::clone(device.removal());
        let progress = removal.create_fence(0);
        let sink: Arc<dyn RemovalSink> = removal;
        let driver = Some(DriverQueue::start(device.driver().gpu_memory()?, sink)?);
        let desc = D3D12_COMMAND_QUEUE_DESC { NodeMask: 1, ..*desc };
        let aliasing = Arc::clone(device.aliasing());
        let agent = aliasing.add_queue();
        Ok(Self {
            child: Child::new(device).counted(ObjectKind::CommandQueue),
            desc,
            aliasing,
            agent,
            driver,
            submissions: Mutex::default(),
            progress,
        })
    }

    fn device(&self) -> &Device {
        self.child.device.get()
    }

    /// Runs the body of a method that returns nothing: errors are only logged.
    fn run(&self, name: &'static str, body: impl FnOnce(&Self) -> Result<(), Refusal>) {
        let _ = call::run(self.child.log(), name, || body(self));
    }

    fn submit(&self, works: impl IntoIterator<Item = Work>) {
        if let Some(driver) = &self.driver {
            driver.submit(&mut works.into_iter());
        }
    }

    /// Submits the lists of an `ExecuteCommandLists` call: all of them, or none.
    fn execute(&self, lists: &[Option<ID3D12CommandList>]) -> Result<(), Refusal> {
        self.device().removal().check_present()?;
        let mut submissions = self.submissions.lock().unwrap_or_else(PoisonError::into_inner);
        let Submissions { count, lists: recorded } = &mut *submissions;
        for (index, list) in (0..).zip(lists) {
            match self.executable(index, list.as_ref()) {
                Ok(list) => recorded.push(list),
                Err(refusal) => {
                    // The objects that they refer to must not stay alive until the next call.
                    recorded.clear();
                    // vkd3d-proton's test_device_removed_reason records this for an open list.
                    if refusal.hresult() == DXGI_ERROR_INVALID_CALL {
                        self.device().removal().remove_for(&refusal);
                    }
                    return Err(refusal);
                }
            }
        }
        *count += 1;
        for list in &*recorded {
            list.recordings.executes_until(&self.progress, *count);
        }
        let done = Work::Signal(Arc::clone(&self.progress), *count);
        if self.aliasing.is_on() {
            self.submit([self.judged(recorded), done]);
            return Ok(());
        }
        let executes = recorded.drain(..).map(|list| Work::Execute(Arc::clone(&list.commands)));
        self.submit(executes.chain([done]));
        Ok(())
    }

    /// Converts lists to work that the aliasing tracker passes to the queue.
    fn judged(&self, recorded: &mut Vec<Arc<Recorded>>) -> Work {
        let lists = recorded
            .drain(..)
            .map(|list| SubmittedList { commands: Arc::clone(&list.commands), calls: list.calls.clone() });
        let on_copy_queue = self.desc.Type == D3D12_COMMAND_LIST_TYPE_COPY;
        Work::Ask(self.aliasing.execute(self.agent, on_copy_queue, lists.collect()))
    }

    fn executable(&self, index: usize, list: Option<&ID3D12CommandList>) -> Result<Arc<Recorded>, Refusal> {
        let name = || format!("ppCommandLists[{index}]");
        let list = own::<CommandList>(self.device(), list, format_args!("ppCommandLists[{index}]"))?;
        if list.list_type() != self.desc.Type {
            return Err(Refusal::invalid(format!(
                "{} has type {}, but the queue has type {}",
                name(),
                list.list_type(),
                self.desc.Type
            ))
            .with_id(D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_COMMANDLISTMISMATCH));
        }
        list.executable()
            .map_err(|why| Refusal::new(why.hresult(), format!("{} {why}", name())).with_id(why.id()))
    }

    fn own_fence(&self, fence: Option<&ID3D12Fence>) -> Result<Arc<FenceValue>, Refusal> {
        self.device().removal().check_present()?;
        let fence = own::<Fence>(self.device(), fence, "pFence")?;
        Ok(Arc::clone(fence.value()))
    }

    /// # Safety
    ///
    /// Same as for the COM method: each pointer is null or points to what the method documents.
    unsafe fn update_tile_mappings(
        &self,
        resource: Option<&ID3D12Resource>,
        regions: Regions,
        heap: Option<&ID3D12Heap>,
        ranges: &TileRanges,
        flags: D3D12_TILE_MAPPING_FLAGS,
    ) -> Result<(), Refusal> {
        self.device().removal().check_present()?;
        check_mapping_flags(flags)?;
        let resource = own::<Resource>(self.device(), resource, "pResource")?;
        let tiles = ResourceTiles::of(resource.operand(), "pResource")?;
        // SAFETY: by the COM contract, each array is null or has that many elements.
        let regions = unsafe { read_regions(&tiles, regions) }?;
        let heap = heap.map(|heap| own::<Heap>(self.device(), Some(heap), "pHeap")).transpose()?;
        // SAFETY: same as above.
        let mappings =
            unsafe { tile_mappings::plan(resource.rules(), &regions, heap.map(|heap| &**heap), ranges) }?;
        if !mappings.is_empty() {
            if self.aliasing.is_on() {
                let question = self.aliasing.update_mappings(resource.driver(), &mappings);
                self.submit([Work::Ask(question)]);
            }
            self.submit([Work::UpdateTileMappings { resource: Arc::clone(resource.driver()), mappings }]);
        }
        Ok(())
    }

    /// # Safety
    ///
    /// Same as for the COM method: each pointer is null or points to what the method documents.
    unsafe fn copy_tile_mappings(
        &self,
        target: (Option<&ID3D12Resource>, *const D3D12_TILED_RESOURCE_COORDINATE),
        source: (Option<&ID3D12Resource>, *const D3D12_TILED_RESOURCE_COORDINATE),
        size: *const D3D12_TILE_REGION_SIZE,
        flags: D3D12_TILE_MAPPING_FLAGS,
    ) -> Result<(), Refusal> {
        self.device().removal().check_present()?;
        check_mapping_flags(flags)?;
        // SAFETY: by the COM contract, pRegionSize is null or points to a size.
        let size = unsafe { call::read(size, "pRegionSize") }?;
        let side = |(resource, start): (Option<&ID3D12Resource>, _), name: &'static str| {
            let resource = own::<Resource>(self.device(), resource, name)?;
            // SAFETY: by the COM contract, the pointer is null or points to a coordinate.
            let start = unsafe { call::read(start, "the region's start coordinate") }?;
            let runs = ResourceTiles::of(resource.operand(), name)?.region(start, size)?;
            Ok::<_, Refusal>((Arc::clone(resource.driver()), indices(&runs).collect::<Vec<_>>()))
        };
        let (target, source) = (side(target, "pDstResource")?, side(source, "pSrcResource")?);
        if self.aliasing.is_on() {
            self.submit([Work::Ask(self.aliasing.copy_mappings(&target, &source))]);
        }
        self.submit([Work::CopyTileMappings { target, source }]);
        Ok(())
    }
}

impl Drop for CommandQueue {
    fn drop(&mut self) {
        // The driver's queue ends first: it completes what was submitted. Work after a wait for a fence that is not
        // reached is dropped, and losing the fence releases the allocators of such work.
        self.driver = None;
        self.progress.lose();
    }
}

fn check_mapping_flags(flags: D3D12_TILE_MAPPING_FLAGS) -> Result<(), Refusal> {
    if flags & !D3D12_TILE_MAPPING_FLAG_NO_HAZARD != 0 {
        return Err(Refusal::invalid(format!(
            "Flags {flags:#x} has unknown bits; only NO_HAZARD is allowed"
        ))
        .with_id(D3D12_MESSAGE_ID_UPDATETILEMAPPINGS_INVALID_PARAMETER));
    }
    Ok(())
}

/// The regions of `UpdateTileMappings` as the application passes them: their number, starts and sizes.
type Regions = (u32, *const D3D12_TILED_RESOURCE_COORDINATE, *const D3D12_TILE_REGION_SIZE);

/// Returns the regions of an `UpdateTileMappings` call. Without starts and sizes, this is the whole resource.
///
/// # Safety
///
/// Each pointer is null or points to `count` elements.
unsafe fn read_regions(
    tiles: &ResourceTiles,
    (count, starts, sizes): Regions,
) -> Result<Vec<TileRun>, Refusal> {
    if count == 0 {
        return Err(Refusal::invalid("NumResourceRegions is 0"));
    }
    if starts.is_null() && count > 1 {
        return Err(Refusal::invalid(format!(
            "pResourceRegionStartCoordinates is null, which requires NumResourceRegions 1, not {count}"
        )));
    }
    if starts.is_null() && sizes.is_null() {
        return Ok(vec![tiles.whole()]);
    }
    let origin = [D3D12_TILED_RESOURCE_COORDINATE::default()];
    let starts: &[_] = if starts.is_null() {
        &origin
    } else {
        // SAFETY: guaranteed by the caller.
        unsafe { read_array(count, starts, "pResourceRegionStartCoordinates") }?
    };
    let sizes: Option<&[_]> = if sizes.is_null() {
        None
    } else {
        // SAFETY: guaranteed by the caller.
        Some(unsafe { read_array(count, sizes, "pResourceRegionSizes") }?)
    };
    let one = one_tile();
    let mut regions = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let size = sizes.and_then(|sizes| sizes.get(index)).unwrap_or(&one);
        regions.append(&mut tiles.region(start, size)?);
    }
    Ok(regions)
}

implement_pageable!(CommandQueue_Impl);

impl ID3D12CommandQueue_Impl for CommandQueue_Impl {
    fn Signal(&self, pfence: Ref<'_, ID3D12Fence>, value: u64) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12CommandQueue::Signal", || {
            let fence = self.own_fence(pfence.as_ref())?;
            if self.aliasing.is_on() {
                self.submit([Work::Ask(self.aliasing.before_signal(self.agent, &fence, value))]);
            }
            self.submit([Work::Signal(fence, value)]);
            Ok(())
        })
    }

    fn Wait(&self, pfence: Ref<'_, ID3D12Fence>, value: u64) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12CommandQueue::Wait", || {
            let fence = self.own_fence(pfence.as_ref())?;
            let wait = fence.begin_wait(value);
            if self.aliasing.is_on() {
                let seen = Work::Ask(self.aliasing.after_wait(self.agent, &wait));
                self.submit([Work::Wait(wait), seen]);
            } else {
                self.submit([Work::Wait(wait)]);
            }
            Ok(())
        })
    }

    fn GetTimestampFrequency(&self) -> windows_core::Result<u64> {
        Ok(timestamps::frequency())
    }

    fn GetClockCalibration(
        &self,
        pgputimestamp: *mut u64,
        pcputimestamp: *mut u64,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12CommandQueue::GetClockCalibration", || {
            if pgputimestamp.is_null() || pcputimestamp.is_null() {
                return Err(Refusal::invalid("pGpuTimestamp or pCpuTimestamp is null"));
            }
            let now = timestamps::now();
            // SAFETY: by the COM contract, the pointers, which are not null, point to writable space.
            unsafe {
                pgputimestamp.write(now);
                pcputimestamp.write(now);
            }
            Ok(())
        })
    }

    fn GetDesc(&self) -> D3D12_COMMAND_QUEUE_DESC {
        self.desc
    }

    calls! {
        ID3D12CommandQueue:
        fn UpdateTileMappings(
            resource: Ref<'_, ID3D12Resource>, region_count: u32, starts: *const D3D12_TILED_RESOURCE_COORDINATE,
            sizes: *const D3D12_TILE_REGION_SIZE, heap: Ref<'_, ID3D12Heap>, count: u32,
            range_flags: *const D3D12_TILE_RANGE_FLAGS, heap_offsets: *const u32, tile_counts: *const u32,
            flags: D3D12_TILE_MAPPING_FLAGS
        ) = run(|queue| {
            let ranges = TileRanges { count, flags: range_flags, heap_offsets, tile_counts };
            let regions = (region_count, starts, sizes);
            queue.update_tile_mappings(resource.as_ref(), regions, heap.as_ref(), &ranges, flags)
        });
        fn CopyTileMappings(
            target: Ref<'_, ID3D12Resource>, target_start: *const D3D12_TILED_RESOURCE_COORDINATE,
            source: Ref<'_, ID3D12Resource>, source_start: *const D3D12_TILED_RESOURCE_COORDINATE,
            size: *const D3D12_TILE_REGION_SIZE, flags: D3D12_TILE_MAPPING_FLAGS
        ) = run(|queue| {
            let (target, source) = ((target.as_ref(), target_start), (source.as_ref(), source_start));
            queue.copy_tile_mappings(target, source, size, flags)
        });
        fn ExecuteCommandLists(count: u32, lists: *const Option<ID3D12CommandList>)
            = run(|queue| queue.execute(read_array(count, lists, "ppCommandLists")?));
    }

    methods! {
        ID3D12CommandQueue, |_, _| ();
        fn SetMarker(u32, *const c_void, u32);
        fn BeginEvent(u32, *const c_void, u32);
        fn EndEvent();
    }
}
