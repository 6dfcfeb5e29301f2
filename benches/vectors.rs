//! Cost of search by vectors: the scan of all vectors, and, where a model folder is named by `MERCATO_MODEL`, the
//! vector of a question; by `MERCATO_CROSS_ENCODER`, re-ranking.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench may fail loudly")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use mercato_search::models::{InferencePool, load_embedder, load_reranker};
use mercato_search::vectors::VectorIndex;

const DIMENSIONS: usize = 384;
const PASSAGE: &str = "Hourly concentrations of nitrogen dioxide, ozone and particulate matter at every measuring station, \
    with the municipality, the coordinates, the type of station, the instrument and a code of validity for each value. \
    Daily and yearly means are given where enough hours are valid; values below the limit of detection count as half of it.";

/// Numbers between −1 and 1 that are the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS).map(|_| self.next()).collect()
    }
}

/// Vectors around shared centres, as those of texts are.
fn clustered(count: usize) -> (VectorIndex, Vec<f32>) {
    let mut noise = Noise(7);
    let centres: Vec<Vec<f32>> = (0..200).map(|_| noise.vector()).collect();
    let vectors = (0..count).map(|at| {
        let centre = &centres[at % centres.len()];
        (at.to_string(), centre.iter().map(|number| number + 0.6 * noise.next()).collect::<Vec<f32>>())
    });
    let index = VectorIndex::new(DIMENSIONS, vectors.collect::<Vec<_>>());
    let question = index.vector(count / 2).unwrap().to_vec();
    (index, question)
}

fn scan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("search");
    for count in [1_000, 100_000] {
        let (index, question) = clustered(count);
        group.bench_function(format!("nearest 50 of {count} vectors"), |bench| {
            bench.iter(|| index.nearest(black_box(&question), 50));
        });
    }
    let far = || Instant::now() + Duration::from_secs(60);
    let pool = || Arc::new(InferencePool::new("bench", 1, 0).unwrap());
    if let Ok(folder) = std::env::var("MERCATO_MODEL") {
        let model = load_embedder(Path::new(&folder), pool(), pool()).unwrap();
        group.bench_function("vector of a question", |bench| {
            bench.iter(|| model.embed_query("how clean is the air in european cities", far()).unwrap());
        });
        group.bench_function("vector of a dataset", |bench| {
            bench.iter(|| model.embed_passage(PASSAGE, far()).unwrap());
        });
    }
    if let Ok(folder) = std::env::var("MERCATO_CROSS_ENCODER") {
        let model = load_reranker(Path::new(&folder), pool()).unwrap();
        let passages = [PASSAGE; 20];
        group.sample_size(10);
        group.bench_function("scores of 20 datasets", |bench| {
            bench.iter(|| model.score("how clean is the air", &passages, far()).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
