#pragma once
// Between the core's words and the wire's: events from an agent's messages, orders from actions.
// Pure; every enum is mapped by name, so that either side may grow on its own.

#include "supervisor/core/types/actions.h"
#include "supervisor/core/types/events.h"
#include "supervisor/run_request.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

// `rank` belongs to the message's local rank on its node.
WorkerStarted to_event(const wire::WorkerStarted& message, base::Rank rank);
WorkerStartFailed to_event(const wire::WorkerStartFailed& message, base::Rank rank);
WorkerExited to_event(const wire::WorkerExited& message, base::Rank rank);
WorkersGone to_event(const wire::WorkersGone& message);
PortReserved to_event(const wire::PortReserved& message);
CheckpointDemoted to_event(const wire::CheckpointDemoted& message);
NodeHealth to_event(const wire::NodeHealth& message);  // its texts printable, and short
// `ranks` by local rank; `offset`: our clock minus the node's. What cannot be is left out.
StartStages to_event(const wire::NodeStages& message, const std::vector<base::Rank>& ranks,
                     base::Nanos offset);

// `routes` by local rank; a rank beyond them gets the default route.
wire::StartWorkers to_message(const StartWorkers& action, const std::vector<StreamRoutes>& routes);
wire::StopWorkers to_message(const StopWorkers& action);
wire::DemoteCheckpoint to_message(const DemoteCheckpoint& action);
HeldCopiesSaved to_event(const wire::HeldCopiesSaved& message);
SavingOver to_event(const wire::SavingOver& message);
wire::PlaceCopies to_message(const PlaceCopies& action);
wire::SaveHeldCopies to_message(const SaveHeldCopies& action);

}  // namespace robustrun::supervisor
