#include "text/encoder.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "text/utf8.h"

namespace smoe {
namespace {

class Encoder {
 public:
  Encoder(const TokenizerFile& file, const EncodeRequest& request)
      : file_(file), request_(request) {}

  Status run();
  EncodedText take() { return std::move(encoded_); }

 private:
  using Text = AddedTokens::Text;

  bool may_stand(const AddedToken& token, uint32_t begin, uint32_t end) const {
    return request_.trusted == nullptr || !token.is_control() ||
           request_.trusted->cover(begin, end);
  }
  AddedTokens::Search search(Text kind, const AddedTokens::Allowed& allowed) const {
    return {kind, request_.parse_special, request_.trusted == nullptr ? nullptr : &allowed};
  }
  void add(TokenId token, uint32_t begin) {
    encoded_.tokens.push_back(token);
    if (request_.tracked) encoded_.begins.push_back(begin);
  }
  // Text between the tokens that are looked for as they are written.
  Status add_stretch(size_t begin, size_t end);
  Status add_pieces(const SourcedText& text);
  Status add_piece(const SourcedText& content, TextRange range);
  Status track_piece(const SourcedText& content, TextRange range, size_t first);

  const TokenizerFile& file_;
  const EncodeRequest& request_;
  EncodedText encoded_;
};

Status Encoder::run() {
  const std::string_view text = request_.text;
  const AddedTokens::Allowed allowed = [&](const AddedToken& token, size_t begin, size_t end) {
    return may_stand(token, static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
  };
  std::vector<AddedTokenMatch> matches;
  file_.added.cut(text, search(Text::kAsWritten, allowed), matches);
  for (const AddedTokenMatch& match : matches) {
    const auto begin = static_cast<size_t>(match.text.data() - text.data());
    if (match.token != nullptr) {
      add(match.token->id, static_cast<uint32_t>(begin));
    } else {
      SMOE_DO(add_stretch(begin, begin + match.text.size()));
    }
  }
  return {};
}

Status Encoder::add_stretch(size_t begin, size_t end) {
  SourcedText written{
      .text = std::string(request_.text.substr(begin, end - begin)),
      .tracked = request_.tracked,
      .source_limit = static_cast<uint32_t>(end),
      .first_bytes = begin == 0 && end > 0 ? utf8_step(request_.text, 0).bytes : size_t{0}};
  if (request_.tracked) {
    written.sources.resize(end - begin);
    std::iota(written.sources.begin(), written.sources.end(), static_cast<uint32_t>(begin));
  }
  SMOE_TRY(const SourcedText normal, file_.normalizer.normalize(std::move(written)));
  const AddedTokens::Allowed allowed = [&](const AddedToken& token, size_t from, size_t to) {
    return may_stand(token, normal.source(from), normal.source_end(to));
  };
  std::vector<AddedTokenMatch> matches;
  file_.added.cut(normal.text, search(Text::kNormalized, allowed), matches);
  for (const AddedTokenMatch& match : matches) {
    const auto at = static_cast<size_t>(match.text.data() - normal.text.data());
    if (match.token != nullptr) {
      add(match.token->id, normal.source(at));
    } else {
      SMOE_DO(add_pieces(normal.slice(at, at + match.text.size())));
    }
  }
  return {};
}

Status Encoder::add_pieces(const SourcedText& text) {
  SMOE_TRY(const Pieces pieces, file_.pretokenizer.split(text));
  for (const TextRange range : pieces.ranges) SMOE_DO(add_piece(pieces.content, range));
  return {};
}

Status Encoder::add_piece(const SourcedText& content, TextRange range) {
  const std::string_view piece =
      std::string_view(content.text).substr(range.begin, range.end - range.begin);
  const size_t first = encoded_.tokens.size();
  SMOE_DO(file_.model.encode(piece, encoded_.tokens));
  return request_.tracked ? track_piece(content, range, first) : Status();
}

// Notes where the tokens from `first` on begin. A vocabulary may hold a control token that a model
// makes of ordinary text; where that text is not trusted, the piece is cut within it.
Status Encoder::track_piece(const SourcedText& content, TextRange range, size_t first) {
  const std::string_view piece =
      std::string_view(content.text).substr(range.begin, range.end - range.begin);
  const auto tokens = std::span(encoded_.tokens).subspan(first);
  const std::vector<size_t> ends = file_.model.ends_of(piece, tokens);
  size_t begin = 0;
  for (size_t index = 0; index < tokens.size(); begin = ends[index++]) {
    encoded_.begins.push_back(content.source(range.begin + begin));
    if (request_.trusted == nullptr || !file_.added.is_control(tokens[index]) ||
        ends[index] == begin ||
        file_.model.vocabulary().text_of(tokens[index]) !=
            piece.substr(begin, ends[index] - begin) ||
        request_.trusted->cover(content.source(range.begin + begin),
                                content.source_end(range.begin + ends[index])))
      continue;
    const size_t cut = begin + utf8_step(piece, begin).bytes;
    if (cut >= ends[index])
      return Error{Code::kUnsupported, "text: " + json_quote(piece.substr(begin, cut - begin)) +
                                           " is a control token and cannot be said otherwise"};
    encoded_.tokens.resize(first);
    encoded_.begins.resize(first);
    SMOE_DO(add_piece(content, {range.begin, range.begin + cut}));
    return add_piece(content, {range.begin + cut, range.end});
  }
  return {};
}

}  // namespace

bool TrustedRanges::cover(uint32_t begin, uint32_t end) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                       [](uint32_t value, const std::pair<uint32_t, uint32_t>& range) {
                         return value < range.first;
                       });
  return after != ranges_.begin() && end <= std::prev(after)->second;
}

Result<EncodedText> encode_text(const TokenizerFile& file, const EncodeRequest& request) {
  if (const auto invalid = first_invalid_utf8(request.text))
    return Error{Code::kCorrupt, "text: byte " + std::to_string(*invalid) + " is no UTF-8"};
  if (request.tracked && request.text.size() >= UINT32_MAX)
    return Error{Code::kUnsupported, "text: longer than 4 GiB"};
  Encoder encoder(file, request);
  SMOE_DO(encoder.run());
  return encoder.take();
}

}  // namespace smoe
