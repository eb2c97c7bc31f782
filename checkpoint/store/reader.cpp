#include "checkpoint/store/reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/core/text.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/extent_header.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

constexpr std::size_t kTensorsNamedMax = 3;
constexpr std::size_t kReadLanes = 4;        // per mount, while there are few mounts
constexpr std::size_t kReadThreadsMax = 64;

// Size of a regular file, else 0; ENOENT: no such file.
Result<std::uint64_t> size_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return base::fail_errno("cannot look at " + path, errno);
  return S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// The mount's directory, given the attempt's folder.
std::string mount_of_attempt(const std::string& folder) { return folder_of(folder_of(folder)); }

}  // namespace

CheckpointReader CheckpointReader::open(Manifest manifest, std::vector<std::string> folders,
                                        ReadOptions options) {
  const std::string attempt = attempt_folder(manifest.head.attempt);
  for (const std::string& mount : manifest.head.mounts) {
    std::string folder = mount + "/" + attempt;
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  }
  return {std::move(manifest), std::move(folders), options};
}

CheckpointReader::CheckpointReader(Manifest manifest, std::vector<std::string> folders,
                                   ReadOptions options)
    : manifest_(std::move(manifest)), folders_(std::move(folders)), options_(options) {
  found_.resize(manifest_.files.size());
}

MountThreads& CheckpointReader::threads() {
  if (threads_ == nullptr) {
    std::vector<std::string> mounts;
    for (const std::string& folder : folders_) mounts.push_back(mount_of_attempt(folder));
    std::uint64_t bytes = 0;
    for (const DataFile& file : manifest_.files) bytes += file.bytes;
    const std::size_t useful = std::min<std::uint64_t>(kReadLanes, 1 + bytes / kExtentBytes);
    const std::size_t lanes = std::clamp<std::size_t>(kReadThreadsMax / mounts.size(), 1, useful);
    threads_ = std::make_unique<MountThreads>(std::move(mounts), static_cast<std::uint32_t>(lanes),
                                              options_.patience);
    bulk_ = std::make_unique<BulkReader>(*threads_, options_.io);
  }
  return *threads_;
}

Result<ReadSource> CheckpointReader::source(std::size_t file) {
  ReadSource& known = found_[file];
  if (!known.path.empty()) return known;
  const DataFile& wanted = manifest_.files[file];
  base::Error seen{Errc::kNotFound, 0,
                   wanted.name + " is missing; it was on " + manifest_.head.mounts[wanted.mount]};
  if (!wanted.node.empty()) {
    seen.code = Errc::kUnavailable;
    seen.what = wanted.name + " is not visible here; it is in " +
                manifest_.head.mounts[wanted.mount] + " of " + base::printable(wanted.node);
  }
  for (const std::size_t i : places_of(wanted)) {
    if (bad_.contains({file, i})) continue;
    const std::string path = folders_[i] + "/" + wanted.name;
    const auto bytes = threads().call(i, [path] { return size_of(path); });
    if (bytes && *bytes == wanted.bytes) {
      known = {path, i};
      return known;
    }
    if (bytes) {
      seen = {Errc::kCorrupt, 0,
              fmt::format("{} has {} bytes instead of {}", path, *bytes, wanted.bytes)};
    } else if (bytes.error().os_errno != ENOENT && seen.os_errno == 0 &&
               seen.code != Errc::kCorrupt) {
      seen = bytes.error();
      if (seen.os_errno == EIO || !wanted.node.empty()) seen.code = Errc::kUnavailable;
      if (seen.os_errno == ETIMEDOUT) seen.what = "cannot read " + path + ": " + seen.what;
    }
  }
  return std::unexpected(std::move(seen));
}

// All folders, that of the file's own mount first if local disks are preferred.
std::vector<std::size_t> CheckpointReader::places_of(const DataFile& file) const {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < folders_.size(); ++i) places.push_back(i);
  if (file.node.empty() || !options_.local_first) return places;
  const std::string& own = manifest_.head.mounts[file.mount];
  std::ranges::stable_partition(
      places, [&](std::size_t i) { return mount_of_attempt(folders_[i]) == own; });
  return places;
}

bool CheckpointReader::look_elsewhere(std::size_t file) {
  if (manifest_.files[file].node.empty() || found_[file].path.empty()) return false;
  bad_.insert({file, found_[file].mount});
  found_[file] = {};
  return source(file).has_value();
}

std::vector<bool> CheckpointReader::present_shards() {
  std::set<std::string> names;
  if (std::ranges::any_of(manifest_.files, [](const auto& each) { return !each.node.empty(); })) {
    for (std::size_t i = 0; i < folders_.size(); ++i) {
      const auto found = threads().call(i, [folder = folders_[i]] { return names_in(folder); });
      if (found) names.insert(found->begin(), found->end());
    }
  }
  std::vector<bool> present;
  for (const Shard& shard : manifest_.shards) {
    present.push_back(std::ranges::all_of(shard.pieces, [&](const Piece& piece) {
      const DataFile& file = manifest_.files[piece.file];
      return file.node.empty() || names.contains(file.name);
    }));
  }
  return present;
}

Result<std::string> CheckpointReader::read_bytes(std::size_t file, std::uint64_t offset,
                                                 std::uint64_t bytes) {
  const ReadSource from = RR_TRY(source(file));
  return threads().call(from.mount,
                        [path = from.path, size = manifest_.files[file].bytes, offset, bytes,
                         io = options_.io]() -> Result<std::string> {
                          const auto input = RR_TRY(InputFile::open(path, size, io));
                          std::string into(bytes, '\0');
                          RR_TRY(input->read(offset, into));
                          return into;
                        });
}

Status CheckpointReader::read_piece(std::size_t shard, std::size_t piece,
                                    std::span<char> destination) {
  RR_ASSERT(shard < manifest_.shards.size() && piece < manifest_.shards[shard].pieces.size());
  const Piece& wanted = manifest_.shards[shard].pieces[piece];
  RR_ASSERT(destination.size() == wanted.bytes);
  const auto read = [&]() -> Result<std::string> {
    std::string found = RR_TRY(read_bytes(wanted.file, wanted.offset, wanted.bytes));
    if (crc32c(found) == wanted.crc) return found;
    return fail(Errc::kCorrupt,
                fmt::format("{} is damaged in bytes {} to {}", found_[wanted.file].path,
                            wanted.offset, wanted.offset + wanted.bytes));
  };
  auto bytes = read();
  while (!bytes && look_elsewhere(wanted.file)) bytes = read();
  if (!bytes && !manifest_.groups.empty()) {
    auto rebuilt = read_file(wanted.file, wanted.offset, wanted.bytes, true);
    if (!rebuilt) bytes.error().what += "; " + rebuilt.error().what;
    if (rebuilt && crc32c(*rebuilt) == wanted.crc) bytes = std::move(rebuilt);
  }
  if (!bytes) {
    bytes.error().what =
        fmt::format("cannot read tensor '{}': {}", base::printable(manifest_.shards[shard].name),
                    bytes.error().what);
    return std::unexpected(std::move(bytes).error());
  }
  std::ranges::copy(*bytes, destination.begin());
  return {};
}

// Pieces have their own CRCs, so a damaged neighbour in the same block does no harm.
Status CheckpointReader::read_again(const ReadRun& run, const ReadFault& fault) {
  for (const ReadCopy& copy : run.copies) {
    const std::uint64_t end = copy.offset + copy.destination.size();
    if (copy.offset >= fault.offset + fault.bytes || end <= fault.offset) continue;
    const Piece& piece = manifest_.shards[copy.shard].pieces[copy.piece];
    std::string bytes(piece.bytes, '\0');
    RR_TRY(read_piece(copy.shard, copy.piece, bytes));
    const auto from = static_cast<std::ptrdiff_t>(copy.offset - piece.offset);
    std::copy_n(bytes.begin() + from, copy.destination.size(), copy.destination.begin());
  }
  return {};
}

Status CheckpointReader::read(std::span<const ReadRequest> requests) {
  for (const ReadRequest& request : requests) {
    const bool known = request.shard < manifest_.shards.size();
    const std::uint64_t bytes = known ? manifest_.shards[request.shard].bytes : 0;
    if (!known || request.begin > bytes || request.destination.size() > bytes - request.begin) {
      return fail(Errc::kInvalidArgument, "cannot read bytes that the checkpoint does not have");
    }
  }
  const std::vector<ReadRun> runs = plan_reads(manifest_, requests);
  std::vector<ReadSource> sources(manifest_.files.size());
  std::vector<ReadFault> faults;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto from = source(runs[i].file);
    if (from) {
      sources[runs[i].file] = std::move(*from);
    } else {
      faults.push_back({i, runs[i].offset, runs[i].bytes, false, std::move(from).error()});
    }
  }
  threads();
  std::ranges::move(RR_TRY(bulk_->read(manifest_, runs, sources)), std::back_inserter(faults));
  for (const ReadFault& fault : faults) RR_TRY(read_again(runs[fault.run], fault));
  return {};
}

Status CheckpointReader::read_shard(std::size_t shard, std::span<char> destination) {
  RR_ASSERT(shard < manifest_.shards.size());
  RR_ASSERT(destination.size() == manifest_.shards[shard].bytes);
  const ReadRequest all{shard, 0, destination};
  return read({&all, 1});
}

// Reads the header or one block, the units that a CRC covers.
Result<std::string> CheckpointReader::read_unit(std::size_t index, std::uint64_t begin,
                                                std::uint64_t end, std::uint32_t crc,
                                                bool rebuild) {
  auto read = [&]() -> Result<std::string> {
    std::string bytes = RR_TRY(read_bytes(index, begin, end - begin));
    if (crc32c(bytes) == crc) return bytes;
    return fail(Errc::kCorrupt,
                fmt::format("{} is damaged in bytes {} to {}", found_[index].path, begin, end));
  };
  Result<std::string> bytes = read();
  if (bytes || !rebuild || manifest_.groups.empty()) return bytes;
  if (!rebuilder_) rebuilder_.emplace(manifest_);
  auto again =
      rebuilder_->rebuild(manifest_, static_cast<std::uint32_t>(index), begin, end - begin,
                          [this](std::uint32_t other, std::uint64_t from, std::uint64_t size) {
                            return read_file(other, from, size, false);
                          });
  if (!again) {
    bytes.error().what += "; " + again.error().what;
    return bytes;
  }
  if (crc32c(*again) != crc) {
    bytes.error().what += "; its parity is wrong, too";
    return bytes;
  }
  rescued_.push_back(bytes.error().what + ": rebuilt from parity");
  return again;
}

Result<std::string> CheckpointReader::read_file(std::size_t index, std::uint64_t begin,
                                                std::uint64_t bytes, bool rebuild) {
  RR_ASSERT(index < manifest_.files.size());
  const DataFile& wanted = manifest_.files[index];
  RR_ASSERT(begin <= wanted.bytes && bytes <= wanted.bytes - begin);
  std::string whole;
  while (whole.size() < bytes) {
    const std::uint64_t at = begin + whole.size();
    std::uint64_t unit = 0;
    std::uint64_t end = wanted.header_bytes;
    std::uint32_t crc = wanted.header_crc;
    if (at >= wanted.header_bytes) {
      const std::uint64_t block = (at - wanted.header_bytes) / kBlockBytes;
      unit = wanted.header_bytes + block * kBlockBytes;
      end = std::min(wanted.bytes, unit + kBlockBytes);
      crc = wanted.block_crcs[block];
    }
    const std::string part = RR_TRY(read_unit(index, unit, end, crc, rebuild));
    whole.append(part, at - unit, bytes - whole.size());
  }
  return whole;
}

std::string CheckpointReader::tensors_at(std::size_t file, std::uint64_t begin,
                                         std::uint64_t end) const {
  std::string names;
  std::size_t count = 0;
  for (const Shard& shard : manifest_.shards) {
    const bool hit = std::ranges::any_of(shard.pieces, [&](const Piece& piece) {
      return piece.file == file && piece.offset < end && piece.offset + piece.bytes > begin;
    });
    if (!hit) continue;
    if (++count <= kTensorsNamedMax) {
      names += (count == 1 ? ": '" : ", '") + base::printable(shard.name) + "'";
    }
  }
  if (count > kTensorsNamedMax) names += fmt::format(" and {} others", count - kTensorsNamedMax);
  return count == 0 ? ": only padding" : names;
}

void CheckpointReader::verify_header(std::size_t file, std::vector<std::string>& faults) {
  const DataFile& wanted = manifest_.files[file];
  const auto bytes = read_bytes(file, 0, wanted.header_bytes);
  if (!bytes) {
    faults.push_back(bytes.error().what);
  } else if (crc32c(*bytes) != wanted.header_crc) {
    faults.push_back(found_[file].path + " is damaged in its header");
  } else if (auto header = decode_header(*bytes, wanted.bytes); !header && !bytes->empty()) {
    faults.push_back(found_[file].path + ": " + header.error().what);
  }
}

std::vector<std::string> CheckpointReader::verify(std::vector<std::string>* away) {
  std::vector<std::string> faults;
  std::vector<ReadSource> sources(manifest_.files.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto from = source(i);
    if (from) {
      sources[i] = *from;
      verify_header(i, faults);
    } else {
      const bool is_away = away != nullptr && !manifest_.files[i].node.empty() &&
                           from.error().code == Errc::kUnavailable && from.error().os_errno != EIO;
      (is_away ? *away : faults)
          .push_back(from.error().what + tensors_at(i, 0, manifest_.files[i].bytes));
    }
  }
  const std::vector<ReadRun> runs = plan_all_blocks(manifest_);
  threads();
  const auto found = bulk_->read(manifest_, runs, sources);
  if (!found) {
    faults.push_back(found.error().what);
    return faults;
  }
  for (const ReadFault& fault : *found) {
    const std::uint32_t file = runs[fault.run].file;
    const std::uint64_t end = fault.offset + fault.bytes;
    const std::string what = fault.damaged ? fmt::format("{} is damaged in bytes {} to {}",
                                                         sources[file].path, fault.offset, end)
                                           : fault.error.what;
    faults.push_back(what + tensors_at(file, fault.offset, end));
  }
  return faults;
}

}  // namespace robustrun::checkpoint
