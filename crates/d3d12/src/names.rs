//! Where D3D12 objects keep their debug names.
//!
//! `ID3D12Object::SetName` and `SetPrivateData` with [`WKPDID_D3DDebugObjectNameW`] are the same thing;
//! d3dcommon.h defines the GUIDs, the metadata that the bindings come from does not have them.

use windows_core::GUID;

/// Private data that holds an object's name as UTF-16 (what `SetName` writes).
#[allow(non_upper_case_globals, reason = "d3dcommon.h's name")]
pub const WKPDID_D3DDebugObjectNameW: GUID = GUID::from_u128(0x4cca5fd8_921f_42c8_8566_70caf2a9b741);

/// Private data that holds an object's name in 8-bit characters.
#[allow(non_upper_case_globals, reason = "d3dcommon.h's name")]
pub const WKPDID_D3DDebugObjectName: GUID = GUID::from_u128(0x429b8c22_9188_4b0c_8742_acb0bf85c200);
