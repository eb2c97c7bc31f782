#include "loader/c_api/api.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "loader/index/source_index.h"
#include "loader/plan/permutation.h"
#include "loader/read/read_ahead.h"

namespace ld = robustrun::loader;
using robustrun::base::Errc;
using robustrun::base::fail;
using robustrun::base::Result;
using robustrun::base::Status;

struct rr_data {
  ld::ReadAhead batches;
};
struct rr_data_memory {
  std::shared_ptr<ld::BatchMemory> memory;
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
  } catch (const std::exception& error) {
    last_error = error.what();
    return static_cast<int>(Errc::kInternal) + 1;
  } catch (...) {
    last_error = "an unknown exception";
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
    for (size_t j = 0; j < from.text_count; ++j) {
      source.texts.push_back({from.texts[j], from.pieces[j], from.records[j]});
    }
    source.fingerprint = from.fingerprint;
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

ld::Cursor cursor_from(const rr_data& data, const rr_data_cursor& given) {
  ld::Cursor cursor;
  cursor.step = given.step;
  cursor.dropped = given.dropped;
  for (size_t i = 0; i < data.batches.feed().spec().sources.size(); ++i) {
    cursor.sources.push_back({given.positions[i], given.owed[i]});
  }
  for (size_t i = 0; i < given.carry_count; ++i) {
    const rr_data_piece& piece = given.carry[i];
    cursor.carry.push_back({piece.source, piece.offset, piece.length, piece.sample});
  }
  return cursor;
}

}  // namespace

extern "C" {

const char* rr_data_error(void) {
  return last_error.empty() ? "cannot go on: out of memory" : last_error.c_str();
}

int rr_data_open(const rr_data_spec* spec, const char* folder, const char* shared, uint32_t rank,
                 uint32_t ranks, rr_data** data) {
  return guarded([&]() -> Status {
    ld::Spec asked = RR_TRY(spec_from(*spec));
    auto feed = RR_TRY(ld::Feed::open(std::move(asked), folder, rank, ranks, shared));
    *data = new rr_data{ld::ReadAhead(std::move(feed))};
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

uint64_t rr_data_samples(const rr_data* data, size_t source) {
  return data->batches.feed().samples_of(source);
}

uint64_t rr_data_fingerprint(const rr_data* data, size_t source) {
  return data->batches.feed().fingerprint_of(source);
}

int rr_data_seek(rr_data* data, const rr_data_cursor* cursor) {
  return guarded(
      [&]() -> Status { return data->batches.seek(cursor_from(*data, *cursor), cursor->micro); });
}

int rr_data_wait(rr_data* data, uint32_t milliseconds, int* is_there, const char** source,
                 const char** path, uint64_t* sample) {
  return guarded([&]() -> Status {
    *source = *path = "";
    *sample = std::numeric_limits<uint64_t>::max();
    *is_there = RR_TRY(data->batches.wait(std::chrono::milliseconds(milliseconds))) ? 1 : 0;
    if (*is_there == 1) return {};
    if (const auto reading = data->batches.reading()) {
      *source = reading->source->c_str();
      *path = reading->path.data();  // of a whole std::string
      if (reading->awaited) *sample = *reading->awaited;
    }
    return {};
  });
}

int rr_data_ready(rr_data* data, rr_data_batch* batch) {
  return guarded([&]() -> Status {
    const ld::Batch& ready = *RR_TRY(data->batches.ready());
    const ld::Feed& feed = data->batches.feed();
    auto memory = std::make_unique<rr_data_memory>(ready.memory);
    *batch = {ready.step->plan.step, ready.step->labels,
              ready.labels,          ready.micro,
              feed.sequences(),      ready.segments,
              ready.memory->block(), ld::BatchMemory::bytes(feed.places()),
              memory.get()};
    memory.release();
    return {};
  });
}

void rr_data_receive(rr_data* data, uint64_t step, uint32_t micro) {
  data->batches.receive(step, micro);
}

void rr_data_release(rr_data_memory* memory) { delete memory; }

uint64_t rr_data_digest(const rr_data* data) {
  const auto& step = data->batches.step();
  return step ? ld::digest(step->plan) : 0;
}

size_t rr_data_carried(const rr_data* data) { return data->batches.cursor().carry.size(); }

int rr_data_position(const rr_data* data, rr_data_cursor* cursor) {
  return guarded([&]() -> Status {
    const ld::Cursor& from = data->batches.cursor();
    if (cursor->carry_count != from.carry.size()) {
      return fail(Errc::kInvalidArgument, "carry_count is not rr_data_carried()");
    }
    cursor->micro = data->batches.micro();
    cursor->step = from.step;
    cursor->dropped = from.dropped;
    for (size_t i = 0; i < data->batches.feed().spec().sources.size(); ++i) {
      const auto source = from.sources.empty() ? ld::SourceCursor{} : from.sources[i];
      cursor->positions[i] = source.position;
      cursor->owed[i] = source.owed;
    }
    for (size_t i = 0; i < from.carry.size(); ++i) {
      const ld::Piece& piece = from.carry[i];
      cursor->carry[i] = {piece.source, piece.offset, piece.length, piece.sample};
    }
    return {};
  });
}

int rr_data_walk(const rr_data* data, const rr_data_cursor* from, const rr_data_cursor* to,
                 uint64_t first, void (*take)(void* context, const rr_data_piece* piece),
                 void* context, int* arrives) {
  return guarded([&]() -> Status {
    const ld::Cursor end = cursor_from(*data, *to);
    auto planner = RR_TRY(data->batches.feed().planner(cursor_from(*data, *from)));
    while (planner.cursor().step < end.step) {
      const ld::StepPlan plan = RR_TRY(planner.next());
      if (plan.step < first) continue;
      for (const ld::Piece& piece : plan.pieces) {
        const rr_data_piece taken{piece.source, piece.offset, piece.length, piece.sample};
        take(context, &taken);
      }
    }
    *arrives = planner.cursor() == end ? 1 : 0;
    return {};
  });
}

int rr_data_order(const rr_data_spec* spec, size_t source, uint64_t samples, uint64_t position,
                  size_t count, uint64_t* out) {
  return guarded([&]() -> Status {
    const ld::Spec asked = RR_TRY(spec_from(*spec));
    RR_TRY(ld::check(asked));
    if (source >= asked.sources.size() || samples == 0) {
      return fail(Errc::kInvalidArgument, "there is no such source");
    }
    std::optional<ld::Order> order;
    for (size_t i = 0; i < count; ++i, ++position) {
      const uint64_t epoch = position / samples;
      if (!order || position % samples == 0) {
        order = ld::order_of(asked, source, samples, epoch);
      }
      out[i] = order->sample(position % samples);
    }
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
