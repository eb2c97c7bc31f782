#pragma once
// Watches how far one worker is in its collectives, and reports a collective that lasts longer than
// its history explains (tracer/head_watch.h).
//
// There are two sources. The tables of the worker's progress record, which NCCL's plugin and the
// interposer in c10d's dispatcher write, are read at every look, or every kEmptyTableInterval while
// they are empty. torch's Flight Recorder (flight_source.h) is asked every 10 s while steps advance
// as usual, and every 5 s if the worker reports no steps but its collectives advance. The recorder
// is asked every second otherwise, and while it names no communicator. Owned by the Worker, on the
// agent's loop. The supervisor gets CollectiveProgress at most once a second, and once, possibly
// empty, when the recorder first answers. It gets Overdue once when an operation becomes overdue
// and once when that operation is over, and BandwidthReport for NCCL. A new connection may lead to
// another supervisor, so tell_again() repeats what it cannot know.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/evidence/flight_source.h"
#include "agent/node/limits.h"
#include "agent/node/node_context.h"
#include "base/io/timer.h"
#include "tracer/collectives_reader.h"
#include "tracer/head_watch.h"
#include "tracer/record_file.h"
#include "tracer/traffic_watch.h"

namespace robustrun::agent {

class CollectiveWatch {
 public:
  struct Subject {
    base::Attempt attempt;
    base::LocalRank local_rank;
  };
  // What is known of the worker's collectives at one moment.
  struct Collected {
    std::vector<tracer::Membership> comms;
    // As in RankSnapshot (tracer/analysis/snapshot.h).
    std::optional<base::Nanos> calls_still;
    std::optional<base::Nanos> proxy_still;
  };
  using Done = std::function<void(Collected)>;

  // `record` outlives the watch. `flight` may be null: no Flight Recorder is asked.
  CollectiveWatch(NodeContext& node, Subject subject, const tracer::RecordFile& record,
                  std::unique_ptr<FlightSource> flight)
      : node_(node),
        subject_(subject),
        record_(record),
        flight_(std::move(flight)),
        collect_soon_(node.executor) {}

  // Call about ten times a second. `steps`: number of steps that the worker has done so far.
  void look(std::uint64_t steps);
  // Repeats Overdue for all operations that are overdue, and CollectiveProgress when it is next
  // due.
  void tell_again();
  // Some operation was overdue at the last look and has not ended.
  [[nodiscard]] bool has_overdue() const;
  // Reads both sources anew. `done` is called once, from the loop, never from within collect(). If
  // the recorder's answer is not read within kFlightCollectMax, `done` gets the previous one,
  // unless the worker has done a step since. A newer call drops an earlier `done`, and so does
  // destroying the watch.
  void collect(Done done);

 private:
  // One communicator, as one source reports it.
  struct Watched {
    tracer::HeadWatch heads;
    wire::CommunicatorProgress progress;
    std::uint64_t overdue = 0;  // sequence number of the operation; 0: none
    base::Nanos expected{};  // Overdue::expected of that operation
    bool is_there = true;  // its source reported it at the last look
  };
  enum class Source : std::uint8_t { kRecord, kFlight };
  using Key = std::pair<Source, std::uint64_t>;
  [[nodiscard]] bool is_calm(base::Nanos now) const;
  [[nodiscard]] bool may_hold_progress(base::Nanos now) const;
  void look_at_record(const std::string& table, base::Nanos now);
  void ask_if_due(base::Nanos now);
  void ask(const std::string& table);
  void on_answer(base::Result<std::vector<tracer::Membership>> answer);
  void note(Key key, tracer::HeadWatch::Look look);
  void forget_missing(Source source);
  void report_head(std::uint64_t comm, const Watched& watched);
  void report_over(std::uint64_t comm, Watched& watched);
  void send_progress(base::Nanos now);
  void look_at_traffic(const std::string& table, base::Nanos now);
  void report_bandwidth(const std::string& table, base::Nanos now);
  void await_answer(base::Nanos until);
  void finish_collecting();

  NodeContext& node_;
  const Subject subject_;
  const tracer::RecordFile& record_;
  std::unique_ptr<FlightSource> flight_;
  std::map<Key, Watched> watched_;
  std::optional<base::Nanos> read_at_;  // last read of the record's table
  bool counts_progress_ = false;  // some communicator in that table counts completed operations
  std::uint64_t steps_ = 0;
  base::Nanos stepped_at_{};
  std::array<base::Nanos, kStepGapsRemembered> step_gaps_{};
  std::size_t next_gap_ = 0;
  bool has_answered_ = false;
  bool has_moved_ = false;  // the recorder's last two answers differ in completed operations
  std::optional<base::Nanos> asked_at_;
  std::vector<tracer::Membership> answered_;  // the Flight Recorder's last answer
  base::Nanos answered_at_{};
  std::uint64_t answered_at_step_ = 0;
  tracer::TrafficWatch traffic_;
  std::optional<base::Nanos> traffic_at_;  // last read of the tables of traffic
  std::vector<tracer::Moved> moved_;  // the rows of that read
  // The totals that were reported last, by communicator, kind and size.
  std::map<std::tuple<std::uint64_t, tracer::OpKind, std::uint32_t>, tracer::Moved> reported_moved_;
  std::set<std::uint64_t> named_;  // communicators whose names were reported
  std::optional<base::Nanos> bandwidth_at_, names_at_;  // last report; last report with names
  bool has_fallen_ = false;  // the bandwidth of some row had fallen at the last read
  std::optional<base::Nanos> reported_at_;
  bool has_news_ = false;
  Done collecting_;
  base::Timer collect_soon_;
};

}  // namespace robustrun::agent
