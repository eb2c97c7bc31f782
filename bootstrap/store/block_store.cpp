#include "bootstrap/store/block_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "base/io/log.h"
#include "base/io/private_dir.h"
#include "bootstrap/store/limits.h"
#include "bootstrap/store/store_files.h"

namespace robustrun::bootstrap {
namespace {

using base::fail_errno;

using Sum = std::array<char, kSumBytes>;

bool is_absent(const Sum& sum) { return sum == Sum{}; }

Sum sum_at(std::span<const char> sums, std::size_t offset) {
  Sum sum;
  std::memcpy(sum.data(), sums.data() + offset, kSumBytes);
  return sum;
}

Sum sum_of(std::span<const char> bytes) {
  const base::Hash128 hash = base::hash128({bytes.data(), bytes.size()});
  Sum sum;
  for (std::size_t i = 0; i < 8; ++i) {
    sum[i] = static_cast<char>((hash.low >> (8 * i)) & 0xFF);
    sum[8 + i] = static_cast<char>((hash.high >> (8 * i)) & 0xFF);
  }
  if (is_absent(sum)) sum[0] = 1;  // a sum of zero means that there is no block
  return sum;
}

// Reads all of `bytes`; false: the file ends earlier.
base::Result<bool> read_at(int fd, std::uint64_t offset, std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read the block store", errno);
    if (got == 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

// Returns false if there is no space.
base::Result<bool> write_at(int fd, std::uint64_t offset, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == ENOSPC || errno == EDQUOT)) return false;
    if (put < 0) return fail_errno("cannot write to the block store", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return true;
}

base::Result<base::Fd> open_sized(const std::string& path, std::uint64_t length) {
  base::Fd fd = RR_TRY(open_store_file(path, O_RDWR | O_CREAT));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return fail_errno(fmt::format("cannot look at '{}'", path), errno);
  }
  if (static_cast<std::uint64_t>(status.st_size) != length &&
      ::ftruncate(fd.get(), static_cast<off_t>(length)) != 0) {
    return fail_errno(fmt::format("cannot set the length of '{}'", path), errno);
  }
  return fd;
}

// Whether the file system has no space, or denies writing.
bool is_for_want_of_room(const base::Error& error) {
  return error.os_errno == ENOSPC || error.os_errno == EDQUOT || error.os_errno == EROFS ||
         error.os_errno == EACCES;
}

base::Result<std::vector<bool>> blocks_with_sums(int fd, std::uint64_t blocks) {
  constexpr std::uint64_t kSumsAtOnce = 4096;
  std::vector<bool> found(blocks);
  std::vector<char> sums(kSumsAtOnce * kSumBytes);
  for (std::uint64_t first = 0; first < found.size(); first += kSumsAtOnce) {
    const std::uint64_t count = std::min<std::uint64_t>(kSumsAtOnce, found.size() - first);
    const std::span<char> part(sums.data(), count * kSumBytes);
    if (!RR_TRY(read_at(fd, first * kSumBytes, part))) return found;
    for (std::uint64_t i = 0; i < count; ++i) {
      found[first + i] = !is_absent(sum_at(sums, i * kSumBytes));
    }
  }
  return found;
}

}  // namespace

BlockStore::BlockStore(BlockStoreOptions options, std::optional<Files> files, std::string obstacle)
    : options_(std::move(options)),
      files_(std::move(files)),
      obstacle_(std::move(obstacle)),
      verified_(blocks_of(options_.length)) {}

base::Result<BlockStore::Files> BlockStore::open_files(const BlockStoreOptions& options) {
  const std::string folder = RR_TRY(make_blob_folder(options.cache, options.key));
  base::Fd about = RR_TRY(claim_blob(
      folder, about_text({options.length, base::printable(options.about)}), options.marks_use));
  base::Fd data = RR_TRY(open_sized(folder + "/data", options.length));
  base::Fd sums = RR_TRY(open_sized(folder + "/sums", blocks_of(options.length) * kSumBytes));
  return Files{std::move(about), std::move(data), std::move(sums), DirectFile(folder + "/data")};
}

base::Result<std::unique_ptr<BlockStore>> BlockStore::open(const BlockStoreOptions& options) {
  if (!is_blob_key(options.key) || options.length == 0 || options.length > kBlobBytesMax) {
    return base::fail(base::Errc::kInvalidArgument, "cannot open a store without a blob's key");
  }
  auto files = open_files(options);
  if (files) {
    return std::unique_ptr<BlockStore>(new BlockStore(options, *std::move(files), {}));
  }
  if (options.needs_files || !is_for_want_of_room(files.error())) {
    return std::unexpected(std::move(files).error());
  }
  return std::unique_ptr<BlockStore>(
      new BlockStore(options, std::nullopt, std::move(files).error().what));
}

base::Result<bool> BlockStore::read(std::uint64_t block, std::span<char> bytes) {
  RR_ASSERT(block < blocks() && bytes.size() == bytes_of_block(options_.length, block));
  if (!files_) return false;
  Sum wanted{};
  if (!RR_TRY(read_at(files_->sums.get(), block * kSumBytes, wanted)) || is_absent(wanted))
    return false;
  const bool is_read = RR_TRY(read_at(files_->data.get(), block * kBlockBytes, bytes));
  if (is_read && sum_of(bytes) == wanted) {
    verified_[block] = 1;
    return true;
  }
  mark_damaged(block);
  return false;
}

base::Result<bool> BlockStore::read_past_cache(std::uint64_t first, std::span<char> bytes) {
  const std::uint64_t offset = first * kBlockBytes;
  const std::uint64_t end = offset + bytes.size();
  RR_ASSERT(end <= options_.length && (end % kBlockBytes == 0 || end == options_.length));
  if (!files_) return false;
  std::vector<char> wanted(blocks_of(bytes.size()) * kSumBytes);
  if (!RR_TRY(read_at(files_->sums.get(), first * kSumBytes, wanted))) return false;
  for (std::size_t i = 0; i < wanted.size(); i += kSumBytes) {
    if (is_absent(sum_at(wanted, i))) return false;
  }
  // If a file was truncated, read() detects the lost blocks.
  if (!files_->direct.read(offset, bytes) && !RR_TRY(read_at(files_->data.get(), offset, bytes)))
    return false;
  bool are_whole = true;
  for (std::size_t i = 0; i * kSumBytes < wanted.size(); ++i) {
    const std::uint64_t block = first + i;
    const auto part = bytes.subspan(i * kBlockBytes, bytes_of_block(options_.length, block));
    if (sum_of(part) == sum_at(wanted, i * kSumBytes)) {
      verified_[block] = 1;
    } else {
      mark_damaged(block);
      are_whole = false;
    }
  }
  return are_whole;
}

// Another process may have just rewritten the block, so that the sum read here is stale.
void BlockStore::mark_damaged(std::uint64_t block) {
  ++rotten_;
  verified_[block] = 0;
  // Mark it absent, for other processes as well.
  static_cast<void>(write_at(files_->sums.get(), block * kSumBytes, Sum{}));
  RR_LOG(kWarn, ({}), "block {} of {} in the store is damaged and is fetched again", block,
         options_.key);
}

base::Result<bool> BlockStore::read_range(std::uint64_t offset, std::span<char> bytes) {
  RR_ASSERT(offset + bytes.size() <= options_.length);
  if (!files_) return false;
  return read_at(files_->data.get(), offset, bytes);
}

bool BlockStore::read_range_at_once(std::uint64_t offset, std::span<char> bytes) {
  RR_ASSERT(offset + bytes.size() <= options_.length);
  if (!files_) return false;
  const iovec part{bytes.data(), bytes.size()};
  const ssize_t got =
      ::preadv2(files_->data.get(), &part, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  return got >= 0 && static_cast<std::size_t>(got) == bytes.size();
}

base::Result<bool> BlockStore::keep(std::uint64_t block, std::span<const char> bytes) {
  RR_ASSERT(block < blocks() && bytes.size() == bytes_of_block(options_.length, block));
  if (!files_ || is_given_up_ || !has_room(bytes.size())) return false;
  const Sum sum = sum_of(bytes);
  if (!RR_TRY(write_at(files_->data.get(), block * kBlockBytes, bytes))) return false;
  if (!RR_TRY(write_at(files_->sums.get(), block * kSumBytes, sum))) return false;
  verified_[block] = 1;
  return true;
}

// The store's size is computed again when the space left last time is used up. Between
// computations, each process may exceed the quota by up to kQuotaStep.
bool BlockStore::has_room(std::uint64_t bytes) {
  if (options_.quota_bytes == 0) return true;
  std::uint64_t left = quota_left_;
  while (left >= bytes) {
    if (quota_left_.compare_exchange_weak(left, left - bytes)) return true;
  }
  if (options_.quota_bytes < bytes) return false;
  const std::uint64_t keep_max = options_.quota_bytes - bytes;
  static_cast<void>(collect_blobs(options_.cache, keep_max, 0, 0));
  const auto stored = block_store_usage(options_.cache);
  if (!stored) return false;
  std::uint64_t used = 0;
  for (const CacheEntry& each : *stored) used += each.bytes;
  if (used > keep_max) return false;
  quota_left_ = std::min(options_.quota_bytes - used - bytes, kQuotaStep);
  return true;
}

base::Status BlockStore::forget_all() {
  is_given_up_ = true;
  for (auto& each : verified_) each = 0;
  if (!files_) return {};
  const std::vector<char> none(kVerifyBlocks * kSumBytes);
  const std::uint64_t end = blocks() * kSumBytes;
  for (std::uint64_t at = 0; at < end; at += none.size()) {
    const auto part = std::span(none).first(std::min<std::uint64_t>(none.size(), end - at));
    if (!RR_TRY(write_at(files_->sums.get(), at, part))) {
      return base::fail(base::Errc::kOs, "cannot clear the block store: there is no space");
    }
  }
  return {};
}

base::Result<std::vector<bool>> BlockStore::present() const {
  if (!files_) return std::vector<bool>(blocks());
  return blocks_with_sums(files_->sums.get(), blocks());
}

void count_here(const std::string& cache, CacheEntry& blob) {
  blob.here = 0;
  const auto sums = open_store_file(fmt::format("{}/blocks/{}/sums", cache, blob.name), O_RDONLY);
  if (!sums) return;
  const auto found = blocks_with_sums(sums->get(), blocks_of(blob.length));
  for (std::uint64_t block = 0; found && block < found->size(); ++block) {
    if ((*found)[block]) blob.here += bytes_of_block(blob.length, block);
  }
}

base::Result<BlobCheck> verify_blob(const std::string& cache, const std::string& key) {
  const StoredAbout about = RR_TRY(read_about(cache, key));
  const auto store = RR_TRY(BlockStore::open({cache, key, about.length, about.source, 0, false}));
  const std::vector<bool> present = RR_TRY(store->present());
  BlobCheck check;
  const DirectBuffer buffer(kVerifyBlocks * kBlockBytes);
  for (std::uint64_t first = 0; first < present.size();) {
    std::uint64_t end = first;
    while (end < present.size() && present[end] && end - first < kVerifyBlocks) ++end;
    if (end == first) {
      ++first;
      continue;
    }
    check.blocks += end - first;
    const std::uint64_t bytes = std::min(end * kBlockBytes, about.length) - first * kBlockBytes;
    if (!RR_TRY(store->read_past_cache(first, buffer.bytes().first(bytes)))) {
      // Damaged blocks are now marked absent; unreadable ones were not counted.
      for (std::uint64_t block = first; block < end; ++block) {
        RR_TRY(store->read(block, buffer.bytes().first(bytes_of_block(about.length, block))));
      }
    }
    first = end;
  }
  check.rotten = store->rotten();
  return check;
}

}  // namespace robustrun::bootstrap
