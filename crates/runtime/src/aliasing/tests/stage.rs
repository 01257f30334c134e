//! A tracker without the rest of the runtime: heaps and resources are only addresses, and queues execute immediately.

use std::sync::Arc;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use crate::aliasing::options::AliasingTracking;
use crate::aliasing::resource::{Identity, Label};
use crate::aliasing::rule::Rule;
use crate::aliasing::tracker::{AliasingTracker, CreatedResource, SubmittedList};
use crate::aliasing::{Note, RecordedCall, Subresources, Violation};
use crate::ddi::umddi::{D3D12DDI_RESOURCE_FLAG_0003_NONE, D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT};
use crate::ddi::{
    Extent, ResourceAllocation, ResourceArgs, ResourceKind, TextureArgs, TextureDimension,
    TextureMemoryLayout, TextureUsage,
};
use crate::debug::MessageLog;
use crate::drivers::command::{Command, TexelValue};
use crate::drivers::heap::DriverHeap;
use crate::drivers::heap::tests::heap_apart;
use crate::drivers::resource::DriverResource;
use crate::drivers::texels::TexelLocation;
use crate::drivers::texels::TexelRegion;
use crate::drivers::tiles::{TileMapping, TileMemory};
use crate::fence::Fence;
use crate::rules::creation::Home;
use crate::rules::initial::Initial;

pub(super) const KIB_4: u64 = 4 * 1024;
pub(super) const KIB_64: u64 = 64 * 1024;

/// A heap that the tracker knows.
#[derive(Clone)]
pub(super) struct Heap {
    pub(super) driver: Arc<DriverHeap>,
    label: Arc<Label>,
    desc: D3D12_HEAP_DESC,
}

impl Heap {
    fn home(&self, offset: u64) -> Home<'_> {
        Home::Placed { heap: &self.desc, memory: &self.driver, has_address: false, offset }
    }
}

/// The kind of resource to create: a buffer, or a texture with texels of four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A buffer, with its width and whether it is tightly aligned.
    Buffer { width: u64, tight: bool },
    Texture {
        layout: TextureMemoryLayout,
        side: u32,
        mips: u32,
        slices: u32,
        usage: TextureUsage,
        hidden: u64,
    },
}

impl Kind {
    pub(super) fn buffer(width: u64) -> Self {
        Self::Buffer { width, tight: false }
    }

    pub(super) fn texture(layout: TextureMemoryLayout, side: u32, slices: u32) -> Self {
        Self::Texture { layout, side, mips: 1, slices, usage: TextureUsage::default(), hidden: 0 }
    }

    pub(super) fn args(self) -> ResourceArgs {
        let kind = match self {
            Self::Buffer { width, .. } => ResourceKind::Buffer { width: ByteSize::new(width) },
            Self::Texture { layout, side, mips, slices, usage, .. } => ResourceKind::Texture(TextureArgs {
                dimension: TextureDimension::Texture2D,
                extent: Extent { width: side, height: side, depth: 1 },
                array_size: slices,
                mip_levels: mips,
                format: crate::format::properties(DXGI_FORMAT_R8G8B8A8_UNORM).expect("a known format"),
                sample_count: 1,
                layout,
                usage,
            }),
        };
        let tight_alignment = matches!(self, Self::Buffer { tight: true, .. });
        let alignment_restriction = Alignment::new(1).expect("a power of two");
        let flags = if tight_alignment { D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT } else { 0 };
        ResourceArgs { kind, flags, alignment_restriction, create_at: None }
    }

    /// Returns size and alignment: 4 KiB for small opaque textures, otherwise 64 KiB.
    pub(super) fn allocation(self) -> (u64, u64) {
        match self {
            Self::Buffer { width, tight: true } => (width.next_multiple_of(256), 256),
            Self::Buffer { width, tight: false } => (width.next_multiple_of(KIB_64), KIB_64),
            Self::Texture { layout: TextureMemoryLayout::Unknown, side, mips, slices, usage, hidden } => {
                let bytes = u64::from(slices)
                    * (0..mips).map(|mip| u64::from((side >> mip).max(1)).pow(2) * 4).sum::<u64>();
                let is_small = bytes <= KIB_64 && !usage.is_render_target_or_depth_stencil();
                let granule = if is_small { KIB_4 } else { KIB_64 };
                (bytes.next_multiple_of(granule) + hidden * granule, granule)
            }
            Self::Texture { layout: TextureMemoryLayout::RowMajor, side, hidden, .. } => {
                let rows = u64::from(side) * (u64::from(side) * 4).next_multiple_of(256);
                (rows.next_multiple_of(KIB_64) + hidden * KIB_64, KIB_64)
            }
            Self::Texture { hidden, .. } => {
                let ResourceKind::Texture(texture) = self.args().kind else { return (0, KIB_64) };
                let grid = crate::ddi::TileGrid::new(&texture).expect("one plane");
                ((u64::from(grid.tile_count()) + hidden) * KIB_64, KIB_64)
            }
        }
    }

    pub(super) fn desc(self) -> D3D12_RESOURCE_DESC1 {
        let (layout, flags) = match self {
            Self::Buffer { .. } => (D3D12_TEXTURE_LAYOUT_ROW_MAJOR, 0),
            Self::Texture { layout, usage, .. } => {
                let layout = match layout {
                    TextureMemoryLayout::Unknown => D3D12_TEXTURE_LAYOUT_UNKNOWN,
                    TextureMemoryLayout::RowMajor => D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
                    TextureMemoryLayout::UndefinedSwizzle64Kib => D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
                    TextureMemoryLayout::StandardSwizzle64Kib => D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
                };
                let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
                let flags = flag(usage.render_target, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET)
                    | flag(usage.simultaneous_access, D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS)
                    | flag(usage.cross_adapter, D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
                (layout, flags)
            }
        };
        let (dimension, width, mips, slices) = match self {
            Self::Buffer { width, .. } => (D3D12_RESOURCE_DIMENSION_BUFFER, width, 1, 1),
            Self::Texture { side, mips, slices, .. } => {
                (D3D12_RESOURCE_DIMENSION_TEXTURE2D, side.into(), mips, slices)
            }
        };
        // Textures with hidden memory are a different kind, so their descriptions must differ.
        let quality = match self {
            Self::Buffer { .. } => 0,
            Self::Texture { hidden, .. } => hidden.try_into().expect("the value fits"),
        };
        D3D12_RESOURCE_DESC1 {
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: quality },
            Dimension: dimension,
            Width: width,
            MipLevels: mips.try_into().expect("the value fits"),
            DepthOrArraySize: slices.try_into().expect("the value fits"),
            Layout: layout,
            Flags: flags,
            ..Default::default()
        }
    }
}

/// A resource, which the tracker may or may not know.
#[derive(Clone)]
pub(super) struct Resource {
    pub(super) driver: Arc<DriverResource>,
    pub(super) kind: Kind,
}

/// A recorded call with its notes and commands.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) notes: Vec<Note>,
    pub(super) commands: Vec<Command>,
}

impl Call {
    pub(super) fn notes(name: &'static str, notes: Vec<Note>) -> Self {
        Self { name, notes, commands: Vec::new() }
    }

    pub(super) fn command(name: &'static str, command: Command) -> Self {
        Self { name, notes: Vec::new(), commands: vec![command] }
    }

    pub(super) fn alias(before: Option<&Resource>, after: Option<&Resource>) -> Self {
        let driver = |resource: Option<&Resource>| resource.map(|resource| Arc::clone(&resource.driver));
        Self::notes("ResourceBarrier", vec![Note::Aliasing { before: driver(before), after: driver(after) }])
    }
}

/// A violation in short: the rule, and the numbers of both resources.
pub(super) type Said = (Rule, Option<u64>, Option<u64>);

pub(super) struct Stage {
    pub(super) tracker: Arc<AliasingTracker>,
    /// A resource that is not tracked and overlaps no other.
    outside: Arc<DriverResource>,
}

impl Stage {
    pub(super) fn new(tracking: AliasingTracking) -> Self {
        let tracker = Arc::new(AliasingTracker::new(&Arc::new(MessageLog::new(false)), true));
        tracker.set(Some(tracking));
        Self { tracker, outside: resource_apart() }
    }

    pub(super) fn heap(&self, flags: D3D12_HEAP_FLAGS) -> Heap {
        let desc = D3D12_HEAP_DESC { Flags: flags, ..Default::default() };
        let heap = Heap { driver: heap_apart(), label: Arc::default(), desc };
        self.tracker.heap_created(&heap.driver, &heap.label, flags);
        heap
    }

    fn create(
        &self,
        kind: Kind,
        home: Home<'_>,
        heap_label: Option<&Arc<Label>>,
        state: D3D12_RESOURCE_STATES,
        label: &Arc<Label>,
    ) -> Resource {
        let resource = Resource { driver: resource_apart(), kind };
        let (size, alignment) = kind.allocation();
        self.tracker.resource_created(CreatedResource {
            driver: &resource.driver,
            args: &kind.args(),
            allocation: ResourceAllocation {
                size: ByteSize::new(size),
                alignment: Alignment::new(alignment).expect("a power of two"),
            },
            identity: Identity { desc: kind.desc(), clear_value: None },
            label,
            home,
            heap_label: heap_label.cloned(),
            state: Initial::State(state),
        });
        resource
    }

    pub(super) fn place(
        &self,
        heap: &Heap,
        offset: u64,
        kind: Kind,
        state: D3D12_RESOURCE_STATES,
    ) -> Resource {
        self.create(kind, heap.home(offset), Some(&heap.label), state, &Arc::default())
    }

    pub(super) fn place_named(
        &self,
        heap: &Heap,
        offset: u64,
        kind: Kind,
        state: D3D12_RESOURCE_STATES,
        name: &str,
    ) -> Resource {
        let named = Arc::new(Label::default());
        named.set(Some(name));
        self.create(kind, heap.home(offset), Some(&heap.label), state, &named)
    }

    pub(super) fn commit(&self, kind: Kind, state: D3D12_RESOURCE_STATES) -> Resource {
        let home = Home::Committed { properties: &Default::default(), flags: D3D12_HEAP_FLAG_NONE };
        self.create(kind, home, None, state, &Arc::default())
    }

    /// Returns the number of parts of resources that draws and dispatches were found to write.
    pub(super) fn visits(&self) -> u64 {
        self.tracker.visits()
    }

    pub(super) fn reserve(&self, kind: Kind, state: D3D12_RESOURCE_STATES) -> Resource {
        self.create(kind, Home::Reserved, None, state, &Arc::default())
    }

    /// Copies bytes from or to a buffer.
    pub(super) fn bytes(&self, buffer: &Resource, start: u64, size: u64, is_read: bool) -> Call {
        let (here, there) = ((Arc::clone(&buffer.driver), start), (Arc::clone(&self.outside), 0));
        let (target, source) = if is_read { (there, here) } else { (here, there) };
        Call::command("CopyBufferRegion", Command::CopyBuffer { target, source, size })
    }

    /// Copies texels of a subresource from or to a texture.
    pub(super) fn texels(&self, texture: &Resource, index: u32, region: TexelRegion, is_read: bool) -> Call {
        let here = TexelLocation::Subresource { resource: Arc::clone(&texture.driver), index };
        let there = TexelLocation::Subresource { resource: Arc::clone(&self.outside), index: 0 };
        let (target, source, target_start, region) = if is_read {
            (there, here, [0; 3], region)
        } else {
            (here, there, region.start, TexelRegion { start: [0; 3], ..region })
        };
        let target_size = region.size;
        let command = Command::CopyTexels { target, target_start, target_size, source, region };
        Call::command("CopyTextureRegion", command)
    }

    /// Discards a subresource.
    pub(super) fn discard(texture: &Resource, index: u32) -> Call {
        let (resource, subresources) = (Arc::clone(&texture.driver), Subresources::Some(vec![index]));
        let note = Note::Discard { resource, subresources, is_whole: true, is_compute: false };
        Call::notes("DiscardResource", vec![note])
    }

    /// Copies an entire subresource.
    pub(super) fn all_texels(&self, texture: &Resource, index: u32, is_read: bool) -> Call {
        let Kind::Texture { side, mips, .. } = texture.kind else { unreachable!("a texture") };
        let side = (side >> (index % mips)).max(1);
        self.texels(texture, index, TexelRegion { start: [0; 3], size: [side, side, 1] }, is_read)
    }

    /// Copies a tile of 128 by 128 texels in the first row of a subresource.
    pub(super) fn tile_texels(&self, texture: &Resource, index: u32, tile: u32, is_read: bool) -> Call {
        let region = TexelRegion { start: [tile * 128, 0, 0], size: [128, 128, 1] };
        self.texels(texture, index, region, is_read)
    }

    /// Fills texels by a call with the given name.
    pub(super) fn fill(name: &'static str, texture: &Resource, index: u32, region: TexelRegion) -> Call {
        let value = TexelValue { bytes: [0; 16], len: 4 };
        let target = Arc::clone(&texture.driver);
        Call::command(name, Command::FillTexels { target, subresource: index, region, value })
    }

    /// Executes one list in one `ExecuteCommandLists`. Returns the new violations and the commands.
    pub(super) fn execute(&self, agent: u32, calls: &[Call]) -> (Vec<Violation>, Vec<Command>) {
        let mut commands = Vec::new();
        let mut recorded = Vec::new();
        for call in calls {
            let (name, notes, first_command) = (call.name, call.notes.clone(), commands.len());
            recorded.push(RecordedCall { name, first_command, notes });
            commands.extend(call.commands.iter().cloned());
        }
        let list = SubmittedList { commands: commands.into(), calls: Some(recorded.into()) };
        let executed = self.tracker.execute(agent, false, vec![list]).ask();
        self.tracker.audit().expect("the tracker's state is consistent");
        let found = self.tracker.violations();
        self.tracker.clear_violations();
        (found, executed)
    }

    pub(super) fn said(&self, agent: u32, calls: &[Call]) -> Vec<Said> {
        let number = |subject: &Option<crate::aliasing::violation::Subject>| {
            subject.as_ref().map(|subject| subject.number)
        };
        let (found, _) = self.execute(agent, calls);
        found.iter().map(|found| (found.rule, number(&found.resource), number(&found.other))).collect()
    }

    pub(super) fn signal(&self, agent: u32, fence: &Arc<Fence>, value: u64) {
        let _ = self.tracker.before_signal(agent, fence, value).ask();
        fence.set(value);
    }

    pub(super) fn wait(&self, agent: u32, fence: &Arc<Fence>, value: u64) {
        let _ = self.tracker.after_wait(agent, &fence.begin_wait(value)).ask();
    }

    /// Maps tiles to those of a heap from `heap_tile` on, or unmaps them.
    pub(super) fn map(&self, resource: &Resource, first: u32, count: u32, memory: Option<(&Heap, u32)>) {
        let memory = match memory {
            None => TileMemory::Null,
            Some((heap, first)) => TileMemory::Heap { heap: Arc::clone(&heap.driver), first },
        };
        let _ = self.tracker.update_mappings(&resource.driver, &[TileMapping { first, count, memory }]).ask();
        self.tracker.audit().expect("the tracker's state is consistent");
    }

    /// Returns the numbers of known resources and heaps.
    pub(super) fn known(&self) -> (usize, usize) {
        self.tracker.known()
    }

    pub(super) fn contents(&self, resource: &Resource, unit: u32) -> HEAPWRIGHT_ALIASING_CONTENTS {
        self.tracker.contents(&resource.driver, unit).expect("a unit of a tracked resource")
    }
}

/// Creates a resource in a heap that contains nothing else.
fn resource_apart() -> Arc<DriverResource> {
    let args = ResourceArgs {
        kind: ResourceKind::Buffer { width: ByteSize::new(1) },
        flags: D3D12DDI_RESOURCE_FLAG_0003_NONE,
        alignment_restriction: Alignment::ONE,
        create_at: None,
    };
    let allocation = ResourceAllocation { size: ByteSize::new(1), alignment: Alignment::ONE };
    let resource = DriverResource::placed(&args, allocation, heap_apart(), 0);
    Arc::new(resource.expect("the heap is not at the end of the address space"))
}
