#include "devices/cpu/attention.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "devices/cpu/kv_page.h"
#include "devices/cpu/parallel.h"

namespace smoe::cpu {
namespace {

static_assert(kStepPositions == kPagePositions, "one page is one step of the softmax");

uint32_t page_of(std::span<const uint32_t> page_table, const TokenPlace& place, uint32_t index) {
  SMOE_CHECK(size_t{place.page_begin} + index < page_table.size());
  return page_table[place.page_begin + index];
}

void store_token(const StoreKvCall& call, const HostPages& pages, const float* key,
                 const float* value, const TokenPlace& place) {
  const uint32_t page = page_of(call.page_table, place, place.position / kPagePositions);
  const uint32_t dim = pages.head_dim();
  for (uint32_t head = 0; head < call.pages.kv_heads; ++head)
    pages.store(page, head, place.position % kPagePositions, key + size_t{head} * dim,
                value + size_t{head} * dim);
}

// Everything that the blocks of one call share.
struct Attention {
  const Means& means;
  const AttendCall& call;
  HostPages pages;
  HostRows query;
  HostRows out;
  uint32_t group;          // query heads of one KV head
  size_t query_stride;     // floats, in the scratch
  uint32_t block_queries;  // queries of one task, at most

  Attention(const Means& use, const AttendCall& attend)
      : means(use), call(attend), pages(attend.pages), query(attend.query), out(attend.out) {
    const uint32_t kv_heads = attend.pages.kv_heads;
    const uint32_t dim = attend.pages.head_dim;
    SMOE_CHECK(attend.heads % kv_heads == 0 && attend.heads > 0);
    SMOE_CHECK(query.width == attend.heads * dim && out.width == query.width);
    SMOE_CHECK(query.count == attend.places.size() && out.count == query.count);
    SMOE_CHECK(query.count <= use.scratch.limits.rows);
    group = attend.heads / kv_heads;
    query_stride = align_up(size_t{dim}, size_t{kTileRows});
    SMOE_CHECK(query_stride <= use.scratch.query_floats);
    block_queries = static_cast<uint32_t>(
        std::min(size_t{kMaxQueries}, use.scratch.query_floats / query_stride));
  }
};

// Queries (token, head) of one sequence that read one KV head, on one worker: token
// first_token + i / group, head kv_head * group + i % group, for i in [begin, begin + count). How
// queries are put into blocks cannot change a result: each has its own chain over the pages.
class Block {
 public:
  Block(const Attention& attention, const SequenceRun& run, uint32_t kv_head, uint32_t begin,
        const WorkerScratch& scratch)
      : attention_(attention),
        scratch_(scratch),
        first_token_(run.begin),
        kv_head_(kv_head),
        begin_(begin) {
    const uint32_t queries = (run.end - run.begin) * attention.group;
    count_ = std::min(attention.block_queries, queries - begin);
  }

  void run() {
    load_queries();
    uint32_t last = 0;
    for (uint32_t i = 0; i < count_; ++i) last = std::max(last, place_of(i).position);
    for (uint32_t page = 0; page <= last / kPagePositions; ++page) {
      const uint32_t index = page_of(attention_.call.page_table, place_of(0), page);
      const PageView view =
          attention_.pages.view(attention_.means.kernels, index, kv_head_, scratch_.tiles);
      for (uint32_t i = 0; i < count_;) {
        const uint32_t positions = positions_of(i, page);
        uint32_t end = i + 1;
        while (end < count_ && positions_of(end, page) == positions) ++end;
        if (positions > 0) add_page(view, i, end, positions);
        i = end;
      }
    }
    store_results();
  }

 private:
  uint32_t token_of(uint32_t i) const { return first_token_ + (begin_ + i) / attention_.group; }
  const TokenPlace& place_of(uint32_t i) const { return attention_.call.places[token_of(i)]; }
  size_t column_of(uint32_t i) const {
    const uint32_t head = kv_head_ * attention_.group + (begin_ + i) % attention_.group;
    return size_t{head} * attention_.pages.head_dim();
  }
  float* query(uint32_t i) const { return scratch_.queries + i * attention_.query_stride; }
  float* sums(uint32_t i) const { return scratch_.sums + i * attention_.query_stride; }
  float* scores(uint32_t i) const { return scratch_.scores + size_t{i} * kStepPositions; }

  // Positions of a page that a query sees.
  uint32_t positions_of(uint32_t i, uint32_t page) const {
    const uint32_t position = place_of(i).position;
    const uint32_t first = page * kPagePositions;
    return position < first ? 0 : std::min(kPagePositions, position - first + 1);
  }

  void load_queries() {
    for (uint32_t i = 0; i < count_; ++i) {
      const float* from = attention_.query.row(token_of(i)) + column_of(i);
      for (uint32_t d = 0; d < attention_.pages.head_dim(); ++d)
        query(i)[d] = from[d] * attention_.call.scale;
      std::fill_n(sums(i), attention_.query_stride, 0.0F);
      states_[i] = {-std::numeric_limits<float>::infinity(), 0.0F};
    }
  }

  void add_page(const PageView& page, uint32_t begin, uint32_t end, uint32_t positions) {
    const KernelTable& kernels = attention_.means.kernels;
    float rescale[kMaxQueries];
    add_scores(page.keys, begin, end, positions);
    for (uint32_t i = begin; i < end; ++i)
      rescale[i] = kernels.softmax_step(scores(i), positions, states_[i]);

    ValueRun run;
    run.head_dim = attention_.pages.head_dim();
    run.values = page.values;
    run.positions = positions;
    run.sums_stride = attention_.query_stride;
    for (uint32_t i = begin; i < end; i += run.row_count) {
      run.row_count = pass_size(end - i, kernels.value_rows);
      run.weights = scores(i);
      run.rescale = rescale + i;
      run.sums = sums(i);
      kernels.add_values(run);
    }
  }

  // A page's keys are two F32 tiles [head_dim][16 positions]: scores are a matrix product. Stale
  // positions are computed with, perhaps, but not written.
  void add_scores(const float* keys, uint32_t begin, uint32_t end, uint32_t positions) {
    const TileKernel& kernel = attention_.means.kernels.tiles_of(Format::kF32);
    TileRun run;
    run.tiles = reinterpret_cast<const std::byte*>(keys);
    run.tile_stride = size_t{attention_.pages.head_dim()} * kTileRows * sizeof(float);
    run.count = ceil_div(positions, kTileRows);
    run.cols = attention_.pages.head_dim();
    run.out_stride = kStepPositions;
    run.out_width = positions;
    for (uint32_t i = begin; i < end; i += run.row_count) {
      run.row_count = pass_size(end - i, kernel.max_rows);
      for (uint32_t row = 0; row < run.row_count; ++row)
        run.rows[row] = reinterpret_cast<const std::byte*>(query(i + row));
      run.out = scores(i);
      kernel.run(run);
    }
  }

  void store_results() {
    for (uint32_t i = 0; i < count_; ++i) {
      float* to = attention_.out.row(token_of(i)) + column_of(i);
      for (uint32_t d = 0; d < attention_.pages.head_dim(); ++d)
        to[d] = sums(i)[d] / states_[i].sum;
    }
  }

  const Attention& attention_;
  const WorkerScratch& scratch_;
  uint32_t first_token_;
  uint32_t kv_head_;
  uint32_t begin_;
  uint32_t count_;
  SoftmaxState states_[kMaxQueries];
};

// Tokens of one sequence share its pages, wherever they stand in it. Returns the number of tasks.
uint32_t find_sequences(const Attention& attention, uint32_t& runs) {
  const std::span<const TokenPlace> places = attention.call.places;
  SequenceRun* sequences = attention.means.scratch.sequences;
  uint32_t tasks = 0;
  runs = 0;
  for (uint32_t begin = 0; begin < places.size();) {
    uint32_t end = begin + 1;
    while (end < places.size() && places[end].page_begin == places[begin].page_begin) ++end;
    sequences[runs++] = {begin, end, tasks};
    tasks += ceil_div((end - begin) * attention.group, attention.block_queries);
    begin = end;
  }
  return tasks;
}

}  // namespace

void store_kv(const Means& means, const StoreKvCall& call) {
  const HostRows key(call.key);
  const HostRows value(call.value);
  if (key.count == 0) return;
  const HostPages pages(call.pages);
  SMOE_CHECK(key.width == call.pages.kv_heads * call.pages.head_dim && value.width == key.width);
  SMOE_CHECK(key.count == call.places.size() && value.count == key.count);
  // Scattered writes: about four times the price of a multiply-add.
  for_each_range(means.pool, key.count, uint64_t{4} * key.count * key.width,
                 [&](uint32_t begin, uint32_t end, unsigned) {
                   for (uint32_t i = begin; i < end; ++i)
                     store_token(call, pages, key.row(i), value.row(i), call.places[i]);
                 });
}

void attend(const Means& means, const AttendCall& call) {
  if (call.query.count == 0) return;
  const Attention attention(means, call);
  uint32_t runs = 0;
  const uint32_t blocks = find_sequences(attention, runs);
  const uint32_t kv_heads = call.pages.kv_heads;
  uint64_t positions = 0;
  for (const TokenPlace& place : call.places) positions += place.position + 1;

  const auto work = [&](size_t task, unsigned worker) {
    // Later tokens see more positions: the longest tasks go first.
    const auto block = blocks - 1 - static_cast<uint32_t>(task / kv_heads);
    const SequenceRun* sequences = means.scratch.sequences;
    const SequenceRun* run = std::upper_bound(
        sequences, sequences + runs, block,
        [](uint32_t index, const SequenceRun& entry) { return index < entry.first_task; });
    --run;
    const uint32_t begin = (block - run->first_task) * attention.block_queries;
    Block(attention, *run, static_cast<uint32_t>(task % kv_heads), begin,
          means.scratch.workers[worker])
        .run();
  };
  const size_t tasks = size_t{blocks} * kv_heads;
  if (positions * call.query.width * 2 < kInlineWork) {
    for (size_t task = 0; task < tasks; ++task) work(task, 0);
  } else {
    means.pool.run(tasks, work);
  }
}

}  // namespace smoe::cpu
