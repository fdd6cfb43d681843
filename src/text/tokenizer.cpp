#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "formats/companion.h"
#include "text/compact_file.h"
#include "text/encoder.h"
#include "text/tokenizer_impl.h"

namespace smoe {

std::string_view Tokenizer::Impl::bytes_of(TokenId id) const {
  const size_t index = index_of(id);
  if (index >= byte_ends.size()) return {};
  const uint32_t begin = index == 0 ? 0 : byte_ends[index - 1];
  return std::string_view(bytes).substr(begin, byte_ends[index] - begin);
}

std::string_view Tokenizer::Impl::spelling_of(TokenId id) const {
  const Vocabulary& model = file.model.vocabulary();
  return model.holds(id) ? model.text_of(id) : added.text_of(id);
}

bool Tokenizer::Impl::holds(TokenId id) const {
  return file.model.vocabulary().holds(id) || added.holds(id);
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  if (is_gguf_path(path)) {
    SMOE_TRY(const auto text, read_companion(path, kTokenizerName, kMaxTokenizerFileBytes));
    if (text) return parse(*text, path.string());
    return Error{Code::kNotFound, path.string() +
                                      ": has no tokenizer, which turns text into tokens (smoe "
                                      "logits works without)"};
  }
  std::error_code ignored;
  const auto file = std::filesystem::is_directory(path, ignored) ? path / kTokenizerName : path;
  const auto compact = file.parent_path() / kCompactName;
  if (file.filename() == kTokenizerName && std::filesystem::exists(compact, ignored)) {
    auto read = read_compact_file(compact, file);
    auto tokenizer = read ? make(std::move(*read), compact.string())
                          : Result<Tokenizer>(std::move(read).error());
    if (tokenizer) return tokenizer;
    log::warn("{}; reading {} instead", tokenizer.error().message, file.string());
  }
  SMOE_TRY(const std::string json, read_text_file(file, kMaxTokenizerFileBytes));
  return parse(json, file.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view tokenizer_json, std::string_view name) {
  auto file = read_tokenizer_file(tokenizer_json);
  if (!file) return std::move(file).error().in(name);
  return make(std::move(*file), name);
}

Result<Tokenizer> Tokenizer::parse_compact(std::string_view compact, std::string_view name) {
  auto file = read_compact(compact);
  if (!file) return std::move(file).error().in(name);
  return make(std::move(*file), name);
}

Result<Tokenizer> Tokenizer::make(TokenizerFile file, std::string_view name) {
  auto impl = std::make_unique<Impl>();
  impl->file = std::move(file);
  const Vocabulary& model = impl->file.model.vocabulary();
  for (const AddedToken& token : impl->file.added.all()) {
    if (model.holds(token.id) || impl->added.add(token.content, token.id)) continue;
    return Error{Code::kCorrupt, std::string(name) + ": two added tokens have id " +
                                     std::to_string(index_of(token.id)) + " or the content " +
                                     json_quote(token.content)};
  }
  const size_t size = std::max(model.size(), impl->added.size());
  impl->byte_ends.reserve(size);
  for (uint32_t id = 0; id < size; ++id) {
    impl->file.decoder.append_bytes_of(impl->bytes, impl->spelling_of(TokenId{id}));
    if (impl->bytes.size() > UINT32_MAX)
      return Error{Code::kUnsupported, std::string(name) + ": tokens of more than 4 GiB"};
    impl->byte_ends.push_back(static_cast<uint32_t>(impl->bytes.size()));
  }
  impl->special.assign(size, false);
  for (const AddedToken& token : impl->file.added.all())
    if (token.special) impl->special[index_of(token.id)] = true;
  return Tokenizer(std::move(impl));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, Encode options) const {
  SMOE_TRY(EncodedText encoded,
           encode_text(impl_->file, {.text = text, .parse_special = options.parse_special}));
  if (!options.add_special) return std::move(encoded.tokens);
  std::vector<TokenId> tokens = affixes().before;
  tokens.insert(tokens.end(), encoded.tokens.begin(), encoded.tokens.end());
  tokens.insert(tokens.end(), affixes().after.begin(), affixes().after.end());
  return tokens;
}

Result<Tokenizer::SpanTokens> Tokenizer::encode_spans(std::span<const Span> spans) const {
  std::string text;
  TrustedRanges trusted;
  std::vector<size_t> ends;
  size_t run_begin = 0;  // of trusted spans that touch
  for (size_t index = 0; index < spans.size(); ++index) {
    text.append(spans[index].text);
    ends.push_back(text.size());
    const bool run_ends = index + 1 == spans.size() || !spans[index + 1].trusted;
    if (spans[index].trusted && run_ends)
      trusted.add(static_cast<uint32_t>(run_begin), static_cast<uint32_t>(text.size()));
    if (!spans[index].trusted) run_begin = text.size();
  }
  SMOE_TRY(EncodedText encoded,
           encode_text(impl_->file, {.text = text, .tracked = true, .trusted = &trusted}));
  SpanTokens result{std::move(encoded.tokens), {}};
  result.spans.reserve(result.tokens.size());
  for (const uint32_t begin : encoded.begins) {
    const auto span = std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    result.spans.push_back(static_cast<uint32_t>(span));
  }
  return result;
}

Result<std::vector<Tokenizer::Explanation>> Tokenizer::explain(std::string_view text,
                                                               Encode options) const {
  SMOE_TRY(EncodedText encoded,
           encode_text(impl_->file,
                       {.text = text, .parse_special = options.parse_special, .tracked = true}));
  std::vector<Explanation> result;
  const auto add_affix = [&](const std::vector<TokenId>& tokens) {
    for (const TokenId token : tokens)
      if (options.add_special) result.push_back({token, {}});
  };
  add_affix(affixes().before);
  size_t begin = 0;
  for (size_t index = 0; index < encoded.tokens.size(); ++index) {
    const size_t end = index + 1 < encoded.tokens.size() ? encoded.begins[index + 1] : text.size();
    result.push_back({encoded.tokens[index], text.substr(begin, end - begin)});
    begin = end;
  }
  add_affix(affixes().after);
  return result;
}

const Tokenizer::Affixes& Tokenizer::affixes() const { return impl_->file.affixes; }

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string text;
  Decoder::Stream stream(impl_->file.decoder);
  for (const TokenId id : ids)
    if (impl_->holds(id) && !(skip_special && is_special(id)))
      stream.push(impl_->spelling_of(id), text);
  stream.finish(text);
  return text;
}

size_t Tokenizer::size() const { return impl_->byte_ends.size(); }

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  const auto added = impl_->added.find(token);
  return added ? added : impl_->file.model.vocabulary().find(token);
}

bool Tokenizer::is_special(TokenId id) const {
  return index_of(id) < impl_->special.size() && impl_->special[index_of(id)];
}

size_t Tokenizer::longest_token_bytes() const {
  size_t longest = 0;
  uint32_t begin = 0;
  for (const uint32_t end : impl_->byte_ends) {
    longest = std::max<size_t>(longest, end - begin);
    begin = end;
  }
  return longest;
}

std::string_view Tokenizer::bytes_of(TokenId id) const { return impl_->bytes_of(id); }

std::string_view Tokenizer::spelling_of(TokenId id) const { return impl_->spelling_of(id); }

}  // namespace smoe
