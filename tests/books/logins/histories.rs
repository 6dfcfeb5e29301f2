//! Random histories of sign-ups, sign-ins and sign-outs, compared with a plain model.

use proptest::prelude::*;

use crate::logins::world::{EMAILS, Step, World};

const DAY: i64 = 86_400;

fn step() -> impl Strategy<Value = Step> {
    let email = || 0..EMAILS;
    prop_oneof![
        6 => email().prop_map(|email| Step::SignUp { email }),
        2 => (email(), any::<bool>()).prop_map(|(email, keeps_one)| Step::SetPassword { email, keeps_one }),
        1 => email().prop_map(|email| Step::Confirm { email }),
        5 => (email(), prop_oneof![4 => 1..3_u8, 1 => 14..20_u8])
            .prop_map(|(email, count)| Step::Open { email, count }),
        3 => any::<usize>().prop_map(|which| Step::End { which }),
        2 => (email(), any::<bool>()).prop_map(|(email, keeps_one)| Step::EndAll { email, keeps_one }),
        4 => any::<usize>().prop_map(|which| Step::Touch { which }),
        5 => (email(), any::<bool>()).prop_map(|(email, resets)| Step::Issue { email, resets }),
        5 => (any::<usize>(), any::<bool>()).prop_map(|(which, resets)| Step::Redeem { which, resets }),
        1 => email().prop_map(|email| Step::CreateKey { email }),
        2 => email().prop_map(|email| Step::FreeQuery { email }),
        1 => email().prop_map(|email| Step::Close { email }),
        5 => prop_oneof![0..700_i64, 1_000..5_000_i64, DAY..DAY * 3, DAY * 5..DAY * 12]
            .prop_map(|seconds| Step::Wait { seconds }),
        2 => any::<bool>().prop_map(|keeps_checkpoint| Step::Restart { keeps_checkpoint }),
    ]
}

proptest! {
    #![proptest_config(crate::histories::histories())]

    #[test]
    fn agrees_with_plain_model_of_logins(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
            world.compare();
        }
        world.finish();
    }
}
