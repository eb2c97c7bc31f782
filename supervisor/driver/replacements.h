#pragma once
// Nodes in place of lost ones, as the scheduler gives them: when to queue jobs for them, how many,
// and when to cancel these (--replace; launcher/slurm/replacement.h).
//
// A job is queued for each node that the group lacks, once it has lacked nodes for
// kReplacePatience, as long as there are at most Settings::most such jobs. A job is cancelled when
// the group no longer lacks its node, when its agent does not join, and when its node is lost or
// has done nothing for kReplaceJoinMax (its workers may be saving). The agents join by themselves;
// what then becomes of the group is the core's decision.
//
// Owned by the driver, on its loop. Slurm may be slow, refuse, or be gone: each is logged once, and
// the run never depends on it. Refused jobs are asked for again after growing waits.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/io/timer.h"
#include "launcher/slurm/replacement.h"
#include "supervisor/agents/node_table.h"

namespace robustrun::supervisor {

class Replacements {
 public:
  struct Settings {
    std::uint32_t most = 0;  // jobs at a time; 0: none is ever queued
    std::uint32_t nodes = 0;  // that the group has if none is missing
    base::Nanos poll{};  // how often Slurm is asked what became of the jobs
  };
  struct Hands {
    // As in Driver::Parts; null without Slurm.
    std::function<void(launcher::ReplacementOrder,
                       std::function<void(launcher::ReplacementAnswer)>)>
        order{};
    std::function<bool(base::NodeId)> works{};  // it has joined, and may be in the group
    std::function<bool()> is_ending{};
  };
  // `clock` and `nodes` outlive this object.
  Replacements(const boost::asio::any_io_executor& executor, const base::Clock& clock,
               const NodeTable& nodes, Settings settings, Hands hands);

  // Jobs of another supervisor of this run, which are in the queue, are taken over.
  void begin();
  // The run is over: jobs whose nodes have not come are cancelled. The others end with their
  // agents.
  void release();
  void end();

 private:
  struct Job {
    std::string node;  // empty: it waits
    std::optional<base::Nanos> running_since{};
    bool has_come = false;
    std::optional<base::Nanos> idle_since{};  // since its node, which had come, does not work
    bool is_cancelled = false;  // Slurm was told so
    bool is_late_said = false;
    bool is_widened = false;
    bool is_missed = false;  // the last list of the queue does not have it
  };
  void look();
  void note_nodes();
  [[nodiscard]] launcher::ReplacementOrder decide();
  void cancel_excess(std::uint32_t missing, launcher::ReplacementOrder& order);
  void take(const launcher::ReplacementAnswer& answer, std::uint32_t asked);
  void take_list(const std::vector<launcher::ReplacementJob>& listed);
  void back_off(const std::string& why);
  void say_trouble(const std::string& what);
  [[nodiscard]] std::string there_in_words() const;

  const base::Clock& clock_;
  const NodeTable& nodes_;
  const Settings settings_;
  const Hands hands_;
  std::map<std::string, Job> jobs_;  // by id
  std::uint32_t there_ = 0;  // nodes that work
  std::optional<base::Nanos> missing_since_;
  base::Nanos ask_at_{};  // when Slurm is to be asked again
  base::Nanos queue_at_{};  // no job is queued before
  base::Nanos look_until_{};  // a job that lists missed may be in one until then
  std::uint32_t refusals_ = 0;  // and jobs in vain, since a node came
  bool is_listed_ = false;  // the queue is known as it is now
  bool is_asking_ = false;
  std::string trouble_;  // logged last
  base::Timer timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);  // until end()
};

}  // namespace robustrun::supervisor
