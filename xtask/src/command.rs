//! Running programs that must succeed.

use std::process::{Command, Stdio};

/// Runs a program, which inherits standard output and error.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("starting {}: {error}", named(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed", named(command))) }
}

/// Runs a program, and returns its standard output. What it writes to standard error is part of the error.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("starting {}: {error}", named(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{} failed: {}", named(command), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Returns the name of a program and its arguments.
fn named(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_program_with_its_arguments() {
        let shell = |script: &str| output(Command::new("sh").args(["-c", script]));
        assert_eq!(shell("echo 7"), Ok("7\n".to_owned()));
        assert_eq!(shell("echo no >&2; exit 3"), Err("sh -c echo no >&2; exit 3 failed: no".to_owned()));
        assert_eq!(run(Command::new("sh").args(["-c", "exit 0"])), Ok(()));
        assert_eq!(run(Command::new("sh").args(["-c", "exit 3"])), Err("sh -c exit 3 failed".to_owned()));
        let error = run(&mut Command::new("/no/such/program")).unwrap_err();
        assert!(error.starts_with("starting /no/such/program: "), "{error}");
    }
}
