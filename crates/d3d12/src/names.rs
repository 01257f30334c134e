//! GUIDs of the private data that holds debug names of objects.
//!
//! They are defined in d3dcommon.h and missing in the metadata. `ID3D12Object::SetName` is equivalent to
//! `SetPrivateData` with [`WKPDID_D3DDebugObjectNameW`].

use windows_core::GUID;

/// GUID of an object's name in UTF-16, as set by `SetName`.
#[allow(non_upper_case_globals, reason = "d3dcommon.h's name")]
pub const WKPDID_D3DDebugObjectNameW: GUID = GUID::from_u128(0x4cca5fd8_921f_42c8_8566_70caf2a9b741);

/// GUID of an object's name in 8-bit characters.
#[allow(non_upper_case_globals, reason = "d3dcommon.h's name")]
pub const WKPDID_D3DDebugObjectName: GUID = GUID::from_u128(0x429b8c22_9188_4b0c_8742_acb0bf85c200);
