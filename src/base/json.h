// JSON in and out. Reading keeps the order of keys and the text of numbers; writing never fails,
// whatever bytes a string holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace smoe {

// One JSON value. A missing member and a wrong type are ordinary answers (nullptr, nullopt),
// because most callers have a better message than this class could give.
class Json {
 public:
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, Json>;

  struct Limits {
    int max_depth = 64;
    bool unique_keys = true;  // a duplicate key is kCorrupt; otherwise the last one wins
  };

  Json() = default;  // null

  // Fails: kCorrupt with the reason; the caller adds the file's name.
  static Result<Json> parse(std::string_view text, Limits limits);
  static Result<Json> parse(std::string_view text) { return parse(text, Limits()); }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_number() const { return kind_ == Kind::kNumber; }

  // nullptr when this is no object or has no such member.
  const Json* find(std::string_view key) const;

  std::optional<bool> as_bool() const;
  std::optional<double> as_double() const;
  std::optional<uint64_t> as_uint() const;  // whole, not negative, not out of range
  std::optional<int64_t> as_int() const;
  std::optional<std::string_view> as_string() const;
  std::string_view number_text() const { return text_; }

  // Empty when this is no array (object).
  const std::vector<Json>& items() const { return items_; }
  const std::vector<Member>& members() const;

 private:
  friend class JsonReader;

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  std::string text_;  // a string's bytes or a number's text
  std::vector<Json> items_;
  std::vector<Member> members_;
};

// Builds JSON text. Bytes that are no UTF-8 become U+FFFD, non-finite numbers null. Members of
// objects: key() then a value. Nesting errors are SMOE_CHECK failures.
class JsonWriter {
 public:
  explicit JsonWriter(int indent = 0) : indent_(indent) {}  // 0: one line, no spaces

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(double number);  // shortest text that reads back the same
  JsonWriter& value(float number);
  JsonWriter& value(uint64_t number);
  JsonWriter& value(int64_t number);
  JsonWriter& value(uint32_t number) { return value(uint64_t{number}); }
  JsonWriter& value(int32_t number) { return value(int64_t{number}); }
  JsonWriter& null();
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void before_value();
  void new_line();

  struct Level {
    bool object;
    bool empty = true;
  };
  std::string text_;
  std::vector<Level> levels_;
  int indent_;
  bool after_key_ = false;
};

// `text` as a JSON string literal with quotes.
std::string json_quote(std::string_view text);

// Whether every byte belongs to a well-formed UTF-8 sequence.
bool is_utf8(std::string_view text);

}  // namespace smoe
