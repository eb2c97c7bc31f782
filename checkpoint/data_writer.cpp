#include "checkpoint/data_writer.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "base/io/blocking_pool.h"
#include "checkpoint/arena.h"
#include "checkpoint/crc32c.h"
#include "checkpoint/layout.h"
#include "checkpoint/limits.h"
#include "checkpoint/write_file.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::Result;
using base::Status;

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs status{};
  if (::statvfs(folder.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

// One file that is being written.
struct Writing {
  const PlannedFile* plan = nullptr;
  std::string name;
  std::string path;
  std::unique_ptr<OutputFile> output;
  std::vector<WorkerResult> results;
  Status status;
};

// Shard by shard, the pieces in the order of their bytes.
struct Placed {
  std::uint64_t begin = 0;
  Piece piece;
};

}  // namespace

struct DataWriter::State {
  Disk& disk;
  std::uint32_t workers;  // per mount
  Arena arena;
  boost::asio::io_context loop;
  base::BlockingPool pool;

  State(Disk& used, std::size_t mounts, std::uint32_t per_mount, Arena memory)
      : disk(used),
        workers(per_mount),
        arena(std::move(memory)),
        pool(loop.get_executor(), static_cast<unsigned>(mounts * per_mount),
             mounts * per_mount * 2) {}

  Status open(const DataRequest& request, std::size_t round, Writing& file) {
    file.name = request.file_prefix + "-m" + std::to_string(file.plan->mount) +
                (round == 0 ? "" : "-" + std::to_string(round)) + ".safetensors";
    file.path = request.mounts[file.plan->mount].folder + "/" + file.name;
    file.output = RR_TRY(disk.create(file.path, file.plan->header.size() + file.plan->data_bytes));
    return {};
  }

  // Every worker of every file writes and then syncs on the pool; the last one ends the wait.
  void write_all(std::span<const std::string_view> sources, std::vector<Writing>& files) {
    loop.restart();
    std::optional waiting(boost::asio::make_work_guard(loop));
    std::size_t left = 0;
    const auto one_done = [&] {
      if (--left == 0) waiting.reset();
    };
    for (Writing& file : files) {
      if (!file.status) continue;
      file.results.resize(workers);
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        const std::uint32_t lane = file.plan->mount * workers + worker;
        const WriteShare share{file.plan, sources, file.output.get(),
                               worker,    workers, arena.data() + lane * kExtentBytes};
        WorkerResult* result = &file.results[worker];
        ++left;
        Status submitted =
            pool.submit(lane, [share, result] { *result = write_share(share); }, one_done);
        RR_ASSERT(submitted);  // the queue has room for every worker
      }
    }
    if (left == 0) return;
    loop.run();
    sync_all(files);
  }

  void sync_all(std::vector<Writing>& files) {
    loop.restart();
    std::optional waiting(boost::asio::make_work_guard(loop));
    std::size_t left = 1;
    const auto one_done = [&] {
      if (--left == 0) waiting.reset();
    };
    for (Writing& file : files) {
      for (WorkerResult& result : file.results) {
        if (file.status && !result.status) file.status = std::move(result.status);
      }
      if (!file.status) continue;
      ++left;
      Status submitted = pool.submit(
          file.plan->mount * workers,
          [this, &file] {
            file.status = file.output->sync();
            if (file.status) file.status = disk.sync_folder(folder_of(file.path));
          },
          one_done);
      RR_ASSERT(submitted);
    }
    one_done();
    loop.run();
  }
};

Result<DataWriter> DataWriter::make(Disk& disk, std::size_t mounts,
                                    std::uint32_t workers_per_mount) {
  RR_ASSERT(mounts > 0 && mounts <= kMountsMax && workers_per_mount > 0);
  Arena arena = RR_TRY(Arena::make(mounts * workers_per_mount * kExtentBytes));
  return DataWriter(std::make_unique<State>(disk, mounts, workers_per_mount, std::move(arena)));
}

DataWriter::DataWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
DataWriter::DataWriter(DataWriter&&) noexcept = default;
DataWriter& DataWriter::operator=(DataWriter&&) noexcept = default;
DataWriter::~DataWriter() = default;

namespace {

void take_over(Writing& file, std::vector<std::vector<Placed>>& placed, DataSaved& saved) {
  WrittenFile written = join_results(*file.plan, file.results);
  written.file.name = file.name;
  const auto index = static_cast<std::uint32_t>(saved.files.size());
  for (std::size_t i = 0; i < file.plan->pieces.size(); ++i) {
    const PlannedPiece& piece = file.plan->pieces[i];
    placed[piece.slice.shard].push_back({piece.slice.begin,
                                         {index, written.file.header_bytes + piece.offset,
                                          piece.slice.bytes, written.piece_crcs[i]}});
  }
  saved.files.push_back(std::move(written.file));
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
  std::vector<MountSpace> spaces;
  for (const MountFolder& mount : request.mounts) {
    spaces.push_back({mount.folder.empty() ? 0 : mount.weight, 0});
  }
  std::vector<Slice> slices = slices_of(request.shards);
  for (std::size_t round = 0; !slices.empty(); ++round) {
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      if (spaces[i].weight > 0) spaces[i].free_bytes = free_bytes(request.mounts[i].folder);
    }
    auto plan = plan_files(request.shards, slices, spaces);
    if (!plan) {
      for (const std::string& note : saved.notes) plan.error().what += "; " + note;
      return std::unexpected(std::move(plan).error());
    }
    std::vector<Writing> files(plan->size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      files[i].plan = &(*plan)[i];
      files[i].status = state_->open(request, round, files[i]);
    }
    state_->write_all(request.sources, files);
    slices.clear();
    for (Writing& file : files) {
      if (file.status) {
        take_over(file, placed, saved);
        continue;
      }
      saved.notes.push_back(file.status.error().what);
      spaces[file.plan->mount].weight = 0;
      if (file.output) (void)state_->disk.remove(file.path);  // its space, if it can be had
      for (const PlannedPiece& piece : file.plan->pieces) slices.push_back(piece.slice);
    }
  }
  fill_pieces(placed, saved.shards);
  return saved;
}

}  // namespace robustrun::checkpoint
