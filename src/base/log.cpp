#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <vector>

#include "base/json.h"

namespace smoe::log {
namespace {

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

// The message as a JSON string: a quote or a line end in it must not break the line.
class JsonMessageFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& to) override {
    const std::string quoted =
        json_quote(std::string_view(message.payload.data(), message.payload.size()));
    to.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessageFlag>();
  }
};

// "smoe: " and, where it matters, how bad it is.
class SeverityFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& to) override {
    std::string_view severity;
    if (message.level == spdlog::level::debug) severity = "debug: ";
    if (message.level == spdlog::level::warn) severity = "warning: ";
    if (message.level == spdlog::level::err) severity = "error: ";
    to.append(severity.data(), severity.data() + severity.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<SeverityFlag>();
  }
};

constexpr const char* kPlain = "smoe: %*%v";
constexpr const char* kDated = "%Y-%m-%dT%H:%M:%S.%e%z %*%v";  // a file is read later
constexpr const char* kJson = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%J})";

std::unique_ptr<spdlog::formatter> formatter(const char* pattern) {
  auto made = std::make_unique<spdlog::pattern_formatter>();
  made->add_flag<JsonMessageFlag>('J').add_flag<SeverityFlag>('*');
  made->set_pattern(pattern);
  return made;
}

std::shared_ptr<spdlog::logger> make_logger(const std::vector<spdlog::sink_ptr>& sinks,
                                            Level level) {
  auto logger = std::make_shared<spdlog::logger>("smoe", sinks.begin(), sinks.end());
  logger->set_level(spdlog_level(level));
  logger->flush_on(spdlog::level::trace);
  // A log that cannot be written (full disk, closed pipe) must not end or disturb the work.
  logger->set_error_handler([](const std::string& /*reason*/) {});
  return logger;
}

spdlog::sink_ptr stderr_sink(bool json) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_formatter(formatter(json ? kJson : kPlain));
  return sink;
}

// spdlog's registry owns the one logger. Its own default writes to stdout, which is for answers,
// so the first use puts ours in its place.
spdlog::logger& logger() {
  static const bool replaced = [] {
    spdlog::set_default_logger(make_logger({stderr_sink(false)}, Options().level));
    return true;
  }();
  static_cast<void>(replaced);
  return *spdlog::default_logger_raw();
}

}  // namespace

Status set_up(const Options& options) {
  static_cast<void>(logger());  // so that a later first use cannot replace what is set up here
  std::vector<spdlog::sink_ptr> sinks = {stderr_sink(options.json)};
  if (!options.file.empty()) {
    try {
      sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file));
    } catch (const spdlog::spdlog_ex& error) {
      return Error{Code::kIo, options.file + ": cannot open the log file: " + error.what()};
    }
    sinks.back()->set_formatter(formatter(options.json ? kJson : kDated));
  }
  spdlog::set_default_logger(make_logger(sinks, options.level));
  return {};
}

bool enabled(Level level) { return logger().should_log(spdlog_level(level)); }

void write(Level level, std::string_view message) {
  logger().log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace smoe::log
