//! Compute shaders: what they write and read through views of committed and placed resources.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict};
use crate::check::{Check, Need, check};
use crate::com::pipelines::{self, Argument};
use crate::com::{memory, views};
use crate::context::{Context, pageable};
use crate::desc::*;
use crate::dxbc::{self, Assembly, Declaration, Instruction, Operand, Parameter};
use crate::queue::{Queue, pattern, read};
use crate::transfer::Staged;

const ROOT_VIEW: &str = "Learn, ID3D12GraphicsCommandList::SetComputeRootUnorderedAccessView";
const ROOT_READ: &str = "Learn, ID3D12GraphicsCommandList::SetComputeRootShaderResourceView";
const TABLE: &str = "Learn, ID3D12GraphicsCommandList::SetComputeRootDescriptorTable";
const PAGING: &str = "Learn, ID3D12Device::Evict and MakeResident, contents are kept";
const ALIAS: &str = "ALIAS, Data Inheritance, buffers";

const SHADERS: &[Need] = &[Need::Shaders];
const TEXTURES: &[Need] = &[Need::Shaders, Need::Textures, Need::Footprints];

/// Words that a dispatch writes, 64 by each of 16 groups.
const WORDS: u32 = 1024;
const BYTES: usize = 4096;

pub(super) const CHECKS: &[Check] = &[
    check("shaders/fill-a-committed-buffer", ROOT_VIEW, SHADERS, |ctx| {
        let (gpu, target) = (Gpu::new(ctx)?, ctx.commit(DEFAULT, &words(BYTES)).ok("4 KiB")?);
        gpu.fill(memory::address(&target))?;
        gpu.has(&target, &filled())
    }),
    check("shaders/fill-through-a-raw-view", TABLE, SHADERS, |ctx| {
        let (gpu, target) = (Gpu::new(ctx)?, ctx.commit(DEFAULT, &words(2 * BYTES)).ok("8 KiB")?);
        gpu.put(&target, &pattern(2 * BYTES, 1))?;
        let heap = visible(ctx)?;
        views::create_unordered_view(ctx.device(), &target, Some(WORDS), &heap);
        gpu.run(&FILL, &[Parameter::UnorderedTable(0)], &[Argument::Table(&heap)])?;
        gpu.has(&target, &[filled(), pattern(2 * BYTES, 1)[BYTES..].to_vec()].concat())
    }),
    check("shaders/fill-at-an-offset", ROOT_VIEW, SHADERS, |ctx| {
        let (gpu, target) = (Gpu::new(ctx)?, ctx.commit(DEFAULT, &words(3 * BYTES)).ok("12 KiB")?);
        let before = pattern(3 * BYTES, 1);
        gpu.put(&target, &before)?;
        gpu.fill(memory::address(&target) + 256)?;
        gpu.has(&target, &[before[..256].to_vec(), filled(), before[256 + BYTES..].to_vec()].concat())
    }),
    check("shaders/fill-between-neighbours", ROOT_VIEW, SHADERS, |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 192 * KIB)).ok("192 KiB")?;
        let (gpu, mut placed) = (Gpu::new(ctx)?, Vec::new());
        for (seed, offset) in (0..).zip([0, 64 * KIB, 128 * KIB]) {
            placed.push(ctx.place(&heap, offset, &words(BYTES)).ok(format!("offset {offset:#x}"))?);
            gpu.put(&placed[placed.len() - 1], &pattern(BYTES, seed))?;
        }
        gpu.fill(memory::address(&placed[1]))?;
        gpu.has(&placed[0], &pattern(BYTES, 0))?;
        gpu.has(&placed[2], &pattern(BYTES, 2))?;
        gpu.has(&placed[1], &filled())
    }),
    check("shaders/copy-through-root-views", ROOT_READ, SHADERS, |ctx| {
        let gpu = Gpu::new(ctx)?;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 128 * KIB)).ok("128 KiB")?;
        let (from, to) = (
            ctx.place(&heap, 64 * KIB, &words(BYTES)).ok("offset 64 KiB")?,
            ctx.place(&heap, 0, &words(BYTES)).ok("offset 0")?,
        );
        gpu.put(&from, &pattern(BYTES, 3))?;
        gpu.copy(&from, &to)?;
        gpu.has(&to, &pattern(BYTES, 3))
    }),
    check("shaders/read-a-placed-texture", TABLE, TEXTURES, |ctx| {
        let (gpu, desc) = (Gpu::new(ctx)?, texture2d(DXGI_FORMAT_R32_UINT, 64, 16));
        let heap = ctx.create_heap(&texture_heap(192 * KIB)).ok("192 KiB")?;
        let staged = Staged::of(ctx.device(), &desc)?;
        let mut placed = Vec::new();
        for (seed, offset) in (0..).zip([0, 64 * KIB, 128 * KIB]) {
            let texture = ctx.place(&heap, offset, &desc).ok(format!("offset {offset:#x}"))?;
            let source = gpu.queue.upload(&pattern(staged.len, seed))?;
            gpu.queue.run(|list| {
                list.transition(&texture, COMMON, COPY_DEST);
                staged.write(list, &texture, &source);
                list.transition(&texture, COPY_DEST, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE);
            })?;
            placed.push(texture);
        }
        let (table, target) = (visible(ctx)?, ctx.commit(DEFAULT, &words(BYTES)).ok("4 KiB")?);
        views::create_readable_view(ctx.device(), &placed[1], &table);
        gpu.run(
            &READ,
            &[Parameter::ReadableTable(0), Parameter::Unordered(0)],
            &[Argument::Table(&table), Argument::Unordered(memory::address(&target))],
        )?;
        // A row of 64 texels has 256 bytes, as in a staging buffer.
        gpu.has(&target, &pattern(staged.len, 1))
    }),
    check("shaders/read-after-paging", PAGING, SHADERS, |ctx| {
        let gpu = Gpu::new(ctx)?;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let (from, to) = (
            ctx.place(&heap, 0, &words(BYTES)).ok("offset 0")?,
            ctx.commit(DEFAULT, &words(BYTES)).ok("4 KiB")?,
        );
        gpu.put(&from, &pattern(BYTES, 4))?;
        let objects = pageable(&heap)?;
        ctx.evict(&objects).ok("a heap")?;
        ctx.make_resident(&objects).ok("a heap")?;
        gpu.copy(&from, &to)?;
        gpu.has(&to, &pattern(BYTES, 4))
    }),
    check("shaders/fill-is-read-by-an-alias", ALIAS, SHADERS, |ctx| {
        let gpu = Gpu::new(ctx)?;
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let [one, other] = [(); 2].map(|()| ctx.place(&heap, 0, &words(BYTES)).ok("offset 0"));
        let (one, other) = (one?, other?);
        gpu.put(&other, &pattern(BYTES, 5))?;
        gpu.fill(memory::address(&one))?;
        gpu.has(&other, &filled())
    }),
];

/// A shader: what it declares, and its instructions behind those that compute the byte offset of the thread's word.
struct Shader {
    declarations: &'static [Declaration],
    instructions: &'static [(Instruction, &'static [Operand])],
}

/// The byte offset of the thread's word.
const OFFSET: Operand = Operand::Temp(0, 0);
/// The thread's word.
const WORD: Operand = Operand::Temp(1, 0);
const STORE: (Instruction, &[Operand]) = (Instruction::StoreRaw, &[Operand::Unordered(0), OFFSET, WORD]);
const FACTOR: u32 = 0x0100_0193;

/// Writes the index of each word, multiplied and increased.
const FILL: Shader = Shader {
    declarations: &[Declaration::Unordered(0)],
    instructions: &[
        (Instruction::Imad, &[Operand::To(1, 1), OFFSET, Operand::Number(FACTOR), Operand::Number(7)]),
        STORE,
    ],
};

/// Copies words from one buffer to another.
const COPY: Shader = Shader {
    declarations: &[Declaration::Readable(0), Declaration::Unordered(0)],
    instructions: &[(Instruction::LdRaw, &[Operand::To(1, 1), OFFSET, Operand::Readable(0)]), STORE],
};

/// Copies texels to a buffer.
const READ: Shader = Shader {
    declarations: &[Declaration::Texture(0), Declaration::Unordered(0)],
    instructions: &[
        (Instruction::Mov, &[Operand::To(1, 0x1), Operand::Thread(0)]),
        (Instruction::Mov, &[Operand::To(1, 0x2), Operand::Thread(1)]),
        (Instruction::Mov, &[Operand::To(1, 0xc), Operand::Number(0)]),
        (Instruction::Ld, &[Operand::To(1, 1), Operand::Vector(1), Operand::Readable(0)]),
        STORE,
    ],
};

impl Shader {
    fn container(&self) -> Vec<u8> {
        // 64 threads in a row, one row for each group.
        let index = [Operand::To(0, 1), Operand::Thread(1), Operand::Number(64), Operand::Thread(0)];
        let assembly = Assembly::new(64, self.declarations)
            .add(Instruction::Imad, &index)
            .add(Instruction::Ishl, &[Operand::To(0, 1), OFFSET, Operand::Number(2)]);
        let add = |assembly: Assembly, &(one, operands): &(_, &[_])| assembly.add(one, operands);
        self.instructions.iter().fold(assembly, add).end()
    }
}

/// Returns the bytes that [`FILL`] writes.
fn filled() -> Vec<u8> {
    (0..WORDS).flat_map(|word| (word * 4).wrapping_mul(FACTOR).wrapping_add(7).to_le_bytes()).collect()
}

/// A buffer that shaders write.
fn words(len: usize) -> D3D12_RESOURCE_DESC {
    let desc = buffer(u64::try_from(len).unwrap_or(0));
    with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)
}

/// Creates a heap for one descriptor that shaders see.
fn visible(ctx: &Context) -> Result<ID3D12DescriptorHeap, Stop> {
    let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    ctx.descriptors(heap_type, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)
}

/// A queue that runs shaders.
struct Gpu<'a> {
    ctx: &'a Context,
    queue: Queue,
}

impl<'a> Gpu<'a> {
    fn new(ctx: &'a Context) -> Result<Self, Stop> {
        Ok(Self { ctx, queue: ctx.queue(DIRECT)? })
    }

    /// Runs 16 groups of a shader.
    fn run(&self, shader: &Shader, parameters: &[Parameter], arguments: &[Argument<'_>]) -> Result<(), Stop> {
        let device = self.ctx.device();
        let signature = dxbc::root_signature(parameters, 0);
        let signature = pipelines::create_root_signature(device, &signature).ok("its parameters")?;
        let state =
            pipelines::create_compute_state(device, &signature, &shader.container()).ok("a shader")?;
        self.queue.run(|list| list.dispatch((&signature, &state), arguments, 16))
    }

    fn fill(&self, address: u64) -> Result<(), Stop> {
        self.run(&FILL, &[Parameter::Unordered(0)], &[Argument::Unordered(address)])
    }

    fn copy(&self, from: &ID3D12Resource, to: &ID3D12Resource) -> Result<(), Stop> {
        let [from, to] = [from, to].map(memory::address);
        let parameters = [Parameter::Readable(0), Parameter::Unordered(0)];
        self.run(&COPY, &parameters, &[Argument::Readable(from), Argument::Unordered(to)])
    }

    /// Copies bytes to a whole buffer.
    fn put(&self, buffer: &ID3D12Resource, bytes: &[u8]) -> Result<(), Stop> {
        let source = self.queue.upload(bytes)?;
        self.queue.run(|list| list.copy_resource(buffer, &source))
    }

    /// Fails the check unless a buffer has these bytes.
    fn has(&self, buffer: &ID3D12Resource, expected: &[u8]) -> Verdict {
        let target = self.queue.readback(expected.len())?;
        self.queue.run(|list| list.copy_resource(&target, buffer))?;
        Staged::of(self.ctx.device(), &memory::desc(buffer))?.same(&read(&target, expected.len())?, expected)
    }
}

/// Returns whether the device executes shaders: a fill changes a buffer of zeros.
pub(crate) fn are_executed(ctx: &Context) -> Result<bool, Stop> {
    let (gpu, target) = (Gpu::new(ctx)?, ctx.commit(DEFAULT, &words(BYTES)).ok("4 KiB")?);
    gpu.put(&target, &[0; BYTES])?;
    gpu.fill(memory::address(&target))?;
    Ok(gpu.has(&target, &[0; BYTES]).is_err())
}
