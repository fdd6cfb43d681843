#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/units.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

namespace smoe {
namespace {

// The largest released file has 33 MB.
constexpr uint64_t kMaxFileBytes = 256 * kMiB;

}  // namespace

std::string_view Tokenizer::Impl::bytes_of(TokenId id) const {
  const size_t index = index_of(id);
  if (index >= byte_ends.size()) return {};
  const uint32_t begin = index == 0 ? 0 : byte_ends[index - 1];
  return std::string_view(bytes).substr(begin, byte_ends[index] - begin);
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto file = std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  SMOE_TRY(const std::string json, read_text_file(file, kMaxFileBytes));
  return parse(json, file.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view tokenizer_json, std::string_view name) {
  auto file = read_tokenizer_file(tokenizer_json);
  if (!file) return std::move(file).error().in(name);
  auto impl = std::make_unique<Impl>();
  impl->file = std::move(*file);
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
    const TokenId token{id};
    impl->bytes +=
        bytes_of_letters(model.holds(token) ? model.text_of(token) : impl->added.text_of(token));
    impl->byte_ends.push_back(static_cast<uint32_t>(impl->bytes.size()));
  }
  impl->special.assign(size, false);
  for (const AddedToken& token : impl->file.added.all())
    if (token.special) impl->special[index_of(token.id)] = true;
  return Tokenizer(std::move(impl));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, Encode options) const {
  if (const auto invalid = first_invalid_utf8(text))
    return Error{Code::kCorrupt, "text: byte " + std::to_string(*invalid) + " is no UTF-8"};
  const TokenizerFile& file = impl_->file;
  std::vector<TokenId> tokens;
  if (options.add_special) tokens = file.affixes.before;
  std::vector<AddedTokenMatch> written;
  std::vector<AddedTokenMatch> normalized;
  file.added.cut(text, AddedTokens::Text::kAsWritten, options.parse_special, written);
  for (const AddedTokenMatch& match : written) {
    if (match.token != nullptr) {
      tokens.push_back(match.token->id);
      continue;
    }
    const std::string normal = file.normalizer.normalize(match.text);
    normalized.clear();
    file.added.cut(normal, AddedTokens::Text::kNormalized, options.parse_special, normalized);
    for (const AddedTokenMatch& part : normalized) {
      if (part.token != nullptr) {
        tokens.push_back(part.token->id);
        continue;
      }
      SMOE_TRY(const Pieces pieces, file.pretokenizer.split(std::string(part.text)));
      for (size_t piece = 0; piece < pieces.ranges.size(); ++piece)
        file.model.encode(pieces.at(piece), tokens);
    }
  }
  if (options.add_special)
    tokens.insert(tokens.end(), file.affixes.after.begin(), file.affixes.after.end());
  return tokens;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  // A character may be spread over tokens, so bytes come together before they are repaired.
  std::string bytes;
  for (const TokenId id : ids)
    if (!skip_special || !is_special(id)) bytes += impl_->bytes_of(id);
  std::string text;
  text.reserve(bytes.size());
  append_repaired(text, bytes);
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

std::string_view Tokenizer::bytes_of(TokenId id) const { return impl_->bytes_of(id); }

}  // namespace smoe
