"""Small tokenizers, trained on the sentences below: WordPiece, byte-level BPE, BPE with bytes to fall back on, unigram (the
package tokenizers), SentencePiece (its own package), and one of them as GGUF (the package gguf)."""
import io
import json
import pathlib
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = ["The rain in Spain stays mainly in the plain.", "A tokenizer cuts a text into tokens, and a token is a number.",
         "Naïve café owners don't serve crème brûlée on Mondays; they're closed.", "In 1984 it cost $12.50, in 2024 about 30%.",
         "Привет, мир! Как дела?", "日本語のテキストと中文字符", "Straße, Übermut und Ärger", "🙂 smiles 👍 and thumbs",
         "she said: 'we'll see what the numbers say, won't we?'", "the the the stays stays plain rain number numbers token tokens"] * 3
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def template(tokenizer, begin, end):
    single, pair, used = "$A", "$A", []
    for text, where in ((begin, 0), (end, 1)):
        if text:
            used.append((text, tokenizer.token_to_id(text)))
            single = single + " " + text if where else text + " " + single
            pair = pair + " " + text if where else text + " " + pair
    return processors.TemplateProcessing(single=single, pair=pair + " $B:1" + (" " + end + ":1" if end else ""), special_tokens=used)


def word_piece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=160, special_tokens=specials, show_progress=False))
    tokenizer.post_processor = template(tokenizer, "[CLS]", "[SEP]")
    tokenizer.add_tokens([AddedToken("<x>", lstrip=True, rstrip=True, normalized=False), AddedToken("whole", single_word=True)])
    return tokenizer


def byte_pairs(llama3):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    end = "<|endoftext|>"
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    if llama3:
        cut = pre_tokenizers.Split(Regex(LLAMA3), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=330, special_tokens=[end], initial_alphabet=alphabet, show_progress=False))
    if llama3:
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template(tokenizer, end, "")])
    return tokenizer


def byte_fallback():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    specials = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)]
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=360, special_tokens=specials, limit_alphabet=40, show_progress=False))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = template(tokenizer, "<s>", "")
    return tokenizer


def decorated_pairs():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>"], continuing_subword_prefix="##", end_of_word_suffix="</w>", show_progress=False))
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    tokenizer.post_processor = processors.BertProcessing(("<unk>", 0), ("<unk>", 0))
    return tokenizer


def sentence_piece(kind):
    import sentencepiece
    rules = "\n".join(["FB01\t66 69", "65 301\tE9", "3000\t20", "FF21\t41", "FF22\t42", "2460\t31", "200B\t20"]) if kind == "unigram" else None
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": True, "vocab_size": 340}
        if rules:
            table = pathlib.Path(folder) / "rules.tsv"
            table.write_text(rules + "\n")
            options = {"normalization_rule_tsv": str(table), "vocab_size": 120, "hard_vocab_limit": False}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXTS), model_writer=out, model_type=kind, character_coverage=0.98,
                                                 user_defined_symbols=["<sep>", "a b"], minloglevel=2, num_threads=1, **options)
    return out.getvalue()


def with_charsmap(model):
    """A unigram model of tokenizers with the normalizer of a SentencePiece model, as converters make it."""
    from sentencepiece import sentencepiece_model_pb2 as pb
    proto = pb.ModelProto()
    proto.ParseFromString(model)
    pieces = [(piece.piece, piece.score) for piece in proto.pieces]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
                                                 normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.post_processor = template(tokenizer, "", "</s>")
    return tokenizer


def as_gguf(model):
    import gguf
    from sentencepiece import SentencePieceProcessor
    pieces = SentencePieceProcessor(model_proto=model)
    count = pieces.get_piece_size()
    kinds = [2 if pieces.is_unknown(i) else 3 if pieces.is_control(i) else 6 if pieces.is_byte(i) else 4 if pieces.id_to_piece(i) in ("<sep>", "a b")
             else 1 for i in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tiny.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_tokenizer_model("llama")
        writer.add_token_list([pieces.id_to_piece(i) for i in range(count)])
        writer.add_token_scores([pieces.get_score(i) for i in range(count)])
        writer.add_token_types(kinds)
        writer.add_bos_token_id(1)
        writer.add_add_bos_token(False)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return path.read_bytes()


def compact(tokenizer):
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")).encode()


def files():
    """Names, bytes, and what each text becomes: (ids, offsets or None), by the package whose file it is."""
    words = word_piece()
    made = [("word_piece", words), ("byte_level", byte_pairs(False)), ("llama3", byte_pairs(True)), ("byte_fallback", byte_fallback()),
            ("decorated", decorated_pairs())]
    out = [(name, compact(tokenizer), tokenizer) for name, tokenizer in made]
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        return out
    unigram, pairs = sentence_piece("unigram"), sentence_piece("bpe")
    mapped = with_charsmap(unigram)
    out.append(("unigram", compact(mapped), mapped))
    for name, model in (("sp_unigram", unigram), ("sp_bpe", pairs)):
        out.append((name, model, SentencePieceProcessor(model_proto=model)))
    try:
        out.append(("gguf", as_gguf(pairs), SentencePieceProcessor(model_proto=pairs)))
    except ImportError:
        pass
    vocab = sorted(words.get_vocab().items(), key=lambda pair: pair[1])
    lines = "\n".join(token for token, number in vocab if token not in ("<x>", "whole")) + "\n"
    settings = json.loads(words.to_str())
    settings["added_tokens"] = settings["added_tokens"][:5]
    plain = Tokenizer.from_str(json.dumps(settings))
    out.append(("vocab", lines.encode(), plain))
    return out


def reference(tokenizer, text):
    """Numbers, byte offsets (None: not told), and the text of the numbers."""
    if not isinstance(tokenizer, Tokenizer):
        ids = tokenizer.encode(text)
        return ids, None, tokenizer.decode(ids)
    encoding = tokenizer.encode(text)
    at = [0]
    for character in text:
        at.append(at[-1] + len(character.encode()))
    return encoding.ids, [(at[begin], at[end]) for begin, end in encoding.offsets], tokenizer.decode(encoding.ids)
