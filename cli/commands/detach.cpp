#include "cli/commands/detach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/io/child.h"
#include "cli/commands/commands.h"
#include "cli/options/limits.h"
#include "cli/runs/end_of_run.h"
#include "cli/runs/follow.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

namespace asio = boost::asio;

int exit_code_of(const base::ExitStatus& status) {
  return supervisor::exit_code_for_worker(status, false);
}

// The supervisor process, seen from its parent.
class Detached {
 public:
  base::Status spawn(const std::string& subcommand, std::span<const std::string> argv,
                     const Surroundings& around) {
    base::FdPair channel = RR_TRY(base::make_socket_pair(SOCK_STREAM));
    base::ChildOptions options;
    options.executable = around.executable;
    options.argv = {around.program_name, kDetachedWord, subcommand};
    options.argv.insert(options.argv.end(), argv.begin(), argv.end());
    options.environment = around.environment;
    options.descriptors = {-1, STDOUT_FILENO, STDERR_FILENO, channel.second.get()};
    child_ = RR_TRY(base::Child::spawn(loop_.get_executor(), options,
                                       [this](base::ExitStatus status) { ended_ = status; }));
    boost::system::error_code error;
    announcement_.assign(asio::local::stream_protocol(), channel.first.get(), error);
    if (error) return base::fail_errno("cannot wait for the run", error.value());
    static_cast<void>(channel.first.release());
    return {};
  }

  // Waits for the run's directory; empty if the run did not start. Passes signals on meanwhile.
  std::string wait_for_directory(const SignalReader& signals) {
    asio::posix::stream_descriptor watch(loop_, ::fcntl(signals.fd(), F_DUPFD_CLOEXEC, 0));
    pass_on(watch, signals);
    std::string directory;
    bool read = false;
    asio::async_read(announcement_, asio::buffer(buffer_),
                     [&](const boost::system::error_code&, std::size_t size) {
                       directory.assign(buffer_.data(), size);
                       read = true;
                     });
    while (!read) loop_.run_one();
    if (directory.empty()) {
      while (!ended_) loop_.run_one();
    }
    return directory;
  }

  void signal(int number) { static_cast<void>(child_->signal(number)); }

  base::ExitStatus wait() {
    loop_.restart();
    while (!ended_) loop_.run_one();
    return *ended_;
  }

 private:
  void pass_on(asio::posix::stream_descriptor& watch, const SignalReader& signals) {
    watch.async_wait(asio::posix::stream_descriptor::wait_read,
                     [&](const boost::system::error_code& error) {
                       if (error) return;
                       for (int number = signals.take(); number != 0; number = signals.take()) {
                         signal(number);
                       }
                       pass_on(watch, signals);
                     });
  }

  asio::io_context loop_{1};
  asio::local::stream_protocol::socket announcement_{loop_};
  std::array<char, 4096> buffer_{};
  std::unique_ptr<base::Child> child_;
  std::optional<base::ExitStatus> ended_;
};

// Returns `code`. A script takes the name from standard output whenever the code is 0.
int tell_name(const std::string& directory, int code) {
  if (code == 0) print(std::filesystem::path(directory).filename().string() + "\n");
  return code;
}

int announce_background(const std::string& directory, std::int32_t pid, bool quiet) {
  if (!quiet) {
    const std::string name = std::filesystem::path(directory).filename();
    say(fmt::format("run {} is running in the background (pid {}), in {}", name, pid, directory));
    say(fmt::format("  robustrun status {}   shows its state", name));
    say(fmt::format("  robustrun attach {}   shows its console", name));
    say(fmt::format("  robustrun stop {}     stops it", name));
  }
  return tell_name(directory, 0);
}

}  // namespace

int start_detached(const std::string& subcommand, std::span<const std::string> argv,
                   const Surroundings& around, bool quiet) {
  const auto signals = SignalReader::open({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  Detached run;
  if (const auto spawned = run.spawn(subcommand, argv, around); !spawned)
    return complain(spawned.error());
  const std::string directory = run.wait_for_directory(*signals);
  if (directory.empty()) {
    const int code = exit_code_of(run.wait());
    // To resume a run that has ended well is no error.
    if (code != 0 || subcommand == "resume") return code;
    return complain({base::Errc::kInternal, 0, "the run was not started, and gave no reason"});
  }
  auto client = supervisor::ControlClient::connect(directory);
  if (!client) {
    say(client.error().what);
    say(fmt::format("the run continues nevertheless, in {}", directory));
    return tell_name(directory, 0);
  }
  Follower follower(*client, *signals, supervisor::kOutputLinesMax);
  for (;;) {
    const Followed followed = follower.follow(true);
    switch (followed.end) {
      case Followed::End::kUp:
      case Followed::End::kReaderGone:
        return announce_background(directory, client->peer_pid(), quiet);
      case Followed::End::kRunEnded:
        print_final_report(directory, around, quiet);
        return tell_name(directory, followed.exit_code);
      case Followed::End::kInterrupted:
        for (int number = signals->take(); number != 0; number = signals->take()) {
          run.signal(number);
        }
        break;
      case Followed::End::kLost:
        say(followed.error->what);
        return tell_name(directory, exit_code_of(run.wait()));
    }
  }
}

}  // namespace robustrun::cli
