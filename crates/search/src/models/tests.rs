//! Parity with the Python libraries on the same model files.
//!
//! `tests/models/make_tiny_models.py` makes the files and the expected numbers.
#![cfg(feature = "models")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

const DIFFERENCE_MAX: f64 = 1e-4;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models").join(name)
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn pool() -> Arc<InferencePool> {
    Arc::new(InferencePool::new("test-inference", 1, 0).unwrap())
}

fn embedder(folder: &Path) -> Result<Arc<dyn Embedder>, ModelError> {
    let pool = pool();
    load_embedder(folder, Arc::clone(&pool), pool)
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

/// A copy of a fixture that a test may change.
fn copy(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_into(&fixture(name), folder.path());
    folder
}

fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let (source, target) = {
            let item = item.unwrap();
            (item.path(), to.join(item.file_name()))
        };
        if source.is_dir() {
            copy_into(&source, &target);
        } else {
            fs::copy(source, target).unwrap();
        }
    }
}

fn change(path: &Path, edit: impl FnOnce(&mut Value)) {
    let mut value = read_json(path);
    edit(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

#[track_caller]
fn check_vectors(folder: &Path, expected: &Value) {
    let model = embedder(folder).unwrap();
    let sentences = read_json(&fixture("sentences.json"));
    let mut worst = 0.0_f64;
    for (sentence, expected) in sentences.as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        let vector = model.encode(sentence.as_str().unwrap(), far()).unwrap();
        assert_eq!(vector.len(), expected.as_array().unwrap().len());
        for (ours, theirs) in vector.iter().zip(expected.as_array().unwrap()) {
            worst = worst.max((f64::from(*ours) - theirs.as_f64().unwrap()).abs());
        }
    }
    assert!(worst <= DIFFERENCE_MAX, "largest difference {worst:e}");
}

#[test]
fn tiny_encoders_match_sentence_transformers() {
    for name in ["tiny-bert-embedding", "tiny-xlmr-embedding"] {
        let expected = read_json(&fixture(name).join("expected.json"));
        for pooling in ["mean", "cls", "max"] {
            let folder = copy(name);
            change(&folder.path().join("1_Pooling/config.json"), |file| {
                file["pooling_mode"] = json!(pooling)
            });
            check_vectors(folder.path(), &expected[pooling]);
        }
    }
}

#[test]
fn reads_layout_of_older_releases() {
    let folder = copy("tiny-bert-embedding");
    let path = folder.path();
    let expected = &read_json(&path.join("expected.json"))["cls"];
    // The encoder in a folder of its own, flags for the pooling, the length in the sentence's settings, left-over
    // padding and truncation in the tokenizer, and no word about positions.
    let inner = path.join("0_Transformer");
    fs::create_dir(&inner).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json", "sentence_bert_config.json"] {
        fs::rename(path.join(name), inner.join(name)).unwrap();
    }
    fs::remove_file(path.join("tokenizer_config.json")).unwrap();
    change(&path.join("modules.json"), |file| {
        file[0]["type"] = json!("sentence_transformers.models.Transformer");
        file[0]["path"] = json!("0_Transformer");
        file[1]["type"] = json!("sentence_transformers.models.Pooling");
    });
    let pooling = json!({"word_embedding_dimension": 32, "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false});
    fs::write(path.join("1_Pooling/config.json"), pooling.to_string()).unwrap();
    fs::write(inner.join("sentence_bert_config.json"), json!({"max_seq_length": 48}).to_string()).unwrap();
    change(&inner.join("tokenizer.json"), |file| {
        file["truncation"] = json!({"max_length": 16, "strategy": "LongestFirst", "stride": 0});
        file["padding"] = json!({"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"});
    });
    change(&inner.join("config.json"), |file| {
        file.as_object_mut().unwrap().remove("position_embedding_type").unwrap();
    });
    check_vectors(path, expected);
}

#[test]
fn tiny_cross_encoders_match_transformers() {
    for name in ["tiny-bert-cross", "tiny-xlmr-cross"] {
        let model = load_reranker(&fixture(name), pool()).unwrap();
        let expected = read_json(&fixture(name).join("expected.json"));
        let pairs = expected["pairs"].as_array().unwrap();
        assert!(pairs.len() > 20);
        for (pair, logit) in pairs.iter().zip(expected["logits"].as_array().unwrap()) {
            let (query, passage) = (pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
            let ours = f64::from(model.logit(query, passage, far()).unwrap());
            let difference = (ours - logit.as_f64().unwrap()).abs();
            assert!(difference <= DIFFERENCE_MAX, "{name}: {query} | {passage}: {ours}, {logit}");
            let score = model.score(query, &[passage], far()).unwrap();
            let sigmoid = 1.0 / (1.0 + (-ours).exp());
            assert!((f64::from(score[0].unwrap()) - sigmoid).abs() < 1e-6);
        }
    }
}

#[test]
fn omits_scores_after_deadline() {
    let model = load_reranker(&fixture("tiny-bert-cross"), pool()).unwrap();
    assert_eq!(model.score("air", &[], far()), Ok(vec![]));
    assert_eq!(model.score("air", &["a", "b"], Instant::now()), Ok(vec![None, None]));
}

#[test]
fn resolves_hub_cache_folders() {
    let cache = tempfile::tempdir().unwrap();
    let root = cache.path().join("models--acme--tiny");
    copy_into(&fixture("tiny-bert-embedding"), &root.join("blobs"));
    let snapshot = root.join("snapshots/abc123");
    fs::create_dir_all(snapshot.join("1_Pooling")).unwrap();
    for name in
        ["config.json", "modules.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    {
        std::os::unix::fs::symlink(format!("../../blobs/{name}"), snapshot.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(
        "../../../blobs/1_Pooling/config.json",
        snapshot.join("1_Pooling/config.json"),
    )
    .unwrap();
    fs::create_dir(root.join("refs")).unwrap();
    fs::write(root.join("refs/main"), "abc123\n").unwrap();
    let plain = embedder(&fixture("tiny-bert-embedding")).unwrap();
    for folder in [&root, &snapshot] {
        let model = embedder(folder).unwrap();
        assert_eq!(model.name(), "acme/tiny");
        assert_eq!(model.encode("air", far()), plain.encode("air", far()));
    }
    fs::write(root.join("refs/main"), "../../etc").unwrap();
    assert!(embedder(&root).err().unwrap().to_string().contains("a commit"));
}

#[test]
fn prepends_prompts() {
    let folder = copy("tiny-bert-embedding");
    change(&folder.path().join("config_sentence_transformers.json"), |file| {
        file["prompts"] = json!({"query": "query: ", "passage": "passage: "});
    });
    let with = embedder(folder.path()).unwrap();
    let without = embedder(&fixture("tiny-bert-embedding")).unwrap();
    assert_eq!(with.embed_query("air", far()), without.embed_query("query: air", far()));
    assert_eq!(with.embed_passage("air", far()), without.embed_passage("passage: air", far()));
    assert_ne!(with.embed_query("air", far()), with.embed_passage("air", far()));
    assert_ne!(with.fingerprint(), without.fingerprint());
}

#[test]
fn detects_kind_without_loading() {
    assert_eq!(kind(&fixture("tiny-xlmr-embedding")).unwrap(), ModelKind::Embedding);
    assert_eq!(kind(&fixture("tiny-xlmr-cross")).unwrap(), ModelKind::CrossEncoder);
    assert!(kind(&fixture("")).is_err());
}

#[track_caller]
fn check_refused(damage: impl FnOnce(&Path), words: &[&str]) {
    let folder = copy("tiny-bert-embedding");
    damage(folder.path());
    let error = embedder(folder.path()).err().expect("it was loaded").to_string();
    for word in words {
        assert!(error.contains(word), "{word}: {error}");
    }
}

fn set(file: &'static str, field: &'static str, value: Value) -> impl FnOnce(&Path) {
    move |folder| change(&folder.join(file), |content| content[field] = value)
}

#[test]
fn errors_name_invalid_part_of_folder() {
    let config = "config.json";
    check_refused(set(config, "model_type", json!("gpt2")), &["config.json", "model_type", "bert", "gpt2"]);
    check_refused(set(config, "num_attention_heads", json!(5)), &["num_attention_heads", "divisor"]);
    check_refused(set(config, "hidden_size", json!(1_000_000_000)), &["hidden_size", "4096", "1000000000"]);
    check_refused(set(config, "num_hidden_layers", json!(-1)), &["num_hidden_layers", "found -1"]);
    check_refused(set(config, "num_hidden_layers", json!(3)), &["encoder.layer.2", "none of that name"]);
    check_refused(
        set(config, "intermediate_size", json!(65)),
        &["intermediate.dense", "[65, 32]", "[64, 32]"],
    );
    check_refused(set(config, "vocab_size", json!(500)), &["tokenizer.json", "500", "number of tokens"]);
    check_refused(set(config, "hidden_act", json!("swish")), &["hidden_act", "swish"]);
    check_refused(
        set(config, "position_embedding_type", json!("relative_key")),
        &["absolute", "relative_key"],
    );
    check_refused(set(config, "layer_norm_eps", json!("small")), &["layer_norm_eps", "small"]);
    check_refused(
        set("1_Pooling/config.json", "pooling_mode", json!("lasttoken")),
        &["pooling_mode", "lasttoken"],
    );
    let outside =
        |folder: &Path| change(&folder.join("modules.json"), |file| file[1]["path"] = json!("../other"));
    check_refused(outside, &["modules.json", "inside", "../other"]);
    let dense =
        |folder: &Path| change(&folder.join("modules.json"), |file| file[2]["type"] = json!("a.b.Dense"));
    check_refused(dense, &["modules.json", "Transformer, Pooling, Dense"]);
    let text = |name: &'static str, text: &'static str| {
        move |folder: &Path| fs::write(folder.join(name), text).unwrap()
    };
    check_refused(text("config.json", "{\"hidden_size\": 32"), &["config.json", "line 1", "JSON"]);
    check_refused(text("tokenizer.json", "{}"), &["tokenizer.json"]);
    let remove = |name: &'static str| move |folder: &Path| fs::remove_file(folder.join(name)).unwrap();
    check_refused(remove("tokenizer.json"), &["tokenizer.json", "save_pretrained"]);
    check_refused(remove("modules.json"), &["modules.json"]);
    let pickled = |folder: &Path| {
        fs::rename(folder.join("model.safetensors"), folder.join("pytorch_model.bin")).unwrap();
    };
    check_refused(pickled, &["pytorch_model.bin", "SentenceTransformer(DIR).save(NEW_DIR)"]);
}

#[test]
fn rejects_classifier_with_many_labels() {
    let folder = copy("tiny-bert-cross");
    change(&folder.path().join("config.json"), |file| file["id2label"] = json!({"0": "no", "1": "yes"}));
    let error = load_reranker(folder.path(), pool()).err().unwrap().to_string();
    assert!(error.contains("id2label") && error.contains("one label"), "{error}");
}

#[test]
fn damaged_weights_never_panic() {
    let whole = fs::read(fixture("tiny-bert-embedding/model.safetensors")).unwrap();
    let folder = copy("tiny-bert-embedding");
    let path = folder.path().join("model.safetensors");
    let table = u64::from_le_bytes(whole[..8].try_into().unwrap());
    let mut damaged: Vec<Vec<u8>> = vec![Vec::new(), whole[..7].to_vec(), whole[..whole.len() - 1].to_vec()];
    for length in [0, 1, table - 1, table + 1, u64::MAX] {
        let mut bytes = whole.clone();
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        damaged.push(bytes);
    }
    for at in (8..8 + usize::try_from(table).unwrap()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x11;
        damaged.push(bytes);
    }
    let mut refused = 0;
    for bytes in &damaged {
        fs::write(&path, bytes).unwrap();
        refused += usize::from(embedder(folder.path()).is_err());
    }
    assert!(refused > damaged.len() / 2, "{refused} of {}", damaged.len());
}
