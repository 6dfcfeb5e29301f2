//! The step and the mixing function of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014): numbers for made-up data and loads, and nothing else should be made of them.

/// What the state grows by from one number to the next.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number that belongs to a state.
pub(crate) fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers from the seed 1234567, as the reference implementation gives them.
    #[test]
    fn the_numbers_are_those_of_the_reference() {
        let states = (1..=3_u64).map(|number| 1_234_567_u64.wrapping_add(STEP.wrapping_mul(number)));
        let numbers: Vec<u64> = states.map(mixed).collect();
        assert_eq!(numbers, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }
}
