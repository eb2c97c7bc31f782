// Parity is written file by file. Each lane of a mount computes every n-th range of the parity in
// its memory, directly from the sources, and writes it while another lane computes the next. The
// rows of a group are computed independently, so that no thread waits for a mount other than its
// own.

#include "checkpoint/store/parity_writer.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/disk/arena.h"
#include "checkpoint/disk/mount_file.h"
#include "checkpoint/disk/mount_space.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/parity/erasure_code.h"
#include "checkpoint/parity/galois.h"
#include "checkpoint/parity/parity_plan.h"
#include "checkpoint/store/written_bytes.h"

namespace robustrun::checkpoint {
namespace {

using base::Status;

// CRC of a part of a block.
struct BlockPart {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

// One range of a parity file.
struct ParityRow {
  const ParityGroup* group = nullptr;
  std::size_t row = 0;
};

struct ParityFile : MountFile {
  std::uint64_t bytes = 0;
  // Point into the plan; a lane that was given up must not access them.
  std::vector<ParityRow> rows;
  std::vector<std::vector<BlockPart>> parts;  // by lane
  std::vector<Status> wrote;                  // by lane
};
using SharedParityFile = std::shared_ptr<ParityFile>;

struct ParityLane {
  std::uint32_t number = 0;  // index, below `count`
  std::uint32_t count = 1;
  char* memory = nullptr;  // kExtentBytes
  const WrittenBytes* contents = nullptr;
  WriteRate* rate = nullptr;
};

void note_parts(std::uint64_t offset, std::string_view bytes, std::vector<BlockPart>& parts) {
  while (!bytes.empty()) {
    const std::uint64_t left = kBlockBytes - offset % kBlockBytes;
    const std::string_view part = bytes.substr(0, left);
    parts.push_back({offset, part.size(), crc32c(part)});
    offset += part.size();
    bytes.remove_prefix(part.size());
  }
}

std::vector<std::uint32_t> block_crcs(std::vector<BlockPart> parts, std::uint64_t bytes) {
  std::vector<std::uint32_t> crcs((bytes + kBlockBytes - 1) / kBlockBytes);
  std::ranges::sort(parts, {}, &BlockPart::offset);
  for (const BlockPart& part : parts) {
    std::uint32_t& crc = crcs[part.offset / kBlockBytes];
    crc = crc32c_joined(crc, part.crc, part.bytes);
  }
  return crcs;
}

// Computes that range of parity in the lane's memory.
std::string_view sum_row(const ParityRow& wanted, const ParityLane& lane) {
  const ParityGroup& group = *wanted.group;
  const CodeShape shape{group.data.size(), group.parity.size()};
  const GaloisSum code(1, shape.data, code_row(shape, wanted.row));
  const std::uint64_t bytes = group.parity[wanted.row].bytes;
  std::memset(lane.memory, 0, bytes);
  for (std::size_t column = 0; column < shape.data; ++column) {
    const ParityMember& member = group.data[column];
    for (const auto& part : lane.contents->parts(member.file, member.offset, member.bytes)) {
      char* const place = lane.memory + part.at;
      code.add(column, part.bytes, {&place, 1});
    }
  }
  return {lane.memory, bytes};
}

void write_rows(ParityFile& file, const ParityLane& lane, Disk& disk, LifeSign& sign) {
  for (std::size_t i = lane.number; i < file.rows.size() && !file.failed; i += lane.count) {
    const std::uint64_t offset = file.rows[i].group->parity[file.rows[i].row].offset;
    const std::string_view parity = sum_row(file.rows[i], lane);
    note_parts(offset, parity, file.parts[lane.number]);
    if (lane.rate != nullptr) lane.rate->take(parity.size());
    sign.enter();
    Status wrote = file.output->write(offset, parity);
    if (!sign.leave()) return;
    if (wrote) continue;
    file.wrote[lane.number] = std::move(wrote);
    file.failed = true;
  }
  (void)end_lane(file, disk, sign);
}

std::vector<SharedParityFile> open_all(const ParityRequest& request, const PlannedParity& plan,
                                       std::size_t round, MountThreads& threads, Disk& disk,
                                       const std::shared_ptr<Arena>& arena) {
  std::vector<SharedParityFile> files;
  for (const PlannedParity::File& planned : plan.files) {
    const SharedParityFile& file = files.emplace_back(std::make_shared<ParityFile>());
    file->mount = planned.mount;
    file->bytes = planned.bytes;
    file->arena = arena;
    file->parts.resize(threads.lanes());
    file->wrote.resize(threads.lanes());
    make_file(threads, disk, *file,
              {request.mounts[planned.mount].folder, request.file_prefix, ".rrparity", round},
              planned.bytes);
  }
  for (const ParityGroup& group : plan.groups) {
    for (std::size_t row = 0; row < group.parity.size(); ++row) {
      files[group.parity[row].file - request.files.size()]->rows.push_back({&group, row});
    }
  }
  return files;
}

void write_files(std::span<const SharedParityFile> files, const WrittenBytes& contents,
                 WriteRate* rate, MountThreads& threads, Disk& disk) {
  std::vector<MountThreads::Job> jobs;
  std::vector<SharedParityFile> of_job;
  for (const SharedParityFile& file : files) {
    if (!file->status) continue;
    for (std::uint32_t lane = 0; lane < threads.lanes(); ++lane) {
      const std::size_t place = std::size_t{file->mount} * threads.lanes() + lane;
      const ParityLane work{lane, threads.lanes(), file->arena->data() + place * kExtentBytes,
                            &contents, rate};
      jobs.push_back({file->mount, lane, [file, work, &disk](LifeSign& sign) {
                        write_rows(*file, work, disk, sign);
                      }});
      of_job.push_back(file);
    }
  }
  std::vector<Status> ended = threads.run(std::move(jobs));
  for (std::size_t i = 0; i < ended.size(); ++i) {
    ParityFile& file = *of_job[i];
    if (!ended[i]) {
      // Checked first: the lane may still be writing its results.
      file.status = std::move(ended[i]);
    } else if (Status& wrote = file.wrote[i % threads.lanes()]; file.status && !wrote) {
      file.status = std::move(wrote);
    }
  }
  for (const SharedParityFile& file : files) {
    if (file->status) file->status = std::move(file->synced);
  }
}

DataFile described(const ParityFile& file) {
  std::vector<BlockPart> parts;
  for (const auto& each : file.parts) parts.insert(parts.end(), each.begin(), each.end());
  return {file.name, file.mount, file.bytes,
          0,         crc32c({}), block_crcs(std::move(parts), file.bytes)};
}

}  // namespace

ParityWriter::ParityWriter(Disk& disk, MountThreads& threads, std::shared_ptr<Arena> arena,
                           std::size_t parity)
    : disk_(&disk), threads_(&threads), arena_(std::move(arena)), parity_(parity) {
  RR_ASSERT(parity > 0 && parity < kGroupMembersMax && arena_ != nullptr);
}

ParitySaved ParityWriter::save(const ParityRequest& request) {
  ParitySaved saved;
  std::vector<MountFolder> mounts(request.mounts.begin(), request.mounts.end());
  const WrittenBytes contents(request.files, request.headers, request.shards, request.sources);
  for (std::size_t round = 0;; ++round) {
    auto plan = plan_parity(request.files, spaces_of(*threads_, mounts), parity_);
    if (!plan) {
      saved.notes.push_back("no parity: " + plan.error().what);
      return saved;
    }
    std::vector<SharedParityFile> files =
        open_all(request, *plan, round, *threads_, *disk_, arena_);
    write_files(files, contents, request.rate, *threads_, *disk_);
    if (std::ranges::all_of(files, [](const auto& file) { return file->status.has_value(); })) {
      for (const SharedParityFile& file : files) saved.files.push_back(described(*file));
      saved.groups = std::move(plan->groups);
      return saved;
    }
    for (SharedParityFile& file : files) {
      if (!file->status) {
        saved.notes.push_back(file->status.error().what);
        mounts[file->mount].folder.clear();
      }
      give_up_file(*threads_, *disk_, std::move(file));
    }
  }
}

}  // namespace robustrun::checkpoint
