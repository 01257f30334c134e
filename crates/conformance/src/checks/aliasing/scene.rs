//! What the checks of aliasing play on: a device that tracks, a queue, and resources that share memory.

use std::cell::RefCell;
use std::sync::LazyLock;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, failed, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::barriers::Enhanced;
use crate::com::commands::{self, CopyLocation, List};
use crate::com::device::{self, Home};
use crate::com::memory;
use crate::com::tracker::Tracker;
use crate::context::{Context, Queue};
use crate::desc::{KIB, buffer, properties, rgba, with_flags};
use crate::hresult::Named;

pub(super) const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
pub(super) const COPY_DEST: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_DEST;
pub(super) const COPY_SOURCE: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_SOURCE;
pub(super) const RENDER_TARGET: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET;

/// A heap for textures that are no render targets.
pub(super) const TEXTURES: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
/// A heap for render targets and depth stencils.
pub(super) const TARGETS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES;
/// A heap for buffers.
pub(super) const BUFFERS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
/// A heap for everything, on resource heap tier 2.
pub(super) const ALL: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_NONE;
/// A heap of which textures inherit.
pub(super) const SHARED: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_SHARED;

/// The reading of the documents that most checks are about.
const DOCUMENTED: HEAPWRIGHT_ALIASING_STRICTNESS = HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED;

/// A granule of buffers and of most textures, and a tile, in bytes.
pub(super) const GRANULE: u64 = 64 * KIB;

/// What a check needs that only looks at buffers.
pub(super) const TRACKED: &[Need] = &[Need::AliasingTracker];
/// What a check needs that looks at textures.
pub(super) const WITH_TEXTURES: &[Need] = &[Need::AliasingTracker, Need::Textures, Need::Footprints];
/// What a check needs that looks at textures and buffers in one heap.
pub(super) const MIXED: &[Need] = &[Need::AliasingTracker, Need::Textures, Need::Footprints, Need::HeapTier2];
/// What a check needs that looks at textures in 64 KiB tiles, reserved or not.
pub(super) const TILED: &[Need] =
    &[Need::AliasingTracker, Need::Textures, Need::Footprints, Need::TiledResources];

/// What a check needs that looks at textures in 64 KiB tiles and buffers in one heap.
pub(super) const MIXED_TILED: &[Need] =
    &[Need::AliasingTracker, Need::Textures, Need::Footprints, Need::HeapTier2, Need::TiledResources];

/// A check of something that keeps `rule`: the tracker says nothing.
pub(super) const fn accepted(
    id: &'static str,
    rule: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    check(id, spec, needs, body).accepts(rule)
}

/// A check of something that breaks `rule`: the tracker says so.
pub(super) const fn refused(
    id: &'static str,
    rule: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    check(id, spec, needs, body).refuses(rule)
}

/// A texture of one granule, of unknown layout.
pub(super) fn square() -> D3D12_RESOURCE_DESC {
    rgba(128, 128)
}

/// Another as large.
pub(super) fn tall() -> D3D12_RESOURCE_DESC {
    rgba(64, 256)
}

/// The same as a render target.
pub(super) fn target(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET)
}

/// The same in 64 KiB tiles, 128 by 128 texels each.
pub(super) fn tiled(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..desc }
}

/// A rule, and the rule that made it so; empty without one.
pub(super) type Finding = (&'static str, &'static str);

/// A box of texels: left, top, right, bottom.
pub(super) type Rect = [u32; 4];

/// Bytes of the staging buffers.
const STAGING: u64 = 256 * KIB;

/// A device that tracks, with a direct queue and bytes to copy.
pub(super) struct Scene<'a> {
    ctx: &'a Context,
    tracker: Tracker,
    pub(super) queue: Queue<'a>,
    source: ID3D12Resource,
    back: ID3D12Resource,
    /// Views that clears name.
    views: RefCell<Vec<ID3D12DescriptorHeap>>,
    /// Heaps, which stand behind tiles as long as the scene lasts.
    heaps: RefCell<Vec<ID3D12Heap>>,
}

/// The bytes of the source: none is 0, and no two granules are alike.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let byte = |place: u64| u8::try_from((place + place / 251) % 251 + 1).unwrap_or(1);
    (0..STAGING).map(byte).collect()
});

impl<'a> Scene<'a> {
    /// Tracks by the advanced model.
    pub(super) fn advanced(ctx: &'a Context) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_ADVANCED, DOCUMENTED, None)
    }

    /// Tracks by the simple model.
    pub(super) fn simple(ctx: &'a Context) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_SIMPLE, DOCUMENTED, None)
    }

    /// Tracks by the advanced model and another reading of the documents.
    pub(super) fn of_strictness(
        ctx: &'a Context,
        strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
    ) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_ADVANCED, strictness, None)
    }

    /// Tracks by the advanced model; what becomes undefined is overwritten.
    pub(super) fn scrambling(ctx: &'a Context, seed: u64) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_ADVANCED, DOCUMENTED, Some(seed))
    }

    fn new(
        ctx: &'a Context,
        model: HEAPWRIGHT_ALIASING_MODEL,
        strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
        scramble_seed: Option<u64>,
    ) -> Result<Self, Stop> {
        let source = ctx.commit(D3D12_HEAP_TYPE_UPLOAD, &buffer(STAGING)).ok("bytes to copy")?;
        ctx.map(&source).ok("an UPLOAD buffer")?.write(0, &PATTERN);
        let back = ctx.commit(D3D12_HEAP_TYPE_READBACK, &buffer(STAGING)).ok("room for bytes")?;
        let tracker = Tracker::begin(ctx.device(), model, strictness, scramble_seed);
        let tracker =
            ctx.answer("IHeapwrightAliasing::SetTracking", tracker).ok("a model and a strictness")?;
        let queue = ctx.queue(D3D12_COMMAND_LIST_TYPE_DIRECT)?;
        Ok(Self { ctx, tracker, queue, source, back, views: RefCell::default(), heaps: RefCell::default() })
    }

    /// The READBACK buffer that reads copy to.
    pub(super) fn back(&self) -> &ID3D12Resource {
        &self.back
    }

    /// The first bytes that writes copy.
    pub(super) fn written(&self, len: usize) -> Vec<u8> {
        PATTERN[..len].to_vec()
    }

    /// Whether a granule of the source is in the same place of what reads copied to.
    pub(super) fn granule_came(&self, granule: usize) -> Result<bool, Stop> {
        let len = usize::try_from(GRANULE).unwrap_or(0);
        let places = granule * len..(granule + 1) * len;
        Ok(self.brought(places.end)?[places.clone()] == PATTERN[places])
    }

    /// An UPLOAD buffer of bytes that are not zero.
    pub(super) fn source(&self) -> &ID3D12Resource {
        &self.source
    }

    pub(super) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// A DEFAULT heap of as many granules.
    pub(super) fn heap(&self, granules: u64, flags: D3D12_HEAP_FLAGS) -> Result<ID3D12Heap, Stop> {
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: granules * GRANULE,
            Properties: properties(D3D12_HEAP_TYPE_DEFAULT),
            Alignment: 0,
            Flags: flags,
        };
        let heap = self.ctx.create_heap(&desc).ok(format!("{granules} granules"))?;
        self.heaps.borrow_mut().push(heap.clone());
        Ok(heap)
    }

    /// A resource in a heap, from a granule on.
    pub(super) fn place(
        &self,
        heap: &ID3D12Heap,
        granule: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        self.place_at(heap, granule * GRANULE, desc, state, None)
    }

    /// A resource in a heap, from a byte on.
    pub(super) fn place_at(
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

    /// Two resources in a heap of 8 granules, both from its beginning.
    pub(super) fn pair(
        &self,
        flags: D3D12_HEAP_FLAGS,
        (one, one_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
        (other, other_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
    ) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        let heap = self.heap(8, flags)?;
        Ok((self.place(&heap, 0, one, one_state)?, self.place(&heap, 0, other, other_state)?))
    }

    /// Two textures of different descriptions that share a granule, to be copied to; nothing is inherited.
    pub(super) fn strangers(&self) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        self.pair(TEXTURES, (&square(), COPY_DEST), (&tall(), COPY_DEST))
    }

    /// The same, each of which a barrier has activated.
    pub(super) fn activated_strangers(&self) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        let (one, other) = self.strangers()?;
        self.run(|list| {
            list.alias(None, Some(&one));
            list.alias(None, Some(&other));
        })?;
        Ok((one, other))
    }

    /// A reserved resource without memory.
    pub(super) fn reserve(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        self.ctx.create_resource(Home::Reserved, desc, state, None).ok("a reserved resource")
    }

    /// Puts tiles of a heap behind the first tiles of a reserved resource.
    pub(super) fn map_tiles(&self, resource: &ID3D12Resource, count: u32, heap: &ID3D12Heap, first: u32) {
        commands::map_tiles(&self.queue.queue, resource, 0, count, Some((heap, first)));
    }

    /// A view of one mip level and slice of a render target.
    pub(super) fn target_view(
        &self,
        resource: &ID3D12Resource,
        mip: u32,
        slice: u32,
    ) -> Result<D3D12_CPU_DESCRIPTOR_HANDLE, Stop> {
        let heap = self.descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_RTV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        let part = (memory::desc(resource).Format, mip, slice);
        Ok(commands::create_slice_view(self.ctx.device(), resource, part, &heap))
    }

    /// A view of a depth stencil.
    pub(super) fn depth_view(&self, resource: &ID3D12Resource) -> Result<D3D12_CPU_DESCRIPTOR_HANDLE, Stop> {
        let heap = self.descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        Ok(commands::create_depth_stencil_view(self.ctx.device(), resource, &heap))
    }

    /// `ClearUnorderedAccessViewUint` of a texture, with the views that it takes.
    pub(super) fn clear_unordered(&self, list: &List, resource: &ID3D12Resource) -> Result<(), Stop> {
        let kind = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
        let visible = self.descriptors(kind, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)?;
        let hidden = self.descriptors(kind, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        commands::create_texture_view(self.ctx.device(), resource, &visible);
        let view = commands::create_texture_view(self.ctx.device(), resource, &hidden);
        list.clear_unordered_access(resource, &visible, view, [1, 2, 3, 4]);
        Ok(())
    }

    fn descriptors(
        &self,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
        flags: D3D12_DESCRIPTOR_HEAP_FLAGS,
    ) -> Result<ID3D12DescriptorHeap, Stop> {
        let desc =
            D3D12_DESCRIPTOR_HEAP_DESC { Type: heap_type, NumDescriptors: 1, Flags: flags, NodeMask: 0 };
        let heap = commands::create_descriptor_heap(self.ctx.device(), &desc);
        let heap = self.ctx.answer("CreateDescriptorHeap", heap).ok("one descriptor")?;
        self.views.borrow_mut().push(heap.clone());
        Ok(heap)
    }

    /// One `ExecuteCommandLists` with one list; waits for it.
    pub(super) fn run(&self, commands: impl FnOnce(&List)) -> Result<(), Stop> {
        self.queue.run(commands)
    }

    /// The same, of commands that can fail.
    pub(super) fn try_run(&self, commands: impl FnOnce(&List) -> Result<(), Stop>) -> Result<(), Stop> {
        self.queue.record(commands)?;
        self.queue.wait(self.queue.submit()?)
    }

    /// One `ExecuteCommandLists` with several lists; waits for it.
    pub(super) fn run_together(&self, lists: &[&dyn Fn(&List)]) -> Result<(), Stop> {
        self.queue.wait(self.queue.submit_together(lists)?)
    }

    /// What `Close` answers to a list.
    pub(super) fn close(
        &self,
        commands: impl FnOnce(&List) -> Result<(), Stop>,
    ) -> Result<crate::answer::Answer<()>, Stop> {
        let allocator = commands::create_allocator(self.ctx.device(), D3D12_COMMAND_LIST_TYPE_DIRECT);
        let allocator = self.ctx.answer("CreateCommandAllocator", allocator).ok("a direct list")?;
        let list = commands::create_list(self.ctx.device(), D3D12_COMMAND_LIST_TYPE_DIRECT, &allocator);
        let list = self.ctx.answer("CreateCommandList", list).ok("a direct list")?;
        commands(&list)?;
        Ok(self.ctx.answer("ID3D12GraphicsCommandList::Close", list.close()))
    }

    /// `Barrier` with these, in one call.
    pub(super) fn enhanced(&self, list: &List, barriers: &[Enhanced<'_>]) -> Result<(), Stop> {
        self.ctx.answer("ID3D12GraphicsCommandList7::Barrier", list.enhanced(barriers)).ok("a call")
    }

    fn footprint(&self, resource: &ID3D12Resource, subresource: u32) -> Footprint {
        let desc = memory::desc(resource);
        let found = device::footprints(self.ctx.device(), &desc, subresource, 1, 0);
        Footprint {
            placed: found.layouts[0],
            rows: found.row_counts[0],
            row_size: usize::try_from(found.row_sizes[0]).unwrap_or(0),
        }
    }

    /// Copies the source's bytes to all of a buffer, or to one whole subresource of a texture.
    pub(super) fn write(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        let desc = memory::desc(resource);
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return list.copy_buffer((resource, 0), (&self.source, 0), desc.Width);
        }
        let from = CopyLocation::Footprint(&self.source, self.footprint(resource, subresource).placed);
        list.copy_texture(CopyLocation::Subresource(resource, subresource), (0, 0, 0), from, None);
    }

    /// Copies all of a buffer, or one whole subresource of a texture, to where the CPU sees it.
    pub(super) fn read(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        let desc = memory::desc(resource);
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return list.copy_buffer((&self.back, 0), (resource, 0), desc.Width);
        }
        let to = CopyLocation::Footprint(&self.back, self.footprint(resource, subresource).placed);
        list.copy_texture(to, (0, 0, 0), CopyLocation::Subresource(resource, subresource), None);
    }

    /// Copies texels of a subresource to where they are in a buffer.
    pub(super) fn write_box(&self, list: &List, resource: &ID3D12Resource, subresource: u32, rect: Rect) {
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
        list.copy_texture(to, (rect[0], rect[1], 0), from, Some(size));
    }

    /// Copies texels of a subresource to the beginning of where the CPU sees them.
    pub(super) fn read_box(&self, list: &List, resource: &ID3D12Resource, subresource: u32, rect: Rect) {
        let to = CopyLocation::Footprint(&self.back, small_footprint(resource, rect));
        let [left, top, right, bottom] = rect;
        let region = D3D12_BOX { left, top, front: 0, right, bottom, back: 1 };
        list.copy_texture(to, (0, 0, 0), CopyLocation::Subresource(resource, subresource), Some(region));
    }

    /// Copies bytes of the source to a buffer.
    pub(super) fn write_bytes(&self, list: &List, buffer: &ID3D12Resource, offset: u64, len: u64) {
        list.copy_buffer((buffer, offset), (&self.source, offset), len);
    }

    /// The bytes that the last reads brought.
    pub(super) fn brought(&self, len: usize) -> Result<Vec<u8>, Stop> {
        Ok(self.ctx.map(&self.back).ok("a READBACK buffer")?.read(0, len))
    }

    /// Forgets what reads brought.
    pub(super) fn wipe(&self) -> Result<(), Stop> {
        let zeroes = vec![0; usize::try_from(STAGING).unwrap_or(0)];
        self.ctx.map(&self.back).ok("a READBACK buffer")?.write(0, &zeroes);
        Ok(())
    }

    /// How many bytes of what `read` brought of a resource are those that `write` copied, and of how many.
    pub(super) fn kept(&self, resource: &ID3D12Resource, subresource: u32) -> Result<(usize, usize), Stop> {
        let desc = memory::desc(resource);
        let rows = if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            vec![(0, usize::try_from(desc.Width).unwrap_or(0))]
        } else {
            let footprint = self.footprint(resource, subresource);
            let pitch = usize::try_from(footprint.placed.Footprint.RowPitch).unwrap_or(0);
            let rows = usize::try_from(footprint.rows).unwrap_or(0);
            (0..rows).map(|row| (row * pitch, footprint.row_size)).collect()
        };
        let end = rows.iter().map(|(start, len)| start + len).max().unwrap_or(0);
        let found = self.brought(end)?;
        let mut counts = (0, 0);
        for (start, len) in rows {
            let places = start..start + len;
            let pairs = found[places.clone()].iter().zip(&PATTERN[places]);
            counts.0 += pairs.filter(|(found, written)| found == written).count();
            counts.1 += len;
        }
        Ok(counts)
    }

    /// Fails unless `read` brought what `write` copied.
    pub(super) fn carried(&self, resource: &ID3D12Resource, subresource: u32) -> Result<(), Stop> {
        let (same, all) = self.kept(resource, subresource)?;
        require(same == all, || format!("{same} of {all} bytes are those that were written"))
    }

    /// Fails unless the contents of a unit are such.
    pub(super) fn contents(
        &self,
        resource: &ID3D12Resource,
        unit: u32,
        expected: HEAPWRIGHT_ALIASING_CONTENTS,
    ) -> Result<(), Stop> {
        let found = self.tracker.contents(resource, unit);
        let found = self.ctx.answer("IHeapwrightAliasing::GetContents", found).ok("a unit")?;
        require_eq(format!("contents of unit {unit}"), found, Some(expected))
    }

    /// Fails unless the tracker has nothing to say.
    pub(super) fn accepts(&self) -> Verdict {
        self.says(&[]).map(|_| "nothing was reported".to_owned())
    }

    /// Fails unless the tracker says just these.
    pub(super) fn refuses(&self, expected: &[Finding]) -> Verdict {
        if expected.is_empty() {
            return self.accepts();
        }
        self.says(expected)?;
        // Not the messages: which of two queues is first is chance.
        let rules = expected.iter().map(|&(rule, because)| match because {
            "" => rule.to_owned(),
            because => format!("{rule} because of {because}"),
        });
        Ok(format!("reported: {}", rules.collect::<Vec<_>>().join(", ")))
    }

    /// Fails unless the tracker says just these, as warnings or remarks.
    pub(super) fn remarks(&self, expected: &[Finding], severity: HEAPWRIGHT_ALIASING_SEVERITY) -> Verdict {
        for (violation, text) in self.violations()? {
            require(violation.Severity == severity, || {
                format!("severity {} and not {severity}: {text}", violation.Severity)
            })?;
        }
        self.refuses(expected)
    }

    fn violations(&self) -> Result<Vec<(HEAPWRIGHT_ALIASING_VIOLATION, String)>, Stop> {
        self.tracker
            .violations()
            .or_else(|hresult| failed(format!("IHeapwrightAliasing::GetViolation: {}", Named(hresult))))
    }

    /// The messages of all violations, which must be of these rules.
    fn says(&self, expected: &[Finding]) -> Result<Vec<String>, Stop> {
        let violations = self.violations()?;
        let id = |bytes: &[u8; 8]| HEAPWRIGHT_ALIASING_VIOLATION::id(bytes).to_owned();
        let mut found: Vec<(String, String)> =
            violations.iter().map(|(one, _)| (id(&one.Rule), id(&one.Because))).collect();
        found.sort();
        found.dedup();
        let mut wanted: Vec<(String, String)> =
            expected.iter().map(|&(rule, because)| (rule.to_owned(), because.to_owned())).collect();
        wanted.sort();
        let texts: Vec<String> = violations.into_iter().map(|(_, text)| text).collect();
        require(found == wanted, || {
            let names = |list: &[(String, String)]| {
                let one = |(rule, because): &(String, String)| {
                    if because.is_empty() { rule.clone() } else { format!("{rule} because {because}") }
                };
                if list.is_empty() {
                    "nothing".to_owned()
                } else {
                    list.iter().map(one).collect::<Vec<_>>().join(", ")
                }
            };
            format!("expected {}, found {}: {}", names(&wanted), names(&found), texts.join("; "))
        })?;
        Ok(texts)
    }
}

/// Where a subresource's texels are in a staging buffer.
struct Footprint {
    placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    rows: u32,
    row_size: usize,
}

/// A footprint at the beginning of a buffer for a box of 4-byte texels.
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
