#pragma once
// Records the order in which the blocks of a blob are first read during a start, and merges the
// record into the profile's file. Thread-safe.

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/hot/block_profile.h"

namespace robustrun::bootstrap {

// Returns an empty profile if the file is missing, not of this user or not for this blob.
[[nodiscard]] BlockProfile load_block_profile(const std::string& path, std::uint64_t length);

class TouchRecorder {
 public:
  TouchRecorder(std::string path, std::uint64_t length);

  // Notes a read of the blocks `first` to `last`, both included.
  void touch(std::uint64_t first, std::uint64_t last);
  // Ends the recording and saves it; later calls do nothing. Blocks as long as the file system
  // does.
  base::Status settle(const base::Clock& clock);
  [[nodiscard]] bool is_recording() const;
  // Number of blocks read so far, also after the recording.
  [[nodiscard]] std::uint64_t touched() const;

 private:
  const std::string path_;
  const std::uint64_t length_;
  mutable std::mutex mutex_;
  bool is_recording_ = true;
  std::vector<bool> seen_;
  std::uint64_t touched_ = 0;
  std::vector<HotBlock> order_;
};

}  // namespace robustrun::bootstrap
