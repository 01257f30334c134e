//! Devices that are wrong for one kind of resource: they drop a call, or apply it to the neighbour.

use heapwright_d3d12::*;

use super::{WrongDevice, profile};
use crate::lies::{Command, HONEST, Lies, OfKind};

/// Defines five devices for each kind. Kinds behind `cleared` get their contents by a command.
macro_rules! wrong_for {
    ($($name:literal: $is_kind:expr;)* $(cleared $cleared:literal by $command:ident: $is_cleared:expr;)*) => {
        pub(super) const DROPPED: &[WrongDevice] = &[$(
            wrong_for!(@row "copies to a ", $name, " are not recorded",
                of_kind($is_kind, OfKind::Dropped) =>
                concat!("copies/", $name, "-by-a-copy-queue"), concat!("copies/", $name, "-by-a-compute-queue"),
                concat!("placement/", $name, "-between-neighbours"),
                concat!("residency/", $name, "-survives-eviction"),
                concat!("residency/", $name, "-survives-enqueued-paging")),
        )* $(
            wrong_for!(@row "the contents of a ", $cleared, " are not recorded",
                Lies { forgets: Some(Command::$command), ..HONEST } =>
                concat!("placement/", $cleared, "-between-neighbours"),
                concat!("residency/", $cleared, "-survives-eviction"),
                concat!("residency/", $cleared, "-survives-enqueued-paging")),
        )*];
        wrong_for!(@all $($name: $is_kind;)* $($cleared: $is_cleared;)*);
    };
    (@all $($name:literal: $is_kind:expr;)*) => {
        pub(super) const WRONG: &[WrongDevice] = &[$(
            wrong_for!(@row "CopyResource to a ", $name, " is not recorded",
                of_kind($is_kind, OfKind::NotCopiedWhole) =>
                concat!("copies/", $name, "-whole")),
            wrong_for!(@row "a ", $name, " is placed at the beginning of its heap",
                of_kind($is_kind, OfKind::AtTheBeginning) =>
                concat!("placement/", $name, "-between-neighbours"),
                concat!("placement/", $name, "-far-from-the-beginning")),
            wrong_for!(@row "a ", $name, " is placed where its neighbour begins",
                of_kind($is_kind, OfKind::AtTheNeighbour) =>
                concat!("placement/", $name, "-between-neighbours")),
            wrong_for!(@row "a placed ", $name, " has memory of its own",
                of_kind($is_kind, OfKind::Elsewhere) =>
                concat!("aliasing/h-1-", $name, "-to-its-twin"),
                concat!("aliasing/h-1-", $name, "-to-its-twin-between-calls")),
        )*];
    };
    (@row $before:literal, $name:literal, $after:literal, $lies:expr => $($check:expr),+) => {
        WrongDevice {
            what: concat!($before, $name, $after),
            profile: profile!(),
            lies: $lies,
            caught_by: &[$($check),+],
        }
    };
}

const fn of_kind(is_kind: fn(&D3D12_RESOURCE_DESC) -> bool, wrong: OfKind) -> Lies {
    Lies { of_kind: Some((is_kind, wrong)), ..HONEST }
}

const TIGHT: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;

fn is_buffer(desc: &D3D12_RESOURCE_DESC) -> bool {
    desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
}

fn is_plain(desc: &D3D12_RESOURCE_DESC) -> bool {
    desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE2D && desc.MipLevels == 1 && desc.DepthOrArraySize == 1
}

wrong_for! {
    "buffer": |desc| is_buffer(desc) && desc.Flags & TIGHT == 0;
    "small-buffer": |desc| is_buffer(desc) && desc.Width < 64;
    "tight-buffer": |desc| is_buffer(desc) && desc.Flags & TIGHT != 0;
    "texture": |desc| is_plain(desc) && desc.Flags == 0;
    "small-texture": |desc| is_plain(desc) && desc.Alignment == 4096;
    "tight-texture": |desc| is_plain(desc) && desc.Flags & TIGHT != 0;
    "mips": |desc| desc.MipLevels > 1;
    "array": |desc| desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE2D && desc.DepthOrArraySize > 1;
    "array-of-mips": |desc| {
        desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE2D && desc.DepthOrArraySize > 1 && desc.MipLevels > 1
    };
    "line": |desc| desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D;
    "volume": |desc| desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    "volume-of-mips": |desc| desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D && desc.MipLevels > 1;
    "blocks": |desc| desc.Format == DXGI_FORMAT_BC1_UNORM;
    "blocks-of-16-bytes": |desc| desc.Format == DXGI_FORMAT_BC7_UNORM;
    "texture-of-16-bytes": |desc| desc.Format == DXGI_FORMAT_R32G32B32A32_FLOAT;
    "texture-of-1-byte": |desc| desc.Format == DXGI_FORMAT_R8_UNORM;
    "typeless": |desc| desc.Format == DXGI_FORMAT_R16G16_TYPELESS;
    "video": |desc| desc.Format == DXGI_FORMAT_NV12;
    "render-target": |desc| desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET != 0;
    "unordered": |desc| desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS != 0;
    "simultaneous": |desc| desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS != 0;
    cleared "depth-buffer" by ClearDepthStencilView: |desc| {
        desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0
    };
    cleared "multisampled" by ClearRenderTargetView: |desc| desc.SampleDesc.Count > 1;
    cleared "small-multisampled" by ResolveSubresource: |desc| desc.SampleDesc.Count > 1 && desc.Width < 64;
    cleared "tight-multisampled" by ResolveSubresource: |desc| desc.SampleDesc.Count > 1 && desc.Flags & TIGHT != 0;
}
