//! Running programs with a time limit that includes their child processes.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Interval for polling whether a program has exited.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs a program, which inherits standard output and error, and returns its status or `None` after the time limit.
///
/// After the limit the program is killed, on Linux together with all of its descendants.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>, String> {
    let name = command.get_program().display().to_string();
    let mut child = command.spawn().map_err(|error| format!("starting {name}: {error}"))?;
    let status = wait(&mut child, limit).map_err(|error| format!("waiting for {name}: {error}"))?;
    if status.is_none() {
        kill_with_descendants(&mut child);
    }
    Ok(status)
}

/// Waits for a process, and returns its status or `None` after the time limit.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait()? {
            None if Instant::now() < end => thread::sleep(PAUSE),
            status => return Ok(status),
        }
    }
}

/// Kills the process and its descendants. A process group would be simpler, but Ctrl-C and signals for the process
/// group of this program would not reach it.
pub(crate) fn kill_with_descendants(child: &mut Child) {
    let descendants = descendants(child.id());
    // Fails if the process has already exited. The same applies to its descendants.
    let _ = child.kill();
    if !descendants.is_empty() {
        let _ = Command::new("kill").arg("-KILL").args(descendants.iter().map(u32::to_string)).status();
    }
    let _ = child.wait();
}

/// Returns the descendants of a process. Empty without `/proc`.
fn descendants(ancestor: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let processes: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((id, parent(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?))
        })
        .collect();
    let mut found = vec![ancestor];
    let mut place = 0;
    while let Some(&process) = found.get(place) {
        let children = processes.iter().filter(|&&(id, parent)| parent == process && !found.contains(&id));
        let children: Vec<u32> = children.map(|&(id, _)| id).collect();
        found.extend(children);
        place += 1;
    }
    found.split_off(1)
}

/// Returns the parent's id, the fourth field of `/proc/PID/stat` (proc_pid_stat(5)). The second field is the program's
/// name in parentheses, which may contain parentheses and spaces.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_status_of_a_program_is_returned() {
        let status = run(&mut shell("exit 3"), Duration::from_secs(60)).expect("sh exists");
        assert_eq!(status.and_then(|status| status.code()), Some(3));
        let error = run(&mut Command::new("/no/such/program"), Duration::from_secs(60)).unwrap_err();
        assert!(error.starts_with("starting /no/such/program: "), "{error}");
    }

    #[test]
    fn a_hanging_program_is_killed_with_its_descendants() {
        let file = std::env::temp_dir().join(format!("xtask-limited-{}", std::process::id()));
        // A child, and a grandchild that ignores signals.
        let script =
            "sh -c 'trap \"\" TERM HUP INT; echo $$ >\"$0\"; while :; do sleep 0.1; done' \"$0\" & wait";
        let mut command = shell(script);
        command.arg(&file);
        let start = Instant::now();
        assert_eq!(run(&mut command, Duration::from_secs(2)).expect("sh exists"), None);
        assert!(start.elapsed() < Duration::from_secs(60));
        let grandchild = std::fs::read_to_string(&file).expect("it wrote its id");
        std::fs::remove_file(&file).expect("it is there");
        let end = Instant::now() + Duration::from_secs(30);
        while is_running(grandchild.trim()) {
            assert!(Instant::now() < end, "{grandchild} runs on");
            thread::sleep(PAUSE);
        }
    }

    /// Returns whether the process exists and is not a zombie.
    fn is_running(id: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
        stat.is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")))
    }

    /// Runs commands with the functions of `.ci/steps`.
    fn ci_with(commands: &str) -> std::process::Output {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../.ci/steps");
        let script = format!("set -euo pipefail; . {file}; name='made up'; {commands}\necho end");
        Command::new("bash").args(["-c", &script]).output().expect("bash is there")
    }

    #[test]
    fn a_hanging_ci_step_is_killed_and_named() {
        let output = ci_with("within 0.02 sh -c 'sleep 600 & wait'");
        let error = String::from_utf8_lossy(&output.stderr);
        let expected = "error: step \"made up\" did not end in 0.02 minutes: sh -c sleep 600 & wait";
        assert!(error.contains(expected), "{error}");
        assert_eq!((output.status.code(), output.stdout.ends_with(b"end\n")), (Some(124), false));

        let output = ci_with("within 1 sh -c 'exit 7'");
        assert_eq!((output.status.code(), output.stdout.ends_with(b"end\n")), (Some(7), false));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = ci_with("ANSWER=42 within 1 sh -c 'test $ANSWER = 42'");
        assert_eq!((output.status.code(), output.stdout.ends_with(b"end\n")), (Some(0), true));
    }

    #[test]
    fn the_parent_is_found_after_a_name_with_parentheses() {
        assert_eq!(parent("7 (a) b (c) S 42 7 7 0"), Some(42));
        assert_eq!(parent("7 (a"), None);
    }
}
