#include "checkpoint/store/bulk_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Result;
using base::Status;

struct QueuedRun {
  std::size_t run = 0;
  std::string path;
  std::uint64_t file_bytes = 0;
};

// The runs of one mount; all its lanes take from them.
struct MountQueue {
  std::vector<QueuedRun> runs;
  std::atomic<std::size_t> next = 0;
};

struct LaneResult {
  std::vector<std::size_t> done;  // runs
  std::vector<ReadFault> faults;
};

// A lane owns the queue, its result and the memory. The rest is the caller's, which it accesses
// only between reads.
struct Lane {
  const Manifest* manifest = nullptr;
  std::span<const ReadRun> runs;
  IoWay io = IoWay::kAuto;
  std::shared_ptr<MountQueue> queue;
  std::shared_ptr<LaneResult> result;
  std::shared_ptr<Arena> arena;
  char* memory = nullptr;
};

// Copies are sorted by offset.
void hand_out(const ReadRun& run, std::uint64_t offset, std::span<const char> block) {
  const std::uint64_t end = offset + block.size();
  for (const ReadCopy& copy : run.copies) {
    if (copy.offset >= end) break;
    const std::uint64_t from = std::max(copy.offset, offset);
    const std::uint64_t to = std::min(copy.offset + copy.destination.size(), end);
    if (from >= to) continue;
    std::memcpy(copy.destination.data() + (from - copy.offset), block.data() + (from - offset),
                to - from);
  }
}

void check_run(const Lane& lane, std::size_t index) {
  const ReadRun& run = lane.runs[index];
  const auto& crcs = lane.manifest->files[run.file].block_crcs;
  for (std::uint64_t at = 0; at < run.bytes; at += kBlockBytes) {
    const std::uint64_t bytes = std::min(kBlockBytes, run.bytes - at);
    const std::uint32_t crc = crc32c({lane.memory + at, bytes});
    if (crc == crcs[run.first_block + at / kBlockBytes]) {
      hand_out(run, run.offset + at, {lane.memory + at, bytes});
    } else {
      lane.result->faults.push_back({index, run.offset + at, bytes, true, {}});
    }
  }
}

void work_on_lane(const Lane& lane, LifeSign& sign) {
  std::unique_ptr<InputFile> file;
  MountQueue& queue = *lane.queue;
  for (std::size_t i = queue.next++; i < queue.runs.size(); i = queue.next++) {
    const QueuedRun& queued = queue.runs[i];
    const std::uint64_t offset = lane.runs[queued.run].offset;
    const std::uint64_t bytes = lane.runs[queued.run].bytes;
    Status status;
    sign.enter();
    if (file == nullptr || file->path() != queued.path) {
      auto opened = InputFile::open(queued.path, queued.file_bytes, lane.io);
      if (opened) {
        file = std::move(*opened);
      } else {
        file.reset();
        status = std::unexpected(std::move(opened).error());
      }
    }
    if (file) status = file->read(offset, {lane.memory, bytes});
    if (!sign.leave()) return;
    if (status) {
      check_run(lane, queued.run);
    } else {
      lane.result->faults.push_back({queued.run, offset, bytes, false, std::move(status).error()});
    }
    lane.result->done.push_back(queued.run);
  }
}

std::map<std::size_t, std::shared_ptr<MountQueue>> queues_of(const Manifest& manifest,
                                                             std::span<const ReadRun> runs,
                                                             std::span<const ReadSource> sources) {
  std::map<std::size_t, std::shared_ptr<MountQueue>> queues;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ReadSource& source = sources[runs[i].file];
    if (source.path.empty()) continue;
    auto& queue = queues[source.mount];
    if (queue == nullptr) queue = std::make_shared<MountQueue>();
    queue->runs.push_back({i, source.path, manifest.files[runs[i].file].bytes});
  }
  return queues;
}

}  // namespace

Result<std::vector<ReadFault>> BulkReader::read(const Manifest& manifest,
                                                std::span<const ReadRun> runs,
                                                std::span<const ReadSource> sources) {
  const auto queues = queues_of(manifest, runs, sources);
  std::uint64_t longest = 0;
  std::size_t lanes = 0;
  for (const ReadRun& run : runs) longest = std::max(longest, run.bytes);
  longest = (longest + kAlignment - 1) / kAlignment * kAlignment;
  for (const auto& [mount, queue] : queues) {
    lanes += std::min<std::size_t>(threads_.lanes(), queue->runs.size());
  }
  if (lanes == 0) return std::vector<ReadFault>{};
  if (arena_ == nullptr || arena_->size() < lanes * longest) {
    arena_ = std::make_shared<Arena>(RR_TRY(Arena::make(lanes * longest)));
  }
  std::vector<MountThreads::Job> jobs;
  std::vector<std::shared_ptr<LaneResult>> results;
  for (const auto& [mount, queue] : queues) {
    const std::size_t most = std::min<std::size_t>(threads_.lanes(), queue->runs.size());
    for (std::uint32_t i = 0; i < most; ++i) {
      const Lane lane{&manifest,
                      runs,
                      io_,
                      queue,
                      std::make_shared<LaneResult>(),
                      arena_,
                      arena_->data() + jobs.size() * longest};
      results.push_back(lane.result);
      jobs.push_back({mount, i, [lane](LifeSign& sign) { work_on_lane(lane, sign); }});
    }
  }
  std::vector<Status> ended = threads_.run(std::move(jobs));
  std::vector<bool> done(runs.size(), false);
  std::vector<ReadFault> faults;
  std::map<std::size_t, base::Error> stuck;
  std::size_t job = 0;
  for (const auto& [mount, queue] : queues) {
    const std::size_t most = std::min<std::size_t>(threads_.lanes(), queue->runs.size());
    for (std::size_t i = 0; i < most; ++i, ++job) {
      if (!ended[job]) stuck[mount] = std::move(ended[job]).error();
      for (const std::size_t run : results[job]->done) done[run] = true;
      std::ranges::move(results[job]->faults, std::back_inserter(faults));
    }
  }
  for (const auto& [mount, error] : stuck) {
    arena_.reset();  // hanging reads still use it
    for (const QueuedRun& queued : queues.at(mount)->runs) {
      if (done[queued.run]) continue;
      faults.push_back({queued.run, runs[queued.run].offset, runs[queued.run].bytes, false, error});
    }
  }
  std::ranges::sort(faults, [](const ReadFault& a, const ReadFault& b) {
    return std::pair(a.run, a.offset) < std::pair(b.run, b.offset);
  });
  return faults;
}

}  // namespace robustrun::checkpoint
