#include "supervisor/console/console.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <string_view>

#include "base/core/words.h"
#include "base/io/bounded_writer.h"
#include "base/io/log.h"
#include "supervisor/console/bar_fold.h"
#include "supervisor/console/frame_fold.h"
#include "supervisor/console/line_fold.h"
#include "supervisor/console/line_prefix.h"
#include "supervisor/console/live_area.h"
#include "supervisor/console/traceback_fold.h"

namespace robustrun::supervisor {
namespace {

using base::BoundedWriter;

constexpr unsigned kThreads = 2;       // one per destination
constexpr std::size_t kJobsMax = 4;    // a destination has at most one job waiting

bool same_destination(int a, int b) {
  struct stat first{};
  struct stat second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

class LocalConsole final : public Console {
 public:
  LocalConsole(boost::asio::any_io_executor executor, ConsoleStyle style, std::string role,
               std::function<void()> on_drained, ConsoleLimits limits)
      : executor_(executor),
        style_(std::move(style)),
        role_(std::move(role)),
        on_drained_(std::move(on_drained)),
        limits_(limits),
        folder_(LineFoldLimits{.window = style_.live ? base::Nanos(kLiveFoldWindow)
                                                     : base::Nanos(kFoldWindow)}),
        pool_(executor, kThreads, kJobsMax) {}

  void open(int out_fd, int err_fd) {
    const bool shared = same_destination(out_fd, err_fd);
    open_writer(writers_[0], out_fd, 0, shared ? "standard output and error" : "standard output",
                !shared);
    if (!shared) open_writer(writers_[1], err_fd, 1, "standard error", false);
    if (style_.live) terminal_ = base::Fd(::fcntl(err_fd, F_DUPFD_CLOEXEC, 0));
    err_index_ = shared ? 0 : 1;
    is_beside_log_ = same_destination(err_fd, STDERR_FILENO);
  }

  void fold_tracebacks(TracebackFold fold, std::optional<base::Rank> failed) override {
    for (const wire::Output& shown : tracebacks_.set(fold, failed)) {
      write_lines(shown, host_of(shown.rank));
    }
    arm_traceback_timer();
  }

  void show_live(std::string line) override {
    for (const wire::Output& shown : bars_.end_quiet()) write_lines(shown, host_of(shown.rank));
    live_line_ = std::move(line);
    draw_live();
  }

  void write(const wire::Output& output, std::string_view host) override {
    const bool has_bars = terminal_ && style_.prefix != ConsoleStyle::Prefix::kNone;
    if (!has_bars && !output.is_stderr) return write_lines(output, host);
    hosts_[output.rank.value] = host;
    wire::Output rest = output;
    if (has_bars) rest.bytes = bars_.take(rest);
    rest.bytes = tracebacks_.take(rest, clock_.now());
    rest.partial = !rest.bytes.ends_with('\n');
    if (!rest.bytes.empty()) write_lines(rest, host);
    arm_traceback_timer();
    if (has_bars && clock_.now() - drawn_at_ >= kLiveDrawInterval) draw_live();
  }

  void show_held() override { show(folder_.flush()); }

  void end_bars() override {
    for (const wire::Output& shown : bars_.end()) write_lines(shown, host_of(shown.rank));
  }

  // A terminal that does not keep up gets the newest state later.
  void draw_live() {
    winsize size{};
    if (!terminal_ || !writers_[err_index_] || writers_[err_index_]->queued_bytes() > 0 ||
        ::ioctl(terminal_.get(), TIOCGWINSZ, &size) != 0) {
      return;
    }
    drawn_at_ = clock_.now();
    std::vector<std::string> lines;
    if (const auto bar = bars_.bar()) {
      lines.push_back(fmt::format("[rank {}] {}", bar->rank.value, bar->text));
      if (bar->others > 0) {
        lines.back() += fmt::format("  and {}", base::counted(bar->others, "other rank"));
      }
    }
    if (!live_line_.empty()) lines.push_back(live_line_);
    const std::string bytes = live_.draw({size.ws_row, size.ws_col}, std::move(lines));
    if (!bytes.empty()) writers_[err_index_]->append(bytes);
  }

  void write_lines(const wire::Output& output, std::string_view host) {
    if (!style_.fold) return show(output, line_prefix(style_, role_, host, output));
    hosts_[output.rank.value] = host;
    show(folder_.take(output, clock_.now()));
    arm_fold_timer();
  }

  void show(const std::vector<FoldedOutput>& folded) {
    for (const FoldedOutput& one : folded) {
      const bool colour = one.output.is_stderr ? style_.colour_err : style_.colour_out;
      show(one.output, one.ranks.size() > 1
                           ? folded_prefix(one.ranks, colour)
                           : line_prefix(style_, role_, host_of(one.output.rank), one.output));
    }
  }

  [[nodiscard]] std::string_view host_of(base::Rank rank) const {
    const auto known = hosts_.find(rank.value);
    return known == hosts_.end() ? std::string_view() : known->second;
  }

  void arm_fold_timer() {
    const auto due = folder_.next_due();
    if (!due) return;
    fold_timer_.expires_after(std::max(base::Nanos{}, *due - clock_.now()));
    fold_timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      show(folder_.due(clock_.now()));
      arm_fold_timer();
    });
  }

  void arm_traceback_timer() {
    const auto due = tracebacks_.next_due();
    if (due == traceback_due_) return;
    traceback_due_ = due;
    traceback_timer_.cancel();
    if (!due) return;
    traceback_timer_.expires_after(std::max(base::Nanos{}, *due - clock_.now()));
    traceback_timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      for (const wire::Output& shown : tracebacks_.due(clock_.now())) {
        write_lines(shown, host_of(shown.rank));
      }
      arm_traceback_timer();
    });
  }

  void copy_to(Copy copy) override { copy_ = std::move(copy); }

  base::Status redirect(const base::Fd& file) override {
    for (const auto& writer : writers_) {
      if (writer) RR_TRY(writer->redirect(file));
    }
    return {};
  }

  // With line prefixes of its own: what the destinations drop is in there.
  void copy(const wire::Output& output, const std::string& prefix) {
    if (!copy_) return;
    copied_.clear();
    copy_prefixers_[output.is_stderr ? 1 : 0].append(copied_, {output.rank, output.is_stderr},
                                                     prefix, output.bytes,
                                                     known_prefix(style_, output));
    copy_(output.is_stderr, copied_);
  }

  void show(const wire::Output& output, const std::string& prefix) {
    copy(output, prefix);
    const std::size_t index = output.is_stderr ? err_index_ : 0;
    if (!writers_[index]) {
      dropped_ += output.bytes.size();
      return;
    }
    BoundedWriter& writer = *writers_[index];
    const BoundedWriter::Room room = writer.begin(output.bytes.size());
    if (room == BoundedWriter::Room::kNone) return;
    if (room == BoundedWriter::Room::kAfterGap) prefixers_[index].reset();
    note_log_line(index);
    prefixers_[index].append(writer.queue(), {output.rank, output.is_stderr}, prefix, output.bytes,
                             known_prefix(style_, output));
    if (is_beside_log_ && index == err_index_ && !output.bytes.empty()) {
      base::set_stderr_in_line(is_in_line_ = !output.bytes.ends_with('\n'));
    }
    writer.commit();
    was_congested_ = congested();
  }

  [[nodiscard]] bool congested() const override {
    return std::ranges::any_of(writers_,
                               [](const auto& writer) { return writer && writer->congested(); });
  }

  [[nodiscard]] std::uint64_t dropped_bytes() const override {
    std::uint64_t sum = dropped_;
    for (const auto& writer : writers_) sum += writer ? writer->dropped_bytes() : 0;
    return sum;
  }

  void flush(std::function<void()> done) override {
    fold_timer_.cancel();
    traceback_timer_.cancel();
    end_bars();
    for (const wire::Output& shown : tracebacks_.flush()) write_lines(shown, host_of(shown.rank));
    show_held();
    if (terminal_ && writers_[err_index_]) {
      // A worker may have been killed while its bar hid the cursor.
      writers_[err_index_]->append(live_.release().append(kShowCursor));
    }
    terminal_ = {};
    on_flushed_ = std::move(done);
    for (std::size_t i = 0; i < copy_prefixers_.size(); ++i) {
      if (copy_ && copy_prefixers_[i].in_line()) copy_(i == 1, "\n");
      copy_prefixers_[i].reset();
    }
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      if (!writers_[i]) continue;
      note_log_line(i);
      if (prefixers_[i].in_line()) {
        writers_[i]->append("\n");
        if (is_beside_log_ && i == err_index_) base::set_stderr_in_line(false);
      }
      prefixers_[i].reset();
      writers_[i]->finish();
    }
    on_progress();
  }

  [[nodiscard]] std::size_t held_bytes() const override {
    std::size_t sum = 0;
    for (const auto& writer : writers_) sum += writer ? writer->held_bytes() : 0;
    return sum;
  }

 private:
  void open_writer(std::unique_ptr<BoundedWriter>& writer, int fd, base::BlockingPool::Lane lane,
                   const char* name, bool log_trouble) {
    BoundedWriter::Options options;
    options.fd = base::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!options.fd) return;  // closed by the caller: there is no console
    options.name = name;
    options.congested_bytes = limits_.congested_bytes;
    options.queue_bytes_max = limits_.queue_bytes_max;
    options.stall_max = limits_.stall_max;
    options.retry_after = limits_.retry_after;
    BoundedWriter::Handlers handlers;
    handlers.on_progress = [this] { on_progress(); };
    // Our log goes to standard error: no use in telling that about its own trouble.
    if (log_trouble) {
      handlers.on_trouble = [](const std::string& what) { RR_LOG(kWarn, {}, "{}", what); };
    }
    writer = std::make_unique<BoundedWriter>(executor_, pool_, lane, std::move(options),
                                             std::move(handlers));
  }

  // A line of the log has ended the line that was open.
  void note_log_line(std::size_t index) {
    if (index != err_index_ || !is_in_line_ || base::is_stderr_in_line()) return;
    is_in_line_ = false;
    prefixers_[index].reset();
  }

  void on_progress() {
    if (std::exchange(was_congested_, congested()) && !was_congested_ && on_drained_) {
      boost::asio::post(executor_, on_drained_);
    }
    const bool settled = std::ranges::all_of(
        writers_, [](const auto& writer) { return !writer || writer->settled(); });
    if (!settled || !on_flushed_) return;
    tell_losses();
    boost::asio::post(executor_, std::exchange(on_flushed_, {}));
  }

  void tell_losses() const {
    std::uint64_t lost = 0;
    for (const auto& writer : writers_) {
      if (writer && !writer->reader_gone())
        lost += writer->dropped_bytes() + writer->queued_bytes();
    }
    if (lost > 0) RR_LOG(kWarn, {}, "{} bytes of output were not shown", lost);
  }

  boost::asio::any_io_executor executor_;
  const ConsoleStyle style_;
  const std::string role_;
  const std::function<void()> on_drained_;
  std::function<void()> on_flushed_;
  const ConsoleLimits limits_;
  const base::SystemClock clock_;
  LineFolder folder_;
  TracebackFolder tracebacks_;
  base::Fd terminal_;  // none: no live area
  LiveArea live_;
  BarFold bars_;
  std::string live_line_;
  base::Nanos drawn_at_{};
  std::map<std::uint32_t, std::string> hosts_;  // by rank; of lines that are not shown at once
  boost::asio::steady_timer fold_timer_{executor_};
  boost::asio::steady_timer traceback_timer_{executor_};
  std::optional<base::Nanos> traceback_due_;  // when the timer ends
  base::BlockingPool pool_;  // outlives the writers, which tell their threads to end
  std::array<std::unique_ptr<BoundedWriter>, 2> writers_;
  std::array<LinePrefixer, 2> prefixers_;
  std::array<LinePrefixer, 2> copy_prefixers_;   // stdout, stderr
  std::string copied_;
  Copy copy_;
  std::size_t err_index_ = 1;
  bool is_beside_log_ = false;  // standard error of this process, where our log goes
  bool is_in_line_ = false;  // there, when output was last shown
  bool was_congested_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace

std::unique_ptr<Console> Console::open(boost::asio::any_io_executor executor, int out_fd,
                                       int err_fd, ConsoleStyle style, std::string role,
                                       std::function<void()> on_drained, ConsoleLimits limits) {
  // A run that was taken over may have been started in a terminal, and have none now.
  style.live = style.live && ::isatty(err_fd) == 1;
  auto console = std::make_unique<LocalConsole>(std::move(executor), std::move(style),
                                                std::move(role), std::move(on_drained), limits);
  console->open(out_fd, err_fd);
  return console;
}

}  // namespace robustrun::supervisor
