//! The fixture of the aliasing checks: a device that tracks, a queue, and resources that share memory.

use std::cell::RefCell;
use std::sync::LazyLock;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, require, require_eq};
use crate::check::{Body, Check, Need, check, check_by};
use crate::com::barriers::Enhanced;
use crate::com::commands::{self, CopyLocation, List};
use crate::com::device::{self, Home};
use crate::com::tracker::Tracker;
use crate::com::{memory, views};
use crate::context::{Context, Queue, Recorded, open_list};
use crate::desc::{
    COPY_DEST, DEFAULT, DIRECT, KIB, READBACK, UPLOAD, buffer, properties, rgba, with_flags, with_layout,
};

/// Flags of a heap for textures other than render targets and depth buffers.
pub(super) const TEXTURES: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
/// Flags of a heap for render targets and depth buffers.
pub(super) const TARGETS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES;
/// Flags of a heap for buffers.
pub(super) const BUFFERS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
/// Flags of a heap for all resources, on resource heap tier 2.
pub(super) const ALL: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_NONE;
/// The flag of heaps in which textures of unknown layout inherit data.
pub(super) const SHARED: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_SHARED;

/// The reading of the documentation that most checks expect.
const DOCUMENTED: HEAPWRIGHT_ALIASING_STRICTNESS = HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED;

/// Size of a granule of buffers and of most textures, and of a tile, in bytes.
pub(super) const GRANULE: u64 = 64 * KIB;

/// Needs of checks with buffers.
pub(super) const TRACKED: &[Need] = &[Need::AliasingTracker];
/// Needs of checks with textures.
pub(super) const WITH_TEXTURES: &[Need] = &[Need::AliasingTracker, Need::Textures, Need::Footprints];
/// Needs of checks with textures and buffers in one heap.
pub(super) const MIXED: &[Need] = &[Need::AliasingTracker, Need::Textures, Need::Footprints, Need::HeapTier2];
/// Needs of checks with textures in 64 KiB tiles, reserved or not.
pub(super) const TILED: &[Need] =
    &[Need::AliasingTracker, Need::Textures, Need::Footprints, Need::TiledResources];

/// Needs of checks with textures in 64 KiB tiles and buffers in one heap.
pub(super) const MIXED_TILED: &[Need] =
    &[Need::AliasingTracker, Need::Textures, Need::Footprints, Need::HeapTier2, Need::TiledResources];

/// A check that follows `rule`: the tracker reports nothing.
pub(super) const fn accepted(
    id: &'static str,
    rule: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    check(id, spec, needs, body).accepts(rule)
}

/// As [`accepted`], with a scene that tracks with the advanced usage model.
pub(super) const fn accepted_scene(
    id: &'static str,
    rule: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Scene<'_>) -> Verdict,
) -> Check {
    check_by(id, spec, needs, Body::Scene(body)).accepts(rule)
}

/// A check that violates `rule`: the tracker reports it.
pub(super) const fn refused(
    id: &'static str,
    rule: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Context) -> Verdict,
) -> Check {
    check(id, spec, needs, body).refuses(rule)
}

/// As [`refused`], with a scene that tracks with the advanced usage model.
pub(super) const fn refused_scene(
    id: &'static str,
    rule: &'static str,
    spec: &'static str,
    needs: &'static [Need],
    body: fn(&Scene<'_>) -> Verdict,
) -> Check {
    check_by(id, spec, needs, Body::Scene(body)).refuses(rule)
}

/// A texture of one granule with an unknown layout.
pub(super) fn square() -> D3D12_RESOURCE_DESC {
    rgba(128, 128)
}

/// A texture of the same size with another description.
pub(super) fn tall() -> D3D12_RESOURCE_DESC {
    rgba(64, 256)
}

/// `desc` as a render target.
pub(super) fn target(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET)
}

/// `desc` in 64 KiB tiles of 128 by 128 texels each.
pub(super) fn tiled(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_layout(desc, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE)
}

/// The violated rule, and the rule that is its cause or "".
pub(super) type Finding = (&'static str, &'static str);

/// A box of texels: left, top, right and bottom.
pub(super) type Rect = [u32; 4];

/// Size of the staging buffers, in bytes.
const STAGING: u64 = 256 * KIB;

/// A device that tracks aliasing, with a direct queue and staging buffers.
pub(crate) struct Scene<'a> {
    pub(super) ctx: &'a Context,
    tracker: Tracker,
    pub(super) queue: Queue<'a>,
    source: ID3D12Resource,
    back: ID3D12Resource,
    /// The descriptor heaps of views that recorded commands name.
    views: RefCell<Vec<ID3D12DescriptorHeap>>,
    /// The heaps that tiles may be mapped to.
    heaps: RefCell<Vec<ID3D12Heap>>,
}

/// The bytes of the source: none is 0, and all granules differ.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let byte = |place: u64| u8::try_from((place + place / 251) % 251 + 1).unwrap_or(1);
    (0..STAGING).map(byte).collect()
});

impl<'a> Scene<'a> {
    /// Tracks with the advanced usage model.
    pub(crate) fn advanced(ctx: &'a Context) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_ADVANCED, DOCUMENTED, None)
    }

    /// Tracks with the simple usage model.
    pub(super) fn simple(ctx: &'a Context) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_SIMPLE, DOCUMENTED, None)
    }

    /// Tracks with the advanced usage model and another strictness.
    pub(super) fn of_strictness(
        ctx: &'a Context,
        strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
    ) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_ADVANCED, strictness, None)
    }

    /// Tracks with the advanced usage model and overwrites contents that become undefined.
    pub(super) fn scrambling(ctx: &'a Context, seed: u64) -> Result<Self, Stop> {
        Self::new(ctx, HEAPWRIGHT_ALIASING_MODEL_ADVANCED, DOCUMENTED, Some(seed))
    }

    fn new(
        ctx: &'a Context,
        model: HEAPWRIGHT_ALIASING_MODEL,
        strictness: HEAPWRIGHT_ALIASING_STRICTNESS,
        scramble_seed: Option<u64>,
    ) -> Result<Self, Stop> {
        let source = ctx.commit(UPLOAD, &buffer(STAGING)).ok("bytes to copy")?;
        ctx.map(&source).ok("an UPLOAD buffer")?.write(0, &PATTERN);
        let back = ctx.commit(READBACK, &buffer(STAGING)).ok("a READBACK buffer")?;
        let tracker = Tracker::begin(ctx.device(), model, strictness, scramble_seed);
        let tracker = tracker.ok("a model and a strictness")?;
        let queue = ctx.queue(DIRECT)?;
        Ok(Self { ctx, tracker, queue, source, back, views: RefCell::default(), heaps: RefCell::default() })
    }

    /// Returns the READBACK buffer that reads copy to.
    pub(super) fn back(&self) -> &ID3D12Resource {
        &self.back
    }

    /// Returns the first `len` bytes that writes copy.
    pub(super) fn written(&self, len: usize) -> Vec<u8> {
        PATTERN[..len].to_vec()
    }

    /// Returns whether a granule of the READBACK buffer equals the same granule of the source.
    pub(super) fn granule_came(&self, granule: usize) -> Result<bool, Stop> {
        let len = usize::try_from(GRANULE).unwrap_or(0);
        let places = granule * len..(granule + 1) * len;
        Ok(self.brought(places.end)?[places.clone()] == PATTERN[places])
    }

    /// Returns the UPLOAD buffer that writes copy from.
    pub(super) fn source(&self) -> &ID3D12Resource {
        &self.source
    }

    pub(super) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Creates a DEFAULT heap, which lives as long as the scene.
    pub(super) fn heap(&self, granules: u64, flags: D3D12_HEAP_FLAGS) -> Result<ID3D12Heap, Stop> {
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
    pub(super) fn place(
        &self,
        heap: &ID3D12Heap,
        granule: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        self.place_at(heap, granule * GRANULE, desc, state, None)
    }

    /// Creates a resource in a heap at an offset in bytes.
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

    /// Creates two resources at the beginning of a heap of 8 granules.
    pub(super) fn pair(
        &self,
        flags: D3D12_HEAP_FLAGS,
        (one, one_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
        (other, other_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
    ) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        let heap = self.heap(8, flags)?;
        Ok((self.place(&heap, 0, one, one_state)?, self.place(&heap, 0, other, other_state)?))
    }

    /// Creates two textures in COPY_DEST that share a granule and inherit nothing from each other.
    pub(super) fn strangers(&self) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        self.pair(TEXTURES, (&square(), COPY_DEST), (&tall(), COPY_DEST))
    }

    /// Creates two overlapping textures and activates each with a barrier.
    pub(super) fn activated_strangers(&self) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
        let (one, other) = self.strangers()?;
        self.run(|list| {
            list.alias(None, Some(&one));
            list.alias(None, Some(&other));
        })?;
        Ok((one, other))
    }

    /// Creates a reserved resource without mapped tiles.
    pub(super) fn reserve(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource, Stop> {
        self.ctx.create_resource(Home::Reserved, desc, state, None).ok("a reserved resource")
    }

    /// Maps the first tiles of a reserved resource to tiles of a heap.
    pub(super) fn map_tiles(&self, resource: &ID3D12Resource, count: u32, heap: &ID3D12Heap, first: u32) {
        commands::map_tiles(&self.queue.queue, resource, 0, count, Some((heap, first)));
    }

    /// Creates a view of one mip level and slice of a render target.
    pub(super) fn target_view(
        &self,
        resource: &ID3D12Resource,
        mip: u32,
        slice: u32,
    ) -> Result<D3D12_CPU_DESCRIPTOR_HANDLE, Stop> {
        let heap = self.descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_RTV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        let part = (memory::desc(resource).Format, mip, slice);
        Ok(views::create_target_view(self.ctx.device(), resource, Some(part), &heap))
    }

    /// Creates a view of a depth buffer.
    pub(super) fn depth_view(&self, resource: &ID3D12Resource) -> Result<D3D12_CPU_DESCRIPTOR_HANDLE, Stop> {
        let heap = self.descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        Ok(views::create_depth_view(self.ctx.device(), resource, None, &heap))
    }

    /// Clears a texture with `ClearUnorderedAccessViewUint`.
    pub(super) fn clear_unordered(&self, list: &List, resource: &ID3D12Resource) -> Result<(), Stop> {
        let kind = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
        let visible = self.descriptors(kind, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)?;
        let hidden = self.descriptors(kind, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        views::create_unordered_view(self.ctx.device(), resource, None, &visible);
        let view = views::create_unordered_view(self.ctx.device(), resource, None, &hidden);
        list.set_descriptor_heap(&visible);
        list.clear_unordered(resource, &visible, view, [1, 2, 3, 4], &[]);
        Ok(())
    }

    fn descriptors(
        &self,
        heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
        flags: D3D12_DESCRIPTOR_HEAP_FLAGS,
    ) -> Result<ID3D12DescriptorHeap, Stop> {
        let desc =
            D3D12_DESCRIPTOR_HEAP_DESC { Type: heap_type, NumDescriptors: 1, Flags: flags, NodeMask: 0 };
        let heap = views::create_descriptor_heap(self.ctx.device(), &desc).ok("one descriptor")?;
        self.views.borrow_mut().push(heap.clone());
        Ok(heap)
    }

    /// Executes one list with one `ExecuteCommandLists` and waits.
    pub(super) fn run<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Result<(), Stop> {
        self.queue.run(commands)
    }

    /// Executes several lists with one `ExecuteCommandLists` and waits.
    pub(super) fn run_together(&self, lists: &[&dyn Fn(&List)]) -> Result<(), Stop> {
        self.queue.wait(self.queue.submit_together(lists)?)
    }

    /// Records commands and returns the result of `Close`.
    pub(super) fn close<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Result<Answer<()>, Stop> {
        let (list, _allocator) = open_list(self.ctx.device(), DIRECT)?;
        commands(&list).into_result()?;
        Ok(list.close())
    }

    /// Records one call of `Barrier`.
    pub(super) fn enhanced(&self, list: &List, barriers: &[Enhanced<'_>]) -> Result<(), Stop> {
        list.enhanced(barriers).ok("a call")
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

    /// Copies the source to a whole buffer or a whole subresource of a texture.
    pub(super) fn write(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        let desc = memory::desc(resource);
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return list.copy_buffer((resource, 0), (&self.source, 0), desc.Width);
        }
        let from = CopyLocation::Footprint(&self.source, self.footprint(resource, subresource).placed);
        list.copy_texture(CopyLocation::Subresource(resource, subresource), from);
    }

    /// Copies a whole buffer or a whole subresource of a texture to the READBACK buffer.
    pub(super) fn read(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        let desc = memory::desc(resource);
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return list.copy_buffer((&self.back, 0), (resource, 0), desc.Width);
        }
        let to = CopyLocation::Footprint(&self.back, self.footprint(resource, subresource).placed);
        list.copy_texture(to, CopyLocation::Subresource(resource, subresource));
    }

    /// Copies a box of texels from the source to a subresource.
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
        list.copy_texture_to(to, (rect[0], rect[1], 0), from, Some(size));
    }

    /// Copies a box of texels from a subresource to the beginning of the READBACK buffer.
    pub(super) fn read_box(&self, list: &List, resource: &ID3D12Resource, subresource: u32, rect: Rect) {
        let to = CopyLocation::Footprint(&self.back, small_footprint(resource, rect));
        let [left, top, right, bottom] = rect;
        let region = D3D12_BOX { left, top, front: 0, right, bottom, back: 1 };
        list.copy_texture_to(to, (0, 0, 0), CopyLocation::Subresource(resource, subresource), Some(region));
    }

    /// Copies a range of the source to the same range of a buffer.
    pub(super) fn write_bytes(&self, list: &List, buffer: &ID3D12Resource, offset: u64, len: u64) {
        list.copy_buffer((buffer, offset), (&self.source, offset), len);
    }

    /// Returns the first `len` bytes of the READBACK buffer.
    pub(super) fn brought(&self, len: usize) -> Result<Vec<u8>, Stop> {
        Ok(self.ctx.map(&self.back).ok("a READBACK buffer")?.read(0, len))
    }

    /// Fills the READBACK buffer with zeros.
    pub(super) fn wipe(&self) -> Result<(), Stop> {
        let zeroes = vec![0; usize::try_from(STAGING).unwrap_or(0)];
        self.ctx.map(&self.back).ok("a READBACK buffer")?.write(0, &zeroes);
        Ok(())
    }

    /// Compares the bytes that `read` copied with those that `write` copied. Returns the numbers of equal and of all bytes.
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

    /// Fails the check unless `read` copied the bytes that `write` copied.
    pub(super) fn carried(&self, resource: &ID3D12Resource, subresource: u32) -> Result<(), Stop> {
        let (same, all) = self.kept(resource, subresource)?;
        require(same == all, || format!("{same} of {all} bytes are those that were written"))
    }

    /// Fails the check unless the contents of a unit have the expected state.
    pub(super) fn contents(
        &self,
        resource: &ID3D12Resource,
        unit: u32,
        expected: HEAPWRIGHT_ALIASING_CONTENTS,
    ) -> Result<(), Stop> {
        let found = self.tracker.contents(resource, unit).ok("a unit")?;
        require_eq(format!("contents of unit {unit}"), found, Some(expected)).map(drop)
    }

    /// Fails the check unless the tracker reports nothing.
    pub(super) fn accepts(&self) -> Verdict {
        self.says(&[]).map(|_| "no violations reported".to_owned())
    }

    /// Fails the check unless the tracker reports exactly these findings.
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

    /// Runs commands and fails the check unless the tracker reports nothing.
    pub(super) fn accepts_run<R: Recorded>(&self, commands: impl FnOnce(&List) -> R) -> Verdict {
        self.run(commands)?;
        self.accepts()
    }

    /// Runs commands and fails the check unless the tracker reports exactly these findings.
    pub(super) fn refuses_run<R: Recorded>(
        &self,
        expected: &[Finding],
        commands: impl FnOnce(&List) -> R,
    ) -> Verdict {
        self.run(commands)?;
        self.refuses(expected)
    }

    /// Fails the check unless the tracker reports exactly these findings with this severity.
    pub(super) fn remarks(&self, expected: &[Finding], severity: HEAPWRIGHT_ALIASING_SEVERITY) -> Verdict {
        for (violation, text) in self.violations()? {
            require(violation.Severity == severity, || {
                format!("expected severity {severity}, found {}: {text}", violation.Severity)
            })?;
        }
        self.refuses(expected)
    }

    fn violations(&self) -> Result<Vec<(HEAPWRIGHT_ALIASING_VIOLATION, String)>, Stop> {
        self.tracker.violations().ok("all")
    }

    /// Returns the messages of all violations. Fails the check unless they are violations of exactly these rules.
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

/// The layout of a subresource in a staging buffer.
struct Footprint {
    placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    rows: u32,
    row_size: usize,
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
