#pragma once
// Reads of a blob's bytes, whatever blocks they lie in: each is answered once, with the bytes or an
// error, at the latest when its time is over. Thread-safe; callers never wait.
//
// A read of whole blocks, which most are when the kernel reads far ahead, is checked against their
// sums every time, and leaves nothing in the page cache: the kernel keeps the image's own pages.
// Of a part, the whole block is read into the page cache and checked the first time; later parts
// come from there, or from the disk again, unchecked.
//
// Whoever reads an image through the kernel reads again what failed, page by page, before its
// reader hears of it. So a block that could not be had is not waited for once more for kFailedFor.

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
  // The bytes last as long as the call; fewer than were asked for only at the end of the blob.
  using Answer = std::move_only_function<void(base::Result<std::span<const char>>)>;

  BlobReads(BlockStore& store, BlockSupply& supply, TouchRecorder& recorder,
            const base::Clock& clock, std::chrono::nanoseconds budget);
  // Answers what still waits. No read may be asked for any more, and the supply must be gone, or
  // never deliver again.
  ~BlobReads();
  BlobReads(const BlobReads&) = delete;
  BlobReads& operator=(const BlobReads&) = delete;

  void read(std::uint64_t offset, std::uint64_t length, Answer answer);
  // Every read from now on fails so.
  void refuse(base::Error why);
  // The source answers again: what failed is tried anew.
  void forget_failures();
  // Called with why, before a read fails because its blocks cannot be had; at most once in
  // kFailureLogEvery.
  void on_failure(std::function<void(const std::string&)> failure);
  void fill_status(BlockServerStatus& status) const;

 private:
  struct Read;
  using ReadPtr = std::shared_ptr<Read>;

  [[nodiscard]] bool is_verified(const Read& read) const;
  bool is_served_at_once(const ReadPtr& read);
  base::Status enter(const ReadPtr& read);  // kLimit: too many wait
  void serve_blocks(const ReadPtr& read);
  void serve_part(const ReadPtr& read);
  void gather(const ReadPtr& read);
  void take_block(const ReadPtr& read, std::uint64_t block,
                  const base::Result<std::span<const char>>& bytes);
  void finish(const ReadPtr& read, base::Result<std::span<const char>> result);
  // Why one of its blocks could not be had a moment ago.
  [[nodiscard]] std::optional<base::Error> failed_before(const Read& read);
  void note_failed(std::uint64_t first, std::uint64_t last, const base::Error& error);
  void tell_failure(const Read& read, const base::Error& error);
  void run_deadlines();

  BlockStore& store_;
  BlockSupply& supply_;
  TouchRecorder& recorder_;
  const base::Clock& clock_;
  const base::Nanos budget_;
  std::atomic<std::uint64_t> errors_{0};
  std::atomic<std::uint64_t> store_bytes_{0};

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable wake_;
  bool is_over_ = false;
  struct Failed {
    base::Nanos until{};
    base::Error error;
  };
  std::map<std::uint64_t, Failed> failed_;  // by block; at most kFailedMax
  std::function<void(const std::string&)> failure_;
  std::optional<base::Error> refusal_;
  base::Nanos tell_due_{};
  std::uint64_t next_number_ = 1;  // 0: none
  std::map<std::uint64_t, ReadPtr> waiting_;  // by number: the first one's time is over first
  std::thread deadline_thread_;
};

}  // namespace robustrun::bootstrap
