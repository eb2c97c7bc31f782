#pragma once
// The driver's members, for its own .cpp files alone: driver.cpp (life and actions) and
// driver_nodes.cpp (what agents say, and whether they still do).

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <deque>

#include "supervisor/core/job.h"
#include "supervisor/driver.h"
#include "supervisor/node_link.h"
#include "supervisor/progress_tracker.h"

namespace robustrun::supervisor {

namespace asio = boost::asio;

class Driver::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Parts parts, const RunRequest& request, std::function<void(int)> on_finished)
      : parts_(std::move(parts)),
        request_(request),
        on_finished_(std::move(on_finished)),
        nodes_(request.spec.nodes.size()),
        timers_{asio::steady_timer(parts_.executor), asio::steady_timer(parts_.executor),
                asio::steady_timer(parts_.executor), asio::steady_timer(parts_.executor)},
        summary_timer_(parts_.executor),
        lease_timer_(parts_.executor),
        farewell_timer_(parts_.executor) {}

  void start();
  void close();
  void dispatch(EventBody body, base::NodeId node = {});

 private:
  // Actions.
  void perform(const Action& action);
  void launch_agent(const LaunchAgent& action);
  void start_workers(const StartWorkers& action);
  void set_timer(const SetTimer& action);
  void announce(const Decision& decision);
  void finish(int exit_code);
  void part_by_force();
  void say_goodbye();
  void send(base::NodeId node, const wire::Message& message);

  // What agents say.
  void on_channel(base::NodeId node, base::Generation generation, base::Fd socket);
  void on_message(base::NodeId node, base::Generation generation, wire::Message message);
  void on_report(base::NodeId node, const wire::Hello& hello);
  void on_report(base::NodeId node, const wire::WorkerProgress& progress);
  void on_report(base::NodeId node, const wire::WorkerExited& exited);
  void on_report(base::NodeId node, const wire::Notice& notice);
  [[nodiscard]] bool rank_of(base::NodeId node, base::LocalRank local_rank, base::Rank* rank) const;

  static void pause(NodeLink& link);
  void resume(NodeLink& link);
  void journal(const JournalEntry& entry);
  void arm_summary();
  void arm_lease_check();
  void check_leases();
  [[nodiscard]] const std::string& node_name(base::NodeId node) const;

  Parts parts_;
  const RunRequest& request_;
  std::function<void(int)> on_finished_;
  Job job_;
  std::unique_ptr<Console> console_;
  std::vector<NodeLink> nodes_;
  ProgressTracker progress_;
  std::deque<Event> queue_;
  bool handling_ = false;
  bool step_goal_sent_ = false;
  bool finished_ = false;
  bool said_goodbye_ = false;
  int exit_code_ = 0;
  bool journal_failed_ = false;
  std::array<asio::steady_timer, 4> timers_;  // by TimerId
  asio::steady_timer summary_timer_;
  asio::steady_timer lease_timer_;
  asio::steady_timer farewell_timer_;
};

}  // namespace robustrun::supervisor
