//! Checks that every numbered rule of aliasing has a check that follows it and a check that violates it.

use std::collections::HashSet;

use heapwright_conformance::{Shows, Side, checks};

/// The sections and the number of rules in each.
const SECTIONS: [(&str, u32); 5] = [("G", 10), ("I", 14), ("B", 10), ("H", 9), ("E", 9)];

/// Rules that have checks on one side only, with the reason.
const ONE_SIDED: [(&str, Side, &str); 1] = [(
    "E-9",
    Side::Accepted,
    "the rule is an example that must be taken; what it must not do are E-1 to E-8",
)];

fn rules() -> Vec<String> {
    let mut rules = Vec::new();
    for (section, count) in SECTIONS {
        rules.extend((1..=count).map(|number| format!("{section}-{number}")));
    }
    rules
}

fn shown() -> HashSet<(&'static str, Side)> {
    checks::all().filter_map(|check| check.shows).map(|Shows { rule, side }| (rule, side)).collect()
}

#[test]
fn every_rule_is_shown_from_both_sides() {
    let shown = shown();
    let mut missing = Vec::new();
    for rule in rules() {
        for side in [Side::Accepted, Side::Refused] {
            let is_one_sided = ONE_SIDED.iter().any(|&(one, only, _)| one == rule && only != side);
            if shown.contains(&(rule.as_str(), side)) == is_one_sided {
                missing.push(format!("{rule} {side:?}"));
            }
        }
    }
    assert!(missing.is_empty(), "without a check, or with one that should not be: {missing:?}");
}

#[test]
fn every_rule_that_is_shown_exists_and_is_in_the_checks_name() {
    let rules = rules();
    for check in checks::all() {
        let Some(Shows { rule, .. }) = check.shows else { continue };
        assert!(rules.iter().any(|known| known == rule), "{}: there is no rule {rule}", check.id);
        let name = format!("aliasing/{}-", rule.to_lowercase());
        assert!(check.id.starts_with(&name), "{} shows {rule}", check.id);
    }
}
