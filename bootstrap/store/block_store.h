#pragma once
// The blocks of blobs that this machine has: CACHE/blocks/KEY/{about,data,sums}
// (docs/formats/block-store.md). Shared by processes, jobs and runs of one user at the same time.
//
// A block counts as there only when its bytes have its sum: nothing is synced to the disk, and one
// that a crash tore or that rotted is simply fetched again. All calls are thread-safe and block as
// long as the file system does. Who has a blob open holds a shared lock on `about`; a blob without
// one may be evicted. A store that is full (disk or quota) keeps nothing more, and that is no
// error. Nor is a cache that cannot be written at all, for somebody who can do without: what it
// opens has nothing, and keeps nothing.

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
#include "bootstrap/store/direct_file.h"

namespace robustrun::bootstrap {

struct BlockStoreOptions {
  std::string cache;  // the user's folder of caches; made when it is missing
  std::string key;
  std::uint64_t length = 0;
  std::string about;  // where it came from, one line, for people
  std::uint64_t quota_bytes = 0;  // of all blobs together; 0: as long as there is space
  bool marks_use = true;  // false: for somebody who only looks at it
  bool needs_files = true;  // false: no room, a quota or no right to write is no error
};

class BlockStore {
 public:
  // kPermission when a folder or file of it is somebody else's or open to others.
  static base::Result<std::unique_ptr<BlockStore>> open(const BlockStoreOptions& options);
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;
  ~BlockStore() = default;

  [[nodiscard]] const std::string& key() const { return options_.key; }
  [[nodiscard]] std::uint64_t length() const { return options_.length; }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_of(options_.length); }
  // Why nothing is kept, in a sentence; empty: it has its files.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

  // All of a block; `bytes` has its length. False: not there, or rotten (said in the log, and
  // counted).
  base::Result<bool> read(std::uint64_t block, std::span<char> bytes);
  // The same of whole blocks from `first` on, for somebody who keeps all of it: past the page
  // cache, as far as direct_file.h can. False: one of them is not there, or rotten.
  base::Result<bool> read_past_cache(std::uint64_t first, std::span<char> bytes);
  // Whether this process has seen that the block is whole; from then on read_range() serves it.
  [[nodiscard]] bool is_verified(std::uint64_t block) const { return verified_[block] != 0; }
  // Bytes of verified blocks, not looked at again. False: the file has become shorter.
  base::Result<bool> read_range(std::uint64_t offset, std::span<char> bytes);
  // The same without waiting for a disk. False: not all of it is in the page cache.
  bool read_range_at_once(std::uint64_t offset, std::span<char> bytes);

  // False: no space on the disk or in the quota, so it is not kept.
  base::Result<bool> keep(std::uint64_t block, std::span<const char> bytes);

  // All blocks are gone, and none is kept any more by this process.
  base::Status forget_all();

  // Per block, whether it has a sum: whether its bytes match it, read() finds out.
  [[nodiscard]] base::Result<std::vector<bool>> present() const;
  // Blocks that were found with other bytes than their sum says.
  [[nodiscard]] std::uint64_t rotten() const { return rotten_; }

 private:
  struct Files {
    base::Fd about;  // locked: in use
    base::Fd data;
    base::Fd sums;
    DirectFile direct;  // the same file as data
  };
  static base::Result<Files> open_files(const BlockStoreOptions& options);
  BlockStore(BlockStoreOptions options, std::optional<Files> files, std::string obstacle);
  void mark_damaged(std::uint64_t block);
  [[nodiscard]] bool has_room(std::uint64_t bytes);

  BlockStoreOptions options_;
  std::optional<Files> files_;  // none: nothing is here
  std::string obstacle_;
  std::vector<std::atomic<unsigned char>> verified_;
  std::atomic<std::uint64_t> rotten_{0};
  std::atomic<bool> is_given_up_{false};  // forget_all()
  std::atomic<std::uint64_t> quota_left_{0};  // until the store is counted again
};

struct StoredBlob {
  std::string key;
  std::string about;
  std::uint64_t length = 0;  // 0: its `about` does not say
  std::uint64_t kept_bytes = 0;  // on the disk
  std::uint64_t here_bytes = 0;  // of its blocks; of those that went, and where count_here() was
  std::int64_t used_s = 0;  // Unix time: when it was last opened
  bool is_in_use = false;
  std::string damage{};  // why nothing of it is used as it is; empty: it is
};

// The blobs of a cache, the one unused for longest first. Empty when there is no store; kPermission
// when it is not ours alone.
[[nodiscard]] base::Result<std::vector<StoredBlob>> block_store_usage(const std::string& cache);
// Removes blobs that nobody has open, the one unused for longest first: what is damaged, what
// nobody has opened for `unused_s` (0: no limit), and more until all together are at most
// `keep_bytes`. What went.
base::Result<std::vector<StoredBlob>> collect_blobs(const std::string& cache,
                                                    std::uint64_t keep_bytes, std::int64_t unused_s,
                                                    std::int64_t now_s);
// Fills in `here_bytes`, as far as it can be known: reads the list of its blocks.
void count_here(const std::string& cache, StoredBlob& blob);

struct BlobCheck {
  std::uint64_t blocks = 0;  // that were there
  std::uint64_t rotten = 0;  // of them; their sums are cleared
};
// Reads all that is there of one blob, past the page cache where that goes. It does not count as a
// use.
base::Result<BlobCheck> verify_blob(const std::string& cache, const std::string& key);

}  // namespace robustrun::bootstrap
