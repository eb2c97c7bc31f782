#include "checkpoint/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/text.h"
#include "checkpoint/crc32c.h"
#include "checkpoint/extent_header.h"
#include "checkpoint/limits.h"
#include "checkpoint/paths.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Fd;
using base::Result;
using base::Status;

constexpr std::size_t kTensorsNamedMax = 3;

Status read_at(int fd, std::uint64_t offset, std::span<char> into, const std::string& path) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read " + path, errno);
    if (got == 0) return fail(Errc::kCorrupt, "cannot read " + path + ": it is cut off");
    done += static_cast<std::size_t>(got);
  }
  return {};
}

std::string_view view(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

CheckpointReader CheckpointReader::open(Manifest manifest, std::vector<std::string> folders) {
  const std::string attempt = attempt_folder(manifest.head.attempt);
  for (const std::string& mount : manifest.head.mounts) folders.push_back(mount + "/" + attempt);
  return {std::move(manifest), std::move(folders)};
}

CheckpointReader::CheckpointReader(Manifest manifest, std::vector<std::string> folders)
    : manifest_(std::move(manifest)), folders_(std::move(folders)) {
  files_.resize(manifest_.files.size());
}

Result<const CheckpointReader::OpenFile*> CheckpointReader::file(std::size_t index) {
  OpenFile& open = files_[index];
  if (open.fd) return &open;
  const DataFile& wanted = manifest_.files[index];
  std::string seen;
  for (const std::string& folder : folders_) {
    const std::string path = folder + "/" + wanted.name;
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) continue;
    struct stat status{};
    if (::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
        static_cast<std::uint64_t>(status.st_size) == wanted.bytes) {
      open = {std::move(fd), path};
      return &open;
    }
    seen = fmt::format("{} has {} bytes instead of {}", path, status.st_size, wanted.bytes);
  }
  if (!seen.empty()) return fail(Errc::kCorrupt, seen);
  return fail(Errc::kNotFound,
              wanted.name + " is missing; it was on " + manifest_.head.mounts[wanted.mount]);
}

Status CheckpointReader::read_shard(std::size_t shard, std::span<char> destination) {
  RR_ASSERT(shard < manifest_.shards.size());
  const Shard& wanted = manifest_.shards[shard];
  RR_ASSERT(destination.size() == wanted.bytes);
  for (const Piece& piece : wanted.pieces) {
    const OpenFile* open = RR_TRY(file(piece.file));
    const std::span<char> into = destination.first(piece.bytes);
    RR_TRY(read_at(open->fd.get(), piece.offset, into, open->path));
    if (crc32c(view(into)) != piece.crc) {
      return fail(Errc::kCorrupt,
                  fmt::format("cannot read tensor '{}': {} is damaged in bytes {} to {}",
                              base::printable(wanted.name), open->path, piece.offset,
                              piece.offset + piece.bytes));
    }
    destination = destination.subspan(piece.bytes);
  }
  return {};
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

void CheckpointReader::verify_file(std::size_t index, std::vector<std::string>& faults) {
  const DataFile& wanted = manifest_.files[index];
  const auto open = file(index);
  if (!open) {
    faults.push_back(open.error().what + tensors_at(index, 0, wanted.bytes));
    return;
  }
  const std::string& path = (*open)->path;
  const int fd = (*open)->fd.get();
  std::string bytes(wanted.header_bytes, '\0');
  if (auto read = read_at(fd, 0, bytes, path); !read) {
    faults.push_back(read.error().what);
  } else if (crc32c(bytes) != wanted.header_crc) {
    faults.push_back(path + " is damaged in its header");
  } else if (auto header = decode_header(bytes, wanted.bytes); !header) {
    faults.push_back(path + ": " + header.error().what);
  }
  bytes.resize(kBlockBytes);
  for (std::size_t block = 0; block < wanted.block_crcs.size(); ++block) {
    const std::uint64_t begin = wanted.header_bytes + block * kBlockBytes;
    const std::uint64_t end = std::min(wanted.bytes, begin + kBlockBytes);
    const std::span<char> into = std::span(bytes).first(end - begin);
    if (auto read = read_at(fd, begin, into, path); !read) {
      faults.push_back(read.error().what + tensors_at(index, begin, end));
    } else if (crc32c(view(into)) != wanted.block_crcs[block]) {
      faults.push_back(fmt::format("{} is damaged in bytes {} to {}{}", path, begin, end,
                                   tensors_at(index, begin, end)));
    }
  }
}

std::vector<std::string> CheckpointReader::verify() {
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < manifest_.files.size(); ++i) verify_file(i, faults);
  return faults;
}

}  // namespace robustrun::checkpoint
