// `robustrun top`: the live view. One loop: a key redraws at once; every kTopInterval the
// supervisor is asked on a thread, so that a slow answer delays no key.

#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/core/clock.h"
#include "base/io/blocking_pool.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/plan/inject_plan.h"
#include "cli/runs/find_run.h"
#include "cli/runs/log_tail.h"
#include "cli/runs/read_journal.h"
#include "cli/runs/run_status.h"
#include "cli/runs/run_update.h"
#include "cli/text/diagnose_text.h"
#include "cli/text/stacks_text.h"
#include "cli/top/screen.h"
#include "cli/top/view.h"
#include "supervisor/control/client.h"
#include "supervisor/control/diagnose_row.h"
#include "supervisor/control/operation_request.h"
#include "supervisor/control/stacks_row.h"
#include "supervisor/control/view_rows.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/run_dir/journal.h"

namespace robustrun::cli {
namespace {

namespace asio = boost::asio;
using supervisor::ControlClient;
using supervisor::RunStatus;

// Lanes of the pool: each does one thing at a time.
constexpr unsigned kThreads = 7;
constexpr std::size_t kQueueMax = 8;
enum Lane : base::BlockingPool::Lane {
  kStatusLane,
  kJournalLane,
  kLogLane,
  kDiagnosisLane,
  kStacksLane,
  kUseLane,
  kOrderLane
};

// What jobs on threads use: it outlives the view, as such a job may, too.
struct Run {
  std::string directory;
  Surroundings around;
  base::Fd stop;  // can be read when the view is closed
  std::optional<ControlClient> client;  // of kStatusLane
  supervisor::StatusMirror mirror;  // of `client`
  std::optional<ControlClient> use_client;  // of kUseLane
};

base::Result<ControlClient> connect(const Run& run) {
  ControlClient client = RR_TRY(ControlClient::connect(run.directory));
  client.interrupt_by(run.stop.get());
  return client;
}

base::Result<RunStatus> ask(Run& run, std::optional<std::uint32_t> rank) {
  if (!run.client) {
    run.client = RR_TRY(connect(run));
    run.mirror = {};
  }
  auto status = ask_changes(*run.client, run.mirror, rank);
  if (!status) run.client.reset();
  return status;
}

std::string diagnose(const Run& run) {
  auto client = connect(run);
  const auto answer =
      client ? client->ask({{"command", "diagnose"}})
             : base::Result<supervisor::ControlFields>(std::unexpected(client.error()));
  const auto verdict = answer ? supervisor::read_verdict(*answer)
                              : base::Result<tracer::Verdict>(std::unexpected(answer.error()));
  return verdict ? verdict_text(*verdict, {}) : "cannot diagnose the run: " + verdict.error().what;
}

std::string look_at_stacks(const Run& run, std::optional<std::uint32_t> rank) {
  auto client = connect(run);
  if (!client) return "cannot look at stacks: " + client.error().what;
  std::optional<base::Rank> wanted;
  if (rank) wanted = base::Rank{*rank};
  const auto answer = client->ask(supervisor::stacks_request(wanted));
  const auto stacks = answer
                          ? supervisor::read_stacks_answer(*answer)
                          : base::Result<supervisor::WorkerStacks>(std::unexpected(answer.error()));
  return stacks ? stacks_text(*stacks) : "cannot look at stacks: " + stacks.error().what;
}

struct UseNews {
  std::uint32_t rank = 0;
  std::optional<supervisor::RankUse> use;
};

// None: the rank does not run, its agent does not tell, or an older supervisor does not ask.
UseNews ask_use(Run& run, std::uint32_t rank) {
  UseNews news{rank, {}};
  if (!run.use_client) {
    auto client = connect(run);
    if (!client) return news;
    run.use_client = *std::move(client);
  }
  const auto answer = run.use_client->ask(supervisor::use_request(base::Rank{rank}));
  if (!answer) {
    if (answer.error().code != base::Errc::kInvalidArgument) run.use_client.reset();
    return news;
  }
  if (auto use = supervisor::read_use(*answer)) news.use = *std::move(use);
  return news;
}

// Sends what the subcommand would send; what came of it, in words.
std::string carry_out(const Run& run, const Order& order) {
  auto client = connect(run);
  if (!client) return client.error().what;
  client->wait_at_most(kSupervisorAnswerMax);
  switch (order.kind) {
    case Order::Kind::kStop: {
      const auto answer = client->ask(supervisor::to_fields(supervisor::StopRequest{}));
      return answer ? "the run is ending" : "cannot stop the run: " + answer.error().what;
    }
    case Order::Kind::kEvict: {
      const auto answer = client->ask(supervisor::evict_request(order.node));
      return answer ? order.node + " is being evicted" : answer.error().what;
    }
    case Order::Kind::kUpdate: {
      auto update = read_update(order.update);
      if (!update) return update.error().what;
      const auto done =
          update_run(run.directory, update->line, std::move(update->plan), run.around);
      return done ? done->text : done.error().what;
    }
    case Order::Kind::kInject: break;
  }
  InjectLine line;
  line.kind = order.fault;
  const wire::FaultRow* const row = wire::find_fault(order.fault);
  if (row != nullptr && row->target == wire::FaultRow::Target::kNode) line.node = order.node;
  if (row != nullptr && row->target == wire::FaultRow::Target::kRank) {
    line.rank = std::to_string(order.rank);
  }
  const auto plan = plan_injection(line, 0);
  if (!plan) return plan.error().what;
  client->wait_at_most(supervisor::kControlAnswerMax);
  const auto answer = client->ask(supervisor::to_fields(plan->fault));
  const auto report = answer
                          ? supervisor::read_fault_report(*answer)
                          : base::Result<supervisor::FaultReport>(std::unexpected(answer.error()));
  if (!report) return fmt::format("cannot inject {}: {}", order.fault, report.error().what);
  return "injected: " + injection_text(base::SystemClock().wall_time(), plan->fault.kind, *report);
}

struct JournalNews {
  RunFacts facts;
  RunStatus status;
  std::string damage;
};

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

base::Result<JournalNews> read_news(const Run& run) {
  auto readout = RR_TRY(supervisor::read_run_journal(run.directory + "/journal"));
  RunStatus status = status_of_entries(readout.entries, run.directory, run.around);
  if (is_live(run.directory)) {
    bring_to_now(readout.entries, base::SystemClock().wall_time());
  }
  return JournalNews{facts_of(readout.entries, exists), std::move(status), readout.damage};
}

LogTail read_log(const RankLog& log) {
  LastLines last = read_last_lines(log.folder, kTopLogLines);
  LogTail tail{log.rank, std::move(last.file), std::move(last.lines), {}};
  if (tail.file.empty()) tail.missing = no_log_words(log, exists(log.folder));
  return tail;
}

class Top {
 public:
  Top(std::shared_ptr<Run> run, Screen& screen, bool unicode)
      : run_(std::move(run)),
        screen_(screen),
        view_(unicode),
        pool_(loop_.get_executor(), kThreads, kQueueMax),
        timer_(loop_),
        signals_(loop_),
        keys_(loop_) {}
  ~Top() {
    // For asio they are not its own.
    if (keys_.is_open()) keys_.release();
    const std::uint64_t one = 1;
    static_cast<void>(!::write(run_->stop.get(), &one, sizeof one));
  }
  Top(const Top&) = delete;
  Top& operator=(const Top&) = delete;

  int show() {
    boost::system::error_code ignored;
    for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGCONT}) {
      signals_.add(signal, ignored);
    }
    keys_.assign(screen_.keys_fd(), ignored);
    await_signal();
    await_keys();
    tick();
    loop_.run();
    return exit_code_;
  }
  // Of the journal, for people; empty: none.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  void await_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (signal == SIGWINCH || signal == SIGCONT) {
        screen_.forget();
        draw();
        return await_signal();
      }
      if (signal != SIGINT) exit_code_ = supervisor::kExitSignalBase + signal;
      loop_.stop();
    });
  }

  void await_keys() {
    keys_.async_read_some(asio::buffer(typed_),
                          [this](const boost::system::error_code& error, std::size_t size) {
                            if (error) return loop_.stop();  // the terminal is gone
                            take_keys(std::string_view(typed_.data(), size));
                            await_keys();
                          });
  }

  void take_keys(std::string_view bytes) {
    for (const Key& key : keys_of(bytes)) {
      switch (view_.press(key)) {
        case View::Wish::kNothing: break;
        case View::Wish::kQuit: return loop_.stop();
        case View::Wish::kRedraw: screen_.forget(); break;
        case View::Wish::kDiagnose: ask_for_diagnosis(); break;
        case View::Wish::kStacks: ask_for_stacks(); break;
        case View::Wish::kOrder: pass_on(view_.order()); break;
      }
    }
    if (view_.selected_rank() != log_rank_) {
      read_log_of_selected();
      ask_for_use();
    }
    draw();
  }

  void tick() {
    if (!view_.has_ended()) {
      ask_for_status();
      if (clock_.now() - journal_read_at_ > kTopJournalInterval) ask_for_facts();
      if (clock_.now() - use_asked_at_ > kTopUseInterval) ask_for_use();
    }
    read_log_of_selected();
    draw();
    timer_.expires_after(kTopInterval);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) tick();
    });
  }

  void draw() { screen_.show(view_.draw(screen_.size(), clock_.now())); }

  // Runs `work` on a thread and `done` with its result on the loop, unless one is under way.
  template <class Work, class Done>
  void begin(Lane lane, Work work, Done done) {
    if (std::exchange(under_way_[lane], true)) return;
    using Result = decltype(work(*run_));
    auto result = std::make_shared<std::optional<Result>>();
    const base::Status submitted = pool_.submit(
        lane, [run = run_, result, work = std::move(work)] { result->emplace(work(*run)); },
        [this, lane, result, done = std::move(done)] {
          under_way_[lane] = false;
          if (*result) done(*std::move(*result));
          draw();
        });
    if (!submitted) under_way_[lane] = false;
  }

  void ask_for_status() {
    begin(
        kStatusLane, [rank = view_.selected_rank()](Run& run) { return ask(run, rank); },
        [this](base::Result<RunStatus> status) {
          if (!status) {
            view_.note_failure(status.error().what);
            is_lost_ = true;
            is_busy_ = status.error().code == base::Errc::kTimeout;
            return;
          }
          is_lost_ = false;
          const std::string what = fmt::format("{} {} {}", status->attempt, status->decision,
                                               status->exit_code.has_value());
          view_.take(*std::move(status), clock_.now());
          if (std::exchange(known_, what) != what) ask_for_facts();
        });
    if (is_lost_) ask_for_facts();  // perhaps the run has ended
  }

  void ask_for_facts() {
    const base::Nanos now = clock_.now();
    if (journal_read_at_ != base::Nanos{} && now - journal_read_at_ < kTopJournalPause) return;
    journal_read_at_ = now;
    begin(
        kJournalLane, [](Run& run) { return read_news(run); },
        [this](base::Result<JournalNews> news) {
          if (!news) {  // it may be on another machine
            if (is_lost_) view_.note_failure(news.error().what);
            return;
          }
          if (std::exchange(damage_, news->damage) != damage_ && !damage_.empty()) {
            view_.take_outcome("the journal is damaged; `robustrun report` says what is lost",
                               clock_.now());
          }
          logs_ = news->facts.logs;
          view_.take(std::move(news->facts));
          const bool is_over = news->status.exit_code.has_value();
          if (is_over || (is_lost_ && !view_.is_live())) {
            news->status.is_busy = is_busy_;
            view_.take(std::move(news->status), clock_.now());
          }
        });
  }

  void read_log_of_selected() {
    log_rank_ = view_.selected_rank();
    if (!log_rank_) return;
    const auto log = std::ranges::find(logs_.ranks, *log_rank_, &RankLog::rank);
    if (log == logs_.ranks.end()) return ask_for_facts();
    begin(
        kLogLane, [log = *log](Run&) { return read_log(log); },
        [this](LogTail tail) {
          const bool is_old = tail.rank != view_.selected_rank();
          // Since the journal was read, the rank's node may have made its folder.
          if (!tail.missing.empty() && view_.is_live()) ask_for_facts();
          view_.take(std::move(tail));
          if (is_old) read_log_of_selected();
        });
  }

  // Of the chosen rank.
  void ask_for_use() {
    const auto rank = view_.selected_rank();
    if (!rank || !view_.is_live()) return;
    use_asked_at_ = clock_.now();
    begin(
        kUseLane, [rank = *rank](Run& run) { return ask_use(run, rank); },
        [this](UseNews news) {
          const bool is_old = news.rank != view_.selected_rank();
          view_.take(news.rank, std::move(news.use));
          if (is_old) ask_for_use();
        });
  }

  void pass_on(const Order& order) {
    if (under_way_[kOrderLane]) {
      return view_.take_outcome("the order before is still under way: ask again", clock_.now());
    }
    begin(
        kOrderLane, [order](Run& run) { return carry_out(run, order); },
        [this](std::string outcome) {
          view_.take_outcome(std::move(outcome), clock_.now());
          if (!view_.has_ended()) ask_for_status();
        });
  }

  void ask_for_diagnosis() {
    begin(
        kDiagnosisLane, [](Run& run) { return diagnose(run); },
        [this](std::string text) { view_.take_diagnosis(std::move(text)); });
  }

  void ask_for_stacks() {
    begin(
        kStacksLane, [rank = view_.stacks_rank()](Run& run) { return look_at_stacks(run, rank); },
        [this](std::string text) { view_.take_stacks(std::move(text)); });
  }

  std::shared_ptr<Run> run_;
  Screen& screen_;
  View view_;
  base::SystemClock clock_;
  asio::io_context loop_{1};
  base::BlockingPool pool_;
  asio::steady_timer timer_;
  asio::signal_set signals_;
  asio::posix::stream_descriptor keys_;
  std::array<char, 256> typed_{};
  std::array<bool, kThreads> under_way_{};  // by lane
  bool is_lost_ = false;  // the last question had no answer
  bool is_busy_ = false;  // then the supervisor's process was there
  std::string damage_;
  std::string known_;  // when this changes, the journal has news
  base::Nanos journal_read_at_{};
  base::Nanos use_asked_at_{};
  AttemptLogs logs_;
  std::optional<std::uint32_t> log_rank_;
  int exit_code_ = 0;
};

bool takes_unicode(const Surroundings& around) {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = around.variable(name).value_or("");
    if (value.empty()) continue;
    std::ranges::transform(value, value.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    return value.contains("utf-8") || value.contains("utf8");
  }
  return false;
}

}  // namespace

int top_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_top_line(argv);
  if (!line) return complain_of_usage(around, "top", line.error().what);
  if (line->help) {
    print(command_help("top", terminal_columns(around)));
    return 0;
  }
  const std::string terminal = around.variable("TERM").value_or("");
  if (!around.stdout_is_terminal || terminal.empty() || terminal == "dumb") {
    say("top needs a terminal that can move its cursor; use robustrun status --watch");
    return supervisor::kExitUsage;
  }
  const auto directory = find_run(line->run, Pick::kLiveFirst, around);
  if (!directory) return complain(directory.error());
  auto run = std::make_shared<Run>();
  run->directory = *directory;
  run->around = around;
  run->stop = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto screen = Screen::open(around.takes_colour(around.stdout_is_terminal));
  if (!screen) return complain(screen.error());
  int exit_code = 0;
  std::string damage;
  {
    Top top(std::move(run), **screen, takes_unicode(around));
    exit_code = top.show();
    damage = top.damage();
  }
  screen->reset();
  if (!damage.empty()) say(damage);
  return exit_code;
}

}  // namespace robustrun::cli
