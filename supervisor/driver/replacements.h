#pragma once
// Nodes from Slurm in place of lost ones: decides when to queue jobs for them, how many, and when
// to cancel these jobs (--replace; launcher/slurm/replacement.h).
//
// Once the group has lacked nodes for kReplacePatience, one job is queued for each missing node;
// there are at most Settings::most jobs at a time. A job is cancelled when the group no longer
// needs its node, when its agent does not join within kReplaceJoinMax, when its node is lost, and
// when its node has not worked for kReplaceJoinMax (its workers may be saving until then). The
// agents join by themselves; the core decides what becomes of the group.
//
// Owned by the driver, on its loop. Slurm may be slow, refuse, or be gone: each such trouble is
// logged once, and the run never depends on Slurm. Refused jobs are asked for again after growing
// waits.

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
    std::uint32_t nodes = 0;  // size of the group if no node is missing
    base::Nanos poll{};  // how often Slurm is asked what became of the jobs
  };
  struct Hands {
    // Queues and cancels jobs, lists them, and answers once, from the loop; null without Slurm.
    std::function<void(launcher::ReplacementOrder,
                       std::function<void(launcher::ReplacementAnswer)>)>
        order{};
    std::function<bool(base::NodeId)> works{};  // the node has joined, and may be in the group
    std::function<bool()> is_ending{};
  };
  // `clock` and `nodes` outlive this object.
  Replacements(const boost::asio::any_io_executor& executor, const base::Clock& clock,
               const NodeTable& nodes, Settings settings, Hands hands);

  // Takes over jobs that an earlier supervisor of this run has queued.
  void begin();
  // The run is over: cancels the jobs whose nodes have not come. The other jobs end with their
  // agents.
  void release();
  void end();

 private:
  struct Job {
    std::string node;  // empty: the job waits in Slurm's queue
    std::optional<base::Nanos> running_since{};
    bool has_come = false;
    std::optional<base::Nanos> idle_since{};  // since when its node, which had come, does not work
    bool is_cancelled = false;  // Slurm was told so
    bool is_late_said = false;  // it was logged that the job waits
    bool is_widened = false;  // Slurm was told that the job may get any host
    bool is_missed = false;  // the last list of the queue does not have the job
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
  base::Nanos queue_at_{};  // no job is queued before this time
  base::Nanos look_until_{};  // until then Slurm is asked, as lists may have lacked a job
  std::uint32_t refusals_ = 0;  // and jobs that brought no node; 0 when a job brings one
  bool is_listed_ = false;  // the last list of the queue can be relied on
  bool is_asking_ = false;
  std::string trouble_;  // logged last
  base::Timer timer_;
  std::shared_ptr<bool> goes_on_ = std::make_shared<bool>(true);  // until end()
};

}  // namespace robustrun::supervisor
