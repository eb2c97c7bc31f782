#pragma once
// Whether an image is what was asked for: the SHA-256 of all its blocks, once all are in the store.
//
// Owned by the server, whose loop ticks it; the store is read on a thread of its own, past the page
// cache and at the lowest priority. When a block is missing or rotten after all, or rots later, it
// is fetched again and all of them are looked at anew. That it is the wrong content stays.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/blocks/block_supply.h"
#include "bootstrap/store/block_store.h"

namespace robustrun::bootstrap {

class ContentCheck {
 public:
  // `sha256`: 64 hex digits. All last as long as the process.
  ContentCheck(BlockStore& store, BlockSupply& supply, const base::Clock& clock, std::string cache,
               std::string sha256);

  enum class State : unsigned char { kOpen, kReading, kRight, kWrong };
  // `is_all_here`: every block is in the store.
  State tick(bool is_all_here);
  [[nodiscard]] bool is_right() const { return state_ == State::kRight; }
  // What it is, when it is the wrong one.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  void run();
  base::Result<bool> look();
  void fetch_again(std::uint64_t first, std::uint64_t end);

  BlockStore& store_;
  BlockSupply& supply_;
  const base::Clock& clock_;
  const std::string cache_, sha256_;
  std::string found_;  // before kRight or kWrong
  base::Nanos due_{};
  std::atomic<std::uint64_t> rotten_{0};  // of the store, when it was looked at
  std::atomic<State> state_{State::kOpen};
  std::thread thread_;
};

}  // namespace robustrun::bootstrap
