//! Views of buffers by byte offsets (SDK 1.619).

use heapwright_d3d12::sdk_619::D3D12_FEATURE_DATA_D3D12_OPTIONS22;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, each, require_eq};
use crate::check::{Check, Need, check, documented};
use crate::com::views::{self, ByteRange};
use crate::context::Context;
use crate::desc::*;
use crate::queue::read;

const VIEWS: &str = "DirectX-Specs, D3D12 Revised Create Views, byte offset buffer views";
const ALIGNMENT: &str = "DirectX-Specs, D3D12 Revised Create Views, alignment of byte offsets";
const SIZE_0: &str = "DirectX-Specs, D3D12 Revised Create Views, Size 0";

const EARLIER: &str = "Agility SDKs 1.619.0 to 1.619.3, which refuse Size 0";

const YES: &[Need] = &[Need::ByteOffsetViews];

/// Size of the buffers of these checks, in bytes.
const WIDTH: u64 = 1024;

/// A range of structures.
const fn structures(offset: u64, size: u64, stride: u32) -> ByteRange {
    ByteRange { format: DXGI_FORMAT_UNKNOWN, offset, size, stride, is_raw: false }
}

/// A range of texels.
const fn typed(offset: u64, size: u64, format: DXGI_FORMAT) -> ByteRange {
    ByteRange { format, offset, size, stride: 0, is_raw: false }
}

/// A range of 32-bit words.
const fn raw(offset: u64, size: u64) -> ByteRange {
    ByteRange { format: DXGI_FORMAT_R32_TYPELESS, offset, size, stride: 0, is_raw: true }
}

pub(super) const CHECKS: &[Check] = &[
    check("views/byte-offsets-mean-the-feature", VIEWS, &[], |ctx| {
        let says = ctx.feature::<D3D12_FEATURE_DATA_D3D12_OPTIONS22>().result();
        let says = says.is_ok_and(|options| options.CreateByteOffsetViewsSupported.as_bool());
        let made = Viewed::new(ctx)?.readable(structures(4, 120, 12)).implemented()?;
        require_eq("a view at byte 4 is created", made.is_ok(), says)
    }),
    check("views/byte-offset-between-elements", VIEWS, YES, |ctx| {
        let buffer = Viewed::new(ctx)?;
        // Structures that begin within the structures of the buffer's beginning; and all of the buffer, to its last
        // byte.
        let both = [structures(4, 120, 12), structures(16, 96, 48), raw(16, 100), raw(0, WIDTH)];
        each(both.into_iter().chain([typed(WIDTH - 4, 4, DXGI_FORMAT_R32_UINT)]), |range| {
            buffer.readable(range).taken(format!("{range:?}"))?;
            buffer.unordered(range).taken(format!("{range:?}"))
        })?;
        // Three components of 32 bits, for shader resources alone.
        let range = typed(4, 24, DXGI_FORMAT_R32G32B32_FLOAT);
        buffer.readable(range).taken(format!("{range:?}"))
    }),
    check("views/byte-offset-misaligned-refused", ALIGNMENT, YES, |ctx| {
        Viewed::new(ctx)?.refuse(&[
            structures(2, 120, 12),
            structures(8, 96, 48),
            typed(2, 8, DXGI_FORMAT_R32_UINT),
            typed(8, 32, DXGI_FORMAT_R32G32B32A32_UINT),
            raw(4, 100),
        ])
    }),
    check("views/byte-offset-past-the-end-refused", VIEWS, YES, |ctx| {
        Viewed::new(ctx)?.refuse(&[
            structures(WIDTH - 12, 24, 12),
            typed(WIDTH, 4, DXGI_FORMAT_R32_UINT),
            raw(WIDTH - 16, 32),
            raw(u64::MAX - 15, 16),
        ])
    }),
    check("views/byte-offset-part-of-an-element-refused", VIEWS, YES, |ctx| {
        let texels = typed(0, 30, DXGI_FORMAT_R32_UINT);
        Viewed::new(ctx)?.refuse(&[structures(0, 30, 12), texels, raw(0, 30)])
    }),
    check("views/byte-offset-formats-refused", VIEWS, YES, |ctx| {
        Viewed::new(ctx)?.refuse(&[
            ByteRange { format: DXGI_FORMAT_R32_UINT, ..structures(0, 48, 12) },
            ByteRange { format: DXGI_FORMAT_R32_UINT, ..raw(0, 48) },
            typed(0, 48, DXGI_FORMAT_UNKNOWN),
        ])
    }),
    documented("views/byte-offset-size-0-is-the-rest", SIZE_0, EARLIER, YES, |ctx| {
        let buffer = Viewed::new(ctx)?;
        each([structures(4, 0, 12), typed(4, 0, DXGI_FORMAT_R32_UINT), raw(16, 0)], |range| {
            buffer.readable(range).taken(format!("{range:?}"))?;
            buffer.unordered(range).taken(format!("{range:?}"))
        })
    }),
    check("views/byte-offset-clear", VIEWS, YES, |ctx| {
        let (buffer, queue) = (Viewed::new(ctx)?, ctx.queue(DIRECT)?);
        each([(20, 8), (4, 100), (1020, 4)], |(offset, size)| {
            let range = typed(offset, size, DXGI_FORMAT_R32_UINT);
            let (target, state) = (queue.readback(1024)?, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
            let whole = buffer.unordered_with(typed(0, WIDTH, DXGI_FORMAT_R32_UINT))?;
            queue.run(|list| {
                list.set_descriptor_heap(&buffer.visible);
                list.clear_unordered(&buffer.buffer, &buffer.visible, whole, [0x1111_1111; 4], &[]);
            })?;
            let part = buffer.unordered_with(range)?;
            queue.run(|list| {
                list.set_descriptor_heap(&buffer.visible);
                list.clear_unordered(&buffer.buffer, &buffer.visible, part, [0x2222_2222; 4], &[]);
                list.transition(&buffer.buffer, state, COPY_SOURCE);
                list.copy_resource(&target, &buffer.buffer);
                list.transition(&buffer.buffer, COPY_SOURCE, state);
            })?;
            let mut expected = vec![0x11; 1024];
            expected[offset_of(offset)..offset_of(offset + size)].fill(0x22);
            require_eq(format!("{size} bytes from {offset} on"), read(&target, 1024)?, expected)
        })
    }),
];

fn offset_of(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// A buffer and descriptors for views of it.
struct Viewed {
    device: ID3D12Device15,
    buffer: ID3D12Resource,
    heap: ID3D12DescriptorHeap,
    visible: ID3D12DescriptorHeap,
}

impl Viewed {
    fn new(ctx: &Context) -> Result<Self, Stop> {
        let device = ctx.interface("ID3D12Device15")?;
        let desc = with_flags(buffer(WIDTH), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        let buffer = ctx.created(&desc, D3D12_RESOURCE_STATE_UNORDERED_ACCESS)?;
        let heap = |flags| ctx.descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, flags);
        let visible = heap(D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)?;
        Ok(Self { device, buffer, heap: heap(D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?, visible })
    }

    fn readable(&self, range: ByteRange) -> Answer<()> {
        views::try_readable_bytes(&self.device, &self.buffer, range, &self.heap)
    }

    fn unordered(&self, range: ByteRange) -> Answer<()> {
        views::try_unordered_bytes(&self.device, &self.buffer, range, &self.heap)
    }

    /// Creates a view in both heaps and returns that of the CPU's.
    fn unordered_with(&self, range: ByteRange) -> Result<D3D12_CPU_DESCRIPTOR_HANDLE, Stop> {
        views::try_unordered_bytes(&self.device, &self.buffer, range, &self.visible)
            .ok(format!("{range:?}"))?;
        self.unordered(range).ok(format!("{range:?}"))?;
        Ok(views::start(&self.heap))
    }

    /// Fails the check unless no view of these ranges is created.
    fn refuse(&self, ranges: &[ByteRange]) -> Verdict {
        each(ranges, |&range| {
            self.readable(range).refused(format!("{range:?}"))?;
            self.unordered(range).refused(format!("{range:?}"))
        })
    }
}
