#include "launcher/slurm/step.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/core/exit_status.h"
#include "base/io/child.h"
#include "base/io/fd.h"
#include "launcher/limits.h"
#include "launcher/log_tail.h"
#include "launcher/own_environment.h"

namespace robustrun::launcher {
namespace {

// A file without a name: no other process can open it, and it disappears with its last descriptor.
// Unlike a pipe it holds any length and does not break when we die.
base::Result<base::Fd> nameless_file(const std::string& content) {
  base::Fd file(::memfd_create("credential", MFD_CLOEXEC));
  if (!file) return base::fail_errno("cannot make a file in memory", errno);
  RR_TRY(base::write_all(file.get(), content));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) {
    return base::fail_errno("cannot rewind a file in memory", errno);
  }
  return file;
}

class Srun final : public SlurmStep {
 public:
  Srun(SlurmOptions options, Handlers handlers)
      : options_(std::move(options)), handlers_(std::move(handlers)) {}

  ~Srun() override {
    // kNotFound: it is ending by itself.
    if (process_ != nullptr && !left_) static_cast<void>(process_->signal(SIGTERM));
  }
  Srun(const Srun&) = delete;
  Srun& operator=(const Srun&) = delete;

  base::Status start(const boost::asio::any_io_executor& executor,
                     const std::vector<std::string>& nodes, const std::string& credential,
                     unsigned number) {
    const base::Fd input = RR_TRY(nameless_file(credential));
    const std::string path = srun_log(options_, number);
    const base::Fd log(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!log) return base::fail_errno("cannot make " + path, errno);
    base::ChildOptions child;
    child.executable = options_.commands + "/srun";
    child.argv = srun_argv(options_, nodes, number);
    child.environment = srun_environment(options_, own_environment());
    child.descriptors = {input.get(), log.get(), log.get()};
    process_ = RR_TRY(
        base::Child::spawn(executor, child, [this](base::ExitStatus status) { on_exit(status); }));
    tail_ =
        RR_TRY(LogTail::follow(executor, path, [this](const std::string& line) { on_line(line); }));
    return {};
  }

  void leave() override {
    left_ = true;
    handlers_ = {};
  }
  [[nodiscard]] pid_t pid() const override { return process_ == nullptr ? 0 : process_->pid(); }

 private:
  void on_line(const std::string& line) {
    const auto news = read_srun_line(line);
    if (news) {
      began_ = true;
      if (!left_) handlers_.on_news(*news);
    } else if (lines_.size() < kSrunLinesMax) {
      lines_.push_back(line);
    }
    refused_ = refused_ || is_refusal(line);
  }

  void on_exit(base::ExitStatus status) {
    const std::string name = fmt::format("srun (pid {})", process_->pid());
    process_.reset();
    if (tail_ != nullptr) tail_->finish();
    const std::string errors = srun_errors(lines_);
    End end;
    end.what = fmt::format("{} ended: {}{}{}", name, base::describe(status),
                           errors.empty() ? "" : ": ", errors);
    end.began = began_ || !refused_;
    if (!left_) std::exchange(handlers_, {}).on_end(end);  // may destroy us
  }

  SlurmOptions options_;
  Handlers handlers_;
  std::unique_ptr<base::Child> process_;
  std::unique_ptr<LogTail> tail_;
  std::vector<std::string> lines_;
  bool began_ = false;
  bool refused_ = false;
  bool left_ = false;
};

}  // namespace

base::Result<std::unique_ptr<SlurmStep>> SlurmStep::start(boost::asio::any_io_executor executor,
                                                          const SlurmOptions& options,
                                                          const std::vector<std::string>& nodes,
                                                          const std::string& credential,
                                                          unsigned number, Handlers handlers) {
  auto step = std::make_unique<Srun>(options, std::move(handlers));
  RR_TRY(step->start(executor, nodes, credential, number));
  return step;
}

}  // namespace robustrun::launcher
