#include "server/step_planner.h"

#include <algorithm>

#include "base/check.h"

namespace smoe::server {
namespace {

uint32_t common_tokens(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<uint32_t>(differ.first - a.begin());
}

}  // namespace

void StepPlanner::plan(Requests requests, uint32_t slice, std::vector<StepShare>& shares) {
  shares.clear();
  const auto answers = static_cast<uint32_t>(std::count_if(
      requests.begin(), requests.end(),
      [](const auto& request) { return !request->suspended() && request->answering(); }));
  SMOE_CHECK(answers < chunk_);
  uint32_t left = answers == 0 ? chunk_ : std::min(slice, chunk_ - answers);
  for (size_t i = 0; i < requests.size(); ++i) {
    RunningRequest& request = *requests[i];
    if (request.suspended()) continue;  // perhaps by an older one, just now
    const bool answer = request.answering();
    if (!request.attached()) {
      if (left == 0 || waits_for_older(requests.first(i), request)) continue;
      request.attach(tree_);
    }
    const uint32_t rows = answer ? 1 : std::min(left, request.remaining());
    if (rows == 0 || !make_room(requests.subspan(i + 1), request, rows)) continue;
    if (!answer) left -= rows;
    shares.push_back({&request, rows});
  }
}

bool StepPlanner::waits_for_older(Requests older, const RunningRequest& request) const {
  const uint32_t here = tree_.covered(request.tokens());
  return std::any_of(older.begin(), older.end(), [&](const auto& other) {
    if (other->suspended() || other->answering()) return false;
    const uint32_t common = common_tokens(other->tokens(), request.tokens());
    return common / kPagePositions > here / kPagePositions;
  });
}

bool StepPlanner::make_room(Requests younger, const RunningRequest& request, uint32_t rows) {
  const uint32_t end = request.computed() + rows;
  const uint32_t missing = cache_.missing_pages(request.sequence(), end);
  while (!tree_.make_room(missing)) {
    const auto last = std::find_if(younger.rbegin(), younger.rend(), [](const auto& other) {
      return other->attached() && !other->suspended();
    });
    if (last == younger.rend()) return false;
    (*last)->suspend(tree_);
    ++suspended_;
  }
  return cache_.extend(request.sequence(), end).has_value();
}

}  // namespace smoe::server
