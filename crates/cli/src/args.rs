//! The command line. Each command defines its own arguments.

use clap::{ArgAction, Parser, Subcommand};

use crate::conformance::ConformanceArgs;
use crate::convert::ConvertArgs;
use crate::devices::DevicesArgs;
use crate::plan::PlanArgs;
use crate::recreate::RecreateArgs;
use crate::replay::ReplayArgs;
use crate::report::ReportArgs;
use crate::residency::ResidencyArgs;

/// GPU memory management for Direct3D 12, on any machine.
///
/// Runs the heapwright library on a Direct3D 12 device: a real one, or a simulated GPU that is built into the program
/// and needs neither Windows nor graphics hardware.
#[derive(Debug, Parser)]
#[command(name = "heapwright", version, max_term_width = 100, after_help = PROGRAM_HELP)]
pub(crate) struct Args {
    /// Show all measurements of a replay, and more log messages on standard error: -v for info, -vv for debug, -vvv for
    /// trace
    ///
    /// HEAPWRIGHT_LOG overrides it: a level (error, warn, info, debug, trace) or a filter such as
    /// heapwright_runtime=debug.
    // Behind a command's own options, before --help.
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 998)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Replay(ReplayArgs),
    Convert(ConvertArgs),
    Devices(DevicesArgs),
    Conformance(ConformanceArgs),
    Residency(ResidencyArgs),
    Recreate(RecreateArgs),
    Report(ReportArgs),
    Plan(PlanArgs),
}

const PROGRAM_HELP: &str = "\
Examples:
  heapwright replay traces/vision_serving.csv.gz
  heapwright devices
  heapwright conformance

Exit codes: 0 success; 1 failure, such as a failed allocation or check; 2 invalid input.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }
}
