//! A queue that fills, copies and reads resources. A number (key) determines the content of each resource.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::null_mut;
use std::time::Instant;

use heapwright::d3d12::aliasing::IHeapwrightAliasing;

use crate::gpu::*;

/// Size of a staging buffer, in bytes: enough for the largest texture here with its mip levels.
const STAGING: u64 = 16 << 20;
/// Alignment of footprints and buffers in a staging buffer.
const PLACEMENT: u64 = D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT as u64;

/// A device's queue and its staging buffers.
pub(crate) struct Gpu {
    device: ID3D12Device,
    queue: ID3D12CommandQueue,
    allocator: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList,
    fence: ID3D12Fence,
    upload: ID3D12Resource,
    readback: ID3D12Resource,
    uploaded: u64,
    /// The recorded readbacks: key, parts, and offset in the staging buffer.
    expected: Vec<(u64, Vec<Part>, u64)>,
    read: u64,
}

/// The layout of a subresource, or of a whole buffer, in a staging buffer.
#[derive(Clone, Copy)]
struct Part {
    layout: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    rows: u64,
    row_size: u64,
    index: u32,
    is_buffer: bool,
}

/// A resource; or its copy in a staging buffer, with the offset there.
type Whole<'a> = (&'a ID3D12Resource, Option<u64>);

impl Part {
    fn all(device: &ID3D12Device, resource: &ID3D12Resource) -> (Vec<Self>, u64) {
        let desc = unsafe { resource.GetDesc() };
        let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
        if is_buffer {
            let part =
                Self { layout: Default::default(), rows: 1, row_size: desc.Width, index: 0, is_buffer };
            return (vec![part], desc.Width);
        }
        let count = u32::from(desc.MipLevels) * u32::from(desc.DepthOrArraySize);
        let mut layouts = vec![D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(); count as usize];
        let (mut rows, mut row_sizes, mut total) = (vec![0; count as usize], vec![0; count as usize], 0);
        unsafe {
            device.GetCopyableFootprints(
                &desc,
                0,
                count,
                0,
                Some(layouts.as_mut_ptr()),
                Some(rows.as_mut_ptr()),
                Some(row_sizes.as_mut_ptr()),
                Some(&mut total),
            );
        }
        let parts = (0..)
            .zip(layouts)
            .zip(rows.into_iter().zip(row_sizes))
            .map(|((index, layout), (rows, row_size))| Self {
                layout,
                rows: u64::from(rows),
                row_size,
                index,
                is_buffer,
            })
            .collect();
        (parts, total)
    }

    /// Returns the bytes of a row in a staging buffer.
    fn row(&self, staged_at: u64, row: u64) -> Range<usize> {
        let start = staged_at + self.layout.Offset + row * u64::from(self.layout.Footprint.RowPitch);
        let [start, end] = [start, start + self.row_size].map(|at| usize::try_from(at).expect("small"));
        start..end
    }

    /// Returns where the part of a texture is: in its subresource, or in a staging buffer.
    fn location(&self, (resource, staged_at): Whole<'_>) -> D3D12_TEXTURE_COPY_LOCATION {
        let Some(staged_at) = staged_at else {
            return D3D12_TEXTURE_COPY_LOCATION {
                pResource: borrow(resource),
                Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
                Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: self.index },
            };
        };
        let mut placed = self.layout;
        placed.Offset += staged_at;
        D3D12_TEXTURE_COPY_LOCATION {
            pResource: borrow(resource),
            Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
            Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: placed },
        }
    }
}

fn borrow(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    ManuallyDrop::new(Some(unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
}

/// Visits the bytes of one row of the content of `key`. No two rows are alike.
fn for_each_word(key: u64, part: u32, row: u64, bytes: &mut [u8], mut each: impl FnMut(&mut [u8], [u8; 8])) {
    let seed = (key << 32 | u64::from(part) << 24 | row).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut word = seed;
    for chunk in bytes.chunks_mut(8) {
        each(chunk, word.to_le_bytes());
        word = word.wrapping_add(0x0101_0203_0508_0d15);
    }
}

impl Gpu {
    pub(crate) fn new(device: &ID3D12Device) -> Self {
        // A resource used by a copy queue returns to state COMMON when the queue is done.
        let kind = D3D12_COMMAND_LIST_TYPE_COPY;
        let (allocator, list) = list_of(device, kind);
        // SAFETY: a live device, and a result of the interface that is asked for.
        let fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence");
        Self {
            device: device.clone(),
            queue: queue_of(device, kind),
            allocator,
            list,
            fence,
            upload: committed_buffer(device, D3D12_HEAP_TYPE_UPLOAD, STAGING),
            readback: committed_buffer(device, D3D12_HEAP_TYPE_READBACK, STAGING),
            uploaded: 0,
            expected: Vec::new(),
            read: 0,
        }
    }

    /// Executes the recorded commands and waits for them.
    pub(crate) fn run(&mut self) {
        unsafe {
            self.list.Close().ok().expect("what was recorded is sound");
            self.queue.ExecuteCommandLists(&[Some(self.list.cast().expect("a command list"))]);
            let value = self.fence.GetCompletedValue() + 1;
            self.queue.Signal(&self.fence, value).ok().expect("signalled");
            let begin = Instant::now();
            while self.fence.GetCompletedValue() < value {
                assert!(begin.elapsed() < Duration::from_secs(60), "the queue does not end");
                std::thread::yield_now();
            }
            self.allocator.Reset().ok().expect("nothing uses it");
            self.list.Reset(&self.allocator, None).ok().expect("it is closed");
        }
        self.uploaded = 0;
        self.assert_no_rule_is_broken();
    }

    /// On a device that tracks aliasing, checks that no command used a resource that another one had
    /// overwritten.
    fn assert_no_rule_is_broken(&self) {
        let Ok(aliasing) = self.device.cast::<IHeapwrightAliasing>() else { return };
        unsafe {
            let mut size = 0;
            if aliasing.GetViolationText(0, &raw mut size, null_mut()) == S_OK {
                let mut text = vec![0; size];
                aliasing.GetViolationText(0, &raw mut size, text.as_mut_ptr()).ok().expect("it is there");
                panic!("{}", String::from_utf8_lossy(&text));
            }
        }
    }

    /// Records that a resource is filled with the content of `key`. The last fills need a
    /// [`run`](Self::run).
    pub(crate) fn fill(&mut self, resource: &ID3D12Resource, key: u64) {
        let (parts, size) = Part::all(&self.device, resource);
        if self.uploaded + size > STAGING {
            self.run();
        }
        let at = self.uploaded;
        self.uploaded = (at + size).next_multiple_of(PLACEMENT);
        let staged = mapped(&self.upload);
        for part in &parts {
            for row in 0..part.rows {
                let bytes = &mut staged[part.row(at, row)];
                for_each_word(key, part.index, row, bytes, |chunk, word| {
                    chunk.copy_from_slice(&word[..chunk.len()]);
                });
            }
        }
        self.copy_parts(&parts, (resource, None), (&self.upload, Some(at)));
    }

    /// Records a copy of a whole resource to another one of the same description.
    pub(crate) fn copy(&mut self, to: &ID3D12Resource, from: &ID3D12Resource) {
        self.copy_parts(&Part::all(&self.device, from).0, (to, None), (from, None));
    }

    fn copy_parts(&self, parts: &[Part], to: Whole<'_>, from: Whole<'_>) {
        for part in parts {
            unsafe {
                if part.is_buffer {
                    let at = [to.1, from.1].map(Option::unwrap_or_default);
                    self.list.CopyBufferRegion(to.0, at[0], from.0, at[1], part.row_size);
                } else {
                    let (to, from) = (part.location(to), part.location(from));
                    self.list.CopyTextureRegion(&to, 0, 0, 0, &from, None);
                }
            }
        }
    }

    /// Records a readback of a resource and its comparison with the content of `key`. The last ones need a
    /// [`finish`](Self::finish).
    pub(crate) fn expect(&mut self, resource: &ID3D12Resource, key: u64) {
        let (parts, size) = Part::all(&self.device, resource);
        if self.read + size > STAGING {
            self.finish();
        }
        let at = self.read;
        self.read = (at + size).next_multiple_of(PLACEMENT);
        self.copy_parts(&parts, (&self.readback, Some(at)), (resource, None));
        self.expected.push((key, parts, at));
    }

    /// Executes the readbacks that [`expect`](Self::expect) recorded, and compares.
    pub(crate) fn finish(&mut self) {
        self.run();
        let used = usize::try_from(std::mem::take(&mut self.read)).expect("small");
        let staged = mapped(&self.readback);
        for (key, parts, at) in self.expected.drain(..) {
            for part in parts {
                for row in 0..part.rows {
                    let mut is_equal = true;
                    let bytes = &mut staged[part.row(at, row)];
                    for_each_word(key, part.index, row, bytes, |chunk, word| {
                        is_equal &= *chunk == word[..chunk.len()];
                    });
                    let index = part.index;
                    assert!(is_equal, "{key} has lost its content: row {row} of subresource {index}");
                }
            }
        }
        // Overwrites the bytes, so that stale ones cannot pass the next comparison.
        staged[..used].fill(0xcc);
    }
}
