#include "supervisor/outlets/incident_hook.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/tool.h"

namespace robustrun::supervisor {
namespace {

void log_output(const char* option, const std::string& output) {
  std::size_t shown = 0;
  for (const std::string_view line : base::split(base::trim(output), '\n')) {
    if (line.empty()) continue;
    if (shown++ == kHookLinesShown) {
      RR_LOG(kInfo, {}, "{}: …", option);
      return;
    }
    RR_LOG(kInfo, {}, "{}: {}", option, base::printable(line.substr(0, kHookLineBytesShown)));
  }
}

class ToolHook final : public IncidentHook {
 public:
  ToolHook(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
           base::BlockingPool::Lane lane, std::vector<std::string> argv, Limits limits,
           HookNames names, std::shared_ptr<base::Fd> stop)
      : end_timer_(executor),
        pool_(pool),
        lane_(lane),
        argv_(std::move(argv)),
        limits_(limits),
        names_(names),
        stop_(std::move(stop)) {}

  ~ToolHook() override {
    *alive_ = false;
    kill();
  }

  void run(Call call) override {
    if (queue_.size() < limits_.queue_max) {
      queue_.push_back(std::move(call));
      return next();
    }
    if (dropped_++ == 0) {
      RR_LOG(kWarn, {}, "{}: {} is too slow; dropping {}s", names_.option, argv_[0],
             names_.subject);
    }
  }

  void finish(std::function<void()> done) override {
    done_ = std::move(done);
    end_timer_.expires_after(limits_.end_max);
    end_timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
      if (!error && *alive) give_up();
    });
    settle();
  }

 private:
  void next() {
    if (busy_ || queue_.empty()) return;
    busy_ = true;
    running_ = std::move(queue_.front());
    queue_.pop_front();
    std::vector<std::string> argv = argv_;
    argv.insert(argv.end(), running_.words.begin(), running_.words.end());
    auto ended = std::make_shared<base::Result<base::ToolResult>>();
    // The descriptor is the job's, too: a thread that is left behind may still look at it.
    const base::Status submitted = pool_.submit(
        lane_,
        [ended, argv = std::move(argv), input = running_.input, time_max = limits_.time_max,
         stop = stop_] { *ended = base::run_tool(argv, time_max, input, stop->get()); },
        [this, alive = alive_, ended] {
          if (*alive) on_ended(*ended);
        });
    if (submitted) return;
    *ended = std::unexpected(submitted.error());
    on_ended(*ended);
  }

  void on_ended(const base::Result<base::ToolResult>& ended) {
    busy_ = false;
    if (!running_.done.empty()) {
      log_outcome(ended);
    } else if (!ended) {
      if (!killed_) RR_LOG(kWarn, {}, "{}: {}", names_.option, ended.error().what);
    } else {
      log_output(names_.option, ended->out);
      log_output(names_.option, ended->err);
      if (!ended->status.success()) {
        RR_LOG(kWarn, {}, "{}: {} ended with {}", names_.option, argv_[0],
               base::describe(ended->status));
      }
    }
    if (!killed_) next();
    settle();
  }

  void log_outcome(const base::Result<base::ToolResult>& ended) const {
    if (ended && ended->status.success()) {
      RR_LOG(kInfo, {}, "{}: {}", names_.option, running_.done);
      return;
    }
    std::string why = ended ? base::describe(ended->status) : ended.error().what;
    if (ended && !base::trim(ended->err).empty()) {
      const std::string_view first = base::split(base::trim(ended->err), '\n').front();
      why = base::printable(first.substr(0, kHookLineBytesShown));
    }
    RR_LOG(kWarn, {}, "{}: {} ({})", names_.option, running_.failed, why);
  }

  void give_up() {
    if (!busy_) return;
    RR_LOG(kWarn, {}, "{}: killing {}, which outlasts the run; {} dropped", names_.option, argv_[0],
           base::counted(queue_.size(), names_.subject));
    queue_.clear();
    killed_ = true;
    kill();
  }

  void kill() {
    const std::uint64_t now = 1;
    RR_ASSERT(::write(stop_->get(), &now, sizeof now) == sizeof now);
  }

  void settle() {
    if (!done_ || busy_) return;
    end_timer_.cancel();
    boost::asio::post(end_timer_.get_executor(), std::exchange(done_, {}));
  }

  boost::asio::steady_timer end_timer_;
  base::BlockingPool& pool_;
  const base::BlockingPool::Lane lane_;
  const std::vector<std::string> argv_;
  const Limits limits_;
  const HookNames names_;
  std::shared_ptr<base::Fd> stop_;  // readable: the command that runs is killed
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::deque<Call> queue_;
  Call running_;  // while busy_
  std::uint64_t dropped_ = 0;
  std::function<void()> done_;
  bool busy_ = false;
  bool killed_ = false;
};

}  // namespace

base::Result<std::unique_ptr<IncidentHook>> IncidentHook::open(
    boost::asio::any_io_executor executor, base::BlockingPool& pool, base::BlockingPool::Lane lane,
    std::vector<std::string> argv, Limits limits, HookNames names) {
  auto stop = std::make_shared<base::Fd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!*stop) {
    return base::fail_errno(std::string("cannot prepare ") + names.option, errno);
  }
  return std::make_unique<ToolHook>(executor, pool, lane, std::move(argv), limits, names,
                                    std::move(stop));
}

}  // namespace robustrun::supervisor
