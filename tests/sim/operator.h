#pragma once
// Commands from a terminal to a running job, and the next ones: the same once more, or the
// contrary.

#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/sim/event_queue.h"

namespace robustrun::sim {

struct Command {
  enum class Verb : std::uint8_t {
    kStop,         // robustrun stop
    kUpdate,       // robustrun update
    kInjectKill,   // robustrun inject kill: a worker
    kInjectAgent,  // robustrun inject agent-death
    kForward,      // kill -USR1 of the supervisor
  };
  Verb verb = Verb::kStop;
  int signal = SIGTERM;
  std::optional<Nanos> grace{};
  std::uint32_t number = 0;  // version; rank; node: modulo how many there are
  bool is_new = false;       // another version than all before
  bool now = false;
  Nanos within{};
  Nanos at{};  // after the first one
};

inline Command draw_command(Dice& dice) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  Command command;
  const std::uint64_t verb = dice.below(20);
  command.verb = verb == 0   ? Command::Verb::kStop
                 : verb < 13 ? Command::Verb::kUpdate
                 : verb < 16 ? Command::Verb::kInjectKill
                 : verb < 18 ? Command::Verb::kInjectAgent
                             : Command::Verb::kForward;
  command.signal = dice.one_of({SIGTERM, SIGINT, SIGHUP});
  if (dice.chance(0.7)) command.grace = dice.one_of<Nanos>({Nanos{}, seconds(3), minutes(10)});
  command.number = static_cast<std::uint32_t>(dice.below(64));
  command.is_new = dice.chance(0.5);
  command.now = dice.chance(0.5);
  command.within = dice.one_of<Nanos>({Nanos{}, Nanos{}, seconds(30), minutes(5), hours(1)});
  return command;
}

// Usually one command; otherwise also one that is typed a moment later.
inline std::vector<Command> draw_commands(Dice& dice) {
  std::vector<Command> commands = {draw_command(dice)};
  if (dice.chance(0.5)) return commands;
  Command next = dice.chance(0.5) ? commands.front() : draw_command(dice);
  const bool is_update = commands.front().verb == Command::Verb::kUpdate;
  if (is_update && dice.chance(0.5)) {  // back again
    next = commands.front();
    next.is_new = false;
    next.now = !next.now;
  }
  next.at = dice.chance(0.5) ? Nanos{} : dice.between({}, std::chrono::seconds(20));
  commands.push_back(next);
  if (dice.chance(0.3)) commands.push_back(next);
  return commands;
}

}  // namespace robustrun::sim
