//! Built-in scenarios.

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
