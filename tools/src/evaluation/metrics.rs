//! Metrics of rankings: gain, reciprocal rank and recall.

use serde::Serialize;

/// Results whose order is judged.
const JUDGED_MAX: usize = 10;
/// Results in which recall is counted.
const RECALL_MAX: usize = 5;

/// Means over questions. All but `found` lie between 0 and 1; a question that nothing answers has 1 where nothing is
/// found, else 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Metrics {
    pub queries: usize,
    /// Normalised discounted cumulative gain of the first ten results.
    #[serde(rename = "ndcg@10")]
    pub ndcg: f64,
    /// One over the place of the first right result.
    pub mrr: f64,
    /// Share of the right results among the first five.
    #[serde(rename = "recall@5")]
    pub recall: f64,
    /// How many datasets were found in all.
    pub found: f64,
}

pub(super) fn judge(order: &[&str], found: usize, relevant: &[String]) -> Metrics {
    if relevant.is_empty() {
        let right = if found == 0 { 1.0 } else { 0.0 };
        return Metrics { queries: 1, ndcg: right, mrr: right, recall: right, found: found as f64 };
    }
    let places: Vec<usize> = (1..)
        .zip(order)
        .filter(|(_, slug)| relevant.iter().any(|right| right == *slug))
        .map(|(place, _)| place)
        .collect();
    let gain = |place: usize| 1.0 / (place as f64 + 1.0).log2();
    let ideal: f64 = (1..=relevant.len().min(JUDGED_MAX)).map(gain).sum();
    let gained: f64 = places.iter().filter(|place| **place <= JUDGED_MAX).map(|place| gain(*place)).sum();
    let early = places.iter().filter(|place| **place <= RECALL_MAX).count();
    Metrics {
        queries: 1,
        ndcg: if ideal > 0.0 { gained / ideal } else { 0.0 },
        mrr: places.first().map_or(0.0, |place| 1.0 / *place as f64),
        recall: early as f64 / relevant.len().clamp(1, RECALL_MAX) as f64,
        found: found as f64,
    }
}

pub(super) fn mean(all: impl Iterator<Item = Metrics>) -> Metrics {
    let mut sum = Metrics::default();
    for one in all {
        sum.queries = sum.queries.saturating_add(one.queries);
        sum.ndcg += one.ndcg;
        sum.mrr += one.mrr;
        sum.recall += one.recall;
        sum.found += one.found;
    }
    let count = sum.queries.max(1) as f64;
    Metrics {
        queries: sum.queries,
        ndcg: sum.ndcg / count,
        mrr: sum.mrr / count,
        recall: sum.recall / count,
        found: sum.found / count,
    }
}
