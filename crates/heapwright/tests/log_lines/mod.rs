//! Captures the log lines of a test.

use std::fmt::{self, Write as _};
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

#[derive(Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = if field.name() == "message" {
            write!(self.0, " {value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
        written.expect("strings take everything");
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("heapwright::") || metadata.target() == "heapwright"
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().expect("no test panics with it").push(line.0);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// A second subscriber for as long as the program runs. While there is only one, a thread of another test, which has
/// none, decides for the whole process that nobody is interested in an event that it is the first to log.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Lines::default()));

/// Runs `act` and returns its result and the warnings that this thread logged meanwhile.
pub(crate) fn warnings<T>(act: impl FnOnce() -> T) -> (T, Vec<String>) {
    LazyLock::force(&SECOND);
    let lines = Lines::default();
    let logged = Arc::clone(&lines.0);
    let result = tracing::subscriber::with_default(lines, act);
    let mut logged = std::mem::take(&mut *logged.lock().expect("no test panics with it"));
    logged.retain(|line| line.starts_with("WARN") || line.starts_with("ERROR"));
    (result, logged)
}
