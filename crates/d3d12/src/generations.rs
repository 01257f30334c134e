//! Lists of the numbered versions of interfaces, which the metadata lacks.

use windows_core::{GUID, Interface};

use crate::*;

/// IIDs of `ID3D12Device1` to `ID3D12Device14`, in this order. A device may implement any subset of them.
///
/// `ID3D12Device15` (Agility SDK 1.619) is not included, because it has no methods for allocators. See [`trim`].
pub const NUMBERED_DEVICES: [GUID; 14] = [
    ID3D12Device1::IID,
    ID3D12Device2::IID,
    ID3D12Device3::IID,
    ID3D12Device4::IID,
    ID3D12Device5::IID,
    ID3D12Device6::IID,
    ID3D12Device7::IID,
    ID3D12Device8::IID,
    ID3D12Device9::IID,
    ID3D12Device10::IID,
    ID3D12Device11::IID,
    ID3D12Device12::IID,
    ID3D12Device13::IID,
    ID3D12Device14::IID,
];
