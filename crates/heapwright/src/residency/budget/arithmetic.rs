//! Effective budgets, computed from what the operating system reports.

use heapwright_core::ByteSize;

use crate::adapter::Fraction;

/// The memory of a segment group, as the operating system reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OsMemory {
    pub(super) budget: ByteSize,
    pub(super) usage: ByteSize,
    pub(super) available_for_reservation: ByteSize,
}

impl OsMemory {
    /// Checks whether the operating system counts this segment group. Some implementations other than Windows' report
    /// zeros.
    pub(super) fn is_counted(&self) -> bool {
        !(self.budget.is_zero() && self.usage.is_zero())
    }
}

/// The limit of a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// A fraction of the operating system's budget.
    FractionOfOs(Fraction),
    /// These bytes, or the operating system's budget if that is less.
    AtMost(ByteSize),
    /// These bytes, whatever the operating system reports.
    Exactly(ByteSize),
}

/// The budget and the reservation in force for a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EffectiveBudget {
    /// Upper bound of managed memory and of external usage beyond the reservation, in bytes. [`ByteSize::MAX`] is no
    /// bound.
    pub(super) budget: ByteSize,
    /// Bytes that are set aside for memory that is not managed.
    pub(super) reservation: ByteSize,
}

/// Returns budget and reservation, from the operating system's report (`None` if there is none), the limit, and the
/// requested reservation.
///
/// A reservation is at most `reservation_cap` of the budget, and at most what the operating system allows. It is
/// subtracted from the budget before a fraction of the rest is taken.
pub(super) fn effective_budget(
    os: Option<OsMemory>,
    limit: Limit,
    reservation_cap: Fraction,
    asked: ByteSize,
) -> EffectiveBudget {
    let whole = match (os, limit) {
        (Some(os), _) => Some(os.budget),
        (None, Limit::AtMost(bytes) | Limit::Exactly(bytes)) => Some(bytes),
        (None, Limit::FractionOfOs(_)) => None,
    };
    let cap = whole.map_or(ByteSize::MAX, |whole| reservation_cap.of(whole));
    let available = os.map_or(ByteSize::MAX, |os| os.available_for_reservation);
    let reservation = asked.min(cap).min(available);
    let os_budget = os.map_or(ByteSize::MAX, |os| os.budget);
    let less = |bytes: ByteSize| bytes.saturating_sub(reservation);
    let budget = match limit {
        Limit::FractionOfOs(_) if os.is_none() => ByteSize::MAX,
        Limit::FractionOfOs(part) => part.of(less(os_budget)),
        Limit::AtMost(bytes) => less(bytes.min(os_budget)),
        Limit::Exactly(bytes) => less(bytes),
    };
    EffectiveBudget { budget, reservation }
}

/// Returns the external usage: what the process uses in addition to managed memory and beyond its reservation. It
/// counts against the budget.
///
/// Both numbers were taken at about the same moment. They need not agree, because memory is created and released
/// meanwhile.
pub(super) fn external(os_usage: ByteSize, managed: ByteSize, reservation: ByteSize) -> ByteSize {
    os_usage.saturating_sub(managed).saturating_sub(reservation)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn mib(mib: u64) -> ByteSize {
        ByteSize::from_mib(mib)
    }

    fn os(budget: ByteSize, usage: ByteSize) -> Option<OsMemory> {
        Some(OsMemory { budget, usage, available_for_reservation: Fraction::new(0.5).of(budget) })
    }

    #[test]
    fn budgets_equal_gpgmms() {
        let (limit, half) = (Limit::FractionOfOs(Fraction::new(0.95)), Fraction::new(0.5));
        let holds = effective_budget(os(mib(1000), mib(10)), limit, half, ByteSize::ZERO);
        // 0.95 as a double is slightly less, so a byte is lost.
        let most = mib(950);
        assert!(holds.budget <= most && most.saturating_sub(holds.budget) <= ByteSize::new(1), "{holds:?}");
        assert_eq!(holds.reservation, ByteSize::ZERO);

        let half_of = Limit::FractionOfOs(half);
        let holds = effective_budget(os(mib(1000), mib(10)), half_of, half, mib(200));
        assert_eq!((holds.budget, holds.reservation), (mib(400), mib(200)));
        let holds = effective_budget(os(mib(1000), mib(10)), half_of, half, mib(800));
        assert_eq!((holds.budget, holds.reservation), (mib(250), mib(500)), "capped");
        let little = OsMemory { budget: mib(1000), usage: mib(1), available_for_reservation: mib(100) };
        let holds = effective_budget(Some(little), half_of, half, mib(800));
        assert_eq!(
            (holds.budget, holds.reservation),
            (mib(450), mib(100)),
            "at most the reservation of the operating system"
        );
    }

    #[test]
    fn max_budget_is_limited_by_the_operating_system() {
        let half = Fraction::new(0.5);
        let none = ByteSize::ZERO;
        assert_eq!(
            effective_budget(os(mib(1000), none), Limit::AtMost(mib(300)), half, none).budget,
            mib(300)
        );
        assert_eq!(
            effective_budget(os(mib(100), none), Limit::AtMost(mib(300)), half, none).budget,
            mib(100)
        );
        assert_eq!(
            effective_budget(os(mib(100), none), Limit::Exactly(mib(300)), half, none).budget,
            mib(300)
        );
        assert_eq!(effective_budget(None, Limit::AtMost(mib(300)), half, none).budget, mib(300));
        let holds = effective_budget(None, Limit::Exactly(mib(300)), half, mib(200));
        assert_eq!(
            (holds.budget, holds.reservation),
            (mib(150), mib(150)),
            "percentage of the video memory without other bounds"
        );
    }

    #[test]
    fn an_unknown_budget_is_unbounded() {
        let limit = Limit::FractionOfOs(Fraction::new(0.95));
        let holds = effective_budget(None, limit, Fraction::new(0.5), mib(5));
        assert_eq!((holds.budget, holds.reservation), (ByteSize::MAX, mib(5)));
        let silent = OsMemory { budget: mib(0), usage: mib(0), available_for_reservation: mib(0) };
        assert!(!silent.is_counted());
        assert!(OsMemory { usage: mib(1), ..silent }.is_counted(), "a budget of zero is valid");
    }

    #[test]
    fn a_reservation_above_usage_does_not_wrap() {
        // GPGMM computes usage - reservation, which wraps to a number far above every budget.
        assert_eq!(external(mib(100), mib(0), mib(300)), ByteSize::ZERO);
        assert_eq!(external(mib(100), mib(200), mib(0)), ByteSize::ZERO);
        assert_eq!(external(mib(500), mib(200), mib(100)), mib(200));
    }

    proptest! {
        #[test]
        fn fractions_are_exact(bytes: u64, seed: u64, log2 in 0_u32..=60) {
            // Every such number is a double: 53 bits, and a small exponent.
            let denominator = 1_u64 << log2;
            let numerator = seed % (denominator.min(1 << 53) + 1);
            #[allow(clippy::cast_precision_loss, reason = "a power of two is exact in 53 bits")]
            let part = Fraction::new(numerator as f64 / denominator as f64);
            let exact = u128::from(bytes) * u128::from(numerator) / u128::from(denominator);
            prop_assert_eq!(u128::from(part.of(ByteSize::new(bytes)).get()), exact);
        }

        #[test]
        fn any_number_is_a_valid_fraction(bytes: u64, number: f64) {
            let part = Fraction::new(number).of(ByteSize::new(bytes));
            prop_assert!(part.get() <= bytes);
            if number >= 1.0 {
                prop_assert_eq!(part.get(), bytes);
            }
            if number <= 0.0 || number.is_nan() {
                prop_assert!(part.is_zero());
            }
        }

        #[test]
        fn effective_budgets_are_within_their_limits(
            budget: u64, usage: u64, available: u64, asked: u64, bound: u64, kind in 0_u8..3,
            part in 0.0_f64..=1.0, cap in 0.0_f64..=1.0,
        ) {
            let [budget, usage, available_for_reservation, asked, bound] =
                [budget, usage, available, asked, bound].map(ByteSize::new);
            let os = OsMemory { budget, usage, available_for_reservation };
            let limit = match kind {
                0 => Limit::FractionOfOs(Fraction::new(part)),
                1 => Limit::AtMost(bound),
                _ => Limit::Exactly(bound),
            };
            let holds = effective_budget(Some(os), limit, Fraction::new(cap), asked);
            prop_assert!(holds.reservation <= asked);
            prop_assert!(holds.reservation <= available_for_reservation);
            prop_assert!(holds.reservation <= Fraction::new(cap).of(budget));
            match limit {
                Limit::FractionOfOs(_) => {
                    let both = u128::from(holds.budget.get()) + u128::from(holds.reservation.get());
                    prop_assert!(both <= u128::from(budget.get()));
                }
                Limit::AtMost(_) => prop_assert!(holds.budget <= bound.min(budget)),
                Limit::Exactly(_) => prop_assert!(holds.budget <= bound),
            }
        }
    }
}
