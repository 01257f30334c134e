//! A client of chromedriver: the part of the WebDriver protocol that the tests use.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A headless Chromium with one window. Dropping it ends the browser.
pub(super) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// A reference to an element of the page.
pub(super) struct Element(String);

/// Key of element references in the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    /// Starts chromedriver on a free port, and the browser.
    pub(super) fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver must be installed (Debian's package chromium-driver)");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                line.rsplit_once("started successfully on port ")?.1.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver prints its port");
        // The pipe must stay open.
        std::thread::spawn(move || lines.for_each(drop));
        let mut browser = Self { driver, port, session: String::new() };
        let options = json!({
            "capabilities": { "alwaysMatch": {
                "browserName": "chrome",
                "goog:loggingPrefs": { "browser": "ALL" },
                "goog:chromeOptions": {
                    "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"]
                },
            } }
        });
        let session = browser.call("POST", "/session", &options);
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        browser.command("timeouts", &json!({ "script": 60_000 }));
        browser
    }

    pub(super) fn open(&self, page: &Path) {
        self.open_address(&format!("file://{}", page.display()));
    }

    pub(super) fn open_address(&self, address: &str) {
        self.command("url", &json!({ "url": address }));
    }

    /// Runs a script and returns its result.
    pub(super) fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script and returns the value that it passes to its first argument.
    pub(super) fn run_async(&self, script: &str) -> Value {
        self.command("execute/async", &json!({ "script": script, "args": [] }))
    }

    pub(super) fn element(&self, selector: &str) -> Element {
        let found = self.command("element", &json!({ "using": "css selector", "value": selector }));
        Element(found[ELEMENT].as_str().expect("an element").to_owned())
    }

    /// Types text into an element. Special keys are the protocol's code points from U+E000 on.
    pub(super) fn press(&self, element: &Element, text: &str) {
        self.command(&format!("element/{}/value", element.0), &json!({ "text": text }));
    }

    /// Clicks the middle of an element.
    pub(super) fn click(&self, element: &Element) {
        self.command(&format!("element/{}/click", element.0), &json!({}));
    }

    /// Returns the errors and warnings in the console since the last call.
    pub(super) fn errors(&self) -> Vec<Value> {
        let log = self.command("se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().expect("a list").iter();
        entries
            .filter(|entry| ["SEVERE", "WARNING"].iter().any(|level| entry["level"] == *level))
            .cloned()
            .collect()
    }

    #[track_caller]
    fn command(&self, command: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{command}", self.session), body)
    }

    /// Sends a request and returns the value of the response.
    #[track_caller]
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .unwrap();
        let mut stream = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        let mut response = vec![0; length];
        stream.read_exact(&mut response).unwrap();
        let mut response: Value = serde_json::from_slice(&response).unwrap();
        let value = response["value"].take();
        assert!(value["error"].is_null(), "{method} {path}: {}: {}", value["error"], value["message"]);
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session. A test that fails must end it, too.
        if !self.session.is_empty() {
            let end = || self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
            let _ = catch_unwind(AssertUnwindSafe(end));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
