#include "agent/agent.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "agent/copies/peer_copies.h"
#include "agent/node/limits.h"
#include "agent/node_agent.h"
#include "agent/stdin_watch.h"
#include "agent/uplink/supervisor_link.h"
#include "base/io/strays.h"
#include "wire/link/dialer.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;

constexpr int kExitFailed = 1;
constexpr int kExitInfrastructure = 94;  // not the script's fault: another start may help
constexpr int kExitSignalBase = 128;
constexpr base::BlockingPool::Lane kLookUpLane = 0xFFFFFFF9;

using LookUp = std::function<void(SupervisorLink::Network::Found)>;

LookUp on_pool(base::BlockingPool& pool, std::function<std::vector<std::string>()> look_up) {
  if (!look_up) return {};
  return [&pool, look_up = std::move(look_up)](const SupervisorLink::Network::Found& done) {
    auto found = std::make_shared<std::vector<std::string>>();
    const auto tell = [found, done] { done(std::move(*found)); };
    if (!pool.submit(kLookUpLane, [found, look_up] { *found = look_up(); }, tell)) tell();
  };
}

// A scheduler that warns of the job's end may signal all of its processes: the supervisor reacts.
void ignore_warnings() {
  for (const int warning : {SIGUSR1, SIGUSR2}) ::signal(warning, SIG_IGN);
}

void prepare_process() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit becomes an error of write()
  base::become_subreaper();
}

}  // namespace

int run_agent(base::Fd channel) {
  // A second notification of the supervisor's death, besides the end of the channel.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  prepare_process();
  ignore_warnings();
  asio::io_context loop(1);
  NodeAgent::Settings settings;
  settings.end_signals = {SIGHUP, SIGQUIT};
  settings.grace = kStopAloneGrace;
  const NodeAgent agent(loop, std::move(settings),
                        [&](const NodeAgent::Means& means, SupervisorLink::Handlers handlers) {
                          auto link = SupervisorLink::over_socket(
                              loop.get_executor(), std::move(channel), std::move(handlers));
                          wire::Hello hello{
                              wire::kProtocolVersion, means.host, ::getpid(), {}, 0, {}, {}};
                          hello.at = means.clock.now();
                          hello.began = means.began;
                          link->send(hello);
                          return link;
                        });
  loop.run();
  return 0;
}

int run_remote_agent(RemoteAgent start) {
  // The session that started us may end first.
  if (!start.own_workers) ::signal(SIGHUP, SIG_IGN);
  ignore_warnings();  // a guest's forwarded_signals have handlers of their own
  prepare_process();
  asio::io_context loop(1);
  const bool is_command = start.own_workers.has_value();  // of a user, on each node
  const bool compat = is_command && start.own_workers->compat;
  NodeAgent::Settings settings;
  settings.over_network = true;
  settings.ends_with_node = start.ends_with_node;
  settings.end_signals = std::move(start.end_signals);
  settings.grace = start.shutdown_grace;
  settings.forwarded_signals = std::move(start.forwarded_signals);
  settings.node_environment = std::move(start.node_environment);
  if (is_command) {
    settings.own_workers = std::move(start.own_workers);
    settings.own_streams = std::move(start.own_streams);
    settings.open_console = std::move(start.open_console);
  }
  NodeAgent agent(loop, std::move(settings),
                  [&](const NodeAgent::Means& means, SupervisorLink::Handlers handlers) {
                    wire::Hello hello{wire::kProtocolVersion, means.host, ::getpid(), {},
                                      start.self.slots,       {},         {}};
                    hello.began = means.began;
                    if (start.self.host.empty()) start.self.host = hello.host;
                    start.self.pid = hello.pid;
                    const std::string interface = start.credential.interface;
                    auto dialer =
                        wire::Dialer::make(loop.get_executor(), std::move(start.credential),
                                           std::move(start.self), std::move(start.munge));
                    return SupervisorLink::over_network(
                        loop.get_executor(), means.clock, std::move(dialer),
                        {std::move(hello), interface, start.first_contact_max,
                         on_pool(means.pool, std::move(start.look_up)), std::move(start.on_late),
                         std::bind_front(&PeerCopies::open, &means.peers)},
                        std::move(handlers));
                  });
  std::unique_ptr<StdinWatch> watch;
  if (start.watch_stdin) {
    watch = StdinWatch::start(loop.get_executor(), [&] {
      if (!agent.welcomed()) agent.leave();
    });
  }
  loop.run();
  const NodeAgent::End end = agent.end();
  if (end.left_by != 0) return compat ? kExitFailed : kExitSignalBase + end.left_by;
  if (end.exit_code) return *end.exit_code;
  const std::string line = "robustrun agent: " + end.why + "\n";
  // This is the last line, so a closed stderr is ignored.
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()) == 0);
  // Once it has joined, nothing but its workers and signals of a user may end it for good.
  const bool may_help = end.is_cut_off || agent.welcomed();
  return is_command && may_help && !compat ? kExitInfrastructure : kExitFailed;
}

}  // namespace robustrun::agent
