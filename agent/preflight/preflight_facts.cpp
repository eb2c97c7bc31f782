#include "agent/preflight/preflight_facts.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "agent/gpu/gpu_list.h"
#include "agent/gpu/gpu_probe.h"
#include "agent/health/kernel_log.h"
#include "agent/health/watch.h"
#include "agent/node/limits.h"
#include "agent/preflight/local_facts.h"
#include "agent/preflight/software.h"
#include "agent/process/ask_program.h"
#include "agent/spawn/check_program.h"
#include "base/io/log.h"
#include "probe/limits.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;

constexpr const char* kSharedMemory = "/dev/shm";
constexpr const char* kNoAnswer = "its file system does not answer";

// Facts from files; on the pool, because a dead mount never answers.
struct Files {
  std::string missing;
  base::Space disk, shm;
  std::uint32_t rdma_devices = 0;
};

Files look_at_files(const wire::WorkerTemplate& workers) {
  Files files;
  if (auto checked = check_program(workers); !checked) {
    files.missing = checked.error().what.substr(0, kFactBytesMax);
  }
  files.shm = space_at(kSharedMemory);
  files.disk = space_at(busiest_folder(workers));
  files.rdma_devices = rdma_devices("");
  return files;
}

class Collector final : public FactsCollector, public std::enable_shared_from_this<Collector> {
 public:
  Collector(NodeContext& node, const wire::CheckNode& order, Done done)
      : node_(node),
        full_(order.full),
        gpus_too_(order.gpus),
        done_(std::move(done)),
        deadline_(node.executor) {}

  void start() {
    const auto within = std::chrono::milliseconds(full_ ? kFactsFullMax : kFactsFastMax);
    facts_.limits = user_limits();
    facts_.disk.error = facts_.shm.error = kNoAnswer;
    deadline_.expires_after((gpus_too_ ? kFactsGpuMax : within) + kFactsMargin);
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->finish();
    });
    if (full_) look_at_kernel_log();
    ask_files();
    ask_interpreter(within);
    ask_gpus(within);
    if (gpus_too_) test_gpus();
  }

  void drop() override {
    done_ = nullptr;
    deadline_.cancel();
    interpreter_.reset();
    gpus_.reset();
    probe_.reset();
  }

 private:
  void look_at_kernel_log() {
    const auto log = KernelLog::open(health_root(node_) + kKernelLogPath);
    if (log) return;
    RR_LOG(kWarn, {}, "{}: what the kernel says of this machine will not be noticed",
           log.error().what);
  }

  void ask_files() {
    ++open_;
    auto files = std::make_shared<Files>();
    const auto submitted = node_.pool.submit(
        kCheckLane, [files, workers = node_.workers] { *files = look_at_files(workers); },
        [self = shared_from_this(), files] {
          self->facts_.missing = std::move(files->missing);
          self->facts_.disk = std::move(files->disk);
          self->facts_.shm = std::move(files->shm);
          self->facts_.rdma_devices = files->rdma_devices;
          self->one_less();
        });
    if (!submitted) --open_;  // nothing is known then, and the facts say so
  }

  void ask_interpreter(std::chrono::milliseconds within) {
    const std::string& interpreter = node_.workers.interpreter;
    if (interpreter.empty()) return;
    facts_.software = read_software(base::fail(base::Errc::kTimeout, "no answer in time"));
    interpreter_ = ask(software_question(interpreter, full_), within,
                       [this](const base::Result<std::string>& answer) {
                         facts_.software = read_software(answer);
                       });
  }

  void ask_gpus(std::chrono::milliseconds within) {
    gpus_ =
        ask({node_.executable, "agent", "--list-gpus"}, within,
            [this](const base::Result<std::string>& answer) { facts_.gpus = read_gpus(answer); });
  }

  void test_gpus() {
    ++open_;
    facts_.probe.asked = true;
    facts_.probe.error = "their tests did not end in time";
    probe_ =
        GpuProbe::start(node_, probe::kTestMax, [self = shared_from_this()](base::GpuFacts facts) {
          self->facts_.probe = std::move(facts);
          self->one_less();
        });
  }

  std::unique_ptr<AskedProgram> ask(std::vector<std::string> argv, std::chrono::milliseconds within,
                                    std::function<void(const base::Result<std::string>&)> take) {
    ++open_;
    Question question{node_.shim, std::move(argv), node_.workers.environment, {}, within};
    return AskedProgram::ask(
        node_.executor, std::move(question),
        [self = shared_from_this(), take = std::move(take)](const base::Result<std::string>& got) {
          take(got);
          self->one_less();
        });
  }

  void one_less() {
    if (--open_ == 0) finish();
  }

  void finish() {
    const Done done = std::exchange(done_, nullptr);
    drop();
    if (done) done(std::move(facts_));
  }

  NodeContext& node_;
  bool full_, gpus_too_;
  Done done_;
  asio::steady_timer deadline_;
  base::NodeFacts facts_;
  std::unique_ptr<AskedProgram> interpreter_, gpus_;
  std::unique_ptr<GpuProbe> probe_;
  int open_ = 0;   // answers that are missing
};

}  // namespace

std::shared_ptr<FactsCollector> FactsCollector::start(NodeContext& node,
                                                      const wire::CheckNode& order, Done done) {
  auto collector = std::make_shared<Collector>(node, order, std::move(done));
  collector->start();
  return collector;
}

}  // namespace robustrun::agent
