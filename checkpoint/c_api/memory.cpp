#include "checkpoint/c_api/memory.h"

#include <memory>
#include <utility>

#include "checkpoint/c_api/blobs.h"
#include "checkpoint/c_api/handles.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/memory/copies_kept.h"
#include "checkpoint/memory/staging.h"

namespace ck = robustrun::checkpoint;
using ck::blob_view;
using ck::guarded;
using robustrun::base::Errc;
using robustrun::base::fail;
using robustrun::base::Result;
using robustrun::base::Status;

struct rr_memory {
  ck::Staging staging;
};

namespace {

constexpr uint32_t kCopyThreadsMax = 64;

struct Ordered {
  ck::StageOrder order;
  ck::PartContents contents;
};

Result<Ordered> ordered_from(const rr_store& store, const rr_order& from) {
  if (store.generation == 0) {
    return fail(Errc::kInvalidArgument, "cannot save: the directories were not claimed");
  }
  Ordered ordered;
  ck::Participants participants =
      RR_TRY(ck::decode_participants(blob_view(from.participants, from.participants_size)));
  ordered.order.attempt = {from.step, store.generation,
                           ck::attempt_token(store.session, from.step, from.saves_before)};
  ordered.order.layout = std::move(participants.layout);
  ordered.order.writers = std::move(participants.writers);
  ordered.order.writer = from.writer;
  ordered.order.directories = store.store.directories();
  ordered.contents =
      RR_TRY(ck::contents_from(blob_view(from.structure, from.structure_size), from.addresses,
                               from.count, blob_view(from.states, from.states_size)));
  return ordered;
}

// Removes from `requests` the whole shards that the copy has.
Status read_from_memory(ck::Staging& staging, const ck::Manifest& committed,
                        std::vector<ck::ReadRequest>& requests, std::uint64_t& bytes) {
  const ck::FoundCopy found = RR_TRY(ck::find_copy(staging.area(), committed.head.attempt));
  const auto first = ck::first_shard_of(found.copy, committed);
  if (!first) return fail(Errc::kNotFound, "the copy in memory is not of this checkpoint");
  const std::size_t last = *first + found.copy.manifest.shards.size();
  std::vector<ck::WantedShard> wanted;
  std::vector<ck::ReadRequest> left;
  for (const ck::ReadRequest& each : requests) {
    const bool has = each.shard >= *first && each.shard < last && each.begin == 0 &&
                     each.destination.size() == committed.shards[each.shard].bytes;
    if (has) {
      wanted.push_back({each.shard - *first, each.destination});
      bytes += each.destination.size();
    } else {
      left.push_back(each);
    }
  }
  RR_TRY(ck::restore_copy(staging.area().slot(found.slot), found.copy, wanted, staging.pool()));
  requests = std::move(left);
  return {};
}

}  // namespace

extern "C" {

int rr_memory_open(uint32_t threads, rr_memory** memory) {
  return guarded([&]() -> Status {
    if (threads == 0 || threads > kCopyThreadsMax) {
      return fail(Errc::kInvalidArgument, "cannot copy with fewer than 1 or more than 64 threads");
    }
    *memory = new rr_memory{ck::Staging(threads)};
    return {};
  });
}

void rr_memory_close(rr_memory* memory) { delete memory; }

int rr_memory_use(rr_memory* memory, int fd, uint64_t slot_bytes) {
  robustrun::base::Fd shared(fd);
  return guarded([&]() -> Status {
    // Free the old memory first: both together may exceed what is free.
    RR_TRY(memory->staging.use(ck::MemoryArea()));
    ck::MemoryArea area = RR_TRY(shared ? ck::MemoryArea::shared(std::move(shared))
                                        : ck::MemoryArea::own(slot_bytes));
    return memory->staging.use(std::move(area));
  });
}

uint64_t rr_memory_slot_bytes(const rr_memory* memory) {
  return memory->staging.area().slot_bytes();
}

int rr_memory_plan(const rr_store* store, const rr_order* order, uint64_t* slot_bytes) {
  return guarded([&]() -> Status {
    const Ordered ordered = RR_TRY(ordered_from(*store, *order));
    *slot_bytes = RR_TRY(ck::Staging::slot_bytes_for(ordered.order, ordered.contents));
    return {};
  });
}

int rr_memory_stage(rr_memory* memory, const rr_store* store, const rr_order* order, uint32_t* slot,
                    rr_blob* name) {
  return guarded([&]() -> Status {
    const Ordered ordered = RR_TRY(ordered_from(*store, *order));
    const std::size_t index = RR_TRY(memory->staging.stage(ordered.order, ordered.contents));
    *slot = static_cast<uint32_t>(index);
    return ck::give_blob(ck::attempt_folder(ordered.order.attempt), name);
  });
}

void rr_memory_discard(rr_memory* memory, uint32_t slot) {
  if (slot < memory->staging.area().slots()) {
    memory->staging.discard(slot);
  }
}

void rr_memory_hold(rr_memory* memory, uint32_t slot, int held) {
  if (slot >= ck::kCopiesMax) return;
  held != 0 ? memory->staging.hold(slot) : memory->staging.release(slot);
}

int rr_memory_drain(rr_memory* memory, uint32_t slot, rr_store* store, int* committed,
                    rr_blob* notes) {
  return guarded([&]() -> Status {
    if (slot >= memory->staging.area().slots()) {
      return fail(Errc::kInvalidArgument, "there is no such slot");
    }
    const auto done = RR_TRY(ck::drain_copy(memory->staging.area().slot(slot), store->store));
    *committed = done.by_this_call ? 1 : 0;
    return ck::give_blob(ck::encode_texts(done.notes), notes);
  });
}

int rr_memory_read(rr_memory* memory, rr_checkpoint* checkpoint, const rr_read* reads, size_t count,
                   uint64_t* from_memory) {
  return guarded([&]() -> Status {
    const ck::Manifest& committed = checkpoint->reader.manifest();
    std::vector<ck::ReadRequest> requests;
    for (size_t i = 0; i < count; ++i) {
      if (reads[i].shard >= committed.shards.size() ||
          (reads[i].bytes > 0 && reads[i].destination == nullptr)) {
        return fail(Errc::kInvalidArgument, "cannot read: no such shard, or no destination");
      }
      requests.push_back({reads[i].shard,
                          reads[i].begin,
                          {static_cast<char*>(reads[i].destination), reads[i].bytes}});
    }
    std::uint64_t bytes = 0;
    // A damaged copy counts as none: the disk has all data.
    const Status read = read_from_memory(memory->staging, committed, requests, bytes);
    *from_memory = read ? bytes : 0;
    return checkpoint->reader.read(requests);
  });
}

int rr_memory_holds(const rr_memory* memory, const rr_checkpoint* checkpoint, uint64_t* first,
                    uint64_t* count) {
  return guarded([&]() -> Status {
    const ck::Manifest& committed = checkpoint->reader.manifest();
    *first = *count = 0;
    const auto found = ck::find_copy(memory->staging.area(), committed.head.attempt);
    if (!found) return {};
    if (const auto place = ck::first_shard_of(found->copy, committed)) {
      *first = *place;
      *count = found->copy.manifest.shards.size();
    }
    return {};
  });
}

}  // extern "C"
