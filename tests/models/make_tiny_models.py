"""Makes the four tiny models beside this file and the numbers that the real libraries compute with them.

    python3 -m venv /tmp/models && /tmp/models/bin/pip install torch==2.8.0 sentence-transformers==5.7.0 transformers==4.57.6
    /tmp/models/bin/python tests/models/make_tiny_models.py

The models are initialised at random from fixed seeds: they understand nothing, and prove that their files are read and
computed as transformers and sentence-transformers do. Nothing is downloaded.
"""

import json
import pathlib
import shutil

import torch
from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import Unigram, WordPiece
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

HERE = pathlib.Path(__file__).resolve().parent
SENTENCES = json.loads((HERE / "sentences.json").read_text())
VOCABULARY = 600
LENGTH_MAX = 48
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}


def main():
    bert, roberta = bert_tokenizer(), roberta_tokenizer()
    embedding("tiny-bert-embedding", bert, BertModel, bert_config(), "mean", 11)
    embedding("tiny-xlmr-embedding", roberta, XLMRobertaModel, roberta_config(), "cls", 12)
    cross("tiny-bert-cross", bert, BertForSequenceClassification, bert_config(num_labels=1), 13)
    cross("tiny-xlmr-cross", roberta, XLMRobertaForSequenceClassification, roberta_config(num_labels=1), 14)


def bert_config(**more):
    return BertConfig(**SIZES, max_position_embeddings=64, type_vocab_size=2, **more)


def roberta_config(**more):
    return XLMRobertaConfig(
        **SIZES, max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2, **more
    )


def bert_tokenizer():
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    tokenizer.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LENGTH_MAX,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def roberta_tokenizer():
    tokenizer = Tokenizer(Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" +", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(vocab_size=VOCABULARY, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")],
    )
    tokenizer.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LENGTH_MAX,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask"],
    )


def randomised(model_class, config, seed):
    """A model whose every number is random, biases and normalisations too: what is left out or swapped shows."""
    torch.manual_seed(seed)
    model = model_class(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            around = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            parameter.normal_(mean=around, std=0.25)
    return model


def embedding(name, tokenizer, model_class, config, pooling, seed):
    folder = fresh(name)
    plain = folder / "plain"
    arguments = {} if model_class is XLMRobertaModel else {"add_pooling_layer": False}
    randomised(lambda c: model_class(c, **arguments), config, seed).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    transformer = models.Transformer(str(plain))
    expected = {}
    for mode in ("mean", "cls", "max"):
        parts = [transformer, models.Pooling(config.hidden_size, pooling_mode=mode), models.Normalize()]
        model = SentenceTransformer(modules=parts, device="cpu").eval()
        expected[mode] = [[round(float(x), 7) for x in v] for v in model.encode(SENTENCES, batch_size=1)]
        if mode == pooling:
            model.save(str(folder), create_model_card=False)
    shutil.rmtree(plain)
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


def cross(name, tokenizer, model_class, config, seed):
    folder = fresh(name)
    model = randomised(model_class, config, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    pairs = [(SENTENCES[at], SENTENCES[(at * 7 + 3) % 48]) for at in range(0, 48, 2)]
    logits = []
    with torch.no_grad():
        for query, passage in pairs:
            inputs = tokenizer(query.strip(), passage.strip(), truncation="longest_first", return_tensors="pt")
            if model.config.type_vocab_size == 1:
                inputs.pop("token_type_ids", None)
            logits.append(round(float(model(**inputs).logits[0, 0]), 7))
    (folder / "expected.json").write_text(json.dumps({"pairs": pairs, "logits": logits}) + "\n")


def fresh(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
