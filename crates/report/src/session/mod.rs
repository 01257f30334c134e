//! The memory of an application over time: from the records of a session to an HTML page.
//!
//! [`HistoryBuilder`] follows the records of a trace, a capture or a session ([`heapwright_trace::RecordReader`]) and
//! returns a [`SessionHistory`]: every heap and every allocation with its place and its lifetime.
//! [`write_session_html`] writes its page.
//!
//! * `builder`: from records to a history.
//! * `budget`: usage and budget of the segment groups.
//! * `history`: the history, and sums over time.
//! * `of_report`: the report of an allocator as a session of one moment.
//! * `free_space`: free ranges of a heap, for fragmentation.
//! * `columns`: lists of numbers as compact text.
//! * `page`: the HTML page; its folder has the scripts.

mod budget;
mod builder;
mod columns;
mod free_space;
mod history;
mod of_report;
pub(crate) mod page;

pub use builder::{HistoryBuilder, HistoryError};
pub use history::{
    Block, BudgetSummary, BudgetVerdict, GroupHistory, GroupName, HeapLife, Paging, PagingEvent,
    PlacementSource, SessionHistory, SessionSummary, Submission,
};
pub use of_report::{history_of, write_html};
pub use page::{Fact, SessionTitle, write_session_html};
