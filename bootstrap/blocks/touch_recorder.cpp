#include "bootstrap/blocks/touch_recorder.h"

#include <fcntl.h>

#include <filesystem>
#include <utility>

#include "base/io/private_dir.h"
#include "bootstrap/store/limits.h"
#include "bootstrap/store/store_files.h"

namespace robustrun::bootstrap {

BlockProfile load_block_profile(const std::string& path, std::uint64_t length) {
  const BlockProfile none{length, 0, {}};
  if (!open_store_file(path, O_RDONLY)) return none;  // must be private to this user
  const auto text = base::read_file(path, kProfileBytesMax);
  if (!text) return none;
  auto profile = decode_block_profile(*text);
  return profile && profile->length == length ? *std::move(profile) : none;
}

TouchRecorder::TouchRecorder(std::string path, std::uint64_t length)
    : path_(std::move(path)), length_(length), seen_(blocks_of(length)) {}

void TouchRecorder::touch(std::uint64_t first, std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t block = first; block <= last; ++block) {
    if (seen_[block]) continue;
    seen_[block] = true;
    ++touched_;
    if (is_recording_) order_.push_back({static_cast<std::uint32_t>(block), 0});
  }
}

base::Status TouchRecorder::settle(const base::Clock& clock) {
  BlockProfile newest{length_, clock.wall_time().count() / 1'000'000'000, {}};
  {
    const std::lock_guard lock(mutex_);
    if (!is_recording_) return {};
    is_recording_ = false;
    newest.blocks = std::move(order_);
  }
  // If everything was in the page cache, this start tells nothing about what a start reads.
  if (newest.blocks.empty()) return {};
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  RR_TRY(base::make_directories(folder, 0700));
  const auto merged = merge_block_profiles(std::move(newest), load_block_profile(path_, length_));
  return base::write_file_atomically(path_, encode_block_profile(merged), 0600);
}

bool TouchRecorder::is_recording() const {
  const std::lock_guard lock(mutex_);
  return is_recording_;
}

std::uint64_t TouchRecorder::touched() const {
  const std::lock_guard lock(mutex_);
  return touched_;
}

}  // namespace robustrun::bootstrap
