// Parts and what they wait for:
//
//     process, at once and again later ─┬─> py-spy, if there are no Python stacks, or to find the
//     Python stacks, twice ───────────────────┘   holder of the GIL if the worker does not move
//                                             └─> native stacks, if the worker does not move
//     Python stacks ──> the source of the line that the main thread is in
//     both of these, if the worker does not move ──> what its threads wait for
//     process, first look ──> sockets, and again later; from the first ──> network
//                         └──> GPUs (helper) ──> the kernel's log
//
// Of a worker that is not suspected (Suspect::only_use): process and GPUs.
#include "agent/evidence/evidence_collector.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/evidence/native_stacks.h"
#include "agent/evidence/network_state.h"
#include "agent/evidence/process_look.h"
#include "agent/evidence/python_stacks.h"
#include "agent/evidence/source_call.h"
#include "agent/evidence/thread_waits.h"
#include "agent/evidence/worker_sockets.h"
#include "agent/gpu/gpu_state.h"
#include "agent/node/limits.h"
#include "agent/node/worker_json.h"
#include "agent/process/ask_program.h"
#include "base/io/tool.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;

enum class Part : std::uint8_t {
  kProcess,
  kPython,
  kSource,
  kPySpy,
  kNative,
  kWaits,
  kSockets,
  kNetwork,
  kGpus
};

struct PartRow {
  const char* name;
  milliseconds max;  // from the part's start
};
constexpr std::array<PartRow, 9> kParts = {{
    {"process", milliseconds(3000)},
    {"Python stacks", milliseconds(4000)},
    {"source", milliseconds(1000)},
    {"py-spy", milliseconds(5000)},
    {"native stacks", milliseconds(5000)},
    {"threads", milliseconds(1000)},
    {"sockets", milliseconds(3000)},
    {"network", milliseconds(2000)},
    {"GPUs", milliseconds(5000)},
}};

const PartRow& row_of(Part part) { return kParts[static_cast<std::size_t>(part)]; }

// Paths of helper programs for stacks; empty: not installed.
struct Tools {
  std::string py_spy, eu_stack;
};

Tools find_tools(const wire::WorkerTemplate& workers) {
  constexpr std::string_view kPath = "PATH=";
  std::string path;
  for (const std::string& entry : workers.environment) {
    if (entry.starts_with(kPath)) path = entry.substr(kPath.size());
  }
  // A virtual environment's programs first.
  const std::size_t slash = workers.interpreter.rfind('/');
  if (slash != std::string::npos) path = workers.interpreter.substr(0, slash) + ":" + path;
  return {base::find_executable("py-spy", path).value_or(""),
          base::find_executable("eu-stack", path).value_or("")};
}

class Collection final : public std::enable_shared_from_this<Collection> {
 public:
  Collection(NodeContext& node, Suspect suspect, EvidenceCollector::Done done)
      : node_(node),
        suspect_(std::move(suspect)),
        done_(std::move(done)),
        second_look_(node.executor) {}

  void start(milliseconds within);
  void drop();

 private:
  struct Running {
    bool open = false;
    std::optional<asio::steady_timer> deadline;
  };

  Running& of(Part part) { return running_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] bool is_open(Part part) { return done_ && of(part).open; }
  void begin(Part part);
  // `why`: what is missing; empty: nothing.
  void end(Part part, const std::string& why = {});
  void note_missing(Part part, const std::string& why);
  // Time left for a program that is to be killed before the part's deadline.
  milliseconds time_for(Part part);
  template <class Work, class Then>
  void on_pool(Part part, std::uint32_t lane, Work work, Then then);
  void ask(Part part, std::vector<std::string> argv, bool any_end,
           std::function<void(const base::Result<std::string>&)> take);

  void look_at_process();
  void on_first_look(base::Result<ProcessLook> look);
  void on_second_look(base::Result<ProcessLook> look);
  void look_at_stacks();
  void look_at_source();
  void look_closer();
  void look_at_waits();
  void run_tools(const Tools& tools);
  void ask_py_spy(const std::string& program);
  void ask_eu_stack(const std::string& program);
  void look_at_sockets();
  void look_at_network();
  void look_at_gpus();
  void on_gpus(const base::Result<std::string>& answer);

  NodeContext& node_;
  const Suspect suspect_;
  EvidenceCollector::Done done_;
  asio::steady_timer second_look_;
  std::array<Running, kParts.size()> running_;
  base::Nanos end_{};  // deadline of all parts
  std::unique_ptr<PythonStacks> python_;
  std::list<std::unique_ptr<AskedProgram>> asked_;
  tracer::Evidence evidence_;
  std::optional<ProcessLook> look_;
  base::Nanos looked_at_{};
  std::optional<base::Nanos> sockets_at_;  // the first look at them
  std::vector<std::uint64_t> idents_;  // of evidence_.stacks, while they are faulthandler's
  bool looked_closer_ = false;
  ThreadWaits waits_;
  bool sockets_idle_ = false;  // no connection carried data between the two looks at them
};

void Collection::start(milliseconds within) {
  end_ = node_.clock.now() + std::max(within, kEvidenceMin);
  begin(Part::kProcess);
  if (!suspect_.only_use) begin(Part::kPython);
  look_at_process();
  if (!suspect_.only_use) look_at_stacks();
}

void Collection::drop() {
  done_ = nullptr;
  second_look_.cancel();
  for (Running& each : running_) each.deadline.reset();
  python_.reset();
  asked_.clear();
}

void Collection::begin(Part part) {
  of(part).open = true;
  const base::Nanos left = std::max(end_ - node_.clock.now(), base::Nanos{});
  auto& deadline = of(part).deadline.emplace(node_.executor);
  deadline.expires_after(std::min<base::Nanos>(left, row_of(part).max));
  deadline.async_wait([self = shared_from_this(), part](const error_code& error) {
    if (!error && self->is_open(part)) self->end(part, "not known in time");
  });
}

milliseconds Collection::time_for(Part part) {
  const auto left = std::chrono::duration_cast<milliseconds>(end_ - node_.clock.now());
  return std::max(std::min(left, row_of(part).max) - kEvidenceMargin, milliseconds(1));
}

void Collection::note_missing(Part part, const std::string& why) {
  evidence_.missing.push_back(
      fmt::format("{}: {}", row_of(part).name, why.substr(0, kFactBytesMax)));
}

void Collection::end(Part part, const std::string& why) {
  of(part).open = false;
  of(part).deadline.reset();
  if (!why.empty()) note_missing(part, why);
  const bool seen = !suspect_.only_use && !of(Part::kProcess).open && !of(Part::kPython).open;
  if (seen && !std::exchange(looked_closer_, true)) look_closer();
  if (std::ranges::any_of(running_, &Running::open)) return;
  // A part may end within its own call, so the owner is done later, and once.
  asio::post(node_.executor, [self = shared_from_this()] {
    const EvidenceCollector::Done done = std::exchange(self->done_, nullptr);
    tracer::Evidence evidence = std::move(self->evidence_);
    evidence.process.main_wait = self->waits_.main;
    evidence.process.others_idle = self->waits_.others_idle && self->sockets_idle_;
    self->drop();
    if (done) done(std::move(evidence));
  });
}

// Calls `then` with the result of `work`, unless the part is over by then.
template <class Work, class Then>
void Collection::on_pool(Part part, std::uint32_t lane, Work work, Then then) {
  using Outcome = std::optional<decltype(work())>;
  auto outcome = std::make_shared<Outcome>();
  auto done = [self = shared_from_this(), part, outcome, then = std::move(then)]() mutable {
    --self->node_.slow_looks;
    if (self->is_open(part)) then(*std::move(*outcome));
  };
  if (node_.slow_looks >= kSlowLooksMax ||
      !node_.pool.submit(
          lane, [outcome, work = std::move(work)]() mutable { outcome->emplace(work()); },
          std::move(done))) {
    return end(part, "too many looks are under way on this node, or hang");
  }
  ++node_.slow_looks;
}

void Collection::ask(Part part, std::vector<std::string> argv, bool any_end,
                     std::function<void(const base::Result<std::string>&)> take) {
  Question question{node_.shim, std::move(argv), node_.workers.environment, {}, time_for(part)};
  // The helper must not wait for a server of debug symbols.
  std::erase_if(question.environment,
                [](const std::string& entry) { return entry.starts_with("DEBUGINFOD_URLS="); });
  question.answer_max = kStackDumpBytesMax;
  question.any_end = any_end;
  asked_.push_back(AskedProgram::ask(
      node_.executor, std::move(question),
      [this, part, take = std::move(take)](const base::Result<std::string>& answer) {
        if (is_open(part)) take(answer);
      }));
}

void Collection::look_at_process() {
  on_pool(
      Part::kProcess, kEvidenceLane,
      [pid = suspect_.pid, cgroup = suspect_.cgroup] {
        return agent::look_at_process(pid, cgroup);
      },
      [this](base::Result<ProcessLook> look) { on_first_look(std::move(look)); });
}

void Collection::on_first_look(base::Result<ProcessLook> look) {
  if (!look) return end(Part::kProcess, look.error().what);
  looked_at_ = node_.clock.now();
  look_ = *std::move(look);
  evidence_.has_process = true;
  evidence_.process = look_->state;
  if (!suspect_.only_use) {
    begin(Part::kSockets);
    look_at_sockets();
  }
  look_at_gpus();
  second_look_.expires_after(suspect_.apart);
  second_look_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && self->is_open(Part::kSockets)) self->look_at_sockets();
    if (error || !self->is_open(Part::kProcess)) return;
    self->on_pool(
        Part::kProcess, kEvidenceLane,
        [pid = self->suspect_.pid, cgroup = self->suspect_.cgroup] {
          return agent::look_at_process(pid, cgroup);
        },
        [self](base::Result<ProcessLook> second) { self->on_second_look(std::move(second)); });
  });
}

void Collection::on_second_look(base::Result<ProcessLook> look) {
  if (!look) return end(Part::kProcess, look.error().what);
  auto state = compare_looks(*look_, *look, node_.clock.now() - looked_at_);
  if (!state) return end(Part::kProcess, state.error().what);
  evidence_.process = *std::move(state);
  end(Part::kProcess);
}

void Collection::look_at_stacks() {
  python_ = PythonStacks::start(node_.executor, suspect_, time_for(Part::kPython),
                                [this](PythonStacks::Answer answer) {
                                  if (!is_open(Part::kPython)) return;
                                  evidence_.stacks = std::move(answer.dump.stacks);
                                  evidence_.stacks_moved = answer.moved;
                                  idents_ = std::move(answer.dump.idents);
                                  look_at_source();
                                  end(Part::kPython, answer.missing);
                                });
}

// Finds the call in the main thread's innermost line.
void Collection::look_at_source() {
  const tracer::ThreadStack* const main = main_stack(evidence_.stacks);
  if (main == nullptr) return;
  begin(Part::kSource);
  on_pool(
      Part::kSource, kSourceLane,
      [pid = suspect_.pid, stack = *main]() mutable {
        add_call(pid, stack);
        return std::move(stack);
      },
      [this](const tracer::ThreadStack& read) {
        for (tracer::ThreadStack& stack : evidence_.stacks) {
          const bool is_it = stack.is_main && !stack.is_native;
          if (is_it && stack.frames.size() == read.frames.size()) stack.frames = read.frames;
        }
        end(Part::kSource);
      });
}

// Programs that look into the process, or stop it for a moment, run only for one that does not
// move.
void Collection::look_closer() {
  const tracer::ProcessState& process = evidence_.process;
  constexpr int kIdleShare = 10;  // a process with a smaller share of processor time counts as idle
  const bool idle = process.watched > base::Nanos{} &&
                    (process.cpu + process.cpu_delay) * kIdleShare < process.watched;
  const bool still = evidence_.stacks.empty() ? idle : !evidence_.stacks_moved;
  const bool needs_stacks = main_stack(evidence_.stacks) == nullptr;
  const bool lives = evidence_.has_process && process.state != "Z" && process.state != "X";
  if (!lives || (!still && !needs_stacks)) return;
  if (still) look_at_waits();
  if (still || needs_stacks) begin(Part::kPySpy);
  if (still) begin(Part::kNative);
  on_pool(
      Part::kPySpy, kEvidenceLane, [workers = node_.workers] { return find_tools(workers); },
      [this](const Tools& tools) { run_tools(tools); });
  if (!of(Part::kPySpy).open && of(Part::kNative).open) end(Part::kNative, "not looked for");
}

// Once no signal disturbs the threads any more.
void Collection::look_at_waits() {
  begin(Part::kWaits);
  on_pool(
      Part::kWaits, kEvidenceLane,
      [tree = look_->tree, now = node_.clock.now()] {
        ThreadWaits waits = thread_waits(tree, now);
        waits.others_idle = waits.others_idle && !descendants_are_connected(tree).value_or(true);
        return waits;
      },
      [this](ThreadWaits waits) {
        waits_ = waits;
        end(Part::kWaits);
      });
}

void Collection::run_tools(const Tools& tools) {
  if (of(Part::kNative).open) ask_eu_stack(tools.eu_stack);
  ask_py_spy(tools.py_spy);
}

void Collection::ask_py_spy(const std::string& program) {
  if (program.empty()) return end(Part::kPySpy, "not installed");
  ask(Part::kPySpy,
      {program, "dump", "--json", "--nonblocking", "--pid", std::to_string(suspect_.pid)}, false,
      [this](const base::Result<std::string>& answer) {
        if (!answer) return end(Part::kPySpy, answer.error().what);
        auto dump = parse_py_spy(*answer, suspect_.pid);
        if (!dump) return end(Part::kPySpy, dump.error().what);
        if (main_stack(evidence_.stacks) == nullptr) {
          std::erase_if(evidence_.stacks, [](const auto& stack) { return !stack.is_native; });
          evidence_.stacks.insert(evidence_.stacks.begin(), dump->stacks.begin(),
                                  dump->stacks.end());
          return end(Part::kPySpy);
        }
        for (std::size_t i = 0; i < dump->stacks.size(); ++i) {
          const auto same = std::ranges::find(idents_, dump->idents[i]);
          if (same == idents_.end()) continue;
          auto& stack = evidence_.stacks[static_cast<std::size_t>(same - idents_.begin())];
          stack.thread = dump->stacks[i].thread;
          stack.holds_gil = dump->stacks[i].holds_gil;
        }
        end(Part::kPySpy);
      });
}

void Collection::ask_eu_stack(const std::string& program) {
  if (program.empty()) return end(Part::kNative, "eu-stack is not installed");
  // It fails when it cannot read a single frame: its earlier output counts.
  ask(Part::kNative, eu_stack_argv(program, suspect_.pid), true,
      [this](const base::Result<std::string>& answer) {
        if (!answer) return end(Part::kNative, answer.error().what);
        auto stack = parse_eu_stack(*answer);
        if (!stack) return end(Part::kNative, stack.error().what);
        evidence_.stacks.push_back(*std::move(stack));
        end(Part::kNative);
      });
}

// Twice, because rates and missing acknowledgements show only as changes.
void Collection::look_at_sockets() {
  on_pool(
      Part::kSockets, kEvidenceLane, [tree = look_->tree] { return sockets_of(tree); },
      [this](base::Result<std::vector<tracer::SocketState>> sockets) {
        const base::Nanos now = node_.clock.now();
        const bool is_first = !sockets_at_;
        const std::string missing = sockets ? "" : sockets.error().what;
        if (!is_first && sockets) {
          compare_sockets(evidence_.sockets, *sockets, now - *sockets_at_);
          sockets_idle_ = !carry_data(evidence_.sockets, *sockets);
        }
        if (sockets) evidence_.sockets = *std::move(sockets);
        if (is_first) look_at_network();
        if (!is_first || !missing.empty()) end(Part::kSockets, missing);
        sockets_at_ = now;
      });
}

void Collection::look_at_network() {
  begin(Part::kNetwork);
  on_pool(
      Part::kNetwork, kNetworkLane,
      [sockets = evidence_.sockets] { return broken_links(sockets, interface_addresses()); },
      [this](std::vector<std::string> links) {
        evidence_.network = std::move(links);
        end(Part::kNetwork);
      });
}

void Collection::look_at_gpus() {
  begin(Part::kGpus);
  ask(Part::kGpus, {node_.executable, "agent", "--gpu-states"}, false,
      [this](const base::Result<std::string>& answer) { on_gpus(answer); });
}

void Collection::on_gpus(const base::Result<std::string>& answer) {
  if (!answer) return end(Part::kGpus, answer.error().what);
  auto gpus = read_gpu_states(*answer);
  if (!gpus) return end(Part::kGpus, gpus.error().what);
  if (gpus->empty()) return end(Part::kGpus);
  on_pool(
      Part::kGpus, kEvidenceLane,
      [gpus = gpus_of(*std::move(gpus), look_->tree, suspect_.gpus),
       since = ticks_to_time(look_->start_ticks)]() mutable {
        add_xid_lines(since, gpus);
        return std::move(gpus);
      },
      [this](std::vector<GpuReading> found) {
        for (GpuReading& gpu : found) evidence_.gpus.push_back(std::move(gpu.state));
        end(Part::kGpus);
      });
}

class Keeper final : public EvidenceCollector {
 public:
  explicit Keeper(std::shared_ptr<Collection> collection) : collection_(std::move(collection)) {}
  ~Keeper() override { collection_->drop(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  std::shared_ptr<Collection> collection_;
};

}  // namespace

std::unique_ptr<EvidenceCollector> EvidenceCollector::start(NodeContext& node, Suspect suspect,
                                                            milliseconds within, Done done) {
  auto collection = std::make_shared<Collection>(node, std::move(suspect), std::move(done));
  collection->start(within);
  return std::make_unique<Keeper>(std::move(collection));
}

}  // namespace robustrun::agent
