// Many requests at once: the same bits as alone, whatever they share, whoever leaves or fails.
#include "server/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <thread>

#include "engine/generation.h"
#include "server/prompt_slice.h"
#include "support/model_fixture.h"
#include "support/temp_dir.h"

namespace smoe::server {
namespace {

using test::EngineSettings;
using test::OpenModel;
using namespace std::chrono_literals;

const Tokenizer& tales_tokenizer() {
  static const Tokenizer tokenizer = *Tokenizer::load(test::tales_dir());
  return tokenizer;
}

std::vector<TokenId> tokens_of(std::string_view text) { return *tales_tokenizer().encode(text); }

struct Heard {
  std::vector<TokenId> tokens;
  std::string text;
  std::vector<TokenLogprobs> logprobs;
  std::optional<Error> error;
  GenerationSummary summary;
};

// Calls `on_piece` with each piece, and keeps all that it hears.
class Recorder : public GenerationListener {
 public:
  using OnPiece = std::function<void(size_t pieces)>;
  explicit Recorder(OnPiece on_piece = nullptr) : on_piece_(std::move(on_piece)) {}

  void piece(const AnswerPiece& piece) override {
    heard_.text += piece.text;
    if (piece.last) return;
    heard_.tokens.push_back(piece.token);
    if (piece.logprobs != nullptr) heard_.logprobs.push_back(*piece.logprobs);
    if (on_piece_) on_piece_(heard_.tokens.size());
  }
  void finished(Result<GenerationSummary> result) override {
    if (result) {
      heard_.summary = *std::move(result);
    } else {
      heard_.error = std::move(result).error();
    }
    promise_.set_value(std::move(heard_));
  }
  std::future<Heard> future() { return promise_.get_future(); }

 private:
  OnPiece on_piece_;
  Heard heard_;
  std::promise<Heard> promise_;
};

struct Question {
  std::vector<TokenId> prompt;
  GenerationOptions options;
};

Question question(std::string_view text, uint32_t tokens, float temperature = 0,
                  uint64_t seed = 0) {
  Question question{tokens_of(text), {}};
  question.options.max_tokens = tokens;
  question.options.sampler.temperature = temperature;
  question.options.sampler.seed = seed;
  return question;
}

constexpr std::string_view kBeginning =
    "Once upon a time there was a little girl who lived with her mother in a house at the edge of "
    "the wood. Every morning she went down to the brook to fetch water, and every morning ";

// Prompts of many lengths that share nothing, a page, or all; greedy and sampled.
std::vector<Question> questions() {
  std::vector<Question> all;
  const std::string beginning(kBeginning);
  for (uint64_t i = 0; i < 3; ++i) {
    const float temperature = i % 2 == 0 ? 0.0F : 1.0F;
    all.push_back(question(beginning, 12, temperature, i));
    all.push_back(question(beginning + "she saw a fox", 9, temperature, i));
    all.push_back(question(beginning + "an old man asked her", 14, temperature, i + 9));
    all.push_back(question(beginning.substr(i * 7), 6 + static_cast<uint32_t>(i), 0.9F, i));
  }
  return all;
}

// The answer of a model that does nothing else.
Result<Generation> alone(Engine& engine, const Question& question) {
  SMOE_TRY(Session session, Session::open(engine));
  return generate(
      session, tales_tokenizer(), question.prompt, question.options, [](size_t, size_t) {},
      [](std::string_view) {});
}

// The answers of a model with all experts in memory, one after another.
const std::vector<std::vector<TokenId>>& answers_alone() {
  static const auto answers = [] {
    OpenModel model(test::shattered(test::tales_dir()), {});
    std::vector<std::vector<TokenId>> result;
    for (const Question& question : questions())
      result.push_back(alone(model.engine(), question)->tokens);
    return result;
  }();
  return answers;
}

struct ServedSettings {
  std::optional<uint32_t> ring_slots = {};
  uint32_t parallel = 4;
  uint32_t chunk = 48;
  uint32_t context = 256;
  std::optional<uint64_t> kv_positions = {};
  uint32_t max_queue = 64;
  uint64_t queue_timeout_ns = 0;
  std::filesystem::path folder = test::shattered(test::tales_dir());
  PrefixStoreOptions disk = {};
};

class Served {
 public:
  explicit Served(const ServedSettings& setup) : model_(setup.folder, settings(setup)) {
    scheduler_ =
        *Scheduler::open(model_.engine(), tales_tokenizer(),
                         {setup.parallel, setup.max_queue, setup.queue_timeout_ns, setup.disk});
  }

  std::future<Heard> ask(const Question& question, Recorder::OnPiece on_piece = nullptr) {
    auto listener = std::make_unique<Recorder>(std::move(on_piece));
    auto future = listener->future();
    const auto id = scheduler_->submit({question.prompt, question.options}, std::move(listener));
    EXPECT_TRUE(id) << id.error().message;
    if (id) last_id_ = *id;
    return future;
  }
  Scheduler& scheduler() { return *scheduler_; }
  RequestId last_id() const { return last_id_; }

 private:
  static EngineSettings settings(const ServedSettings& setup) {
    EngineSettings settings;
    settings.options.ring_slots = setup.ring_slots;
    settings.options.sequences = setup.parallel;
    settings.options.prompt_chunk = setup.chunk;
    settings.options.context = setup.context;
    settings.options.kv_positions = setup.kv_positions;
    return settings;
  }

  OpenModel model_;
  std::unique_ptr<Scheduler> scheduler_;
  RequestId last_id_{};
};

// Everything is answered, and as it would be alone.
void expect_answers_as_alone(Served& served, size_t copies = 1) {
  const auto all = questions();
  std::vector<std::future<Heard>> futures;
  for (size_t i = 0; i < copies * all.size(); ++i)
    futures.push_back(served.ask(all[i % all.size()]));
  for (size_t i = 0; i < futures.size(); ++i) {
    const Heard heard = futures[i].get();
    ASSERT_FALSE(heard.error) << heard.error->message;
    EXPECT_EQ(heard.tokens, answers_alone()[i % all.size()]) << "request " << i;
    EXPECT_EQ(heard.text, tales_tokenizer().decode(heard.tokens, true));
    EXPECT_EQ(heard.summary.finish, Finish::kLength);
  }
}

// The invariant of batching; S7 for the second round, whose prompts are all in the prefix cache.
TEST(Scheduler, AnswersAsIfEachRequestWereAlone) {
  std::vector<std::pair<std::optional<uint32_t>, uint32_t>> rings_and_slots = {{2, 16}, {{}, 3}};
  if (std::getenv("SMOE_TEST_LONG") != nullptr)
    rings_and_slots.insert(rings_and_slots.end(), {{2, 3}, {7, 8}, {100, 32}, {{}, 16}});
  for (const auto& [ring_slots, parallel] : rings_and_slots) {
    ServedSettings settings;
    settings.ring_slots = ring_slots;
    settings.parallel = parallel;
    Served served(settings);
    expect_answers_as_alone(served);
    const uint64_t cached = served.scheduler().snapshot().cached_tokens;
    expect_answers_as_alone(served, std::getenv("SMOE_TEST_LONG") != nullptr ? 3 : 1);
    EXPECT_GT(served.scheduler().snapshot().cached_tokens, cached);
  }
}

TEST(Scheduler, AnswersTheSameWhenTheKvCacheIsTooSmallForAll) {
  ServedSettings setup;
  setup.parallel = 8;
  setup.context = 96;
  setup.kv_positions = 128;  // four pages, where each request takes two or three
  Served served(setup);
  expect_answers_as_alone(served);
  EXPECT_GT(served.scheduler().snapshot().suspended, 0U);
}

TEST(Scheduler, ComputesOnlyWhatIsNewInASecondTurn) {
  Served served({});
  const Question first = question(kBeginning, 10);
  const Heard answer = served.ask(first).get();
  Question second = first;
  second.prompt.insert(second.prompt.end(), answer.tokens.begin(), answer.tokens.end());
  const auto more = tokens_of(" And then");
  second.prompt.insert(second.prompt.end(), more.begin(), more.end());
  const Heard turn = served.ask(second).get();
  // The last token of the answer was drawn and not computed.
  EXPECT_EQ(turn.summary.cached_tokens, first.prompt.size() + answer.tokens.size() - 1);

  OpenModel model(test::shattered(test::tales_dir()), {});
  EXPECT_EQ(turn.tokens, alone(model.engine(), second)->tokens);

  Question edited = second;
  edited.prompt[40] = TokenId{5};
  const Heard other = served.ask(edited).get();
  EXPECT_EQ(other.summary.cached_tokens, 40U);
  EXPECT_EQ(other.tokens, alone(model.engine(), edited)->tokens);
  EXPECT_EQ(served.ask(second).get().tokens, turn.tokens);
}

PrefixStoreOptions kept_in(const std::filesystem::path& folder) {
  return {folder, uint64_t{1} << 30, uint64_t{1} << 30, "test"};
}

// Turn 2 after a restart pays for its suffix alone: the end of turn 1 is on disk.
TEST(Scheduler, ComputesOnlyWhatIsNewAfterARestart) {
  const test::TempDir folder;
  ServedSettings setup;
  setup.disk = kept_in(folder / "kv");
  Question turn = question(kBeginning, 20);
  std::vector<TokenId> answered;
  {
    Served served(setup);
    answered = served.ask(turn).get().tokens;
  }
  // The last token of an answer is not computed before the next turn.
  const size_t held = turn.prompt.size() + answered.size() - 1;
  turn.prompt.insert(turn.prompt.end(), answered.begin(), answered.end());
  const auto more = tokens_of(" Then she went home.");
  turn.prompt.insert(turn.prompt.end(), more.begin(), more.end());
  Served without({});
  const std::vector<TokenId> expected = without.ask(turn).get().tokens;
  {
    Served served(setup);
    const Heard heard = served.ask(turn).get();
    EXPECT_EQ(heard.tokens, expected);
    EXPECT_EQ(heard.summary.cached_tokens, held);
  }
  // What is damaged is computed again.
  for (const auto& entry : std::filesystem::directory_iterator(folder / "kv")) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(400);
    file << "damaged";
  }
  Served served(setup);
  const Heard heard = served.ask(turn).get();
  EXPECT_EQ(heard.tokens, expected);
  EXPECT_EQ(heard.summary.cached_tokens, 0U);
  EXPECT_GT(served.scheduler().snapshot().disk->pages_damaged, 0U);
}

// S7: memory for one context only, so that everything goes to the disk and comes back from there.
TEST(Scheduler, AnswersTheSameFromPagesThatWereOnDisk) {
  const test::TempDir folder;
  ServedSettings setup;
  setup.parallel = 2;
  setup.kv_positions = setup.context;
  setup.disk = kept_in(folder / "kv");
  for (int run = 0; run < 2; ++run) {
    Served served(setup);
    expect_answers_as_alone(served, 2);
    const PrefixStoreStats stats = *served.scheduler().snapshot().disk;
    EXPECT_GT(stats.pages_read, 0U);
    EXPECT_EQ(stats.pages_damaged, 0U);
  }
}

TEST(Scheduler, ComputesACommonBeginningOnceForRequestsThatComeTogether) {
  Served served({});
  std::vector<std::future<Heard>> futures;
  for (uint64_t i = 0; i < 4; ++i) futures.push_back(served.ask(question(kBeginning, 5, 1, i)));
  const size_t size = tokens_of(kBeginning).size();
  EXPECT_EQ(futures[0].get().summary.cached_tokens, 0U);
  for (size_t i = 1; i < futures.size(); ++i)
    EXPECT_GE(futures[i].get().summary.cached_tokens, size / 32 * 32);
}

TEST(Scheduler, RefusesWhatCanNeverRunAtOnceNamingBothNumbers) {
  ServedSettings setup;
  setup.context = 64;
  Served served(setup);
  auto listener = std::make_unique<Recorder>();
  const auto full = served.scheduler().submit(
      {std::vector<TokenId>(65, TokenId{1}), GenerationOptions{}}, std::move(listener));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kContextFull);
  EXPECT_THAT(full.error().message,
              testing::AllOf(testing::HasSubstr("65"), testing::HasSubstr("64")));
  EXPECT_EQ(served.scheduler().submit({}, std::make_unique<Recorder>()).error().code, Code::kUsage);
}

TEST(Scheduler, EndsAnAnswerThatFillsTheContext) {
  ServedSettings setup;
  setup.context = 64;
  Served served(setup);
  const Heard heard = served.ask({std::vector<TokenId>(60, TokenId{7}), {}}).get();
  EXPECT_EQ(heard.summary.finish, Finish::kContextFull);
  EXPECT_EQ(heard.tokens.size(), 5U);
}

// S2
TEST(Scheduler, RefusesMoreThanTheQueueHolds) {
  ServedSettings setup;
  setup.parallel = 1;
  setup.max_queue = 2;
  Served served(setup);
  auto first = served.ask(question(kBeginning, 0));
  std::vector<std::future<Heard>> waiting;
  waiting.push_back(served.ask(question("A", 1)));
  waiting.push_back(served.ask(question("B", 1)));
  const RequestId last = served.last_id();
  const auto refused = served.scheduler().submit({tokens_of("C"), GenerationOptions{}},
                                                 std::make_unique<Recorder>());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBusy);
  served.scheduler().cancel(last);
  EXPECT_EQ(waiting[1].get().summary.finish, Finish::kCancelled);
  waiting.push_back(served.ask(question("C", 1)));
  served.scheduler().cancel(RequestId{1});
  EXPECT_EQ(first.get().summary.finish, Finish::kCancelled);
  EXPECT_EQ(waiting[0].get().summary.finish, Finish::kLength);
  EXPECT_EQ(waiting[2].get().summary.finish, Finish::kLength);
}

TEST(Scheduler, EndsARequestThatWaitedTooLong) {
  ServedSettings setup;
  setup.parallel = 1;
  setup.queue_timeout_ns = 20'000'000;
  Served served(setup);
  auto first = served.ask(question(kBeginning, 0));
  const Heard heard = served.ask(question("A", 1)).get();
  ASSERT_TRUE(heard.error);
  EXPECT_EQ(heard.error->code, Code::kBusy);
  served.scheduler().cancel(RequestId{1});
  first.wait();
}

// S3: whoever leaves, at whatever moment, changes nothing for the others.
TEST(Scheduler, LetsRequestsLeaveAtAnyMoment) {
  ServedSettings setup;
  setup.ring_slots = 2;
  setup.parallel = 6;
  Served served(setup);
  const auto all = questions();
  std::vector<std::future<Heard>> staying;
  std::vector<std::future<Heard>> leaving;
  for (size_t i = 0; i < all.size(); ++i) {
    staying.push_back(served.ask(all[i]));
    leaving.push_back(served.ask(question(std::string(kBeginning) + std::to_string(i), 0)));
    const RequestId id = served.last_id();
    std::this_thread::sleep_for(std::chrono::milliseconds(i * 3));
    served.scheduler().cancel(id);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(staying[i].get().tokens, answers_alone()[i]) << "request " << i;
    EXPECT_EQ(leaving[i].get().summary.finish, Finish::kCancelled);
  }
  const SchedulerSnapshot snapshot = served.scheduler().snapshot();
  EXPECT_EQ(snapshot.finished, 2 * all.size());
  EXPECT_EQ(snapshot.cancelled, all.size());
}

TEST(Scheduler, MayBeCancelledFromAListener) {
  Served served({});
  std::future<Heard> future = served.ask(question(kBeginning, 0), [&](size_t pieces) {
    if (pieces == 3) served.scheduler().cancel(RequestId{1});
  });
  const Heard heard = future.get();
  EXPECT_EQ(heard.summary.finish, Finish::kCancelled);
  EXPECT_EQ(heard.tokens.size(), 3U);
}

// A record that cannot be read fails those that need it, and them alone.
TEST(Scheduler, FailsOnlyTheRequestsThatNeedWhatCannotBeRead) {
  const test::TempDir dir;
  const std::filesystem::path folder = dir / "model";
  test::copy_model(test::shattered(test::tales_dir()), folder);
  const auto files = ModelFiles::open(folder);
  ASSERT_TRUE(files);
  const VaultFile& vault = files->vault[1];
  for (const uint32_t expert : {3U, 11U}) {
    std::fstream file(vault.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(vault.info().offset_of(expert) + 100));
    file.write("damage", 6);
    ASSERT_TRUE(file.good());
  }
  std::vector<Question> all;
  for (const char* word : {"Tom", "Fox", "The king", "A", "One day", "It was", "She", "Why"})
    all.push_back(question(word, 3));
  OpenModel model(folder, {});
  size_t failing = 0;
  std::vector<Result<Generation>> expected;
  for (const Question& question : all) {
    expected.push_back(alone(model.engine(), question));
    failing += expected.back() ? 0 : 1;
  }
  ASSERT_GT(failing, 0U);
  ASSERT_LT(failing, all.size());

  ServedSettings setup;
  setup.folder = folder;
  setup.parallel = 8;
  Served served(setup);
  std::vector<std::future<Heard>> futures;
  for (const Question& question : all) futures.push_back(served.ask(question));
  for (size_t i = 0; i < all.size(); ++i) {
    const Heard heard = futures[i].get();
    ASSERT_EQ(heard.error.has_value(), !expected[i].has_value()) << "request " << i;
    if (heard.error) {
      EXPECT_EQ(heard.error->code, Code::kCorrupt);
      EXPECT_THAT(heard.error->message,
                  testing::AllOf(testing::HasSubstr("layer"), testing::HasSubstr("expert")));
    } else {
      EXPECT_EQ(heard.tokens, expected[i]->tokens) << "request " << i;
    }
  }
  EXPECT_EQ(served.scheduler().snapshot().failed, failing);
}

TEST(Scheduler, BeginsRequestsInTheirOrder) {
  ServedSettings setup;
  setup.parallel = 2;
  Served served(setup);
  std::vector<std::future<Heard>> futures;
  for (int i = 0; i < 6; ++i) futures.push_back(served.ask(question("Once", 20, 1, 3)));
  uint64_t before_ns = 0;
  for (auto& future : futures) {
    const uint64_t queue_ns = future.get().summary.queue_ns;
    EXPECT_GE(queue_ns + 5'000'000, before_ns);  // they were submitted a moment apart
    before_ns = queue_ns;
  }
}

// Counts another request's pieces between two slices of its own prompt.
class SliceCounter : public GenerationListener {
 public:
  SliceCounter(const std::atomic<size_t>& pieces, std::vector<size_t>& at_slices,
               std::promise<void>& done)
      : pieces_(pieces), at_slices_(at_slices), done_(done) {}
  void prompt_progress(const PromptProgress& /*progress*/) override {
    at_slices_.push_back(pieces_);
  }
  void piece(const AnswerPiece& /*piece*/) override {}
  void finished(Result<GenerationSummary> /*result*/) override { done_.set_value(); }

 private:
  const std::atomic<size_t>& pieces_;
  std::vector<size_t>& at_slices_;
  std::promise<void>& done_;
};

TEST(Scheduler, LetsALongPromptHoldAnAnswerUpByASliceAtMost) {
  Served served({});
  std::atomic<size_t> pieces = 0;
  std::promise<void> began;
  auto answer = served.ask(question("Once", 0), [&](size_t count) {
    pieces = count;
    if (count == 2) began.set_value();
  });
  began.get_future().wait();
  std::vector<size_t> at_slices;
  std::promise<void> done;
  GenerationRequest request{std::vector<TokenId>(200, TokenId{9}), {}};
  request.options.max_tokens = 1;
  ASSERT_TRUE(served.scheduler().submit(std::move(request),
                                        std::make_unique<SliceCounter>(pieces, at_slices, done)));
  done.get_future().wait();
  served.scheduler().cancel(RequestId{1});
  answer.wait();
  ASSERT_GE(at_slices.size(), 4U);  // 200 tokens in slices of at most 44
  for (size_t i = 1; i < at_slices.size(); ++i) EXPECT_GT(at_slices[i], at_slices[i - 1]);
}

TEST(Scheduler, GivesLogprobsOfTheModelItself) {
  Served served({});
  Question asked = question(kBeginning, 4, 0.7F, 5);
  auto listener = std::make_unique<Recorder>();
  auto future = listener->future();
  ASSERT_TRUE(served.scheduler().submit({asked.prompt, asked.options, 3}, std::move(listener)));
  const Heard heard = future.get();
  ASSERT_EQ(heard.logprobs.size(), heard.tokens.size());
  for (const TokenLogprobs& logprobs : heard.logprobs) {
    ASSERT_EQ(logprobs.top.size(), 3U);
    EXPECT_LE(logprobs.logprob, logprobs.top[0].second);
    EXPECT_GE(logprobs.top[0].second, logprobs.top[1].second);
    EXPECT_LE(logprobs.top[0].second, 0);
  }
}

// Allows the tokens of one text, in their order, and then nothing.
class OnlyThis : public TokenFilter {
 public:
  explicit OnlyThis(std::vector<TokenId> tokens) : tokens_(std::move(tokens)) {}
  void allow(TokenMask mask) override {
    if (next_ == tokens_.size()) return;
    const size_t id = index_of(tokens_[next_]);
    mask[id / 64] |= uint64_t{1} << (id % 64);
  }
  void accept(TokenId token) override { next_ += token == tokens_[next_] ? 1 : 0; }

 private:
  std::vector<TokenId> tokens_;
  size_t next_ = 0;
};

TEST(Scheduler, WritesWhatAFilterAllowsAndEndsWhereItAllowsNothing) {
  Served served({});
  const auto wanted = tokens_of(" a green dragon");
  Question asked = question(kBeginning, 0, 1.0F, 5);
  auto listener = std::make_unique<Recorder>();
  auto future = listener->future();
  ASSERT_TRUE(served.scheduler().submit(
      {asked.prompt, asked.options, {}, std::make_unique<OnlyThis>(wanted)}, std::move(listener)));
  const Heard heard = future.get();
  EXPECT_EQ(heard.tokens, wanted);
  EXPECT_EQ(heard.summary.finish, Finish::kStop);
}

TEST(Scheduler, DrainsAndThenTakesNoMore) {
  Served served({});
  auto future = served.ask(question(kBeginning, 5));
  EXPECT_TRUE(served.scheduler().drain(30'000'000'000));
  EXPECT_EQ(future.wait_for(0s), std::future_status::ready);
  const auto refused = served.scheduler().submit({tokens_of("C"), GenerationOptions{}},
                                                 std::make_unique<Recorder>());
  EXPECT_EQ(refused.error().code, Code::kBusy);
}

TEST(Scheduler, EndsEverybodyWhenItStops) {
  std::future<Heard> running;
  std::future<Heard> waiting;
  {
    ServedSettings setup;
    setup.parallel = 1;
    Served served(setup);
    running = served.ask(question(kBeginning, 0));
    waiting = served.ask(question(kBeginning, 0));
  }
  EXPECT_EQ(running.get().error->code, Code::kCancelled);
  EXPECT_EQ(waiting.get().error->code, Code::kCancelled);
}

TEST(Scheduler, ReportsWhatEachAnswerTook) {
  ServedSettings setup;
  setup.ring_slots = 2;
  Served served(setup);
  const Heard heard = served.ask(question(kBeginning, 6)).get();
  const SpeedReport& speed = heard.summary.speed;
  const SchedulerSnapshot snapshot = served.scheduler().snapshot();
  EXPECT_EQ(speed.expert_hits, snapshot.stream.hits);
  EXPECT_EQ(speed.expert_misses, snapshot.stream.demands - snapshot.stream.hits);
  EXPECT_EQ(speed.bytes_read, snapshot.stream.bytes_read);
  EXPECT_EQ(speed.steps, snapshot.steps.steps);
  EXPECT_NE(speed.limit, Limit::kNone);
}

TEST(PromptSlice, GrowsWhileTheStepWaitsForTheDiskAndShrinksWhereItComputes) {
  PromptSlice slice(1000);
  EXPECT_EQ(slice.tokens(), PromptSlice::kFirstTokens);
  for (int i = 0; i < 10; ++i) slice.step_ended(1'100'000'000, 1'000'000'000);
  EXPECT_EQ(slice.tokens(), 1000U);
  for (int i = 0; i < 10; ++i) slice.step_ended(1'000'000'000, 0);
  EXPECT_EQ(slice.tokens(), PromptSlice::kFewestTokens);
}

}  // namespace
}  // namespace smoe::server
