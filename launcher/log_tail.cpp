#include "launcher/log_tail.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <utility>

#include "base/io/fd.h"
#include "launcher/limits.h"

namespace robustrun::launcher {
namespace {

constexpr std::size_t kTailReadBytes = 4096;

class InotifyTail final : public LogTail {
 public:
  InotifyTail(const boost::asio::any_io_executor& executor, base::Fd file, OnLine on_line)
      : file_(std::move(file)), on_line_(std::move(on_line)), events_(executor) {}

  base::Status watch(const std::string& path) {
    base::Fd events(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!events || ::inotify_add_watch(events.get(), path.c_str(), IN_MODIFY) < 0) {
      return base::fail_errno("cannot watch " + path, errno);
    }
    boost::system::error_code error;
    events_.assign(events.get(), error);
    if (error) return base::fail_errno("cannot watch " + path, error.value());
    static_cast<void>(events.release());
    await();
    read();
    return {};
  }

  void finish() override {
    read();
    if (!line_.empty()) on_line_(std::exchange(line_, {}));
  }

 private:
  void await() {
    events_.async_read_some(boost::asio::buffer(ignored_),
                            [this](const boost::system::error_code& error, std::size_t) {
                              if (error) return;  // aborted: this object is gone
                              await();
                              read();
                            });
  }

  void read() {
    std::array<char, kTailReadBytes> bytes{};
    for (ssize_t got = 0; (got = ::read(file_.get(), bytes.data(), bytes.size())) > 0;) {
      for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(got))) {
        if (c == '\n') {
          on_line_(std::exchange(line_, {}));
        } else if (line_.size() < kSrunLineBytesMax) {
          line_ += c;
        }
      }
    }
  }

  base::Fd file_;
  OnLine on_line_;
  boost::asio::posix::stream_descriptor events_;
  std::string line_;
  alignas(inotify_event) std::array<char, kTailReadBytes> ignored_{};
};

}  // namespace

base::Result<std::unique_ptr<LogTail>> LogTail::follow(boost::asio::any_io_executor executor,
                                                       const std::string& path, OnLine on_line) {
  base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return base::fail_errno("cannot read " + path, errno);
  auto tail = std::make_unique<InotifyTail>(executor, std::move(file), std::move(on_line));
  RR_TRY(tail->watch(path));
  return tail;
}

}  // namespace robustrun::launcher
