//! The debug layer through its COM interfaces.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use heapwright_d3d12::*;
use heapwright_runtime::exports::{
    D3D12CreateDevice, D3D12EnableExperimentalFeatures, D3D12GetDebugInterface, D3D12GetInterface,
};
use heapwright_runtime::{HostProfile, Instance, break_count};
use windows_core::{HRESULT, Interface};

struct Gpu {
    device: ID3D12Device,
    queue: ID3D12InfoQueue1,
}

fn open() -> Gpu {
    let device = Instance::open(HostProfile::default_profile()).expect("a fresh instance").device;
    let queue = device.cast().expect("the debug layer is on");
    Gpu { device, queue }
}

/// A message as returned by the info queue.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    category: D3D12_MESSAGE_CATEGORY,
    severity: D3D12_MESSAGE_SEVERITY,
    id: D3D12_MESSAGE_ID,
    text: String,
}

impl Gpu {
    /// Makes a call that is refused.
    fn break_a_rule(&self) {
        self.heap(D3D12_HEAP_TYPE_DEFAULT, 0).expect_err("no bytes");
    }

    fn heap(&self, heap_type: D3D12_HEAP_TYPE, size: u64) -> windows_core::Result<ID3D12Heap> {
        let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
        let desc = D3D12_HEAP_DESC { SizeInBytes: size, Properties: properties, ..Default::default() };
        let mut heap = None;
        unsafe { self.device.CreateHeap(&desc, &mut heap) }?;
        Ok(heap.expect("S_OK comes with a heap"))
    }

    /// Adds a message with the given text.
    fn add(&self, text: &CStr) {
        let text = PCSTR(text.as_ptr().cast());
        unsafe { self.queue.AddApplicationMessage(D3D12_MESSAGE_SEVERITY_INFO, text) }.ok().expect("added");
    }

    fn message(&self, index: u64) -> Result<Message, HRESULT> {
        let mut size = 0;
        let answer = unsafe { self.queue.GetMessage(index, None, &mut size) };
        if answer != S_FALSE {
            return Err(answer);
        }
        let mut room = vec![0_u64; size.div_ceil(8)];
        let message = room.as_mut_ptr().cast::<D3D12_MESSAGE>();
        assert_eq!(unsafe { self.queue.GetMessage(index, Some(message), &mut size) }, S_OK);
        let message = unsafe { *message };
        let text = unsafe { CStr::from_ptr(message.pDescription.cast()) };
        assert_eq!(text.to_bytes_with_nul().len(), message.DescriptionByteLength);
        Ok(Message {
            category: message.Category,
            severity: message.Severity,
            id: message.ID,
            text: text.to_str().expect("UTF-8").to_string(),
        })
    }

    fn texts(&self) -> Vec<String> {
        let count = unsafe { self.queue.GetNumStoredMessagesAllowedByRetrievalFilter() };
        (0..count).map(|index| self.message(index).expect("a message").text).collect()
    }
}

/// Describes a buffer of 1,000 bytes.
fn buffer_desc(flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: 1000,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: flags,
        ..Default::default()
    }
}

fn deny(severity: &mut D3D12_MESSAGE_SEVERITY) -> D3D12_INFO_QUEUE_FILTER {
    D3D12_INFO_QUEUE_FILTER {
        DenyList: D3D12_INFO_QUEUE_FILTER_DESC {
            NumSeverities: 1,
            pSeverityList: severity,
            ..Default::default()
        },
        ..Default::default()
    }
}

#[test]
fn a_refused_call_leaves_a_message_that_names_call_and_rule() {
    let gpu = open();
    assert_eq!(unsafe { gpu.queue.GetNumStoredMessages() }, 0);
    gpu.break_a_rule();
    let message = gpu.message(0).expect("a message");
    assert_eq!(message.category, D3D12_MESSAGE_CATEGORY_STATE_CREATION);
    assert_eq!(message.severity, D3D12_MESSAGE_SEVERITY_ERROR);
    assert_ne!(message.id, D3D12_MESSAGE_ID_UNKNOWN);
    assert!(message.text.starts_with("ID3D12Device::CreateHeap: "), "{}", message.text);
    assert!(message.text.contains("SizeInBytes"), "{}", message.text);
    assert_eq!(gpu.message(1), Err(E_INVALIDARG), "there is one");
    unsafe { gpu.queue.ClearStoredMessages() };
    assert_eq!(unsafe { gpu.queue.GetNumStoredMessages() }, 0);
}

/// D3D12's debug layer reports these errors under the same message IDs.
#[test]
fn mistakes_with_mapped_memory_have_d3d12_s_ids() {
    let gpu = open();
    let create = |heap_type| {
        let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
        let desc = buffer_desc(D3D12_RESOURCE_FLAG_NONE);
        let (flags, state) = (D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_STATE_COMMON);
        let mut resource: Option<ID3D12Resource> = None;
        unsafe { gpu.device.CreateCommittedResource(&properties, flags, &desc, state, None, &mut resource) }
            .expect("valid");
        resource.expect("S_OK comes with a resource")
    };
    let (upload, hidden) = (create(D3D12_HEAP_TYPE_UPLOAD), create(D3D12_HEAP_TYPE_DEFAULT));
    let beyond = D3D12_RANGE { Begin: 0, End: 1001 };
    unsafe {
        upload.Map(1, None, null_mut()).ok().expect_err("one subresource");
        upload.Map(0, Some(&beyond), null_mut()).ok().expect_err("1000 bytes");
        hidden.Map(0, None, null_mut()).ok().expect_err("no CPU access");
        upload.Unmap(1, None);
        upload.Unmap(0, Some(&beyond));
        upload.Unmap(0, None);
        upload.WriteToSubresource(0, None, null(), 0, 0).ok().expect_err("a buffer");
    }
    let ids: Vec<_> = (0..7).map(|index| gpu.message(index).expect("a message").id).collect();
    assert_eq!(
        ids,
        [
            D3D12_MESSAGE_ID_MAP_INVALIDSUBRESOURCE,
            D3D12_MESSAGE_ID_MAP_INVALIDRANGE,
            D3D12_MESSAGE_ID_MAP_INVALIDHEAP,
            D3D12_MESSAGE_ID_UNMAP_INVALIDSUBRESOURCE,
            D3D12_MESSAGE_ID_UNMAP_INVALIDRANGE,
            D3D12_MESSAGE_ID_RESOURCE_UNMAP_NOTMAPPED,
            D3D12_MESSAGE_ID_WRITETOSUBRESOURCE_INVALIDRESOURCE,
        ]
    );
}

#[test]
fn children_report_to_their_device() {
    let (gpu, other) = (open(), open());
    let heap = gpu.heap(D3D12_HEAP_TYPE_DEFAULT, 1 << 20).expect("valid");
    let mut size = 0;
    unsafe { heap.GetPrivateData(null(), &mut size, None) }.ok().expect_err("no GUID");
    assert_eq!(gpu.texts().len(), 1);
    assert!(gpu.texts()[0].starts_with("GetPrivateData"));
    assert_eq!(other.texts().len(), 0);
}

#[test]
fn a_warning_is_a_message_of_a_call_that_succeeds() {
    let gpu = open();
    let desc = buffer_desc(D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
    let info = unsafe { gpu.device.GetResourceAllocationInfo(0, &[desc]) };
    assert_eq!(info.Alignment, 65_536);
    let message = gpu.message(0).expect("TIGHT causes a warning");
    assert_eq!(message.severity, D3D12_MESSAGE_SEVERITY_WARNING);
    assert!(message.text.contains("ALLOW_CROSS_ADAPTER"), "{}", message.text);
}

#[test]
fn a_message_requires_a_large_enough_buffer() {
    let gpu = open();
    gpu.add(c"text");
    let mut room = [0_u64; 64];
    let message = room.as_mut_ptr().cast::<D3D12_MESSAGE>();
    let whole = size_of::<D3D12_MESSAGE>() + 5;
    let mut size = whole - 1;
    assert_eq!(unsafe { gpu.queue.GetMessage(0, Some(message), &mut size) }, E_INVALIDARG);
    assert_eq!((size, room), (whole, [0; 64]), "only the required size is written");
    assert_eq!(unsafe { gpu.queue.GetMessage(0, Some(message), null_mut()) }, E_INVALIDARG);
    assert_eq!(unsafe { gpu.queue.GetMessage(0, Some(message), &mut size) }, S_OK);
    // Errors of the queue's own methods are not stored.
    assert_eq!(unsafe { gpu.queue.GetNumStoredMessages() }, 1);
}

#[test]
fn the_oldest_messages_are_discarded_first() {
    let gpu = open();
    assert_eq!(unsafe { gpu.queue.GetMessageCountLimit() }, 1024);
    for _ in 0..1030 {
        gpu.break_a_rule();
    }
    assert_eq!(unsafe { gpu.queue.GetNumStoredMessages() }, 1024);
    assert_eq!(unsafe { gpu.queue.GetNumMessagesDiscardedByMessageCountLimit() }, 6);
    gpu.add(c"the last");
    unsafe { gpu.queue.SetMessageCountLimit(2) }.ok().expect("a limit");
    gpu.add(c"after it");
    assert_eq!(gpu.texts(), ["the last", "after it"]);
    assert_eq!(unsafe { gpu.queue.GetNumMessagesDiscardedByMessageCountLimit() }, 1030);
    unsafe { gpu.queue.SetMessageCountLimit(0) }.ok().expect("a limit");
    gpu.add(c"nobody hears");
    assert_eq!(unsafe { gpu.queue.GetNumStoredMessages() }, 0);
    unsafe { gpu.queue.SetMessageCountLimit(u64::MAX) }.ok().expect("no limit");
    for _ in 0..2000 {
        gpu.add(c"room for all");
    }
    assert_eq!(unsafe { gpu.queue.GetNumStoredMessages() }, 2000);
}

#[test]
fn storage_filters_decide_what_is_stored() {
    let gpu = open();
    let mut severity = D3D12_MESSAGE_SEVERITY_ERROR;
    let filter = deny(&mut severity);
    unsafe { gpu.queue.PushStorageFilter(&filter) }.ok().expect("a filter");
    gpu.break_a_rule();
    gpu.add(c"kept");
    assert_eq!(gpu.texts(), ["kept"]);
    assert_eq!(unsafe { gpu.queue.GetNumMessagesAllowedByStorageFilter() }, 1);
    assert_eq!(unsafe { gpu.queue.GetNumMessagesDeniedByStorageFilter() }, 1);
    unsafe { gpu.queue.PushEmptyStorageFilter() }.ok().expect("a filter");
    assert_eq!(unsafe { gpu.queue.GetStorageFilterStackSize() }, 2);
    gpu.break_a_rule();
    assert_eq!(gpu.texts().len(), 2, "an empty filter passes all messages");
    unsafe { gpu.queue.PopStorageFilter() };
    gpu.break_a_rule();
    assert_eq!(gpu.texts().len(), 2);
    unsafe { gpu.queue.PushCopyOfStorageFilter() }.ok().expect("a filter");
    gpu.break_a_rule();
    assert_eq!(gpu.texts().len(), 2);
    unsafe { gpu.queue.ClearStorageFilter() };
    gpu.break_a_rule();
    assert_eq!(gpu.texts().len(), 3);
    for _ in 0..3 {
        unsafe { gpu.queue.PopStorageFilter() };
    }
    assert_eq!(unsafe { gpu.queue.GetStorageFilterStackSize() }, 0);
}

#[test]
fn retrieval_filters_decide_what_is_shown() {
    let gpu = open();
    gpu.break_a_rule();
    gpu.add(c"shown");
    let mut severity = D3D12_MESSAGE_SEVERITY_ERROR;
    let filter = deny(&mut severity);
    unsafe { gpu.queue.AddRetrievalFilterEntries(&filter) }.ok().expect("entries");
    assert_eq!(unsafe { gpu.queue.GetRetrievalFilterStackSize() }, 1);
    assert_eq!(unsafe { gpu.queue.GetNumStoredMessages() }, 2);
    assert_eq!(gpu.texts(), ["shown"], "the index counts the messages that pass the filter");
    unsafe { gpu.queue.PushEmptyRetrievalFilter() }.ok().expect("a filter");
    assert_eq!(gpu.texts().len(), 2);
    unsafe { gpu.queue.PopRetrievalFilter() };
    unsafe { gpu.queue.PushCopyOfRetrievalFilter() }.ok().expect("a filter");
    assert_eq!(gpu.texts().len(), 1);
    unsafe { gpu.queue.ClearRetrievalFilter() };
    assert_eq!(gpu.texts().len(), 2);
    unsafe { gpu.queue.PushRetrievalFilter(&filter) }.ok().expect("a filter");
    assert_eq!(gpu.texts().len(), 1);
}

#[test]
fn filters_can_be_read_back() {
    let gpu = open();
    let (mut categories, mut severities) = ([3, 9], [1]);
    let (mut ids, mut denied) = ([538, 607, 608], [820]);
    let filter = D3D12_INFO_QUEUE_FILTER {
        AllowList: D3D12_INFO_QUEUE_FILTER_DESC {
            NumCategories: 2,
            pCategoryList: categories.as_mut_ptr(),
            NumSeverities: 1,
            pSeverityList: severities.as_mut_ptr(),
            NumIDs: 3,
            pIDList: ids.as_mut_ptr(),
        },
        DenyList: D3D12_INFO_QUEUE_FILTER_DESC {
            NumIDs: 1,
            pIDList: denied.as_mut_ptr(),
            ..Default::default()
        },
    };
    unsafe { gpu.queue.AddStorageFilterEntries(&filter) }.ok().expect("entries");
    let mut size = 0;
    assert_eq!(unsafe { gpu.queue.GetStorageFilter(None, &mut size) }, S_FALSE);
    assert_eq!(size, size_of::<D3D12_INFO_QUEUE_FILTER>() + 7 * 4);
    let mut room = vec![0_u64; size.div_ceil(8)];
    let got = room.as_mut_ptr().cast::<D3D12_INFO_QUEUE_FILTER>();
    assert_eq!(unsafe { gpu.queue.GetStorageFilter(Some(got), &mut size) }, S_OK);
    let got = unsafe { *got };
    let list = |count: u32, list: *mut i32| {
        assert!(count > 0 || list.is_null());
        (0..usize::try_from(count).expect("few")).map(|i| unsafe { *list.add(i) }).collect::<Vec<_>>()
    };
    assert_eq!(list(got.AllowList.NumCategories, got.AllowList.pCategoryList), categories);
    assert_eq!(list(got.AllowList.NumSeverities, got.AllowList.pSeverityList), severities);
    assert_eq!(list(got.AllowList.NumIDs, got.AllowList.pIDList), ids);
    assert_eq!(list(got.DenyList.NumIDs, got.DenyList.pIDList), denied);
    assert_eq!((got.DenyList.NumCategories, got.DenyList.NumSeverities), (0, 0));

    unsafe { gpu.queue.GetRetrievalFilter(None, &mut size) }.ok().expect("S_FALSE");
    assert_eq!(size, size_of::<D3D12_INFO_QUEUE_FILTER>(), "no message is filtered");
}

#[test]
fn invalid_filters_and_messages_are_refused() {
    let gpu = open();
    let missing = D3D12_INFO_QUEUE_FILTER {
        AllowList: D3D12_INFO_QUEUE_FILTER_DESC { NumIDs: u32::MAX, ..Default::default() },
        ..Default::default()
    };
    let text = PCSTR(c"text".as_ptr().cast());
    unsafe {
        assert_eq!(gpu.queue.AddStorageFilterEntries(null()), E_INVALIDARG);
        assert_eq!(gpu.queue.PushRetrievalFilter(&missing), E_INVALIDARG);
        assert_eq!(gpu.queue.GetStorageFilterStackSize() + gpu.queue.GetRetrievalFilterStackSize(), 0);
        assert_eq!(gpu.queue.GetStorageFilter(None, null_mut()), E_INVALIDARG);
        assert_eq!(gpu.queue.AddApplicationMessage(5, text), E_INVALIDARG);
        assert_eq!(gpu.queue.AddMessage(11, 0, 0, text), E_INVALIDARG);
        assert_eq!(gpu.queue.AddMessage(-1, 0, 0, text), E_INVALIDARG);
        assert_eq!(gpu.queue.AddMessage(0, 0, 0, PCSTR::null()), E_INVALIDARG);
        assert_eq!(gpu.queue.SetBreakOnSeverity(9, true), E_INVALIDARG);
        assert_eq!(gpu.queue.SetBreakOnCategory(99, true), E_INVALIDARG);
        assert_eq!(gpu.queue.UnregisterMessageCallback(0), E_INVALIDARG);
        assert_eq!(gpu.queue.GetNumStoredMessages(), 0);
    }
}

#[test]
fn breaks_are_counted() {
    let gpu = open();
    let count = || break_count(&gpu.device).expect("this runtime's device");
    unsafe {
        gpu.break_a_rule();
        assert_eq!(count(), 0);
        gpu.queue.SetBreakOnSeverity(D3D12_MESSAGE_SEVERITY_ERROR, true).ok().expect("set");
        gpu.queue.SetBreakOnCategory(D3D12_MESSAGE_CATEGORY_STATE_CREATION, true).ok().expect("set");
        assert!(gpu.queue.GetBreakOnSeverity(D3D12_MESSAGE_SEVERITY_ERROR).as_bool());
        assert!(!gpu.queue.GetBreakOnSeverity(D3D12_MESSAGE_SEVERITY_WARNING).as_bool());
        assert!(gpu.queue.GetBreakOnCategory(D3D12_MESSAGE_CATEGORY_STATE_CREATION).as_bool());
        gpu.break_a_rule();
        assert_eq!(count(), 1, "a message breaks at most once");
        gpu.queue.SetBreakOnSeverity(D3D12_MESSAGE_SEVERITY_ERROR, false).ok().expect("set");
        gpu.queue.SetBreakOnCategory(D3D12_MESSAGE_CATEGORY_STATE_CREATION, false).ok().expect("set");
        gpu.break_a_rule();
        assert_eq!(count(), 1);
        let id = D3D12_MESSAGE_ID_STRING_FROM_APPLICATION;
        gpu.queue.SetBreakOnID(id, true).ok().expect("set");
        assert!(gpu.queue.GetBreakOnID(id).as_bool());
        gpu.add(c"text");
        assert_eq!(count(), 2);
        let mut severity = D3D12_MESSAGE_SEVERITY_INFO;
        let filter = deny(&mut severity);
        gpu.queue.PushStorageFilter(&filter).ok().expect("a filter");
        gpu.add(c"text");
        assert_eq!(count(), 2, "a message that is not stored does not break");
    }
}

/// The messages passed to a callback.
type Told = Mutex<Vec<Message>>;

unsafe extern "system" fn remember(
    category: D3D12_MESSAGE_CATEGORY,
    severity: D3D12_MESSAGE_SEVERITY,
    id: D3D12_MESSAGE_ID,
    text: PCSTR,
    context: *mut c_void,
) {
    let told = unsafe { &*context.cast::<Told>() };
    let text = unsafe { CStr::from_ptr(text.0.cast()) }.to_str().expect("UTF-8").to_string();
    told.lock().expect("no panics").push(Message { category, severity, id, text });
}

#[test]
fn callbacks_receive_stored_messages_or_on_request_all() {
    let gpu = open();
    let (stored, all) = (Told::default(), Told::default());
    let (mut first, mut second) = (7, 7);
    let register = |flags, told: &Told, cookie: &mut u32| unsafe {
        gpu.queue.RegisterMessageCallback(Some(remember), flags, (&raw const *told).cast_mut().cast(), cookie)
    };
    assert_eq!(register(D3D12_MESSAGE_CALLBACK_FLAG_NONE, &stored, &mut first), S_OK);
    assert_eq!(register(D3D12_MESSAGE_CALLBACK_IGNORE_FILTERS, &all, &mut second), S_OK);
    assert!(first != 0 && second != 0 && first != second, "{first} {second}");
    let mut severity = D3D12_MESSAGE_SEVERITY_INFO;
    let filter = deny(&mut severity);
    unsafe { gpu.queue.PushStorageFilter(&filter) }.ok().expect("a filter");
    gpu.break_a_rule();
    gpu.add(c"denied");
    let message = gpu.message(0).expect("stored");
    assert_eq!(*stored.lock().expect("no panics"), std::slice::from_ref(&message));
    let all_told = all.lock().expect("no panics").clone();
    assert_eq!(all_told.len(), 2);
    assert_eq!((&all_told[0], all_told[1].text.as_str()), (&message, "denied"));

    unsafe { gpu.queue.UnregisterMessageCallback(first) }.ok().expect("registered");
    assert_eq!(unsafe { gpu.queue.UnregisterMessageCallback(first) }, E_INVALIDARG, "not twice");
    gpu.break_a_rule();
    assert_eq!(stored.lock().expect("no panics").len(), 1);
    assert_eq!(all.lock().expect("no panics").len(), 3);

    let mut cookie = 7;
    let context = null_mut();
    unsafe {
        assert_eq!(gpu.queue.RegisterMessageCallback(None, 0, context, &mut cookie), E_INVALIDARG);
        assert_eq!(cookie, 0, "no callback was registered");
        let unknown_flag = gpu.queue.RegisterMessageCallback(Some(remember), 2, context, &mut cookie);
        assert_eq!(unknown_flag, E_INVALIDARG);
        assert_eq!(gpu.queue.RegisterMessageCallback(Some(remember), 0, context, null_mut()), E_INVALIDARG);
    }
}

/// Calls the queue and the device from the callback, and unregisters itself.
unsafe extern "system" fn call_back(
    _: D3D12_MESSAGE_CATEGORY,
    severity: D3D12_MESSAGE_SEVERITY,
    _: D3D12_MESSAGE_ID,
    _: PCSTR,
    context: *mut c_void,
) {
    let (gpu, cookie) = unsafe { &*context.cast::<(Gpu, AtomicU32)>() };
    assert!(unsafe { gpu.queue.GetNumStoredMessages() } > 0, "the message is already stored");
    if severity == D3D12_MESSAGE_SEVERITY_ERROR {
        gpu.add(c"from the callback");
        unsafe { gpu.queue.UnregisterMessageCallback(cookie.load(Ordering::SeqCst)) }
            .ok()
            .expect("registered");
    }
}

#[test]
fn a_callback_may_call_the_device() {
    let mut context = (open(), AtomicU32::new(0));
    let pointer = (&raw mut context).cast::<c_void>();
    let (gpu, cookie) = unsafe { &*pointer.cast::<(Gpu, AtomicU32)>() };
    unsafe { gpu.queue.RegisterMessageCallback(Some(call_back), 0, pointer, cookie.as_ptr()) }
        .ok()
        .expect("registered");
    gpu.break_a_rule();
    gpu.break_a_rule();
    assert_eq!(gpu.texts().len(), 3);
    assert_eq!(gpu.texts()[1], "from the callback");
}

/// Many threads add messages while others change filters, limits and callbacks: nothing is lost, and
/// nothing hangs.
#[test]
fn the_queue_is_free_threaded() {
    const THREADS: u64 = 4;
    const MESSAGES: u64 = 500;
    let gpu = open();
    // D3D12 does not list the info queue as free-threaded, so each thread queries its device for it.
    let device = &gpu.device;
    // Outlives all threads, because a callback that began before it was unregistered may still be running.
    let told = Told::default();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let gpu = Gpu { device: device.clone(), queue: device.cast().expect("an info queue") };
                for _ in 0..MESSAGES {
                    gpu.break_a_rule();
                }
            });
        }
        scope.spawn(|| {
            let queue: ID3D12InfoQueue1 = device.cast().expect("an info queue");
            for _ in 0..100 {
                let mut cookie = 0;
                unsafe {
                    queue.PushEmptyStorageFilter().ok().expect("a filter");
                    let context = (&raw const told).cast_mut().cast();
                    queue
                        .RegisterMessageCallback(Some(remember), 0, context, &mut cookie)
                        .ok()
                        .expect("a cookie");
                    queue.UnregisterMessageCallback(cookie).ok().expect("registered");
                    queue.PopStorageFilter();
                    queue.ClearStoredMessages();
                }
            }
        });
    });
    assert_eq!(unsafe { gpu.queue.GetNumMessagesAllowedByStorageFilter() }, THREADS * MESSAGES);
}

#[test]
fn live_objects_are_counted_by_kind() {
    let gpu = open();
    let report: ID3D12DebugDevice = gpu.device.cast().expect("a debug device");
    let [first, heaps @ ..] = [(); 3].map(|()| gpu.heap(D3D12_HEAP_TYPE_UPLOAD, 65_536).expect("valid"));
    drop(first);
    unsafe { report.ReportLiveDeviceObjects(D3D12_RLDO_SUMMARY | D3D12_RLDO_DETAIL) }.ok().expect("reported");
    let messages: Vec<_> = (0..2).map(|index| gpu.message(index).expect("a message")).collect();
    assert_eq!(messages[0].id, D3D12_MESSAGE_ID_LIVE_HEAP);
    assert!(messages[0].text.ends_with("live ID3D12Heap objects: 2"), "{}", messages[0].text);
    assert_eq!(messages[1].id, D3D12_MESSAGE_ID_LIVE_DEVICE);
    assert!(messages[1].text.contains("2 live objects"), "{}", messages[1].text);
    assert!(messages.iter().all(|message| message.category == D3D12_MESSAGE_CATEGORY_STATE_CREATION));
    unsafe { gpu.queue.ClearStoredMessages() };
    drop(heaps);
    unsafe { report.ReportLiveDeviceObjects(D3D12_RLDO_NONE) }.ok().expect("reported");
    assert_eq!(gpu.texts().len(), 1, "only the device is reported");
    assert_eq!(unsafe { report.ReportLiveDeviceObjects(0x100) }, E_INVALIDARG);
}

#[test]
fn the_feature_mask_is_kept() {
    let gpu = open();
    let device: ID3D12DebugDevice2 = gpu.device.cast().expect("a debug device");
    let mask = D3D12_DEBUG_FEATURE_CONSERVATIVE_RESOURCE_STATE_TRACKING;
    unsafe {
        assert_eq!(device.SetFeatureMask(mask), S_OK);
        assert_eq!(device.GetFeatureMask(), mask);
        assert_eq!(device.SetFeatureMask(0x8000), E_INVALIDARG);
        let mut got: D3D12_DEBUG_FEATURE = 0;
        let parameter = D3D12_DEBUG_DEVICE_PARAMETER_FEATURE_FLAGS;
        let pointer = (&raw mut got).cast::<c_void>();
        assert_eq!(device.GetDebugParameter(parameter, pointer, 4), S_OK);
        assert_eq!(pointer.cast::<D3D12_DEBUG_FEATURE>().read(), mask);
        pointer.cast::<D3D12_DEBUG_FEATURE>().write(D3D12_DEBUG_FEATURE_NONE);
        assert_eq!(device.SetDebugParameter(parameter, pointer, 4), S_OK);
        assert_eq!(device.GetFeatureMask(), D3D12_DEBUG_FEATURE_NONE);
        assert_eq!(device.SetDebugParameter(parameter, pointer, 3), E_INVALIDARG);
        assert_eq!(device.SetDebugParameter(parameter, null(), 4), E_INVALIDARG);
        let slowdown = D3D12_DEBUG_DEVICE_PARAMETER_GPU_SLOWDOWN_PERFORMANCE_FACTOR;
        assert_eq!(device.GetDebugParameter(slowdown, pointer, 4), E_NOTIMPL);
        assert_eq!(device.GetDebugParameter(9, pointer, 4), E_INVALIDARG);
    }
}

fn exported<T: Interface>(
    call: impl FnOnce(*const windows_core::GUID, *mut *mut c_void) -> HRESULT,
) -> Result<T, HRESULT> {
    let mut object = null_mut();
    match call(&T::IID, &mut object) {
        S_OK => Ok(unsafe { T::from_raw(object) }),
        refused => {
            assert!(object.is_null(), "a failed call returns no object");
            Err(refused)
        }
    }
}

fn create_device() -> ID3D12Device {
    exported(|iid, out| unsafe { D3D12CreateDevice(null_mut(), D3D_FEATURE_LEVEL_11_0, iid, out) })
        .expect("a device")
}

fn create_factory() -> ID3D12DeviceFactory {
    exported(|iid, out| unsafe { D3D12GetInterface(&CLSID_D3D12DeviceFactory, iid, out) }).expect("a factory")
}

fn stored_after_a_broken_rule(device: ID3D12Device) -> u64 {
    let gpu = Gpu { queue: device.cast().expect("an info queue"), device };
    gpu.break_a_rule();
    unsafe { gpu.queue.GetNumStoredMessages() }
}

/// A single test for everything that changes the settings of the process.
#[test]
fn the_debug_layer_applies_to_devices_created_afterwards() {
    let debug: ID3D12Debug =
        exported(|iid, out| unsafe { D3D12GetDebugInterface(iid, out) }).expect("the debug layer");
    let without = create_device();
    unsafe { debug.EnableDebugLayer() };
    assert_eq!(stored_after_a_broken_rule(create_device()), 1);
    assert_eq!(stored_after_a_broken_rule(without), 0, "the device was created before EnableDebugLayer");

    let debug6: ID3D12Debug6 = debug.cast().expect("the newest");
    let (debug1, debug2): (ID3D12Debug1, ID3D12Debug2) = (debug.cast().expect("1"), debug.cast().expect("2"));
    unsafe {
        debug1.SetEnableGPUBasedValidation(true);
        debug2.SetGPUBasedValidationFlags(D3D12_GPU_BASED_VALIDATION_FLAGS_DISABLE_STATE_TRACKING);
        debug6.SetEnableSynchronizedCommandQueueValidation(false);
        debug6.SetEnableAutoName(true);
        debug6.SetForceLegacyBarrierValidation(true);
    }
    let configuration: ID3D12DeviceConfiguration = create_device().cast().expect("a configuration");
    let desc = unsafe { configuration.GetDesc() };
    assert_eq!(
        desc.Flags,
        D3D12_DEVICE_FLAG_DEBUG_LAYER_ENABLED
            | D3D12_DEVICE_FLAG_GPU_BASED_VALIDATION_ENABLED
            | D3D12_DEVICE_FLAG_SYNCHRONIZED_COMMAND_QUEUE_VALIDATION_DISABLED
            | D3D12_DEVICE_FLAG_AUTO_DEBUG_NAME_ENABLED
            | D3D12_DEVICE_FLAG_FORCE_LEGACY_STATE_VALIDATION
    );
    assert_eq!(desc.GpuBasedValidationFlags, 1);
    unsafe {
        debug6.SetEnableGPUBasedValidation(false);
        debug6.SetGPUBasedValidationFlags(D3D12_GPU_BASED_VALIDATION_FLAGS_NONE);
        debug6.SetEnableSynchronizedCommandQueueValidation(true);
        debug6.SetEnableAutoName(false);
        debug6.SetForceLegacyBarrierValidation(false);
        debug1.EnableDebugLayer();
        debug6.DisableDebugLayer();
    }
    assert_eq!(stored_after_a_broken_rule(create_device()), 0);

    // A device factory has settings of its own.
    let factory = create_factory();
    let own: ID3D12Debug =
        unsafe { factory.GetConfigurationInterface(&CLSID_D3D12Debug) }.expect("its debug layer");
    unsafe { own.EnableDebugLayer() };
    let of_factory = || {
        let mut device: Option<ID3D12Device> = None;
        unsafe { factory.CreateDevice(None, D3D_FEATURE_LEVEL_12_0, &mut device) }.expect("a device");
        device.expect("a device")
    };
    assert_eq!(stored_after_a_broken_rule(of_factory()), 1);
    assert_eq!(stored_after_a_broken_rule(create_device()), 0, "the settings of the process are unchanged");
    unsafe { factory.ApplyToGlobalState() }.ok().expect("applied");
    assert_eq!(stored_after_a_broken_rule(create_device()), 1);
    unsafe { debug6.DisableDebugLayer() };
    assert_eq!(stored_after_a_broken_rule(of_factory()), 1);
    unsafe { factory.InitializeFromGlobalState() }.ok().expect("initialized");
    assert_eq!(stored_after_a_broken_rule(of_factory()), 0);
}

#[test]
fn a_device_factory_refuses_unsupported_requests() {
    let factory = create_factory();
    let flags = D3D12_DEVICE_FACTORY_FLAG_DISALLOW_STORING_NEW_DEVICE_AS_SINGLETON;
    unsafe {
        assert_eq!(factory.GetFlags(), D3D12_DEVICE_FACTORY_FLAG_NONE);
        assert_eq!(factory.SetFlags(flags), S_OK);
        assert_eq!(factory.SetFlags(0x10), E_INVALIDARG);
        assert_eq!(factory.GetFlags(), flags);
        let other = factory.GetConfigurationInterface::<ID3D12SDKConfiguration>(&CLSID_D3D12SDKConfiguration);
        assert_eq!(other.expect_err("one runtime").code(), E_NOTIMPL);
        assert_eq!(factory.EnableExperimentalFeatures(0, null(), None, None), S_OK);
        let mut device: Option<ID3D12Device> = None;
        let refused = factory.CreateDevice(None, D3D_FEATURE_LEVEL_12_2, &mut device);
        assert_eq!(refused.expect_err("too new").code(), DXGI_ERROR_UNSUPPORTED);
    }
}

#[test]
fn the_exports_refuse_unsupported_requests() {
    let get = |class: &windows_core::GUID| {
        exported::<ID3D12SDKConfiguration>(|iid, out| unsafe { D3D12GetInterface(class, iid, out) })
    };
    assert_eq!(get(&CLSID_D3D12SDKConfiguration).expect_err("one runtime"), E_NOTIMPL);
    assert_eq!(get(&CLSID_D3D12Tools).expect_err("a factory has them"), E_NOTIMPL);
    assert_eq!(get(&windows_core::GUID::zeroed()).expect_err("no class"), E_NOINTERFACE);
    assert_eq!(get(&CLSID_D3D12DeviceFactory).expect_err("another interface"), E_NOINTERFACE);
    assert_eq!(get(&CLSID_D3D12Debug).expect_err("another interface"), E_NOINTERFACE);
    unsafe {
        assert_eq!(D3D12GetInterface(null(), null(), null_mut()), E_INVALIDARG);
        assert_eq!(D3D12GetDebugInterface(null(), null_mut()), E_INVALIDARG);
        let id = windows_core::GUID::zeroed();
        assert_eq!(D3D12EnableExperimentalFeatures(0, null(), null_mut(), null_mut()), S_OK);
        assert_eq!(D3D12EnableExperimentalFeatures(1, &id, null_mut(), null_mut()), E_NOINTERFACE);
        assert_eq!(D3D12EnableExperimentalFeatures(1, null(), null_mut(), null_mut()), E_INVALIDARG);
    }
}
