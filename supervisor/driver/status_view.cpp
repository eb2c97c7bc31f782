#include "supervisor/driver/status_view.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/io/log.h"
#include "supervisor/console/console_log.h"
#include "supervisor/control/file.h"
#include "supervisor/watch/group_wait_fold.h"

namespace robustrun::supervisor {

StatusView::StatusView(const base::Clock& clock, const Sources& sources)
    : clock_(clock), of_(sources), racks_(sources.request.placement.cluster) {}

RunStatus StatusView::status() const {
  const base::Nanos now = clock_.now();
  RunStatus status = of_.record.status().status(now);
  status.supervisor = SupervisorStatus::kAnswers;
  status.host = this_host();
  status.pid = ::getpid();
  status.state = of_.job.state();
  status.attempt = of_.job.attempt().value;
  status.restarts_used = of_.job.restarts_used();
  status.run_directory = of_.request.run_directory;
  if (!of_.request.console_log.empty())
    status.console_log = console_log_file(of_.request.run_directory);
  status.metrics_url = of_.record.metrics_url();
  // Readings are newer than the marks in the journal.
  const Progress newest = of_.progress.readings().newest();
  if (newest.attempt == of_.job.attempt() && newest.steps > 0) {
    status.steps = newest.steps;
    if (newest.step) status.step = newest.step;
    if (const auto speed = of_.progress.steps_per_second()) status.steps_per_second = speed;
    if (const auto at = of_.progress.stepped_at()) status.stepped = now - *at;
    status.metrics.clear();
    for (std::size_t i = 0; i < newest.metric_names.size(); ++i) {
      status.metrics.push_back({newest.metric_names[i], newest.metric_values[i]});
    }
  }
  const std::size_t known = std::min(of_.nodes.size(), status.nodes.size());
  of_.nodes.each([&](base::NodeId node, const NodeLink& link) {
    if (node.value >= known) return;
    NodeStatus& one = status.nodes[node.value];
    one = node_status(std::move(one), link);
  });
  if (is_up_or_starting()) {
    GroupWaitFold waits(of_.job.attempt(), now);
    of_.nodes.each([&](base::NodeId node, const NodeLink& link) {
      if (node.value < known) waits.take(status.nodes[node.value], link.stage);
    });
    status.group_wait = waits.result();
  }
  if (newest.attempt == of_.job.attempt()) note_steps_of_ranks(status);
  status.bandwidth = rows_of(of_.bandwidth.recent(now));
  note_time_left(status);
  arrange(status);
  return status;
}

// Workers that are being stopped wait for no rank.
bool StatusView::is_up_or_starting() const {
  return of_.job.state() == JobState::kStarting || of_.job.state() == JobState::kRunning;
}

// Mostly no rank waits, which is cheaper to find out than the whole status.
void StatusView::watch_group_wait() {
  const base::Nanos now = clock_.now();
  if (!is_up_or_starting() || !group_wait_watch_.wants_look(now)) return;
  bool some_wait = false;
  of_.nodes.each([&](base::NodeId, const NodeLink& link) {
    some_wait = some_wait || std::ranges::any_of(link.stage.ranks, waits_in_group);
  });
  const auto found = some_wait ? status().group_wait : std::nullopt;
  const auto news = group_wait_watch_.take(found, of_.request.spec.run_id, now);
  if (news) RR_LOG(kWarn, {}, "{}", *news);
}

void StatusView::note_steps_of_ranks(RunStatus& status) const {
  for (NodeStatus& node : status.nodes) {
    for (std::uint32_t local = 0; local < node.ranks.size(); ++local) {
      const base::Rank rank{node.first_rank + local};
      RankStatus& known = node.ranks[local];
      known.steps = of_.progress.readings().steps_of(rank);
      known.step = of_.progress.readings().step_of(rank);
      ProgressTracker::DataWait data = of_.progress.readings().data_wait_of(rank, clock_.now());
      known.data_waited = data.waited;
      known.data_waiting = data.lasting;
      known.data_place = std::move(data.place);
      known.data_skipped = data.skipped;
    }
  }
}

// Before an attempt begins, stages of its nodes belong to the next attempt.
void StatusView::note_stage(const NodeLink& link, NodeStatus& known) const {
  const wire::StageNews& news = link.stage;
  const bool is_old = news.attempt < of_.job.attempt() && news.rank;
  if (!news.stage || is_old || static_cast<std::size_t>(*news.stage) >= wire::kStageNames) {
    return;
  }
  known.stage = to_string(*news.stage);
  known.stage_took = std::max(base::Nanos{}, clock_.now() - news.since);
  if (news.rank && news.rank->value < link.ranks.size()) {
    known.stage_rank = link.ranks[news.rank->value].value;
  }
}

NodeStatus StatusView::node_status(NodeStatus known, const NodeLink& link) const {
  if (link.lost) {
    known.agent = AgentStatus::kLost;
  } else if (!link.joined) {
    known.agent = AgentStatus::kStarting;
  } else {
    known.agent = link.suspect || link.broken_at ? AgentStatus::kSuspect : AgentStatus::kJoined;
    known.heard = clock_.now() - link.heard_at;
    if (link.broken_at) known.trouble = link.broken_why;
    note_stage(link, known);
  }
  if (!link.address.empty()) known.address = link.address;
  known.rack = racks_.of(known.name);
  return known;
}

}  // namespace robustrun::supervisor
