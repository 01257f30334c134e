//! Wine with a separate prefix and display.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::process;
use crate::command;

/// Script that starts a display, prints its number, and terminates the display and Wine when standard input is closed.
/// This also happens if this process is killed. The script ignores Ctrl-C, which would otherwise terminate it first.
const KEEPER: &str = r#"
trap '' INT
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>&1 >/dev/null 2>"$1" </dev/null &
cat >/dev/null
wineserver -k
kill $!
wait
"#;

/// A running instance of Wine. Dropping it terminates all of its processes.
pub(super) struct Wine {
    keeper: Child,
    display: String,
    prefix: PathBuf,
}

impl Wine {
    /// Starts a display and creates a new prefix in `folder`.
    pub(super) fn start(folder: &Path) -> Result<Self, String> {
        let prefix = folder.join("prefix");
        match fs::remove_dir_all(&prefix) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("removing {}: {error}", prefix.display()));
            }
            _ => {}
        }
        let log = folder.join("xvfb.log");
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(&log)
            .env("WINEPREFIX", &prefix)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("starting sh: {error}"))?;
        let stdout = keeper.stdout.take().expect("standard output is piped");
        // From here on, dropping the value terminates it.
        let mut wine = Self { keeper, display: String::new(), prefix };
        let mut number = String::new();
        let read = BufReader::new(stdout).read_line(&mut number);
        if read.is_err() || number.trim().is_empty() {
            let said = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("Xvfb did not start: {}", said.trim()));
        }
        wine.display = format!(":{}", number.trim());
        fs::create_dir_all(&wine.prefix).map_err(|error| format!("{}: {error}", wine.prefix.display()))?;
        wine.keep_server();
        wine.make_prefix(folder)?;
        Ok(wine)
    }

    fn make_prefix(&self, folder: &Path) -> Result<(), String> {
        let mut wineboot = self.command("wineboot");
        wineboot.arg("--init");
        let run = process::run(wineboot, Duration::from_secs(180), &folder.join("wineboot"))
            .map_err(|error| format!("wineboot: {error}"))?;
        if !run.is_success() {
            return Err(format!("wineboot: {}", run.describe()));
        }
        if self.system_folder().is_dir() { Ok(()) } else { Err("wineboot made no system32".to_owned()) }
    }

    /// Returns the system directory, in which every program finds libraries.
    pub(super) fn system_folder(&self) -> PathBuf {
        self.prefix.join("drive_c/windows/system32")
    }

    /// Returns a command that runs `program`, a Linux path or the name of a program of Wine.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("wine");
        command
            .arg(program)
            .env("WINEPREFIX", &self.prefix)
            .env("DISPLAY", &self.display)
            .env("WINEDEBUG", "-all")
            // Disables the installation of Mono and Gecko, desktop menu entries, and the debugger.
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d");
        command
    }

    /// Terminates all running programs, after one has exceeded its time limit.
    pub(super) fn end_programs(&self) {
        self.wineserver("-k");
        self.wineserver("-w");
        self.keep_server();
    }

    /// Starts Wine's server, which runs until it is terminated.
    ///
    /// Otherwise it exits with the last program, and a program that starts at that moment fails ("wine client error:
    /// recvmsg: Connection reset by peer").
    fn keep_server(&self) {
        self.wineserver("-p");
    }

    fn wineserver(&self, option: &str) {
        // If this fails, the first program fails too.
        let _ = Command::new("wineserver")
            .arg(option)
            .env("WINEPREFIX", &self.prefix)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The script exits when its standard input is closed.
        let _ = self.keeper.wait();
    }
}

/// Compiles the library that Rust's std requires and Wine 8 lacks, and installs it in the system directory.
pub(super) fn add_shim(wine: &Wine, folder: &Path) -> Result<(), String> {
    let path = wine.system_folder().join("bcryptprimitives.dll");
    if path.exists() {
        return Ok(()); // Wine 9 and later
    }
    let source = folder.join("bcryptprimitives.c");
    fs::write(&source, include_str!("bcryptprimitives.c"))
        .map_err(|error| format!("{}: {error}", source.display()))?;
    let mut compile = Command::new("x86_64-w64-mingw32-gcc");
    compile.args(["-shared", "-O1", "-o"]).arg(&path).arg(&source).arg("-ladvapi32");
    command::output(&mut compile).map(drop)
}
