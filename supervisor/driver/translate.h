#pragma once
// Translates agents' messages into events, and the core's actions into orders. Pure.
//
// Facts that both sides share (wire/messages/facts.h) need no translation; they are only checked,
// as an agent may be newer than this supervisor, or wrong.

#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"
#include "supervisor/run_request.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

// `rank`: the rank of the worker that the message names by its local rank.
WorkerStarted to_event(const wire::WorkerStarted& message, base::Rank rank);
WorkerStartFailed to_event(const wire::WorkerStartFailed& message, base::Rank rank);
WorkerExited to_event(const wire::WorkerExited& message, base::Rank rank);
// `ranks`: by local rank; `offset`: our clock minus the node's. Impossible values are left out.
StartStages to_event(const wire::NodeStages& message, const std::vector<base::Rank>& ranks,
                     base::Nanos offset);

// With texts made printable and short, lists shortened, and unknown enumerators replaced.
NodeHealth checked(NodeHealth health);
CheckpointDemoted checked(CheckpointDemoted answer);
CheckpointMoved checked(CheckpointMoved report);
HeldCopiesSaved checked(HeldCopiesSaved answer);

// `routes`: by local rank; further ranks get the default route.
wire::StartWorkers to_message(const StartWorkers& action, const std::vector<StreamRoutes>& routes);
wire::StopWorkers to_message(const StopWorkers& action);
wire::DemoteCheckpoint to_message(const DemoteCheckpoint& action);
wire::PlaceCopies to_message(const PlaceCopies& action);
wire::SaveHeldCopies to_message(const SaveHeldCopies& action);

}  // namespace robustrun::supervisor
