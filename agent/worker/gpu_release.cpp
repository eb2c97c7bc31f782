#include "agent/worker/gpu_release.h"

#include <fmt/core.h>

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "agent/health/gpu_watch.h"
#include "agent/health/watch.h"
#include "agent/node/limits.h"
#include "agent/process/ask_program.h"
#include "agent/spawn/worker_command.h"
#include "agent/worker/gpu_holders.h"
#include "base/io/log.h"
#include "base/io/timer.h"

namespace robustrun::agent {
namespace {

class NoGpus final : public GpuRelease {
 public:
  [[nodiscard]] bool is_ready() const override { return false; }
  void workers_gone(std::size_t) override {}
  void when_free(std::function<void()> go) override { go(); }
};

class GpuReleaseImpl final : public GpuRelease {
 public:
  explicit GpuReleaseImpl(NodeContext& node)
      : node_(node), again_(node.executor), limit_(node.executor) {
    ask([this](std::vector<GpuReading> gpus) { on_first_look(std::move(gpus)); });
  }

  [[nodiscard]] bool is_ready() const override { return before_.has_value(); }
  void workers_gone(std::size_t count) override {
    if (!before_) return;
    visible_.clear();
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      const auto devices = devices_of(node_.workers, base::LocalRank{rank});
      visible_.insert(visible_.end(), devices.begin(), devices.end());
    }
    look();
  }

  void when_free(std::function<void()> go) override {
    if (!begun_at_) begun_at_ = node_.clock.now();
    if (!may_hold_) return go();
    go_ = std::move(go);
    waiting_since_ = node_.clock.now();
    held_by_.clear();
    if (!asked_ && !counting_) look();
    watch_limit();
  }

 private:
  using Take = std::function<void(std::vector<GpuReading>)>;
  struct Count {
    std::vector<GpuHolder> holders;
    std::string words;
  };

  void ask(Take take);
  void on_first_look(std::vector<GpuReading> gpus);
  void look();
  void count_holders(std::vector<GpuReading> gpus);
  void on_counted(const Count& count);
  void watch_limit();
  [[nodiscard]] base::Nanos waited() const { return node_.clock.now() - waiting_since_; }
  void release_held();
  void release();

  const std::shared_ptr<GpuReleaseImpl*> self_ = std::make_shared<GpuReleaseImpl*>(this);
  NodeContext& node_;
  boost::asio::steady_timer again_;
  base::Timer limit_;                          // of kGpuFreeMax
  std::unique_ptr<AskedProgram> asked_;        // null: no question is under way
  std::optional<std::vector<GpuReading>> before_;  // none: unknown
  std::vector<std::string> visible_;           // GPUs of the previous workers; empty: all
  std::function<void()> go_;                   // null: no start waits
  base::Nanos waiting_since_{};
  std::string held_by_;                        // at the last count since then
  std::optional<base::Nanos> begun_at_;        // when the first workers were to start
  bool may_hold_ = false;  // workers have ended, and it is not known whether GPUs are free
  bool counting_ = false;
};

// `take` is not called after a failure: then no start waits any more.
void GpuReleaseImpl::ask(Take take) {
  Question question{node_.shim,
                    {node_.executable, "agent", "--gpu-states"},
                    node_.workers.environment,
                    {},
                    kGpuAskMax};
  asked_ = AskedProgram::ask(
      node_.executor, std::move(question),
      [this, take = std::move(take)](const base::Result<std::string>& answer) {
        const auto done = std::move(asked_);
        auto gpus = answer ? read_gpu_states(*answer) : std::unexpected(answer.error());
        if (gpus) return take(*std::move(gpus));
        RR_LOG(kDebug, {}, "GPUs are not waited for: {}", gpus.error().what);
        release();
      });
}

// On one machine the first workers may have started by then: their processes are ignored, and after
// a while their memory cannot be told from that of others.
void GpuReleaseImpl::on_first_look(std::vector<GpuReading> gpus) {
  const bool is_late = begun_at_ && node_.clock.now() - *begun_at_ > kGpuFirstLookLate;
  auto seen = std::make_shared<std::vector<GpuReading>>(std::move(gpus));
  const auto work = [seen, is_late, workers = node_.workers] {
    for (GpuReading& gpu : *seen) {
      if (is_late) gpu.state.used_mib.reset();
      std::erase_if(gpu.pids,
                    [&workers](pid_t pid) { return gpu_user(pid, workers) == GpuUser::kOurs; });
    }
  };
  // If this is not submitted, nothing will be waited for.
  static_cast<void>(node_.pool.submit(kGpuLane, work, [self = std::weak_ptr(self_), seen] {
    if (const auto release = self.lock()) (*release)->before_ = std::move(*seen);
  }));
}

void GpuReleaseImpl::look() {
  may_hold_ = true;
  ask([this](std::vector<GpuReading> gpus) {
    count_holders(gpus_of(std::move(gpus), {}, visible_));
  });
}

// On the pool: /proc may block for processes that are dying.
void GpuReleaseImpl::count_holders(std::vector<GpuReading> gpus) {
  auto count = std::make_shared<Count>();
  const auto work = [count, gpus = std::move(gpus), before = *before_, workers = node_.workers] {
    const auto user_of = [&workers](pid_t pid) { return gpu_user(pid, workers); };
    count->holders = gpu_holders(gpus, before, user_of);
    count->words = in_words(count->holders, user_of);
  };
  counting_ = true;
  const auto submitted = node_.pool.submit(kGpuLane, work, [self = std::weak_ptr(self_), count] {
    if (const auto release = self.lock()) (*release)->on_counted(*count);
  });
  if (!submitted) on_counted({});
}

void GpuReleaseImpl::on_counted(const Count& count) {
  counting_ = false;
  if (count.holders.empty()) {
    if (go_ && waited() >= kGpuWaitReported) {
      RR_LOG(kInfo, {}, "waited {:.1f} s for GPU memory of the previous workers",
             std::chrono::duration<double>(waited()).count());
    }
    return release();
  }
  if (!go_) return;  // asked again when a start waits
  held_by_ = count.words;
  if (waited() >= kGpuFreeMax) return release_held();
  again_.expires_after(kGpuFreePoll);
  again_.async_wait([this](const boost::system::error_code& error) {
    if (!error) look();
  });
}

// Beside the counts, which may not come back.
void GpuReleaseImpl::watch_limit() {
  if (!go_) return;
  limit_.after(kGpuFreePoll, [this] { waited() >= kGpuFreeMax ? release_held() : watch_limit(); });
}

void GpuReleaseImpl::release_held() {
  RR_LOG(kWarn, {},
         "GPU memory of the previous workers is not free after {:.0f} s; new workers start "
         "nevertheless; held: {}",
         std::chrono::duration<double>(waited()).count(),
         held_by_.empty() ? "by unknown processes, since counting them takes too long" : held_by_);
  release();
}

void GpuReleaseImpl::release() {
  limit_.cancel();
  again_.cancel();
  may_hold_ = false;
  if (const auto go = std::exchange(go_, nullptr)) go();
}

}  // namespace

std::unique_ptr<GpuRelease> GpuRelease::start(NodeContext& node) {
  if (node.workers.compat || !has_gpu_driver(health_root(node))) return std::make_unique<NoGpus>();
  return std::make_unique<GpuReleaseImpl>(node);
}

}  // namespace robustrun::agent
