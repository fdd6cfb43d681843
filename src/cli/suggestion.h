// Guesses what a misspelled name was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smoe::cli {

// "; did you mean X?", or nothing when no candidate is near.
std::string suggestion(std::string_view given, const std::vector<std::string>& candidates);

}  // namespace smoe::cli
