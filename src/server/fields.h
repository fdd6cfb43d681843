// Reads the fields of a request. The first that is wrong is kept, and everything after it reads as
// absent, so that a reader asks for all and looks at the error once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_text.h"
#include "server/api_error.h"

namespace smoe::server {

class Fields {
 public:
  // `where` stands before the names of fields in errors: "messages[0].". `object` outlives it.
  explicit Fields(const Json& object, std::string where = "");

  // nullptr when it is absent or null, which is the same thing to clients.
  const Json* find(std::string_view name) const;

  std::optional<double> real(std::string_view name, double least, double most);
  std::optional<uint64_t> count(std::string_view name, uint64_t least, uint64_t most);
  std::optional<bool> flag(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  const Json* object(std::string_view name);
  const Json* array(std::string_view name);
  // A string or an array of strings, at most `most` of at most `most_bytes` bytes, none empty.
  std::vector<std::string> texts(std::string_view name, size_t most, size_t most_bytes);
  // Known but not to be had: an error unless it is absent, null, or JSON text `harmless`.
  void refuse(std::string_view name, std::string_view harmless, std::string_view why);

  void fail(std::string_view name, std::string_view message);
  const std::optional<ApiError>& error() const { return error_; }

 private:
  const Json* usable(std::string_view name) const { return error_ ? nullptr : find(name); }

  const Json* object_;
  std::string where_;
  std::optional<ApiError> error_;
};

// The body of a request: a JSON object, at most 128 deep.
ApiResult<Json> parse_body(std::string_view body);

}  // namespace smoe::server
