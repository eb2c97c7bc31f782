#include "launcher/ssh/attempt.h"

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "base/io/log.h"
#include "launcher/limits.h"
#include "launcher/openssh/link.h"
#include "launcher/openssh/words.h"
#include "launcher/push/commands.h"
#include "launcher/ssh/session.h"

namespace robustrun::launcher {
namespace {

// As AgentEnd::lasting; empty: it may pass.
std::string lasting_cause(const SshEnd& end) {
  if (end.trouble == SshTrouble::kLookUp) return "its address cannot be found";
  if (end.trouble != SshTrouble::kHostKey && end.trouble != SshTrouble::kLogin) return {};
  // Its sshd may be restarting, or its machine booting.
  if (end.what.starts_with("the server hung up")) return {};
  return end.what.substr(0, std::min(end.what.find(": "), end.what.find("; ")));
}

}  // namespace

SshAttempt::SshAttempt(std::shared_ptr<SshContext> context, std::shared_ptr<SshHost> host,
                       SshTask task, std::function<void(const AgentEnd&)> on_lost)
    : context_(std::move(context)),
      host_(std::move(host)),
      task_(std::move(task)),
      on_lost_(std::move(on_lost)),
      timer_(context_->executor),
      slow_timer_(context_->executor) {}

ShellEnd SshAttempt::shell_end() const {
  return context_->client_is_qrsh ? ShellEnd::kStays : ShellEnd::kBecomesAgent;
}

void SshAttempt::start() {
  on_deadline(context_->options.start_timeout, &SshAttempt::prepare_late);
  if (is_agent()) note_slow_start();
  context_->read_target(host_, [self = shared_from_this()](base::Result<SshTarget> target) {
    if (self->state_ == State::kPreparing) self->on_target(std::move(target));
  });
}

void SshAttempt::note_slow_start() {
  slow_timer_.after(kSlowStartNotice, [self = shared_from_this()] {
    // Before its turn no connection is missing.
    if (self->state_ == State::kWaiting && self->tries_ == 0) return self->note_slow_start();
    if (self->state_ <= State::kStarting) self->context_->tell_slow_start(self->host_->host.name);
  });
}

void SshAttempt::prepare_late() {
  lose("its SSH configuration and address were not found within " +
           base::in_seconds(context_->options.start_timeout),
       false);
}

void SshAttempt::on_target(base::Result<SshTarget> target) {
  if (!target) return lose(target.error().what, false);
  host_->target = std::make_shared<const SshTarget>(*std::move(target));
  cached_ = host_->use_cache;
  choose_transport();
}

void SshAttempt::choose_transport() {
  const std::string& unsuited = host_->target->unsuited;
  switch (context_->options.transport) {
    case SshTransport::kLibssh2:
      if (!unsuited.empty()) {
        return lose(unsuited + "; use --ssh-transport=openssh", false, unsuited);
      }
      break;
    case SshTransport::kOpenSsh:
      uses_openssh_ = true;
      if (context_->client.empty()) {
        const std::string why = "there is no ssh client on PATH";
        return lose(why, false, why);
      }
      break;
    case SshTransport::kAuto:
      uses_openssh_ = host_->use_openssh;
      if (!context_->client_is_ssh) return fall_back("--ssh-command names another program");
      if (!uses_openssh_ && !unsuited.empty()) return fall_back(unsuited);
      break;
  }
  enter_gate();
}

// At most once per attempt: from libssh2 to OpenSSH, never back.
void SshAttempt::fall_back(const std::string& reason) {
  if (context_->client.empty()) {
    return lose(reason + "; the OpenSSH client could serve this host, but there is none on PATH",
                false);
  }
  context_->tell_fallback(host_->host.name, reason);
  uses_openssh_ = host_->use_openssh = true;
  enter_gate();
}

void SshAttempt::enter_gate() {
  state_ = State::kWaiting;
  if (pass_ != nullptr) return connect();
  context_->connections.enter(
      host_->target->settings.jump_host,
      [self = shared_from_this(), since = context_->clock.now()](SshGate::Pass pass, bool) {
        if (self->state_ != State::kWaiting) return;
        self->pass_ = std::move(pass);
        self->until_ += self->context_->clock.now() - since;  // it is the others that took it
        self->connect();
      });
}

void SshAttempt::connect() {
  if (tries_++ == 0) until_ = context_->clock.now() + context_->options.start_timeout;
  if (link_ != nullptr) link_->close();
  link_ = make_link();
  run_command();
}

std::shared_ptr<SshLink> SshAttempt::make_link() const {
  if (uses_openssh_) {
    const SshOptions& options = context_->options;
    return make_openssh_link(context_->executor,
                             {context_->client, host_->host, options.login_timeout(),
                              options.agent_socket, context_->client_is_qrsh});
  }
  return make_libssh2_link(context_->executor, host_->target,
                           [context = context_, host = host_](const std::string& line) {
                             context->store_host_key(*host, line);
                           });
}

void SshAttempt::run_command() {
  if (cached_) return run_cached();
  const auto command =
      installed_command(context_->options.executable, task_.arguments, shell_end());
  if (!command) {
    cached_ = true;
    return run_cached();
  }
  state_ = State::kStarting;
  output_.clear();
  on_deadline(time_left(), &SshAttempt::start_late);
  link_->run(
      {*command, false},
      {.on_output = [self = shared_from_this()](std::string_view bytes) { self->on_output(bytes); },
       .on_end = [self = shared_from_this()](const SshEnd& end) { self->on_end(end); }});
}

void SshAttempt::run_cached() {
  state_ = State::kStarting;
  context_->with_bundle(
      [self = shared_from_this()](base::Result<std::shared_ptr<const PushBundle>> bundle) {
        if (self->state_ != State::kStarting) return;
        if (!bundle) {
          return self->lose("it does not have this build, and " + bundle.error().what, false);
        }
        self->bundle_ = *bundle;
        self->output_.clear();
        self->on_deadline(self->time_left(), &SshAttempt::start_late);
        self->link_->run(
            {cached_command(*self->bundle_, self->task_.arguments, self->shell_end()), false},
            {.on_output = [self](std::string_view bytes) { self->on_output(bytes); },
             .on_end = [self](const SshEnd& end) { self->on_end(end); }});
      });
}

void SshAttempt::on_deadline(std::chrono::milliseconds after, void (SshAttempt::*then)()) {
  timer_.after(after, [self = shared_from_this(), then, state = state_] {
    if (self->state_ == state) (self.get()->*then)();
  });
}

// A connection's own words for its deadline come first.
std::chrono::milliseconds SshAttempt::time_left() const {
  return std::chrono::ceil<std::chrono::milliseconds>(
      std::max(until_ - context_->clock.now(), base::Nanos{}) + kOwnWordsFirst);
}

void SshAttempt::start_late() {
  const std::string within = " within " + base::in_seconds(context_->options.start_timeout);
  if (!trouble_.empty()) return lose(trouble_ + within, true);
  const std::string what = is_agent() ? "the agent" : "robustrun";
  lose("its shell did not start " + what + within, true);
}

void SshAttempt::end_late() { report("no answer within " + base::in_seconds(task_.limit), true); }

void SshAttempt::on_output(std::string_view bytes) {
  if (state_ == State::kRunning) add_to_answer(bytes);
  if (state_ != State::kStarting) return;
  output_ += bytes.substr(0, kOutputHeadBytes - output_.size());
  const auto pid = find_start_mark(output_);
  if (!pid) return;
  timer_.cancel();
  remote_pid_ = *pid;
  state_ = State::kRunning;
  pass_.reset();
  context_->connections.widen();
  host_->use_cache = cached_;
  link_->write(task_.input);
  if (is_agent()) return;  // the input stays open: when it ends, so does the agent
  link_->close_input();
  on_deadline(task_.limit, &SshAttempt::end_late);
  answer_.clear();
  add_to_answer(std::string_view(output_).substr(output_.find('\n', output_.find(kStartMark)) + 1));
}

void SshAttempt::add_to_answer(std::string_view bytes) {
  answer_ += bytes.substr(0, task_.output_max - answer_.size());
}

void SshAttempt::on_end(const SshEnd& end) {
  timer_.cancel();
  if (state_ == State::kKilling) return finish_kill();
  if (end.trouble == SshTrouble::kNone) return on_exit(end);
  on_trouble(end);
}

void SshAttempt::on_trouble(const SshEnd& end) {
  if (state_ == State::kRunning) {
    const std::string peer = is_agent() ? " with the agent on " + host_->host.name : "";
    return lose("the SSH session" + peer + " ended: " + end.what, true);
  }
  const bool automatic = context_->options.transport == SshTransport::kAuto;
  if (end.trouble == SshTrouble::kUnsuited && automatic && !uses_openssh_) {
    return fall_back(end.what);
  }
  if (try_again(end)) return;
  const bool doubtful = end.trouble == SshTrouble::kUnreachable ||
                        end.trouble == SshTrouble::kLookUp || end.trouble == SshTrouble::kDropped ||
                        end.trouble == SshTrouble::kLost;
  const std::string tries = tries_ > 1 ? " (tried " + std::to_string(tries_) + " times)" : "";
  lose(end.what + tries, doubtful, lasting_cause(end));
}

// Jitter, so that connections that were dropped together do not return together.
bool SshAttempt::try_again(const SshEnd& end) {
  if (end.trouble != SshTrouble::kDropped && end.trouble != SshTrouble::kLost) return false;
  const auto delay = std::min(kRetryDelayFirst * (1 << std::min(tries_ - 1, 8U)), kRetryDelayMax);
  const auto jitter = context_->rng.below(static_cast<std::uint64_t>(delay.count()));
  const auto pause = delay / 2 + std::chrono::milliseconds(jitter);
  if (tries_ >= kConnectTriesMax || context_->clock.now() + pause >= until_) return false;
  trouble_ = end.what;
  state_ = State::kWaiting;
  context_->connections.narrow();
  pass_.reset();  // others may connect meanwhile
  on_deadline(pause, &SshAttempt::enter_gate);
  return true;
}

void SshAttempt::on_exit(const SshEnd& end) {
  const bool started = state_ == State::kRunning;
  const int code = end.status.kind == base::ExitStatus::Kind::kExited ? end.status.code : -1;
  // An older build at that path may not know the errand at all.
  const bool is_unknown = !is_agent() && code != 0;
  if (!cached_ && (is_unknown || code == kExitOtherBuild || code == kExitNotFound ||
                   code == kExitNotExecutable)) {
    cached_ = true;
    remote_pid_ = 0;
    state_ = State::kWaiting;
    if (!uses_openssh_) return run_command();  // over the existing session
    return enter_gate();
  }
  if (!started && cached_ && code == kExitOtherProcessor) {
    return lose("its processor is " + first_words(end.errors) + ", and this robustrun is for " +
                    std::string(kProcessor) + ": start the run on a machine with that processor",
                false);
  }
  if (!started && cached_ && code == kExitNoGlibc) {
    return lose("its C library is not glibc (" + std::string(kLoader) +
                    " is missing there), which robustrun needs",
                false);
  }
  if (!started && cached_ && !pushed_) {
    const bool damaged = code != kExitNotCached;
    return push_turn_ ? push(damaged) : wait_for_push(damaged);
  }
  const std::string words = first_words(end.errors);
  const std::string how = base::describe(end.status) + (words.empty() ? "" : " (" + words + ")");
  if (!started) {
    const std::string what =
        cached_ ? "the build that was pushed cannot be used there: " : "its shell ended: ";
    return lose(what + how, false);
  }
  if (!is_agent()) return report(code == 0 ? "" : "robustrun failed there: " + how, true);
  const auto at = words.find(kAgentSays);
  if (code == kExitBadInput && at != std::string::npos) {
    is_bad_input_ = true;
    const std::string said = words.substr(at + kAgentSays.size());
    return lose(said, false, said);
  }
  lose("the agent on " + host_->host.name + " (pid " + std::to_string(remote_pid_) +
           ") ended: " + how,
       false);
}

void SshAttempt::wait_for_push(bool replace) {
  state_ = State::kPushing;
  pass_.reset();
  context_->pushes.enter("", [self = shared_from_this(), replace](SshGate::Pass pass, bool waited) {
    if (self->state_ != State::kPushing) return;
    self->pass_ = std::move(pass);
    self->push_turn_ = true;
    // With shared homes, another attempt may have pushed it meanwhile.
    self->until_ = self->context_->clock.now() + self->context_->options.start_timeout;
    if (waited) return self->run_command();
    self->push(replace);
  });
}

void SshAttempt::push(bool replace) {
  state_ = State::kPushing;
  RR_LOG(kInfo, ({.node = host_->host.name}), "does not have this build: pushing it");
  const std::string folder =
      "." + bundle_->name + "." + std::to_string(context_->rng.next() % 1'000'000'000);
  push_ = SshPush::start(context_->executor, {link_, bundle_, folder, replace},
                         [self = shared_from_this()](const SshEnd& end) {
                           if (self->state_ != State::kPushing) return;
                           self->push_.reset();
                           self->pushed_ = true;
                           self->until_ =
                               self->context_->clock.now() + self->context_->options.start_timeout;
                           if (end.trouble != SshTrouble::kNone) {
                             return self->lose("cannot push this build: " + end.what,
                                               end.trouble == SshTrouble::kLost);
                           }
                           self->run_command();
                         });
}

void SshAttempt::kill() {
  if (state_ == State::kEnded || state_ == State::kKilling || state_ == State::kProbing) return;
  const bool runs = state_ == State::kRunning;
  state_ = State::kKilling;
  on_deadline(runs ? kOldAgentWait : std::chrono::seconds(0), &SshAttempt::finish_kill);
  if (!runs) return;
  context_->connections.enter(host_->target->settings.jump_host,
                              [self = shared_from_this()](SshGate::Pass pass, bool) {
                                if (self->state_ != State::kKilling) return;
                                self->pass_ = std::move(pass);
                                self->on_deadline(kOldAgentWait, &SshAttempt::finish_kill);
                                self->killer_ = self->make_link();
                                // The end of the agent itself counts, not that of this command.
                                self->killer_->run({kill_command(self->remote_pid_), false}, {});
                              });
}

void SshAttempt::finish_kill() { report("its supervisor has ended it", true); }

void SshAttempt::abandon() {
  on_lost_ = nullptr;
  report("", true);
}

void SshAttempt::lose(const std::string& why, bool doubtful, const std::string& lasting) {
  lasting_ = lasting;
  if (!doubtful) return report(why, true);
  state_ = State::kProbing;
  pass_.reset();
  probe_ssh_host(context_, *host_, [self = shared_from_this(), why](bool answers) {
    if (self->state_ == State::kProbing) self->report(why, answers);
  });
}

void SshAttempt::report(const std::string& why, bool node_answers) {
  state_ = State::kEnded;
  timer_.cancel();
  slow_timer_.cancel();
  pass_.reset();
  if (push_ != nullptr) std::exchange(push_, nullptr)->cancel();
  for (auto* const link : {&link_, &killer_}) {
    if (*link != nullptr) std::exchange(*link, nullptr)->close();
  }
  const auto on_lost = std::exchange(on_lost_, nullptr);
  if (on_lost) on_lost({why, node_answers, lasting_, false, is_bad_input_});
}

}  // namespace robustrun::launcher
