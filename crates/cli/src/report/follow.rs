//! `heapwright report --follow`: serves the page of a session that is still recorded.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use heapwright_trace::Format;
use tiny_http::{Header, Method, Request, Response, Server};

use super::Session;
use super::source::{self, Content};
use crate::exit::{Exit, Failed};
use crate::input;
use crate::output::Output;

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_millis(500);

/// A line after so many looks, so that a closed connection is noticed.
const LOOKS_TO_A_SIGN_OF_LIFE: u32 = 20;

/// Maximum number of pages that follow at the same time.
const MAX_PAGES: usize = 16;

/// Serves the page until the process is ended. The address has a token, and only addresses with it are answered.
pub(super) fn follow(path: &Path, output: &mut Output) -> Result<Exit, Failed> {
    if input::is_stream(path) || input::is_generated(path) {
        return Err(
            Failed::bad_input("--follow needs the file of a session (.hws)").of(input::name(path).display())
        );
    }
    // What cannot be read is an error before anything is served.
    page(path)?;
    let cannot_serve =
        |error: &dyn std::fmt::Display| Failed::failure(format_args!("cannot serve the page: {error}"));
    let server = Server::http(("127.0.0.1", 0)).map_err(|error| cannot_serve(&error))?;
    let mut token = [0; 16];
    getrandom::fill(&mut token).map_err(|error| cannot_serve(&error))?;
    let token = format!("{:032x}", u128::from_le_bytes(token));
    output.result(&format_args!("http://{}/{token}/\nCtrl-C ends it", server.server_addr()))?;
    let (page_path, events_path) = (format!("/{token}/"), format!("/{token}/events"));
    let pages = Arc::new(AtomicUsize::new(0));
    // What a page did not see yet is told to it as soon as it asks, not only what comes after.
    let mut served = state(path);
    for request in server.incoming_requests() {
        let is_get = *request.method() == Method::Get;
        // A page that is gone before its answer is no failure.
        let _gone = match request.url() {
            url if is_get && url == page_path => {
                served = state(path);
                respond_with_page(request, path)
            }
            url if is_get && url == events_path => {
                start_events(request, path, served, &pages);
                Ok(())
            }
            _ => request.respond(Response::empty(404)),
        };
    }
    Ok(Exit::Success)
}

/// Returns the page of the session as it is now.
fn page(path: &Path) -> Result<Vec<u8>, Failed> {
    let Content::Session(reader) = source::open(path)? else {
        return Err(Failed::bad_input("--follow needs a session (.hws)").of(input::name(path).display()));
    };
    if reader.format() != Format::Session {
        let rule = format!("is a {}; --follow needs a session (.hws)", reader.format());
        return Err(Failed::bad_input(rule).of(input::name(path).display()));
    }
    let mut page = Vec::new();
    let session = Session::read(path, *reader)?;
    session.write(true, &mut page).map_err(Failed::failure)?;
    Ok(page)
}

fn respond_with_page(request: Request, path: &Path) -> io::Result<()> {
    let header = |name: &str, value: &str| Header::from_bytes(name, value).ok();
    let (status, kind, body) = match page(path) {
        Ok(page) => (200, "text/html; charset=utf-8", page),
        Err(failed) => (500, "text/plain; charset=utf-8", failed.to_string().into_bytes()),
    };
    let mut response = Response::from_data(body).with_status_code(status);
    let headers = [
        header("Content-Type", kind),
        header("Cache-Control", "no-store"),
        header("Referrer-Policy", "no-referrer"),
        header("X-Content-Type-Options", "nosniff"),
    ];
    headers.into_iter().flatten().for_each(|header| response.add_header(header));
    // A session whose file is written anew is readable soon.
    if status != 200 {
        header("Refresh", "1").into_iter().for_each(|header| response.add_header(header));
    }
    request.respond(response)
}

/// Sends an event for each growth of the file, in a thread of its own.
fn start_events(request: Request, path: &Path, served: State, pages: &Arc<AtomicUsize>) {
    if pages.fetch_add(1, Ordering::Relaxed) >= MAX_PAGES {
        pages.fetch_sub(1, Ordering::Relaxed);
        // A page that is gone before its answer is no failure.
        let _gone = request.respond(Response::empty(503));
        return;
    }
    let (path, pages) = (path.to_owned(), Arc::clone(pages));
    thread::spawn(move || {
        // The connection ends with an error when the page is gone.
        let _gone = send_events(request.into_writer(), &path, served);
        pages.fetch_sub(1, Ordering::Relaxed);
    });
}

fn send_events(mut page: impl Write, path: &Path, mut known: State) -> io::Result<()> {
    page.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
    )?;
    page.flush()?;
    for look in 1_u32.. {
        thread::sleep(INTERVAL);
        let now = state(path);
        if now != known {
            known = now;
            page.write_all(b"data: grown\n\n")?;
        } else if look % LOOKS_TO_A_SIGN_OF_LIFE == 0 {
            page.write_all(b":\n\n")?;
        }
        page.flush()?;
    }
    Ok(())
}

/// What changes when the file grows: its length and time; `None` without a file.
type State = Option<(u64, Option<SystemTime>)>;

fn state(path: &Path) -> State {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()))
}
