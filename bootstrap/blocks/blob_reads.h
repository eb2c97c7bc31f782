#pragma once
// Reads byte ranges of a blob. Each read is answered exactly once, with the bytes or an error, at
// the latest when its time budget is used up. Thread-safe; callers never wait.
//
// A read of whole blocks, the usual case when the kernel reads far ahead, is checked against the
// blocks' sums every time. It bypasses the page cache of the store's files, because the kernel
// caches the pages of the image itself. For a part of a block, the whole block is read through the
// page cache and checked the first time; later reads of parts are not checked.
//
// After a failed read the kernel retries it page by page before it reports the error. So for
// kFailedFor, reads of a block that could not be fetched fail at once.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/blocks/block_supply.h"
#include "bootstrap/blocks/touch_recorder.h"
#include "bootstrap/store/block_store.h"

namespace robustrun::bootstrap {

class BlobReads {
 public:
  // The bytes are valid during the call. Fewer than requested only at the end of the blob.
  using Answer = std::move_only_function<void(base::Result<std::span<const char>>)>;

  BlobReads(BlockStore& store, BlockSupply& supply, TouchRecorder& recorder,
            const base::Clock& clock, std::chrono::nanoseconds budget);
  // Answers all pending reads. No read may begin any more. The supply must be destroyed, or deliver
  // no more blocks.
  ~BlobReads();
  BlobReads(const BlobReads&) = delete;
  BlobReads& operator=(const BlobReads&) = delete;

  void read(std::uint64_t offset, std::uint64_t length, Answer answer);
  // Makes reads that begin from now on fail with this error, except reads of parts of verified
  // blocks that are in the page cache.
  void refuse(base::Error why);
  // Call this when the source answers again, so that blocks that failed are fetched again.
  void forget_failures();
  // `failure` is called with the cause before a read fails for lack of its blocks; at most once in
  // kFailureLogEvery.
  void on_failure(std::function<void(const std::string&)> failure);
  void fill_status(BlockServerStatus& status) const;

 private:
  struct Read;
  using ReadPtr = std::shared_ptr<Read>;

  [[nodiscard]] bool is_verified(const Read& read) const;
  bool is_served_at_once(const ReadPtr& read);
  base::Status enter(const ReadPtr& read);  // kLimit: too many pending reads
  void serve_blocks(const ReadPtr& read);
  void serve_part(const ReadPtr& read);
  void gather(const ReadPtr& read);
  void take_block(const ReadPtr& read, std::uint64_t block,
                  const base::Result<std::span<const char>>& bytes);
  void finish(const ReadPtr& read, base::Result<std::span<const char>> result);
  // The error of one of the read's blocks that failed a moment ago.
  [[nodiscard]] std::optional<base::Error> failed_before(const Read& read);
  void note_failed(std::uint64_t first, std::uint64_t last, const base::Error& error);
  void report_failure(const Read& read, const base::Error& error);
  void run_deadlines();

  BlockStore& store_;
  BlockSupply& supply_;
  TouchRecorder& recorder_;
  const base::Clock& clock_;
  const base::Nanos budget_;
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint64_t> store_bytes_{0};

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  bool is_over_ = false;
  struct Failed {
    base::Nanos until{};
    base::Error error;
  };
  std::map<std::uint64_t, Failed> failed_;  // by block; at most kFailedMax
  std::function<void(const std::string&)> failure_;
  std::optional<base::Error> refusal_;
  base::Nanos report_due_{};
  std::uint64_t next_number_ = 1;  // reads that are not in waiting_ have number 0
  // By number, which is also the order of their deadlines.
  std::map<std::uint64_t, ReadPtr> waiting_;
  std::thread deadline_thread_;
};

}  // namespace robustrun::bootstrap
