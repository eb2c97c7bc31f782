#include "supervisor/outlets/outlets.h"

#include <fmt/core.h>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <utility>

#include "base/core/build_id.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "supervisor/control/file.h"
#include "supervisor/core/report/time/fold.h"
#include "supervisor/core/status/event_lines.h"
#include "supervisor/core/status/metrics_text.h"
#include "supervisor/core/status/run_totals.h"
#include "supervisor/outlets/bad_node_calls.h"
#include "supervisor/outlets/event_stream.h"
#include "supervisor/outlets/incident_hook.h"
#include "supervisor/outlets/metrics_file.h"
#include "supervisor/outlets/metrics_server.h"
#include "supervisor/outlets/notice_fold.h"
#include "supervisor/outlets/notice_texts.h"
#include "supervisor/outlets/notifier.h"

namespace robustrun::supervisor {
namespace {

enum OutletLane : base::BlockingPool::Lane {
  kFileLane,
  kEventsLane,
  kHookLane,
  kIncidentsLane,
  kBadNodeLane
};

class LocalOutlets final : public Outlets {
 public:
  LocalOutlets(boost::asio::any_io_executor executor, const base::Clock& clock,
               const OutletPlan& plan)
      : executor_(std::move(executor)),
        clock_(clock),
        plan_(plan),
        build_(base::build_id()),
        notices_(plan.notify.stalled_after),
        bad_node_calls_(plan_.on_bad_node),
        look_timer_(executor_),
        pool_(executor_, kOutletThreads, kOutletJobsMax) {
    if (plan_.notify.targets.empty()) return;
    notifier_ = std::make_unique<Notifier>(executor_, clock_, plan_.notify, Notifier::Limits{});
  }

  base::Status open_server() {
    if (plan_.metrics_address.empty()) return {};
    server_ = RR_TRY(MetricsServer::open(executor_, plan_.metrics_address, plan_.metrics_port,
                                         [this] { return page(); }, {}));
    RR_LOG(kInfo, {}, "metrics at {}", server_->url());
    return {};
  }

  base::Status open_events() {
    if (!plan_.events_file.empty()) {
      auto file = RR_TRY(EventStream::open_file(plan_.events_file));
      events_ = std::make_unique<EventStream>(executor_, pool_, kEventsLane, std::move(file),
                                              plan_.events_file);
    } else if (plan_.events_fd >= 0) {
      auto copy = RR_TRY(EventStream::open_descriptor(plan_.events_fd));
      events_ = std::make_unique<EventStream>(executor_, pool_, kEventsLane, std::move(copy),
                                              fmt::format("descriptor {}", plan_.events_fd));
    }
    return {};
  }

  base::Status open_incidents() {
    const std::string& path = plan_.incidents_file;
    if (path.empty()) return {};
    RR_TRY(base::make_directories(path.substr(0, path.rfind('/')), 0700));
    auto file = RR_TRY(EventStream::open_file(path));
    incidents_ =
        std::make_unique<EventStream>(executor_, pool_, kIncidentsLane, std::move(file), path);
    return {};
  }

  base::Status open_hook() {
    if (plan_.on_incident.empty()) return {};
    hook_ = RR_TRY(IncidentHook::open(executor_, pool_, kHookLane, plan_.on_incident, {}));
    return {};
  }

  base::Status open_bad_node_hook() {
    if (plan_.on_bad_node.action == BadNodePlan::Action::kNone) return {};
    bad_node_hook_ = RR_TRY(IncidentHook::open(
        executor_, pool_, kBadNodeLane, plan_.on_bad_node.argv, {}, {"--on-bad-node", "node"}));
    return {};
  }

  // States are not journaled: a replay shows them. An event's decisions lie behind it, and come
  // before the state that it led to.
  void catch_up(const std::vector<JournalEntry>& entries) override {
    Job job;
    for (const JournalEntry& entry : entries) {
      const auto* event = std::get_if<Event>(&entry.what);
      if (event != nullptr) learn(lines_.take(job.state(), entry.at));
      if (const auto bad = bad_nodes_.take(entry)) {
        std::string ignored;  // the previous supervisor has called
        static_cast<void>(bad_node_calls_.call_for(*bad, ignored));
      }
      totals_.take(entry);
      time_.take(entry);
      learn(lines_.take(entry));
      if (event != nullptr) static_cast<void>(job.handle(*event));
    }
    if (!entries.empty()) learn(lines_.take(job.state(), entries.back().at));
  }

  void take(const JournalEntry& entry) override {
    totals_.take(entry);
    time_.take(entry);
    if (const auto event = lines_.take(entry)) tell(*event);
    if (const auto bad = bad_nodes_.take(entry)) tell(*bad);
  }

  void take(JobState state, base::Nanos at) override {
    if (const auto event = lines_.take(state, at)) tell(*event);
  }

  [[nodiscard]] std::string metrics_url() const override { return server_ ? server_->url() : ""; }

  void begin(std::function<RunStatus()> status) override {
    status_ = std::move(status);
    if (notifier_) look_for_steps();
    if (plan_.metrics_file.empty()) return;
    file_ = MetricsFile::open(executor_, pool_, kFileLane, plan_.metrics_file,
                              [this] { return fresh_page(); });
  }

  // The command first: it may be slow, and its output goes to the log. Notices go out meanwhile.
  void end(std::function<void()> done) override {
    look_timer_.cancel();
    if (notifier_) {
      auto both = [this, left = std::make_shared<int>(2), done = std::move(done)] {
        if (--*left == 0) done();
      };
      notifier_->finish(both);
      done = std::move(both);
    }
    auto end_events = [this, done = std::move(done)] {
      server_.reset();
      if (!events_) return done();
      events_->finish(done);
    };
    auto end_incidents = [this, end_events = std::move(end_events)] {
      if (!incidents_) return end_events();
      incidents_->finish(end_events);
    };
    auto end_file = [this, end_incidents = std::move(end_incidents)] {
      if (!file_) return end_incidents();
      file_->finish(end_incidents);
    };
    auto end_hook = [this, end_file = std::move(end_file)] {
      if (!hook_) return end_file();
      hook_->finish(end_file);
    };
    if (!bad_node_hook_) return end_hook();
    bad_node_hook_->finish(std::move(end_hook));
  }

 private:
  void tell(const RunEvent& event) {
    if (notifier_) notify(notices_.take(event));
    if (!events_ && !hook_ && !incidents_) return;
    const std::string line = lines_.json(event);
    if (events_) events_->append(line);
    if (!event.incident && !event.gave_up) return;
    if (incidents_) incidents_->append(line);
    if (hook_) hook_->tell(line + "\n");
  }

  void learn(const std::optional<RunEvent>& past) {
    if (past) static_cast<void>(notices_.take(*past));
  }

  void tell(const BadNode& bad) {
    if (!bad_node_hook_) return;
    std::string why_not;
    if (auto call = bad_node_calls_.call_for(bad, why_not)) {
      bad_node_hook_->run(*std::move(call));
    } else {
      RR_LOG(kWarn, {}, "--on-bad-node: {}", why_not);
    }
  }

  void notify(const std::optional<Notice>& notice) {
    if (!notice || !status_) return;
    const RunStatus status = status_();
    notifier_->tell(*notice, {status.run_id, status.program, this_host()});
  }

  void look_for_steps() {
    notify(notices_.look(status_(), clock_.now()));
    look_timer_.expires_after(kNoticeLookEvery);
    look_timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) look_for_steps();
    });
  }

  // Asked for often, it costs no more.
  const std::string& page() {
    const base::Nanos now = clock_.now();
    if (page_.empty() || now - made_at_ >= kMetricsFreshFor) page_ = fresh_page();
    return page_;
  }

  std::string fresh_page() {
    made_at_ = clock_.now();
    MetricsFacts facts;
    if (status_) facts.status = status_();
    facts.totals = totals_.totals();
    // A reading may have been ahead of what the journal kept of a failed attempt.
    steps_total_ = std::max(steps_total_, facts.totals.earlier_steps + facts.status.steps);
    facts.steps_total = steps_total_;
    facts.time = time_.report(made_at_);
    facts.build = build_;
    return metrics_text(facts);
  }

  boost::asio::any_io_executor executor_;
  const base::Clock& clock_;
  const OutletPlan plan_;
  const std::string build_;
  std::function<RunStatus()> status_;  // null: the run has not begun
  TotalsFold totals_;
  TimeFold time_;
  EventLines lines_;
  NoticeFold notices_;
  BadNodeFold bad_nodes_;
  BadNodeCalls bad_node_calls_;
  boost::asio::steady_timer look_timer_;
  std::uint64_t steps_total_ = 0;
  std::string page_;
  base::Nanos made_at_{};
  base::BlockingPool pool_;  // outlives the writers, which tell its threads to end
  std::unique_ptr<EventStream> events_;
  std::unique_ptr<EventStream> incidents_;  // for the workers of the next attempt
  std::unique_ptr<IncidentHook> hook_;
  std::unique_ptr<IncidentHook> bad_node_hook_;
  std::unique_ptr<MetricsFile> file_;
  std::unique_ptr<MetricsServer> server_;
  std::unique_ptr<Notifier> notifier_;  // null: no targets
};

}  // namespace

base::Result<std::unique_ptr<Outlets>> Outlets::open(boost::asio::any_io_executor executor,
                                                     const base::Clock& clock,
                                                     const OutletPlan& plan, bool is_resumed) {
  const bool none = plan.metrics_address.empty() && plan.metrics_file.empty() &&
                    plan.events_file.empty() && plan.events_fd < 0 && plan.on_incident.empty() &&
                    plan.notify.targets.empty() && plan.incidents_file.empty() &&
                    plan.on_bad_node.action == BadNodePlan::Action::kNone;
  if (none) return nullptr;
  auto outlets = std::make_unique<LocalOutlets>(std::move(executor), clock, plan);
  for (const base::Status& opened :
       {outlets->open_server(), outlets->open_events(), outlets->open_incidents(),
        outlets->open_hook(), outlets->open_bad_node_hook()}) {
    if (opened) continue;
    if (!is_resumed) return std::unexpected(opened.error());
    RR_LOG(kWarn, {}, "{}; the run goes on without", opened.error().what);
  }
  return outlets;
}

}  // namespace robustrun::supervisor
