#include "loader/c_api/api.h"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <string>

#include "loader/index/source_index.h"
#include "loader/plan/permutation.h"
#include "loader/read/feed.h"

namespace ld = robustrun::loader;
using robustrun::base::Errc;
using robustrun::base::fail;
using robustrun::base::Result;
using robustrun::base::Status;

struct rr_data {
  std::unique_ptr<ld::Feed> feed;
};

namespace {

thread_local std::string last_error;

// No exception crosses the C interface; the only one expected is a lack of memory.
template <class Body>
int guarded(Body body) noexcept {
  try {
    const Status status = body();
    if (status) return 0;
    last_error = status.error().what;
    return static_cast<int>(status.error().code) + 1;
  } catch (const std::bad_alloc&) {
    last_error.clear();
    return static_cast<int>(Errc::kLimit) + 1;
  } catch (...) {
    last_error.clear();
    return static_cast<int>(Errc::kInternal) + 1;
  }
}

// The value with this word in its table.
template <class T>
Result<T> value_of(const char* key, const char* word, std::initializer_list<T> values) {
  std::string known;
  for (const T value : values) {
    if (word != nullptr && to_string(value) == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(to_string(value));
  }
  return fail(Errc::kInvalidArgument, fmt::format("{} must be one of {}", key, known));
}

Result<ld::Spec> spec_from(const rr_data_spec& given) {
  ld::Spec spec;
  spec.seed = given.seed;
  spec.cache = given.cache;
  for (size_t i = 0; i < given.source_count; ++i) {
    const rr_data_source& from = given.sources[i];
    ld::Source source;
    source.name = from.name;
    source.format = RR_TRY(value_of(
        "format", from.format,
        {ld::Format::kMegatron, ld::Format::kJsonLines, ld::Format::kParquet, ld::Format::kArrow}));
    source.recipe = {from.column, from.tokenizer, from.transform, {}};
    if (from.end >= 0) source.recipe.end = static_cast<std::uint32_t>(from.end);
    source.paths.assign(from.paths, from.paths + from.path_count);
    for (size_t j = 0; j < from.weight_count; ++j) {
      source.weight.push_back({from.weights[2 * j], from.weights[2 * j + 1]});
    }
    spec.sources.push_back(std::move(source));
  }
  auto& batch = spec.batch;
  batch.context = given.context;
  batch.bins = RR_TRY(ld::bins_of(given.tokens, given.context));
  batch.micro = given.micro;
  batch.pack = RR_TRY(value_of("batch.pack", given.pack, {ld::Pack::kNextFit, ld::Pack::kBestFit}));
  batch.leftover =
      RR_TRY(value_of("batch.leftover", given.leftover,
                      {ld::Leftover::kCarry, ld::Leftover::kPad, ld::Leftover::kDrop}));
  batch.longer = RR_TRY(value_of("batch.long", given.longer,
                                 {ld::Long::kSplit, ld::Long::kTruncate, ld::Long::kRefuse}));
  spec.shuffle.block = given.block;
  spec.shuffle.window = given.window;
  spec.balance.linear = given.linear;
  spec.balance.square = given.square;
  spec.balance.sync =
      RR_TRY(value_of("balance.sync", given.sync, {ld::Sync::kStep, ld::Sync::kMicro}));
  return spec;
}

}  // namespace

extern "C" {

const char* rr_data_error(void) {
  return last_error.empty() ? "cannot go on: out of memory" : last_error.c_str();
}

int rr_data_open(const rr_data_spec* spec, const char* folder, uint32_t rank, uint32_t ranks,
                 rr_data** data) {
  return guarded([&]() -> Status {
    ld::Spec asked = RR_TRY(spec_from(*spec));
    auto feed = RR_TRY(ld::Feed::open(std::move(asked), folder, rank, ranks));
    *data = new rr_data{std::move(feed)};
    return {};
  });
}

int rr_data_inputs(const rr_data_spec* spec, const char* folder, size_t source,
                   void (*take)(void* context, const char* path, const char* tokens,
                                int is_prepared),
                   void* context) {
  return guarded([&]() -> Status {
    const ld::Spec asked = RR_TRY(spec_from(*spec));
    RR_TRY(ld::check(asked));
    if (source >= asked.sources.size()) {
      return fail(Errc::kInvalidArgument, "there is no such source");
    }
    for (const ld::Input& input : RR_TRY(ld::inputs_of(asked, asked.sources[source], folder))) {
      take(context, input.path.c_str(), input.tokens.c_str(), input.is_prepared ? 1 : 0);
    }
    return {};
  });
}

void rr_data_close(rr_data* data) { delete data; }

uint64_t rr_data_fingerprint(const rr_data* data, size_t source) {
  return data->feed->fingerprint_of(source);
}

int rr_data_seek(rr_data* data, const rr_data_cursor* cursor) {
  return guarded([&]() -> Status {
    ld::Cursor to;
    to.step = cursor->step;
    to.dropped = cursor->dropped;
    for (size_t i = 0; i < data->feed->spec().sources.size(); ++i) {
      to.sources.push_back({cursor->positions[i], cursor->owed[i]});
    }
    for (size_t i = 0; i < cursor->carry_count; ++i) {
      const rr_data_piece& piece = cursor->carry[i];
      to.carry.push_back({piece.source, piece.offset, piece.length, piece.sample});
    }
    return data->feed->seek(std::move(to));
  });
}

int rr_data_next_step(rr_data* data, rr_data_step* step) {
  return guarded([&]() -> Status {
    RR_TRY(data->feed->next_step());
    const ld::Feed& feed = *data->feed;
    *step = {feed.plan().step, feed.labels_of_step(),     ld::digest(feed.plan()),
             feed.sequences(), feed.began().carry.size(), feed.ended().carry.size()};
    return {};
  });
}

int rr_data_get_cursor(const rr_data* data, int at_end, rr_data_cursor* cursor) {
  return guarded([&]() -> Status {
    const ld::Cursor& from = at_end != 0 ? data->feed->ended() : data->feed->began();
    if (cursor->carry_count != from.carry.size()) {
      return fail(Errc::kInvalidArgument, "carry_count differs from that of the step");
    }
    cursor->step = from.step;
    cursor->dropped = from.dropped;
    for (size_t i = 0; i < from.sources.size(); ++i) {
      cursor->positions[i] = from.sources[i].position;
      cursor->owed[i] = from.sources[i].owed;
    }
    for (size_t i = 0; i < from.carry.size(); ++i) {
      const ld::Piece& piece = from.carry[i];
      cursor->carry[i] = {piece.source, piece.offset, piece.length, piece.sample};
    }
    return {};
  });
}

size_t rr_data_segments(const rr_data* data, uint32_t micro) {
  return micro < data->feed->spec().batch.micro ? data->feed->segment_ends(micro) : 0;
}

int rr_data_read(rr_data* data, uint32_t micro, int64_t* tokens, int64_t* labels,
                 int64_t* positions, int32_t* segments, uint64_t* labelled) {
  return guarded([&]() -> Status {
    ld::Feed& feed = *data->feed;
    if (micro >= feed.spec().batch.micro) {
      return fail(Errc::kInvalidArgument, "a step has no such micro-batch");
    }
    const size_t places = size_t{feed.sequences()} * feed.spec().batch.context;
    *labelled = RR_TRY(feed.read(micro, {{tokens, places},
                                         {labels, places},
                                         {positions, places},
                                         {segments, feed.segment_ends(micro)}}));
    return {};
  });
}

int rr_data_shuffled(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t first,
                     uint64_t stride, size_t count, uint64_t* out) {
  return guarded([&]() -> Status {
    if (count == 0) return {};
    if (first >= samples || (count > 1 && stride > (samples - 1 - first) / (count - 1))) {
      return fail(Errc::kInvalidArgument, "an epoch has no such position");
    }
    const ld::Permutation order(ld::mixed_key(seed, epoch), samples);
    for (size_t i = 0; i < count; ++i) out[i] = order.at(first + i * stride);
    return {};
  });
}

}  // extern "C"
