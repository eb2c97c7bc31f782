#include "launcher/slurm/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/tool.h"
#include "launcher/hosts/host_list.h"
#include "launcher/limits.h"
#include "launcher/slurm/probe.h"
#include "launcher/slurm/step.h"
#include "wire/tls/credential.h"

namespace robustrun::launcher {
namespace {

constexpr unsigned kFolderMode = 0700;

class SlurmLauncher final : public AgentLauncher {
 public:
  SlurmLauncher(boost::asio::any_io_executor executor, base::BlockingPool& pool,
                std::vector<Host> nodes, SlurmOptions options)
      : executor_(std::move(executor)), pool_(pool), options_(std::move(options)) {
    for (Host& host : nodes) nodes_.push_back({std::move(host.name), {}, {}, 0, false});
  }

  // Orders within one turn of the loop share one srun.
  void launch(LaunchOrder order, Handlers handlers) override {
    Node& node = at(order.node);
    node.handlers = std::move(handlers);
    node.credential = std::move(order.credential);
    node.step = 0;
    node.waits = true;
    start_soon();
  }

  void probe(base::NodeId id, std::function<void(bool answers)> done) override {
    probe_slurm_node(executor_, pool_, options_, at(id).name, std::move(done));
  }

  void kill_all() override {
    for (Node& node : nodes_) node.waits = false;
    if (std::exchange(cancelling_, true)) return;
    ask([options = options_] { return cancel_steps(options); },
        [this](const base::Result<std::string>& done) {
          cancelling_ = false;
          if (!done) RR_LOG(kWarn, {}, "{}", done.error().what);
        });
  }

  void abandon() override {
    for (Node& node : nodes_) node = {std::move(node.name), {}, {}, 0, false};
    for (auto& [number, step] : steps_) step.srun->leave();
  }

  // An srun whose agents have all ended may take a moment longer.
  [[nodiscard]] bool idle() const override {
    return !starting_ && !cancelling_ &&
           std::ranges::none_of(nodes_, [](const Node& node) { return node.waits || node.step; });
  }

 private:
  struct Node {
    std::string name;
    Handlers handlers;        // of the newest order
    std::string credential;   // of the newest order
    unsigned step;            // that starts it; 0: none
    bool waits;               // for the next srun
  };
  struct Step {
    std::unique_ptr<SlurmStep> srun;
    // set when one of its agents could not start; srun then ends all others
    std::string failed_launch;
  };

  Node& at(base::NodeId id) {
    RR_ASSERT(id.value < nodes_.size());
    return nodes_[id.value];
  }

  void start_soon() {
    if (std::exchange(starting_, true)) return;
    boost::asio::post(executor_, [this, alive = std::weak_ptr(alive_)] {
      if (alive.expired()) return;
      starting_ = false;
      start_step();
    });
  }

  // Runs a blocking tool on the pool; `done` is not called after our destruction.
  void ask(std::function<base::Result<std::string>()> work,
           std::function<void(const base::Result<std::string>&)> done) {
    auto answer = std::make_shared<base::Result<std::string>>();
    const base::Status submitted = pool_.submit(
        kLaneFirst, [answer, work = std::move(work)] { *answer = work(); },
        [answer, done, alive = std::weak_ptr(alive_)] {
          if (!alive.expired()) done(*answer);
        });
    if (!submitted) done(std::unexpected(submitted.error()));
  }

  // Merges the credentials of the waiting nodes into one.
  base::Result<std::string> common_credential(const std::vector<std::size_t>& waiting) const {
    std::optional<wire::Credential> common;
    for (const std::size_t i : waiting) {
      auto credential = RR_TRY(wire::parse_credential(nodes_[i].credential));
      RR_ASSERT(credential.node.has_value());
      const wire::AgentPlace place{nodes_[i].name, *credential.node, credential.generation};
      if (!common) common = std::move(credential);
      common->places.push_back(place);
    }
    common->node.reset();
    return wire::to_line(*common);
  }

  void start_step() {
    std::vector<std::size_t> waiting;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!std::exchange(nodes_[i].waits, false)) continue;
      waiting.push_back(i);
      names.push_back(nodes_[i].name);
    }
    if (waiting.empty()) return;
    next_number();
    for (const std::size_t i : waiting) nodes_[i].step = number_;
    auto srun = start_srun(waiting, names);
    if (srun) {
      steps_[number_].srun = *std::move(srun);
    } else {
      lose_all(number_, srun.error().what);
    }
  }

  base::Result<std::unique_ptr<SlurmStep>> start_srun(const std::vector<std::size_t>& waiting,
                                                      const std::vector<std::string>& names) {
    const std::string line = RR_TRY(common_credential(waiting));
    RR_TRY(base::make_directories(options_.folder, kFolderMode));
    return SlurmStep::start(
        executor_, options_, names, line, number_,
        {[this, number = number_](const SrunNews& news) { on_news(number, news); },
         [this, number = number_](const SlurmStep::End& end) { on_end(number, end); }});
  }

  // Another supervisor of the run may have left files here.
  void next_number() {
    std::error_code error;
    do {
      ++number_;
    } while (number_ < kStepsMax && std::filesystem::exists(srun_log(options_, number_), error));
  }

  void on_news(unsigned number, const SrunNews& news) {
    if (!news.started) steps_[number].failed_launch = news.what;
    const std::string why =
        (news.started ? "srun reports: " : "srun cannot start it: ") + news.what;
    for (std::size_t i = 0; i < news.nodes.size(); ++i) {
      for (Node& node : nodes_) {
        if (node.step != number || node.name != news.nodes[i]) continue;
        lose(node, i < news.tasks.size() && news.exit_code != 0
                       ? explained(why, agent_log(options_, number, news.tasks[i]), news)
                       : AgentEnd{why, news.node_answers});
      }
    }
  }

  // The agent's log is in a folder that the nodes share, with one task on each.
  static AgentEnd explained(const std::string& why, const std::string& log, const SrunNews& news) {
    const auto text = base::read_file(log, kAgentLogBytesMax);
    const std::string said = text ? last_log_line(*text) : std::string();
    AgentEnd end{"", news.node_answers};
    if (said.starts_with(kAgentSays)) {
      const std::string cause = said.substr(kAgentSays.size());
      end.why = fmt::format("{} (exit code {}; its log: {})", cause, news.exit_code, log);
      end.is_bad_input = news.exit_code == kExitBadInput;
      if (end.is_bad_input) end.lasting = cause;
    } else if (said.empty()) {
      end.why = fmt::format("{}; its log: {}", why, log);
    } else {
      end.why = fmt::format("{}; its log ({}) ends with: {}", why, log, said);
    }
    return end;
  }

  void on_end(unsigned number, const SlurmStep::End& end) {
    const auto found = steps_.find(number);
    RR_ASSERT(found != steps_.end());
    const Step ended = std::move(found->second);  // kept until we return: its srun called us
    steps_.erase(found);
    if (!end.began) return find_refused(number, end.what);
    lose_all(number,
             ended.failed_launch.empty()
                 ? end.what
                 : "srun ended it because another could not be started: " + ended.failed_launch);
  }

  // Slurm names no node when it refuses a step. Asks which nodes are unusable and starts the others
  // without them.
  void find_refused(unsigned number, const std::string& why) {
    std::vector<std::string> names;
    for (const Node& node : nodes_) {
      if (node.step == number) names.push_back(node.name);
    }
    if (names.empty()) return;
    ask([argv = job_nodes_argv(options_)] { return output_of(argv); },
        [this, number, names, why](const base::Result<std::string>& listed) {
          if (listed && lose_taken(number, *listed)) return start_again(number);
          find_unusable(number, names, why);
        });
  }

  void start_again(unsigned number) {
    for (Node& node : nodes_) {
      if (node.step != number) continue;
      node.step = 0;
      node.waits = true;
    }
    start_soon();
  }

  // Slurm takes a node that went down out of the job, and may give it to another one.
  // Returns whether one of the step's nodes is such.
  bool lose_taken(unsigned number, const std::string& listed) {
    const auto kept = expand_host_list(base::trim(listed));
    bool found = false;
    if (!kept) return found;
    for (Node& node : nodes_) {
      if (node.step != number) continue;
      if (std::ranges::find(*kept, node.name, &Host::name) != kept->end()) continue;
      AgentEnd end{fmt::format("Slurm has taken it out of job {}", options_.job), false};
      end.is_gone = true;
      lose(node, end);
      found = true;
    }
    return found;
  }

  void find_unusable(unsigned number, const std::vector<std::string>& names,
                     const std::string& why) {
    ask([argv = node_states_argv(options_, names)] { return output_of(argv); },
        [this, number, why](const base::Result<std::string>& listed) {
          const auto unusable = unusable_nodes(listed ? *listed : std::string());
          if (!lose_unusable(number, unusable, why)) return lose_all(number, why);
          start_again(number);
        });
  }

  // False: none of the step's nodes is in `unusable`.
  bool lose_unusable(unsigned number, const std::vector<std::string>& unusable,
                     const std::string& why) {
    bool found = false;
    for (Node& node : nodes_) {
      for (const std::string& entry : unusable) {
        if (node.step != number || !entry.starts_with(node.name + " ")) continue;
        found = true;
        lose(node, {fmt::format("for Slurm it is {} ({})", entry.substr(node.name.size() + 1), why),
                    false});
      }
    }
    return found;
  }

  void lose_all(unsigned number, const std::string& why) {
    for (Node& node : nodes_) {
      if (node.step == number) lose(node, {why});
    }
  }

  void lose(Node& node, const AgentEnd& end) {
    node.step = 0;
    const auto on_lost = std::exchange(node.handlers, {}).on_lost;
    if (on_lost) on_lost(end);
  }

  static base::Result<std::string> output_of(const std::vector<std::string>& argv) {
    auto result = RR_TRY(base::run_tool(argv, kSlurmCommandWait));
    if (result.status == base::ExitStatus{}) return std::move(result.out);
    return base::fail(base::Errc::kUnavailable,
                      fmt::format("{} failed: {}: {}", argv.front(), base::describe(result.status),
                                  base::printable(base::trim(result.err))));
  }

  static base::Result<std::string> cancel_steps(const SlurmOptions& options) {
    const std::string listed = RR_TRY(output_of(list_steps_argv(options)));
    const auto steps = own_steps(options, listed);
    if (steps.empty()) return std::string();
    return output_of(cancel_argv(options, steps));
  }

  boost::asio::any_io_executor executor_;
  base::BlockingPool& pool_;
  SlurmOptions options_;
  std::vector<Node> nodes_;
  std::map<unsigned, Step> steps_;  // with a running srun
  unsigned number_ = 0;  // of the newest step
  bool starting_ = false;
  bool cancelling_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();  // expires with this object
};

}  // namespace

std::unique_ptr<AgentLauncher> make_slurm_launcher(boost::asio::any_io_executor executor,
                                                   base::BlockingPool& pool,
                                                   std::vector<Host> nodes, SlurmOptions options) {
  return std::make_unique<SlurmLauncher>(std::move(executor), pool, std::move(nodes),
                                         std::move(options));
}

}  // namespace robustrun::launcher
