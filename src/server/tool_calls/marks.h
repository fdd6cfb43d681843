// The marks by which models spell calls of tools, and what stands between their parts.
#pragma once

#include <string_view>

namespace smoe::server {

inline constexpr std::string_view kBlank = " \t\r\n";
inline constexpr std::string_view kFunctionOpen = "<function=";
inline constexpr std::string_view kFunctionClose = "</function>";
inline constexpr std::string_view kParameterOpen = "<parameter=";
inline constexpr std::string_view kParameterClose = "</parameter>";
inline constexpr std::string_view kKeyOpen = "<arg_key>";
inline constexpr std::string_view kKeyClose = "</arg_key>";
inline constexpr std::string_view kValueOpen = "<arg_value>";
inline constexpr std::string_view kValueClose = "</arg_value>";
inline constexpr std::string_view kCallBegin = "<｜tool▁call▁begin｜>";
inline constexpr std::string_view kCallSeparator = "<｜tool▁sep｜>";
inline constexpr std::string_view kCallEnd = "<｜tool▁call▁end｜>";
inline constexpr std::string_view kMessageMark = "<|message|>";

}  // namespace smoe::server
