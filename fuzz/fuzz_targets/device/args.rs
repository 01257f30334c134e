//! Arguments: hostile ones, and often enough valid ones.

use arbitrary::Arbitrary;
use heapwright_d3d12::resource_desc::downgrade;
use heapwright_d3d12::*;

/// A number with a bias towards interesting values.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Number {
    Small(u16),
    Power { log2: u8, minus: u8 },
    Any(u64),
    Max,
}

impl Number {
    pub fn get(self) -> u64 {
        match self {
            Self::Small(n) => n.into(),
            Self::Power { log2, minus } => {
                (1_u64 << (log2 % 64)).wrapping_sub(u64::from(minus % 4)).wrapping_add(1)
            }
            Self::Any(n) => n,
            Self::Max => u64::MAX,
        }
    }

    pub fn u32(self) -> u32 {
        self.get() as u32
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct Desc {
    pub is_sound: bool,
    dimension: u8,
    alignment: Number,
    width: Number,
    height: Number,
    depth: Number,
    mips: u8,
    format: u8,
    samples: u8,
    layout: u8,
    flags: Number,
}

impl Desc {
    pub fn get(self) -> D3D12_RESOURCE_DESC1 {
        let mut desc = D3D12_RESOURCE_DESC1 {
            Dimension: i32::from(self.dimension % 6),
            Alignment: self.alignment.get(),
            Width: self.width.get(),
            Height: self.height.u32(),
            DepthOrArraySize: self.depth.get() as u16,
            MipLevels: self.mips.into(),
            Format: self.format.into(),
            SampleDesc: DXGI_SAMPLE_DESC { Count: self.samples.into(), Quality: 0 },
            Layout: i32::from(self.layout % 5),
            Flags: self.flags.u32(),
            ..Default::default()
        };
        if self.is_sound {
            desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
            (desc.Height, desc.DepthOrArraySize, desc.MipLevels) = (1, 1, 1);
            (desc.Format, desc.SampleDesc.Count) = (DXGI_FORMAT_UNKNOWN, 1);
            desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
            desc.Flags = if self.mips % 2 == 0 { D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT } else { 0 };
            desc.Alignment = if self.mips % 5 == 0 { desc.Alignment } else { 0 };
        }
        desc
    }

    pub fn first_generation(self) -> D3D12_RESOURCE_DESC {
        downgrade(&self.get())
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct Heap {
    pub is_sound: bool,
    size: Number,
    alignment: Number,
    kind: u8,
    page: u8,
    pool: u8,
    nodes: u8,
    flags: Number,
}

impl Heap {
    pub fn properties(self) -> D3D12_HEAP_PROPERTIES {
        let custom = !self.is_sound || self.kind % 6 == 4;
        D3D12_HEAP_PROPERTIES {
            Type: i32::from(self.kind % 7),
            CPUPageProperty: if custom { i32::from(self.page % 5) } else { 0 },
            MemoryPoolPreference: if custom { i32::from(self.pool % 4) } else { 0 },
            CreationNodeMask: if self.is_sound { 0 } else { self.nodes.into() },
            VisibleNodeMask: 0,
        }
    }

    pub fn flags(self) -> D3D12_HEAP_FLAGS {
        const SOUND: [D3D12_HEAP_FLAGS; 4] = [
            D3D12_HEAP_FLAG_NONE,
            D3D12_HEAP_FLAG_SHARED,
            D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
            D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING,
        ];
        if self.is_sound { SOUND[usize::from(self.nodes % 4)] } else { self.flags.u32() }
    }

    pub fn get(self) -> D3D12_HEAP_DESC {
        let alignment = if self.is_sound { 0 } else { self.alignment.get() };
        D3D12_HEAP_DESC {
            SizeInBytes: self.size.get(),
            Properties: self.properties(),
            Alignment: alignment,
            Flags: self.flags(),
        }
    }
}
