//! Creates, fills, copies and frees buffers and textures with wgpu on Direct3D 12, without a window or a shader.
//!
//! Prints lines `result NAME VALUE`, which do not depend on what allocates memory, and `figure NAME NUMBER`, which do.
#![forbid(unsafe_code)]

use std::error::Error;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const STEPS: usize = 20_000;
const LIVE: usize = 400;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    for (name, hints) in [
        ("performance", wgpu::MemoryHints::Performance),
        ("memory-usage", wgpu::MemoryHints::MemoryUsage),
        ("manual", wgpu::MemoryHints::Manual { suballocated_device_memory_block_size: 16 * MIB..64 * MIB }),
    ] {
        let gpu = Gpu::open(hints, None)?;
        let (buffers, textures) = gpu.contents()?;
        println!("result contents-of-buffers-{name} {buffers:016x}");
        println!("result contents-of-textures-{name} {textures:016x}");
        gpu.churn(name)?;
    }
    let gpu = Gpu::open(wgpu::MemoryHints::Performance, Some(5))?;
    println!("result out-of-memory-at-a-share-of-the-budget {}", gpu.fill()?);
    Ok(())
}

struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

/// Numbers that look random and are the same in each run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

enum Live {
    Buffer(wgpu::Buffer),
    Texture(wgpu::Texture),
}

impl Live {
    fn destroy(self) {
        match self {
            Self::Buffer(buffer) => buffer.destroy(),
            Self::Texture(texture) => texture.destroy(),
        }
    }
}

impl Gpu {
    fn open(memory_hints: wgpu::MemoryHints, percent: Option<u8>) -> Result<Self, Box<dyn Error>> {
        let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
        desc.backends = wgpu::Backends::DX12;
        // Without flags wgpu compiles no shaders of its own, which Wine's d3dcompiler_47 cannot.
        if !std::env::args().any(|argument| argument == "--default-flags") {
            desc.flags = wgpu::InstanceFlags::empty();
        }
        desc.memory_budget_thresholds.for_resource_creation = percent;
        let instance = wgpu::Instance::new(desc);
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
        let desc = wgpu::DeviceDescriptor { memory_hints, ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&desc))?;
        Ok(Self { device, queue })
    }

    fn wait(&self) -> Result<(), Box<dyn Error>> {
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(())
    }

    fn reserved(&self) -> Result<u64, Box<dyn Error>> {
        let report = self.device.generate_allocator_report().ok_or("there is no report of memory")?;
        let in_blocks: u64 = report.blocks.iter().map(|block| block.size).sum();
        if in_blocks > report.total_reserved_bytes
            || report.total_allocated_bytes > report.total_reserved_bytes
        {
            return Err("the report of memory contradicts itself".into());
        }
        Ok(report.total_reserved_bytes)
    }

    fn buffer(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let label = Some("buffer");
        self.device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
    }

    fn texture(&self, side: u32, format: wgpu::TextureFormat, usage: wgpu::TextureUsages) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("texture"),
            size: wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        })
    }

    /// Reads a buffer that can be mapped.
    fn read(&self, buffer: &wgpu::Buffer) -> Result<Vec<u8>, Box<dyn Error>> {
        let (sender, receiver) = mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |mapped| drop(sender.send(mapped)));
        self.wait()?;
        receiver.recv()??;
        let bytes = buffer.get_mapped_range(..)?.to_vec();
        buffer.unmap();
        Ok(bytes)
    }

    /// Writes buffers and textures, copies them through others, reads them back and returns hashes of all bytes. An
    /// error if any byte is not what was written.
    fn contents(&self) -> Result<(u64, u64), Box<dyn Error>> {
        use wgpu::{BufferUsages as Buffer, TextureUsages as Texture};
        let mut numbers = Numbers(1);
        let (mut of_buffers, mut of_textures) = (0, 0);
        for size in [256, 4 * KIB, 100 * KIB, 3 * MIB, 33 * MIB] {
            let written = numbers.bytes(usize::try_from(size)?);
            let first = self.buffer(size, Buffer::COPY_DST | Buffer::COPY_SRC | Buffer::VERTEX);
            let second = self.buffer(size, Buffer::COPY_DST | Buffer::COPY_SRC | Buffer::STORAGE);
            let back = self.buffer(size, Buffer::COPY_DST | Buffer::MAP_READ);
            self.queue.write_buffer(&first, 0, &written);
            let mut encoder = self.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&first, 0, &second, 0, size);
            encoder.copy_buffer_to_buffer(&second, 0, &back, 0, size);
            self.queue.submit([encoder.finish()]);
            let read = self.read(&back)?;
            if read != written {
                return Err(format!("a buffer of {size} bytes lost its contents").into());
            }
            of_buffers = hash(of_buffers, &read);
        }
        for side in [64, 256, 1024] {
            let written = numbers.bytes(side as usize * side as usize * 4);
            let usage = Texture::COPY_DST | Texture::COPY_SRC | Texture::TEXTURE_BINDING;
            let first = self.texture(side, wgpu::TextureFormat::Rgba8Unorm, usage);
            let second =
                self.texture(side, wgpu::TextureFormat::Rgba8Unorm, usage | Texture::RENDER_ATTACHMENT);
            let back =
                self.buffer(u64::from(side) * u64::from(side) * 4, Buffer::COPY_DST | Buffer::MAP_READ);
            let layout = wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(side * 4),
                rows_per_image: None,
            };
            self.queue.write_texture(first.as_image_copy(), &written, layout, first.size());
            let mut encoder = self.device.create_command_encoder(&Default::default());
            encoder.copy_texture_to_texture(first.as_image_copy(), second.as_image_copy(), first.size());
            let buffer = wgpu::TexelCopyBufferInfo { buffer: &back, layout };
            encoder.copy_texture_to_buffer(second.as_image_copy(), buffer, first.size());
            self.queue.submit([encoder.finish()]);
            let read = self.read(&back)?;
            if read != written {
                return Err(format!("a texture of {side} by {side} texels lost its contents").into());
            }
            of_textures = hash(of_textures, &read);
        }
        Ok((of_buffers, of_textures))
    }

    /// Creates and destroys resources of many sizes, then destroys all and waits.
    fn churn(&self, name: &str) -> Result<(), Box<dyn Error>> {
        use wgpu::{BufferUsages as Buffer, TextureUsages as Texture};
        self.wait()?;
        let mut numbers = Numbers(2);
        let mut live = Vec::new();
        let (mut peak, mut time) = (0, Duration::ZERO);
        for step in 0..STEPS {
            if live.len() == LIVE {
                let index = usize::try_from(numbers.below(LIVE as u64))?;
                let old: Live = live.swap_remove(index);
                let start = Instant::now();
                old.destroy();
                time += start.elapsed();
            }
            let size = [256, 4 * KIB, 64 * KIB, MIB, 4 * MIB][usize::try_from(numbers.below(5))?];
            let size = size + numbers.below(size) / 4 * 4;
            let kind = numbers.below(8);
            let start = Instant::now();
            live.push(match kind {
                0 => Live::Buffer(self.buffer(size, Buffer::COPY_SRC | Buffer::MAP_WRITE)),
                1 => Live::Buffer(self.buffer(size, Buffer::COPY_DST | Buffer::MAP_READ)),
                2 => Live::Texture(self.texture(
                    512,
                    wgpu::TextureFormat::Rgba8Unorm,
                    Texture::TEXTURE_BINDING,
                )),
                _ => Live::Buffer(self.buffer(size, Buffer::COPY_DST | Buffer::STORAGE)),
            });
            time += start.elapsed();
            if step % 64 == 0 {
                self.device.poll(wgpu::PollType::Poll)?;
                peak = peak.max(self.reserved()?);
            }
        }
        let start = Instant::now();
        live.drain(..).for_each(Live::destroy);
        self.wait()?;
        time += start.elapsed();
        println!("figure churn-{name}-microseconds {}", time.as_micros());
        println!("figure peak-{name}-bytes {peak}");
        println!("figure held-after-freeing-{name}-bytes {}", self.reserved()?);
        thread::sleep(Duration::from_secs(1));
        println!("figure held-a-second-later-{name}-bytes {}", self.reserved()?);
        Ok(())
    }

    /// Creates buffers until there is no memory within the threshold. Returns whether that was reached.
    fn fill(&self) -> Result<bool, Box<dyn Error>> {
        let mut held = Vec::new();
        for _ in 0..400 {
            let scope = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
            held.push(self.buffer(64 * MIB, wgpu::BufferUsages::COPY_DST));
            if pollster::block_on(scope.pop()).is_some() {
                println!("figure held-at-the-threshold-bytes {}", self.reserved()?);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Adds bytes to a hash (FNV-1a).
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let add = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(seed ^ 0xcbf2_9ce4_8422_2325, add)
}
