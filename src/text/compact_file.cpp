#include "text/compact_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "text/json_scanner.h"
#include "text/step_fields.h"
#include "text/utf8.h"

namespace smoe {
namespace {

static_assert(std::endian::native == std::endian::little, "tokenizer.bin is little-endian");

constexpr uint64_t kMagic = 0x4e49424b4f544d53;  // "SMTOKBIN"
constexpr uint32_t kVersion = 1;
enum class Kind : uint32_t { kBpe = 0, kUnigram = 1 };

struct Header {
  uint64_t magic = kMagic;
  uint64_t checksum = 0;  // of everything behind it
  uint64_t source_checksum = 0;
  uint64_t source_bytes = 0;
  uint32_t version = kVersion;
  Kind kind = Kind::kBpe;
  uint32_t description_bytes = 0;  // tokenizer.json without its tables
  uint32_t tokens = 0;
  uint32_t text_bytes = 0;  // of all tokens together
  uint32_t merges = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(Header) == 64);
constexpr size_t kCheckedFrom = offsetof(Header, source_checksum);

// What stands behind the header, in this order.
struct Tables {
  std::string_view description;
  std::vector<uint32_t> ids;           // ascending
  std::vector<uint32_t> ends;          // of the tokens' texts, by position in `ids`
  std::vector<double> scores;          // kUnigram
  std::vector<Bpe::MergeRule> merges;  // kBpe
  std::string texts;
};

Error corrupt(const std::string& message) {
  return {Code::kCorrupt, "compact tokenizer: " + message};
}

template <class T>
void append_array(std::string& to, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <class T>
void take_array(std::string_view& from, std::vector<T>& values, size_t count) {
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), from.data(), count * sizeof(T));
  from.remove_prefix(count * sizeof(T));
}

uint64_t checksum_of(std::string_view compact) { return xxh3_64(compact.substr(kCheckedFrom)); }

Result<Header> read_header(std::string_view compact) {
  Header header;
  if (compact.size() < sizeof header) return corrupt("shorter than its header");
  std::memcpy(&header, compact.data(), sizeof header);
  if (header.magic != kMagic) return corrupt("does not begin as one");
  if (header.checksum != checksum_of(compact)) return corrupt("its checksum does not match");
  if (header.version != kVersion || header.reserved != 0)
    return corrupt("version " + std::to_string(header.version) + ", this build reads " +
                   std::to_string(kVersion));
  const uint64_t token_bytes =
      2 * sizeof(uint32_t) + (header.kind == Kind::kUnigram ? sizeof(double) : 0);
  const uint64_t expected = sizeof header + header.description_bytes + header.tokens * token_bytes +
                            header.merges * uint64_t{sizeof(Bpe::MergeRule)} + header.text_bytes;
  if ((header.kind != Kind::kBpe && header.kind != Kind::kUnigram) || expected != compact.size())
    return corrupt("has " + std::to_string(compact.size()) + " bytes, its header says " +
                   std::to_string(expected));
  return header;
}

Tables read_tables(const Header& header, std::string_view compact) {
  Tables tables;
  std::string_view rest = compact.substr(sizeof header);
  tables.description = rest.substr(0, header.description_bytes);
  rest.remove_prefix(header.description_bytes);
  take_array(rest, tables.ids, header.tokens);
  take_array(rest, tables.ends, header.tokens);
  take_array(rest, tables.scores, header.kind == Kind::kUnigram ? header.tokens : 0);
  take_array(rest, tables.merges, header.merges);
  tables.texts = rest;
  return tables;
}

Result<Vocabulary> read_vocabulary(Tables& tables) {
  // Each token is whole characters, so that every part of a text made of them is.
  if (first_invalid_utf8(tables.texts)) return corrupt("a token is no UTF-8");
  uint32_t begin = 0;
  for (const uint32_t end : tables.ends) {
    if (end < begin || end > tables.texts.size() ||
        (end < tables.texts.size() &&
         (static_cast<unsigned char>(tables.texts[end]) & 0xc0u) == 0x80))
      return corrupt("the tokens' ends are not in order");
    begin = end;
  }
  if (begin != tables.texts.size()) return corrupt("the tokens do not make up their text");
  for (size_t index = 0; index < tables.ids.size(); ++index)
    if (tables.ids[index] > kMaxTokenId ||
        (index > 0 && tables.ids[index] <= tables.ids[index - 1]))
      return corrupt("the ids are not in order");
  auto vocabulary = Vocabulary::make(tables.ids, tables.ends, std::move(tables.texts));
  if (!vocabulary) return corrupt("a token is there twice");
  return std::move(*vocabulary);
}

Result<Model> read_bpe(const Json& description, Tables& tables) {
  SMOE_TRY(Vocabulary vocabulary, read_vocabulary(tables));
  for (const Bpe::MergeRule& rule : tables.merges)
    if (!vocabulary.holds(rule.left) || !vocabulary.holds(rule.right) ||
        !vocabulary.holds(rule.result) ||
        vocabulary.text_of(rule.left).size() + vocabulary.text_of(rule.right).size() !=
            vocabulary.text_of(rule.result).size())
      return corrupt("a merge is none");
  SMOE_TRY(Bpe bpe, Bpe::make(description, std::move(vocabulary), tables.merges));
  return Model(std::move(bpe));
}

Result<Model> read_unigram(const Json& description, Tables& tables) {
  SMOE_TRY(const Unigram::Options options, Unigram::read_options(description));
  SMOE_TRY(Vocabulary vocabulary, read_vocabulary(tables));
  SMOE_TRY(Unigram unigram,
           Unigram::make(std::move(vocabulary), std::move(tables.scores), options));
  return Model(std::move(unigram));
}

void add_vocabulary(Tables& tables, const Vocabulary& vocabulary) {
  for (uint32_t id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.holds(TokenId{id})) continue;
    tables.ids.push_back(id);
    tables.texts.append(vocabulary.text_of(TokenId{id}));
    tables.ends.push_back(static_cast<uint32_t>(tables.texts.size()));
  }
}

std::string write_tables(Kind kind, const Tables& tables, std::string_view tokenizer_json) {
  Header header;
  header.source_checksum = xxh3_64(tokenizer_json);
  header.source_bytes = tokenizer_json.size();
  header.kind = kind;
  header.description_bytes = static_cast<uint32_t>(tables.description.size());
  header.tokens = static_cast<uint32_t>(tables.ids.size());
  header.text_bytes = static_cast<uint32_t>(tables.texts.size());
  header.merges = static_cast<uint32_t>(tables.merges.size());
  std::string bytes;
  append_array(bytes, std::span<const Header>(&header, 1));
  bytes.append(tables.description);
  append_array(bytes, std::span<const uint32_t>(tables.ids));
  append_array(bytes, std::span<const uint32_t>(tables.ends));
  append_array(bytes, std::span<const double>(tables.scores));
  append_array(bytes, std::span<const Bpe::MergeRule>(tables.merges));
  bytes.append(tables.texts);
  header.checksum = checksum_of(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// In pieces, so that no page of a large file is kept.
Result<uint64_t> checksum_of_file(const File& file, uint64_t bytes) {
  std::vector<std::byte> buffer(std::min<uint64_t>(bytes, kMiB));
  Checksum checksum;
  for (uint64_t at = 0; at < bytes; at += buffer.size()) {
    const auto part = std::span(buffer).first(std::min<uint64_t>(buffer.size(), bytes - at));
    SMOE_DO(file.read_at(at, part));
    checksum.add(part);
  }
  return checksum.value();
}

}  // namespace

Result<std::string> compact_tokenizer(std::string_view tokenizer_json) {
  SMOE_DO(read_tokenizer_file(tokenizer_json));
  const auto cut = cut_out_tables(tokenizer_json);
  if (!cut || tokenizer_json.size() > kMaxTokenizerFileBytes)
    return corrupt("tokenizer.json has no tables");
  SMOE_TRY(const Json document, Json::parse(cut->rest));
  const Json* description = document.find("model");
  const Json* type = description == nullptr ? nullptr : description->find("type");
  Tables tables;
  tables.description = cut->rest;
  if (type != nullptr && type->as_string() == "Unigram") {
    SMOE_TRY(const Unigram unigram, Unigram::from_json(*description, cut->vocab));
    add_vocabulary(tables, unigram.vocabulary());
    tables.scores = unigram.scores();
    return write_tables(Kind::kUnigram, tables, tokenizer_json);
  }
  SMOE_TRY(const Vocabulary vocabulary, Bpe::read_vocabulary(cut->vocab));
  SMOE_TRY(tables.merges, Bpe::read_merges(cut->merges, vocabulary));
  add_vocabulary(tables, vocabulary);
  return write_tables(Kind::kBpe, tables, tokenizer_json);
}

Status write_compact_file(const std::filesystem::path& folder) {
  const auto source = folder / kTokenizerName;
  SMOE_TRY(const std::string json, read_text_file(source, kMaxTokenizerFileBytes));
  auto compact = compact_tokenizer(json);
  if (!compact) return std::move(compact).error().in(source.string());
  return replace_file(folder / kCompactName, *compact);
}

Result<std::string> read_compact_file(const std::filesystem::path& compact,
                                      const std::filesystem::path& tokenizer_json) {
  SMOE_TRY(std::string bytes, read_text_file(compact, kMaxTokenizerFileBytes));
  SMOE_TRY(const File source, File::open(tokenizer_json));
  SMOE_TRY(const uint64_t source_bytes, source.size());
  Header header;
  const bool whole = bytes.size() >= sizeof header;
  if (whole) std::memcpy(&header, bytes.data(), sizeof header);
  if (whole && header.source_bytes == source_bytes) {
    SMOE_TRY(const uint64_t checksum, checksum_of_file(source, source_bytes));
    if (checksum == header.source_checksum) return bytes;
  }
  return Error{Code::kCorrupt, compact.string() + ": was not made from " + tokenizer_json.string()};
}

Result<TokenizerFile> read_compact(std::string_view compact) {
  SMOE_TRY(const Header header, read_header(compact));
  Tables tables = read_tables(header, compact);
  if (first_invalid_utf8(tables.description)) return corrupt("its description is no UTF-8");
  return read_tokenizer_parts(tables.description, [&](const Json& description) -> Result<Model> {
    SMOE_TRY(const StepFields model, StepFields::of(description, "model"));
    const bool unigram = model.type() == "Unigram";
    if (unigram != (header.kind == Kind::kUnigram)) return corrupt("has tables of another model");
    return unigram ? read_unigram(description, tables) : read_bpe(description, tables);
  });
}

}  // namespace smoe
