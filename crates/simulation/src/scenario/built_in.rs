//! Built-in scenarios.
//!
//! They are examples of the file format, and the yardstick by which the default policy was judged first. As tests of policies,
//! generated workloads have replaced most of them: for a scenario, the distance of the nearest of 440 generated workloads of
//! the development part is the factor by which the ratio of any of six policies to the best of them differs at most
//! (2026-11-23). It is 1.30 for `cyclic-scan` and 1.13 for `hot-set-and-scan`, which separate policies as no generated workload
//! does, 1.08 for the control `zipf`, and at most 1.02 for the others.

use super::Scenario;

/// The names and texts of the scenarios, in the order of simulation.
const FILES: [(&str, &str); 7] = [
    ("open-world", include_str!("../../scenarios/open-world.toml")),
    ("ml-serving", include_str!("../../scenarios/ml-serving.toml")),
    ("level-change", include_str!("../../scenarios/level-change.toml")),
    ("budget-halved", include_str!("../../scenarios/budget-halved.toml")),
    ("cyclic-scan", include_str!("../../scenarios/cyclic-scan.toml")),
    ("tiny-heaps", include_str!("../../scenarios/tiny-heaps.toml")),
    ("hot-set-and-scan", include_str!("../../scenarios/hot-set-and-scan.toml")),
];

/// Control scenarios, which are simulated on request only: their uses are independent of earlier uses, so a
/// policy cannot learn from them.
const CONTROLS: [(&str, &str); 1] = [("zipf", include_str!("../../scenarios/zipf.toml"))];

/// Returns the names of the scenarios that are simulated by default.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Returns the names of the control scenarios.
pub fn controls() -> impl Iterator<Item = &'static str> {
    CONTROLS.iter().map(|(name, _)| *name)
}

/// Returns the built-in or control scenario with this name.
pub fn find(name: &str) -> Option<Scenario> {
    let (name, text) = FILES.iter().chain(&CONTROLS).find(|(known, _)| *known == name)?;
    Some(Scenario::parse(name, text).expect("built-in scenarios are valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scenario_is_valid_and_has_its_files_name() {
        for (name, text) in FILES.into_iter().chain(CONTROLS) {
            match Scenario::parse(&format!("scenarios/{name}.toml"), text) {
                Ok(scenario) => assert_eq!(scenario.name, name),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
