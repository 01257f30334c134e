//! The fixture of checks that compare bytes: a queue, staging buffers with a pattern, and resources in one heap.
//!
//! A check writes resources from the pattern, and reads them back into a buffer that it has wiped.

use std::cell::RefCell;
use std::sync::LazyLock;

use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, require, require_eq};
use crate::com::barriers::Enhanced;
use crate::com::commands::{self, CopyLocation, List};
use crate::com::device::Home;
use crate::com::{memory, views};
use crate::context::Context;
use crate::desc::{COPY_DEST, COPY_SOURCE, DEFAULT, DIRECT, KIB, properties, rgba, with_flags, with_layout};
use crate::queue::{Queue, Recorded, fill, pattern, read};
use crate::transfer::Staged;

/// Flags of a heap for textures other than render targets and depth buffers.
pub(crate) const TEXTURES: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
/// Flags of a heap for render targets and depth buffers.
pub(crate) const TARGETS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES;
/// Flags of a heap for buffers.
pub(crate) const BUFFERS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
/// Flags of a heap for all resources, on resource heap tier 2.
pub(crate) const ALL: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_NONE;
/// The flag of heaps in which textures of unknown layout inherit data.
pub(crate) const SHARED: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_SHARED;

/// Size of a granule of buffers and of most textures, and of a tile, in bytes.
pub(crate) const GRANULE: u64 = 64 * KIB;

/// The texel that [`RED`] becomes.
pub(crate) const RED_TEXEL: [u8; 4] = [255, 0, 0, 255];
/// A color for clears.
pub(crate) const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];

/// A texture of one granule with an unknown layout.
pub(crate) fn square() -> D3D12_RESOURCE_DESC {
    rgba(128, 128)
}

/// A texture of the same size with another description.
pub(crate) fn tall() -> D3D12_RESOURCE_DESC {
    rgba(64, 256)
}

/// `desc` as a render target.
pub(crate) fn target(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET)
}

/// `desc` in 64 KiB tiles of 128 by 128 texels each.
pub(crate) fn tiled(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_layout(desc, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE)
}

/// A box of texels: left, top, right and bottom.
pub(crate) type Rect = [u32; 4];

/// Size of the staging buffers, in bytes.
const STAGING: usize = 256 << 10;

/// A direct queue with staging buffers.
pub(crate) struct Scene<'a> {
    pub(crate) ctx: &'a Context,
    pub(crate) queue: Queue,
    source: ID3D12Resource,
    back: ID3D12Resource,
    /// The descriptor heaps of views that recorded commands name.
    views: RefCell<Vec<ID3D12DescriptorHeap>>,
    /// The heaps that tiles may be mapped to.
    heaps: RefCell<Vec<ID3D12Heap>>,
    /// Why a copy could not be recorded.
    stopped: RefCell<Option<Stop>>,
}

/// The bytes of the source: none is 0, and all granules differ.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| pattern(STAGING, 0));

impl<'a> Scene<'a> {
    pub(crate) fn new(ctx: &'a Context) -> Result<Self, Stop> {
        let queue = ctx.queue(DIRECT)?;
        let (source, back) = (queue.upload(&PATTERN)?, queue.readback(STAGING)?);
        let (views, heaps, stopped) = (RefCell::default(), RefCell::default(), RefCell::default());
        Ok(Self { ctx, queue, source, back, views, heaps, stopped })
    }

    /// Returns the READBACK buffer that reads copy to.
    pub(crate) fn back(&self) -> &ID3D12Resource {
        &self.back
    }

    /// Returns the first `len` bytes that writes copy.
    pub(crate) fn written(&self, len: usize) -> Vec<u8> {
        PATTERN[..len].to_vec()
    }

    /// Returns whether a granule of the READBACK buffer equals the same granule of the source.
    pub(crate) fn granule_came(&self, granule: usize) -> Result<bool, Stop> {
        let len = usize::try_from(GRANULE).unwrap_or(0);
        let places = granule * len..(granule + 1) * len;
        Ok(self.brought(places.end)?[places.clone()] == PATTERN[places])
    }

    /// Returns the UPLOAD buffer that writes copy from.
    pub(crate) fn source(&self) -> &ID3D12Resource {
        &self.source
    }

    /// Creates a DEFAULT heap, which lives as long as the scene.
    pub(crate) fn heap(&self, granules: u64, flags: D3D12_HEAP_FLAGS) -> Result<ID3D12Heap, Stop> {
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: granules * GRANULE,
            Properties: properties(DEFAULT),
            Alignment: 0,
            Flags: flags,
        };
        let heap = self.ctx.create_heap(&desc).ok(format!("{granules} granules"))?;
        self.heaps.borrow_mut().push(heap.clone());
        Ok(heap)
    }

    /// Creates a resource in a heap at an offset in granules.
    pub(crate) fn place(
        &self,
        heap: &ID3D12Heap,
        granule: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        self.place_at(heap, granule * GRANULE, desc, state, None)
    }

    /// Creates a resource in a heap at an offset in bytes.
    pub(crate) fn place_at(
        &self,
        heap: &ID3D12Heap,
        offset: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        clear: Option<&D3D12_CLEAR_VALUE>,
    ) -> Result<ID3D12Resource, Stop> {
        let home = Home::Placed(heap, offset);
        self.ctx.create_resource(home, desc, state, clear).ok(format!("offset {offset:#x}"))
    }

    /// Creates two resources at the beginning of a heap of 8 granules.
    pub(crate) fn pair(
        &self,
        flags: D3D12_HEAP_FLAGS,
        (one, one_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
        (other, other_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
    ) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        let heap = self.heap(8, flags)?;
        Ok((self.place(&heap, 0, one, one_state)?, self.place(&heap, 0, other, other_state)?))
    }

    /// Creates two textures in COPY_DEST that share a granule and inherit nothing from each other.
    pub(crate) fn strangers(&self) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        self.pair(TEXTURES, (&square(), COPY_DEST), (&tall(), COPY_DEST))
    }

    /// Creates a reserved resource without mapped tiles.
    pub(crate) fn reserve(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        self.ctx.create_resource(Home::Reserved, desc, state, None).ok("a reserved resource")
    }

    /// Maps the first tiles of a reserved resource to tiles of a heap.
    pub(crate) fn map_tiles(&self, resource: &ID3D12Resource, count: u32, heap: &ID3D12Heap, first: u32) {
        commands::map_tiles(&self.queue.queue, resource, 0, count, Some((heap, first)));
    }

    /// Creates a view of one mip level and slice of a render target.
    pub(crate) fn target_view(
        &self,
        resource: &ID3D12Resource,
        mip: u32,
        slice: u32,
    ) -> Result<D3D12_CPU_DESCRIPTOR_HANDLE, Stop> {
        let heap = self.ctx.descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_RTV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        let part = (memory::desc(resource).Format, mip, slice);
        let view = views::create_target_view(self.ctx.device(), resource, Some(part), &heap);
        self.views.borrow_mut().push(heap);
        Ok(view)
    }

    /// Executes one list with one `ExecuteCommandLists` and waits.
    pub(crate) fn run<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Result<(), Stop> {
        self.queue.run(|list| self.recorded(commands(list)))
    }

    /// Executes several lists with one `ExecuteCommandLists` and waits.
    pub(crate) fn run_together(&self, lists: &[&dyn Fn(&List)]) -> Result<(), Stop> {
        self.queue.wait(self.queue.submit_together(lists)?)?;
        self.recorded(())
    }

    /// Records commands and returns the result of `Close`.
    pub(crate) fn close<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Result<Answer<()>, Stop> {
        self.queue.closes(|list| self.recorded(commands(list)))
    }

    /// Returns what recording returned, and fails the check if a copy could not be recorded.
    fn recorded<R: Recorded>(&self, recorded: R) -> Result<(), Stop> {
        self.stopped.take().map_or_else(|| recorded.into_result(), Err)
    }

    /// Records one call of `Barrier`.
    pub(crate) fn enhanced(&self, list: &List, barriers: &[Enhanced<'_>]) -> Result<(), Stop> {
        list.enhanced(barriers).ok("a call")
    }

    fn staged(&self, resource: &ID3D12Resource, subresource: u32) -> Result<Staged, Stop> {
        Staged::part(self.ctx.device(), &memory::desc(resource), subresource, 1)
    }

    /// Copies the source to a whole buffer or a whole subresource of a texture.
    pub(crate) fn write(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        match self.staged(resource, subresource) {
            Ok(staged) => staged.write(list, resource, &self.source),
            Err(stop) => self.stop(stop),
        }
    }

    /// Copies a whole buffer or a whole subresource of a texture to the READBACK buffer.
    pub(crate) fn read(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        match self.staged(resource, subresource) {
            Ok(staged) => staged.read(list, resource, &self.back),
            Err(stop) => self.stop(stop),
        }
    }

    /// Fails the check when the commands have been recorded.
    fn stop(&self, stop: Stop) {
        self.stopped.borrow_mut().get_or_insert(stop);
    }

    /// Copies a box of texels from the source to a subresource.
    pub(crate) fn write_box(&self, list: &List, resource: &ID3D12Resource, subresource: u32, rect: Rect) {
        let from = CopyLocation::Footprint(&self.source, small_footprint(resource, rect));
        let size = D3D12_BOX {
            left: 0,
            top: 0,
            front: 0,
            right: rect[2] - rect[0],
            bottom: rect[3] - rect[1],
            back: 1,
        };
        let to = CopyLocation::Subresource(resource, subresource);
        list.copy_texture_to(to, (rect[0], rect[1], 0), from, Some(size));
    }

    /// Copies a box of texels from a subresource to the beginning of the READBACK buffer.
    pub(crate) fn read_box(&self, list: &List, resource: &ID3D12Resource, subresource: u32, rect: Rect) {
        let to = CopyLocation::Footprint(&self.back, small_footprint(resource, rect));
        let [left, top, right, bottom] = rect;
        let region = D3D12_BOX { left, top, front: 0, right, bottom, back: 1 };
        list.copy_texture_to(to, (0, 0, 0), CopyLocation::Subresource(resource, subresource), Some(region));
    }

    /// Copies a range of the source to the same range of a buffer.
    pub(crate) fn write_bytes(&self, list: &List, buffer: &ID3D12Resource, offset: u64, len: u64) {
        list.copy_buffer((buffer, offset), (&self.source, offset), len);
    }

    /// Returns the first `len` bytes of the READBACK buffer.
    pub(crate) fn brought(&self, len: usize) -> Result<Vec<u8>, Stop> {
        read(&self.back, len)
    }

    /// Fills the READBACK buffer with zeros.
    pub(crate) fn wipe(&self) -> Result<(), Stop> {
        fill(&self.back, 0)
    }

    /// Fails the check unless `read` copied the bytes that `write` copied. Returns their number.
    pub(crate) fn carried(&self, resource: &ID3D12Resource, subresource: u32) -> Verdict {
        let rows = self.staged(resource, subresource)?.rows;
        let expected = |(start, len): (usize, usize)| &PATTERN[start..start + len];
        self.compare(rows.iter().map(|&row| (row, expected(row))))
    }

    /// Fails the check unless rows of the READBACK buffer, as offset and length, have the expected bytes.
    fn compare<'b>(&self, rows: impl Iterator<Item = ((usize, usize), &'b [u8])> + Clone) -> Verdict {
        let end = rows.clone().map(|((start, len), _)| start + len).max().unwrap_or(0);
        let found = self.brought(end)?;
        let (mut same, mut all) = (0, 0);
        for ((start, len), expected) in rows {
            same +=
                found[start..start + len].iter().zip(expected).filter(|(found, byte)| found == byte).count();
            all += len;
        }
        require(same == all, || format!("{same} of {all} bytes are the expected ones"))?;
        Ok(format!("{all} bytes"))
    }

    /// Copies a subresource in `state`, or a box of it, to the wiped READBACK buffer.
    fn fetch(
        &self,
        resource: &ID3D12Resource,
        subresource: u32,
        state: D3D12_RESOURCE_STATES,
        rect: Option<Rect>,
    ) -> Result<(), Stop> {
        self.wipe()?;
        self.run(|list| {
            list.to_state(resource, state, COPY_SOURCE);
            match rect {
                Some(rect) => self.read_box(list, resource, subresource, rect),
                None => self.read(list, resource, subresource),
            }
        })
    }

    /// Fails the check unless a subresource in `state` has the bytes that `write` copied to it.
    pub(crate) fn returns(
        &self,
        resource: &ID3D12Resource,
        subresource: u32,
        state: D3D12_RESOURCE_STATES,
    ) -> Verdict {
        self.fetch(resource, subresource, state, None)?;
        self.carried(resource, subresource)
    }

    /// Fails the check unless a box of a subresource in `state` has the bytes that `write_box` copied to it.
    pub(crate) fn returns_box(
        &self,
        resource: &ID3D12Resource,
        subresource: u32,
        state: D3D12_RESOURCE_STATES,
        rect: Rect,
    ) -> Verdict {
        self.fetch(resource, subresource, state, Some(rect))?;
        self.compare(
            box_rows(resource, rect).iter().map(|&(start, len)| ((start, len), &PATTERN[start..start + len])),
        )
    }

    /// Fails the check unless a box of a subresource in `state` has the bytes that `write` copied to it.
    pub(crate) fn returns_part(
        &self,
        resource: &ID3D12Resource,
        subresource: u32,
        state: D3D12_RESOURCE_STATES,
        rect: Rect,
    ) -> Verdict {
        self.fetch(resource, subresource, state, Some(rect))?;
        let pitch = self.staged(resource, subresource)?.layouts[0].Footprint.RowPitch;
        let first = |row: u32| usize::try_from((rect[1] + row) * pitch + rect[0] * 4).unwrap_or(0);
        let rows = box_rows(resource, rect);
        self.compare(
            (0..)
                .zip(&rows)
                .map(|(row, &(start, len))| ((start, len), &PATTERN[first(row)..first(row) + len])),
        )
    }

    /// Fails the check unless all texels of a box of a subresource in `state` are `texel`.
    pub(crate) fn returns_texels(
        &self,
        resource: &ID3D12Resource,
        subresource: u32,
        state: D3D12_RESOURCE_STATES,
        rect: Rect,
        texel: [u8; 4],
    ) -> Verdict {
        self.fetch(resource, subresource, state, Some(rect))?;
        let rows = box_rows(resource, rect);
        let texels = texel.repeat(usize::try_from(rect[2] - rect[0]).unwrap_or(0));
        self.compare(rows.iter().map(|&row| (row, &texels[..])))
    }

    /// Fails the check unless all texels of a subresource in `state` are `texel`.
    pub(crate) fn returns_color(
        &self,
        resource: &ID3D12Resource,
        subresource: u32,
        state: D3D12_RESOURCE_STATES,
        texel: [u8; 4],
    ) -> Verdict {
        let footprint = self.staged(resource, subresource)?.layouts[0].Footprint;
        self.returns_texels(resource, subresource, state, [0, 0, footprint.Width, footprint.Height], texel)
    }

    /// Fails the check unless the first texel that was read is `texel`.
    pub(crate) fn first_texel_came(&self, texel: [u8; 4]) -> Verdict {
        require_eq("the first texel", self.brought(4)?, texel.to_vec())
    }
}

/// Returns a footprint at the beginning of a buffer for a box of 4-byte texels.
fn small_footprint(
    resource: &ID3D12Resource,
    [left, top, right, bottom]: Rect,
) -> D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
    let width = right - left;
    D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
        Offset: 0,
        Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
            Format: memory::desc(resource).Format,
            Width: width,
            Height: bottom - top,
            Depth: 1,
            RowPitch: (width * 4).next_multiple_of(256),
        },
    }
}

/// Returns the rows of a box at the beginning of a buffer, as offset and length.
fn box_rows(resource: &ID3D12Resource, rect: Rect) -> Vec<(usize, usize)> {
    let footprint = small_footprint(resource, rect).Footprint;
    let size = |bytes: u32| usize::try_from(bytes).unwrap_or(0);
    (0..footprint.Height).map(|row| (size(row * footprint.RowPitch), size(footprint.Width * 4))).collect()
}
