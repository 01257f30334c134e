//! The scenarios that come with the program.

use super::Scenario;

/// Name and text, in the order in which they are simulated.
const FILES: [(&str, &str); 7] = [
    ("open-world", include_str!("../../scenarios/open-world.toml")),
    ("ml-serving", include_str!("../../scenarios/ml-serving.toml")),
    ("level-change", include_str!("../../scenarios/level-change.toml")),
    ("budget-halved", include_str!("../../scenarios/budget-halved.toml")),
    ("cyclic-scan", include_str!("../../scenarios/cyclic-scan.toml")),
    ("tiny-heaps", include_str!("../../scenarios/tiny-heaps.toml")),
    ("hot-set-and-scan", include_str!("../../scenarios/hot-set-and-scan.toml")),
];

/// Controls, which are simulated on demand: what is used in them does not depend on what was, so there is nothing to learn.
const CONTROLS: [(&str, &str); 1] = [("zipf", include_str!("../../scenarios/zipf.toml"))];

/// The names of those that are simulated by default.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The names of the controls.
pub fn controls() -> impl Iterator<Item = &'static str> {
    CONTROLS.iter().map(|(name, _)| *name)
}

/// The one of that name, a control or not.
pub fn find(name: &str) -> Option<Scenario> {
    let (name, text) = FILES.iter().chain(&CONTROLS).find(|(known, _)| *known == name)?;
    Some(Scenario::parse(name, text).expect("a test reads them all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scenario_keeps_the_rules_and_has_its_name() {
        for (name, text) in FILES.into_iter().chain(CONTROLS) {
            match Scenario::parse(&format!("scenarios/{name}.toml"), text) {
                Ok(scenario) => assert_eq!(scenario.name, name),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
