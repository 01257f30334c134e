//! Wine with a prefix and a display of its own.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::process;

/// Starts a display, tells its number, and ends it and all of Wine when standard input ends. That happens even if
/// nothing is left to say goodbye: when our process is killed. Ctrl-C reaches this one too, and must not end it first.
const KEEPER: &str = r#"
trap '' INT
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>&1 >/dev/null 2>"$1" </dev/null &
cat >/dev/null
wineserver -k
kill $!
wait
"#;

/// A Wine that runs; dropped, all of its processes end.
pub(super) struct Wine {
    keeper: Child,
    display: String,
    prefix: PathBuf,
}

impl Wine {
    /// Starts a display and makes a new prefix below `folder`.
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
        let stdout = keeper.stdout.take().expect("it was asked for");
        // From here on dropping ends it.
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
            return Err(format!("wineboot: {}", run.why_not()));
        }
        if self.system_folder().is_dir() { Ok(()) } else { Err("wineboot made no system32".to_owned()) }
    }

    /// Where libraries are found by every program.
    pub(super) fn system_folder(&self) -> PathBuf {
        self.prefix.join("drive_c/windows/system32")
    }

    /// A command that runs `program`, a path of Linux's or the name of one of Wine's programs.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("wine");
        command
            .arg(program)
            .env("WINEPREFIX", &self.prefix)
            .env("DISPLAY", &self.display)
            .env("WINEDEBUG", "-all")
            // No questions whether to install Mono and Gecko, no entries in the menus of the desktop, and no debugger for
            // what crashes.
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d");
        command
    }

    /// Ends all programs that run, after one that did not end in time.
    pub(super) fn end_programs(&self) {
        self.wineserver("-k");
        self.wineserver("-w");
        self.keep_server();
    }

    /// Starts Wine's server, which stays until it is ended.
    ///
    /// One that a program starts ends with the last program, and a program that comes at that moment is refused ("wine client error:
    /// recvmsg: Connection reset by peer").
    fn keep_server(&self) {
        self.wineserver("-p");
    }

    fn wineserver(&self, option: &str) {
        // If it cannot be started there is no Wine either, which the first program says.
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
        // What could fail is waiting for a process that nobody else waits for.
        let _ = self.keeper.wait();
    }
}

/// Compiles the library that Wine 8 lacks and Rust's std needs, and puts it where every program finds it.
pub(super) fn add_shim(wine: &Wine, folder: &Path) -> Result<(), String> {
    let path = wine.system_folder().join("bcryptprimitives.dll");
    if path.exists() {
        return Ok(()); // Wine 9 and later
    }
    let source = folder.join("bcryptprimitives.c");
    fs::write(&source, include_str!("bcryptprimitives.c"))
        .map_err(|error| format!("{}: {error}", source.display()))?;
    let errors = folder.join("bcryptprimitives.err");
    let stderr = File::create(&errors).map_err(|error| format!("{}: {error}", errors.display()))?;
    let status = Command::new("x86_64-w64-mingw32-gcc")
        .args(["-shared", "-O1", "-o"])
        .arg(&path)
        .arg(&source)
        .arg("-ladvapi32")
        .stderr(stderr)
        .status()
        .map_err(|error| format!("starting x86_64-w64-mingw32-gcc: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("compiling bcryptprimitives.c failed, see {}", errors.display()))
    }
}
