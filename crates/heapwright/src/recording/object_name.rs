//! The names of objects in D3D12, for recordings and messages.

use heapwright_d3d12::names::WKPDID_D3DDebugObjectNameW;
use heapwright_d3d12::*;

/// Returns the name that an object has in D3D12, if it has one that is not too long for a message.
pub(crate) fn object_name(object: &ID3D12Object) -> Option<String> {
    const LEN: u32 = 128;
    let (mut units, mut size) = ([0_u16; LEN as usize], LEN * (u16::BITS / 8));
    let units_out = Some(units.as_mut_ptr().cast());
    // SAFETY: a live COM object; the pointers are to a GUID, a size, and as many writable bytes.
    let found = unsafe { object.GetPrivateData(&WKPDID_D3DDebugObjectNameW, &mut size, units_out) };
    let name = units.split(|&unit| unit == 0).next().filter(|name| found.is_ok() && !name.is_empty())?;
    Some(String::from_utf16_lossy(name))
}
