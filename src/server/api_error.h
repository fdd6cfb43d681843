// Errors as the clients of each API expect them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/result.h"
#include "server/http_server.h"

namespace smoe::server {

struct ApiError {
  unsigned status = 400;
  std::string message = {};
  std::string param = {};  // the field that is wrong
  std::string code = {};
  std::optional<uint64_t> prompt_tokens = {};   // with context_length_exceeded
  std::optional<uint64_t> context_tokens = {};  // likewise
  std::optional<unsigned> retry_after_s = {};   // with 429 and 503
};

template <class T>
class [[nodiscard]] ApiResult : public tl::expected<T, ApiError> {
  using Base = tl::expected<T, ApiError>;

 public:
  using Base::Base;
  // NOLINTNEXTLINE(google-explicit-constructor): an error is returned as it stands
  ApiResult(ApiError error) : Base(tl::unexpect, std::move(error)) {}
};

enum class ApiStyle : uint8_t { kOpenAi, kAnthropic };
// Paths below /v1/messages speak Anthropic's protocol.
ApiStyle style_of(std::string_view path);

// The API's name for a status: "invalid_request_error".
std::string_view error_type(unsigned status, ApiStyle style);

// {"error":{...}}, or {"type":"error","error":{...}}; without a newline.
std::string error_json(const ApiError& error, ApiStyle style);
// With the headers that belong to the status.
HttpResponse error_response(const ApiError& error, ApiStyle style);

// What a failure in the engine or the text room is to a client.
ApiError api_error_of(const Error& error);
// The prompt does not fit; `param` is the field it came from.
ApiError context_exceeded(std::string_view param, uint64_t prompt_tokens, uint64_t context_tokens);

}  // namespace smoe::server

// SMOE_API_TRY(const auto value, call()) declares `value`, or returns the ApiError.
#define SMOE_API_TRY(declaration, ...)                                                        \
  auto SMOE_CONCAT(smoe_api_try_, __LINE__) = (__VA_ARGS__);                                  \
  if (!SMOE_CONCAT(smoe_api_try_, __LINE__))                                                  \
    return ::smoe::server::ApiError(std::move(SMOE_CONCAT(smoe_api_try_, __LINE__)).error()); \
  declaration = std::move(*SMOE_CONCAT(smoe_api_try_, __LINE__))
