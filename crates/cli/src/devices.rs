//! `heapwright devices`: lists the available devices.

use std::fmt;

use heapwright::{AdapterDesc, DeviceCaps, Error, SegmentGroup, VideoMemoryInfo};
use heapwright_report::Visible;
use serde::Serialize;

use crate::device::DeviceChoice;
use crate::exit::{Exit, Failed};
use crate::format;
use crate::output::Output;
use crate::table::{self, Column};

/// List the available devices with their capabilities and memory
///
/// Opens every device and queries its capabilities and memory: the built-in simulated GPUs, the devices of the system's
/// Vulkan and, on Windows, the adapters of Direct3D 12. A device of a shared library is shown only if --device names
/// it.
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
pub(crate) fn run(args: &DevicesArgs, output: &mut Output) -> Result<Exit, Failed> {
    let (mut choices, mut errors) = (Vec::new(), Vec::new());
    match &args.device {
        Some(name) => choices.push(DeviceChoice::find(name)?),
        None => {
            choices.extend(DeviceChoice::simulated());
            let of_system = DeviceChoice::of_system();
            choices.extend(of_system.0);
            errors.extend(of_system.1);
        }
    }
    let mut reports = Vec::new();
    for choice in &choices {
        match DeviceReport::query(choice) {
            Ok(report) if args.json => output.json(&report)?,
            Ok(report) => reports.push(report),
            Err(failed) => errors.push(failed),
        }
    }
    match (&reports[..], &args.device) {
        ([], _) => {}
        ([report], Some(_)) => output.result(report)?,
        (reports, _) => output.result(&table(reports))?,
    }
    Ok(errors.iter().fold(Exit::Success, |exit, failed| exit.and(output.failed(failed))))
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

/// Budget and usage of a segment group.
#[derive(Clone, Copy, Debug, Serialize)]
struct Segment {
    budget_bytes: u64,
    current_usage_bytes: u64,
}

impl DeviceReport {
    /// Opens the device and queries its properties.
    fn query(choice: &DeviceChoice) -> Result<Self, Failed> {
        let gpu = choice.open()?;
        let failed = |error: Error| cannot_query(choice, &error);
        let caps = DeviceCaps::query(&gpu.device).map_err(failed)?;
        let adapter = gpu.adapter.as_ref();
        let desc = adapter.map(AdapterDesc::query).transpose().map_err(failed)?;
        let segment = |group| -> Result<Option<Segment>, Failed> {
            let info = adapter.map(|adapter| VideoMemoryInfo::query(adapter, group)).transpose();
            Ok(info.map_err(failed)?.map(|info| Segment {
                budget_bytes: info.budget.get(),
                current_usage_bytes: info.current_usage.get(),
            }))
        };
        Ok(Self {
            device: choice.name.clone(),
            default: choice.is_default(),
            description: choice.description.clone(),
            architecture: caps.architecture.to_string(),
            resource_heap_tier: caps.resource_heap_tier,
            tight_alignment_tier: caps.tight_alignment_tier,
            gpu_upload_heaps: caps.gpu_upload_heaps,
            gpu_va_bits_per_resource: caps.gpu_va_bits_per_resource,
            gpu_va_bits_per_process: caps.gpu_va_bits_per_process,
            interface_version: caps.interface_version,
            dedicated_video_memory_bytes: desc.as_ref().map(|desc| desc.dedicated_video_memory.get()),
            shared_system_memory_bytes: desc.as_ref().map(|desc| desc.shared_system_memory.get()),
            local: segment(SegmentGroup::Local)?,
            non_local: segment(SegmentGroup::NonLocal)?,
            adapter: desc.map(|desc| desc.description),
        })
    }
}

/// Returns a table with a row for each device.
fn table(reports: &[DeviceReport]) -> String {
    let yes = |has: bool| if has { "yes" } else { "no" }.to_owned();
    let budget = |segment: Option<Segment>| match segment {
        Some(Segment { budget_bytes: 0, .. }) => "none".to_owned(),
        Some(Segment { budget_bytes, .. }) => format::size(budget_bytes),
        None => "unknown".to_owned(),
    };
    let rows = reports.iter().map(|report| {
        vec![
            Visible(&report.device).to_string(),
            report.resource_heap_tier.to_string(),
            if report.tight_alignment_tier > 0 {
                report.tight_alignment_tier.to_string()
            } else {
                "no".to_owned()
            },
            yes(report.gpu_upload_heaps),
            budget(report.local),
            budget(report.non_local),
            // All of it is among the details of the device.
            Visible(&report.description).shortened(54),
        ]
    });
    let columns = [
        Column::text("\ndevice"),
        Column::number("heap\ntier"),
        Column::number("tight\nalign").after(1),
        Column::number("GPU\nupload").after(1),
        Column::number("budget\nlocal"),
        Column::number("\nnon-local").after(1),
        Column::text("\ndescription"),
    ];
    let default = reports.iter().find(|report| report.default);
    let default = default.map_or(String::new(), |report| format!("\n\ndefault: {}", Visible(&report.device)));
    table::render(&columns, rows) + &default
}

/// Returns the error of a device whose properties cannot be queried.
pub(crate) fn cannot_query(choice: &DeviceChoice, error: &Error) -> Failed {
    Failed::failure(format_args!("cannot query device {}: {error}", choice.name))
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
