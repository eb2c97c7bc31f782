// run_job: one run from its request to the exit code, with everything it needs put together.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <deque>
#include <filesystem>

#include "base/core/clock.h"
#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "base/io/blocking_pool.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "launcher/agent_launcher.h"
#include "launcher/local_launcher.h"
#include "launcher/process_launcher.h"
#include "launcher/slurm/job_end.h"
#include "launcher/slurm/launcher.h"
#include "launcher/slurm/node_states.h"
#include "launcher/slurm/notice.h"
#include "launcher/slurm/replacement.h"
#include "launcher/ssh/launcher.h"
#include "supervisor/console/console_log.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/driver/driver.h"
#include "supervisor/group/backup_solver.h"
#include "supervisor/group/node_history.h"
#include "supervisor/group/placer.h"
#include "supervisor/limits.h"
#include "supervisor/outlets/outlets.h"
#include "supervisor/run/continued_clock.h"
#include "supervisor/run/earlier_saves.h"
#include "supervisor/run/final_report.h"
#include "supervisor/run_dir/code_pack.h"
#include "supervisor/run_dir/journal.h"
#include "supervisor/run_dir/run_authority.h"
#include "supervisor/run_dir/run_lock.h"
#include "supervisor/run_dir/saved_request.h"
#include "supervisor/run_request.h"
#include "tracer/analysis/analyze.h"
#include "wire/net/look_up.h"

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
    case NetworkPlan::Launch::kSlurm:
      return launcher::make_slurm_launcher(loop.get_executor(), pool, network.hosts, network.slurm);
    case NetworkPlan::Launch::kSocketPair: break;
  }
  return launcher::make_local_launcher(loop.get_executor(), executable);
}

// Driver::Parts::look_up
using AddressesFound = std::function<void(std::vector<std::string>)>;
std::function<void(const std::string&, AddressesFound)> address_finder(asio::io_context& loop,
                                                                       base::BlockingPool& pool,
                                                                       const NetworkPlan& network) {
  if (network.hosts.empty()) return {};
  return [&loop, &pool](const std::string& name, const AddressesFound& done) {
    auto found = std::make_shared<std::vector<std::string>>();
    const bool is_bracketed = name.starts_with('[') && name.ends_with(']');
    const base::Status submitted = pool.submit(
        kLookUpLane,
        [name = is_bracketed ? name.substr(1, name.size() - 2) : name, found] {
          if (auto addresses = wire::look_up(name)) *found = *std::move(addresses);
        },
        [found, done] { done(std::move(*found)); });
    if (submitted) return;
    RR_LOG(kDebug, {}, "{}", submitted.error().what);
    // Not from here: it asks for the next host, and there may be many.
    asio::post(loop, [done] { done({}); });
  };
}

// Driver::Parts::ask_slurm
std::function<void(std::function<void(launcher::SlurmNotice)>)> slurm_question(
    base::BlockingPool& pool, const NetworkPlan& network) {
  if (network.launch != NetworkPlan::Launch::kSlurm) return {};
  return [&pool, &network](std::function<void(launcher::SlurmNotice)> done) {
    auto notice = std::make_shared<launcher::SlurmNotice>();
    const base::Status submitted = pool.submit(
        launcher::kNoticeLane,
        [notice, options = network.slurm] { *notice = launcher::ask_slurm_notice(options); },
        [notice, done] { done(*notice); });
    if (!submitted) done({});
  };
}

// Driver::Parts::ask_node_states
using NodeStates = base::Result<std::vector<launcher::SlurmNodeState>>;
std::function<void(std::function<void(NodeStates)>)> node_states_question(
    base::BlockingPool& pool, const NetworkPlan& network) {
  if (network.launch != NetworkPlan::Launch::kSlurm) return {};
  return [&pool, &network](std::function<void(NodeStates)> done) {
    std::vector<std::string> names;
    for (const launcher::Host& host : network.hosts) names.push_back(host.name);
    auto told = std::make_shared<NodeStates>();
    const base::Status submitted = pool.submit(
        launcher::kNodeStatesLane,
        [told, options = network.slurm, names = std::move(names)] {
          *told = launcher::ask_node_states(options, names);
        },
        [told, done] { done(std::move(*told)); });
    if (!submitted) done(std::unexpected(submitted.error()));
  };
}

// Driver::Parts::ask_job_end
using JobEndTold = base::Result<std::optional<base::Nanos>>;
std::function<void(std::function<void(JobEndTold)>)> job_end_question(base::BlockingPool& pool,
                                                                      const NetworkPlan& network) {
  const bool is_slurm = network.launch == NetworkPlan::Launch::kSlurm;
  if (!is_slurm && network.batch.commands.empty()) return {};
  return [&pool, &network, is_slurm](std::function<void(JobEndTold)> done) {
    auto told = std::make_shared<JobEndTold>();
    const base::Status submitted = pool.submit(
        launcher::kJobEndLane,
        [told, is_slurm, options = network.slurm, batch = network.batch] {
          *told = is_slurm ? launcher::ask_job_end(options) : launcher::ask_batch_end(batch);
        },
        [told, done] { done(std::move(*told)); });
    if (!submitted) done(std::unexpected(submitted.error()));
  };
}

// Driver::Parts::order_replacements
std::function<void(launcher::ReplacementOrder, std::function<void(launcher::ReplacementAnswer)>)>
replacement_orders(base::BlockingPool& pool, const NetworkPlan& network) {
  if (network.launch != NetworkPlan::Launch::kSlurm) return {};
  return [&pool, &network](launcher::ReplacementOrder order,
                           std::function<void(launcher::ReplacementAnswer)> done) {
    auto answer = std::make_shared<launcher::ReplacementAnswer>();
    const base::Status submitted = pool.submit(
        launcher::kReplacementLane,
        [answer, options = network.slurm, order = std::move(order)] {
          *answer = launcher::order_replacements(options, order);
        },
        [answer, done] { done(*answer); });
    if (!submitted) done({std::unexpected(submitted.error()), {}, {}});
  };
}

// Driver::Parts::read_earlier_saves
std::function<void(std::function<void(SaveTimes)>)> earlier_saves_reader(
    base::BlockingPool& pool, const RunRequest& request) {
  const std::uint32_t restarts = request.network.slurm.restarts;
  if (request.network.launch != NetworkPlan::Launch::kSlurm || restarts == 0) return {};
  return [&pool, directory = request.run_directory, restarts](std::function<void(SaveTimes)> done) {
    auto read = std::make_shared<EarlierSaves>();
    const base::Status submitted = pool.submit(
        kEarlierStartsLane,
        [read, directory, restarts] { *read = earlier_saves(directory, restarts); },
        [read, done] {
          if (!read->trouble.empty()) RR_LOG(kWarn, {}, "{}", read->trouble);
          done(read->times);
        });
    if (submitted) return;
    RR_LOG(kDebug, {}, "{}", submitted.error().what);
    done({});
  };
}

// Driver::Parts::place
std::function<void(SolvePlacement, std::function<void(PlacementSolved)>)> placement_solver(
    base::BlockingPool& pool, const PlacementRequest& request) {
  if (!request.enabled) return {};
  return [&pool, placer = std::make_shared<Placer>(request)](
             SolvePlacement question, std::function<void(PlacementSolved)> done) {
    const std::uint64_t digest = question.digest;
    auto solved = std::make_shared<PlacementSolved>();
    const base::Status submitted = pool.submit(
        kPlacementLane,
        [placer, question = std::move(question), solved] { *solved = placer->solve(question); },
        [solved, done] { done(std::move(*solved)); });
    if (!submitted) done({digest, {}, submitted.error().what, {}, {}});
  };
}

// Driver::Parts::keep_copies
std::function<void(SolveBackup, std::function<void(BackupSolved)>)> backup_solver(
    base::BlockingPool& pool, const PlacementRequest& request) {
  return [&pool, solver = std::make_shared<BackupSolver>(request)](
             SolveBackup question, std::function<void(BackupSolved)> done) {
    const std::uint64_t digest = question.digest;
    auto solved = std::make_shared<BackupSolved>();
    const base::Status submitted = pool.submit(
        kPlacementLane,
        [solver, question = std::move(question), solved] { *solved = solver->solve(question); },
        [solved, done] { done(std::move(*solved)); });
    if (!submitted) done({digest, {}, submitted.error().what, false});
  };
}

// Driver::Parts::analyze
std::function<void(tracer::FleetSnapshot, tracer::RasEvidence,
                   std::function<void(tracer::Verdict)>)>
analyzer(base::BlockingPool& pool) {
  return [&pool](tracer::FleetSnapshot fleet, tracer::RasEvidence ras,
                 std::function<void(tracer::Verdict)> done) {
    struct Found {
      tracer::Verdict verdict;
      base::Status ras;
    };
    auto found = std::make_shared<Found>();
    const base::Status submitted = pool.submit(
        kAnalysisLane,
        [fleet = std::move(fleet), ras = std::move(ras), found]() mutable {
          found->ras = tracer::add_ras(ras, fleet);
          found->verdict = tracer::analyze(fleet);
        },
        [found, done] {
          if (!found->ras) RR_LOG(kDebug, {}, "{}", found->ras.error().what);
          done(std::move(found->verdict));
        });
    if (!submitted) done({});
  };
}

// Driver::Parts::analyze_failed
std::function<void(tracer::FleetSnapshot, std::function<void(tracer::Verdict)>)> failure_analyzer(
    base::BlockingPool& pool) {
  return [&pool](tracer::FleetSnapshot fleet, std::function<void(tracer::Verdict)> done) {
    auto verdict = std::make_shared<tracer::Verdict>();
    const base::Status submitted = pool.submit(
        kAnalysisLane,
        [fleet = std::move(fleet), verdict]() mutable {
          *verdict = tracer::analyze_failed(std::move(fleet));
        },
        [verdict, done] { done(std::move(*verdict)); });
    if (!submitted) done({});
  };
}

// Driver::Parts::read_code
std::function<void(std::uint64_t, std::function<void(base::Result<std::string>)>)> code_reader(
    base::BlockingPool& pool, const RunRequest& request) {
  if (!request.workers.code) return {};
  return [&pool, path = code_pack_file(request.run_directory), bytes = request.workers.code->bytes](
             std::uint64_t block, std::function<void(base::Result<std::string>)> done) {
    auto read = std::make_shared<base::Result<std::string>>();
    const base::Status submitted = pool.submit(
        kCodeLane, [path, bytes, block, read] { *read = read_code_block(path, bytes, block); },
        [read, done] { done(std::move(*read)); });
    if (!submitted) done(std::unexpected(submitted.error()));
  };
}

// The process that started us may have gone; then the write fails, which does not matter.
void announce(const RunRequest& request) {
  const base::Fd fd(request.announce_fd);
  if (fd) static_cast<void>(base::write_all(fd.get(), request.run_directory));
}

int refuse(const base::Error& error) {
  RR_LOG(kError, {}, "{}", error.what);
  return kExitUsage;
}

std::string journal_path(const RunRequest& request) { return request.run_directory + "/journal"; }

base::Status hold(const RunRequest& request, std::optional<RunLock>& lock) {
  if (lock) return {};
  auto taken = RunLock::take(request.run_directory);
  if (taken) {
    lock = *std::move(taken);
  } else if (taken.error().code != base::Errc::kUnavailable) {
    base::Error& error = taken.error();
    if (error.os_errno == ENOSPC || error.os_errno == EDQUOT) {
      error.what += "; free some room, or name another place with --run-dir";
    }
    return std::unexpected(std::move(error));
  }
  return {};  // without locks in the file system no process can take the run over, either
}

// Saves what a supervisor needs that takes the run over. The run goes on without it.
void save_for_successors(const RunRequest& request, const ContinuedClock& clock,
                         const Driver& driver) {
  auto saved = save_request(request, clock.ahead());
  if (const auto authority = driver.authority(); saved && authority) {
    saved = save_authority(request.run_directory, *authority);
  }
  if (!saved) {
    RR_LOG(kWarn, {}, "{}; should this supervisor die, the run cannot be resumed",
           saved.error().what);
  }
}

// The run of another supervisor, which we take over.
struct Predecessor {
  Folded folded;
  std::vector<JournalEntry> entries;
  std::optional<RunAuthority> authority;   // none: everything was on one machine
};

// A failure here does not matter to the run.
void remember_nodes(const RunRequest& request, const std::vector<JournalEntry>& entries) {
  if (request.node_history.empty()) return;
  if (auto noted = append_notes(request.node_history, notes_of(entries)); !noted) {
    RR_LOG(kWarn, {}, "the notes about this run's nodes are lost: {}", noted.error().what);
  }
}

// What is made of the journal at the end of the run. `lost`: entries that it did not take.
void close_accounts(const RunRequest& request, const std::deque<JournalEntry>& lost) {
  auto readout = read_run_journal(journal_path(request));
  if (!readout) {
    RR_LOG(kError, {}, "{}; there is no summary{}", readout.error().what,
           request.node_history.empty() ? "" : ", and no notes about the run's nodes");
    return;
  }
  if (!readout->damage.empty()) RR_LOG(kError, {}, "{}", readout->damage);
  auto& entries = readout->entries;
  if (!lost.empty()) {
    entries.insert(entries.end(), lost.begin(), lost.end());
    std::ranges::stable_sort(entries, {}, &JournalEntry::at);
  }
  write_final_report(request, entries);
  remember_nodes(request, entries);
}

void publish(Outlets& outlets, Driver& driver, Predecessor* predecessor) {
  if (predecessor != nullptr) {
    outlets.catch_up(predecessor->entries);
    predecessor->entries.clear();
  }
  driver.publish_to(outlets);
}

// `predecessor`: the run to take over; null: a new run.
int supervise(const RunRequest& request, const ContinuedClock& clock, Predecessor* predecessor,
              std::optional<RunLock> lock) {
  const auto executable = own_executable();
  if (!executable) return refuse(executable.error());
  // A reader of ours that went away is an error of write(), never the end of the run.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(), too

  int exit_code = kExitFailure;
  std::deque<JournalEntry> lost;
  asio::io_context loop(1);
  std::unique_ptr<ConsoleLog> console_log;
  {
    base::BlockingPool pool(loop.get_executor(), kLauncherThreads, kLauncherQueueMax);
    auto launcher = make_launcher(loop, pool, *executable, request.network);
    std::unique_ptr<Outlets> outlets;  // used by the driver until its end
    Driver driver(
        {loop.get_executor(), clock, *launcher, STDOUT_FILENO, STDERR_FILENO,
         address_finder(loop, pool, request.network), slurm_question(pool, request.network),
         node_states_question(pool, request.network), job_end_question(pool, request.network),
         earlier_saves_reader(pool, request), placement_solver(pool, request.placement),
         analyzer(pool), failure_analyzer(pool), backup_solver(pool, request.placement),
         code_reader(pool, request), replacement_orders(pool, request.network)},
        request, [&](int code) {
          exit_code = code;
          loop.stop();
        });
    const bool has_authority = predecessor != nullptr && predecessor->authority;
    if (auto opened = driver.open_listener(has_authority ? &*predecessor->authority : nullptr);
        !opened) {
      const bool another_leads =
          request.spec.group.open && opened.error().code == base::Errc::kConflict;
      return another_leads ? kAnotherLeads : refuse(opened.error());
    }
    auto opened =
        Outlets::open(loop.get_executor(), clock, request.outlets, predecessor != nullptr);
    if (!opened) return refuse(opened.error());
    outlets = *std::move(opened);
    if (outlets) publish(*outlets, driver, predecessor);
    if (auto made = base::make_directories(request.run_directory, 0700); !made) {
      return refuse(made.error());
    }
    if (auto held = hold(request, lock); !held) return refuse(held.error());
    auto journal = Journal::create(journal_path(request));
    if (!journal) return refuse(journal.error());
    driver.record_to(*std::move(journal));
    save_for_successors(request, clock, driver);
    if (!request.console_log.empty()) {
      auto log = ConsoleLog::open(request.console_log);
      if (!log) return refuse(log.error());
      console_log = *std::move(log);
      driver.log_console_to(*console_log);
    }
    SignalWatch end(loop, request.end_signals, false, driver);
    SignalWatch forward(loop, request.forwarded_signals, true, driver);
    SignalWatch warnings(loop, request.batch_signals.warnings, false, driver);
    if (predecessor != nullptr) {
      driver.resume(std::move(predecessor->folded));
    } else {
      driver.start();
    }
    announce(request);
    loop.run();
    if (driver.has_stepped_down()) return exit_code;
    lost = driver.lost_entries();
  }
  if (!request.network.invitation.empty()) {
    std::error_code error;
    std::filesystem::remove(request.network.invitation, error);  // no host may join any more
  }
  close_accounts(request, lost);
  return exit_code;
}

// Puts the saved start of the run in the place of a damaged one, so that the run's agents get a
// supervisor, which can end them. The run began, as far as is known, with its first whole record,
// and the last one was written when the journal was.
void restore_beginning(const SavedRequest& saved, JournalReadout& readout) {
  if (readout.damage.empty() || readout.entries.empty() || saved.spec.run_id.empty()) return;
  const auto* event = std::get_if<Event>(&readout.entries.front().what);
  if (event != nullptr && std::holds_alternative<RunStarted>(event->body)) return;
  RunStarted started;
  started.spec = saved.spec;
  struct stat journal{};
  if (::stat(journal_path(saved.request).c_str(), &journal) == 0) {
    const base::Nanos took = readout.entries.back().at - readout.entries.front().at;
    started.wall_time = std::chrono::seconds(journal.st_mtim.tv_sec) - took;
  }
  const base::Nanos at = readout.entries.front().at;
  readout.entries.insert(readout.entries.begin(),
                         JournalEntry{at, Event{at, {}, {}, std::move(started)}});
}

// The run may have been started in a terminal, and have none now. What it did without there, it
// does without here: whether that was the user's choice is not known.
void fit_console(ConsoleStyle& style) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  style.live = style.live && is_terminal;
  style.colour_err = style.colour_err && is_terminal;
  style.colour_out = style.colour_out && ::isatty(STDOUT_FILENO) == 1;
}

// The console is the run's file, whatever it was before.
void detach_console(int announce_fd, RunRequest& request) {
  request.announce_fd = announce_fd;
  request.console_log = console_log_file(request.run_directory);
  request.console.live = request.console.colour_out = request.console.colour_err = false;
}

// Whether a hangup is ignored (--detach, nohup) depends on how this supervisor was started, not on
// how its predecessor was.
void fit_hangup(RunRequest& request) {
  std::erase(request.end_signals, SIGHUP);
  struct sigaction inherited{};
  const bool is_known = ::sigaction(SIGHUP, nullptr, &inherited) == 0;
  if (is_known && inherited.sa_handler == SIG_IGN) return;
  const auto names_hangup = [](std::string_view name) {
    return base::signal_number(std::string(base::trim(name))) == SIGHUP;
  };
  if (std::ranges::any_of(base::split(request.workers.signals_to_handle, ','), names_hangup)) {
    request.end_signals.push_back(SIGHUP);
  }
}

void continue_log(const RunRequest& request) {
  const bool in_colour = request.console.colour_err;
  base::configure_log({request.log_level, request.log_format,
                       in_colour ? base::LogColour::kAlways : base::LogColour::kNever});
}

}  // namespace

int run_job(const RunRequest& request) {
  const ContinuedClock clock;
  return supervise(request, clock, nullptr, std::nullopt);
}

int resume_job(const std::string& run_directory, int announce_fd) {
  auto lock = RunLock::take(run_directory);
  if (!lock) return refuse(lock.error());
  auto saved = load_request(run_directory);
  if (!saved) return refuse(saved.error());
  RunRequest& request = saved->request;
  if (announce_fd >= 0) {
    detach_console(announce_fd, request);
  } else {
    fit_console(request.console);
  }
  fit_hangup(request);
  continue_log(request);
  auto readout = read_run_journal(journal_path(request));
  if (!readout) return refuse(readout.error());
  if (!readout->damage.empty()) RR_LOG(kError, {}, "{}", readout->damage);
  restore_beginning(*saved, *readout);
  auto folded = fold(readout->entries);
  if (!folded) return refuse(folded.error());
  request.spec = folded->run.spec;
  if (folded->exit_code) {
    RR_LOG(kInfo, {}, "run {} has ended already, with exit code {}", request.spec.run_id,
           *folded->exit_code);
    return *folded->exit_code;
  }
  Predecessor predecessor{*std::move(folded), std::move(readout->entries), {}};
  if (auto authority = load_authority(run_directory)) {
    predecessor.authority = *std::move(authority);
  } else if (authority.error().code != base::Errc::kNotFound) {
    return refuse(authority.error());
  }
  const Folded& past = predecessor.folded;
  const base::SystemClock machine;
  const base::Nanos last_wall = past.run.wall_time + (past.last - past.started);
  const ContinuedClock clock(
      clock_ahead(saved->has_clock_of_this_boot(), past.last, last_wall, machine));
  return supervise(request, clock, &predecessor, *std::move(lock));
}

}  // namespace robustrun::supervisor
