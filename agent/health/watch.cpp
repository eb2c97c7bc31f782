#include "agent/health/watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "agent/health/clock_health.h"
#include "agent/health/finding_limit.h"
#include "agent/health/gpu_watch.h"
#include "agent/health/kernel_log.h"
#include "agent/health/kernel_record.h"
#include "agent/health/limits.h"
#include "agent/health/mount_health.h"
#include "agent/health/nic_health.h"
#include "agent/health/pressure_health.h"
#include "agent/health/probe.h"
#include "agent/node/environment.h"
#include "base/io/log.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using base::Nanos;
using wire::NodeHealth;

constexpr const char* kRootVariable = "ROBUSTRUN_HEALTH_ROOT";

class MachineWatch : public std::enable_shared_from_this<MachineWatch> {
 public:
  explicit MachineWatch(NodeContext& node)
      : node_(node), tick_(node.executor), kernel_repeats_(kKernelRepeat) {}

  // Nothing is reported any more. A look that hangs is waited for as base/io/blocking_pool.h says.
  void drop() {
    dropped_ = true;
    tick_.cancel();
    gpus_.reset();
    pool_.reset();
  }

  void start() {
    const std::string root = health_root(node_);
    if (auto log = KernelLog::open(root + kKernelLogPath)) kernel_log_.emplace(*std::move(log));
    add(nic_probe(root, node_.workers.environment), nics_);
    for (WatchedProbe& mount : mount_probes(root, node_.workers)) add(std::move(mount));
    add(pressure_probe(root, !kernel_log_));
    add(clock_probe(root, node_.clock));
    pool_.emplace(node_.executor, static_cast<unsigned>(probes_.size()), probes_.size());
    gpus_.emplace(node_, root, [this](GpuNews news) { on_gpu(std::move(news)); });
    tick();
  }

 private:
  struct Probe {
    WatchedProbe what;
    Nanos due{};
    std::optional<Nanos> asked_at;  // start of the look under way
    bool is_reported = false;  // it was reported as not answering
    bool again = false;  // look again as soon as that look has ended
  };

  void add(WatchedProbe what) { probes_.push_back({std::move(what), {}, {}, false, false}); }
  void add(WatchedProbe what, std::size_t& place) {
    place = probes_.size();
    add(std::move(what));
  }

  void tick() {
    look_at_kernel_log();
    for (std::size_t i = 0; i < probes_.size(); ++i) look_if_due(i);
    tick_.expires_after(kHealthTick);
    tick_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && !self->dropped_) self->tick();
    });
  }

  void look_at_kernel_log() {
    if (!kernel_log_) return;
    for (const std::string& line : kernel_log_->read_lines()) {
      const auto record = parse_kernel_record(line);
      if (!record) continue;
      if (tells_of_link(*record)) {
        probes_[nics_].due = {};
        probes_[nics_].again = true;
      }
      if (auto news = kernel_news(*record)) on_kernel(*std::move(news));
    }
  }

  void on_kernel(KernelNews news) {
    const Nanos now = node_.clock.now();
    if (kernel_repeats_.is_repeated(news.topic, now)) return;
    if (!news.pci.empty()) {
      if (xids_.is_echo(XidEchoes::Source::kKernelLog, news.pci, news.finding.xid, now)) return;
      if (const std::string name = gpus_->name_of(news.pci); !name.empty()) {
        news.finding.subject = name;
      }
    }
    report(std::move(news.finding));
  }

  void on_gpu(GpuNews news) {
    const bool is_echo =
        news.finding.xid != 0 &&
        xids_.is_echo(XidEchoes::Source::kLibrary, news.pci, news.finding.xid, node_.clock.now());
    if (!is_echo) report(std::move(news.finding));
  }

  void look_if_due(std::size_t place) {
    Probe& probe = probes_[place];
    const Nanos now = node_.clock.now();
    if (probe.asked_at) {
      if (now - *probe.asked_at >= kHealthLookMax && !std::exchange(probe.is_reported, true)) {
        report(silence_of(probe, false));
      }
      return;
    }
    if (now < probe.due) return;
    auto found = std::make_shared<std::vector<NodeHealth>>();
    const auto asked = pool_->submit(
        static_cast<base::BlockingPool::Lane>(place),
        [found, now, looked_at = probe.what.probe] { *found = looked_at->look(now); },
        [self = shared_from_this(), place, found] {
          if (!self->dropped_) self->on_looked(place, std::move(*found));
        });
    if (!asked) return;
    probe.asked_at = now;
    probe.again = false;
  }

  void on_looked(std::size_t place, std::vector<NodeHealth> found) {
    Probe& probe = probes_[place];
    probe.due = probe.again ? Nanos{} : *probe.asked_at + probe.what.every;
    probe.asked_at.reset();
    if (std::exchange(probe.is_reported, false)) report(silence_of(probe, true));
    for (NodeHealth& each : found) report(std::move(each));
  }

  [[nodiscard]] static NodeHealth silence_of(const Probe& probe, bool over) {
    NodeHealth finding{probe.what.source, probe.what.subject, {}, 0, over};
    finding.line = over ? fmt::format("{} answers again", probe.what.subject)
                        : fmt::format("{} does not answer for {} s", probe.what.subject,
                                      kHealthLookMax.count());
    return finding;
  }

  void report(NodeHealth finding) {
    if (auto admitted = limit_.admit(std::move(finding), node_.clock.now())) {
      node_.send(*std::move(admitted));
    }
  }

  NodeContext& node_;
  asio::steady_timer tick_;
  std::optional<KernelLog> kernel_log_;
  Repeats kernel_repeats_;
  XidEchoes xids_;
  FindingLimit limit_;
  std::vector<Probe> probes_;
  std::size_t nics_ = 0;  // index of the NIC probe in probes_
  std::optional<GpuWatch> gpus_;
  std::optional<base::BlockingPool> pool_;
  bool dropped_ = false;
};

class HealthWatchOwner final : public HealthWatch {
 public:
  explicit HealthWatchOwner(std::shared_ptr<MachineWatch> watch) : watch_(std::move(watch)) {}
  ~HealthWatchOwner() override { watch_->drop(); }
  HealthWatchOwner(const HealthWatchOwner&) = delete;
  HealthWatchOwner& operator=(const HealthWatchOwner&) = delete;

 private:
  std::shared_ptr<MachineWatch> watch_;
};

}  // namespace

std::string health_root(const NodeContext& node) {
  constexpr std::string_view kNode = "{node}";
  std::string root = Environment(node.workers.environment).get(kRootVariable).value_or("");
  if (const std::size_t at = root.find(kNode); at != root.npos) {
    root.replace(at, kNode.size(), std::to_string(node.self.value));
  }
  return root;
}

std::unique_ptr<HealthWatch> HealthWatch::start(NodeContext& node) {
  auto watch = std::make_shared<MachineWatch>(node);
  watch->start();
  return std::make_unique<HealthWatchOwner>(std::move(watch));
}

}  // namespace robustrun::agent
