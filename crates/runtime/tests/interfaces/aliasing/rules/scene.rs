//! The fixture of the rows: a device that tracks aliasing, a queue, and resources that share memory.

use std::cell::RefCell;
use std::sync::LazyLock;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface;

use super::calls::{Enhanced, List, Lists};
use super::wrong::Lies;
use crate::gpu::{self, Answer as _};
use crate::queues::textures::{borrow, subresource as texture_location};

pub(crate) const KIB: u64 = 1024;
/// Size of a granule of buffers and of most textures, and of a tile, in bytes.
pub(crate) const GRANULE: u64 = 64 * KIB;
/// Size of the staging buffers, in bytes.
const STAGING: u64 = 256 * KIB;

pub(crate) const TEXTURES: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
pub(crate) const TARGETS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES;
pub(crate) const BUFFERS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
pub(crate) const ALL: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_NONE;
/// The flag of heaps in which textures of unknown layout inherit data.
pub(crate) const SHARED: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_SHARED;
pub(crate) const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
pub(crate) const COPY_DEST: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_DEST;
pub(crate) const COPY_SOURCE: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_SOURCE;
pub(crate) const RENDER_TARGET: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET;

pub(crate) const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
/// A box of one texel.
pub(crate) const TEXEL: Rect = [0, 0, 1, 1];

pub(crate) const ADVANCED: HEAPWRIGHT_ALIASING_TRACKING = HEAPWRIGHT_ALIASING_TRACKING {
    Model: HEAPWRIGHT_ALIASING_MODEL_ADVANCED,
    Strictness: HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED,
    Scramble: 0,
    ScrambleSeed: 0,
};
pub(crate) const SIMPLE: HEAPWRIGHT_ALIASING_TRACKING =
    HEAPWRIGHT_ALIASING_TRACKING { Model: HEAPWRIGHT_ALIASING_MODEL_SIMPLE, ..ADVANCED };
pub(crate) const MILD: HEAPWRIGHT_ALIASING_TRACKING =
    HEAPWRIGHT_ALIASING_TRACKING { Strictness: HEAPWRIGHT_ALIASING_STRICTNESS_MILD, ..ADVANCED };
pub(crate) const STRICT: HEAPWRIGHT_ALIASING_TRACKING =
    HEAPWRIGHT_ALIASING_TRACKING { Strictness: HEAPWRIGHT_ALIASING_STRICTNESS_STRICT, ..ADVANCED };
pub(crate) const PEDANTIC: HEAPWRIGHT_ALIASING_TRACKING =
    HEAPWRIGHT_ALIASING_TRACKING { Strictness: HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC, ..ADVANCED };
pub(crate) const SCRAMBLING: HEAPWRIGHT_ALIASING_TRACKING =
    HEAPWRIGHT_ALIASING_TRACKING { Scramble: 1, ScrambleSeed: 8, ..ADVANCED };

/// An error says what was expected and what was found.
pub(crate) type Verdict = Result<(), String>;

/// The violated rule, and the rule that is its cause or "".
pub(crate) type Finding = (&'static str, &'static str);

/// A box of texels: left, top, right and bottom.
pub(crate) type Rect = [u32; 4];

/// Whether a row's commands are accepted without a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Accepted,
    Refused,
}

/// Commands, and what the tracker says of them.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The rule that the commands follow or violate; `None` for the tracker's interface.
    pub(crate) rule: Option<(&'static str, Side)>,
    pub(crate) profile: &'static str,
    pub(crate) tracking: HEAPWRIGHT_ALIASING_TRACKING,
    pub(crate) body: fn(&Scene) -> Verdict,
}

impl Row {
    /// The row with another usage model or strictness.
    pub(crate) const fn with(self, tracking: HEAPWRIGHT_ALIASING_TRACKING) -> Self {
        Self { tracking, ..self }
    }

    /// The row on another simulated GPU.
    pub(crate) const fn on(self, profile: &'static str) -> Self {
        Self { profile, ..self }
    }
}

/// A row for the tracker's interface.
pub(crate) const fn row(name: &'static str, body: fn(&Scene) -> Verdict) -> Row {
    Row { name, rule: None, profile: "discrete", tracking: ADVANCED, body }
}

/// A row that follows a rule.
pub(crate) const fn accepted(name: &'static str, rule: &'static str, body: fn(&Scene) -> Verdict) -> Row {
    Row { rule: Some((rule, Side::Accepted)), ..row(name, body) }
}

/// A row that violates a rule.
pub(crate) const fn refused(name: &'static str, rule: &'static str, body: fn(&Scene) -> Verdict) -> Row {
    Row { rule: Some((rule, Side::Refused)), ..row(name, body) }
}

/// Fails a row unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}

pub(crate) use ensure;

pub(crate) fn require_eq<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Verdict {
    ensure!(found == expected, "{what}: expected {expected:?}, found {found:?}");
    Ok(())
}

pub(crate) fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    gpu::buffer_desc(width, D3D12_RESOURCE_FLAG_NONE)
}

pub(crate) fn tight_buffer(width: u64) -> D3D12_RESOURCE_DESC {
    gpu::buffer_desc(width, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT)
}

pub(crate) fn rgba(width: u32, height: u32) -> D3D12_RESOURCE_DESC {
    gpu::texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [width, height])
}

pub(crate) fn with_flags(desc: D3D12_RESOURCE_DESC, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Flags: desc.Flags | flags, ..desc }
}

pub(crate) fn with_layout(desc: D3D12_RESOURCE_DESC, layout: D3D12_TEXTURE_LAYOUT) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Layout: layout, ..desc }
}

pub(crate) fn with_format(desc: D3D12_RESOURCE_DESC, format: DXGI_FORMAT) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Format: format, ..desc }
}

pub(crate) fn with_mips(desc: D3D12_RESOURCE_DESC, levels: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { MipLevels: levels, ..desc }
}

pub(crate) fn with_slices(desc: D3D12_RESOURCE_DESC, count: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { DepthOrArraySize: count, ..desc }
}

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

/// The bytes of the source: none is 0, and all granules differ.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let byte = |place: u64| u8::try_from((place + place / 251) % 251 + 1).unwrap_or(1);
    (0..STAGING).map(byte).collect()
});

/// A device that tracks aliasing, with a direct queue and staging buffers.
pub(crate) struct Scene {
    pub(crate) device: ID3D12Device14,
    tracker: IHeapwrightAliasing,
    pub(crate) queue: Lists,
    source: ID3D12Resource,
    back: ID3D12Resource,
    /// The descriptor heaps of views that recorded commands name.
    views: RefCell<Vec<ID3D12DescriptorHeap>>,
    /// The heaps that tiles may be mapped to.
    heaps: RefCell<Vec<ID3D12Heap>>,
}

impl Scene {
    /// Opens a device for a row that tells lies.
    pub(crate) fn open(row: &Row, lies: &'static Lies) -> Self {
        let profile = HostProfile::find(row.profile).expect("a profile of that name");
        let profile = HostProfile { has_standard_swizzle: true, ..*profile };
        let gpu = Instance::open(&profile).expect("a fresh instance");
        if let Some(law) = lies.forgotten_law {
            assert!(gpu.forget_aliasing_law(law), "{law} is no law of aliasing");
        }
        super::wrong::intercept_device(&gpu.device, lies);
        let device: ID3D12Device14 = gpu.device.cast().expect("the newest interface");
        let tracker: IHeapwrightAliasing = device.cast().expect("the runtime tracks aliasing");
        unsafe { tracker.SetTracking(&raw const row.tracking) }.succeeds();
        let source = gpu::commit(&device, D3D12_HEAP_TYPE_UPLOAD, STAGING);
        gpu::bytes(&source).copy_from_slice(&PATTERN);
        let back = gpu::commit(&device, D3D12_HEAP_TYPE_READBACK, STAGING);
        let queue = Lists::new(&device, D3D12_COMMAND_LIST_TYPE_DIRECT);
        Self { device, tracker, queue, source, back, views: RefCell::default(), heaps: RefCell::default() }
    }

    pub(crate) fn queue_of(&self, kind: D3D12_COMMAND_LIST_TYPE) -> Lists {
        Lists::new(&self.device, kind)
    }

    /// Returns the UPLOAD buffer that writes copy from.
    pub(crate) fn source(&self) -> &ID3D12Resource {
        &self.source
    }

    fn allocation(&self, desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_ALLOCATION_INFO {
        unsafe { self.device.GetResourceAllocationInfo(0, &[*desc]) }
    }

    pub(crate) fn size_of(&self, desc: &D3D12_RESOURCE_DESC) -> u64 {
        self.allocation(desc).SizeInBytes
    }

    pub(crate) fn alignment_of(&self, desc: &D3D12_RESOURCE_DESC) -> u64 {
        self.allocation(desc).Alignment
    }

    /// Creates a DEFAULT heap, which lives as long as the scene.
    pub(crate) fn heap(&self, granules: u64, flags: D3D12_HEAP_FLAGS) -> ID3D12Heap {
        let heap = gpu::default_heap(&self.device, granules * GRANULE, flags);
        self.heaps.borrow_mut().push(heap.clone());
        heap
    }

    /// Creates a resource in a heap at an offset in granules.
    pub(crate) fn place(
        &self,
        heap: &ID3D12Heap,
        granule: u64,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> ID3D12Resource {
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
    ) -> ID3D12Resource {
        let (mut resource, clear) = (None, clear.map(std::ptr::from_ref));
        unsafe { self.device.CreatePlacedResource(heap, offset, desc, state, clear, &mut resource) }
            .expect("a valid place");
        resource.expect("S_OK comes with a resource")
    }

    /// Creates two resources at the beginning of a heap of 8 granules.
    pub(crate) fn pair(
        &self,
        flags: D3D12_HEAP_FLAGS,
        (one, one_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
        (other, other_state): (&D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES),
    ) -> (ID3D12Resource, ID3D12Resource) {
        let heap = self.heap(8, flags);
        (self.place(&heap, 0, one, one_state), self.place(&heap, 0, other, other_state))
    }

    /// Creates two textures in COPY_DEST that share a granule and inherit nothing from each other.
    pub(crate) fn strangers(&self) -> (ID3D12Resource, ID3D12Resource) {
        self.pair(TEXTURES, (&square(), COPY_DEST), (&tall(), COPY_DEST))
    }

    /// Creates two overlapping textures and activates each with a barrier.
    pub(crate) fn activated_strangers(&self) -> (ID3D12Resource, ID3D12Resource) {
        let (one, other) = self.strangers();
        self.run(|list| {
            list.alias(None, Some(&one));
            list.alias(None, Some(&other));
        });
        (one, other)
    }

    /// Creates a reserved resource without mapped tiles.
    pub(crate) fn reserve(&self, desc: &D3D12_RESOURCE_DESC, state: D3D12_RESOURCE_STATES) -> ID3D12Resource {
        let mut resource = None;
        unsafe { self.device.CreateReservedResource(desc, state, None, &mut resource) }
            .expect("a reserved resource");
        resource.expect("S_OK comes with a resource")
    }

    /// Maps the first tiles of a reserved resource to tiles of a heap.
    pub(crate) fn map_tiles(&self, resource: &ID3D12Resource, count: u32, heap: &ID3D12Heap, first: u32) {
        let start = D3D12_TILED_RESOURCE_COORDINATE::default();
        let size = D3D12_TILE_REGION_SIZE { NumTiles: count, ..Default::default() };
        let (flags, none) = (D3D12_TILE_RANGE_FLAG_NONE, D3D12_TILE_MAPPING_FLAG_NONE);
        let (flags, first, count) = (Some(&raw const flags), Some(&raw const first), Some(&raw const count));
        let (start, size) = (Some(&raw const start), Some(&raw const size));
        let queue = &self.queue.queue;
        unsafe { queue.UpdateTileMappings(resource, 1, start, size, heap, 1, flags, first, count, none) };
    }

    fn view(&self, kind: D3D12_DESCRIPTOR_HEAP_TYPE) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        let none = D3D12_DESCRIPTOR_HEAP_FLAG_NONE;
        let heap = gpu::descriptor_heap(&self.device, kind, 1, none).expect("one descriptor");
        self.views.borrow_mut().push(heap.clone());
        unsafe { heap.GetCPUDescriptorHandleForHeapStart() }
    }

    /// Creates a view of one mip level and slice of a render target.
    pub(crate) fn target_view(
        &self,
        resource: &ID3D12Resource,
        mip: u32,
        slice: u32,
    ) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        let view = self.view(D3D12_DESCRIPTOR_HEAP_TYPE_RTV);
        let desc = gpu::slices_view(unsafe { resource.GetDesc() }.Format, mip, slice, 1);
        unsafe { self.device.CreateRenderTargetView(resource, Some(&raw const desc), view) };
        view
    }

    /// Creates a view of a depth buffer.
    pub(crate) fn depth_view(&self, resource: &ID3D12Resource) -> D3D12_CPU_DESCRIPTOR_HANDLE {
        let view = self.view(D3D12_DESCRIPTOR_HEAP_TYPE_DSV);
        unsafe { self.device.CreateDepthStencilView(resource, None, view) };
        view
    }

    /// Clears a texture with `ClearUnorderedAccessViewUint`.
    pub(crate) fn clear_unordered(&self, list: &List, resource: &ID3D12Resource) {
        let (kind, visible) =
            (D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
        let visible = gpu::descriptor_heap(&self.device, kind, 1, visible).expect("one descriptor");
        let view = self.view(kind);
        unsafe {
            let (cpu, gpu) =
                (visible.GetCPUDescriptorHandleForHeapStart(), visible.GetGPUDescriptorHandleForHeapStart());
            for view in [cpu, view] {
                self.device.CreateUnorderedAccessView(resource, None, None, view);
            }
            list.0.SetDescriptorHeaps(&[Some(visible.clone())]);
            list.0.ClearUnorderedAccessViewUint(gpu, view, resource, &[1, 2, 3, 4], &[]);
        }
        self.views.borrow_mut().push(visible);
    }

    /// Executes one list and waits.
    pub(crate) fn run(&self, record: impl Fn(&List)) {
        self.queue.run_together(&[&record]);
    }

    /// Executes several lists with one `ExecuteCommandLists` and waits.
    pub(crate) fn run_together(&self, recordings: &[&dyn Fn(&List)]) {
        self.queue.run_together(recordings);
    }

    /// Records one call of `Barrier`.
    pub(crate) fn enhanced(&self, list: &List, barriers: &[Enhanced<'_>]) {
        list.enhanced(barriers);
    }

    fn footprint(&self, resource: &ID3D12Resource, subresource: u32) -> Footprint {
        let (mut placed, mut rows, mut row_size) = (D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(), 0, 0);
        let desc = unsafe { resource.GetDesc() };
        let (layout, count, size) = (Some(&raw mut placed), Some(&raw mut rows), Some(&raw mut row_size));
        unsafe { self.device.GetCopyableFootprints(&desc, subresource, 1, 0, layout, count, size, None) };
        Footprint { placed, rows, row_size: usize::try_from(row_size).expect("small") }
    }

    /// Copies the source to a whole buffer or a whole subresource of a texture.
    pub(crate) fn write(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        let desc = unsafe { resource.GetDesc() };
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return list.copy_buffer((resource, 0), (&self.source, 0), desc.Width);
        }
        let from = staged(&self.source, self.footprint(resource, subresource).placed);
        let to = texture_location(resource, subresource);
        unsafe { list.0.CopyTextureRegion(&to, 0, 0, 0, &from, None) };
    }

    /// Copies a whole buffer or a whole subresource of a texture to the READBACK buffer.
    pub(crate) fn read(&self, list: &List, resource: &ID3D12Resource, subresource: u32) {
        let desc = unsafe { resource.GetDesc() };
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return list.copy_buffer((&self.back, 0), (resource, 0), desc.Width);
        }
        let to = staged(&self.back, self.footprint(resource, subresource).placed);
        let from = texture_location(resource, subresource);
        unsafe { list.0.CopyTextureRegion(&to, 0, 0, 0, &from, None) };
    }

    /// Copies a box of texels from the source to a subresource.
    pub(crate) fn write_box(&self, list: &List, resource: &ID3D12Resource, subresource: u32, rect: Rect) {
        let [left, top, right, bottom] = rect;
        let from = staged(&self.source, small_footprint(resource, rect));
        let size =
            D3D12_BOX { left: 0, top: 0, front: 0, right: right - left, bottom: bottom - top, back: 1 };
        let to = texture_location(resource, subresource);
        unsafe { list.0.CopyTextureRegion(&to, left, top, 0, &from, Some(&raw const size)) };
    }

    /// Copies a box of texels from a subresource to the beginning of the READBACK buffer.
    pub(crate) fn read_box(&self, list: &List, resource: &ID3D12Resource, subresource: u32, rect: Rect) {
        let [left, top, right, bottom] = rect;
        let to = staged(&self.back, small_footprint(resource, rect));
        let region = D3D12_BOX { left, top, front: 0, right, bottom, back: 1 };
        let from = texture_location(resource, subresource);
        unsafe { list.0.CopyTextureRegion(&to, 0, 0, 0, &from, Some(&raw const region)) };
    }

    /// Copies a range of the source to the same range of a buffer.
    pub(crate) fn write_bytes(&self, list: &List, buffer: &ID3D12Resource, offset: u64, len: u64) {
        list.copy_buffer((buffer, offset), (&self.source, offset), len);
    }

    /// Returns the first `len` bytes of the READBACK buffer.
    pub(crate) fn brought(&self, len: usize) -> Vec<u8> {
        gpu::bytes(&self.back)[..len].to_vec()
    }

    /// Fills the READBACK buffer with zeros.
    pub(crate) fn wipe(&self) {
        gpu::bytes(&self.back).fill(0);
    }

    /// Compares the texels that `read` copied with those that `write` copied. Returns the numbers of equal and of all
    /// bytes.
    pub(crate) fn kept(&self, texture: &ID3D12Resource, subresource: u32) -> (usize, usize) {
        let footprint = self.footprint(texture, subresource);
        let pitch = usize::try_from(footprint.placed.Footprint.RowPitch).expect("small");
        let found = gpu::bytes(&self.back);
        let mut counts = (0, 0);
        for row in 0..usize::try_from(footprint.rows).expect("small") {
            let places = row * pitch..row * pitch + footprint.row_size;
            counts.1 += places.len();
            counts.0 += places.filter(|&place| found[place] == PATTERN[place]).count();
        }
        counts
    }

    /// Fails the row unless `read` copied the texels that `write` copied.
    pub(crate) fn carried(&self, texture: &ID3D12Resource, subresource: u32) -> Verdict {
        let (same, all) = self.kept(texture, subresource);
        ensure!(same == all, "{same} of {all} bytes are those that were written");
        Ok(())
    }

    /// Fails the row unless the contents of a unit have the expected state.
    pub(crate) fn contents(
        &self,
        resource: &ID3D12Resource,
        unit: u32,
        expected: HEAPWRIGHT_ALIASING_CONTENTS,
    ) -> Verdict {
        let mut found = -1;
        unsafe { self.tracker.GetContents(resource.as_raw(), unit, &raw mut found) }.succeeds();
        require_eq("contents", found, expected)
    }

    pub(crate) fn tracking(&self) -> HEAPWRIGHT_ALIASING_TRACKING {
        let mut tracking = ADVANCED;
        unsafe { self.tracker.GetTracking(&raw mut tracking) }.succeeds();
        tracking
    }

    /// Returns a violation and its message, or `None` if it does not exist.
    pub(crate) fn violation(&self, index: u64) -> Option<(HEAPWRIGHT_ALIASING_VIOLATION, String)> {
        let mut violation = HEAPWRIGHT_ALIASING_VIOLATION {
            Rule: [0; 8],
            Because: [0; 8],
            Severity: -1,
            Unit: 0,
            Resource: 0,
            Other: 0,
            HeapOffset: 0,
            HeapSize: 0,
            List: 0,
            Call: 0,
        };
        let mut size = 0;
        let none = std::ptr::null_mut();
        unsafe {
            if self.tracker.GetViolation(index, &raw mut violation) == S_FALSE {
                return None;
            }
            self.tracker.GetViolationText(index, &raw mut size, none).succeeds();
            let mut text = vec![0_u8; size];
            self.tracker.GetViolationText(index, &raw mut size, text.as_mut_ptr()).succeeds();
            Some((violation, String::from_utf8_lossy(&text).into_owned()))
        }
    }

    fn violations(&self) -> Vec<(HEAPWRIGHT_ALIASING_VIOLATION, String)> {
        let count = unsafe { self.tracker.GetViolationCount() };
        (0..count).map(|index| self.violation(index).expect("a violation that was counted")).collect()
    }

    pub(crate) fn clear_violations(&self) {
        unsafe { self.tracker.ClearViolations() };
    }

    /// Fails the row unless the tracker reports nothing.
    pub(crate) fn accepts(&self) -> Verdict {
        self.refuses(&[])
    }

    /// Runs commands and fails the row unless the tracker reports nothing.
    pub(crate) fn accepts_run(&self, record: impl Fn(&List)) -> Verdict {
        self.refuses_run(&[], record)
    }

    /// Runs commands and fails the row unless the tracker reports exactly these findings.
    pub(crate) fn refuses_run(&self, expected: &[Finding], record: impl Fn(&List)) -> Verdict {
        self.run(record);
        self.refuses(expected)
    }

    /// Fails the row unless the tracker reports exactly these findings with this severity.
    pub(crate) fn remarks(&self, expected: &[Finding], severity: HEAPWRIGHT_ALIASING_SEVERITY) -> Verdict {
        for (violation, text) in self.violations() {
            ensure!(
                violation.Severity == severity,
                "expected severity {severity}, found {}: {text}",
                violation.Severity
            );
        }
        self.refuses(expected)
    }

    /// Fails the row unless the tracker reports exactly these findings.
    pub(crate) fn refuses(&self, expected: &[Finding]) -> Verdict {
        let violations = self.violations();
        let id = HEAPWRIGHT_ALIASING_VIOLATION::id;
        let mut found: Vec<(&str, &str)> =
            violations.iter().map(|(one, _)| (id(&one.Rule), id(&one.Because))).collect();
        found.sort_unstable();
        found.dedup();
        let mut wanted = expected.to_vec();
        wanted.sort_unstable();
        let texts: Vec<&str> = violations.iter().map(|(_, text)| text.as_str()).collect();
        ensure!(found == wanted, "expected {wanted:?}, found {found:?}: {}", texts.join("; "));
        Ok(())
    }
}

/// The layout of a subresource in a staging buffer.
struct Footprint {
    placed: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
    rows: u32,
    row_size: usize,
}

fn staged(
    buffer: &ID3D12Resource,
    footprint: D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
) -> D3D12_TEXTURE_COPY_LOCATION {
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrow(buffer),
        Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { PlacedFootprint: footprint },
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
            Format: unsafe { resource.GetDesc() }.Format,
            Width: width,
            Height: bottom - top,
            Depth: 1,
            RowPitch: (width * 4).next_multiple_of(256),
        },
    }
}
