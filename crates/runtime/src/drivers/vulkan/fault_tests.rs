//! Vulkan calls that fail: each call of a program in turn, for lack of memory or because the device is lost.
//!
//! The function table of a real device is replaced by functions that fail when it is their turn and call the device's
//! otherwise. Without a device, the tests print the reason and pass.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ash::vk;
use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface as _};

use super::logical_device::LogicalDevice;
use super::{VulkanBackend, VulkanError, VulkanInstance};
use crate::{DeviceOptions, Instance, SegmentGroup};

/// Calls to go until one fails; 0 if none fails any more.
static CALLS_TO_GO: AtomicU32 = AtomicU32::new(0);

/// How many of the calls after the one that fails first fail, too.
static MORE_FAILURES: AtomicU32 = AtomicU32::new(0);

/// The number of failures.
static FAILURES: AtomicU32 = AtomicU32::new(0);

/// The result of the calls that fail.
static FAILURE: AtomicI32 = AtomicI32::new(0);

/// Held by the test that injects failures: there is one at a time.
pub(super) static INJECTING: Mutex<()> = Mutex::new(());

/// Number of live allocations, buffers, command pools and fences of devices whose functions are replaced.
static LIVE: AtomicI32 = AtomicI32::new(0);

/// Returns the failure if it is this call's turn.
fn failure() -> Option<vk::Result> {
    let before = CALLS_TO_GO.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    (before == Ok(1)).then(|| {
        let more = MORE_FAILURES.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |more| more.checked_sub(1));
        CALLS_TO_GO.store(more.is_ok().into(), Ordering::SeqCst);
        FAILURES.fetch_add(1, Ordering::SeqCst);
        vk::Result::from_raw(FAILURE.load(Ordering::SeqCst))
    })
}

/// Defines functions that fail in turn and otherwise call the device's, and `replace`, which returns the replacement of
/// a function by its name. `live` is what a successful call adds to the number of live objects. A function that is
/// `late` is called before it fails.
macro_rules! replacements {
    ($($function:ident, $name:literal, $pfn:ident, $live:expr, ($($argument:ident: $type:ty),*) -> $result:ty $(, $late:ident)?;)*) => {
        $(
            mod $function {
                use super::*;

                pub(super) static REAL: AtomicUsize = AtomicUsize::new(0);

                pub(super) unsafe extern "system" fn call($($argument: $type),*) -> $result {
                    let late: &[&str] = &[$(stringify!($late))?];
                    let failed = match <$result as Outcome>::failure() {
                        Some(failed) if late.is_empty() => return failed,
                        failed => failed,
                    };
                    let real = std::ptr::with_exposed_provenance::<c_void>(REAL.load(Ordering::SeqCst));
                    // SAFETY: the device returned this function for the name, which has this signature.
                    let real = unsafe { std::mem::transmute::<*const c_void, vk::$pfn>(real) };
                    // SAFETY: the arguments are the driver's.
                    let result = unsafe { real($($argument),*) };
                    if let Some(failed) = failed {
                        return failed;
                    }
                    if result.is_success() {
                        LIVE.fetch_add($live, Ordering::SeqCst);
                    }
                    result
                }
            }
        )*

        /// Returns the replacement of a function of the device, if it has one.
        fn replace(name: &CStr, real: *const c_void) -> *const c_void {
            $(
                if name == $name {
                    $function::REAL.store(real.expose_provenance(), Ordering::SeqCst);
                    return $function::call as vk::$pfn as *const c_void;
                }
            )*
            real
        }
    };
}

/// The result of a replaced function.
trait Outcome: Sized {
    /// Returns a failure if it is this call's turn.
    fn failure() -> Option<Self>;
    fn is_success(&self) -> bool;
}

impl Outcome for vk::Result {
    fn failure() -> Option<Self> {
        failure()
    }

    fn is_success(&self) -> bool {
        *self == Self::SUCCESS
    }
}

impl Outcome for () {
    fn failure() -> Option<Self> {
        None
    }

    fn is_success(&self) -> bool {
        true
    }
}

type Callbacks<'a> = *const vk::AllocationCallbacks<'a>;

replacements! {
    create_buffer, c"vkCreateBuffer", PFN_vkCreateBuffer, 1,
        (d: vk::Device, i: *const vk::BufferCreateInfo<'_>, c: Callbacks<'_>, o: *mut vk::Buffer) -> vk::Result;
    destroy_buffer, c"vkDestroyBuffer", PFN_vkDestroyBuffer, -i32::from(b != vk::Buffer::null()),
        (d: vk::Device, b: vk::Buffer, c: Callbacks<'_>) -> ();
    allocate_memory, c"vkAllocateMemory", PFN_vkAllocateMemory, 1,
        (d: vk::Device, i: *const vk::MemoryAllocateInfo<'_>, c: Callbacks<'_>, o: *mut vk::DeviceMemory) -> vk::Result;
    free_memory, c"vkFreeMemory", PFN_vkFreeMemory, -i32::from(m != vk::DeviceMemory::null()),
        (d: vk::Device, m: vk::DeviceMemory, c: Callbacks<'_>) -> ();
    bind_buffer_memory, c"vkBindBufferMemory", PFN_vkBindBufferMemory, 0,
        (d: vk::Device, b: vk::Buffer, m: vk::DeviceMemory, o: u64) -> vk::Result;
    map_memory, c"vkMapMemory", PFN_vkMapMemory, 0,
        (d: vk::Device, m: vk::DeviceMemory, o: u64, s: u64, f: vk::MemoryMapFlags, p: *mut *mut c_void) -> vk::Result;
    create_command_pool, c"vkCreateCommandPool", PFN_vkCreateCommandPool, 1,
        (d: vk::Device, i: *const vk::CommandPoolCreateInfo<'_>, c: Callbacks<'_>, o: *mut vk::CommandPool) -> vk::Result;
    allocate_command_buffers, c"vkAllocateCommandBuffers", PFN_vkAllocateCommandBuffers, 0,
        (d: vk::Device, i: *const vk::CommandBufferAllocateInfo<'_>, o: *mut vk::CommandBuffer) -> vk::Result;
    begin_command_buffer, c"vkBeginCommandBuffer", PFN_vkBeginCommandBuffer, 0,
        (b: vk::CommandBuffer, i: *const vk::CommandBufferBeginInfo<'_>) -> vk::Result;
    // What failed to end is not recording any more.
    end_command_buffer, c"vkEndCommandBuffer", PFN_vkEndCommandBuffer, 0, (b: vk::CommandBuffer) -> vk::Result, late;
    queue_submit, c"vkQueueSubmit", PFN_vkQueueSubmit, 0,
        (q: vk::Queue, n: u32, s: *const vk::SubmitInfo<'_>, f: vk::Fence) -> vk::Result;
    // What the device works on must not be freed, so the wait is over when it fails.
    wait_semaphores, c"vkWaitSemaphores", PFN_vkWaitSemaphores, 0,
        (d: vk::Device, i: *const vk::SemaphoreWaitInfo<'_>, t: u64) -> vk::Result, late;
    queue_wait_idle, c"vkQueueWaitIdle", PFN_vkQueueWaitIdle, 0, (q: vk::Queue) -> vk::Result, late;
    create_semaphore, c"vkCreateSemaphore", PFN_vkCreateSemaphore, 1,
        (d: vk::Device, i: *const vk::SemaphoreCreateInfo<'_>, c: Callbacks<'_>, o: *mut vk::Semaphore) -> vk::Result;
    destroy_semaphore, c"vkDestroySemaphore", PFN_vkDestroySemaphore, -i32::from(s != vk::Semaphore::null()),
        (d: vk::Device, s: vk::Semaphore, c: Callbacks<'_>) -> ();
    destroy_command_pool, c"vkDestroyCommandPool", PFN_vkDestroyCommandPool,
        -i32::from(p != vk::CommandPool::null()),
        (d: vk::Device, p: vk::CommandPool, c: Callbacks<'_>) -> ();
}

/// Returns the device or the driver, or prints why there is none. With HEAPWRIGHT_REQUIRE_VULKAN, that is a failure.
#[expect(clippy::print_stderr, reason = "a test that did not run says so")]
pub(in crate::drivers) fn or_skip<T>(opened: Result<T, VulkanError>) -> Option<T> {
    let reason = match opened {
        Ok(opened) => return Some(opened),
        Err(reason) => reason,
    };
    let is_required = std::env::var_os("HEAPWRIGHT_REQUIRE_VULKAN").is_some();
    assert!(!is_required, "HEAPWRIGHT_REQUIRE_VULKAN is set, but: {reason}");
    eprintln!("skipped: {reason}");
    None
}

/// Opens the first suitable device, whose functions `replace` may replace, given their name; or prints why there is
/// none. It stays open, as those of the product.
pub(super) fn open_with(
    replace: impl Fn(&CStr, *const c_void) -> *const c_void,
) -> Option<Arc<LogicalDevice>> {
    open_alone_with(replace).inspect(keep_open)
}

/// Keeps a device open until the process ends.
pub(super) fn keep_open(device: &Arc<LogicalDevice>) {
    std::mem::forget(Arc::clone(device));
}

/// Opens a device like [`open_with`], to be passed to [`keep_open`].
pub(super) fn open_alone_with(
    replace: impl Fn(&CStr, *const c_void) -> *const c_void,
) -> Option<Arc<LogicalDevice>> {
    let opened = VulkanInstance::load().and_then(|instance| {
        let suitable = instance.hardware()?.into_iter().find(|hardware| hardware.check().is_ok());
        let hardware = suitable.ok_or(VulkanError::NoDevice)?;
        LogicalDevice::open_with(instance, hardware, |device| {
            let (functions, handle) = (instance.functions(), device.handle());
            // SAFETY: the functions are the device's own, or replacements with the same signatures that call them.
            unsafe {
                ash::Device::load_with(
                    |name| {
                        let own = functions.get_device_proc_addr(handle, name.as_ptr());
                        replace(name, own.map_or(std::ptr::null(), |own| own as *const c_void))
                    },
                    handle,
                )
            }
        })
    });
    or_skip(opened)
}

/// Runs a program with heaps, a queue, copies, eviction and return. Returns the code of the first call that fails.
fn program(device: Arc<LogicalDevice>) -> Result<(), HRESULT> {
    let failed = |error: windows_core::Error| error.code();
    // An adapter that cannot be opened is an error with words, not a code.
    let driver = VulkanBackend::over(device).map_err(|error| {
        assert!(!error.to_string().is_empty());
        E_FAIL
    })?;
    let gpu = Instance::over(Arc::new(driver.driver()), DeviceOptions::default(), &[]).map_err(failed)?;
    let ended = copies_and_eviction(&gpu);
    let (has_failed, is_loss) = (FAILURES.load(Ordering::SeqCst) > 0, FAILURE.load(Ordering::SeqCst));
    if has_failed && is_loss == vk::Result::ERROR_DEVICE_LOST.as_raw() {
        // SAFETY: a live device.
        let reason = unsafe { gpu.device.GetDeviceRemovedReason() };
        assert_eq!(reason, DXGI_ERROR_DEVICE_REMOVED, "whichever call noticed it");
    }
    ended
}

/// Runs the program on a device whose calls do not fail.
pub(super) fn without_failures(device: Arc<LogicalDevice>) -> Result<(), HRESULT> {
    let _one = INJECTING.lock().unwrap_or_else(PoisonError::into_inner);
    FAILURES.store(0, Ordering::SeqCst);
    program(device)
}

/// The size of the program's heaps.
const SIZE: u64 = 3 << 16;

fn copies_and_eviction(gpu: &Instance) -> Result<(), HRESULT> {
    const LEN: usize = 3 << 16;
    let failed = |error: windows_core::Error| error.code();
    let device = &gpu.device;
    let buffer = |kind| {
        let properties = D3D12_HEAP_PROPERTIES { Type: kind, ..Default::default() };
        let desc = D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
            Width: SIZE,
            Height: 1,
            DepthOrArraySize: 1,
            MipLevels: 1,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
            ..Default::default()
        };
        let mut buffer: Option<ID3D12Resource> = None;
        let (flags, state) = (D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_STATE_COMMON);
        // SAFETY: a live device, readable descriptions, a writable result.
        unsafe { device.CreateCommittedResource(&properties, flags, &desc, state, None, &mut buffer) }
            .map_err(failed)?;
        buffer.ok_or(E_FAIL)
    };
    let (upload, readback) = (buffer(D3D12_HEAP_TYPE_UPLOAD)?, buffer(D3D12_HEAP_TYPE_READBACK)?);
    let video = buffer(D3D12_HEAP_TYPE_DEFAULT)?;
    let map = |buffer: &ID3D12Resource| {
        let mut start = std::ptr::null_mut();
        // SAFETY: a live buffer and a writable result.
        unsafe { buffer.Map(0, None, &mut start) }.ok().map_err(failed)?;
        Ok::<_, HRESULT>(start.cast::<u8>())
    };
    let (written, read) = (map(&upload)?, map(&readback)?);
    // SAFETY: both are mapped, and no queue uses them yet.
    unsafe {
        written.write_bytes(0xc3, LEN);
        read.write_bytes(0, LEN);
    }
    let copy = |target: &ID3D12Resource, source: &ID3D12Resource| {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        // SAFETY: live objects; the list is closed before it is executed, and waited for.
        unsafe {
            let queue: ID3D12CommandQueue = device.CreateCommandQueue(&desc).map_err(failed)?;
            let allocator: ID3D12CommandAllocator = device.CreateCommandAllocator(kind).map_err(failed)?;
            let list: ID3D12GraphicsCommandList =
                device.CreateCommandList(0, kind, &allocator, None).map_err(failed)?;
            let fence: ID3D12Fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE).map_err(failed)?;
            list.CopyBufferRegion(target, 0, source, 0, SIZE);
            list.Close().ok().map_err(failed)?;
            queue.ExecuteCommandLists(&[Some(list.cast().map_err(failed)?)]);
            queue.Signal(&fence, 1).ok().map_err(failed)?;
            fence.SetEventOnCompletion(1, HANDLE::default()).ok().map_err(failed)?;
            device.GetDeviceRemovedReason().ok().map_err(failed)
        }
    };
    copy(&video, &upload)?;
    // Leaves while the other does.
    let small = gpu.create_heap(ByteSize::new(SIZE), SegmentGroup::Local, true).map_err(failed)?;
    let object = [Some(video.cast().map_err(failed)?), Some(small.into())];
    gpu.evict(&object).map_err(failed)?;
    // Uses the memory that was freed, so that the heap does not find its bytes where they were.
    let _other = buffer(D3D12_HEAP_TYPE_DEFAULT)?;
    let usage_away = gpu.current_usage(SegmentGroup::Local);
    let returned = gpu.make_resident(&object).map_err(failed);
    if let Err(code) = returned {
        // Less if the eviction before had failed.
        assert!(gpu.current_usage(SegmentGroup::Local) <= usage_away, "nothing stays charged");
        // A call that fails for lack of memory changes nothing, and can be repeated.
        if code == E_OUTOFMEMORY && gpu.make_resident(&object).is_err() {
            gpu.make_resident(&object).map_err(failed)?;
        }
    }
    copy(&readback, &video)?;
    // SAFETY: mapped memory, with which the queue is done.
    let copied = unsafe { std::slice::from_raw_parts(read, LEN) };
    assert!(copied.iter().all(|&byte| byte == 0xc3), "a program without errors has the right contents");
    assert!(gpu.current_usage(SegmentGroup::Local) >= ByteSize::new(SIZE));
    gpu.residency().check_balance().expect("a call that fails counts nothing");
    returned
}

/// Returns the device whose calls fail, as if it had never been lost, or prints why there is none. The caller holds
/// [`INJECTING`].
fn faulty() -> Option<Arc<LogicalDevice>> {
    static FAULTY: OnceLock<Option<Arc<LogicalDevice>>> = OnceLock::new();
    FAULTY.get_or_init(|| open_with(replace)).clone().inspect(|device| device.find_again())
}

/// Runs the program with each call failing in turn, and `more` calls after it. Returns the number of calls and the
/// codes that were returned.
fn fail_each_call(with: vk::Result, more: u32) -> Option<(u32, Vec<HRESULT>)> {
    let _one = INJECTING.lock().unwrap_or_else(PoisonError::into_inner);
    FAILURE.store(with.as_raw(), Ordering::SeqCst);
    let mut codes = Vec::new();
    for call in 1.. {
        let device = faulty()?;
        FAILURES.store(0, Ordering::SeqCst);
        MORE_FAILURES.store(more, Ordering::SeqCst);
        CALLS_TO_GO.store(call, Ordering::SeqCst);
        let ended = program(device);
        CALLS_TO_GO.store(0, Ordering::SeqCst);
        let has_failed = FAILURES.load(Ordering::SeqCst) > 0;
        // A thread that frees memory which is kept may be in the middle of that.
        let deadline = Instant::now() + Duration::from_secs(10);
        while LIVE.load(Ordering::SeqCst) != 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(LIVE.load(Ordering::SeqCst), 0, "call {call}: objects are left");
        if !has_failed {
            assert_eq!(ended, Ok(()));
            return Some((call - 1, codes));
        }
        codes.extend(ended.err());
    }
    None
}

/// Lack of memory is an error of the call, or removes the device if a queue's commands are lost. Failed evictions leave
/// the heap where it is.
#[test]
fn each_call_may_run_out_of_memory() {
    for failure in [vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_OUT_OF_HOST_MEMORY] {
        let Some((calls, codes)) = fail_each_call(failure, 0) else { return };
        assert!(calls > 30, "{calls} calls");
        let known = [E_OUTOFMEMORY, DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_HUNG, E_FAIL];
        assert!(codes.iter().all(|code| known.contains(code)), "{codes:?}");
        assert!(codes.contains(&E_OUTOFMEMORY), "{codes:?}");
    }
}

/// What replaces a call that ran out of memory may run out of memory as well: memory without an address, or without
/// what was kept. The program checks the contents.
#[test]
fn calls_in_a_row_may_run_out_of_memory() {
    for more in 1..=3 {
        let failure = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let Some((calls, codes)) = fail_each_call(failure, more) else { return };
        assert!(calls > 30, "{calls} calls");
        assert!(codes.contains(&E_OUTOFMEMORY), "{codes:?}");
    }
}

/// `EnqueueMakeResident` is refused, and changes nothing, if memory cannot be allocated or the GPU's work cannot be
/// submitted: later, only the removal of the device could report that.
#[test]
fn an_enqueued_call_that_cannot_begin_is_refused() {
    let _one = INJECTING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = faulty() else { return };
    FAILURE.store(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY.as_raw(), Ordering::SeqCst);
    let driver = VulkanBackend::over(device).expect("a driver");
    let gpu = Instance::over(Arc::new(driver.driver()), DeviceOptions::default(), &[]).expect("a device");
    let heap = gpu.create_heap(ByteSize::new(SIZE), SegmentGroup::Local, true).expect("a heap");
    let object = [Some(heap.into())];
    gpu.evict(&object).expect("resident");
    let usage_away = gpu.current_usage(SegmentGroup::Local);
    // SAFETY: a live device.
    let fence: ID3D12Fence = unsafe { gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence");
    let device: ID3D12Device3 = gpu.device.cast().expect("newer than that");
    let mut refused = 0;
    for call in 1.. {
        FAILURES.store(0, Ordering::SeqCst);
        CALLS_TO_GO.store(call, Ordering::SeqCst);
        let flags = D3D12_RESIDENCY_FLAG_NONE;
        // SAFETY: live objects.
        let enqueued = unsafe { device.EnqueueMakeResident(flags, &object, &fence, call.into()) }.ok();
        if let Err(error) = enqueued {
            CALLS_TO_GO.store(0, Ordering::SeqCst);
            assert_eq!(error.code(), E_OUTOFMEMORY);
            refused += 1;
            assert_eq!(
                gpu.current_usage(SegmentGroup::Local),
                usage_away,
                "call {call}: nothing stays charged"
            );
        } else {
            // SAFETY: a live fence.
            unsafe { fence.SetEventOnCompletion(call.into(), HANDLE::default()) }.ok().expect("waited for");
            CALLS_TO_GO.store(0, Ordering::SeqCst);
            if FAILURES.load(Ordering::SeqCst) == 0 {
                break;
            }
            // A call that was repeated.
            gpu.evict(&object).expect("resident");
        }
    }
    // SAFETY: a live device.
    unsafe { gpu.device.GetDeviceRemovedReason() }.ok().expect("the device is there");
    gpu.residency().check_balance().expect("a refused call counts nothing");
    // The beginning, the end and the submission of the copy.
    assert!(refused >= 3, "{refused} refused");
}

/// A lost device is DXGI_ERROR_DEVICE_REMOVED, wherever it is noticed.
#[test]
fn each_call_may_lose_the_device() {
    let Some((calls, codes)) = fail_each_call(vk::Result::ERROR_DEVICE_LOST, 0) else { return };
    assert!(calls > 30, "{calls} calls");
    let known = [DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_HUNG, E_FAIL];
    assert!(codes.iter().all(|code| known.contains(code)), "{codes:?}");
    assert!(codes.contains(&DXGI_ERROR_DEVICE_REMOVED), "{codes:?}");
}
