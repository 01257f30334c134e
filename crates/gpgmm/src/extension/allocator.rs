//! IAllocator's own methods, and IText.

use std::ffi::{CString, c_char, c_void};
use std::fmt::Display;

use heapwright::d3d12::*;
use heapwright::{EmptyHeapPolicy, HeapLimits, ResourceAllocatorDesc, ResourceAllocatorFlags};
use windows_core::{GUID, HRESULT};

use super::transient::Heaps;
use crate::allocator::Allocator;
use crate::descriptors::{AllocatorDesc, enumerator, size};
use crate::failure::Failure;
use crate::object::{Body, Methods, Out, Reference, This, getter, method};

pub(crate) const IID_ALLOCATOR: GUID = GUID::from_u128(0x4c6ab0d1_8f27_4e95_a3d4_71b90e5cf50a);

/// `HEAP_LIMITS`.
#[repr(C)]
struct Limits {
    default: u64,
    upload: u64,
    readback: u64,
    gpu_upload: u64,
    share_of_budget: f64,
}

/// `ALLOCATOR_DESC`.
#[repr(C)]
pub struct ExtendedAllocatorDesc {
    pub(crate) base: AllocatorDesc,
    limits: Limits,
    empty_heap_policy: u32,
    never_tight_alignment: i32,
}

impl ExtendedAllocatorDesc {
    /// # Safety
    ///
    /// The strings of the description are null or zero-terminated.
    pub(crate) unsafe fn convert(&self) -> Result<ResourceAllocatorDesc, Failure> {
        // SAFETY: the caller's promise.
        let mut desc = unsafe { self.base.convert() }?;
        let policies =
            [EmptyHeapPolicy::Default, EmptyHeapPolicy::LeastMemory, EmptyHeapPolicy::FewestHitches];
        let field = "ALLOCATOR_DESC::EmptyHeapPolicy";
        let policy = enumerator(field, "EMPTY_HEAP_POLICY", self.empty_heap_policy, &policies)?;
        if !self.base.names_pool_algorithm() {
            desc.empty_heap_policy = policy;
        }
        desc.flags.set(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT, self.never_tight_alignment != 0);
        let Limits { default, upload, readback, gpu_upload, share_of_budget } = self.limits;
        desc.limits = HeapLimits {
            default: size(default),
            upload: size(upload),
            readback: size(readback),
            gpu_upload: size(gpu_upload),
            // Anything but zero is checked with the other fields.
            share_of_budget: (share_of_budget != 0.0).then_some(share_of_budget),
        };
        Ok(desc)
    }
}

pub(crate) unsafe extern "system" fn on_frame(this: This) -> HRESULT {
    // SAFETY: C++ calls the method of a live object.
    unsafe {
        method(this, "IAllocator::OnFrame", |Allocator { allocator, .. }| {
            allocator.end_frame();
            Ok(S_OK)
        })
    }
}

pub(crate) unsafe extern "system" fn create_transient_heaps(
    this: This,
    barriers: u32,
    out: *mut *mut c_void,
) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IAllocator::CreateTransientHeaps", |Allocator { allocator, .. }| {
            let out = Out::required(out, "ppTransientHeapsOut")?;
            Ok(out.give(Reference::new(Heaps::new(allocator, barriers)?)))
        })
    }
}

pub(crate) unsafe extern "system" fn get_report(this: This, out: *mut *mut c_void) -> HRESULT {
    // SAFETY: C++ calls the method of a live object, with null or writable space.
    unsafe {
        method(this, "IAllocator::GetReport", |Allocator { allocator, .. }| {
            let out = Out::required(out, "ppReportOut")?;
            let failed = |error: &dyn Display| Failure::Refused(E_FAIL, error.to_string());
            let json = serde_json::to_string(&allocator.report()).map_err(|error| failed(&error))?;
            // JSON escapes zero characters.
            let text = CString::new(json).map_err(|error| failed(&error))?;
            Ok(out.give(Reference::new(Text(text))))
        })
    }
}

/// The body of an IText.
struct Text(CString);

static TEXT_METHODS: Methods<2> = Methods::of::<Text>([get_text as *const (), get_size as *const ()]);

const IID_TEXT: GUID = GUID::from_u128(0x7b2c68e0_d94f_4a15_b7c3_50e8f1a2d404);

impl Body for Text {
    fn methods() -> *const c_void {
        TEXT_METHODS.as_table()
    }

    const INTERFACES: &'static [GUID] = &[IID_TEXT];
}

unsafe extern "system" fn get_text(this: This) -> *const c_char {
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IText::GetText", |Text(text)| text.as_ptr() as usize) as *const c_char }
}

unsafe extern "system" fn get_size(this: This) -> u64 {
    // SAFETY: C++ calls the method of a live object.
    unsafe { getter(this, "IText::GetSize", |Text(text)| text.count_bytes() as u64) }
}
