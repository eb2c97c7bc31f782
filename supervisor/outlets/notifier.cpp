#include "supervisor/outlets/notifier.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/core/words.h"
#include "base/io/fd.h"
#include "base/io/http/post.h"
#include "base/io/log.h"
#include "base/io/tool.h"
#include "supervisor/outlets/notice_queue.h"
#include "supervisor/outlets/notice_texts.h"

namespace robustrun::supervisor {

// How requests and mails under way are given up. Shared with their threads.
struct NoticeStop {
  std::atomic<bool> is_set = false;
  base::Fd fd;  // readable once it is set; for tools
};

namespace {

// What came of one try.
struct Outcome {
  std::string trouble;  // empty: it was delivered
  bool is_final = false;  // another try would fail as well
};

Outcome judge_status(int status) {
  if (status >= 200 && status < 300) return {};
  const bool is_final = status < 500 && status != 408 && status != 429;
  return {fmt::format("the server answers {}", status), is_final};
}

Outcome post(const base::HttpPost& request, const std::shared_ptr<NoticeStop>& stop) {
  const auto status =
      base::http_post(request, std::shared_ptr<std::atomic<bool>>(stop, &stop->is_set));
  return status ? judge_status(*status) : Outcome{status.error().what, false};
}

Outcome mail(const std::vector<std::string>& argv, const std::string& text,
             std::chrono::milliseconds time_max, const NoticeStop& stop) {
  const auto ended = base::run_tool(argv, time_max, text, stop.fd.get());
  if (!ended) return {ended.error().what, false};
  if (ended->status.success()) return {};
  return {fmt::format("{} ended with {}", argv[0], base::describe(ended->status)), false};
}

}  // namespace

// One target with its queue.
class Notifier::Sender {
 public:
  Sender(const boost::asio::any_io_executor& executor, const base::Clock& clock,
         base::BlockingPool& pool, base::BlockingPool::Lane lane, NotifyTarget target,
         const NotifyPlan& plan, std::chrono::milliseconds request_max,
         std::shared_ptr<NoticeStop> stop, std::function<void()> on_settled)
      : clock_(clock),
        pool_(pool),
        lane_(lane),
        target_(std::move(target)),
        sendmail_(plan.sendmail),
        authorities_(plan.authorities),
        request_max_(request_max),
        stop_(std::move(stop)),
        on_settled_(std::move(on_settled)),
        timer_(executor) {}
  ~Sender() { *alive_ = false; }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void tell(const Notice& notice, const NoticeSubject& subject) {
    subject_ = subject;
    queue_.push(notice);
    go_on();
  }
  void hurry() {
    queue_.hurry();
    go_on();
  }
  [[nodiscard]] bool is_settled() const { return !busy_ && queue_.size() == 0; }
  [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
  [[nodiscard]] std::string shown() const { return shown_target(target_); }

 private:
  void go_on() {
    if (busy_ || stop_->is_set) return;
    const base::Nanos now = clock_.now();
    if (const auto notice = queue_.next(now)) return send(*notice);
    const auto due = queue_.due();
    if (!due) return on_settled_();
    timer_.after(*due - now, [this] { go_on(); });
  }

  void send(const Notice& notice) {
    busy_ = true;
    timer_.cancel();
    auto outcome = std::make_shared<Outcome>();
    std::function<void()> work;
    if (target_.kind == NotifyTarget::Kind::kMail) {
      work = [outcome, stop = stop_, time_max = request_max_,
              argv = std::vector<std::string>{sendmail_, "-i", "--", target_.address},
              text = notice_mail(target_.address, notice, subject_)] {
        *outcome = mail(argv, text, time_max, *stop);
      };
    } else {
      base::HttpPost request = notice_request(target_, notice, subject_,
                                              clock_.wall_time() - (clock_.now() - notice.at));
      request.authorities = authorities_;
      request.time_max = request_max_;
      work = [outcome, stop = stop_, request = std::move(request)] {
        *outcome = post(request, stop);
      };
    }
    const base::Status submitted =
        pool_.submit(lane_, std::move(work), [this, alive = alive_, outcome] {
          if (*alive) on_outcome(*outcome);
        });
    if (submitted) return;
    timer_.after({}, [this, what = submitted.error().what] { on_outcome({what, false}); });
  }

  void on_outcome(const Outcome& outcome) {
    busy_ = false;
    const base::Nanos now = clock_.now();
    if (outcome.trouble.empty()) {
      queue_.sent(now);
      is_troubled_ = false;
    } else if (!stop_->is_set) {
      const bool again = queue_.failed(now, outcome.is_final);
      if (!std::exchange(is_troubled_, true)) {
        RR_LOG(kWarn, {}, "cannot notify {}: {}; {}", shown(), outcome.trouble,
               again ? "trying again" : "this notice is dropped");
      }
    }
    if (stop_->is_set) return on_settled_();
    go_on();
  }

  const base::Clock& clock_;
  base::BlockingPool& pool_;
  const base::BlockingPool::Lane lane_;
  const NotifyTarget target_;
  const std::string sendmail_;
  const std::string authorities_;
  const std::chrono::milliseconds request_max_;
  const std::shared_ptr<NoticeStop> stop_;
  const std::function<void()> on_settled_;
  base::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  NoticeSubject subject_;
  NoticeQueue queue_;
  bool busy_ = false;
  bool is_troubled_ = false;  // the last try failed
};

Notifier::Notifier(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                   const NotifyPlan& plan, Limits limits)
    : limits_(limits),
      end_timer_(executor),
      stop_(std::make_shared<NoticeStop>()),
      pool_(executor, static_cast<unsigned>(plan.targets.size()), plan.targets.size()) {
  RR_ASSERT(!plan.targets.empty());
  stop_->fd = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  base::BlockingPool::Lane lane = 0;
  for (const NotifyTarget& target : plan.targets) {
    senders_.push_back(std::make_unique<Sender>(executor, clock, pool_, lane++, target, plan,
                                                limits.request_max, stop_, [this] { settle(); }));
  }
}

Notifier::~Notifier() { stop(); }

void Notifier::tell(const Notice& notice, const NoticeSubject& subject) {
  for (const auto& sender : senders_) sender->tell(notice, subject);
}

void Notifier::finish(std::function<void()> done) {
  done_ = std::move(done);
  end_timer_.after(limits_.end_max, [this] { give_up(); });
  for (const auto& sender : senders_) sender->hurry();
  settle();
}

void Notifier::settle() {
  const auto settled = [](const auto& sender) { return sender->is_settled(); };
  if (done_ && std::ranges::all_of(senders_, settled)) end();
}

void Notifier::give_up() {
  for (const auto& sender : senders_) {
    if (sender->is_settled()) continue;
    RR_LOG(kWarn, {}, "{} for {} not delivered by the run's end",
           base::counted(sender->waiting(), "notice"), sender->shown());
  }
  stop();
  end();
}

void Notifier::stop() {
  if (stop_->is_set.exchange(true)) return;
  const std::uint64_t now = 1;
  static_cast<void>(::write(stop_->fd.get(), &now, sizeof now) == sizeof now);
}

void Notifier::end() {
  end_timer_.cancel();
  if (done_) boost::asio::post(end_timer_.get_executor(), std::exchange(done_, {}));
}

}  // namespace robustrun::supervisor
