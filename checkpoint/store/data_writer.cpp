#include "checkpoint/store/data_writer.h"

#include <algorithm>
#include <atomic>

#include "base/core/clock.h"
#include "checkpoint/disk/arena.h"
#include "checkpoint/disk/mount_file.h"
#include "checkpoint/disk/mount_pace.h"
#include "checkpoint/disk/write_file.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/layout.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Result;
using base::Status;

struct Writing : MountFile {
  PlannedFile plan;
  std::vector<WorkerResult> results;
  base::Nanos began{0};
  base::Nanos ended{0};
};
using SharedWriting = std::shared_ptr<Writing>;

// Pieces by shard, in the order of their bytes.
struct Placed {
  std::uint64_t begin = 0;
  Piece piece;
};

void work_on(const SharedWriting& file, WriteShare share, Disk& disk, const base::Clock& clock) {
  WorkerResult result = write_share(share);
  if (result.given_up) return;
  if (!result.status) file->failed = true;
  file->results[share.worker] = std::move(result);
  if (end_lane(*file, disk, *share.sign)) file->ended = clock.now();
}

}  // namespace

struct DataWriter::State {
  Disk& disk;
  MountThreads& threads;
  std::shared_ptr<Arena> arena;
  MountPace pace;
  base::SystemClock clock;

  SharedWriting open(const DataRequest& request, std::size_t round, PlannedFile plan) {
    auto file = std::make_shared<Writing>();
    file->plan = std::move(plan);
    file->mount = file->plan.mount;
    file->arena = arena;
    file->results.resize(threads.lanes());
    make_file(threads, disk, *file,
              {request.mounts[file->mount].folder, request.file_prefix, ".safetensors", round},
              file->plan.header.size() + file->plan.data_bytes);
    return file;
  }

  void write_all(const DataRequest& request, std::span<SharedWriting> files) {
    std::vector<MountThreads::Job> jobs;
    std::vector<SharedWriting> of_job;
    for (const SharedWriting& file : files) {
      if (!file->status) continue;
      file->began = clock.now();
      for (std::uint32_t worker = 0; worker < threads.lanes(); ++worker) {
        const std::size_t place = file->plan.mount * threads.lanes() + worker;
        WriteShare share{&file->plan, request.sources, file->output.get(),
                         worker,      threads.lanes(), arena->data() + place * kExtentBytes,
                         nullptr,     &file->failed,   request.rate};
        jobs.push_back({file->plan.mount, worker,
                        [file, share, &used = disk, &time = clock](LifeSign& sign) mutable {
                          share.sign = &sign;
                          work_on(file, share, used, time);
                        }});
        of_job.push_back(file);
      }
    }
    std::vector<Status> ended = threads.run(std::move(jobs));
    for (std::size_t i = 0; i < ended.size(); ++i) {
      Writing& file = *of_job[i];
      if (!ended[i]) {
        // Checked first: the lane may still be writing its results.
        file.status = std::move(ended[i]);
      } else if (WorkerResult& result = file.results[i % threads.lanes()];
                 file.status && !result.status) {
        file.status = std::move(result.status);
      }
    }
    for (const SharedWriting& file : files) {
      if (file->status) file->status = std::move(file->synced);
    }
  }

  std::vector<MountSpace> spaces(std::span<const MountFolder> mounts,
                                 const std::vector<bool>& lost) {
    std::vector<MountFolder> left(mounts.begin(), mounts.end());
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (lost[i]) left[i].folder.clear();
    }
    std::vector<MountSpace> spaces = spaces_of(threads, left);
    for (std::size_t i = 0; i < spaces.size(); ++i) spaces[i].weight *= pace.of(i);
    return spaces;
  }

  void learn(const DataRequest& request, const std::vector<MountReading>& readings,
             std::vector<std::string>& notes) {
    for (const auto& [mount, what] : pace.learn(readings)) {
      notes.push_back(request.mounts[mount].folder + " is slow: " + what);
    }
  }
};

Result<DataWriter> DataWriter::make(Disk& disk, MountThreads& threads, std::size_t mounts) {
  RR_ASSERT(mounts > 0 && mounts <= kMountsMax);
  auto arena =
      std::make_shared<Arena>(RR_TRY(Arena::make(mounts * threads.lanes() * kExtentBytes)));
  return DataWriter(std::unique_ptr<State>(
      new State{disk, threads, std::move(arena), MountPace(mounts), base::SystemClock()}));
}

DataWriter::DataWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
DataWriter::DataWriter(DataWriter&&) noexcept = default;
DataWriter& DataWriter::operator=(DataWriter&&) noexcept = default;
DataWriter::~DataWriter() = default;

std::shared_ptr<Arena> DataWriter::arena() const { return state_->arena; }

namespace {

void take_over(Writing& file, std::vector<std::vector<Placed>>& placed, DataSaved& saved) {
  WrittenFile written = join_results(file.plan, file.results);
  written.file.name = file.name;
  const auto index = static_cast<std::uint32_t>(saved.files.size());
  for (std::size_t i = 0; i < file.plan.pieces.size(); ++i) {
    const PlannedPiece& piece = file.plan.pieces[i];
    placed[piece.slice.shard].push_back({piece.slice.begin,
                                         {index, written.file.header_bytes + piece.offset,
                                          piece.slice.bytes, written.piece_crcs[i]}});
  }
  saved.files.push_back(std::move(written.file));
  saved.headers.push_back(file.plan.header);
}

void fill_pieces(std::vector<std::vector<Placed>>& placed, std::vector<Shard>& shards) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    std::ranges::sort(placed[i], {}, &Placed::begin);
    shards[i].crc = 0;
    shards[i].pieces.clear();
    for (const Placed& each : placed[i]) {
      shards[i].crc = crc32c_joined(shards[i].crc, each.piece.crc, each.piece.bytes);
      shards[i].pieces.push_back(each.piece);
    }
  }
}

}  // namespace

Result<DataSaved> DataWriter::save(const DataRequest& request) {
  RR_ASSERT(request.shards.size() == request.sources.size());
  DataSaved saved;
  saved.shards.assign(request.shards.begin(), request.shards.end());
  std::vector<std::vector<Placed>> placed(saved.shards.size());
  std::vector<bool> lost(request.mounts.size(), false);
  std::vector<MountReading> readings;
  std::vector<Slice> slices = slices_of(request.shards);
  const bool is_limited = request.rate != nullptr && request.rate->is_limited();
  for (std::size_t round = 0; !slices.empty(); ++round) {
    const std::vector<MountSpace> spaces = state_->spaces(request.mounts, lost);
    auto plan = plan_files(request.shards, slices, spaces);
    if (!plan) {
      for (std::size_t i = 0; i < spaces.size(); ++i) {
        if (spaces[i].weight <= 0) continue;
        plan.error().what += "; " + std::to_string(spaces[i].free_bytes) + " are free in " +
                             folder_of(folder_of(request.mounts[i].folder));
      }
      for (const std::string& note : saved.notes) plan.error().what += "; " + note;
      return std::unexpected(std::move(plan).error());
    }
    std::vector<SharedWriting> files;
    for (PlannedFile& file : *plan) files.push_back(state_->open(request, round, std::move(file)));
    state_->write_all(request, files);
    slices.clear();
    for (SharedWriting& file : files) {
      const std::uint32_t mount = file->plan.mount;
      if (file->status) {
        readings.push_back({mount, request.mounts[mount].weight, file->plan.data_bytes,
                            file->ended - file->began});
        take_over(*file, placed, saved);
        continue;
      }
      saved.notes.push_back(file->status.error().what);
      lost[mount] = true;
      for (const PlannedPiece& piece : file->plan.pieces) slices.push_back(piece.slice);
      give_up_file(state_->threads, state_->disk, std::move(file));
    }
  }
  // Time spent waiting for the rate limit says nothing about a mount.
  if (!is_limited) state_->learn(request, readings, saved.notes);
  fill_pieces(placed, saved.shards);
  return saved;
}

}  // namespace robustrun::checkpoint
