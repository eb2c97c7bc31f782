#include "supervisor/console/output_hub.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace robustrun::supervisor {
namespace {

// Pieces grow up to this, so that a drop at the front frees little at a time.
constexpr std::size_t kPieceBytes = std::size_t{16} << 10;
constexpr int kEndTicks = 50;

}  // namespace

class OutputHub::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::any_io_executor executor, OutputLimits limits)
      : executor_(executor), limits_(limits), deadline_(executor), end_timer_(executor) {}

  void append(bool is_stderr, std::string_view bytes);
  void ask(const OutputQuestion& question, Answer answer);
  void end(std::function<void()> done);
  void close() {
    waiting_.clear();
    deadline_.cancel();
    end_timer_.cancel();
  }

 private:
  struct Piece {
    std::uint64_t at = 0;   // position of its first byte
    bool is_stderr = false;
    std::string bytes;
    [[nodiscard]] std::uint64_t end() const { return at + bytes.size(); }
  };
  struct Waiting {
    std::uint64_t watcher = 0;
    std::uint64_t from = 0;
    base::Nanos until{};
    Answer answer;
  };

  [[nodiscard]] std::uint64_t first() const { return pieces_.empty() ? end_ : pieces_.front().at; }
  [[nodiscard]] std::uint64_t start_of_lines(std::uint64_t lines) const;
  [[nodiscard]] std::uint64_t line_start_behind(std::uint64_t position) const;
  [[nodiscard]] OutputAnswer read_from(std::uint64_t from) const;
  void tell(std::uint64_t watcher, std::uint64_t from, const Answer& answer);
  void wake_later();
  void answer_waiting();
  void arm_deadline();
  void wait_for_watchers();

  boost::asio::any_io_executor executor_;
  const OutputLimits limits_;
  const base::SystemClock clock_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer end_timer_;
  std::deque<Piece> pieces_;
  std::uint64_t end_ = 0;
  std::vector<Waiting> waiting_;
  bool waking_ = false;
  bool ended_ = false;
  base::Nanos ended_at_{};
  std::map<std::uint64_t, base::Nanos>
      told_;  // by watcher that may ask on: time of its last answer
  std::uint64_t last_watcher_ = 0;
  std::function<void()> on_done_;
};

void OutputHub::Impl::append(bool is_stderr, std::string_view bytes) {
  if (bytes.empty() || ended_) return;
  if (bytes.size() > limits_.kept_bytes) {   // only its end can be kept
    end_ += bytes.size() - limits_.kept_bytes;
    bytes.remove_prefix(bytes.size() - limits_.kept_bytes);
    pieces_.clear();
  }
  const bool joins = !pieces_.empty() && pieces_.back().is_stderr == is_stderr &&
                     pieces_.back().bytes.size() + bytes.size() <= kPieceBytes;
  if (!joins) pieces_.push_back({end_, is_stderr, {}});
  pieces_.back().bytes.append(bytes);
  end_ += bytes.size();
  while (end_ - first() > limits_.kept_bytes) pieces_.pop_front();
  if (!waiting_.empty()) wake_later();
}

// Answers come from the loop: the caller of append() must not be re-entered.
void OutputHub::Impl::wake_later() {
  if (std::exchange(waking_, true)) return;
  boost::asio::post(executor_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->waking_ = false;
    self->answer_waiting();
  });
}

// Watchers without new output and with time left go on waiting.
void OutputHub::Impl::answer_waiting() {
  const base::Nanos now = clock_.now();
  std::vector<Waiting> all = std::exchange(waiting_, {});
  for (Waiting& one : all) {
    if (one.from >= end_ && !ended_ && now < one.until) {
      waiting_.push_back(std::move(one));
      continue;
    }
    tell(one.watcher, one.from, one.answer);
  }
  arm_deadline();
}

void OutputHub::Impl::arm_deadline() {
  if (waiting_.empty()) return void(deadline_.cancel());
  const auto next = std::ranges::min_element(waiting_, {}, &Waiting::until);
  deadline_.expires_after(std::max(base::Nanos{}, next->until - clock_.now()));
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (self) self->answer_waiting();
  });
}

void OutputHub::Impl::ask(const OutputQuestion& question, Answer answer) {
  const std::uint64_t from =
      question.from ? std::min(*question.from, end_) : start_of_lines(question.lines);
  const std::uint64_t watcher = question.watcher == 0 ? ++last_watcher_ : question.watcher;
  told_.erase(watcher);
  if (from < end_ || ended_ || question.wait <= base::Nanos{}) return tell(watcher, from, answer);
  if (waiting_.size() >= limits_.waiting_max) {
    return answer(base::fail(base::Errc::kLimit, "too many are attached to this run already"));
  }
  waiting_.push_back({watcher, from, clock_.now() + question.wait, std::move(answer)});
  arm_deadline();
}

void OutputHub::Impl::tell(std::uint64_t watcher, std::uint64_t from, const Answer& answer) {
  OutputAnswer told = read_from(from);
  told.watcher = watcher;
  if (!told.ended) {
    const base::Nanos now = clock_.now();
    // Watchers that have gone without notice.
    std::erase_if(told_, [&](const auto& one) { return now - one.second >= limits_.end_wait; });
    if (told_.size() < limits_.waiting_max) told_.emplace(watcher, now);
  }
  answer(std::move(told));
}

OutputAnswer OutputHub::Impl::read_from(std::uint64_t from) const {
  OutputAnswer answer;
  std::uint64_t at = from;
  if (at < first()) {
    at = line_start_behind(first());
    answer.dropped = at - from;
  }
  auto piece = std::ranges::upper_bound(pieces_, at, {}, &Piece::at);
  if (piece != pieces_.begin()) --piece;
  for (; piece != pieces_.end() && answer.bytes.size() < limits_.answer_bytes; ++piece) {
    if (piece->end() <= at) continue;
    const std::string_view bytes =
        std::string_view(piece->bytes)
            .substr(at - piece->at, limits_.answer_bytes - answer.bytes.size());
    answer.pieces.push_back({piece->is_stderr, bytes.size()});
    answer.bytes.append(bytes);
    at += bytes.size();
  }
  answer.position = at;
  answer.ended = ended_ && at >= end_;
  return answer;
}

// Behind the first line end; `position` itself when no other line begins.
std::uint64_t OutputHub::Impl::line_start_behind(std::uint64_t position) const {
  for (const Piece& piece : pieces_) {
    const std::size_t found = piece.bytes.find('\n');
    if (found != std::string::npos && piece.at + found + 1 < end_) return piece.at + found + 1;
  }
  return position;
}

std::uint64_t OutputHub::Impl::start_of_lines(std::uint64_t lines) const {
  if (lines == 0) return end_;
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    for (std::size_t i = piece->bytes.size(); i-- > 0;) {
      const bool starts_next = piece->bytes[i] == '\n' && piece->at + i + 1 < end_;
      if (starts_next && --lines == 0) return piece->at + i + 1;
    }
  }
  return first();
}

void OutputHub::Impl::end(std::function<void()> done) {
  ended_ = true;
  ended_at_ = clock_.now();
  on_done_ = std::move(done);
  answer_waiting();
  wait_for_watchers();
}

// Watchers that have seen everything are not waited for.
void OutputHub::Impl::wait_for_watchers() {
  const base::Nanos now = clock_.now();
  std::erase_if(told_, [&](const auto& one) { return now - one.second >= limits_.end_wait; });
  if (told_.empty() || now - ended_at_ >= limits_.end_wait_max) {
    boost::asio::post(executor_, std::exchange(on_done_, {}));
    return;
  }
  end_timer_.expires_after(limits_.end_wait / kEndTicks);
  end_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (self) self->wait_for_watchers();
  });
}

OutputHub::OutputHub(boost::asio::any_io_executor executor, OutputLimits limits)
    : impl_(std::make_shared<Impl>(std::move(executor), limits)) {}
OutputHub::~OutputHub() { impl_->close(); }
void OutputHub::append(bool is_stderr, std::string_view bytes) { impl_->append(is_stderr, bytes); }
void OutputHub::ask(const OutputQuestion& question, Answer answer) {
  impl_->ask(question, std::move(answer));
}
void OutputHub::end(std::function<void()> done) { impl_->end(std::move(done)); }

}  // namespace robustrun::supervisor
