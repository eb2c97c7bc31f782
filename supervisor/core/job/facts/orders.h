#pragma once
// What the job orders and decides while it handles an event. Every part of the job appends its
// actions here, sets timers and makes decisions. Also the state that the orders belong to: the
// phase, the attempt and the live timers. Part of the job's memory.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"

namespace robustrun::supervisor {

// The body of an event; the table in job.cpp guarantees that it has this type.
template <class Body>
const Body& body(const Event& event) {
  return std::get<Body>(event.body);
}

class Orders {
 public:
  // The time of the event that is being handled.
  [[nodiscard]] base::Nanos now() const { return now_; }
  void set_now(base::Nanos now) { now_ = now; }

  [[nodiscard]] JobState state() const { return state_; }
  // Enters a phase, and cancels all timers but kTimeLimit and kNodes.
  void enter(JobState next);
  // Whether workers of an attempt were ordered and the run is not finishing.
  [[nodiscard]] bool workers_may_run() const;

  [[nodiscard]] base::Attempt attempt() const { return attempt_; }
  void next_attempt() { ++attempt_.value; }

  template <class Order>
  void give(Order&& order) {
    actions_.emplace_back(std::forward<Order>(order));
  }
  void reserve(std::size_t more) { actions_.reserve(actions_.size() + more); }
  // The actions so far; the caller may take them.
  [[nodiscard]] std::vector<Action>& actions() { return actions_; }

  void decide(Rule rule, std::string text, std::vector<std::string> evidence = {},
              std::vector<std::string> alternatives = {}, std::optional<Classification> looks = {});
  // A decision about `nodes`: machines that leave the group or come back.
  void decide_on(std::vector<base::NodeId> nodes, Rule rule, std::string text,
                 std::vector<std::string> evidence = {});
  // Completes the newest decision, which must be the last action: how it answers a fault.
  void note_answer(Answer answer, std::vector<PassedStep> passed = {});

  // Replaces an earlier timer of the same id.
  void set_timer(TimerId id, base::Nanos at);
  void cancel(TimerId id) { live_timers_[static_cast<std::size_t>(id)] = 0; }
  void cancel_all() { live_timers_.fill(0); }
  [[nodiscard]] bool awaits(const TimerFired& timer) const;
  // Orders all live timers again. The kState timer does not fire before `earliest`.
  void repeat_timers(base::Nanos earliest);

  template <class V>
  void fields(V& v) {
    v(1, "state", state_);
    v(9, "attempt", attempt_);
    v(25, "timer_sequence", timer_sequence_);
    v(26, "live_timers", live_timers_);
    v(33, "timers_at", timers_at_);
  }

 private:
  base::Nanos now_{};
  std::vector<Action> actions_;
  JobState state_ = JobState::kIdle;
  base::Attempt attempt_;
  std::uint64_t timer_sequence_ = 0;
  std::array<std::uint64_t, kTimers> live_timers_{};  // by TimerId; 0: none
  std::array<base::Nanos, kTimers> timers_at_{};  // of the live ones
};

}  // namespace robustrun::supervisor
