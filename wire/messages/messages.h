#pragma once
// All messages between a supervisor and an agent, as one variant.
//
// The structs are in orders.h (supervisor to agent), reports.h (agent to supervisor) and facts.h
// (reports that the supervisor journals unchanged). Other topics have their own headers:
// enrolment.h (start of a connection), injection.h (faults on purpose), preflight.h (the check
// before a run), observation.h (collectives), replay.h, stages.h (of a start), standby.h (standby
// workers of spare nodes), checkpoint_note.h and peer_copies.h (checkpoints), and block_peers.h
// (blocks). docs/formats/robustrun.proto is generated from these structs. Strings are bytes:
// arguments, paths and output need not be UTF-8.

#include <variant>

#include "wire/messages/block_peers.h"
#include "wire/messages/checkpoint_note.h"
#include "wire/messages/enrolment.h"
#include "wire/messages/facts.h"
#include "wire/messages/injection.h"
#include "wire/messages/observation.h"
#include "wire/messages/orders.h"
#include "wire/messages/peer_copies.h"
#include "wire/messages/preflight.h"
#include "wire/messages/replay.h"
#include "wire/messages/reports.h"
#include "wire/messages/stages.h"
#include "wire/messages/standby.h"

namespace robustrun::wire {

// Both ways, as the last message. If a connection ends without Bye, it was lost.
struct Bye {
  template <class V>
  void fields(V&) {}
};

// The position in this list is the `kind` byte of a frame: append only.
using Message = std::variant<
    Hello, Welcome, ReservePort, PortReserved, StartWorkers, WorkerStarted, WorkerStartFailed,
    StopWorkers, SignalWorkers, WorkerProgress, WorkerExited, WorkersGone, Heartbeat, Notice,
    Output, Dismiss, Bye, Enrol, Enrolled, Refused, Inject, Injected, NodeEnding, CheckNode,
    CheckReady, ReachPeers, NodeChecked, MeasurePeers, PeersMeasured, EndCheck, StopRun,
    CollectiveProgress, Overdue, Observe, Observed, RasAnswer, NodeHealth, ReplayNode, NodeReplayed,
    EndReplay, StandbyModules, KeepStandbys, CheckpointNote, DemoteCheckpoint, CheckpointDemoted,
    PlaceCopies, SaveHeldCopies, HeldCopiesSaved, CopiesKept, CopyRound, BlockPeers, NodeStages,
    CodeWanted, CodeBlock, StageNews, SavingOver, CheckpointMoved, BandwidthReport>;

}  // namespace robustrun::wire
