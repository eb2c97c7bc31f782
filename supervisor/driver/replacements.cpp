#include "supervisor/driver/replacements.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "base/io/log.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

Replacements::Replacements(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                           const NodeTable& nodes, Settings settings, Hands hands)
    : clock_(clock),
      nodes_(nodes),
      settings_(settings),
      hands_(std::move(hands)),
      timer_(executor) {}

void Replacements::begin() {
  if (settings_.most > 0 && hands_.order) look();
}

void Replacements::end() {
  goes_on_.reset();
  timer_.cancel();
}

void Replacements::release() {
  launcher::ReplacementOrder order;
  for (const auto& [id, job] : jobs_) {
    if (!job.has_come) order.cancel.push_back(id);
  }
  if (!order.cancel.empty()) {
    RR_LOG(kInfo, {}, "the run is over: job {} is cancelled", base::join(order.cancel, ", "));
    hands_.order(std::move(order), [](const launcher::ReplacementAnswer&) {});
  }
  end();
}

void Replacements::look() {
  note_nodes();
  if (!is_asking_ && !hands_.is_ending()) {
    launcher::ReplacementOrder order = decide();
    const bool has_orders = order.count > 0 || !order.cancel.empty() || !order.widen.empty();
    // A job that the last lists did not have may be in the next one.
    const bool is_waiting = clock_.now() < look_until_;
    const bool is_due = clock_.now() >= ask_at_ && (!is_listed_ || !jobs_.empty() || is_waiting);
    if (has_orders || is_due) {
      is_asking_ = true;
      const auto asked = order.count;
      hands_.order(std::move(order), [this, asked, goes_on = std::weak_ptr(goes_on_)](
                                         const launcher::ReplacementAnswer& answer) {
        if (!goes_on.expired()) take(answer, asked);
      });
    }
  }
  timer_.after(std::min<base::Nanos>(settings_.poll, kReplaceLook), [this] { look(); });
}

// Which nodes work, and what that says of the jobs.
void Replacements::note_nodes() {
  std::uint32_t there = 0;
  nodes_.each([&](base::NodeId node, const NodeLink&) { there += hands_.works(node) ? 1 : 0; });
  const base::Nanos now = clock_.now();
  // One that came is perhaps a job's, which must not be taken for one that is not needed.
  if (there > there_ && !jobs_.empty()) {
    ask_at_ = now;
    is_listed_ = false;
  }
  there_ = there;
  if (there_ >= settings_.nodes) missing_since_.reset();
  if (there_ < settings_.nodes && !missing_since_) missing_since_ = now;
  for (auto& [id, job] : jobs_) {
    const auto node = job.node.empty() ? std::nullopt : nodes_.find(job.node);
    const bool works = node && hands_.works(*node);
    if (works) job.idle_since.reset();
    if (job.has_come && !works && !job.idle_since) job.idle_since = now;
    if (job.has_come || !works) continue;
    job.has_come = true;
    refusals_ = 0;
    RR_LOG(kInfo, {}, "job {} brought {}", id, job.node);
  }
}

std::string Replacements::there_in_words() const {
  return fmt::format("{} of {} there", std::min(there_, settings_.nodes),
                     base::counted(settings_.nodes, "node") + (there_ == 1 ? " is" : " are"));
}

launcher::ReplacementOrder Replacements::decide() {
  launcher::ReplacementOrder order;
  if (!is_listed_) return order;
  const base::Nanos now = clock_.now();
  const std::uint32_t missing = settings_.nodes - std::min(settings_.nodes, there_);
  cancel_excess(missing, order);
  std::uint32_t coming = 0, kept = 0;
  for (const auto& [id, job] : jobs_) {
    kept += job.is_cancelled ? 0 : 1;
    coming += job.is_cancelled || job.has_come ? 0 : 1;
  }
  const bool is_patient = !missing_since_ || now < *missing_since_ + kReplacePatience;
  if (missing <= coming || kept >= settings_.most || is_patient || now < queue_at_) return order;
  order.count = std::min(missing - coming, settings_.most - kept);
  std::set<std::string> bad;
  nodes_.each([&](base::NodeId node, const NodeLink&) {
    (hands_.works(node) ? order.near : order.bad).push_back(nodes_.name(node));
  });
  // A host that has come back is good.
  std::erase_if(order.bad, [&](const std::string& name) {
    return std::ranges::find(order.near, name) != order.near.end() || !bad.insert(name).second;
  });
  return order;
}

// Of the jobs whose nodes have not come, the newest go first.
void Replacements::cancel_excess(std::uint32_t missing, launcher::ReplacementOrder& order) {
  const base::Nanos now = clock_.now();
  std::vector<std::string> waiting;
  const auto cancel = [&](const std::string& id, const std::string& why) {
    order.cancel.push_back(id);
    jobs_[id].is_cancelled = true;
    RR_LOG(kInfo, {}, "job {} is cancelled: {}", id, why);
  };
  for (const auto& [id, job] : jobs_) {
    const auto node = job.node.empty() ? std::nullopt : nodes_.find(job.node);
    if (job.is_cancelled) {
      if (now >= ask_at_) order.cancel.push_back(id);  // it is still there
    } else if (job.has_come) {
      const bool is_lost = !node || nodes_[*node].lost;
      const bool is_idle = job.idle_since && now > *job.idle_since + kReplaceJoinMax;
      if (is_lost || is_idle) cancel(id, job.node + " has left the run");
    } else if (job.running_since && now > *job.running_since + kReplaceJoinMax) {
      const std::string why =
          fmt::format("its agent on {} did not join within {}; agents/job-{}.log has its output",
                      job.node, base::in_seconds(kReplaceJoinMax), id);
      cancel(id, why);
      back_off("");
    } else {
      waiting.push_back(id);
    }
  }
  std::ranges::sort(
      waiting, [](const std::string& a, const std::string& b) { return base::natural_less(b, a); });
  for (std::size_t i = 0; i + missing < waiting.size(); ++i) {
    cancel(waiting[i], there_in_words());
  }
  // What has waited since the last look gets any host.
  for (auto& [id, job] : jobs_) {
    if (job.is_cancelled || !job.is_late_said || std::exchange(job.is_widened, true)) continue;
    order.widen.push_back(id);
  }
}

void Replacements::take(const launcher::ReplacementAnswer& answer, std::uint32_t asked) {
  is_asking_ = false;
  const auto jitter = static_cast<std::uint64_t>(settings_.poll.count() / kSlurmPollJitter) + 1;
  ask_at_ =
      clock_.now() + settings_.poll + base::Nanos(base::Rng(base::system_seed()).below(jitter));
  if (answer.jobs) {
    is_listed_ = true;
    take_list(*answer.jobs);
  } else {
    say_trouble(answer.jobs.error().what);
  }
  for (const std::string& id : answer.queued) jobs_.try_emplace(id);
  if (!answer.queued.empty()) {
    const bool is_one = answer.queued.size() == 1;
    RR_LOG(kInfo, {}, "{}: job {} {} queued for {} more (--replace)", there_in_words(),
           base::join(answer.queued, ", "), is_one ? "is" : "are",
           is_one ? "one" : std::to_string(answer.queued.size()));
  }
  if (asked > answer.queued.size()) {
    back_off(answer.trouble);
  } else if (!answer.trouble.empty()) {
    say_trouble(answer.trouble);
  }
  // A list alone does not show that a refusal is over.
  if (answer.jobs && answer.trouble.empty() && (asked > 0 || refusals_ == 0)) trouble_.clear();
}

void Replacements::take_list(const std::vector<launcher::ReplacementJob>& listed) {
  for (const launcher::ReplacementJob& job : listed) {
    const auto [known, is_new] = jobs_.try_emplace(job.id);
    Job& ours = known->second;
    if (job.is_running && !ours.running_since) ours.running_since = clock_.now();
    ours.node = job.node;
    if (job.is_running || is_new || std::exchange(ours.is_late_said, true)) continue;
    RR_LOG(kInfo, {}, "job {} waits in Slurm's queue ({}); the run goes on", job.id, job.reason);
  }
  // One list may be wrong, and a job that is taken for gone would be queued a second time.
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto& id = at->first;
    Job& job = at->second;
    const bool is_listed =
        std::ranges::find(listed, id, &launcher::ReplacementJob::id) != listed.end();
    const bool is_over = job.has_come || job.is_cancelled || std::exchange(job.is_missed, true);
    if (is_listed || !is_over) {
      job.is_missed = !is_listed;
      ++at;
      continue;
    }
    if (!job.has_come && !job.is_cancelled) {
      back_off(fmt::format("job {} ended before its node came", id));
      // The lists may have been wrong: no other job is queued before the queue was read once more.
      is_listed_ = false;
      look_until_ = queue_at_;
      ask_at_ = std::min(ask_at_, queue_at_);
    }
    at = jobs_.erase(at);
  }
}

// `why`: said unless it is empty.
void Replacements::back_off(const std::string& why) {
  const base::Nanos wait = std::min<base::Nanos>(
      kReplaceAgainFirst * (1U << std::min(refusals_, 10U)), kReplaceAgainMax);
  ++refusals_;
  queue_at_ = clock_.now() + wait;
  if (!why.empty()) say_trouble(why);
}

// Once, however often it repeats.
void Replacements::say_trouble(const std::string& what) {
  if (std::exchange(trouble_, what) == what) return;
  RR_LOG(kWarn, {}, "no node comes in place of lost ones for now: {}; the run goes on", what);
}

}  // namespace robustrun::supervisor
