//! Names for D3D12's own tools.

use heapwright_d3d12::{ID3D12Object, PCWSTR};
use windows_core::Interface;

use crate::Error;

/// Sets the name of a D3D12 object.
pub(crate) fn set(object: &impl Interface, name: &str) -> Result<(), Error> {
    let call = "ID3D12Object::SetName";
    let object: ID3D12Object = object.cast().map_err(|error| Error::device(call, error.code()))?;
    // A zero would end the name early, and the rest would be lost silently.
    let wide: Vec<u16> = name.encode_utf16().filter(|&unit| unit != 0).chain([0]).collect();
    // SAFETY: the object is live, and the name, which ends with a zero, outlives the call.
    let hresult = unsafe { object.SetName(PCWSTR(wide.as_ptr())) };
    if hresult.is_err() { Err(Error::device(call, hresult)) } else { Ok(()) }
}
