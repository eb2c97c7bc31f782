#include "cli/commands/replay_runs.h"

#include <fcntl.h>
#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <memory>

#include "base/io/child.h"
#include "base/io/fd.h"

namespace robustrun::cli {
namespace {

namespace asio = boost::asio;

constexpr int kLogMode = 0600;

class SideBySide {
 public:
  explicit SideBySide(const SignalReader& signals)
      : signals_(signals), watch_(loop_, ::fcntl(signals.fd(), F_DUPFD_CLOEXEC, 0)) {
    pass_on();
  }

  base::Status spawn(const ReplayRun& run, const std::string& folder, const Surroundings& around) {
    const std::string path = folder + "/" + run.name + ".log";
    const base::Fd log(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kLogMode));
    if (!log) return base::fail_errno("cannot write " + path, errno);
    base::ChildOptions options;
    options.executable = around.executable;
    options.argv = {"robustrun"};
    options.argv.insert(options.argv.end(), run.words.begin(), run.words.end());
    options.environment = run.environment;
    options.descriptors = {-1, log.get(), log.get()};
    const std::size_t number = ends_.size();
    ends_.emplace_back();
    children_.push_back(RR_TRY(
        base::Child::spawn(loop_.get_executor(), options,
                           [this, number](base::ExitStatus status) { ends_[number] = status; })));
    return {};
  }

  void end_after(base::Nanos limit) {
    deadline_.expires_after(limit);
    deadline_.async_wait([this](const boost::system::error_code& error) {
      if (!error) signal_all(SIGKILL);
    });
  }

  void signal_all(int number) {
    for (const auto& child : children_) static_cast<void>(child->signal(number));
  }

  ReplayEnds wait() {
    ReplayEnds result;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      while (!ends_[i]) loop_.run_one();
      result.ends.push_back(*ends_[i]);
    }
    result.stopped_by = stopped_by_;
    return result;
  }

 private:
  void pass_on() {
    watch_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (error) return;
                        for (int number = signals_.take(); number != 0; number = signals_.take()) {
                          stopped_by_ = number;
                          signal_all(SIGTERM);
                        }
                        pass_on();
                      });
  }

  asio::io_context loop_{1};
  const SignalReader& signals_;
  asio::posix::stream_descriptor watch_;
  asio::steady_timer deadline_{loop_};
  std::vector<std::unique_ptr<base::Child>> children_;
  std::vector<std::optional<base::ExitStatus>> ends_;
  int stopped_by_ = 0;
};

}  // namespace

base::Result<ReplayEnds> run_side_by_side(const std::vector<ReplayRun>& runs,
                                          const std::string& folder, base::Nanos limit,
                                          const SignalReader& signals, const Surroundings& around) {
  SideBySide all(signals);
  for (const ReplayRun& run : runs) {
    if (const auto spawned = all.spawn(run, folder, around); !spawned) {
      all.signal_all(SIGTERM);
      all.end_after(limit);
      static_cast<void>(all.wait());
      return std::unexpected(spawned.error());
    }
  }
  all.end_after(limit);
  return all.wait();
}

}  // namespace robustrun::cli
