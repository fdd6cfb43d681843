// Regular expressions and normaliser and decoder steps from strangers. RELIABILITY F5, F7.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace smoe {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// The first byte of the input says what the text up to a zero byte is; a subject follows.
enum class Input : uint8_t { kRegex, kNormalizer, kDecoder, kLast = kDecoder };

void match(std::string_view pattern, const std::string& subject) {
  const auto regex = Regex::compile(pattern);
  if (!regex) {
    require(regex.error().code == Code::kUnsupported || regex.error().code == Code::kCorrupt);
    return;
  }
  std::string storage;
  const std::string_view known = regex->known(subject, storage);
  require(known.size() == subject.size() && !first_invalid_utf8(known));
  std::vector<TextRange> matches;
  Regex::Finder finder(*regex, subject.size());
  const Status status = finder.find_all(known, {0, subject.size()}, matches);
  require(status || status.error().code == Code::kUnsupported);
  size_t end = 0;
  for (const TextRange range : matches) {
    require(range.begin >= end && range.end >= range.begin && range.end <= subject.size());
    require(!first_invalid_utf8(std::string_view(subject).substr(end, range.begin - end)));
    end = range.end;
  }
}

// What a normaliser makes is text, tracked or not, and its bytes come from the original in order.
void normalize(const Json& description, const std::string& subject) {
  const auto normalizer = Normalizer::from_json(description);
  if (!normalizer) return;
  SourcedText text{
      .text = subject, .tracked = true, .source_limit = static_cast<uint32_t>(subject.size())};
  for (uint32_t at = 0; at < subject.size(); ++at) text.sources.push_back(at);
  const auto tracked = normalizer->normalize(std::move(text));
  const auto plain = normalizer->normalize(subject);
  require(tracked.has_value() == plain.has_value());
  if (!plain) return;
  require(tracked->text == *plain && !first_invalid_utf8(*plain));
  require(tracked->sources.size() == plain->size());
  for (size_t at = 1; at < tracked->sources.size(); ++at)
    require(tracked->sources[at - 1] <= tracked->sources[at]);
}

// Each line of the subject is a token.
void decode(const Json& description, std::string_view subject) {
  const auto decoder = Decoder::from_json(description);
  if (!decoder) return;
  Decoder::Stream stream(*decoder);
  std::string text;
  for (size_t begin = 0; begin <= subject.size();) {
    const size_t end = std::min(subject.find('\n', begin), subject.size());
    stream.push(subject.substr(begin, end - begin), text);
    require(!first_invalid_utf8(text));
    begin = end + 1;
  }
  stream.finish(text);
  require(!first_invalid_utf8(text));
}

void run(Input kind, std::string_view input) {
  const size_t zero = input.find('\0');
  const std::string_view description = input.substr(0, zero);
  const std::string subject(zero == std::string_view::npos ? "" : input.substr(zero + 1));
  if (first_invalid_utf8(description) || first_invalid_utf8(subject)) return;
  if (kind == Input::kRegex) return match(description, subject);
  const auto json = Json::parse(description);
  if (!json) return;
  if (kind == Input::kNormalizer) return normalize(*json, subject);
  decode(*json, subject);
}

}  // namespace
}  // namespace smoe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using smoe::Input;
  if (size == 0) return 0;
  const auto kind = static_cast<Input>(data[0] % (static_cast<uint8_t>(Input::kLast) + 1));
  smoe::run(kind, std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
