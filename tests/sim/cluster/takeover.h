#pragma once
// The supervisor dies at any write of its journal, and another one continues from what is written.

#include "supervisor/core/status/fold.h"
#include "supervisor/run_dir/journal.h"
#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

// The run is without a supervisor for a while. Messages between supervisor and agents are lost, and
// so are the shell's pending results.
inline void Cluster::crash(std::span<const core::Action> undone) {
  ++outcome_.supervisor_crashes;
  trace_.line(queue_.now(), "!", "supervisor crash");
  check_fold();
  is_down_ = true;
  live_on(undone);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    if (scenario_.is_local) {
      lines_[n].is_up = false;
      nodes_[n].abandon("its supervisor died");
    } else if (former_ && former_->heard.contains({n})) {
      leave_half_open({n});
    } else {
      break_line({n});
    }
  }
  ++incarnation_;  // voids all pending work of the dead supervisor
  Nanos away = dice_.between(milliseconds(100), seconds(3));
  if (scenario_.long_away) {
    away = dice_.chance(0.5) ? dice_.between({}, seconds(40)) : dice_.between({}, minutes(3));
  }
  queue_.after(away, [this] { take_over(); });
}

// Folds the job anew from its events. It must have the same state and the same actions.
inline void Cluster::check_fold() {
  core::Job job;
  std::vector<std::string> said;
  for (const core::JournalEntry& entry : journal_) {
    const auto* event = std::get_if<core::Event>(&entry.what);
    if (event == nullptr) continue;
    for (const core::Action& action : job.handle(*event)) said.push_back(words_of(action));
  }
  invariants_.replay_restores_the_state(job.digest() == job_.digest() && said == said_);
}

// From the bytes of the journal, as another process would.
inline void Cluster::take_over() {
  std::vector<core::JournalEntry> read;
  for (const core::JournalEntry& entry : journal_) {
    const auto encoded = core::encode_entry(entry);
    auto decoded = core::decode_entry(encoded.kind, encoded.payload);
    if (!decoded || !*decoded) return invariants_.the_journal_restores_the_state(false);
    read.push_back(*std::move(*decoded));
    auto* event = std::get_if<core::Event>(&read.back().what);
    auto* joined = event == nullptr ? nullptr : std::get_if<core::AgentJoined>(&event->body);
    if (mutation_ == Mutation::kForgetsFields && joined != nullptr) joined->bulk.clear();
  }
  auto folded = core::fold(read);
  if (!folded) return invariants_.the_journal_restores_the_state(false);
  invariants_.the_journal_restores_the_state(folded->job.digest() == job_.digest());
  job_ = std::move(folded->job);
  is_down_ = false;
  is_new_ = true;
  hang_watch_ = core::HangWatch(core::HangPolicy{}, core::Policy{}.hang_still);
  hang_watch_.begin_attempt(job_.attempt(), queue_.now());
  if (folded->exit_code) return finish(*folded->exit_code);
  for (const core::JournalEntry& entry : folded->unwritten) journal_.push_back(entry);
  core::SupervisorResumed resumed;
  resumed.incarnation = job_.incarnation() + 1;
  resumed.host = "another";
  resumed.wall_time = seconds(1'700'000'000) + queue_.now();
  resumed.away = queue_.now() - folded->last;
  for (std::size_t i = 0; i <= nodes_.size(); ++i) invariants_.disturbed();
  tell({}, {}, resumed);
}

// An agent that had joined reconnects, or is lost.
inline void Cluster::adopt(const core::AdoptNode& known) {
  Link& link = links_[known.node.value];
  link = Link{.generation = known.generation,
              .joined = known.agent == core::AdoptNode::Agent::kJoined,
              .lost = known.agent == core::AdoptNode::Agent::kLost};
  if (!link.joined) return;
  if (!scenario_.is_local) return expect_again(known.node, seconds(10));
  later({}, [this, known] {
    lose(known.node, known.generation, {"it ended with its supervisor", true});
  });
}

inline void Cluster::finish(int exit_code) {
  if (!outcome_.exit_code) outcome_.duration = queue_.now();
  outcome_.exit_code = exit_code;
}

}  // namespace robustrun::sim
