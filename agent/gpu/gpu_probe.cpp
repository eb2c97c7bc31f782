#include "agent/gpu/gpu_probe.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "agent/node/limits.h"
#include "agent/process/ask_program.h"
#include "probe/limits.h"
#include "probe/result.h"
#include "probe/tests.h"

namespace robustrun::agent {
namespace {

static_assert(kAnswerBytesMax >= probe::kResultBytesMax);
static_assert(kFactsGpuMax > probe::kTests.size() * probe::kTestMax);

std::string program_beside(const std::string& executable) {
  const std::string path = executable.substr(0, executable.rfind('/') + 1) + probe::kProgram;
  return ::access(path.c_str(), X_OK) == 0 ? path : probe::kProgram;
}

// NCCL logs to standard output and would fill the answer.
std::vector<std::string> without_log(std::vector<std::string> environment) {
  std::erase_if(environment,
                [](const std::string& line) { return line.starts_with("NCCL_DEBUG"); });
  return environment;
}

std::string first_error(const base::Error& error) {
  if (error.code != base::Errc::kNotFound) return error.what;
  return fmt::format(
      "{} is neither beside robustrun nor in the PATH here; it is built where CUDA, "
      "cuBLAS and NCCL are (cmake -DROBUSTRUN_CUDA=ON)",
      probe::kProgram);
}

class Probing final : public GpuProbe {
 public:
  Probing(const NodeContext& node, std::chrono::milliseconds test_max, Done done)
      : node_(node),
        program_(program_beside(node.executable)),
        test_max_(test_max),
        done_(std::move(done)) {
    facts_.asked = true;
    ask_next();
  }

 private:
  [[nodiscard]] const char* test() const { return probe::kTests[next_]; }

  void ask_next() {
    Question question{
        node_.shim, {program_, test()}, without_log(node_.workers.environment), {}, test_max_};
    asked_ =
        AskedProgram::ask(node_.executor, std::move(question),
                          [this](const base::Result<std::string>& answer) { on_answer(answer); });
  }

  void on_answer(const base::Result<std::string>& answer) {
    base::Result<base::GpuFacts> found =
        answer ? probe::read_result(test(), *answer) : std::unexpected(answer.error());
    if (!found && next_ == 0) {
      facts_.error = first_error(found.error());
    } else if (!found) {
      add_fault(found.error().what);
    } else {
      take(*std::move(found));
    }
    if (!facts_.error.empty() || ++next_ == probe::kTests.size()) {
      const Done done = std::exchange(done_, nullptr);
      return done(std::move(facts_));  // may destroy this object
    }
    ask_next();
  }

  void take(base::GpuFacts found) {
    if (next_ == 0) {
      facts_.models = found.models;
      facts_.error = found.models.empty() ? found.error : "";
      if (!facts_.error.empty()) return;
    } else if (found.error.empty() && found.models != facts_.models) {
      add_fault(fmt::format("it sees {} GPUs, the first test saw {}, or other ones",
                            found.models.size(), facts_.models.size()));
      return;
    }
    if (!found.error.empty()) add_fault(found.error);
    for (const std::string& fault : found.faults) add_fault(fault);
    std::ranges::move(found.figures, std::back_inserter(facts_.figures));
    std::ranges::move(found.sums, std::back_inserter(facts_.sums));
  }

  void add_fault(const std::string& words) {
    facts_.faults.push_back(fmt::format("{}: {}", test(), words).substr(0, kFactBytesMax));
  }

  const NodeContext& node_;
  std::string program_;
  std::chrono::milliseconds test_max_;
  Done done_;
  base::GpuFacts facts_;
  std::size_t next_ = 0;   // index into kTests
  std::unique_ptr<AskedProgram> asked_;
};

}  // namespace

std::unique_ptr<GpuProbe> GpuProbe::start(const NodeContext& node,
                                          std::chrono::milliseconds test_max, Done done) {
  return std::make_unique<Probing>(node, test_max, std::move(done));
}

}  // namespace robustrun::agent
