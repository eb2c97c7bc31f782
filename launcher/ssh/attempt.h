#pragma once
// One command of this build on one host over SSH, from the order to its end; the command is an
// agent or an errand (errand.h). Reads the configuration, waits for a turn, connects (again, if the
// server drops the connection), starts the command, pushes the build if the host lacks it, and
// waits for the command's end.
//
// To be used on the loop. Every step has a deadline, except for the wait for a turn, the reading of
// this build, and the running agent. SshOptions::start_timeout is the time from the first
// connection until robustrun has started there; it begins anew with the turn to push, and at the
// end of the push.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/io/timer.h"
#include "launcher/push/commands.h"
#include "launcher/push/push.h"
#include "launcher/ssh/context.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

struct SshTask {
  std::string arguments;  // of robustrun: fixed words
  std::string input;  // its standard input; for an errand, the end of input follows
  // Of an errand: how many bytes of its standard output are kept, and its time limit from its
  // start. `output_max` is 0 for an agent, whose output is not kept.
  std::size_t output_max = 0;
  std::chrono::milliseconds limit{};
};

class SshAttempt : public std::enable_shared_from_this<SshAttempt> {
 public:
  // `on_lost` is called once, as the last handler, from the loop. AgentEnd::why is empty for an
  // errand that ended with exit code 0.
  SshAttempt(std::shared_ptr<SshContext> context, std::shared_ptr<SshHost> host, SshTask task,
             std::function<void(const AgentEnd&)> on_lost);
  SshAttempt(const SshAttempt&) = delete;
  SshAttempt& operator=(const SshAttempt&) = delete;
  void start();
  // What an errand printed, at most SshTask::output_max bytes.
  [[nodiscard]] const std::string& answer() const { return answer_; }
  // Ends the command: another remote command kills a running agent or errand, if the host can be
  // reached within kOldAgentWait. on_lost follows in any case.
  void kill();
  // Closes everything at once; on_lost is not called.
  void abandon();

 private:
  // kPreparing: reads configuration, keys and addresses. kWaiting: for a turn, or before a retry.
  // kStarting: connects and sends the command, whose shell prints the mark (push/commands.h) right
  // before it becomes robustrun.
  enum class State : std::uint8_t {
    kPreparing,
    kWaiting,
    kStarting,
    kPushing,
    kRunning,
    kKilling,
    kProbing,
    kEnded
  };

  void on_target(base::Result<SshTarget> target);
  void choose_transport();
  void fall_back(const std::string& reason);
  void enter_gate();
  void connect();
  [[nodiscard]] std::shared_ptr<SshLink> make_link() const;
  [[nodiscard]] ShellEnd shell_end() const;
  void run_command();
  void run_cached();
  void on_output(std::string_view bytes);
  void add_to_answer(std::string_view bytes);
  void on_end(const SshEnd& end);
  void on_trouble(const SshEnd& end);
  void on_exit(const SshEnd& end);
  void wait_for_push(bool replace);
  void push(bool replace);
  [[nodiscard]] bool try_again(const SshEnd& end);
  void on_deadline(std::chrono::milliseconds after, void (SshAttempt::*then)());
  [[nodiscard]] std::chrono::milliseconds time_left() const;
  void note_slow_start();
  void prepare_late();
  void start_late();
  void end_late();
  void finish_kill();
  // Ends the attempt; if `doubtful`, first probes whether the machine answers. `lasting`: as
  // AgentEnd::lasting.
  void lose(const std::string& why, bool doubtful, const std::string& lasting = {});
  void report(const std::string& why, bool node_answers);
  [[nodiscard]] bool is_agent() const { return task_.output_max == 0; }

  std::shared_ptr<SshContext> context_;
  std::shared_ptr<SshHost> host_;
  SshTask task_;
  std::function<void(const AgentEnd&)> on_lost_;
  State state_ = State::kPreparing;
  bool uses_openssh_ = false;
  bool cached_ = false;  // the command is for the cached build
  bool pushed_ = false;
  bool push_turn_ = false;  // pass_ is for a push
  SshGate::Pass pass_;
  std::shared_ptr<SshLink> link_;
  std::shared_ptr<SshLink> killer_;
  std::shared_ptr<SshPush> push_;
  std::shared_ptr<const PushBundle> bundle_;
  std::string output_;  // output before the mark
  std::string answer_;  // after it
  std::uint64_t remote_pid_ = 0;
  unsigned tries_ = 0;
  std::string trouble_;  // of the last try
  std::string lasting_;  // of the end, as AgentEnd::lasting
  bool is_bad_input_ = false;
  base::Nanos until_{};  // when robustrun has to have started there
  base::Timer timer_;
  base::Timer slow_timer_;
};

}  // namespace robustrun::launcher
