#include "checkpoint/c_api/local.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "checkpoint/c_api/blobs.h"
#include "checkpoint/c_api/handles.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/local_drain.h"

namespace ck = robustrun::checkpoint;
using ck::guarded;
using robustrun::base::Errc;
using robustrun::base::fail;
using robustrun::base::Result;
using robustrun::base::Status;

struct rr_drain {
  ck::LocalDrain drain;
};

namespace {

Result<ck::AttemptId> attempt_from(std::string_view name) {
  const auto slash = name.find('/');
  if (slash != std::string_view::npos) {
    if (auto attempt = ck::parse_attempt(name.substr(0, slash), name.substr(slash + 1))) {
      return *std::move(attempt);
    }
  }
  return fail(Errc::kInvalidArgument, "'" + std::string(name) + "' is not the name of an attempt");
}

Status give_drained(Result<ck::Drained> done, int* complete, rr_blob* notes) {
  const ck::Drained drained = RR_TRY(std::move(done));
  *complete = drained.complete ? 1 : 0;
  return ck::give_blob(ck::encode_texts(drained.notes), notes);
}

}  // namespace

extern "C" {

int rr_store_local(rr_store* store, const char* const* directories, size_t count,
                   const char* node) {
  return guarded([&] {
    ck::LocalDisks local{{directories, directories + count}, node};
    return store->store.use_local(std::move(local));
  });
}

int rr_checkpoint_present(rr_checkpoint* checkpoint, uint8_t* present, size_t count) {
  return guarded([&]() -> Status {
    if (count != checkpoint->reader.manifest().shards.size()) {
      return fail(Errc::kInvalidArgument, "the number of shards does not match");
    }
    // Everything is on shared storage; no lookup is needed.
    if (!checkpoint->found.is_local()) {
      std::fill(present, present + count, uint8_t{1});
      return {};
    }
    for (const bool is_there : checkpoint->reader.present_shards()) *present++ = is_there ? 1 : 0;
    return {};
  });
}

int rr_drain_open(const char* const* directories, size_t count, const char* const* local,
                  size_t local_count, rr_io_way io, uint64_t patience_ms, rr_drain** drain) {
  return guarded([&]() -> Status {
    ck::LocalDrainOptions options;
    options.directories = RR_TRY(ck::directories_from(directories, count));
    if (local_count > 0) options.local = RR_TRY(ck::directories_from(local, local_count));
    options.io = RR_TRY(ck::io_way_from(io));
    options.patience = RR_TRY(ck::patience_from(patience_ms));
    *drain = new rr_drain{ck::LocalDrain(std::move(options))};
    return {};
  });
}

void rr_drain_close(rr_drain* drain) { delete drain; }

int rr_drain_files(rr_drain* drain, const char* attempt, const char* writer, int* complete,
                   rr_blob* notes) {
  return guarded([&]() -> Status {
    const ck::AttemptId id = RR_TRY(attempt_from(attempt));
    return give_drained(drain->drain.drain(id, writer), complete, notes);
  });
}

int rr_drain_clean(rr_drain* drain, rr_blob* removed) {
  return guarded([&]() -> Status {
    std::vector<std::string> names;
    for (const auto& attempt : RR_TRY(drain->drain.clean())) {
      names.push_back(ck::attempt_folder(attempt));
    }
    return ck::give_blob(ck::encode_texts(names), removed);
  });
}

void rr_drain_rate(rr_drain* drain, uint64_t bytes_per_s) {
  drain->drain.limit_writes(bytes_per_s);
}

void rr_drain_act_for(rr_drain* drain, uint64_t generation) { drain->drain.act_for(generation); }

int rr_drain_rest(rr_drain* drain, const char* attempt, uint64_t turn, uint64_t turns,
                  int* complete, rr_blob* notes) {
  return guarded([&]() -> Status {
    const ck::AttemptId id = RR_TRY(attempt_from(attempt));
    if (turn >= turns)
      return fail(Errc::kInvalidArgument, "the turn must be below the number of turns");
    return give_drained(drain->drain.rest(id, {turn, turns}), complete, notes);
  });
}

int rr_drain_remove_halves(rr_drain* drain) {
  return guarded([&] { return drain->drain.remove_halves(); });
}

int rr_checkpoint_is_local(rr_checkpoint* checkpoint, int* is_local) {
  return guarded([&]() -> Status {
    *is_local = checkpoint->found.is_local() ? 1 : 0;
    return {};
  });
}

}  // extern "C"
