//! The methods of `ID3D12Device` to `ID3D12Device15`, as D3D12 declares them.
//!
//! The methods that concern memory call `creation`, `features` and their neighbours. Other methods are not implemented:
//! they return E_NOTIMPL, or log a message if they return nothing. The macros for lists of methods are in
//! [`methods`](crate::api::methods).
//!
//! * `device`: `ID3D12Device`.
//! * `device1`: up to `ID3D12Device4`: waiting for multiple fences, protected sessions, `GetResourceAllocationInfo1`.
//! * `device5`: up to `ID3D12Device9`: `RemoveDevice`, resource descriptions of the second generation.
//! * `device10`: up to `ID3D12Device14`: initial layouts and castable formats.
//! * `device15`: `ID3D12Device15`: trim notifications.
//! * `layout_guids`: `ID3D12GuidTextureLayoutDevice`, with the feature `preview`.

mod device;
mod device1;
mod device10;
mod device15;
mod device5;
#[cfg(feature = "preview")]
mod layout_guids;
