//! A manager with heaps, queues and command lists that copy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use windows_core::HRESULT;

use crate::faulty_device::{Call, Faults, inject, inject_adapter, inject_first, uncounted};
use crate::gpu::*;

/// The type of all queues and lists.
pub(crate) const COPY: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_COPY;
/// The bytes of a heap that are checked.
const BYTES: u64 = 64;
/// A timeout far above the duration of any step.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A heap with a buffer at its beginning whose first bytes are known.
#[derive(Debug)]
pub(crate) struct Thing {
    /// Dropped before the heap.
    pub(crate) buffer: ID3D12Resource,
    pub(crate) heap: ResidencyHeap,
    pub(crate) key: u8,
}

impl Thing {
    pub(crate) fn info(&self) -> ResidencyHeapInfo {
        self.heap.info()
    }

    pub(crate) fn is_resident(&self) -> bool {
        self.info().status == ResidencyHeapStatus::Resident
    }
}

/// A command list that copies from things, with the residency list that names them.
pub(crate) struct Work {
    _allocator: ID3D12CommandAllocator,
    pub(crate) commands: ID3D12CommandList,
    pub(crate) list: ResidencyList,
    readback: ID3D12Resource,
    keys: Vec<u8>,
}

// SAFETY: the command list and its allocator are closed and no longer recorded to, and D3D12's other
// objects are free-threaded.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

/// A manager, and the GPU whose memory it manages.
pub(crate) struct Scene {
    pub(crate) instance: OwnGpu,
    /// The instance's device.
    pub(crate) device: ID3D12Device,
    pub(crate) faults: Arc<Faults>,
    pub(crate) manager: ResidencyManager,
    upload: ID3D12Resource,
    plain: ID3D12CommandQueue,
}

/// A queue that is blocked until the gate is opened.
pub(crate) struct Gate(ID3D12Fence);

impl Gate {
    pub(crate) fn open(&self) {
        unsafe { self.0.Signal(1) }.ok().expect("signalled");
    }
}

/// A queue that stands still with a list to execute.
pub(crate) struct BusyQueue {
    queue: ID3D12CommandQueue,
    gate: Gate,
    work: Work,
    value: FenceValue,
}

/// The device that the manager uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Front {
    /// The instance's own device.
    Plain,
    /// A faulty device with all interfaces, and a faulty adapter.
    Newest,
    /// A faulty device with `ID3D12Device` alone, and a faulty adapter.
    First,
}

/// A budget of `local` MiB of local memory, and ample non-local memory.
pub(crate) fn budget(local: u64) -> ResidencyManagerDesc {
    let budgets = GroupBudgets { local: mib(local), non_local: gib(1) };
    budgets_of(budgets)
}

pub(crate) fn budgets_of(budgets: GroupBudgets) -> ResidencyManagerDesc {
    let max_stall = Duration::from_secs(30);
    ResidencyManagerDesc { budget_override: Some(budgets), max_stall, ..Default::default() }
}

impl Scene {
    /// A manager on the GPU that the environment names, or on a current simulated one.
    pub(crate) fn new(desc: ResidencyManagerDesc) -> Self {
        let gpu = OwnGpu::open("discrete", DeviceOptions::default());
        Self::on(gpu, Front::Plain, Faults::new(None, E_FAIL), desc)
    }

    /// A manager on a current simulated GPU, for tests that know its usage to the byte or raise its notifications.
    pub(crate) fn simulated(desc: ResidencyManagerDesc) -> Self {
        Self::of_profile("discrete", desc)
    }

    /// A manager on a simulated GPU, which counts no calls and has no faults.
    pub(crate) fn of_profile(profile: &str, desc: ResidencyManagerDesc) -> Self {
        Self::on(open(profile), Front::Plain, Faults::new(None, E_FAIL), desc)
    }

    /// A manager on a current simulated GPU, a call of whose newest interfaces can be made to fail.
    pub(crate) fn failing(call: Call, hresult: HRESULT, desc: ResidencyManagerDesc) -> Self {
        Self::faulty(Front::Newest, call, hresult, desc)
    }

    /// A manager on a current simulated GPU whose calls can be made to fail.
    pub(crate) fn faulty(front: Front, call: Call, hresult: HRESULT, desc: ResidencyManagerDesc) -> Self {
        Self::on(open("discrete"), front, Faults::new(Some(call), hresult), desc)
    }

    pub(crate) fn on(
        instance: impl Into<OwnGpu>,
        front: Front,
        faults: Arc<Faults>,
        desc: ResidencyManagerDesc,
    ) -> Self {
        Self::try_on(instance, front, faults, desc).expect("a sound device and description")
    }

    pub(crate) fn try_on(
        instance: impl Into<OwnGpu>,
        front: Front,
        faults: Arc<Faults>,
        desc: ResidencyManagerDesc,
    ) -> Result<Self, Error> {
        let instance = instance.into();
        let (device, adapter) = match front {
            Front::Plain => (instance.device.clone(), instance.adapter.clone()),
            Front::Newest => (inject(&instance.device, &faults), inject_adapter(&instance.adapter, &faults)),
            Front::First => {
                (inject_first(&instance.device, &faults), inject_adapter(&instance.adapter, &faults))
            }
        };
        let manager = ResidencyManager::new(&device, Some(&adapter), desc)?;
        let upload = uncounted(|| committed_buffer(&device, D3D12_HEAP_TYPE_UPLOAD, 256 * BYTES));
        let staged = mapped(&upload);
        for (index, byte) in staged.iter_mut().enumerate() {
            *byte = byte_of(u8::try_from(index / 64).expect("256 of them"), index % 64);
        }
        let plain = uncounted(|| queue_of(&device, COPY));
        Ok(Self { instance, device, faults, manager, upload, plain })
    }

    /// Creates another manager of the same device.
    pub(crate) fn another_manager(&self) -> ResidencyManager {
        ResidencyManager::new(&self.device, Some(&self.instance.adapter), budget(8)).expect("sound")
    }

    pub(crate) fn queue(&self) -> ID3D12CommandQueue {
        queue_of(&self.device, COPY)
    }

    /// Creates a heap on the manager's device that is not managed.
    pub(crate) fn raw_heap(
        &self,
        heap_type: D3D12_HEAP_TYPE,
        mib: u64,
        flags: D3D12_HEAP_FLAGS,
    ) -> Result<ID3D12Heap, windows_core::Error> {
        uncounted(|| raw_heap(&self.device, heap_type, mib * MIB, flags))
    }

    /// Creates a heap of local memory that is resident and not managed.
    pub(crate) fn unmanaged(&self, mib: u64) -> ID3D12Pageable {
        self.raw_heap(D3D12_HEAP_TYPE_DEFAULT, mib, D3D12_HEAP_FLAG_NONE).expect("there is room").into()
    }

    pub(crate) fn fence(&self) -> ID3D12Fence {
        uncounted(|| unsafe { self.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }).expect("a fence")
    }

    /// Creates a thing of `mib` MiB in local memory, resident.
    pub(crate) fn thing(&self, key: u8, mib: u64) -> Thing {
        self.try_thing(key, mib, D3D12_HEAP_TYPE_DEFAULT, &ResidencyHeapDesc::default())
            .expect("there is room")
    }

    /// Creates `count` things of one MiB each.
    pub(crate) fn things(&self, count: u8) -> Vec<Thing> {
        (0..count).map(|key| self.thing(key, 1)).collect()
    }

    /// Returns the scene with a queue and `count` things.
    pub(crate) fn with_things(self, count: u8) -> (Self, ID3D12CommandQueue, Vec<Thing>) {
        let (queue, things) = (self.queue(), self.things(count));
        (self, queue, things)
    }

    /// Creates a thing in non-local memory.
    pub(crate) fn non_local(&self, key: u8, mib: u64) -> Thing {
        self.try_thing(key, mib, D3D12_HEAP_TYPE_UPLOAD, &ResidencyHeapDesc::default())
            .expect("there is room")
    }

    pub(crate) fn try_thing(
        &self,
        key: u8,
        mib: u64,
        heap_type: D3D12_HEAP_TYPE,
        desc: &ResidencyHeapDesc,
    ) -> Result<Thing, Error> {
        let mut behind = None;
        let heap = self.manager.create_heap(desc, || {
            let made = self.raw_heap(heap_type, mib, D3D12_HEAP_FLAG_NONE)?;
            behind = Some(made.clone());
            Ok(made.into())
        })?;
        let behind = behind.expect("it was created");
        let buffer = placed(&self.instance.device, &behind, heap_type, BYTES);
        if heap_type == D3D12_HEAP_TYPE_UPLOAD {
            let staged = mapped(&buffer);
            staged.iter_mut().enumerate().for_each(|(index, byte)| *byte = byte_of(key, index));
        } else {
            // The heap is resident: it was created so, and the manager has been called for nothing since.
            let is_locked = heap.lock().is_ok();
            self.fill(&buffer, key);
            if is_locked {
                heap.unlock().expect("it was locked");
            }
        }
        Ok(Thing { buffer, heap, key })
    }

    /// Creates a thing in a heap that D3D12 creates evicted. Its first bytes are undefined: see
    /// [`write`](Self::write).
    pub(crate) fn evicted(&self, key: u8, mib: u64) -> Thing {
        self.not_resident(key, mib, &ResidencyHeapDesc::default())
    }

    pub(crate) fn not_resident(&self, key: u8, mib: u64, desc: &ResidencyHeapDesc) -> Thing {
        self.try_not_resident(key, mib, desc).expect("it takes no memory")
    }

    pub(crate) fn try_not_resident(
        &self,
        key: u8,
        mib: u64,
        desc: &ResidencyHeapDesc,
    ) -> Result<Thing, Error> {
        let flags = D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
        let behind = self.raw_heap(D3D12_HEAP_TYPE_DEFAULT, mib, flags).expect("created");
        let heap = self.manager.create_heap(desc, || Ok(behind.clone().into()))?;
        let buffer = placed(&self.instance.device, &behind, D3D12_HEAP_TYPE_DEFAULT, BYTES);
        Ok(Thing { buffer, heap, key })
    }

    /// Fills the buffer without the manager, and waits for the GPU.
    pub(crate) fn fill(&self, buffer: &ID3D12Resource, key: u8) {
        let (_allocator, list) = list_of(&self.instance.device, COPY);
        let done = self.fence();
        unsafe {
            list.CopyBufferRegion(buffer, 0, &self.upload, u64::from(key) * BYTES, BYTES);
            list.Close().ok().expect("sound");
            self.plain.ExecuteCommandLists(&[Some(list.cast().expect("a list"))]);
            self.plain.Signal(&done, 1).ok().expect("signalled");
        }
        until("the buffer is filled", || unsafe { done.GetCompletedValue() } >= 1);
        self.assert_alive();
    }

    /// Records a list that reads the things.
    pub(crate) fn work<'a>(&self, things: impl IntoIterator<Item = &'a Thing>) -> Work {
        let things: Vec<_> = things.into_iter().collect();
        self.recorded(&things, |list, readback| {
            for (index, thing) in (0..).zip(&things) {
                unsafe { list.CopyBufferRegion(readback, index * BYTES, &thing.buffer, 0, BYTES) };
            }
            things.iter().map(|thing| thing.key).collect()
        })
    }

    /// Records a list that fills a thing with its expected bytes.
    pub(crate) fn write(&self, thing: &Thing) -> Work {
        self.recorded(&[thing], |list, _| {
            let source = u64::from(thing.key) * BYTES;
            unsafe { list.CopyBufferRegion(&thing.buffer, 0, &self.upload, source, BYTES) };
            Vec::new()
        })
    }

    /// Records a list that uses the things. `record` returns the keys of those that it reads.
    fn recorded(
        &self,
        things: &[&Thing],
        record: impl FnOnce(&ID3D12GraphicsCommandList, &ID3D12Resource) -> Vec<u8>,
    ) -> Work {
        let (allocator, list) = list_of(&self.instance.device, COPY);
        let size = u64::try_from(things.len()).expect("few").max(1) * BYTES;
        let readback = committed_buffer(&self.instance.device, D3D12_HEAP_TYPE_READBACK, size);
        let keys = record(&list, &readback);
        unsafe { list.Close() }.ok().expect("sound");
        let (commands, list) = (list.cast().expect("a list"), naming(things.iter().map(|thing| &thing.heap)));
        Work { _allocator: allocator, commands, list, readback, keys }
    }

    pub(crate) fn execute(&self, queue: &ID3D12CommandQueue, works: &[&Work]) -> Result<FenceValue, Error> {
        let lists: Vec<_> = works.iter().map(|work| (&work.commands, &work.list)).collect();
        unsafe { self.manager.execute_command_lists(queue, &lists) }
    }

    /// Executes the works, waits, and checks the bytes read.
    pub(crate) fn run(&self, queue: &ID3D12CommandQueue, works: &[&Work]) {
        let value = self.execute(queue, works).expect("executed");
        self.wait(queue, value);
        for work in works {
            self.check(work);
        }
    }

    /// Waits until the queue has reached the fence value.
    pub(crate) fn wait(&self, queue: &ID3D12CommandQueue, value: FenceValue) {
        let fence = self.manager.queue_fence(queue).expect("a queue of this device");
        until("the queue has come so far", || unsafe { fence.GetCompletedValue() } >= value.get());
    }

    /// Changes the local budget, as other programs do.
    pub(crate) fn set_budget(&self, local: u64) {
        self.instance.set_budget(heapwright_runtime::SegmentGroup::Local, mib(local));
    }

    /// Removes the device, as a hanging GPU does.
    pub(crate) fn lose_device(&self) {
        let device: ID3D12Device5 = uncounted(|| self.device.cast()).expect("a current device");
        unsafe { device.RemoveDevice() };
    }

    pub(crate) fn assert_alive(&self) {
        let reason = unsafe { self.instance.device.GetDeviceRemovedReason() };
        assert_eq!(reason, S_OK, "the device is removed: {:?}", self.instance.messages());
    }

    /// Checks that a list, which the GPU has finished, has read the expected bytes.
    #[track_caller]
    pub(crate) fn check(&self, work: &Work) {
        self.assert_alive();
        let found = mapped(&work.readback);
        for (index, &key) in work.keys.iter().enumerate() {
            let expected: Vec<_> = (0..64).map(|byte| byte_of(key, byte)).collect();
            assert_eq!(found[64 * index..][..64], expected, "thing {key}");
        }
        // Overwrites the bytes, so that stale ones cannot pass the next check.
        found.fill(0xcc);
    }

    /// Blocks a queue until the gate is opened.
    pub(crate) fn block(&self, queue: &ID3D12CommandQueue) -> Gate {
        let fence = self.fence();
        unsafe { queue.Wait(&fence, 1) }.ok().expect("a queue can wait");
        Gate(fence)
    }

    /// Executes the works by turns, and counts the executions, until `is_done` or for half of [`LONG`]. The queue never
    /// becomes idle: a work is finished only after the next one was executed.
    pub(crate) fn render(
        &self,
        queue: &ID3D12CommandQueue,
        works: &[Work; 2],
        count: &AtomicU64,
        is_done: &AtomicBool,
    ) {
        let (gate, begun) = (self.fence(), Instant::now());
        let mut before = FenceValue::ZERO;
        while !is_done.load(Ordering::Relaxed) && begun.elapsed() < LONG / 2 {
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            unsafe { queue.Wait(&gate, number) }.ok().expect("a queue can wait");
            let work = &works[usize::from(number.is_multiple_of(2))];
            let value = self.execute(queue, &[work]).expect("it is resident");
            unsafe { gate.Signal(number - 1) }.ok().expect("signalled");
            self.wait(queue, before);
            before = value;
        }
        unsafe { gate.Signal(u64::MAX - 1) }.ok().expect("signalled");
        self.wait(queue, before);
    }

    /// Executes a list that reads the things on a queue that stands still.
    pub(crate) fn keep_busy<'a>(
        &self,
        queue: &ID3D12CommandQueue,
        things: impl IntoIterator<Item = &'a Thing>,
    ) -> BusyQueue {
        let (gate, work) = (self.block(queue), self.work(things));
        let value = self.execute(queue, &[&work]).expect("executed");
        BusyQueue { queue: queue.clone(), gate, work, value }
    }

    /// Lets the queue go on, and checks what it has read.
    #[track_caller]
    pub(crate) fn finish_work(&self, busy: BusyQueue) {
        busy.gate.open();
        self.wait(&busy.queue, busy.value);
        self.check(&busy.work);
    }

    /// Returns the GPU's usage of local memory.
    pub(crate) fn used(&self) -> ByteSize {
        uncounted(|| usage_of(&self.instance, SegmentGroup::Local))
    }

    /// Checks that the books agree with each other, with the statistics, and with D3D12's counts.
    #[track_caller]
    pub(crate) fn check_books(&self, things: &[Thing]) {
        self.manager.audit().expect("sound");
        self.instance.residency().check_balance().expect("as often evicted as made resident");
        let stats = self.manager.stats();
        let resident = things.iter().filter(|thing| thing.is_resident());
        let (count, bytes) = resident.fold((0, ByteSize::ZERO), |(count, sum), thing| {
            (count + 1, sum.saturating_add(thing.heap.size()))
        });
        assert_eq!((stats.current_heap_count, stats.current_heap_usage), (count, bytes), "{stats:?}");
        // Staging buffers are in the other segment group.
        let local = things
            .iter()
            .filter(|thing| thing.is_resident() && thing.heap.segment_group() == SegmentGroup::Local)
            .fold(ByteSize::ZERO, |sum, thing| sum.saturating_add(thing.heap.size()));
        // Other GPUs count what they need themselves, and may have one memory.
        if !self.instance.is_simulated() {
            return;
        }
        // A paging thread may still be running.
        until("what is resident in the books is so in D3D12", || self.used() == local);
    }

    /// Checks the books, and ends.
    #[track_caller]
    pub(crate) fn finish(self, things: Vec<Thing>) {
        self.check_books(&things);
        self.end(things);
    }

    /// Drops everything, also what a test holds, and checks that nothing is left. (Lists that a test still holds keep
    /// their memory.)
    pub(crate) fn end<T>(self, held: T) {
        self.manager.audit().expect("sound");
        drop(held);
        let stats = self.manager.stats();
        assert_eq!((stats.current_heap_count, stats.current_heap_usage), (0, ByteSize::ZERO));
        for group in [stats.local, stats.non_local] {
            assert_eq!((group.resident_count, group.evicted_count, group.locked_count), (0, 0, 0));
            assert_eq!((group.evicted, group.locked), (ByteSize::ZERO, ByteSize::ZERO));
        }
        let Self { instance, manager, device, .. } = self;
        drop((manager, device));
        instance.residency().check_balance().expect("as often evicted as made resident");
    }
}

/// Waits until `is_so` returns true. Panics after [`LONG`].
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "it does not happen: {what}");
        std::thread::yield_now();
    }
}

fn byte_of(key: u8, index: usize) -> u8 {
    key.wrapping_mul(37).wrapping_add(u8::try_from(index).expect("below 64")).wrapping_add(1)
}
