#include "checkpoint/c_api/api.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>

#include "checkpoint/c_api/blobs.h"
#include "checkpoint/c_api/handles.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/fence.h"
#include "checkpoint/store/reader.h"
#include "checkpoint/store/retention.h"
#include "checkpoint/store/store.h"

namespace ck = robustrun::checkpoint;
using ck::blob_view;
using ck::give_blob;
using ck::guarded;
using ck::last_error;
using robustrun::base::Errc;
using robustrun::base::fail;
using robustrun::base::Result;
using robustrun::base::Status;

namespace {

static_assert(static_cast<int>(Errc::kInvalidArgument) + 1 == RR_INVALID_ARGUMENT);
static_assert(static_cast<int>(Errc::kCorrupt) + 1 == RR_CORRUPT);
static_assert(static_cast<int>(Errc::kConflict) + 1 == RR_CONFLICT);
static_assert(static_cast<int>(Errc::kInternal) + 1 == RR_INTERNAL);

Result<ck::FoundAttempt> find_named(const std::vector<std::string>& directories,
                                    std::string_view name, std::chrono::milliseconds patience) {
  ck::MountThreads threads(directories, 1, patience);
  for (ck::FoundAttempt& found :
       RR_TRY(ck::list_attempts(directories, &threads, ck::Look::kHeads))) {
    if (ck::attempt_folder(found.attempt) != name) continue;
    RR_TRY(ck::look_closer(found, threads));
    if (found.state == ck::AttemptState::kCommitted) return std::move(found);
    return fail(Errc::kNotFound, "cannot use checkpoint " + std::string(name) + ": it is " +
                                     std::string(ck::word_for(found.state)));
  }
  return fail(Errc::kNotFound, "there is no such checkpoint in " + directories.front());
}

}  // namespace

extern "C" {

uint32_t rr_abi_version(void) { return RR_ABI_VERSION; }

const char* rr_error(void) {
  return last_error.empty() ? "cannot go on: out of memory" : last_error.c_str();
}

void rr_blob_free(rr_blob* blob) {
  if (blob == nullptr) return;
  std::free(blob->data);
  *blob = {nullptr, 0};
}

int rr_store_open(const char* const* directories, const double* weights, size_t count,
                  uint32_t workers_per_directory, rr_store** store) {
  return rr_store_open_with(directories, weights, count, workers_per_directory, RR_IO_AUTO, 0,
                            store);
}

int rr_store_open_with(const char* const* directories, const double* weights, size_t count,
                       uint32_t workers_per_directory, rr_io_way io, uint64_t patience_ms,
                       rr_store** store) {
  return guarded([&]() -> Status {
    ck::StoreOptions options;
    options.workers_per_mount = workers_per_directory;
    options.io = RR_TRY(ck::io_way_from(io));
    options.patience = RR_TRY(ck::patience_from(patience_ms));
    for (std::string& path : RR_TRY(ck::directories_from(directories, count))) {
      const double weight = weights == nullptr ? 1 : weights[options.mounts.size()];
      if (!std::isfinite(weight) || weight <= 0) {
        return fail(Errc::kInvalidArgument,
                    "cannot use " + path + " with a weight that is not above 0");
      }
      options.mounts.push_back({std::move(path), weight});
    }
    if (workers_per_directory > ck::kWorkersMax) {
      return fail(Errc::kInvalidArgument, "cannot use more than 64 threads for each directory");
    }
    ck::Store opened = RR_TRY(ck::Store::open(std::move(options)));
    *store = std::make_unique<rr_store>(rr_store{std::move(opened), {}, 0}).release();
    return {};
  });
}

void rr_store_close(rr_store* store) { delete store; }

void rr_store_write_rate(rr_store* store, uint64_t bytes_per_s) {
  store->store.limit_writes(bytes_per_s);
}

int rr_store_parity(rr_store* store, uint32_t parity) {
  return guarded([&] { return store->store.use_parity(parity); });
}

int rr_store_claim(rr_store* store, const char* run, uint64_t attempt, uint64_t* generation) {
  return rr_store_claim_by(store, run, 0, attempt, generation);
}

int rr_store_claim_by(rr_store* store, const char* run, uint64_t incarnation, uint64_t attempt,
                      uint64_t* generation) {
  return guarded([&]() -> Status {
    ck::Session session{run, attempt, incarnation};
    *generation = RR_TRY(store->store.claim(session));
    store->generation = *generation;
    store->session = std::move(session);
    return {};
  });
}

int rr_save_begin(rr_store* store, uint64_t step, uint64_t saves_before, const char* participants,
                  size_t participants_size, rr_save** save) {
  return guarded([&]() -> Status {
    if (store->generation == 0) {
      return fail(Errc::kInvalidArgument, "cannot save: the directories were not claimed");
    }
    ck::Participants decoded =
        RR_TRY(ck::decode_participants(blob_view(participants, participants_size)));
    auto made = std::make_unique<rr_save>();
    made->owner = store;
    made->attempt = {step, store->generation,
                     ck::attempt_token(store->session, step, saves_before)};
    made->name = ck::attempt_folder(made->attempt);
    RR_TRY(store->store.join(made->attempt, decoded.layout, std::move(decoded.writers)));
    *save = made.release();
    return {};
  });
}

int rr_save_write(rr_save* save, const char* writer, const char* structure, size_t structure_size,
                  const void* const* addresses, size_t count, const char* states,
                  size_t states_size, rr_blob* notes) {
  return guarded([&]() -> Status {
    ck::PartContents contents = RR_TRY(ck::contents_from(
        blob_view(structure, structure_size), addresses, count, blob_view(states, states_size)));
    save->written = RR_TRY(save->owner->store.write_data(save->attempt, writer, contents));
    save->sources = std::move(contents.sources);
    return give_blob(ck::encode_texts(save->written->notes), notes);
  });
}

int rr_save_recheck(const rr_save* save, const uint64_t* shards, size_t count, rr_blob* changed) {
  return guarded([&]() -> Status {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      if (!save->written || shards[i] >= save->sources.size()) {
        return fail(Errc::kInvalidArgument, "cannot check a save that was not written");
      }
      const ck::Shard& shard = save->written->part.shards[shards[i]];
      if (ck::crc32c(save->sources[shards[i]]) != shard.crc) names.push_back(shard.name);
    }
    return give_blob(ck::encode_texts(names), changed);
  });
}

int rr_save_commit(rr_save* save, int* committed, rr_blob* notes) {
  return guarded([&]() -> Status {
    if (save->written) RR_TRY(save->owner->store.publish_part(*save->written));
    save->written.reset();
    save->sources.clear();
    const auto done =
        RR_TRY(save->owner->store.commit_if_complete(save->attempt, save->attempt.generation));
    *committed = done.by_this_call ? 1 : 0;
    return give_blob(ck::encode_texts(done.notes), notes);
  });
}

const char* rr_save_name(const rr_save* save) { return save->name.c_str(); }

void rr_save_close(rr_save* save) { delete save; }

int rr_list(const char* const* directories, size_t count, rr_blob* catalogue) {
  return guarded([&]() -> Status {
    const auto paths = RR_TRY(ck::directories_from(directories, count));
    const auto all = RR_TRY(ck::list_attempts(paths, nullptr, ck::Look::kSums));
    return give_blob(ck::encode_catalogue(all), catalogue);
  });
}

int rr_checkpoint_open(const char* const* directories, size_t count, const char* name,
                       rr_checkpoint** checkpoint) {
  return rr_checkpoint_open_with(directories, count, name, RR_IO_AUTO, 0, checkpoint);
}

int rr_checkpoint_open_with(const char* const* directories, size_t count, const char* name,
                            rr_io_way io, uint64_t patience_ms, rr_checkpoint** checkpoint) {
  return guarded([&]() -> Status {
    const ck::ReadOptions options{RR_TRY(ck::io_way_from(io)),
                                  RR_TRY(ck::patience_from(patience_ms)), true};
    const auto paths = RR_TRY(ck::directories_from(directories, count));
    ck::FoundAttempt found = RR_TRY(name == nullptr ? ck::newest_committed(paths, options.patience)
                                                    : find_named(paths, name, options.patience));
    auto reader = ck::CheckpointReader::open(std::move(found.manifest), found.folders, options);
    *checkpoint =
        std::make_unique<rr_checkpoint>(rr_checkpoint{std::move(found), std::move(reader), options})
            .release();
    return {};
  });
}

void rr_checkpoint_close(rr_checkpoint* checkpoint) { delete checkpoint; }

int rr_checkpoint_describe(const rr_checkpoint* checkpoint, rr_blob* description) {
  return guarded([&] {
    return give_blob(
        ck::encode_description(checkpoint->reader.manifest(), checkpoint->found.digest),
        description);
  });
}

int rr_checkpoint_read(rr_checkpoint* checkpoint, const rr_read* reads, size_t count) {
  return guarded([&]() -> Status {
    std::vector<ck::ReadRequest> requests;
    requests.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      if (reads[i].bytes > 0 && reads[i].destination == nullptr) {
        return fail(Errc::kInvalidArgument, "cannot read without a destination");
      }
      requests.push_back({reads[i].shard,
                          reads[i].begin,
                          {static_cast<char*>(reads[i].destination), reads[i].bytes}});
    }
    return checkpoint->reader.read(requests);
  });
}

int rr_checkpoint_verify(rr_checkpoint* checkpoint, rr_blob* faults) {
  return guarded([&]() -> Status {
    // Reads from shared storage first, because that is what gets marked.
    const ck::FoundAttempt& all = checkpoint->found;
    ck::ReadOptions options = checkpoint->options;
    options.local_first = false;
    const auto found =
        ck::CheckpointReader::open(checkpoint->reader.manifest(), all.folders, options).verify();
    if (found.empty()) RR_TRY(ck::mark_verified(ck::posix_disk(), all));
    return give_blob(ck::encode_texts(found), faults);
  });
}

int rr_checkpoint_poison(const rr_checkpoint* checkpoint, const char* reason) {
  return guarded([&] { return ck::mark_poisoned(ck::posix_disk(), checkpoint->found, reason); });
}

int rr_checkpoint_pin(const rr_checkpoint* checkpoint, int pinned) {
  return guarded([&] { return ck::set_pinned(ck::posix_disk(), checkpoint->found, pinned != 0); });
}

int rr_prune(const char* const* directories, size_t count, uint64_t keep, rr_blob* removed,
             rr_blob* notes) {
  return guarded([&]() -> Status {
    if (keep == 0) {
      return fail(Errc::kInvalidArgument, "cannot remove checkpoints: at least one must be kept");
    }
    const auto paths = RR_TRY(ck::directories_from(directories, count));
    const auto pruned = RR_TRY(ck::prune(ck::posix_disk(), paths, keep));
    std::vector<std::string> names;
    for (const auto& attempt : pruned.removed) names.push_back(ck::attempt_folder(attempt));
    RR_TRY(give_blob(ck::encode_texts(names), removed));
    return give_blob(ck::encode_texts(pruned.notes), notes);
  });
}

int rr_make_directories(const char* const* directories, size_t count, uint64_t patience_ms,
                        int* errors) {
  return guarded([&]() -> Status {
    const auto paths = RR_TRY(ck::directories_from(directories, count));
    ck::MountThreads threads(paths, 1, RR_TRY(ck::patience_from(patience_ms)));
    std::vector<std::function<Status()>> works;
    for (const std::string& path : paths) {
      works.emplace_back([path] { return ck::posix_disk().make_folder(path); });
    }
    for (const Status& made : threads.call_each(std::move(works))) {
      *errors++ = made ? 0 : made.error().os_errno;
    }
    return {};
  });
}

}  // extern "C"
