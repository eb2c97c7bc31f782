#pragma once
// Everything that a supervisor and an agent say to each other: one variant.
//
// The structs are in orders.h (supervisor to agent), reports.h (agent to supervisor) and facts.h
// (which the supervisor journals as they come), those of a connection's beginning in enrolment.h,
// of faults on purpose in injection.h, of the check before a run in preflight.h, about collectives
// in observation.h, of a replay in replay.h, of a start's stages in stages.h, of spare nodes'
// standbys in standby.h, of checkpoints in checkpoint_note.h and peer_copies.h, of blocks in
// block_peers.h. docs/formats/robustrun.proto is made from them.
// Strings are bytes: arguments, paths and output need not be UTF-8.

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

// Both ways, as the last message: what ends without it was lost.
struct Bye {
  template <class V>
  void fields(V&) {}
};

// The position in this list is the `kind` byte of a frame: append only.
using Message =
    std::variant<Hello, Welcome, ReservePort, PortReserved, StartWorkers, WorkerStarted,
                 WorkerStartFailed, StopWorkers, SignalWorkers, WorkerProgress, WorkerExited,
                 WorkersGone, Heartbeat, Notice, Output, Dismiss, Bye, Enrol, Enrolled, Refused,
                 Inject, Injected, NodeEnding, CheckNode, CheckReady, ReachPeers, NodeChecked,
                 MeasurePeers, PeersMeasured, EndCheck, StopRun, CollectiveProgress, Overdue,
                 Observe, Observed, RasAnswer, NodeHealth, ReplayNode, NodeReplayed, EndReplay,
                 StandbyModules, KeepStandbys, CheckpointNote, DemoteCheckpoint, CheckpointDemoted,
                 PlaceCopies, SaveHeldCopies, HeldCopiesSaved, CopiesKept, CopyRound, BlockPeers,
                 NodeStages, CodeWanted, CodeBlock, StageNews, SavingOver>;

}  // namespace robustrun::wire
