//! The methods of `ID3D12Device` to `ID3D12Device15` as D3D12 declares them.
//!
//! Memory's methods call `creation`, `features` and their neighbours. The others say that they are not there: E_NOTIMPL
//! where there is a result, a line in the log where there is none. Lists of methods are [`methods`](crate::api::methods)'.
//!
//! * `device`: `ID3D12Device`.
//! * `device1`: to `ID3D12Device4`: fences in groups, protected sessions, `GetResourceAllocationInfo1`.
//! * `device5`: to `ID3D12Device9`: `RemoveDevice`, descriptions of the second generation.
//! * `device10`: to `ID3D12Device14`: initial layouts and castable formats.
//! * `device15`: `ID3D12Device15`: trim notifications.

mod device;
mod device1;
mod device10;
mod device15;
mod device5;
