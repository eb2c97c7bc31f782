// run_job: one run from its request to the exit code, with everything it needs put together.

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <filesystem>

#include "base/core/clock.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "launcher/agent_launcher.h"
#include "launcher/ssh_launcher.h"
#include "supervisor/core/exit_code.h"
#include "supervisor/driver.h"
#include "supervisor/farewell.h"
#include "supervisor/limits.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {
namespace {

namespace asio = boost::asio;

class SignalWatch {
 public:
  SignalWatch(asio::io_context& loop, const std::vector<int>& signals, bool forward_only,
              Driver& driver)
      : set_(loop), forward_only_(forward_only), driver_(driver) {
    for (int signal : signals) {
      boost::system::error_code error;
      set_.add(signal, error);
      if (error) {
        RR_LOG(kWarn, {}, "cannot handle signal {}: {}", signal, error.message());
      }
    }
    wait();
  }

 private:
  void wait() {
    set_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      driver_.signal_received(signal, forward_only_);
      wait();
    });
  }

  asio::signal_set set_;
  bool forward_only_;
  Driver& driver_;
};

base::Result<std::string> own_executable() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return base::fail_errno("cannot find robustrun's own executable through /proc/self/exe",
                            error.value());
  }
  return path.string();
}

std::unique_ptr<launcher::AgentLauncher> make_launcher(asio::io_context& loop,
                                                       base::BlockingPool& pool,
                                                       const std::string& executable,
                                                       const NetworkPlan& network) {
  switch (network.launch) {
    case NetworkPlan::Launch::kProcesses:
      return launcher::make_process_launcher(loop.get_executor(), executable);
    case NetworkPlan::Launch::kSsh:
      return launcher::make_ssh_launcher(loop.get_executor(), pool, network.hosts, network.ssh);
    case NetworkPlan::Launch::kSocketPair: break;
  }
  return launcher::make_local_launcher(loop.get_executor(), executable);
}

}  // namespace

int run_job(const RunRequest& request) {
  const std::string journal_path = request.run_directory + "/journal";
  const auto refuse = [](const base::Error& error) {
    RR_LOG(kError, {}, "{}", error.what);
    return kExitUsage;
  };
  const auto executable = own_executable();
  if (!executable) return refuse(executable.error());
  // A reader of ours that went away is an error of write(), never the end of the run.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(), too

  int exit_code = kExitFailure;
  const base::SystemClock clock;
  asio::io_context loop(1);
  {
    base::BlockingPool pool(loop.get_executor(), kLauncherThreads, kLauncherQueueMax);
    auto launcher = make_launcher(loop, pool, *executable, request.network);
    Driver driver({loop.get_executor(), clock, *launcher, STDOUT_FILENO, STDERR_FILENO}, request,
                  [&](int code) {
                    exit_code = code;
                    loop.stop();
                  });
    if (auto opened = driver.open_door(); !opened) {
      const bool another_leads =
          request.spec.group.open && opened.error().code == base::Errc::kConflict;
      return another_leads ? kAnotherLeads : refuse(opened.error());
    }
    auto made = base::make_directories(request.run_directory, 0700);
    auto journal =
        made ? Journal::create(journal_path) : base::Result<Journal>(std::unexpected(made.error()));
    if (!journal) return refuse(journal.error());
    driver.record_to(*std::move(journal));
    SignalWatch end(loop, request.end_signals, false, driver);
    SignalWatch forward(loop, request.forwarded_signals, true, driver);
    driver.start();
    loop.run();
  }
  say_farewell(request, journal_path);
  return exit_code;
}

}  // namespace robustrun::supervisor
