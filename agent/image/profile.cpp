#include "agent/image/profile.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "agent/image/limits.h"
#include "base/io/fd.h"
#include "bootstrap/hot/block_profile.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/limits.h"

namespace robustrun::agent {
namespace {

namespace fs = std::filesystem;
using base::Result;
using bootstrap::BlockProfile;

constexpr std::size_t kStatusBytesMax = std::size_t{64} << 10;
constexpr base::BlockingPool::Lane kProfileLane = ~0U - 1;
constexpr std::string_view kHead = "robustrun-blocks ";  // of any version
constexpr std::size_t kTemporaryLetters = 6;  // suffix that base::write_file_atomically() adds
constexpr std::string_view kUmaskLine = "\nUmask:\t";

// Not trusted: at worst it costs useless reads ahead.
Result<std::string> read_text(const std::string& path) {
  return base::read_file(path, bootstrap::kProfileBytesMax, base::Links::kRefuse);
}

Result<BlockProfile> read_profile(const std::string& path, std::uint64_t length) {
  const std::string text = RR_TRY(read_text(path));
  auto profile = bootstrap::decode_block_profile(text);
  if (profile && profile->length != length) {
    return base::fail(base::Errc::kConflict, path + " is of another image");
  }
  return profile;
}

// Without setting it, as umask(2) would for a moment.
unsigned file_mode() {
  unsigned mask = 0077;
  const auto text = base::read_file("/proc/self/status", kStatusBytesMax);
  const std::size_t at = text ? text->find(kUmaskLine) : std::string::npos;
  if (at != std::string::npos) {
    const char* const from = text->data() + at + kUmaskLine.size();
    std::from_chars(from, text->data() + text->size(), mask, 8);
  }
  return 0644 & ~mask;
}

// Files beside `path`, which was just written, that a crash left half-written: ours, beginning like
// a profile, and so old by the file system's own clock that no process is writing them.
void remove_torn(const std::string& path) {
  struct stat whole{};
  if (::lstat(path.c_str(), &whole) != 0) return;
  const fs::path place(path);
  const std::string prefix = place.filename().string() + ".";
  std::error_code error;
  fs::directory_iterator entry(place.parent_path(), error);
  for (std::size_t seen = 0; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (++seen > kImageFolderEntriesMax) return;
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kTemporaryLetters) continue;
    const std::string torn = entry->path().string();
    struct stat status{};
    if (::lstat(torn.c_str(), &status) != 0 || status.st_uid != ::geteuid() ||
        whole.st_mtim.tv_sec - status.st_mtim.tv_sec <
            std::chrono::seconds(kTornProfileAge).count())
      continue;
    const auto text = read_text(torn);
    if (text && kHead.starts_with(text->substr(0, kHead.size()))) ::unlink(torn.c_str());
  }
}

std::string path_beside(const std::string& image) { return image + ".hot"; }

}  // namespace

base::Status take_hot_blocks(const std::string& image, const std::string& cache) {
  const bootstrap::Blob blob = RR_TRY(bootstrap::blob_of_file(image));
  const std::string own = bootstrap::block_profile_path(cache, blob.key);
  if (read_profile(own, blob.length)) return {};
  const BlockProfile profile = RR_TRY(read_profile(path_beside(image), blob.length));
  RR_TRY(base::make_directories(own.substr(0, own.rfind('/')), 0700));
  return base::write_file_atomically(own, bootstrap::encode_block_profile(profile), 0600);
}

base::Status leave_hot_blocks(const std::string& image, const std::string& cache, bool anew) {
  const bootstrap::Blob blob = RR_TRY(bootstrap::blob_of_file(image));
  const BlockProfile profile =
      RR_TRY(read_profile(bootstrap::block_profile_path(cache, blob.key), blob.length));
  const std::string path = path_beside(image);
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) {
    const std::string text = RR_TRY(read_text(path));
    if (!text.starts_with(kHead)) {
      return base::fail(base::Errc::kConflict, path + " is not a profile");
    }
    const auto there = read_profile(path, blob.length);
    if (there && (!anew || there->blocks == profile.blocks)) return {};
  }
  RR_TRY(base::write_file_atomically(path, bootstrap::encode_block_profile(profile), file_mode()));
  remove_torn(path);
  return {};
}

void take_hot_blocks_in_time(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                             const std::string& image, const std::string& cache,
                             std::function<void()> then) {
  const auto rest = std::make_shared<std::function<void()>>(std::move(then));
  const auto timer = std::make_shared<boost::asio::steady_timer>(executor, kImageProfileMax);
  const auto go_on = [rest, timer] {
    timer->cancel();
    if (*rest) std::exchange(*rest, nullptr)();
  };
  timer->async_wait([go_on](const boost::system::error_code& error) {
    if (!error) go_on();
  });
  const auto take = [image, cache] {
    static_cast<void>(take_hot_blocks(image, cache));  // on failure this start records a profile
  };
  if (!pool.submit(kProfileLane, take, go_on)) go_on();
}

void leave_hot_blocks_on(base::BlockingPool& pool, const std::string& image,
                         const std::string& cache, bool anew) {
  const auto leave = [image, cache, anew] {
    static_cast<void>(leave_hot_blocks(image, cache, anew));  // on failure the cache still has it
  };
  static_cast<void>(pool.submit(kProfileLane, leave, [] {}));
}

}  // namespace robustrun::agent
