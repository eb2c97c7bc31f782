#include "agent/standby/standby_set.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <utility>

#include "agent/evidence/process_look.h"
#include "agent/node/limits.h"
#include "agent/standby/limits.h"
#include "base/core/text.h"
#include "base/io/log.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

constexpr const char* kStillImporting = "its standby worker was still importing";

std::string too_large(std::size_t count, std::uint64_t memory_kb, std::uint64_t available) {
  return fmt::format("{} of {} MiB each are more than a tenth of the {} MiB available", count,
                     memory_kb >> 10, available >> 10);
}

// Other nodes compare only the script, which they may have at another place.
std::string without_files(const std::string& list) {
  std::string kept;
  for (const std::string_view line : base::split(list, '\n')) {
    if (!line.empty() && !line.starts_with("file ") && !line.starts_with("keep ")) {
      kept.append(line).push_back('\n');
    }
  }
  return kept;
}

}  // namespace

StandbySet::StandbySet(NodeContext& node, Handlers handlers)
    : node_(node), handlers_(std::move(handlers)), patience_(node.executor) {}

// Whether the run has any standbys, on this node or another.
bool StandbySet::keeps_any() const {
  return !given_up_ && node_.workers.standby != wire::StandbyMode::kOff &&
         !node_.workers.python_path.empty() && node_.workers.mode != wire::LaunchMode::kExecutable;
}

bool StandbySet::is_wanted() const {
  return keeps_any() && (is_spare_ || node_.workers.standby == wire::StandbyMode::kAll);
}

std::string StandbySet::modules_path(std::uint32_t rank) const {
  return fmt::format("{}/standby.{}.modules", node_.runtime_directory, rank);
}

void StandbySet::kill(Slot& slot, std::string why) {
  if (const auto found = all_.find(std::exchange(slot.standby, 0)); found != all_.end()) {
    if (!why.empty()) slot.lost = std::move(why);
    no_longer_imports(found->first);
    found->second->kill();
  }
}

bool StandbySet::is_ready(const Slot& slot) const {
  const auto found = all_.find(slot.standby);
  return found != all_.end() && found->second->is_ready();
}

std::string StandbySet::why_none(const Slot& slot) const {
  if (!slot.spawn) return {};  // the node's first workers
  if (given_up_) return given_up_for_;
  if (!may_wait(*slot.spawn)) return "workers that write straight to the terminal have none";
  if (!slot.lost.empty()) return slot.lost;
  if (!slot.has_progress) return "the previous worker had not done a step yet";
  if (!slot.has_modules) return "the workers' imports were not known yet";
  return "it had not been started yet";
}

void StandbySet::begin(const wire::StartWorkers& order) {
  cancel_wait();  // of an attempt that was revoked
  if (first_ == First::kWaiting) {
    drop_first();
    slots_.clear();
  }
  for (auto& [rank, slot] : slots_) {
    const auto is_same = [&](const auto& now) { return now.local_rank.value == rank; };
    if (std::ranges::none_of(order.slots, is_same)) kill(slot);
  }
  // What is wrong with one fork may be wrong with all, and not with a fresh worker. But first
  // workers may only have been stopped because of another node.
  const auto was_forked = [](const auto& slot) { return slot.second.was_forked; };
  const auto has_stepped = [&](const auto& slot) {
    return was_forked(slot) && slot.second.has_progress;
  };
  const auto failed_early = [](const auto& slot) { return slot.second.failed_early; };
  const bool is_suspect =
      std::ranges::any_of(slots_, was_forked) && std::ranges::none_of(slots_, has_stepped);
  if (is_suspect && (first_ == First::kNo || std::ranges::any_of(slots_, failed_early))) {
    if (!known_.empty()) handlers_.on_spoilt();
    kill_templates();
    forks_ = false;
    for (auto& [rank, slot] : slots_)
      kill(slot, "forked workers had ended before their first step");
  }
  first_ = First::kNo;
  std::erase_if(slots_, [&](const auto& slot) {
    return std::ranges::none_of(
        order.slots, [&](const auto& now) { return now.local_rank.value == slot.first; });
  });
  if (is_wanted()) fork_missing();
  // A standby that imports may be as far from its end as a fresh worker. With most of them ready,
  // the others are waited for, so that none starts cold. Those that are just being forked are as
  // good as ready.
  const auto ready = std::ranges::count_if(slots_, [&](const auto& slot) {
    return is_ready(slot.second) ||
           (importing_.contains(slot.second.standby) && slot.second.origin != 0);
  });
  const bool are_all_coming =
      2 * static_cast<std::size_t>(ready) >= slots_.size() &&
      std::ranges::all_of(slots_, [&](const auto& slot) {
        return importing_.contains(slot.second.standby) || is_ready(slot.second);
      });
  const bool has_expected = is_wanted();
  for (auto& [rank, slot] : slots_) {
    if (importing_.contains(slot.standby) &&
        (!are_all_coming || slots_.size() < order.slots.size())) {
      kill(slot, kStillImporting);
    }
    if (!has_expected && !given_up_) slot.spawn.reset();
  }
  fork_from_ = node_.clock.now() + kForkPause;
  paused_ = is_spare_ = false;
  list_.clear();
  modules_wanted_by_.reset();
  // Not if an earlier template serves only some of the workers: this one may, too.
  const auto may_become_warm = [](const auto& slot) {
    const Slot& each = slot.second;
    return each.standby == 0 && !each.has_failed && each.spawn && may_wait(*each.spawn);
  };
  if (is_wanted() && templates_.size() == 1 && templates_.begin()->second->is_importing() &&
      slots_.size() == order.slots.size() && std::ranges::all_of(slots_, may_become_warm)) {
    awaited_ = templates_.begin()->first;
  }
  const bool is_last = order.group_rank + 1 == order.group_world_size;
  if (node_.workers.tell_modules && is_last) modules_wanted_by_ = order.attempt;
}

bool StandbySet::may_begin_warm() const {
  return slots_.empty() && is_wanted() && forks_ && !node_.own_command &&
         !node_.home.is_container();
}

void StandbySet::begin_warm(std::vector<Wanted> wanted, const std::string& list) {
  RR_ASSERT(may_begin_warm());
  const std::size_t count = wanted.size();
  keep(std::move(wanted), list);
  is_spare_ = false;
  list_.clear();
  const auto may_become = [&](const auto& slot) {
    return may_fork(slot.second) && may_wait(*slot.second.spawn);
  };
  const bool may_begin =
      !slots_.empty() && slots_.size() == count && std::ranges::all_of(slots_, may_become);
  awaited_ = may_begin ? start_template(slots_.begin()->first, slots_.begin()->second, true) : 0;
  if (awaited_ == 0) return slots_.clear();  // nothing has been started
  first_ = First::kWaiting;
  known_ = list;
  is_outdated_ = false;
}

void StandbySet::settle_first() {
  if (first_ != First::kWaiting) return;
  const auto is_there = [&](const auto& slot) { return is_ready(slot.second); };
  if (std::ranges::all_of(slots_, is_there)) {
    first_ = First::kTaken;
    if (modules_wanted_by_) {
      node_.send(wire::StandbyModules{*modules_wanted_by_, without_files(known_), true});
    }
    return;
  }
  if (!is_outdated_) handlers_.on_spoilt();
  drop_first();
}

// The node is as if it had never had standbys.
void StandbySet::drop_first() {
  first_ = First::kNo;
  known_.clear();
  kill_templates();
  for (auto& [rank, slot] : slots_) {
    kill(slot);
    slot = Slot{slot.rank, std::nullopt, {}};
  }
}

void StandbySet::cancel_wait() {
  patience_.cancel();
  settled_ = nullptr;
  awaited_ = 0;
  node_.stages.end(wire::StageName::kImports);
}

void StandbySet::when_settled(std::function<void()> go) {
  if (importing_.empty() && awaited_ == 0) return go();
  settled_ = std::move(go);
  node_.stages.begin(wire::StageName::kImports);
  for (const std::uint64_t serial : importing_) all_.at(serial)->hurry();
  if (awaited_ != 0) templates_.at(awaited_)->hurry();
  patience_.after(wait_max(), [this] {
    if (std::exchange(awaited_, 0) != 0) {
      for (auto& [rank, slot] : slots_) slot.lost = kStillImporting;
    }
    for (auto& [rank, slot] : slots_) {
      if (importing_.contains(slot.standby)) kill(slot, kStillImporting);
    }
    settle();
  });
}

// After as long as a start without standbys takes, a wait may cost more than it saves.
base::Nanos StandbySet::wait_max() const {
  if (first_ == First::kWaiting) return kFirstStandbyWaitMax;
  if (cold_start_ == base::Nanos{}) return kStandbyWaitMax;
  return std::clamp<base::Nanos>(cold_start_, kStandbyWaitMin, kStandbyWaitMax);
}

// Goes on with the start if it waits for nothing more.
void StandbySet::settle() {
  if (!importing_.empty() || awaited_ != 0) return;
  patience_.cancel();
  node_.stages.end(wire::StageName::kImports);
  if (const auto go = std::exchange(settled_, nullptr)) boost::asio::post(node_.executor, go);
}

void StandbySet::no_longer_imports(std::uint64_t serial) {
  if (importing_.erase(serial) != 0) settle();
}

void StandbySet::keep(std::vector<Wanted> wanted, const std::string& list) {
  if (!keeps_any()) return;
  Slots slots;
  for (Wanted& each : wanted) {
    const std::uint32_t rank = each.local_rank.value;
    LaunchSpec spawn = standby_launch_spec(std::move(each.spawn));
    const auto old = slots_.find(rank);
    if (is_spare_ && list == list_ && old != slots_.end() && old->second.spawn == spawn) {
      slots.insert(slots_.extract(old));
      continue;
    }
    Slot slot{each.rank, std::move(spawn), {}};
    if (const auto written = write_modules(rank, list); !written) {
      RR_LOG(kDebug, {}, "no standby worker: {}", written.error().what);
      continue;
    }
    slot.has_modules = slot.has_progress = true;
    slots.emplace(rank, std::move(slot));
  }
  for (auto& [rank, slot] : slots_) kill(slot);
  if (list != list_ || slots.empty()) {
    kill_templates();
    forks_ = true;
  }
  slots_ = std::move(slots);
  list_ = list;
  is_spare_ = true;
  first_ = First::kNo;
  known_.clear();
  paused_ = false;
}

base::Status StandbySet::write_modules(std::uint32_t rank, const std::string& list) const {
  return base::write_file_atomically(modules_path(rank), list, 0600);
}

std::vector<Ready::Stamp> StandbySet::stamps() const {
  std::vector<Ready::Stamp> all;
  std::set<std::uint64_t> templates;
  for (const auto& [rank, slot] : slots_) {
    const auto found = all_.find(slot.standby);
    if (found == all_.end() || !found->second->is_ready()) continue;
    if (slot.origin != 0 && !templates.insert(slot.origin).second) continue;  // the same stamps
    // Of one file there may be two, if it changed in between: one of them differs then.
    for (const Ready::Stamp& stamp : found->second->ready().stamps) {
      if (std::ranges::find(all, stamp) == all.end()) all.push_back(stamp);
    }
  }
  return all;
}

void StandbySet::discard(const std::string& why) {
  RR_LOG(kInfo, {}, "workers start without standbys, which are out of date: {}", why);
  kill_templates();
  forks_ = true;
  for (auto& [rank, slot] : slots_) kill(slot, "its standby worker was out of date: " + why);
}

StandbySet::Place StandbySet::take(const wire::WorkerSlot& worker, const LaunchSpec& wanted,
                                   const std::string& list) {
  if (!keeps_any()) {
    const auto known = slots_.find(worker.local_rank.value);
    if (known == slots_.end()) return {};
    Place place{std::nullopt, why_none(known->second)};
    known->second.spawn = standby_launch_spec(wanted);  // the next one had a predecessor
    return place;
  }
  Slot& slot = slots_[worker.local_rank.value];
  Place place{std::nullopt, why_none(slot)};
  slot.lost.clear();
  slot.rank = worker.rank;
  slot.spawn = standby_launch_spec(wanted);
  slot.is_asked = slot.has_progress = slot.has_failed = slot.was_forked = slot.failed_early = false;
  slot.early = 0;
  slot.cold_since = {};
  slot.list.clear();
  if (const auto found = all_.find(slot.standby); found != all_.end()) {
    Standby& standby = *found->second;
    if (standby.is_ready()) {
      auto changes = become(standby.spawn(), wanted, standby.ready().read);
      if (changes) {
        place = {standby.take(*changes), {}};
        slot.was_forked = slot.origin != 0;
        all_.erase(found);
        slot.standby = 0;
        return place;
      }
      place.cold = changes.error().what;
    } else {
      place.cold = importing_.contains(slot.standby)
                       ? kStillImporting
                       : "its standby worker had been stopped, or had just died";
    }
    kill(slot);
  }
  const base::Fd made(::open(list.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (made) slot.list = list;
  slot.cold_since = node_.clock.now();
  slot.has_modules = slot.has_whole_list = false;
  return place;
}

void StandbySet::look(base::LocalRank rank, FaultTarget& worker, const tracer::Reading* reading) {
  const auto found = slots_.find(rank.value);
  if (found == slots_.end() || reading == nullptr || !reading->user_code_at) return;
  Slot& slot = found->second;
  const bool is_old = node_.clock.now() - *reading->user_code_at >= kModulesAfter;
  if (reading->steps == 0 && !is_old) return;
  slot.has_progress = true;
  if (reading->steps != 0 && slot.cold_since != base::Nanos{}) {
    cold_start_ = std::max(cold_start_, node_.clock.now() - std::exchange(slot.cold_since, {}));
  }
  if (slot.list.empty()) return;
  if (!slot.has_modules || slot.early != 0) take_modules(rank.value, slot, reading->steps == 0);
  if (slot.has_modules || slot.is_asked || !is_old) return;
  const auto signal = static_cast<std::uint32_t>(boot_signal());
  if (node_.workers.stack_signal == signal) return;  // it would mean something else
  if (!signal_state(worker.pid(), boot_signal()).is_caught) return;
  slot.is_asked = true;
  worker.signal_itself(boot_signal());
}

// The file belongs to the worker, and is removed with it. One from before its first step stays
// there: the worker replaces it at that step, by when it may have imported much more.
void StandbySet::take_modules(std::uint32_t rank, Slot& slot, bool is_early) {
  struct stat status{};
  if (::stat(slot.list.c_str(), &status) != 0 || status.st_size == 0) return;
  if (slot.early == status.st_ino) return;
  const bool is_renewed = slot.has_modules;
  const std::string kept = modules_path(rank);
  slot.list_bytes = status.st_size;
  slot.early = is_early ? status.st_ino : 0;
  if (is_early) {
    ::unlink(kept.c_str());
    slot.has_modules = ::link(slot.list.c_str(), kept.c_str()) == 0;
  } else {
    slot.has_modules = std::rename(slot.list.c_str(), kept.c_str()) == 0;
  }
  slot.has_whole_list = slot.has_modules && !is_early;
  known_.clear();
  if (is_renewed) {
    kill_templates();
    forks_ = true;
    kill(slot);
  }
  if (slot.has_modules && modules_wanted_by_ && rank == slots_.begin()->first) tell_modules(rank);
}

void StandbySet::tell_modules(std::uint32_t rank) const {
  auto list = base::read_file(modules_path(rank), wire::kModulesBytesMax);
  if (list)
    return node_.send(wire::StandbyModules{*modules_wanted_by_, without_files(*list), false});
  RR_LOG(kDebug, {}, "spare nodes keep no standby workers: {}", list.error().what);
}

void StandbySet::kill_templates() {
  for (auto& [serial, each] : templates_) each->kill();
}

bool StandbySet::has_template(const Slot& slot) const {
  return std::ranges::any_of(templates_, [&](const auto& each) {
    const StandbyTemplate& made = *each.second;
    return made.is_ready() && fork_changes(made.spawn(), *slot.spawn, made.ready().read);
  });
}

void StandbySet::fork_missing() {
  for (auto& [serial, made] : templates_) {
    if (!made->is_ready()) continue;
    bool serves = false;
    for (auto& [rank, slot] : slots_) {
      if (!slot.spawn) continue;
      auto changes = fork_changes(made->spawn(), *slot.spawn, made->ready().read);
      serves |= changes.has_value();
      if (!changes || slot.standby != 0 || slot.has_failed || !may_wait(*slot.spawn)) continue;
      start(rank, slot, serial, *std::move(changes));
    }
    if (!serves) made->kill();  // of another version
  }
}

bool StandbySet::may_fork(const Slot& slot) const {
  return forks_ && slot.spawn->container == 0 && !node_.home.is_container();
}

std::uint64_t StandbySet::start_template(std::uint32_t rank, const Slot& slot, bool is_first) {
  const std::uint64_t serial = ++serial_;
  auto made = StandbyTemplate::start(node_, {*slot.spawn, modules_path(rank), is_first},
                                     {[this, serial] { on_template_ready(serial); },
                                      [this, serial] { on_template_gone(serial); }});
  if (made) {
    templates_.emplace(serial, *std::move(made));
    return serial;
  }
  forks_ = false;
  RR_LOG(kDebug, {}, "no template of standby workers: {}", made.error().what);
  return 0;
}

void StandbySet::on_template_ready(std::uint64_t serial) {
  use(*templates_.at(serial));
  if (awaited_ == serial) awaited_ = 0;
  settle();
}

void StandbySet::use(StandbyTemplate& made) {
  const Ready& ready = made.ready();
  if (!ready.refusal.empty()) return give_up(ready.refusal);
  if (!ready.differs.empty()) {
    made.kill();
    return refuse(0, ready.differs);
  }
  if (!ready.unforkable.empty()) {
    forks_ = false;
    RR_LOG(kInfo, {}, "standby workers are started one by one, and not forked: {}",
           ready.unforkable);
    return made.kill();
  }
  const auto meminfo = base::read_file("/proc/meminfo", kMeminfoBytesMax);
  const std::uint64_t available = meminfo ? available_kb(*meminfo) : 0;
  if (!fits(ready.memory_kb, 1, available))
    return give_up(too_large(1, ready.memory_kb, available));
  if (!is_wanted() || paused_) return;
  if (first_ == First::kWaiting && !serves_all(made)) return made.kill();
  // A start may wait for them; otherwise the next prepare() is soon enough.
  if (settled_ || node_.clock.now() >= fork_from_) fork_missing();
  const auto first = slots_.begin();
  const bool is_own = !is_spare_ && first != slots_.end() && first->second.has_whole_list;
  if (is_own && serves_all(made)) handlers_.on_proven(modules_path(first->first));
}

bool StandbySet::serves_all(const StandbyTemplate& made) const {
  return std::ranges::all_of(slots_, [&](const auto& slot) {
    const auto& spawn = slot.second.spawn;
    return spawn && fork_changes(made.spawn(), *spawn, made.ready().read);
  });
}

void StandbySet::on_template_gone(std::uint64_t serial) {
  // The next one, made from the same list, would fare no better.
  if (templates_.at(serial)->is_importing()) forks_ = false;
  templates_.erase(serial);
  if (awaited_ == serial) awaited_ = 0;
  settle();
  if (empty()) handlers_.on_empty();
}

void StandbySet::prepare() {
  if (paused_ || slots_.empty()) return;
  if (!is_wanted()) return kill_templates();
  if (node_.clock.now() >= fork_from_) fork_missing();
  if (importing_.size() >= kStandbysAtOnce) return;
  const auto is_importing = [](const auto& each) { return each.second->is_importing(); };
  if (std::ranges::any_of(templates_, is_importing)) return;
  const auto is_due = [](const auto& slot) {
    return slot.second.has_progress && slot.second.has_modules;
  };
  if (!std::ranges::all_of(slots_, is_due)) return;
  const auto length = [](const Slot& slot) { return std::pair(slot.imports, slot.list_bytes); };
  auto slowest = slots_.end();
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    const Slot& each = slot->second;
    if (each.standby != 0 || each.has_failed || !may_wait(*each.spawn) || has_template(each)) {
      continue;
    }
    if (slowest == slots_.end() || length(each) > length(slowest->second)) slowest = slot;
  }
  if (slowest == slots_.end()) return;
  if (may_fork(slowest->second)) {
    start_template(slowest->first, slowest->second);
    return;
  }
  start(slowest->first, slowest->second);
}

void StandbySet::start(std::uint32_t rank, Slot& slot, std::uint64_t origin,
                       std::vector<std::string> changes) {
  const std::uint64_t serial = ++serial_;
  Standby::Plan plan;
  plan.spawn = *slot.spawn;
  plan.modules = modules_path(rank);
  plan.stem = fmt::format("{}/standby.{}", node_.runtime_directory, serial);
  plan.rank = slot.rank;
  plan.serial = serial;
  if (origin != 0) plan.made = templates_.at(origin).get();
  plan.changes = std::move(changes);
  auto standby = Standby::start(node_, std::move(plan),
                                {[this, serial](const Ready& ready) { on_ready(serial, ready); },
                                 [this, serial] { on_gone(serial); }});
  if (!standby) {
    slot.has_failed = true;
    slot.lost = standby.error().what;
    RR_LOG(kDebug, ({.rank = slot.rank}), "no standby worker: {}", standby.error().what);
    return;
  }
  slot.started_at = node_.clock.now();
  all_.emplace(serial, *std::move(standby));
  importing_.insert(serial);
  slot.standby = serial;
  slot.origin = origin;
}

void StandbySet::on_ready(std::uint64_t serial, const Ready& ready) {
  if (!importing_.contains(serial)) return;  // it is being killed
  no_longer_imports(serial);
  std::uint64_t shared_kb = 0;  // of its template; a forked one reports only what is its own
  for (auto& [rank, slot] : slots_) {
    if (slot.standby != serial) continue;
    slot.imports = node_.clock.now() - slot.started_at;
    const auto made = templates_.find(slot.origin);
    if (made != templates_.end()) shared_kb = made->second->ready().memory_kb;
  }
  if (!ready.refusal.empty()) return give_up(ready.refusal);
  if (!ready.differs.empty()) return refuse(serial, ready.differs);
  const auto meminfo = base::read_file("/proc/meminfo", kMeminfoBytesMax);
  const std::uint64_t available = meminfo ? available_kb(*meminfo) : 0;
  const bool fit = shared_kb == 0 ? fits(ready.memory_kb, slots_.size(), available)
                                  : fits(shared_kb + slots_.size() * ready.memory_kb, 1, available);
  if (!fit)
    give_up(too_large(slots_.size(), ready.memory_kb + shared_kb / slots_.size(), available));
}

// It knows its imports from elsewhere, or from before a change; another list may come.
void StandbySet::refuse(std::uint64_t serial, const std::string& what) {
  const bool is_first = first_ == First::kWaiting;
  is_outdated_ = is_first;
  base::log_line(is_first ? base::LogLevel::kDebug : base::LogLevel::kInfo, {},
                 "no standby workers until the next start: " + what);
  for (auto& [rank, slot] : slots_) {
    slot.has_failed = true;
    slot.lost = what;
    if (slot.standby == serial) kill(slot);
  }
}

void StandbySet::on_gone(std::uint64_t serial) {
  for (auto& [rank, slot] : slots_) {
    if (slot.standby != serial) continue;
    slot.standby = 0;
    slot.has_failed = true;  // the next attempt's standby may fare better
    slot.lost = "its standby worker had died";
  }
  no_longer_imports(serial);
  all_.erase(serial);
  if (empty()) handlers_.on_empty();
}

void StandbySet::give_up(const std::string& why) {
  given_up_ = is_outdated_ = true;
  given_up_for_ = why;
  RR_LOG(kInfo, {}, "no standby workers are kept, so a restart starts interpreters: {}", why);
  kill_templates();
  for (auto& [rank, slot] : slots_) kill(slot);
}

void StandbySet::worker_failed_early(base::LocalRank rank) {
  const auto found = slots_.find(rank.value);
  if (found == slots_.end() || !found->second.was_forked) return;
  found->second.failed_early = true;
  if (first_ == First::kTaken) handlers_.on_spoilt();
}

void StandbySet::pause() {
  paused_ = true;
  cancel_wait();
  if (first_ != First::kWaiting) return;
  drop_first();
  slots_.clear();
}

void StandbySet::end() {
  given_up_ = true;
  cancel_wait();
  kill_templates();
  for (auto& [rank, slot] : slots_) kill(slot);
}

}  // namespace robustrun::agent
