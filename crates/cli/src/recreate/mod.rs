//! `heapwright recreate`: creates the heaps and buffers of a session again, at their GPU addresses.
//!
//! - [`args`]: the arguments.
//! - [`state`]: the objects that exist at a moment of the session.
//! - [`objects`]: their recreation.
//! - [`contents`]: their contents, which are streamed from the file.
//! - [`com`]: the calls of Direct3D 12.
//! - [`copies`]: copies of contents by the GPU.

mod args;
mod com;
mod contents;
mod copies;
mod objects;
mod state;

use heapwright_loader::Gpu;
use serde::Serialize;

pub(crate) use self::args::RecreateArgs;
use self::com::Creator;
use self::objects::{Failure, Recreated};
use self::state::State;
use crate::device::DeviceChoice;
use crate::exit::{Exit, Failed};
use crate::format;
use crate::output::Output;

/// The result. The JSON form is stable and described by docs/output.schema.json.
#[derive(Debug, Serialize)]
struct Report {
    device: String,
    at_addresses: bool,
    time_us: u64,
    heaps: u64,
    buffers: u64,
    same_addresses: u64,
    verified_bytes: u64,
    skipped: u64,
    failures: Vec<Failure>,
}

/// Runs the command.
pub(crate) fn run(args: &RecreateArgs, output: &mut Output) -> Result<Exit, Failed> {
    let report = recreate(args)?;
    if !report.at_addresses {
        let device = &report.device;
        output.warning(&format_args!(
            "device {device} cannot create objects at given addresses (RecreateAtTier is NOT_SUPPORTED); they are \
             elsewhere"
        ));
    }
    if args.json {
        output.json(&report)?;
    } else {
        for failure in &report.failures {
            let Failure { kind, id, address, reason } = failure;
            let address = address.as_deref().map_or_else(String::new, |address| format!(" at {address}"));
            output.error(&format_args!("{kind} {id}{address}: {reason}"));
        }
        let Report { heaps, buffers, same_addresses, verified_bytes, skipped, failures, .. } = &report;
        output.result(&format_args!(
            "{} heaps and {} buffers recreated, {} buffers at their addresses, {} verified, {} skipped, {} failed",
            format::count(*heaps),
            format::count(*buffers),
            format::count(*same_addresses),
            format::size(*verified_bytes),
            format::count(*skipped),
            format::count(failures.len() as u64),
        ))?;
    }
    Ok(if report.failures.is_empty() { Exit::Success } else { Exit::Failure })
}

fn recreate(args: &RecreateArgs) -> Result<Report, Failed> {
    // The whole session is checked before a device is opened.
    let state = State::read(&args.session)?;
    let choice = DeviceChoice::find(&args.device)?;
    let Gpu { device, adapter } = choice.open()?;
    let ranges = objects::ranges(&state);
    let (name, count) = (&choice.name, ranges.len());
    let cannot_reserve = |reason: String| {
        Failed::failure(format_args!(
            "device {name}: the {count} recorded ranges of addresses cannot be reserved: {reason}"
        ))
    };
    let of_call = |error| cannot_reserve(objects::reason(&error));
    let at_addresses = com::has_tier(&device);
    let device = if at_addresses {
        // The ranges are reserved while the device is created.
        drop(device);
        let factory = choice
            .device_factory()
            .ok_or_else(|| cannot_reserve("there is no ID3D12DeviceFactory".to_owned()))?;
        com::create_reserving(&factory, adapter.as_ref(), &ranges).map_err(of_call)?
    } else {
        device
    };
    let creator = Creator::new(device, at_addresses).map_err(of_call)?;
    let (made, targets) = objects::recreate(&state, &creator, at_addresses);
    let Recreated { heaps, buffers, same_addresses, mut failures } = made;
    let State { record_count, time_us, skipped, .. } = state;
    let uploaded = contents::upload(&args.session, record_count, &targets, &creator)?;
    failures.extend(uploaded.failures);
    Ok(Report {
        device: choice.name,
        at_addresses,
        time_us,
        heaps,
        buffers,
        same_addresses,
        verified_bytes: uploaded.verified_bytes,
        skipped,
        failures,
    })
}
