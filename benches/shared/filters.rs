//! The filters of the named works.

/// Three conditions that 3.4 % of the rows meet.
pub const W3: &str =
    "\"filters\":{\"l_shipmode\":\"AIR\",\"l_quantity_min\":30,\"l_shipdate_min\":\"1995-01-01\"}";
/// Four conditions that one row of 9,000 meets.
pub const W5: &str =
    "\"filters\":{\"l_returnflag\":\"R\",\"l_discount\":0.1,\"l_quantity\":1,\"l_shipinstruct\":\"NONE\"}";
