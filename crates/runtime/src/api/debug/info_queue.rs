//! `ID3D12InfoQueue1` of a device: the log in D3D12's structures.
//!
//! Refusals of the queue's own methods go to `tracing` and are not stored, since reading the queue would change it.

use std::ffi::{CStr, c_void};

use heapwright_d3d12::*;
use windows_core::{BOOL, Error, Result};

use crate::api::call;
use crate::api::command_list::read_array;
use crate::api::device::Device_Impl;
use crate::debug::MessageLog;
use crate::debug::filter::{self, Filter, KindList};
use crate::debug::message::{self, Message, MessageKind};
use crate::rules::Refusal;

/// Runs the body of the queue's method `name`.
fn run<T>(name: &'static str, body: impl FnOnce() -> std::result::Result<T, Refusal>) -> Result<T> {
    call::run(MessageLog::unattached(), name, body)
}

/// The result of [`write_sized`].
enum Written {
    /// The caller asked only for the size.
    Size,
    Whole,
}

impl Written {
    /// Converts to D3D12's result, which is S_FALSE if the caller asked only for the size.
    fn into_result(self) -> Result<()> {
        match self {
            Self::Size => Err(Error::from_hresult(S_FALSE)),
            Self::Whole => Ok(()),
        }
    }
}

/// Implements D3D12's protocol for a structure of variable size: if `out` is null, stores the size in `*size`;
/// otherwise `*size` is the available space, and `write` fills it.
///
/// # Safety
///
/// `size` must be null or point to a number; `out` must be null or point to `*size` writable bytes.
unsafe fn write_sized<T>(
    out: *mut T,
    size: *mut usize,
    needed: usize,
    write: impl FnOnce(*mut T),
) -> std::result::Result<Written, Refusal> {
    // SAFETY: the caller's promise.
    let size =
        unsafe { size.as_mut() }.ok_or_else(|| Refusal::invalid("the pointer to the byte length is null"))?;
    let room = std::mem::replace(size, needed);
    if out.is_null() {
        return Ok(Written::Size);
    }
    if room < needed {
        return Err(Refusal::invalid(format!("the buffer has {room} bytes; {needed} are required")));
    }
    write(out);
    Ok(Written::Whole)
}

/// Copies a filter of the application.
///
/// # Safety
///
/// `filter` must be null or point to a filter whose lists have the lengths that it states.
unsafe fn read_filter(filter: *const D3D12_INFO_QUEUE_FILTER) -> std::result::Result<Filter, Refusal> {
    // SAFETY: the caller's promise.
    let filter = unsafe { call::read(filter, "pFilter") }?;
    // SAFETY: the caller's promise.
    unsafe { Ok(Filter { allow: read_list(&filter.AllowList)?, deny: read_list(&filter.DenyList)? }) }
}

/// # Safety
///
/// The lists of `desc` must be null or have the lengths that it states.
unsafe fn read_list(desc: &D3D12_INFO_QUEUE_FILTER_DESC) -> std::result::Result<KindList, Refusal> {
    let read = |count: u32, list: *const i32, name: &str| {
        // SAFETY: the caller's promise.
        unsafe { read_array(count, list, name) }.map(<[i32]>::to_vec)
    };
    Ok(KindList {
        categories: read(desc.NumCategories, desc.pCategoryList, "pCategoryList")?,
        severities: read(desc.NumSeverities, desc.pSeverityList, "pSeverityList")?,
        ids: read(desc.NumIDs, desc.pIDList, "pIDList")?,
    })
}

/// Writes a filter, followed by its lists.
///
/// # Safety
///
/// `size` must be null or point to a number; `out` must be null or point to `*size` writable bytes, aligned for the
/// structure.
unsafe fn write_filter(
    filter: &Filter,
    out: *mut D3D12_INFO_QUEUE_FILTER,
    size: *mut usize,
) -> std::result::Result<Written, Refusal> {
    let lists = [&filter.allow, &filter.deny].map(|list| [&list.categories, &list.severities, &list.ids]);
    let elements: usize = lists.iter().flatten().map(|list| list.len()).sum();
    let needed = size_of::<D3D12_INFO_QUEUE_FILTER>() + elements * size_of::<i32>();
    let write = |out: *mut D3D12_INFO_QUEUE_FILTER| {
        // SAFETY: there is space for the structure and all elements after it (`write_sized` checked), and the
        // structure's alignment is at least an element's.
        let mut next = unsafe { out.add(1) }.cast::<i32>();
        let mut put = |list: &[i32]| {
            let start = next;
            // SAFETY: as above; the source is ours, so the two do not overlap.
            unsafe {
                std::ptr::copy_nonoverlapping(list.as_ptr(), start, list.len());
                next = start.add(list.len());
            }
            let count = u32::try_from(list.len()).unwrap_or(u32::MAX);
            (count, if list.is_empty() { std::ptr::null_mut() } else { start })
        };
        let [allow, deny] = lists.map(|[categories, severities, ids]| {
            let (num_categories, categories) = put(categories);
            let (num_severities, severities) = put(severities);
            let (num_ids, ids) = put(ids);
            D3D12_INFO_QUEUE_FILTER_DESC {
                NumCategories: num_categories,
                pCategoryList: categories,
                NumSeverities: num_severities,
                pSeverityList: severities,
                NumIDs: num_ids,
                pIDList: ids,
            }
        });
        // SAFETY: there is space for the structure (`write_sized` checked).
        unsafe { out.write(D3D12_INFO_QUEUE_FILTER { AllowList: allow, DenyList: deny }) };
    };
    // SAFETY: the caller's promise.
    unsafe { write_sized(out, size, needed, write) }
}

/// Copies a text of the application, without its terminating zero.
///
/// # Safety
///
/// `text` must be null or point to a zero-terminated text.
unsafe fn read_text(text: PCSTR) -> std::result::Result<Vec<u8>, Refusal> {
    if text.is_null() {
        return Err(Refusal::invalid("pDescription is null"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text.0.cast()) }.to_bytes().to_vec())
}

fn check_category(category: D3D12_MESSAGE_CATEGORY) -> std::result::Result<(), Refusal> {
    if message::is_category(category) {
        return Ok(());
    }
    Err(Refusal::invalid(format!("{category} is not a valid D3D12_MESSAGE_CATEGORY")))
}

fn check_severity(severity: D3D12_MESSAGE_SEVERITY) -> std::result::Result<(), Refusal> {
    if message::is_severity(severity) {
        return Ok(());
    }
    Err(Refusal::invalid(format!("{severity} is not a valid D3D12_MESSAGE_SEVERITY")))
}

fn count(messages: usize) -> u64 {
    u64::try_from(messages).unwrap_or(u64::MAX)
}

/// Defines the methods that change or read one of the two filter stacks.
macro_rules! filter_methods {
    (
        $stack:ident: $add:ident $get:ident $clear:ident $push_empty:ident
            $push_copy:ident $push:ident $pop:ident $size:ident
    ) => {
        fn $add(&self, pfilter: *const D3D12_INFO_QUEUE_FILTER) -> Result<()> {
            run(concat!("ID3D12InfoQueue::", stringify!($add)), || {
                // SAFETY: by the COM contract pFilter is null or points to a filter.
                let entries = unsafe { read_filter(pfilter) }?;
                self.log().lock().$stack.add_entries(&entries);
                Ok(())
            })
        }

        fn $get(&self, pfilter: *mut D3D12_INFO_QUEUE_FILTER, pfilterbytelength: *mut usize) -> Result<()> {
            run(concat!("ID3D12InfoQueue::", stringify!($get)), || {
                let filter = self.log().lock().$stack.top();
                // SAFETY: by the COM contract pFilterByteLength is null or points to a number, and pFilter is null or
                // points to that many bytes.
                unsafe { write_filter(&filter, pfilter, pfilterbytelength) }
            })?
            .into_result()
        }

        fn $clear(&self) {
            self.log().lock().$stack.clear();
        }

        fn $push_empty(&self) -> Result<()> {
            self.log().lock().$stack.push_empty();
            Ok(())
        }

        fn $push_copy(&self) -> Result<()> {
            self.log().lock().$stack.push_copy();
            Ok(())
        }

        fn $push(&self, pfilter: *const D3D12_INFO_QUEUE_FILTER) -> Result<()> {
            run(concat!("ID3D12InfoQueue::", stringify!($push)), || {
                // SAFETY: by the COM contract pFilter is null or points to a filter.
                let filter = unsafe { read_filter(pfilter) }?;
                self.log().lock().$stack.push(filter);
                Ok(())
            })
        }

        fn $pop(&self) {
            self.log().lock().$stack.pop();
        }

        fn $size(&self) -> u32 {
            self.log().lock().$stack.size()
        }
    };
}

impl ID3D12InfoQueue_Impl for Device_Impl {
    fn SetMessageCountLimit(&self, messagecountlimit: u64) -> Result<()> {
        let mut state = self.log().lock();
        state.limit = messagecountlimit;
        state.discard_beyond_limit();
        Ok(())
    }

    fn ClearStoredMessages(&self) {
        self.log().lock().messages.clear();
    }

    fn GetMessage(
        &self,
        messageindex: u64,
        pmessage: *mut D3D12_MESSAGE,
        pmessagebytelength: *mut usize,
    ) -> Result<()> {
        run("ID3D12InfoQueue::GetMessage", || {
            let index = usize::try_from(messageindex).unwrap_or(usize::MAX);
            let message = self.log().lock().retrievable().nth(index).cloned();
            let message = message.ok_or_else(|| {
                Refusal::invalid(format!(
                    "MessageIndex {messageindex} is out of range of the messages that pass the retrieval filter"
                ))
            })?;
            let description = message.description();
            let write = |out: *mut D3D12_MESSAGE| {
                // SAFETY: there is space for the structure and the text after it (`write_sized` checked); the source is
                // ours, so the two do not overlap.
                unsafe {
                    let text = out.add(1).cast::<u8>();
                    std::ptr::copy_nonoverlapping(description.as_ptr(), text, description.len());
                    out.write(D3D12_MESSAGE {
                        Category: message.kind.category,
                        Severity: message.kind.severity,
                        ID: message.kind.id,
                        pDescription: text.cast(),
                        DescriptionByteLength: description.len(),
                    });
                }
            };
            let needed = size_of::<D3D12_MESSAGE>() + description.len();
            // SAFETY: by the COM contract pMessageByteLength is null or points to a number, and pMessage is null or
            // points to that many bytes.
            unsafe { write_sized(pmessage, pmessagebytelength, needed, write) }
        })?
        .into_result()
    }

    fn GetNumMessagesAllowedByStorageFilter(&self) -> u64 {
        self.log().lock().counts.allowed_by_storage_filter
    }

    fn GetNumMessagesDeniedByStorageFilter(&self) -> u64 {
        self.log().lock().counts.denied_by_storage_filter
    }

    fn GetNumStoredMessages(&self) -> u64 {
        count(self.log().lock().messages.len())
    }

    fn GetNumStoredMessagesAllowedByRetrievalFilter(&self) -> u64 {
        count(self.log().lock().retrievable().count())
    }

    fn GetNumMessagesDiscardedByMessageCountLimit(&self) -> u64 {
        self.log().lock().counts.discarded_by_limit
    }

    fn GetMessageCountLimit(&self) -> u64 {
        self.log().lock().limit
    }

    filter_methods! {
        storage: AddStorageFilterEntries GetStorageFilter ClearStorageFilter PushEmptyStorageFilter
            PushCopyOfStorageFilter PushStorageFilter PopStorageFilter GetStorageFilterStackSize
    }

    filter_methods! {
        retrieval: AddRetrievalFilterEntries GetRetrievalFilter ClearRetrievalFilter PushEmptyRetrievalFilter
            PushCopyOfRetrievalFilter PushRetrievalFilter PopRetrievalFilter GetRetrievalFilterStackSize
    }

    fn AddMessage(
        &self,
        category: D3D12_MESSAGE_CATEGORY,
        severity: D3D12_MESSAGE_SEVERITY,
        id: D3D12_MESSAGE_ID,
        pdescription: &PCSTR,
    ) -> Result<()> {
        run("ID3D12InfoQueue::AddMessage", || {
            check_category(category)?;
            check_severity(severity)?;
            // SAFETY: by the COM contract pDescription is null or points to a zero-terminated text.
            let text = unsafe { read_text(*pdescription) }?;
            self.log().add(Message::new(MessageKind { category, severity, id }, text));
            Ok(())
        })
    }

    fn AddApplicationMessage(&self, severity: D3D12_MESSAGE_SEVERITY, pdescription: &PCSTR) -> Result<()> {
        let category = D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED;
        self.AddMessage(category, severity, D3D12_MESSAGE_ID_STRING_FROM_APPLICATION, pdescription)
    }

    fn SetBreakOnCategory(&self, category: D3D12_MESSAGE_CATEGORY, benable: BOOL) -> Result<()> {
        run("ID3D12InfoQueue::SetBreakOnCategory", || {
            check_category(category)?;
            filter::set(&mut self.log().lock().breaks.categories, category, benable.as_bool());
            Ok(())
        })
    }

    fn SetBreakOnSeverity(&self, severity: D3D12_MESSAGE_SEVERITY, benable: BOOL) -> Result<()> {
        run("ID3D12InfoQueue::SetBreakOnSeverity", || {
            check_severity(severity)?;
            filter::set(&mut self.log().lock().breaks.severities, severity, benable.as_bool());
            Ok(())
        })
    }

    fn SetBreakOnID(&self, id: D3D12_MESSAGE_ID, benable: BOOL) -> Result<()> {
        filter::set(&mut self.log().lock().breaks.ids, id, benable.as_bool());
        Ok(())
    }

    fn GetBreakOnCategory(&self, category: D3D12_MESSAGE_CATEGORY) -> BOOL {
        self.log().lock().breaks.categories.contains(&category).into()
    }

    fn GetBreakOnSeverity(&self, severity: D3D12_MESSAGE_SEVERITY) -> BOOL {
        self.log().lock().breaks.severities.contains(&severity).into()
    }

    fn GetBreakOnID(&self, id: D3D12_MESSAGE_ID) -> BOOL {
        self.log().lock().breaks.ids.contains(&id).into()
    }

    fn SetMuteDebugOutput(&self, bmute: BOOL) {
        self.log().lock().is_muted = bmute.as_bool();
    }

    fn GetMuteDebugOutput(&self) -> BOOL {
        self.log().lock().is_muted.into()
    }
}

impl ID3D12InfoQueue1_Impl for Device_Impl {
    /// Writes the cookie before the first message can reach the function.
    ///
    /// A null `pcallbackcookie` is an error, because the function could not be unregistered. D3D12 is known to return
    /// S_OK and to call nothing.
    fn RegisterMessageCallback(
        &self,
        callbackfunc: D3D12MessageFunc,
        callbackfilterflags: D3D12_MESSAGE_CALLBACK_FLAGS,
        pcontext: *mut c_void,
        pcallbackcookie: *mut u32,
    ) -> Result<()> {
        run("ID3D12InfoQueue1::RegisterMessageCallback", || {
            // SAFETY: by the COM contract pCallbackCookie is null or points to a number.
            let cookie = unsafe { pcallbackcookie.as_mut() }
                .ok_or_else(|| Refusal::invalid("pCallbackCookie is null"))?;
            *cookie = 0;
            let function = callbackfunc.ok_or_else(|| Refusal::invalid("CallbackFunc is null"))?;
            let unknown = callbackfilterflags & !D3D12_MESSAGE_CALLBACK_IGNORE_FILTERS;
            if unknown != 0 {
                return Err(Refusal::invalid(format!("unknown CallbackFilterFlags bits {unknown:#x}")));
            }
            let ignores_filters = callbackfilterflags & D3D12_MESSAGE_CALLBACK_IGNORE_FILTERS != 0;
            // SAFETY: by D3D12's contract the function may be called with the context from the threads that report
            // messages.
            unsafe { self.log().register(function, pcontext, ignores_filters, cookie) };
            Ok(())
        })
    }

    fn UnregisterMessageCallback(&self, callbackcookie: u32) -> Result<()> {
        run("ID3D12InfoQueue1::UnregisterMessageCallback", || {
            if self.log().unregister(callbackcookie) {
                return Ok(());
            }
            Err(Refusal::invalid(format!("CallbackCookie {callbackcookie} is not registered")))
        })
    }
}
