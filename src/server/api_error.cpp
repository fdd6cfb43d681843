#include "server/api_error.h"

#include <fmt/format.h>

#include <array>

#include "base/json.h"

namespace smoe::server {
namespace {

struct StatusName {
  unsigned status;
  std::string_view openai;
  std::string_view anthropic;
};
constexpr std::array kStatusNames{
    StatusName{400, "invalid_request_error", "invalid_request_error"},
    StatusName{401, "authentication_error", "authentication_error"},
    StatusName{403, "permission_error", "permission_error"},
    StatusName{404, "not_found_error", "not_found_error"},
    StatusName{405, "invalid_request_error", "invalid_request_error"},
    StatusName{413, "invalid_request_error", "request_too_large"},
    StatusName{429, "rate_limit_error", "rate_limit_error"},
    StatusName{431, "invalid_request_error", "invalid_request_error"},
    StatusName{500, "server_error", "api_error"},
    StatusName{501, "not_supported_error", "api_error"},
    StatusName{503, "unavailable_error", "overloaded_error"},
};

constexpr unsigned kDefaultRetrySeconds = 1;

void text_or_null(JsonWriter& json, std::string_view name, const std::string& text) {
  json.key(name);
  if (text.empty()) {
    json.null();
  } else {
    json.value(std::string_view(text));
  }
}

}  // namespace

ApiStyle style_of(std::string_view path) {
  return path == "/v1/messages" || path.starts_with("/v1/messages/") ? ApiStyle::kAnthropic
                                                                     : ApiStyle::kOpenAi;
}

std::string_view error_type(unsigned status, ApiStyle style) {
  for (const StatusName& entry : kStatusNames)
    if (entry.status == status)
      return style == ApiStyle::kAnthropic ? entry.anthropic : entry.openai;
  return status < 500 ? "invalid_request_error" : "server_error";
}

std::string error_json(const ApiError& error, ApiStyle style) {
  JsonWriter json;
  json.begin_object();
  if (style == ApiStyle::kAnthropic) json.member("type", "error");
  json.key("error").begin_object();
  json.member("message", std::string_view(error.message));
  json.member("type", error_type(error.status, style));
  if (style == ApiStyle::kOpenAi) {
    text_or_null(json, "param", error.param);
    text_or_null(json, "code", error.code);
  }
  if (error.prompt_tokens) json.member("n_prompt_tokens", *error.prompt_tokens);
  if (error.context_tokens) json.member("n_ctx", *error.context_tokens);
  json.end_object().end_object();
  return json.take();
}

HttpResponse error_response(const ApiError& error, ApiStyle style) {
  HttpResponse response{error.status, {{"content-type", "application/json"}}, {}};
  response.body = error_json(error, style) + "\n";
  if (error.status == 401) response.headers.push_back({"www-authenticate", "Bearer"});
  // Clients repeat a failed request twice; the same request would fail the same way.
  if (error.status == 500) response.headers.push_back({"x-should-retry", "false"});
  if (error.status == 429 || error.status == 503)
    response.headers.push_back(
        {"retry-after", std::to_string(error.retry_after_s.value_or(kDefaultRetrySeconds))});
  return response;
}

ApiError api_error_of(const Error& error) {
  ApiError result{.message = error.message};
  switch (error.code) {
    case Code::kUsage:
    case Code::kUnsupported:
      break;
    case Code::kContextFull:
      result.code = "context_length_exceeded";
      break;
    case Code::kNotFound:
      result.status = 404;
      break;
    case Code::kCancelled:
    case Code::kNoMemory:
      result.status = 503;
      break;
    case Code::kBusy:
      result.status = 429;
      break;
    case Code::kNumeric:
    case Code::kIo:
    case Code::kCorrupt:
    case Code::kNoSpace:
      result.status = 500;
      result.code = std::string(name_of(error.code));
      break;
  }
  return result;
}

ApiError context_exceeded(std::string_view param, uint64_t prompt_tokens, uint64_t context_tokens) {
  return {.message = fmt::format("the prompt has {} tokens and the context holds {}, of which one "
                                 "at least is for the answer",
                                 prompt_tokens, context_tokens),
          .param = std::string(param),
          .code = "context_length_exceeded",
          .prompt_tokens = prompt_tokens,
          .context_tokens = context_tokens};
}

}  // namespace smoe::server
