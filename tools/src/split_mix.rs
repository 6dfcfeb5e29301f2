//! The increment and the mixing function of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014), for generated data and load tests only.

/// The increment of the state.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random number of a state.
pub fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation for the seed 1234567.
    #[test]
    fn matches_reference_implementation() {
        let states = (1..=3_u64).map(|number| 1_234_567_u64.wrapping_add(STEP.wrapping_mul(number)));
        let numbers: Vec<u64> = states.map(mixed).collect();
        assert_eq!(numbers, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }
}
