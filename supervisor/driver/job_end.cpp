#include "supervisor/driver/job_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "base/core/words.h"
#include "base/io/log.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

// "13:58:30" in this machine's time zone.
std::string time_of_day(base::Nanos unix_time) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(unix_time).count();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

// Of an end that Slurm shows; empty: nothing.
std::string what_is_wrong(base::Nanos end, base::Nanos now) {
  if (end <= now) return "it shows an end in the past";
  return end - now > kJobEndMax ? "it shows an end in a far future" : "";
}

}  // namespace

base::Nanos last_save_time(base::Nanos since, base::Nanos end, base::Nanos save, base::Nanos step) {
  const base::Nanos left = std::max(base::Nanos{}, end - since);
  // So that no sum overflows.
  save = std::clamp(save, base::Nanos{}, left);
  const base::Nanos steps = 2 * std::clamp(step, base::Nanos{}, left);
  const base::Nanos margin = std::clamp<base::Nanos>(save / 2, kJobEndMarginMin, kJobEndMarginMax);
  return end - std::min(save + steps + margin, left / 2);
}

JobEnd::JobEnd(const boost::asio::any_io_executor& executor, const base::Clock& clock,
               Settings settings, Hands hands)
    : clock_(clock),
      settings_(std::move(settings)),
      hands_(std::move(hands)),
      poll_timer_(executor),
      save_timer_(executor) {}

void JobEnd::begin(base::Nanos since) {
  if (!hands_.ask_end || settings_.poll <= base::Nanos{}) return;
  since_ = std::min(since, clock_.wall_time());
  ask();
}

void JobEnd::end() {
  goes_on_.reset();
  poll_timer_.cancel();
  save_timer_.cancel();
}

void JobEnd::ask() {
  if (!goes_on_ || std::exchange(is_asking_, true)) return;
  hands_.ask_end([this, goes_on = std::weak_ptr(goes_on_)](const auto& told) {
    if (goes_on.expired()) return;
    is_asking_ = false;
    take(told);
  });
}

// Many runs must not ask at the same time.
void JobEnd::take(const base::Result<std::optional<base::Nanos>>& told) {
  std::string wrong = told ? "" : told.error().what;
  if (told && *told) wrong = what_is_wrong(**told, clock_.wall_time());
  if (wrong.empty()) {
    is_silent_ = false;
    end_ = *told;
  } else if (!std::exchange(is_silent_, true)) {
    RR_LOG(kInfo, {}, "{0} does not tell when the job ends: {1}; {2}", settings_.scheduler, wrong,
           end_ ? "the end that it told before counts" : "the last save waits for its own warning");
  }
  plan();
  if (!goes_on_) return;
  const auto jitter = static_cast<std::uint64_t>(settings_.poll.count() / kSlurmPollJitter) + 1;
  poll_timer_.after(settings_.poll + base::Nanos(base::Rng(base::system_seed()).below(jitter)),
                    [this] { ask(); });
}

base::Nanos JobEnd::save_time() const {
  return last_save_time(*since_, *end_, hands_.longest_saves().expected(settings_.grace),
                        hands_.step_time());
}

// With the newest figures. A save that is due waits only for the answer to one more question.
void JobEnd::plan() {
  const bool was_due = std::exchange(is_due_, false);
  if (!end_) return save_timer_.cancel();
  const base::Nanos now = clock_.wall_time();
  const base::Nanos at = save_time();
  announce(at);
  if (now < at) {
    return save_timer_.after(at - now, [this] { plan(); });
  }
  if (was_due) return save();
  is_due_ = true;
  save_timer_.after(settings_.patience, [this] { plan(); });
  ask();
}

void JobEnd::announce(base::Nanos at) {
  if (at - clock_.wall_time() > kJobEndAnnounced) return;
  const bool is_timed = hands_.longest_saves().reported.has_value();
  const bool is_known = announced_ && std::chrono::abs(*announced_ - *end_) < kJobEndMoved;
  if (is_known && is_timed == is_announced_as_timed_) return;
  announced_ = end_;
  is_announced_as_timed_ = is_timed;
  RR_LOG(kInfo, {}, "{}: saving at {}", reason(), time_of_day(at));
}

std::string JobEnd::reason() const {
  const LongestSaves longest = hands_.longest_saves();
  const base::Nanos save = longest.expected(settings_.grace);
  std::string why = "no save has been seen yet, and workers may take " + base::in_seconds(save);
  if (longest.reported) {
    why = "the longest save took " + base::rough_duration_words(save);
  } else if (longest.stop > settings_.grace) {
    why =
        "no save has been seen yet, and the longest stop took " + base::rough_duration_words(save);
  }
  return fmt::format("time limit of {} job {} at {}; {}", settings_.scheduler, settings_.job,
                     time_of_day(*end_), why);
}

std::string JobEnd::timed_save(base::Nanos end) {
  const base::Nanos now = clock_.wall_time();
  if (!goes_on_ || !since_ || !what_is_wrong(end, now).empty()) return {};
  end_ = end;
  const base::Nanos at = save_time();
  if (at <= now || !hands_.longest_saves().reported) return {};
  is_due_ = false;  // by an end that no longer holds
  plan();
  return "saving at " + time_of_day(at);
}

base::Nanos JobEnd::time_to_save(base::Nanos end) const {
  return std::max<base::Nanos>(end - clock_.wall_time() - kJobEndReserve, kJobEndGraceMin);
}

void JobEnd::save() {
  if (hands_.is_ending()) return end();
  SignalReceived received{SIGTERM, false, {}, reason()};
  received.cause = SignalReceived::Cause::kTimeLimit;
  received.grace = time_to_save(*end_);
  end();
  hands_.on_save(std::move(received));
}

}  // namespace robustrun::supervisor
