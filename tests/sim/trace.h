#pragma once
// One line per event and action: always hashed, printed when a single seed is replayed.

#include <fmt/core.h>

#include <string>

#include "base/core/hash.h"
#include "supervisor/core/job/job.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/event_words.h"

namespace robustrun::sim {

namespace core = supervisor;

struct ActionWords {
  std::string operator()(const core::LaunchAgent& a) const {
    return fmt::format("n{} launch agent g{}", a.node.value, a.generation.value);
  }
  std::string operator()(const core::ReservePort& a) const {
    return fmt::format("n{} a{} reserve port", a.node.value, a.attempt.value);
  }
  std::string operator()(const core::StartWorkers& a) const {
    return fmt::format("n{} a{} start {} of {} at {}:{} with version {}, by {}", a.node.value,
                       a.attempt.value, a.workers.size(), a.world_size, a.master_addr,
                       a.master_port, a.version, a.ordered_by);
  }
  std::string operator()(const core::GroupFormed& a) const {
    std::string text = fmt::format("a{} group:", a.attempt.value);
    for (const core::GroupMember& member : a.members) {
      text += fmt::format(" n{} from {}", member.node.value, member.first_rank);
    }
    return text + fmt::format(", {} spares", a.spares.size());
  }
  std::string operator()(const core::StopWorkers& a) const {
    return fmt::format("n{} a{} stop, signal {}, grace {}", a.node.value, a.attempt.value, a.signal,
                       a.grace.count());
  }
  std::string operator()(const core::ForwardSignal& a) const {
    return fmt::format("n{} a{} forward {}", a.node.value, a.attempt.value, a.signal);
  }
  std::string operator()(const core::DismissAgent& a) const {
    return fmt::format("n{} dismiss", a.node.value);
  }
  std::string operator()(const core::AdoptNode& a) const {
    return fmt::format("n{} adopt g{} ({})", a.node.value, a.generation.value,
                       static_cast<int>(a.agent));
  }
  std::string operator()(const core::SetTimer& a) const {
    return fmt::format("timer {} #{} at {}", static_cast<int>(a.id), a.sequence, a.at.count());
  }
  std::string operator()(const core::Decision& a) const {
    return fmt::format("decision {}: {}", static_cast<int>(a.rule), a.text);
  }
  std::string operator()(const core::CheckNodes& a) const {
    return fmt::format("check {} of {} nodes", a.check, a.nodes.size());
  }
  std::string operator()(const core::NodesJudged& a) const {
    std::string text = fmt::format("check {}:", a.check);
    for (const core::NodeVerdict& verdict : a.verdicts) {
      text += fmt::format(" n{} {}", verdict.node.value, static_cast<int>(verdict.level));
    }
    return text;
  }
  std::string operator()(const core::SolvePlacement& a) const {
    return fmt::format("place {:016x}: {} of {} nodes", a.digest, a.places, a.candidates.size());
  }
  std::string operator()(const core::ReplayNodes& a) const {
    std::string text = fmt::format("replay {}:", a.replay);
    for (const auto& group : a.groups) {
      text += " (";
      for (const auto& place : group) text += fmt::format(" n{}", place.node.value);
      text += ")";
    }
    return text;
  }
  std::string operator()(const core::DemoteCheckpoint& a) const {
    return fmt::format("n{} demote {} of step {}", a.node.value, a.order, a.id.step);
  }
  std::string operator()(const core::SolveBackup& a) const {
    return fmt::format("keepers of copies {:016x}: {} nodes", a.digest, a.places.size());
  }
  std::string operator()(const core::PlaceCopies& a) const {
    const auto routes = [](const std::vector<core::CopyRoute>& all) {
      std::string text;
      for (const core::CopyRoute& one : all) {
        text += fmt::format(" r{}-n{}", one.rank.value, one.node.value);
      }
      return text;
    };
    return fmt::format("n{} a{} copies: send{}, hold{}, fetch{}", a.node.value, a.attempt.value,
                       routes(a.send), routes(a.hold), routes(a.fetch));
  }
  std::string operator()(const core::SaveHeldCopies& a) const {
    return fmt::format("n{} a{} save {} held, order {}", a.node.value, a.attempt.value,
                       a.ranks.size(), a.order);
  }
  std::string operator()(const core::LookBack& a) const {
    return fmt::format("a{} look back", a.attempt.value);
  }
  std::string operator()(const core::LookAtPace& a) const {
    return fmt::format("a{} look at the pace", a.attempt.value);
  }
  std::string operator()(const core::Finish& a) const {
    return fmt::format("finish {}", a.exit_code);
  }
};

inline std::string words_of(const core::Event& event) {
  return fmt::format("n{} g{} {}", event.node.value, event.generation.value,
                     std::visit(EventWords{}, event.body));
}
inline std::string words_of(const core::Action& action) {
  return std::visit(ActionWords{}, action);
}

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}
  void line(Nanos at, const char* sign, const std::string& text) {
    hash_ = base::hash64(text, hash_ ^ static_cast<std::uint64_t>(at.count()));
    if (print_) {
      fmt::print("{:12.6f} {} {}\n", std::chrono::duration<double>(at).count(), sign, text);
    }
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  bool print_;
  std::uint64_t hash_ = 0;
};

}  // namespace robustrun::sim
