//! `heapwright devices`: lists the available devices.

use std::fmt;

use heapwright::d3d12::IDXGIAdapter3;
use heapwright::{AdapterDesc, DeviceCaps, Error, SegmentGroup, VideoMemoryInfo};
use heapwright_report::Visible;
use serde::Serialize;

use crate::device::DeviceChoice;
use crate::exit::Exit;
use crate::format;
use crate::output::{Output, OutputError};

/// List the available devices with their capabilities and memory
///
/// Opens every device and queries its capabilities and memory: the built-in simulated GPUs, the devices of the system's Vulkan and,
/// on Windows, the adapters of Direct3D 12. A device of a shared library is shown only if --device names it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct DevicesArgs {
    /// Show only this device; d3d12:PATH names one in a shared library
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,

    /// Print one JSON object per line for each device
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  heapwright devices
  heapwright devices --json
  heapwright devices --device host:uma";

const DETAILS: &str = "\
Values of --device, of all commands:
  host          the simulated GPU host:discrete
  host:PROFILE  a simulated GPU
  vulkan        the first device of the system's Vulkan (1.3 or newer)
  vulkan:INDEX  another device of the system's Vulkan, by its number from 0
  d3d12         the system's Direct3D 12 on its default adapter (Windows only)
  d3d12:N       the system's Direct3D 12 on adapter N (Windows only)
  d3d12:PATH    the Direct3D 12 in a shared library, on its default adapter; write d3d12:./7
                for a file whose name is a number

docs/formats.md says what a shared library must export, and docs/output.schema.json describes the
keys of the JSON.

Exit codes: 0 success; 1 a device could not be opened or queried; 2 invalid input, such as an
unknown device.";

/// Runs the command. If a device cannot be opened, the others are still listed.
pub(crate) fn run(args: &DevicesArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let (choices, mut exit) = match &args.device {
        Some(name) => match DeviceChoice::find(name) {
            Ok(choice) => (vec![choice], Exit::Success),
            Err(error) => {
                output.error(&format_args!("--device: {error}"));
                return Ok(error.exit());
            }
        },
        None => every_device(output),
    };
    let mut is_first = true;
    for choice in &choices {
        match DeviceReport::query(choice) {
            Ok(report) if args.json => output.result(&report.to_json())?,
            Ok(report) => {
                if !is_first {
                    output.result(&"")?;
                }
                is_first = false;
                output.result(&report)?;
            }
            Err(message) => {
                output.error(&message);
                exit = exit.and(Exit::Failure);
            }
        }
    }
    Ok(exit)
}

/// Returns the simulated GPUs, followed by the system's devices.
fn every_device(output: &mut Output) -> (Vec<DeviceChoice>, Exit) {
    let mut choices: Vec<DeviceChoice> = DeviceChoice::simulated().collect();
    let (of_system, errors) = DeviceChoice::of_system();
    choices.extend(of_system);
    for error in &errors {
        output.error(error);
    }
    (choices, if errors.is_empty() { Exit::Success } else { Exit::Failure })
}

/// Properties of a device. The JSON form is stable and described by docs/output.schema.json.
#[derive(Clone, Debug, Serialize)]
struct DeviceReport {
    /// Value for `--device`.
    device: String,
    /// Whether this is the default of `--device`.
    default: bool,
    description: String,
    /// The adapter's description, or `None` without an adapter; likewise the four memory fields.
    adapter: Option<String>,
    architecture: String,
    resource_heap_tier: u8,
    tight_alignment_tier: u8,
    gpu_upload_heaps: bool,
    gpu_va_bits_per_resource: u32,
    gpu_va_bits_per_process: u32,
    /// Number of the newest `ID3D12DeviceN` interface that the device implements, 0 to 14.
    interface_version: u32,
    dedicated_video_memory_bytes: Option<u64>,
    shared_system_memory_bytes: Option<u64>,
    local: Option<Segment>,
    non_local: Option<Segment>,
}

/// Properties of an adapter.
struct AdapterProperties {
    desc: AdapterDesc,
    local: Segment,
    non_local: Segment,
}

impl AdapterProperties {
    fn query(adapter: &IDXGIAdapter3) -> Result<Self, Error> {
        let segment = |group| -> Result<Segment, Error> {
            let info = VideoMemoryInfo::query(adapter, group)?;
            Ok(Segment { budget_bytes: info.budget.get(), current_usage_bytes: info.current_usage.get() })
        };
        Ok(Self {
            desc: AdapterDesc::query(adapter)?,
            local: segment(SegmentGroup::Local)?,
            non_local: segment(SegmentGroup::NonLocal)?,
        })
    }
}

/// Budget and usage of a segment group.
#[derive(Clone, Copy, Debug, Serialize)]
struct Segment {
    budget_bytes: u64,
    current_usage_bytes: u64,
}

impl DeviceReport {
    /// Opens the device and queries its properties.
    fn query(choice: &DeviceChoice) -> Result<Self, String> {
        let gpu = choice.open().map_err(|error| error.to_string())?;
        let query_failed = |error: Error| format!("cannot query device {}: {error}", choice.name());
        let caps = DeviceCaps::query(&gpu.device).map_err(query_failed)?;
        let adapter = gpu.adapter.as_ref().map(AdapterProperties::query).transpose().map_err(query_failed)?;
        let adapter = adapter.as_ref();
        Ok(Self {
            device: choice.name(),
            default: choice.is_default(),
            description: choice.description(),
            adapter: adapter.map(|adapter| adapter.desc.description.clone()),
            architecture: caps.architecture.to_string(),
            resource_heap_tier: caps.resource_heap_tier,
            tight_alignment_tier: caps.tight_alignment_tier,
            gpu_upload_heaps: caps.gpu_upload_heaps,
            gpu_va_bits_per_resource: caps.gpu_va_bits_per_resource,
            gpu_va_bits_per_process: caps.gpu_va_bits_per_process,
            interface_version: caps.interface_version,
            dedicated_video_memory_bytes: adapter.map(|adapter| adapter.desc.dedicated_video_memory.get()),
            shared_system_memory_bytes: adapter.map(|adapter| adapter.desc.shared_system_memory.get()),
            local: adapter.map(|adapter| adapter.local),
            non_local: adapter.map(|adapter| adapter.non_local),
        })
    }

    /// Returns the JSON form, on one line.
    fn to_json(&self) -> String {
        // Only maps with keys that are not strings can fail.
        serde_json::to_string(self).expect("a report has no maps")
    }
}

impl fmt::Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bold = anstyle::Style::new().bold();
        let default = if self.default { "  (default)" } else { "" };
        writeln!(f, "{bold}{}{bold:#}{default}", Visible(&self.device))?;
        writeln!(f, "  {}", Visible(&self.description))?;
        let adapter = self.adapter.as_deref().unwrap_or("none");
        writeln!(f, "  adapter    {}, {}", Visible(adapter), self.architecture)?;
        let interface = match self.interface_version {
            0 => String::new(),
            version => version.to_string(),
        };
        writeln!(f, "  interface  ID3D12Device{interface}")?;
        writeln!(
            f,
            "  heaps      resource heap tier {}, tight alignment {}, GPU upload heaps {}",
            self.resource_heap_tier,
            match self.tight_alignment_tier {
                0 => "no".to_owned(),
                tier => format!("tier {tier}"),
            },
            if self.gpu_upload_heaps { "yes" } else { "no" },
        )?;
        writeln!(
            f,
            "  addresses  {} bits in a resource, {} in the process",
            self.gpu_va_bits_per_resource, self.gpu_va_bits_per_process
        )?;
        let (Some(dedicated), Some(shared), Some(local), Some(non_local)) =
            (self.dedicated_video_memory_bytes, self.shared_system_memory_bytes, self.local, self.non_local)
        else {
            return f.write_str(
                "  memory     unknown; usage and budgets are also unknown because there is no adapter",
            );
        };
        writeln!(f, "  memory     {} dedicated, {} shared", format::size(dedicated), format::size(shared))?;
        writeln!(f, "  local      {local}")?;
        write!(f, "  non-local  {non_local}")
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.budget_bytes == 0 {
            return f.write_str("none");
        }
        write!(
            f,
            "{} used of a budget of {}",
            format::size(self.current_usage_bytes),
            format::size(self.budget_bytes)
        )
    }
}
