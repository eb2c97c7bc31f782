#include "supervisor/outlets/metrics_file.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "base/io/fd.h"
#include "base/io/log.h"

namespace robustrun::supervisor {
namespace {

class RenewedFile final : public MetricsFile, public std::enable_shared_from_this<RenewedFile> {
 public:
  RenewedFile(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
              base::BlockingPool::Lane lane, std::string path, std::function<std::string()> text,
              std::chrono::milliseconds interval)
      : timer_(executor),
        pool_(pool),
        lane_(lane),
        path_(std::move(path)),
        text_(std::move(text)),
        interval_(interval) {}

  void begin() {
    write();
    timer_.expires_after(interval_);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = error ? nullptr : weak.lock();
      if (self && !self->done_) self->begin();
    });
  }

  void finish(std::function<void()> done) override {
    done_ = std::move(done);
    timer_.expires_after(kOutletEndMax);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto self = error ? nullptr : weak.lock();
      if (self) self->part();
    });
    if (!busy_) write();
  }

 private:
  void write() {
    if (std::exchange(busy_, true)) return;  // a slow disk: this page is left out
    is_last_ = static_cast<bool>(done_);
    auto written = std::make_shared<base::Status>();
    const base::Status submitted = pool_.submit(
        lane_,
        [written, path = path_, text = text_()] {
          *written = base::write_output(path, text, 0644);
        },
        [weak = weak_from_this(), written] {
          if (const auto self = weak.lock()) self->on_written(*written);
        });
    if (!submitted) on_written(submitted);
  }

  void on_written(const base::Status& written) {
    busy_ = false;
    if (!written && !std::exchange(failing_, true)) {
      RR_LOG(kWarn, {}, "{}; metrics are missing there until it takes them again",
             written.error().what);
    } else if (written && std::exchange(failing_, false)) {
      RR_LOG(kWarn, {}, "{} can be written again", path_);
    }
    if (!done_) return;
    if (is_last_) return part();
    write();
  }

  void part() {
    timer_.cancel();
    if (done_) boost::asio::post(timer_.get_executor(), std::exchange(done_, {}));
  }

  boost::asio::steady_timer timer_;
  base::BlockingPool& pool_;
  const base::BlockingPool::Lane lane_;
  const std::string path_;
  const std::function<std::string()> text_;
  const std::chrono::milliseconds interval_;
  std::function<void()> done_;
  bool busy_ = false;
  bool is_last_ = false;  // the page that is being written
  bool failing_ = false;
};

// The handlers of its waits must not keep it, but may come when it is gone.
class FileHandle final : public MetricsFile {
 public:
  explicit FileHandle(std::shared_ptr<RenewedFile> file) : file_(std::move(file)) {}
  void finish(std::function<void()> done) override { file_->finish(std::move(done)); }

 private:
  std::shared_ptr<RenewedFile> file_;
};

}  // namespace

std::unique_ptr<MetricsFile> MetricsFile::open(boost::asio::any_io_executor executor,
                                               base::BlockingPool& pool,
                                               base::BlockingPool::Lane lane, std::string path,
                                               std::function<std::string()> text,
                                               std::chrono::milliseconds interval) {
  auto file = std::make_shared<RenewedFile>(executor, pool, lane, std::move(path), std::move(text),
                                            interval);
  file->begin();
  return std::make_unique<FileHandle>(std::move(file));
}

}  // namespace robustrun::supervisor
