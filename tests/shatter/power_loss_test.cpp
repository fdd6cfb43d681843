// D11: the power goes at each moment of a run. What a disk then holds is rebuilt from a log of the
// calls; a shatter over it must end in the right model.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>

#include "base/checksum.h"
#include "base/rng.h"
#include "shatter/shattering.h"

namespace smoe {
namespace {

namespace fs = std::filesystem;

using test::snapshot;

struct Call {
  std::string kind;  // create write sync rename remove mkdir
  std::string path;
  std::string to;
  uint64_t offset = 0;
  std::string data;
};

std::vector<Call> read_log(const fs::path& path) {
  std::vector<Call> calls;
  const std::string text = test::content_of(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::istringstream line(text.substr(at, end - at));
    at = end + 1;
    Call call;
    line >> call.kind >> call.path;
    if (call.kind == "rename") line >> call.to;
    if (call.kind == "write") {
      uint64_t bytes = 0;
      line >> call.offset >> bytes;
      call.data = text.substr(at, bytes);
      at += bytes;
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

// What a crash leaves of changes that no sync has covered.
enum class Loss {
  kAll,         // nothing of them
  kDataOnly,    // names, but none of the data: a rename may overtake the bytes
  kSomeWrites,  // names and any part of the writes: they may overtake each other
};

class Disk {
 public:
  Disk(fs::path root, Loss loss, uint64_t seed) : root_(std::move(root)), loss_(loss), rng_(seed) {}

  void apply(const Call& call) {
    if (call.kind == "create") live_[call.path] = std::make_shared<Content>();
    if (call.kind == "mkdir") live_[call.path] = nullptr;
    if (call.kind == "remove") live_.erase(call.path);
    if (call.kind == "rename") {
      live_[call.to] = live_[call.path];
      live_.erase(call.path);
    }
    if (call.kind == "write") live_.at(call.path)->write(call);
    if (call.kind == "sync") sync(call.path);
  }

  // The folder after the power has gone now.
  test::Snapshot after_crash() {
    test::Snapshot result;
    for (const auto& [path, content] : loss_ == Loss::kAll ? durable_ : live_) {
      const std::string name = fs::relative(path, root_).string();
      if (content == nullptr) {
        result[name == "." ? "" : name + "/"] = "";
      } else {
        result[name] = content->after_crash(loss_, rng_);
      }
    }
    return result;
  }

 private:
  struct Content {
    std::string now;
    std::string synced;
    std::vector<Call> unsynced;

    void write(const Call& call) {
      overwrite(now, call);
      unsynced.push_back(call);
    }
    static void overwrite(std::string& text, const Call& call) {
      text.resize(std::max<size_t>(text.size(), call.offset + call.data.size()), '\0');
      text.replace(call.offset, call.data.size(), call.data);
    }
    std::string after_crash(Loss loss, Rng& rng) const {
      std::string text = synced;
      if (loss == Loss::kSomeWrites)
        for (const Call& call : unsynced)
          if (rng.below(2) == 0) overwrite(text, call);
      return text;
    }
  };
  using Names = std::map<std::string, std::shared_ptr<Content>>;  // a folder has no content

  void sync(const std::string& path) {
    const auto found = live_.find(path);
    if (found != live_.end() && found->second != nullptr) {
      found->second->synced = found->second->now;
      found->second->unsynced.clear();
      return;
    }
    // A folder: its names become durable, others stay as they were.
    const auto is_inside = [&](const std::string& name) {
      return fs::path(name).parent_path() == fs::path(path);
    };
    std::erase_if(durable_, [&](const auto& entry) { return is_inside(entry.first); });
    for (const auto& [name, content] : live_)
      if (is_inside(name)) durable_[name] = content;
  }

  fs::path root_;
  Loss loss_;
  Rng rng_;
  Names live_;
  Names durable_;
};

void materialize(const test::Snapshot& files, const fs::path& folder) {
  for (const auto& [name, content] : files) {
    if (name.empty() || name.ends_with('/')) {
      fs::create_directories(folder / name);
    } else if (fs::exists((folder / name).parent_path())) {  // else its folder was lost
      test::write_file(folder / name, content);
    }
  }
}

TEST(PowerLoss, AtAnyMomentIsRecoveredFrom) {
  const test::Workshop shop({.layers = 2, .experts = 3, .dense_layers = {1}});
  const fs::path log = shop.folder / "log";
  ASSERT_EQ(run_shatter(
                shop, {{"SMOE_FAULT_UNDER", shop.model.string()}, {"SMOE_FAULT_LOG", log.string()}})
                .exit_code,
            0);
  const auto wanted = snapshot(shop.model);
  const std::vector<Call> calls = read_log(log);
  ASSERT_GT(calls.size(), 40U);

  std::set<uint64_t> seen;
  for (const Loss loss : {Loss::kAll, Loss::kDataOnly, Loss::kSomeWrites}) {
    Disk disk(shop.model, loss, 11);
    for (size_t i = 0; i < calls.size(); ++i) {
      disk.apply(calls[i]);
      const test::Snapshot left = disk.after_crash();
      std::string text;
      for (const auto& [name, content] : left) text += name + "\n" + content + "\n";
      if (!seen.insert(xxh3_64(text)).second) continue;  // the same as before
      const test::TempDir folder;
      materialize(left, folder / "model");
      const std::string outcome = test::shatter_outcome(shop.checkpoint, folder / "model");
      ASSERT_EQ(outcome, "done") << "after call " << i << ", " << calls[i].kind << " "
                                 << calls[i].path << ", loss " << static_cast<int>(loss);
      ASSERT_TRUE(snapshot(folder / "model") == wanted)
          << "after call " << i << ", " << calls[i].kind << " " << calls[i].path << ", loss "
          << static_cast<int>(loss);
    }
  }
  EXPECT_GT(seen.size(), 60U);
}

// A model that a run has reported as done survives anything.
TEST(PowerLoss, AfterARunLosesNothing) {
  const test::Workshop shop({.layers = 1, .experts = 2});
  const fs::path log = shop.folder / "log";
  ASSERT_EQ(run_shatter(
                shop, {{"SMOE_FAULT_UNDER", shop.model.string()}, {"SMOE_FAULT_LOG", log.string()}})
                .exit_code,
            0);
  Disk disk(shop.model, Loss::kAll, 1);
  for (const Call& call : read_log(log)) disk.apply(call);
  test::Snapshot left = disk.after_crash();
  left.erase("");
  EXPECT_TRUE(left == snapshot(shop.model));
}

}  // namespace
}  // namespace smoe
