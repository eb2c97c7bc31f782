#pragma once
// The network of a virtual cluster: connections that break and come back, partitions, racks.

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

inline void Cluster::add_node() {
  const base::NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  const std::uint64_t seed = (scenario_.seed << 16U) + 4 * nodes_.size();
  from_.push_back({2 * id.value, Dice(seed + 1)});
  to_.push_back({2 * id.value + 1, Dice(seed + 2)});
  lines_.emplace_back().is_slow = strikes(Mishap::kSlowWay, id.value, scenario_.slow_ways);
  auto dice = fates_.draw(queue_.now(), Mishap::kWrongClock, id.value, scenario_.wrong_clocks);
  clocks_.push_back(dice ? draw_clock(*dice) : NodeClock{});
  links_.emplace_back();
  node_dice_.emplace_back(seed + 3);
  nodes_.emplace_back(id, queue_, node_dice_.back(), fates_, scenario_, world_);
}

// In order, except in scenarios that are worse than TCP allows.
inline void Cluster::transmit(Channel& channel, std::function<void()> deliver) {
  const std::uint32_t where = channel.number;
  Line& line = lines_[where / 2];
  if (!line.is_up) return;
  if (strikes(Mishap::kConnectionBreaks, where / 2, scenario_.connection_breaks)) {
    return break_line({where / 2});
  }
  if (strikes(Mishap::kLost, where, scenario_.lost)) return invariants_.disturbed();
  if (strikes(Mishap::kTwice, where, scenario_.twice)) {
    const Nanos most = channel.dice.chance(0.2) ? Nanos(minutes(30)) : Nanos(seconds(5));
    queue_.after(channel.dice.between({}, most), deliver);
  }
  auto arrive = [&line, number = line.number, deliver = std::move(deliver)] {
    if (line.number == number) deliver();
  };
  if (strikes(Mishap::kLate, where, scenario_.late)) {
    invariants_.disturbed();
    return queue_.after(channel.dice.between({}, seconds(20)), std::move(arrive));
  }
  const Nanos most = line.is_slow ? milliseconds(1500) : milliseconds(5);
  channel.last = std::max(channel.last, queue_.now() + channel.dice.between({}, most));
  queue_.at(channel.last, std::move(arrive));
}

inline void Cluster::connect(base::NodeId node) {
  Line& line = lines_[node.value];
  ++line.number;
  line.is_up = true;
  from_[node.value].last = to_[node.value].last = queue_.now();
}

// Both ends notice eventually: the agent reconnects; the supervisor waits for that, as long as it
// does after a broken connection or silence.
inline void Cluster::break_line(base::NodeId node) {
  Line& line = lines_[node.value];
  if (!line.is_up) return;
  ++line.number;
  line.is_up = false;
  line.down_since = queue_.now();
  invariants_.disturbed();
  Dice& dice = from_[node.value].dice;
  const Nanos noticed = dice.chance(0.7) ? Nanos{} : dice.between({}, seconds(8));
  call_again(node, nodes_[node.value].generation(), noticed);
  expect_again(node, dice.chance(0.7) ? seconds(3) : seconds(10));
}

inline void Cluster::expect_again(base::NodeId node, Nanos patience) {
  const base::Generation generation = links_[node.value].generation;
  const std::uint32_t number = lines_[node.value].number;
  later(patience, [this, node, generation, number] {
    const Link& link = links_[node.value];
    if (lines_[node.value].number != number || link.generation != generation) return;
    if (link.joined) lose(node, generation, {"it did not come back", true});
  });
}

// The supervisor that launched an agent sees its end; another one sees its connection end.
inline void Cluster::notice_loss(base::NodeId node, base::Generation generation,
                                 const core::AgentLost& how) {
  if (is_down_) return;
  const Link& link = links_[node.value];
  if (link.generation != generation) return tell(node, generation, how);
  if (link.launched_by != incarnation_ && !link.lost) return break_line(node);
  lose(node, generation, how);
}

inline void Cluster::lose(base::NodeId node, base::Generation generation,
                          const core::AgentLost& how) {
  Link& link = links_[node.value];
  if (is_down_ || (link.generation == generation && link.lost)) return;
  invariants_.disturbed();
  if (link.generation == generation) {
    link.lost = true;
    link.orders.clear();
  }
  tell(node, generation, how);
}

inline void Cluster::call_again(base::NodeId node, base::Generation generation, Nanos delay) {
  const std::uint32_t number = lines_[node.value].number;
  queue_.after(delay, [this, node, generation, number] {
    VirtualNode& there = nodes_[node.value];
    Line& line = lines_[node.value];
    const Link& link = links_[node.value];
    if (line.number != number || there.generation() != generation || !there.has_agent()) return;
    const bool is_heard = !is_down_ && queue_.now() >= line.blocked_until && there.can_call();
    if (!is_heard) {
      const bool is_over = queue_.now() >= line.down_since + VirtualNode::kOrphanGrace;
      if (is_over) return there.abandon("no supervisor answered");
      const Nanos next = from_[node.value].dice.between(milliseconds(100), seconds(2));
      return call_again(node, generation, next);
    }
    if (link.lost || link.generation != generation || outcome_.exit_code) {
      ++outcome_.refusals;
      return there.abandon("refused");
    }
    ++outcome_.reunions;
    connect(node);
    there.accept(incarnation_);
    there.say_again();
  });
}

// A message of an agent arrives. A known agent's hello fetches its orders.
inline void Cluster::hear(base::NodeId node, base::Generation generation, core::EventBody body) {
  if (is_down_ || node.value >= links_.size()) return;
  if (is_of_another_supervisor(node, generation, body)) {
    ++outcome_.refusals;
    nodes_[node.value].abandon("refused");
    return lose(node, generation, {"another supervisor uses it", true});
  }
  Link& link = links_[node.value];
  const bool is_hello = std::holds_alternative<core::AgentJoined>(body);
  if (is_hello && link.generation == generation && !link.lost) {
    if (std::exchange(link.joined, true)) return repeat_orders(node);
  }
  tell(node, generation, std::move(body));
}

// Delivers an agent's message at once, if there is a supervisor.
inline void Cluster::speak(base::NodeId node, base::Generation generation, core::EventBody body) {
  const VirtualNode& there = nodes_[node.value];
  const bool is_there = there.generation() == generation && there.has_agent();
  if (lines_[node.value].is_up && is_there) hear(node, generation, std::move(body));
}

inline void Cluster::repeat_orders(base::NodeId node) {
  const Link& link = links_[node.value];
  if (link.copies) order(node, *link.copies);
  for (const Link::Order& what : link.orders) order(node, what);
}

// A channel belongs to one agent: orders under way to a former agent are lost with it.
inline void Cluster::order(base::NodeId node, Link::Order what) {
  VirtualNode& there = nodes_[node.value];
  transmit(to_[node.value], [&there, what = std::move(what), to = there.generation()] {
    if (there.generation() == to) what(there);
  });
}

// An order that is repeated after a broken connection.
inline void Cluster::order_for_good(base::NodeId node, Link::Order what) {
  if (!scenario_.is_local) links_[node.value].orders.push_back(what);
  order(node, std::move(what));
}

inline void Cluster::plan_troubles() {
  for (std::uint32_t i = 0; i < scenario_.partitions; ++i) {
    auto dice = fates_.draw({}, Mishap::kPartition, i, 1);
    if (!dice) continue;
    const Nanos at =
        dice->chance(0.5) ? dice->between({}, seconds(10)) : dice->between({}, hours(1));
    const Nanos longest = dice->one_of<Nanos>({seconds(2), seconds(20), minutes(10)});
    const Nanos length = dice->between({}, longest);
    const std::uint64_t cut_off = dice->below(256);
    queue_.at(at, [this, length, cut_off] {
      for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        if ((cut_off >> (n % 8) & 1U) == 0) continue;
        lines_[n].blocked_until = std::max(lines_[n].blocked_until, queue_.now() + length);
        break_line({n});
      }
    });
  }
  for (std::uint32_t rack = 0; rack < 3; ++rack) {
    auto dice = fates_.draw({}, Mishap::kRackDies, rack, scenario_.racks_die);
    if (!dice) continue;
    const Nanos for_long = dice->one_of<Nanos>({seconds(20), minutes(15), hours(1)});
    queue_.at(dice->between({}, hours(1)), [this, rack, for_long] {
      for (std::uint32_t n = 2 * rack; n < 2 * rack + 2 && n < nodes_.size(); ++n) {
        nodes_[n].lose_power(for_long);
      }
    });
  }
}

}  // namespace robustrun::sim
