// run_job: one run from its request to the exit code, with everything it needs put together.

#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <filesystem>

#include "base/core/clock.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "launcher/agent_launcher.h"
#include "supervisor/core/exit_code.h"
#include "supervisor/driver.h"
#include "supervisor/farewell.h"
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

}  // namespace

int run_job(const RunRequest& request) {
  const std::string journal_path = request.run_directory + "/journal";
  auto executable = own_executable();
  auto made = base::make_directories(request.run_directory, 0700);
  auto journal =
      made ? Journal::create(journal_path) : base::Result<Journal>(std::unexpected(made.error()));
  if (!executable || !journal) {
    RR_LOG(kError, {}, "{}", executable ? journal.error().what : executable.error().what);
    return kExitUsage;
  }
  // A reader of ours that went away is an error of write(), never the end of the run.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(), too

  int exit_code = kExitFailure;
  const base::SystemClock clock;
  asio::io_context loop(1);
  {
    auto launcher = launcher::make_local_launcher(loop.get_executor(), *executable);
    Driver driver(
        {loop.get_executor(), clock, *launcher, *std::move(journal), STDOUT_FILENO, STDERR_FILENO},
        request, [&](int code) {
          exit_code = code;
          loop.stop();
        });
    SignalWatch end(loop, request.end_signals, false, driver);
    SignalWatch forward(loop, request.forwarded_signals, true, driver);
    driver.start();
    loop.run();
  }
  say_farewell(request, journal_path);
  return exit_code;
}

}  // namespace robustrun::supervisor
