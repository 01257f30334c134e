//! Arguments of `heapwright plan`.

use std::path::PathBuf;

use clap::ValueEnum;
use heapwright_core::ByteSize;
use heapwright_core::units::ParseByteSizeError;

use super::budget::Budget;
use crate::args::number;

/// Plan aliased memory: pack resources that do not live at the same time into the smallest heap
///
/// Reads a table of buffers with sizes, alignments and lifetimes, and finds an offset for each so that buffers that
/// live at the same time do not overlap. The height of the plan is compared with a lower bound, and the plan is
/// proved optimal if they are equal. Among plans of equal height, one with few aliasing barriers is preferred.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{DETAILS}"))]
pub(crate) struct PlanArgs {
    /// CSV file with the columns id,lower,upper,size, or JSON file with a frame; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Size of the heap, such as 268435456 or 256MiB: stop as soon as a plan fits, and fail if none does (with --tier 2)
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = bytes)]
    pub(crate) capacity: Option<u64>,

    /// Time to search for a better plan, such as 500ms or 20s, or a number of steps, such as "20000 steps"
    ///
    /// The first plan takes a moment and is made in any case. With a number of steps, the plan is the same on every
    /// machine.
    #[arg(
        long,
        value_name = "BUDGET",
        default_value = "1s",
        conflicts_with = "check",
        allow_negative_numbers = true
    )]
    pub(crate) budget: Budget,

    /// Number of threads that search; with a number of steps, the plan depends on it
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, default_value_t = 1, conflicts_with = "check",
          value_parser = number(1..=256_u16))]
    pub(crate) threads: u16,

    /// How far above the bound a plan may be that keeps the hints, in thousandths
    ///
    /// Buffers are moved from their hints only if there is no such plan.
    #[arg(
        long,
        value_name = "NUMBER",
        allow_negative_numbers = true,
        default_value_t = 0,
        value_parser = number(0..=u32::MAX),
        conflicts_with = "check"
    )]
    pub(crate) hint_slack_permille: u32,

    /// Resource heap tier: 1 makes a heap for each value of the column category
    #[arg(long, value_name = "TIER", allow_negative_numbers = true, default_value_t = 2, value_parser = number(1..=2_u8))]
    pub(crate) tier: u8,

    /// Barriers of a frame's activations [default: legacy]
    #[arg(long, value_name = "MODEL", value_enum, conflicts_with = "check")]
    pub(crate) barriers: Option<BarriersArg>,

    /// Write an SVG file that shows the memory over time
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write the table with the column offset, or the frame with an offset for each resource
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(crate) out: Option<PathBuf>,

    /// Check the plan in the file's offsets instead of making one
    #[arg(long)]
    pub(crate) check: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values of `heapwright plan --barriers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BarriersArg {
    /// Aliasing barriers, which every device supports
    Legacy,
    /// Enhanced barriers
    Enhanced,
}

fn bytes(text: &str) -> Result<u64, ParseByteSizeError> {
    text.parse().map(ByteSize::get)
}

const EXAMPLES: &str = "\
Examples:
  heapwright plan crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --budget 20000steps --tier 1 --json crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --capacity 256MiB crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --out plan.csv crates/core/examples/o3de_lowend_1080p.csv
  heapwright plan --check --capacity 256MiB plan.csv
  heapwright plan --barriers enhanced --json crates/cli/examples/frame.json";

const DETAILS: &str = "\
Columns of a table (CSV), in any order; others are kept by --out:
  id             name of the buffer (also: buffer, buffer_id)
  lower, upper   lifetime, from lower to the instant before upper (also: start or begin; end is the
                 last instant)
  size           bytes
  alignment      power of two (default: 1)
  hint           offset of an earlier plan, which is kept if the plan is no worse, or within
                 --hint-slack-permille
  gaps           parts of the lifetime in which the buffer needs no memory, such as 7-9 12-14:
                 from 7 to the instant before 9 (with the column end: to 9)
  offset         offset that the buffer must have; with --check, the plan
  name           name in the drawing
  category       heap for --tier 1, and colour in the drawing: rt_ds, non_rt_ds or buffer
  uses           for --check: numbers of the passes that use the resource, such as 2 3 7
  flags          for --check: RT, DS and UAV, joined by |
  first_load     for --check: Clear if the first pass clears the resource

With --check, a table with uses, flags and category is also replayed as a frame: the rules of the
runtime's aliasing tracker judge the barriers and initialisations that follow from the plan.

A frame (JSON) is an object with these keys. It has at most 64 queues, 10000 passes and 10000
resources, on several queues at most 1000 resources.
  queues         [{name, kind}], kind is direct, compute or copy (default: one direct queue)
  resources      [{name, kind, size, alignment, granularity, retention, hint, offset}]
                 kind: buffer, texture, unordered_access_texture, render_target,
                 unordered_access_render_target or depth_stencil; size in bytes; alignment (default:
                 65536); granularity: blocks that the resource shares with no other at the same time
                 (default: the alignment, for buffers at least 65536); retention: transient (the
                 default), persistent or history, which the next frame reads; hint, offset: as above
  passes         [{name, queue, after, may_be_skipped, uses}], in the order of submission
                 queue may be left out if there is one; after: names of earlier passes on other
                 queues that this pass waits for, by a fence; may_be_skipped: true if some frames
                 leave it out; uses: [{resource, use}], use is read, render, clear (all of it,
                 first), copy_all, write_unordered, or update (a part, or what was there before
                 matters)

Two resources share memory if the queues and fences let every use of one happen before every use of
the other. A frame that reads what no pass wrote is malformed. With --check, the tracker judges
three frames, of which the second leaves out the passes that may be skipped.

Measurements:
  height         size that the heap must have
  bound          no plan is lower: the load, or more if the search has proved it
  load           largest sum of the sizes of buffers that live at the same time
  saved          memory saved compared with a separate place for each buffer, whose size is
                 rounded up to its alignment (and granularity)
  barriers       pairs of buffers of which one takes over memory from the other, if the lifetimes
                 repeat each frame
  unshared       why a resource of a frame shares no memory

JSON keys (stable; a key never changes its meaning):
  file, buffers, total, load, lower_bound, height, gap (height / lower_bound - 1), proved, seconds,
  barrier_seconds (the part of seconds that reduced the barriers), steps, barriers,
  heaps [{category, buffers, height, lower_bound, load, load_instant (of a frame: the number of a
  pass), proved, total, barriers}], and frame (null for a table). total is the sum of the sizes,
  each rounded up to its alignment. Sizes are in bytes; with --tier 1 they are sums.
  frame has resources [{name, heap, offset}], activations [{resource, pass, queue, predecessors
  [{resource, start, end, previous_frame}], legacy_barriers_from, enhanced {deactivate, discard} or
  null, initialisation (none, discard, clear or copy), resting_state (the state in which the last
  pass leaves the resource: render_target, depth_write, unordered_access, copy_dest or any)}],
  not_aliased [{resource, reason}], and submissions [{queue, passes, after (earlier submissions
  that the queue waits for, counted from 0), after_previous_frame (queues)}].

Exit codes: 0 success; 1 no plan was found for the capacity, the plan that was checked is wrong or
larger, or an error occurred while writing; 2 invalid input, such as a malformed table.";
