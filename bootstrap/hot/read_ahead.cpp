#include "bootstrap/hot/read_ahead.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

// The folder in which an import looks for the file.
std::string import_folder(const std::string& path) {
  const std::string source = source_of(path);
  return std::filesystem::path(source.empty() ? path : source).parent_path().string();
}

// Makes the kernel cache these names. Errors are ignored: the program will find them itself.
void look_up(const std::string& path, bool whole_folder) {
  struct stat status{};
  if (const std::string source = source_of(path); !source.empty()) {
    static_cast<void>(::stat(source.c_str(), &status));
  }
  if (!whole_folder) return;
  std::error_code error;
  std::filesystem::directory_iterator entry(import_folder(path), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
  }
}

// For each file, whether it is the first of its folder.
std::vector<bool> first_of_folders(const HotProfile& profile) {
  std::unordered_set<std::string> seen;
  std::vector<bool> is_first;
  for (const HotFile& file : profile.files) {
    is_first.push_back(seen.insert(import_folder(file.path)).second);
  }
  return is_first;
}

// State shared by all reading threads, which keep it alive; each piece is taken once.
struct Reading {
  explicit Reading(HotProfile wanted)
      : profile(std::move(wanted)),
        pieces(pieces_of(profile)),
        is_first_of_folder(first_of_folders(profile)),
        has_changed(profile.files.size()) {}
  const HotProfile profile;
  const std::vector<HotPiece> pieces;
  const std::vector<bool> is_first_of_folder;  // by file
  std::vector<std::atomic<bool>> has_changed;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<bool> is_over{false};
};

// Opens the file if it is unchanged since the recording.
base::Fd open_unchanged(const HotFile& file) {
  base::Fd fd(::open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto mtime = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  const bool is_same =
      static_cast<std::uint64_t>(status.st_size) == file.size && mtime == file.mtime_ns;
  return is_same ? std::move(fd) : base::Fd{};
}

// Returns false if the file ends or fails before the end of the range.
bool read_through(int fd, HotRange range, std::vector<char>& buffer) {
  while (range.length > 0) {
    const ssize_t got = ::pread(fd, buffer.data(), static_cast<std::size_t>(range.length),
                                static_cast<off_t>(range.offset));
    if (got <= 0) return false;
    range.offset += static_cast<std::uint64_t>(got);
    range.length -= static_cast<std::uint64_t>(got);
  }
  return true;
}

void read_pieces(Reading& reading) {
  // Only this thread's priority; if that is refused, its reads have the normal one.
  ::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7));
  std::vector<char> buffer(kPieceBytes);
  base::Fd fd;
  std::optional<std::size_t> opened;
  while (!reading.is_over) {
    const std::size_t number = reading.next++;
    if (number >= reading.pieces.size()) return;
    const HotPiece& piece = reading.pieces[number];
    if (reading.has_changed[piece.file]) continue;
    if (opened != piece.file) fd = open_unchanged(reading.profile.files[piece.file]);
    if (number == 0 || reading.pieces[number - 1].file != piece.file) {
      look_up(reading.profile.files[piece.file].path, reading.is_first_of_folder[piece.file]);
    }
    opened = piece.file;
    if (!fd || !read_through(fd.get(), piece.range, buffer)) {
      reading.has_changed[piece.file] = true;
      continue;
    }
    reading.bytes += piece.range.length;
  }
}

}  // namespace

bool is_outdated(const ReadAheadSummary& summary) {
  return summary.changed * kChangedPartMax > summary.files;
}

class ReadAhead::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(const boost::asio::any_io_executor& executor, const base::Clock& clock, HotProfile profile,
       Done done)
      : executor_(executor),
        clock_(clock),
        since_(clock.now()),
        reading_(std::make_shared<Reading>(std::move(profile))),
        done_(std::move(done)),
        pool_(executor, kReadsInFlight, kReadsInFlight) {}

  void begin() {
    for (std::uint32_t lane = 0; lane < kReadsInFlight; ++lane) {
      const auto done = [self = weak_from_this()] {
        if (const auto read_ahead = self.lock()) read_ahead->lane_ended();
      };
      ++lanes_;
      const auto begun = pool_.submit(lane, [reading = reading_] { read_pieces(*reading); }, done);
      if (!begun) boost::asio::post(executor_, done);
    }
  }

  void end() {
    reading_->is_over = true;
    done_ = nullptr;
  }

 private:
  void lane_ended() {
    if (--lanes_ > 0 || !done_) return;
    ReadAheadSummary summary{reading_->profile.files.size(), 0, reading_->bytes,
                             clock_.now() - since_};
    for (const auto& changed : reading_->has_changed) summary.changed += changed ? 1 : 0;
    std::exchange(done_, nullptr)(summary);
  }

  boost::asio::any_io_executor executor_;
  const base::Clock& clock_;
  base::Nanos since_;
  std::shared_ptr<Reading> reading_;
  Done done_;
  unsigned lanes_ = 0;
  base::BlockingPool pool_;
};

ReadAhead::ReadAhead(boost::asio::any_io_executor executor, const base::Clock& clock,
                     HotProfile profile, Done done)
    : impl_(std::make_shared<Impl>(executor, clock, std::move(profile), std::move(done))) {
  impl_->begin();
}
ReadAhead::~ReadAhead() { impl_->end(); }

}  // namespace robustrun::bootstrap
