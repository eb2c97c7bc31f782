#pragma once
// The blocks of blobs in this machine's cache: CACHE/blocks/KEY/{about,data,sums}
// (docs/formats/block-store.md). Processes, jobs and runs of one user share it concurrently.
//
// Each block has a sum (a 128-bit hash), which each process checks before it first uses the block.
// So nothing needs to be synced: a block that was damaged by a crash or later is fetched again. A
// process that has a blob open holds a shared lock on `about`; a blob without a lock may be
// evicted. A full store (disk or quota) keeps no more blocks; this is not an error. If
// `needs_files` is false, a cache that cannot be written is not an error either: the store is then
// empty and keeps nothing. All calls are thread-safe and block as long as the file system does.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/cache_entry.h"
#include "bootstrap/store/direct_file.h"

namespace robustrun::bootstrap {

struct BlockStoreOptions {
  std::string cache;  // the user's cache directory; created if missing
  std::string key;
  std::uint64_t length = 0;
  std::string about;  // the blob's source, one line, only for display
  std::uint64_t quota_bytes = 0;  // for all blobs together; 0: limited only by the disk
  bool marks_use = true;  // false: opening the blob does not count as a use
  bool needs_files = true;  // false: lack of space or of write permission is no error
};

class BlockStore {
 public:
  // kPermission: one of the blob's folders or files belongs to another user or is open to others.
  // kInvalidArgument: the key is malformed, or the length is 0 or above kBlobBytesMax.
  static base::Result<std::unique_ptr<BlockStore>> open(const BlockStoreOptions& options);
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;
  ~BlockStore() = default;

  [[nodiscard]] const std::string& key() const { return options_.key; }
  [[nodiscard]] std::uint64_t length() const { return options_.length; }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_of(options_.length); }
  // Why nothing is kept, as a sentence; empty: blocks are kept.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

  // Reads and checks a whole block; `bytes` is as long as the block. Returns false if the block is
  // absent or damaged. Damage is logged and counted.
  base::Result<bool> read(std::uint64_t block, std::span<char> bytes);
  // Reads and checks whole blocks from `first` on, bypassing the page cache where direct_file.h
  // can. For callers that keep the bytes themselves. Returns false if a block is absent or damaged.
  base::Result<bool> read_past_cache(std::uint64_t first, std::span<char> bytes);
  // Whether this process has read and checked the block, or kept it, so that read_range() may be
  // used.
  [[nodiscard]] bool is_verified(std::uint64_t block) const { return verified_[block] != 0; }
  // Reads bytes of verified blocks without checking them again. Returns false if the file was
  // truncated.
  base::Result<bool> read_range(std::uint64_t offset, std::span<char> bytes);
  // As read_range(), but only from the page cache: returns false if some bytes are not there.
  bool read_range_at_once(std::uint64_t offset, std::span<char> bytes);

  // Stores a block. Returns false if the block is not kept: the disk or the quota has no space,
  // there is an obstacle(), or forget_all() was called.
  base::Result<bool> keep(std::uint64_t block, std::span<const char> bytes);

  // Drops all blocks, for other processes as well. This process keeps no blocks from now on.
  base::Status forget_all();

  // For each block, whether it has a sum. Only read() finds out whether its bytes match.
  [[nodiscard]] base::Result<std::vector<bool>> present() const;
  // Number of damaged blocks found so far.
  [[nodiscard]] std::uint64_t rotten() const { return rotten_; }

 private:
  struct Files {
    base::Fd about;  // locked: in use
    base::Fd data;
    base::Fd sums;
    DirectFile direct;  // `data` opened a second time
  };
  static base::Result<Files> open_files(const BlockStoreOptions& options);
  BlockStore(BlockStoreOptions options, std::optional<Files> files, std::string obstacle);
  void mark_damaged(std::uint64_t block);
  [[nodiscard]] bool has_room(std::uint64_t bytes);

  BlockStoreOptions options_;
  std::optional<Files> files_;  // nullopt: nothing is kept
  std::string obstacle_;
  std::vector<std::atomic<unsigned char>> verified_;
  std::atomic<std::uint64_t> rotten_{0};
  std::atomic<bool> is_given_up_{false};  // forget_all() was called
  std::atomic<std::uint64_t> quota_left_{0};  // bytes left until the store's size is computed again
};

// The blobs of a cache, the longest unused first. Empty if there is no store. kPermission: the
// store is not private. CacheEntry::here is not filled in.
[[nodiscard]] base::Result<std::vector<CacheEntry>> block_store_usage(const std::string& cache);
// Removes blobs that no process has open: damaged ones, and those not opened for `unused_s` (0: no
// limit). Also removes blobs, the longest unused first, until the rest has at most `keep_bytes`.
// Returns what was removed.
base::Result<std::vector<CacheEntry>> collect_blobs(const std::string& cache,
                                                    std::uint64_t keep_bytes, std::int64_t unused_s,
                                                    std::int64_t now_s);
// Fills in CacheEntry::here from the blob's sums, as far as they can be read.
void count_here(const std::string& cache, CacheEntry& blob);

struct BlobCheck {
  std::uint64_t blocks = 0;  // blocks present
  std::uint64_t rotten = 0;  // damaged blocks among them
};
// Reads all present blocks of a blob, bypassing the page cache if possible, and drops damaged ones.
// This does not count as a use.
base::Result<BlobCheck> verify_blob(const std::string& cache, const std::string& key);

}  // namespace robustrun::bootstrap
