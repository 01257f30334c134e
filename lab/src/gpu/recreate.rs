//! Objects at the addresses that they had in another process.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;
use heapwright::{ByteSize, GpuVirtualAddress};
use heapwright_runtime::{GpuVirtualAddressRange, Instance};

use super::Result;
use super::queue::{self, heap, placed};
use super::table::Row;

/// The number of heaps, each with a buffer.
const COUNT: u64 = 1000;
const KIND: D3D12_HEAP_TYPE = D3D12_HEAP_TYPE_DEFAULT;

/// Sizes of heaps, and offsets of the buffers in them, differ.
fn shape(number: u64) -> (u64, u64) {
    let size = (1 + number * 7 % 32) * 65_536;
    (size, number % (size / 65_536) * 65_536)
}

fn addresses(heap: &ID3D12Heap, buffer: &ID3D12Resource) -> Result<(u64, u64, u64)> {
    let mut range = D3D12_GPU_VIRTUAL_ADDRESS_RANGE::default();
    let tools: ID3D12PageableTools = heap.cast()?;
    // SAFETY: live COM objects, and room for a range.
    unsafe {
        tools.GetAllocation(&mut range).ok()?;
        Ok((range.StartAddress.0, range.SizeInBytes, buffer.GetGPUVirtualAddress().0))
    }
}

/// The first process: creates the objects and writes their addresses.
///
/// # Errors
///
/// Returns the errors of the device.
pub fn record(index: usize, file: &Path) -> Result<()> {
    let gpu = queue::open(index)?;
    let mut text = String::new();
    let mut alive = Vec::new();
    for number in 0..COUNT {
        let (size, offset) = shape(number);
        let heap = heap(&gpu.device, KIND, size)?;
        let buffer = placed(&heap, KIND, offset, 65_536)?;
        let (start, bytes, own) = addresses(&heap, &buffer)?;
        writeln!(text, "{start} {bytes} {own}")?;
        alive.push((heap, buffer));
    }
    std::fs::write(file, text)?;
    Ok(())
}

/// The second process: creates the objects again, in another order and after others, and prints how many have the same
/// addresses.
///
/// # Errors
///
/// Returns the errors of the device.
pub fn again(index: usize, file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file)?;
    let parse = |line: &str| -> Result<[u64; 3]> {
        let numbers: Vec<u64> = line.split(' ').map(str::parse).collect::<std::result::Result<_, _>>()?;
        numbers.try_into().map_err(|_| "a line must have three numbers".into())
    };
    let recorded = text.lines().map(parse).collect::<Result<Vec<_>>>()?;
    let ranges: Vec<_> = recorded
        .iter()
        .filter_map(|&[start, size, _]| {
            let start = GpuVirtualAddress::new(start)?;
            Some(GpuVirtualAddressRange { start, size: ByteSize::new(size) })
        })
        .collect();
    let gpu = Instance::open_vulkan(index, Default::default(), &ranges)?;
    let _others = (0..100).map(|_| heap(&gpu.device, KIND, 1 << 20)).collect::<Result<Vec<_>>>()?;
    let tools: ID3D12DeviceTools = gpu.device.cast()?;
    let mut alive = Vec::new();
    let (mut equal, mut first_error) = (0, None);
    for number in (0..COUNT).rev() {
        let (size, offset) = shape(number);
        let [start, _, own] = recorded[usize::try_from(number)?];
        // SAFETY: a live COM object.
        unsafe { tools.SetNextAllocationAddress(D3D12_GPU_VIRTUAL_ADDRESS(start)) };
        let created = heap(&gpu.device, KIND, size).and_then(|heap| {
            let buffer = placed(&heap, KIND, offset, 65_536)?;
            let (now, _, buffer_now) = addresses(&heap, &buffer)?;
            alive.push((heap, buffer));
            Ok(now == start && buffer_now == own)
        });
        match created {
            Ok(true) => equal += 1,
            Ok(false) => first_error = first_error.or_else(|| Some("another address".to_owned())),
            Err(error) => {
                let said = gpu.messages().pop().map(|(_, text)| text).unwrap_or_default();
                first_error = first_error.or_else(|| Some(format!("{error}: {said}")));
            }
        }
    }
    let error = first_error.map_or_else(String::new, |error| format!("; first error: {error}"));
    Ok(format!("{equal} of {COUNT} equal{error}"))
}

/// Runs both processes.
///
/// # Errors
///
/// Returns the errors of either.
pub fn two_processes(index: usize) -> Result<Vec<Row>> {
    let file = std::env::temp_dir().join(format!("heapwright-recreate-{}", std::process::id()));
    let program = std::env::current_exe()?;
    let run = |role: &str| -> Result<String> {
        let index = index.to_string();
        let output = Command::new(&program).args([role, "--index", &index, "--file"]).arg(&file).output()?;
        if !output.status.success() {
            return Err(format!("{role}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let result = run("record").and_then(|_| run("again"));
    // The file is temporary; whether it can be removed changes nothing.
    let _ = std::fs::remove_file(&file);
    let result = result?;
    let is_held = result == format!("{COUNT} of {COUNT} equal");
    let what = "addresses of heaps and buffers, recreated in another process";
    Ok(vec![Row::required(what, result, "100 %", is_held)])
}
