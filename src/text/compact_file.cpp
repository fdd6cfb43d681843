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
  PackedArray<uint32_t> ids;           // ascending
  PackedArray<uint32_t> ends;          // of the tokens' texts, by position in `ids`
  PackedArray<double> scores;          // kUnigram
  PackedArray<Bpe::MergeRule> merges;  // kBpe
  std::string_view texts;
};

Error compact_corrupt(const std::string& message) {
  return {Code::kCorrupt, "compact tokenizer: " + message};
}

std::string_view take(std::string_view& from, size_t bytes) {
  const std::string_view taken = from.substr(0, bytes);
  from.remove_prefix(bytes);
  return taken;
}

uint64_t checksum_of(std::string_view compact) { return xxh3_64(compact.substr(kCheckedFrom)); }

Result<Header> read_header(std::string_view compact) {
  Header header;
  if (compact.size() < sizeof header) return compact_corrupt("shorter than its header");
  std::memcpy(&header, compact.data(), sizeof header);
  if (header.magic != kMagic) return compact_corrupt("does not begin as one");
  if (header.checksum != checksum_of(compact))
    return compact_corrupt("its checksum does not match");
  if (header.version != kVersion || header.reserved != 0)
    return compact_corrupt("version " + std::to_string(header.version) + ", this build reads " +
                           std::to_string(kVersion));
  const uint64_t token_bytes =
      2 * sizeof(uint32_t) + (header.kind == Kind::kUnigram ? sizeof(double) : 0);
  const uint64_t expected = sizeof header + header.description_bytes + header.tokens * token_bytes +
                            header.merges * uint64_t{sizeof(Bpe::MergeRule)} + header.text_bytes;
  if ((header.kind != Kind::kBpe && header.kind != Kind::kUnigram) || expected != compact.size())
    return compact_corrupt("has " + std::to_string(compact.size()) + " bytes, its header says " +
                           std::to_string(expected));
  return header;
}

Tables read_tables(const Header& header, std::string_view compact) {
  Tables tables;
  std::string_view rest = compact.substr(sizeof header);
  tables.description = take(rest, header.description_bytes);
  tables.ids = PackedArray<uint32_t>(take(rest, header.tokens * sizeof(uint32_t)));
  tables.ends = PackedArray<uint32_t>(take(rest, header.tokens * sizeof(uint32_t)));
  if (header.kind == Kind::kUnigram)
    tables.scores = PackedArray<double>(take(rest, header.tokens * sizeof(double)));
  tables.merges = PackedArray<Bpe::MergeRule>(take(rest, header.merges * sizeof(Bpe::MergeRule)));
  tables.texts = rest;
  return tables;
}

Result<Vocabulary> read_vocabulary(const Tables& tables) {
  // Each token is whole characters, so that every part of a text made of them is.
  if (first_invalid_utf8(tables.texts)) return compact_corrupt("a token is no UTF-8");
  uint32_t begin = 0;
  for (size_t index = 0; index < tables.ends.size(); ++index) {
    const uint32_t end = tables.ends[index];
    if (end < begin || end > tables.texts.size() ||
        (end < tables.texts.size() &&
         (static_cast<unsigned char>(tables.texts[end]) & 0xc0u) == 0x80))
      return compact_corrupt("the tokens' ends are not in order");
    begin = end;
  }
  if (begin != tables.texts.size()) return compact_corrupt("the tokens do not make up their text");
  for (size_t index = 0; index < tables.ids.size(); ++index)
    if (tables.ids[index] > kMaxTokenId ||
        (index > 0 && tables.ids[index] <= tables.ids[index - 1]))
      return compact_corrupt("the ids are not in order");
  auto vocabulary = Vocabulary::make(tables.ids, tables.ends, tables.texts);
  if (!vocabulary) return compact_corrupt("a token is there twice");
  return std::move(*vocabulary);
}

Result<Model> read_bpe(const Json& description, const Tables& tables) {
  SMOE_TRY(Vocabulary vocabulary, read_vocabulary(tables));
  // Whether a merge joins texts is not asked: no lookup goes astray by it.
  const auto is_id = [&](TokenId id) { return index_of(id) < vocabulary.size(); };
  for (size_t rank = 0; rank < tables.merges.size(); ++rank) {
    const Bpe::MergeRule rule = tables.merges[rank];
    if (!is_id(rule.left) || !is_id(rule.right) || !is_id(rule.result))
      return compact_corrupt("a merge is of tokens that are none");
  }
  SMOE_TRY(Bpe bpe, Bpe::make(description, std::move(vocabulary), tables.merges));
  return Model(std::move(bpe));
}

Result<Model> read_unigram(const Json& description, const Tables& tables) {
  SMOE_TRY(const Unigram::Options options, Unigram::read_options(description));
  SMOE_TRY(Vocabulary vocabulary, read_vocabulary(tables));
  std::vector<double> scores;
  for (size_t id = 0; id < tables.scores.size(); ++id) scores.push_back(tables.scores[id]);
  SMOE_TRY(Unigram unigram, Unigram::make(std::move(vocabulary), std::move(scores), options));
  return Model(std::move(unigram));
}

Result<TokenizerFile> read_tables_of(const Header& header, std::string_view compact) {
  const Tables tables = read_tables(header, compact);
  if (first_invalid_utf8(tables.description)) return compact_corrupt("its description is no UTF-8");
  return read_tokenizer_parts(tables.description, [&](const Json& description) -> Result<Model> {
    SMOE_TRY(const StepFields model, StepFields::of(description, "model"));
    const bool unigram = model.type() == "Unigram";
    if (unigram != (header.kind == Kind::kUnigram))
      return compact_corrupt("has tables of another model");
    return unigram ? read_unigram(description, tables) : read_bpe(description, tables);
  });
}

template <class T>
void append_array(std::string& to, std::span<const T> values) {
  to.append(PackedArray<T>(values).bytes());
}

struct Writer {
  Header header;
  std::string bytes = std::string(sizeof header, '\0');

  Writer(std::string_view tokenizer_json, std::string_view description) {
    header.source_checksum = xxh3_64(tokenizer_json);
    header.source_bytes = tokenizer_json.size();
    header.description_bytes = static_cast<uint32_t>(description.size());
    bytes.append(description);
  }

  void finish(Kind kind, const Vocabulary& vocabulary, std::span<const double> scores,
              std::span<const Bpe::MergeRule> merges) {
    std::vector<uint32_t> ids;
    std::vector<uint32_t> ends;
    std::string texts;
    for (uint32_t id = 0; id < vocabulary.size(); ++id) {
      if (!vocabulary.holds(TokenId{id})) continue;
      ids.push_back(id);
      texts.append(vocabulary.text_of(TokenId{id}));
      ends.push_back(static_cast<uint32_t>(texts.size()));
    }
    append_array(bytes, std::span<const uint32_t>(ids));
    append_array(bytes, std::span<const uint32_t>(ends));
    append_array(bytes, scores);
    append_array(bytes, merges);
    bytes.append(texts);
    header.kind = kind;
    header.tokens = static_cast<uint32_t>(ids.size());
    header.text_bytes = static_cast<uint32_t>(texts.size());
    header.merges = static_cast<uint32_t>(merges.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    header.checksum = checksum_of(bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
  }
};

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
  if (const auto invalid = first_invalid_utf8(tokenizer_json))
    return Error{Code::kCorrupt, "byte " + std::to_string(*invalid) + " is no UTF-8"};
  const auto cut = cut_out_tables(tokenizer_json);
  SMOE_TRY(const Json document, Json::parse(cut ? cut->rest : tokenizer_json));
  if (!cut) return compact_corrupt("tokenizer.json has no tables");
  const Json* description = document.find("model");
  const Json* type = description == nullptr ? nullptr : description->find("type");
  Writer writer(tokenizer_json, cut->rest);
  if (type != nullptr && type->as_string() == "Unigram") {
    SMOE_TRY(const Unigram unigram, Unigram::from_json(*description, cut->vocab));
    writer.finish(Kind::kUnigram, unigram.vocabulary(), unigram.scores(), {});
  } else {
    SMOE_TRY(const Vocabulary vocabulary, Bpe::read_vocabulary(cut->vocab));
    SMOE_TRY(const std::vector<Bpe::MergeRule> merges, Bpe::read_merges(cut->merges, vocabulary));
    writer.finish(Kind::kBpe, vocabulary, {}, merges);
  }
  // What cannot be read back is refused now, with the reason, and not at each start.
  SMOE_DO(read_compact(writer.bytes));
  return std::move(writer.bytes);
}

Status write_compact_file(const std::filesystem::path& folder) {
  const auto source = folder / kTokenizerName;
  SMOE_TRY(const std::string json, read_text_file(source, kMaxTokenizerFileBytes));
  auto compact = compact_tokenizer(json);
  if (!compact) return std::move(compact).error().in(source.string());
  return replace_file(folder / kCompactName, *compact);
}

Result<TokenizerFile> read_compact_file(const std::filesystem::path& compact,
                                        const std::filesystem::path& tokenizer_json) {
  SMOE_TRY(const MappedFile mapped, MappedFile::open(compact));
  const std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()),
                               mapped.bytes().size());
  auto header = read_header(bytes);
  if (!header) return std::move(header).error().in(compact.string());
  SMOE_TRY(const File source, File::open(tokenizer_json));
  SMOE_TRY(const uint64_t source_bytes, source.size());
  bool same = header->source_bytes == source_bytes;
  if (same) {
    SMOE_TRY(const uint64_t checksum, checksum_of_file(source, source_bytes));
    same = checksum == header->source_checksum;
  }
  if (!same)
    return Error{Code::kCorrupt,
                 compact.string() + ": was not made from " + tokenizer_json.string()};
  auto file = read_tables_of(*header, bytes);
  if (!file) return std::move(file).error().in(compact.string());
  return file;
}

Result<TokenizerFile> read_compact(std::string_view compact) {
  SMOE_TRY(const Header header, read_header(compact));
  return read_tables_of(header, compact);
}

}  // namespace smoe
