#pragma once
// Compares an image's content with a SHA-256, once all blocks are in the store.
//
// Owned by the server, whose loop calls tick(). The store is read on a separate thread, bypassing
// the page cache and at the lowest priority. If a block turns out to be missing or damaged, even
// after kRight, it is fetched again and the whole check is repeated. kWrong is final.

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
  // `sha256`: 64 hex digits. This object and all objects that it refers to must live until the
  // process ends, because the thread is not stopped.
  ContentCheck(BlockStore& store, BlockSupply& supply, const base::Clock& clock, std::string cache,
               std::string sha256);

  enum class State : unsigned char { kOpen, kReading, kRight, kWrong };
  // Starts or repeats the check if it is due. `is_all_here`: every block is in the store.
  State tick(bool is_all_here);
  [[nodiscard]] bool is_right() const { return state_ == State::kRight; }
  // The actual digest, if the content is wrong.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  void run();
  base::Result<bool> look();
  void fetch_again(std::uint64_t first, std::uint64_t end);

  BlockStore& store_;
  BlockSupply& supply_;
  const base::Clock& clock_;
  const std::string cache_, sha256_;
  std::string found_;  // set before kRight or kWrong
  base::Nanos due_{};
  std::atomic<std::uint64_t> rotten_{0};  // the store's count when the check began
  std::atomic<State> state_{State::kOpen};
  std::thread thread_;
};

}  // namespace robustrun::bootstrap
